"""Record the bundled example runs: real trainings of a tiny language model on a CPU.

    python evals/record_example.py evals/example        # about three minutes on two cores; needs the extra `lab`

Each run directory is what a user would have: the launch script, the config, the console log and
`trainer_state.json`. The runs differ only in the settings given in `RUNS`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

BASE = {"model_name_or_path": "tiny-gpt2", "dataset": "arithmetic-and-prose", "optim": "sgd",
        "optim_args": "momentum=0.9", "learning_rate": "0.3", "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": "4000", "max_steps": "5000", "max_grad_norm": "0.0", "weight_decay": "0.0",
        "per_device_train_batch_size": "2", "gradient_accumulation_steps": "1", "logging_steps": "10",
        "logging_nan_inf_filter": "false", "seed": "17", "report_to": "none", "save_strategy": "'no'"}  # fmt: skip
RUNS: dict[str, dict[str, str]] = {
    "run-1": {},
    "run-2": {"learning_rate": "0.15"},
    "run-3": {"learning_rate": "0.15", "weight_decay": "0.01"},
    "run-4": {"learning_rate": "0.15"},
}
STOPPED = {"run-4": 400}
"""Runs that a person stops early, after so many steps."""
NAMES = ["model_name_or_path", "dataset"]


def text(n: int, rng: random.Random) -> str:
    """`n` sentences of arithmetic and simple prose, so that there is something to learn."""
    people, verbs, things = (
        ["Ana", "Li", "Omar", "Kim"],
        ["sees", "buys", "paints"],
        ["a red car", "two apples", "the door"],
    )
    lines = []
    for _ in range(n):
        a, b = rng.randint(0, 9999), rng.randint(0, 9999)
        lines.append(
            f"{a} + {b} = {a + b} . "
            if rng.random() < 0.5
            else f"{rng.choice(people)} {rng.choice(verbs)} {rng.choice(things)} . "
        )
    return "".join(lines)


def train(config: Path, stop_after: int) -> None:
    """Train as the YAML file says; runs in its own process so that its console is the log."""
    import torch
    from ruamel.yaml import YAML
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

    torch.set_num_threads(1)
    settings = YAML(typ="safe").load(config.read_text())
    args = TrainingArguments(
        output_dir=str(config.parent),
        disable_tqdm=True,
        use_cpu=True,
        **{k: v for k, v in settings.items() if k not in NAMES},
    )
    torch.manual_seed(args.seed)
    stream = torch.tensor(list(text(4000, random.Random(args.seed)).encode()))
    blocks = stream[: len(stream) // 32 * 32].view(-1, 32)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=128,
            n_positions=32,
            n_embd=48,
            n_layer=2,
            n_head=2,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(blocks)} blocks of 32 bytes", flush=True)
    trainer = Trainer(model=model, args=args, train_dataset=[{"input_ids": b, "labels": b} for b in blocks])

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_training_stop = state.global_step == stop_after

    if stop_after:
        trainer.add_callback(Stop())
    trainer.train()
    trainer.save_state()


def record(folder: Path, changes: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "train.yaml"
    config.write_text("".join(f"{k}: {v}\n" for k, v in (BASE | changes).items()))
    (folder / "launch.sh").write_text("#!/bin/bash\nset -e\npython train.py --config train.yaml 2>&1 | tee train.log\n")
    with (folder / "train.log").open("w") as log:
        subprocess.run(
            [sys.executable, __file__, "--train", str(config), str(STOPPED.get(folder.name, 0))],
            stdout=log,
            stderr=subprocess.STDOUT,
            check=True,
        )
    for extra in ("all_results.json", "train_results.json"):
        (folder / extra).unlink(missing_ok=True)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        for name, changes in RUNS.items():
            if len(sys.argv) > 2 and name not in sys.argv[2:]:
                continue
            print(name, json.dumps(changes))
            record(Path(sys.argv[1]) / name, changes)
