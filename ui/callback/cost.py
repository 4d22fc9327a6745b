"""What the callback costs a training: the same Trainer with and without it, in pairs, by processor time.

    python -m triage.ui.callback.cost --pairs 8 --steps 300

Processor time of the training's own process, which other programs on the machine change less than the clock; each pair
runs in both orders in turn, after one run that is not counted. A busy machine still moves it by some percent,
so the time in the callback's own calls is counted too. The side process is counted by itself: it scans once at the end,
and once every ten minutes of a longer training. It judges nothing but itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=8)
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--logging-steps", type=int, default=1, help="1 is the worst case; the Trainer's own is 500")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TRIAGE_HOME", folder)
        trained(False, Path(folder), 20, given.logging_steps)
        pairs = []
        for n in range(given.pairs):
            order = (True, False) if n % 2 else (False, True)
            took = {with_it: trained(with_it, Path(folder), given.steps, given.logging_steps) for with_it in order}
            pairs.append((took[False], took[True]))
            (bare, *_), (own, _, inside) = pairs[-1]
            print(f"pair {n + 1}: without {bare:.2f} s, with {own:.2f} s; in its calls {inside:.3f} s", flush=True)
    ratios = [100 * (took[0] / bare[0] - 1) for bare, took in pairs]
    inside = statistics.median(100 * took[2] / took[0] for _, took in pairs)
    look = statistics.median(took[1] for _, took in pairs)
    print(f"with against without: median {statistics.median(ratios):+.2f}%, ", end="")
    print(f"from {min(ratios):+.2f}% to {max(ratios):+.2f}%; in its calls {inside:.2f}%; a look {look:.2f} s")


def trained(with_it: bool, folder: Path, steps: int, logging_steps: int) -> tuple[float, float, float]:
    """Processor seconds of one training, of what it started beside itself, and in the callback's calls."""
    from triage.ui.callback import TriageCallback

    class Timed(TriageCallback):
        inside = 0.0

        def on_log(self, *args: Any, **rest: Any) -> None:
            began = time.thread_time()
            super().on_log(*args, **rest)
            self.inside += time.thread_time() - began

    told: list[str] = []
    watching = Timed(tell=told.append)
    running = trainer(folder, [watching] if with_it else [], steps, logging_steps)
    children, own = sum(os.times()[2:4]), time.process_time()
    running.train()
    took = time.process_time() - own
    if with_it and not told:
        raise SystemExit("the callback said nothing: it was not measured")
    return took, sum(os.times()[2:4]) - children, watching.inside


def trainer(folder: Path, callbacks: list[Any], steps: int, logging_steps: int) -> Any:
    """A Llama of two layers on random tokens: some 30 ms a step on one core, far less than any real training."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4
    )
    data = [{"input_ids": (row := torch.randint(512, (64,))), "labels": row} for _ in range(256)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "run"), max_steps=steps, per_device_train_batch_size=8, logging_steps=logging_steps,
        report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True, seed=1,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    # a list of rows is a data set to a Trainer, whatever its types say
    running = transformers.Trainer(model=model, args=arguments, train_dataset=data, callbacks=callbacks)  # pyright: ignore[reportArgumentType]
    running.remove_callback(transformers.PrinterCallback)
    return running


if __name__ == "__main__":
    main()
