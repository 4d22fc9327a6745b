"""The same run of 200 steps, written by the trackers themselves: `python writers.py WRITER healthy|nan FOLDER`.

Started as a program of its own, because some of them start services, and set the environment of their process. What is
in `tests/data/trackers` was made with it: `... wandb nan tests/data/trackers`, and so on.
"""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

STEPS = 200
BREAKS = 120
"""From this step on loss and gradient are not numbers, in the run that is to fail."""
PEAK = 1e-4
WARMUP = 20
SETTINGS = {"learning_rate": PEAK, "batch_size": 8, "warmup_steps": WARMUP}


def loss(step: int, state: str) -> float:
    return math.nan if broken(step, state) else 2.5 * math.exp(-step / 60) + 1.2 + 0.03 * math.sin(step * 1.7)


def grad_norm(step: int, state: str) -> float:
    return math.nan if broken(step, state) else 0.8 + 0.1 * math.cos(step * 0.9)


def broken(step: int, state: str) -> bool:
    return state == "nan" and step >= BREAKS


def rows(state: str) -> Iterator[tuple[int, dict[str, float]]]:
    """What a trainer logs: every step, and every fifty steps an evaluation in a line of its own."""
    for step in range(1, STEPS + 1):
        rate = PEAK * min(1, (step - 1) / WARMUP)  # the rate of the step itself, as the Trainer logs it
        yield (
            step,
            {"train/loss": loss(step, state), "train/learning_rate": rate, "train/grad_norm": grad_norm(step, state)},
        )
        if step % 50 == 0:
            yield step, {"eval/loss": loss(step, state) + 0.1}


def tensorboard(state: str, folder: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder / "runs"))
    for step, row in rows(state):
        for key, value in row.items():
            writer.add_scalar(key, value, step, new_style=key.startswith("eval"))
    writer.add_text("args", '{"learning_rate": 0.0001, "batch_size": 8, "warmup_steps": 20}')
    writer.close()


def wandb(state: str, folder: Path) -> None:
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true")
    import wandb

    quiet = wandb.Settings(x_disable_stats=True)  # how busy this machine is, is no measure of the run
    run = wandb.init(project="p", dir=str(folder), config=SETTINGS, settings=quiet)
    for step, row in rows(state):
        run.log(row, step=step)
    run.finish()


def mlflow(state: str, folder: Path, uri: str = "") -> None:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    mlflow.set_tracking_uri(uri or (folder / "mlruns").as_uri())
    mlflow.set_experiment("e")
    with mlflow.start_run(run_name="r"):
        mlflow.log_params(SETTINGS)
        for step, row in rows(state):
            mlflow.log_metrics(row, step=step)


def mlflow_sqlite(state: str, folder: Path) -> None:
    mlflow(state, folder, f"sqlite:///{folder}/mlflow.db")


def trackio(state: str, folder: Path) -> None:
    os.environ.update(TRACKIO_DIR=str(folder / "trackio"), HF_HUB_OFFLINE="1")
    import trackio

    trackio.init(project="p", name="r", config=SETTINGS)
    for step, row in rows(state):
        trackio.log(row, step=step)
    trackio.finish()


def swanlab(state: str, folder: Path) -> None:
    import swanlab

    swanlab.init(project="p", mode="offline", logdir=str(folder / "swanlog"), config=SETTINGS)
    for step, row in rows(state):
        swanlab.log(row, step=step)
    swanlab.finish()


def lightning(state: str, folder: Path) -> None:
    from pytorch_lightning.loggers import CSVLogger

    logger = CSVLogger(str(folder))
    logger.log_hyperparams(SETTINGS)
    for step, row in rows(state):
        logger.log_metrics(row, step=step)
    logger.save()


def trainer(state: str, folder: Path) -> None:
    """A real training of one weight by the Hugging Face Trainer, whose loss and gradient are those of the run."""
    import torch
    from transformers import Trainer, TrainingArguments

    class Weight(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(()))
            self.step = 0

        def forward(self, x, labels=None):
            self.step += self.training
            moved = self.weight - self.weight.detach()  # zero, with a gradient
            extra = 0.0 if self.training else 0.1
            return {"loss": loss(self.step, state) + extra + grad_norm(self.step, state) * moved, "logits": x}

    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "runs")
    arguments = TrainingArguments(
        output_dir=str(folder), max_steps=STEPS, per_device_train_batch_size=1, per_device_eval_batch_size=1,
        learning_rate=PEAK, warmup_steps=WARMUP, lr_scheduler_type="constant_with_warmup", max_grad_norm=10.0,
        logging_steps=1, logging_nan_inf_filter=False, eval_strategy="steps", eval_steps=50, save_strategy="no",
        report_to="tensorboard", use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False,
    )  # fmt: skip
    data = [{"x": torch.zeros(1), "labels": torch.zeros(1)}] * STEPS
    Trainer(Weight(), arguments, train_dataset=data, eval_dataset=data[:1]).train()


if __name__ == "__main__":
    target = Path(sys.argv[3])
    target.mkdir(parents=True, exist_ok=True)
    globals()[sys.argv[1].replace("-", "_")](sys.argv[2], target.resolve())
