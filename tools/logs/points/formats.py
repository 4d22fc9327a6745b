"""The metric formats of training logs, as declarations that carry their own samples.

`parse` turns one cleaned line into a `Record`. To add a format, add one `Format` to `FORMATS` with sample lines; the
test runs every sample. What belongs together over several lines, ranks and restarts is `tools.logs.points.lines`.
"""

# ruff: noqa: E501  sample lines are kept whole

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...metrics import canonical, splits, step_key
from ...registry import table
from .grammar import (
    AFTER_KEY,
    BAR_PAIR,
    COUNTER_HINT,
    DASH_PAIR,
    DICT_PAIR,
    INDENTED_PAIR,
    PIPE_PAIR,
    VALUE,
    Span,
    counted,
    counter,
    epoch_of,
    gaps,
    loose_pairs,
    number,
)

SETTINGS_TOO = {"learning_rate", "loss_scale", "batch_size", "epoch", "gpu_memory", "response_length", "num_zeros"}
"""Metrics whose names also stand in printed configurations: alone they do not make a line a record."""

StepFrom = Literal["line", "keys", "last", "epoch"]


@dataclass(frozen=True)
class Record:
    """What one line says."""

    format: str
    values: tuple[tuple[str, float], ...]
    """(key as the log has it, value in the canonical unit of its own suffix)."""
    step: int | None = None
    """None: the format has no step, it follows from the order of the lines."""
    counter: str = ""
    """The word the step was counted with; counters of different names are different streams."""
    epoch: float | None = None
    rank: int | None = None
    counts_alone: bool = False
    """As of the format."""
    spans: tuple[tuple[int, int], ...] = ()
    """Where in the line the step and each value stand, for formats that print the step."""


@dataclass(frozen=True)
class Sample:
    """A line of the format and what must be read from it; `step=-1`: the line must not be read."""

    line: str
    step: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One way of printing metrics."""

    name: str
    needs: tuple[str, ...]
    """Words that every line of the format holds: the cheap test before the patterns."""
    pairs: re.Pattern[str]
    """Key, number, unit."""
    step: re.Pattern[str] | None = None
    """The step in its last group, the counter's name in the first of two; None: any step-like word. Where the step is
    the last one read, only what a line must match."""
    step_from: StepFrom = "line"
    """`line`: by `step`; `keys`: a step-like key or none; `last`: the step last read in the file; `epoch`."""
    keeps_unknown: bool = False
    """Whether keys outside `VOCABULARY` are kept."""
    always: bool = False
    """Whether a line is a record even without a known metric."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Keys that mean something else in this format."""
    before: str = ""
    """Only what stands before this in the line is read for pairs."""
    opens: re.Pattern[str] | None = None
    """The start of a record that may be wrapped over several lines."""
    closes: re.Pattern[str] | None = None
    a_key_a_line: re.Pattern[str] | None = None
    """A line of a record that is printed with a key a line: it goes on as long as such lines come."""
    counts_alone: bool = False
    """Whether a line is a step of its own: one without a step counts as the next, and epochs do not restart it."""
    training_only: bool = False
    """Whether a line that tells of held-out data (the bar of an evaluation) is no record."""
    keyed: bool = False
    """Whether metrics stand under quoted keys: any line with the key of one is looked at."""
    own_hint: str = ""
    """What every line of the format holds, where `needs` has no word that is rare in other lines: a pattern in lower
    case, without look-around and without line feeds."""
    samples: tuple[Sample, ...] = ()

    @property
    def hint(self) -> str:
        """`own_hint`, or else the longest word of `needs`: a line with no format's hint is not looked at."""
        return self.own_hint or re.escape(max(self.needs, key=len).lower())


LOSS = "loss"
"""`own_hint` of the formats that look for `oss`, which is Loss and LOSS too."""
_BAR = r"(\d+)%\|[^|\n]*\|\s*(\d+)/(\d+)\s*\["
_RANK = gaps(r"(?<!\w)rank\s*[:=]\s*(\d{1,5})(?!\d)", re.IGNORECASE)
HELD_OUT = gaps(r"^(?:[^=,]|,(?=\d)){0,60}?(?<![\w/.-])(?:" + splits(r"\w*") + r")(?![\w/.-])", re.IGNORECASE)
_STRING_STEP = gaps(r"['\"](?:global_step/max_steps|iteration)['\"]\s*:\s*['\"](\d+)/\d+")
_DICT_STEP = gaps(r"\b(step|rollout|iteration|iter|perf)\s+(\d+)\W{0,4}\{", re.IGNORECASE)

_FORMATS = (
    Format(
        "verl",
        ("step:", " - "),
        DASH_PAIR,
        gaps(r"(?<![\w/])(step):(\d+) - "),
        keeps_unknown=True,
        always=True,
        samples=(
            Sample(
                "step:9 - actor/entropy:0.22 - actor/grad_norm:np.float64(17.4) - critic/score/mean:-1.0 - num_turns/min:np.int32(2)",
                9,
                {"entropy": 0.22, "grad_norm": 17.4, "reward": -1.0, "num_turns/min": 2},
            ),
            Sample("step:1 - train/loss:nan - train/lr(1e-3):0.02", 1, {"loss": float("nan"), "learning_rate": 2e-5}),
        ),
    ),
    Format(
        "dict",
        ("{", ":"),
        DICT_PAIR,
        step_from="keys",
        keeps_unknown=True,
        opens=gaps(r"\{\s*['\"][\w/]{1,80}['\"]\s*:"),
        closes=gaps(r"\}"),
        a_key_a_line=re.compile(r"^\s*[{,]?\s*['\"][^'\"]{1,100}['\"]\s*:|^\s*}"),
        counts_alone=True,
        keyed=True,
        samples=(
            Sample("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-06, 'epoch': 0.8}", None, {"loss": 0.0, "grad_norm": float("nan")}),
            Sample("{'loss': '5.728', 'grad_norm': '3.377', 'learning_rate': '2e-05', 'epoch': '0.0625'}", None, {"loss": 5.728, "learning_rate": 2e-5}),
            Sample("{'loss': 1.2, 'memory(GiB)': 13.31, 'global_step/max_steps': '5/1000'}", 5, {"loss": 1.2, "gpu_memory": 13.31}),
            Sample('{"current_steps": 10, "total_steps": 100, "loss": 1.25, "lr": 1e-05, "epoch": 0.1}', 10, {"loss": 1.25}),
            Sample("step 3: {'train/loss': 0.5, 'train/grad_norm': Infinity}", 3, {"loss": 0.5, "grad_norm": float("inf")}),
            Sample("{'train_batch_size': 8, 'learning_rate': 1e-4, 'loss_scale': 0}", -1),
            Sample("{'loss': array([1, 2]), 'shape': (3, 4)}", -1),
        ),
    ),
    Format(
        "nemo",
        ("global_step:", "|"),
        PIPE_PAIR,
        gaps(r"\|\s*(global_step):\s*(\d+)\s*(?:\||$)"),
        samples=(
            Sample(
                "Training epoch 0, iteration 5/999 | lr: 5.000e-06 | global_batch_size: 512 | global_step: 1005 | reduced_train_loss: 7.98"
                " | train_step_timing in s: 7.2 | consumed_samples: 2560 | val_loss: 2.861",
                1005,
                {"loss": 7.98, "step_time": 7.2, "learning_rate": 5e-6, "eval_loss": 2.861},
            ),
        ),
    ),
    Format(
        "megatron",
        ("iteration", "|"),
        PIPE_PAIR,
        gaps(r"(?<!at )(iteration):?\s+(\d+)\s*/\s*\d+\s*\|", re.IGNORECASE),
        opens=gaps(r"(?<!at )iteration:?\s+\d+\s*/\s*\d+\s*\|"),
        closes=gaps(r"\|\s*$"),
        samples=(
            Sample(
                " iteration    29050/  311541 | elapsed time per iteration (ms): 22148.5 | learning rate: 9.849E-05 | lm loss: 7.343709E+00"
                " | loss scale: 8192.0 | grad norm: 0.150 | number of skipped iterations:   0 |",
                29050,
                {"loss": 7.343709, "step_time": 22.1485, "learning_rate": 9.849e-5, "loss_scale": 8192, "grad_norm": 0.15},
            ),
            Sample(
                "samples/sec: 9.490 | iteration    10/ 320000 | elapsed time per iteration (ms): 1234.1 | lm_loss: 1.08E+01 |",
                10,
                {"loss": 10.8, "samples_per_second": 9.49},
            ),
            Sample(
                "[INFO|DP=0]: iteration: 10 / 1000 | tokens_per_sec: 1.2K | lm_loss: 10.4 | lr: 0.0003 | grad_norm: 12.3",
                10,
                {"loss": 10.4, "tokens_per_second": 1200, "grad_norm": 12.3},
            ),
        ),
    ),
    Format(
        "olmo",
        ("[step=", "/"),
        BAR_PAIR,
        gaps(r"\[(step)=(\d+)/\d+,"),
        always=True,
        samples=(Sample("2025-12-12 11:05:02.009 host:0 olmo.train:979 INFO [step=2/15000,epoch=0]", 2, {"epoch": 0}),),
    ),
    Format(
        "olmo-metric",
        ("=", "/", "  "),
        INDENTED_PAIR,
        step_from="last",
        always=True,
        own_hint=r"  [a-z]\S*/[^=\n]*=",
        samples=(
            Sample("    train/CrossEntropyLoss=2.998", None, {"loss": 2.998}),
            Sample("    throughput/device/tokens_per_second=68,289", None, {"tokens_per_second": 68289}),
            Sample("    learning_rate=0.1", -1),
        ),
    ),
    Format(
        "megatron-eval",
        ("iteration", "loss", "valid"),
        PIPE_PAIR,
        gaps(r"validation (?:loss|results) at (iteration) (\d+)"),
        rename={"lm loss value": "eval_loss", "lm_loss value": "eval_loss", "lm loss PPL": "eval_ppl"},
        samples=(
            Sample(" validation loss at iteration 7000 | lm loss value: 7.174200E+00 | lm loss PPL: 1.3E+03 |", 7000, {"eval_loss": 7.1742}),
        ),
    ),
    Format(
        "torchtune-bar",
        ("|", "oss"),
        AFTER_KEY,
        gaps(r"^\s*\d+\|(\d+)\|(?=[A-Za-z])"),
        own_hint=LOSS,
        samples=(Sample("1|100|Loss: 0.9543: 10%|#    | 100/1000 [01:00<09:00, 1.6it/s]", 100, {"loss": 0.9543}),),
    ),
    Format(
        "mmengine",
        ("(train)", "["),
        AFTER_KEY,
        gaps(r"\(train\)\s*(?:\[\d+\]\s*)?\[\s*(\d+)/"),
        rename={"time": "step_time", "memory": "memory_mb"},
        samples=(
            Sample("mmengine - INFO - Iter(train) [  10/1000]  lr: 2.0e-05  eta: 0:10:00  time: 1.25  memory: 12288  loss: 1.5", 10, {"loss": 1.5, "step_time": 1.25, "gpu_memory": 12.0}),
        ),
    ),
    Format(
        "bar",
        ("%|", "="),
        BAR_PAIR,
        gaps(r"%\|[^|\n]*\|\s*(\d+)/\d+\s*\["),
        training_only=True,
        samples=(
            Sample("Epoch 0:  10%|#   | 50/500 [00:10<01:30, 5.00it/s, v_num=0, train_loss_step=2.3, lr=1e-5]", 50, {"loss": 2.3, "learning_rate": 1e-5}),
            Sample(" 10%|#   | 100/1000 [00:10<01:30, 5.00it/s]", -1),
        ),
    ),
    Format(
        "levanter",
        ("Progress on:", "it/"),
        AFTER_KEY,
        gaps(r"Progress on:\s*(train)\s+(\d{1,15}(?:\.\d{1,6})?[kM]?)it/"),
        samples=(Sample("INFO :: Progress on:train 1.25kit/10.0kit rate:2.1it/s remaining:0:06:21 elapsed:01:40 postfix:loss=3.45", 1250, {"loss": 3.45}),),
    ),
    Format(
        "bar-description",
        ("%|", "/"),
        AFTER_KEY,
        gaps(r"%\|[^|\n]*\|\s*(\d+)/\d+\s*\["),
        before="%|",
        training_only=True,
        samples=(
            Sample("loss 2.31 lr 1.00e-05:  10%|#   | 50/500 [00:10<01:30, 5.00it/s]", 50, {"loss": 2.31, "learning_rate": 1e-5}),
            Sample("Evaluating loss 2.31:  10%|#   | 50/500 [00:10<01:30, 5.00it/s]", -1),
            Sample("Epoch 1:  10%|#   | 50/500 [00:10<01:30, 2.00s/it]", -1),
        ),
    ),
    Format(
        "bar-rich",
        ("━", "/"),
        AFTER_KEY,
        gaps(r"[━╸╺]\s+(?:\d+%\s+)?(\d+)/\d+\s"),
        training_only=True,
        samples=(Sample("Training ━━━━━━━━━━ 10/5000 0:10:00 • 0:50:00 1.23it/s loss: 2.310 grad_norm: 1.2", 10, {"loss": 2.31, "grad_norm": 1.2}),),
    ),
    Format(
        "clu",
        ("] [", "="),
        AFTER_KEY,
        gaps(r"\]\s\[(\d+)\]\s(?=[A-Za-z])"),
        own_hint=r"\] \[[0-9]+\] [a-z]",
        samples=(
            Sample("I0302 10:11:12.123 99 logging_writer.py:48] [250] accuracy=0.31, learning_rate=0.01, loss=2.5", 250, {"loss": 2.5, "learning_rate": 0.01}),
        ),
    ),
    Format(
        "batch-of-epoch",
        ("]", "oss"),
        AFTER_KEY,
        gaps(r"^\s*\[\s*\d+,\s*(\d+)\]\s"),
        own_hint=LOSS,
        samples=(Sample("[1,  2000] loss: 2.173", 2000, {"loss": 2.173}),),
    ),
    Format(
        "keras",
        ("/", "step", "oss"),
        AFTER_KEY,
        re.compile(r"^[\s\x08]*(\d+)/\1\s"),
        step_from="last",
        own_hint=LOSS,
        samples=(
            Sample("25/25 - 2s - 80ms/step - accuracy: 0.82 - loss: 0.49 - val_loss: 0.51", None, {"loss": 0.49, "eval_loss": 0.51, "accuracy": 0.82, "step_time": 0.08}),
            Sample("782/782 [==============================] - 61s 75ms/step - loss: 0.4697", None, {"loss": 0.4697}),
            Sample("24/25 - 2s - 80ms/step - accuracy: 0.82 - loss: 0.49", -1),
        ),
    ),
    Format(
        "nanogpt",
        ("iter ", "loss"),
        AFTER_KEY,
        gaps(r"^\s*(iter)\s+(\d+):"),
        rename={"time": "step_time"},
        samples=(Sample("iter 100: loss 2.3012, time 512.25ms, mfu 41.20%", 100, {"loss": 2.3012, "step_time": 0.51225, "mfu": 0.412}),),
    ),
    Format(
        "image-classifier",
        ("[", "oss", "/"),
        AFTER_KEY,
        gaps(r"(?:Epoch|Train):?\s*\[?\d+\]?(?:/\d+)?:?\s*\[\s*(\d+)\s*/"),
        own_hint=LOSS,
        samples=(Sample("Epoch: [0][ 10/1251] Time 0.5 (0.6) Loss 6.91 (6.95)", 10, {"loss": 6.91}),),
    ),
    Format(
        "generic",
        (),
        AFTER_KEY,
        own_hint=COUNTER_HINT,
        samples=(
            Sample("step:20/1000, tokens seen:1.25M, avg_train_loss:nan time:182/1147s step_avg:1147ms", 20, {"loss": float("nan"), "step_time": 1.147}),
            Sample("step:10/1000, avg_train_loss:10.0153 time:125/nans step_avg:nanms", 10, {"loss": 10.0153}),
            Sample("step:0/20000 val_loss:6.9342 val_bpb:4.1068 train_time:0ms step_avg:0.02ms", 0, {"eval_loss": 6.9342, "eval_bpb": 4.1068}),
            Sample("step 250: train loss 2.1, val loss 2.2", 250, {"loss": 2.1, "eval_loss": 2.2}),
            Sample("[2025-01-02 15:57:15,187] [INFO] [logging.py:128:log_dist] step=840, skipped=9, lr=[3.6e-05, 3.6e-05], mom=[(0.9, 0.95)]", 840, {"skipped_steps": 9, "learning_rate": 3.6e-5}),
            Sample("[INFO] [timer.py:264:stop] epoch=0/micro_step=1680/global_step=840, RunningAvgSamplesPerSec=46.4, CurrSamplesPerSec=46.3, MaxMemAllocated=8.61GB", 840, {"samples_per_second": 46.3, "gpu_memory": 8.61}),
            Sample("epoch: 0|step: 12|ppo_ep: 1|act_loss: 0.2099|cri_loss: 0.12|unsuper_loss: 0.0", 12, {"policy_loss": 0.2099, "value_loss": 0.12}),
            Sample("Step 1 | loss:0.9 lr:2e-5 tokens_per_second_per_gpu:1234 peak_memory_active:12.5", 1, {"loss": 0.9, "learning_rate": 2e-5, "tokens_per_second": 1234}),
            Sample("root - INFO - step:  1  loss: 12.2537  memory:  9.53GiB(12.05%)  tps: 1,234  mfu: 12.30%", 1, {"loss": 12.2537, "tokens_per_second": 1234, "mfu": 0.123, "gpu_memory": 9.53}),
            Sample("step   10/1000 | loss: 6.5 | lr 6e-4 | norm: -nan | dt: 123.4ms | tok/sec: 12345.6", 10, {"loss": 6.5, "grad_norm": float("nan"), "step_time": 0.1234}),
            Sample("Epoch [1/10], Step [100/500], Loss: 2.3012", 100, {"loss": 2.3012}),
            Sample("training INFO global_step: 10, loss: 3.25, learning_rate: 1e-05, interval_runtime: 1.2", 10, {"loss": 3.25}),
            Sample("{ Epoch:[  1/  2], step:[   10/  500], loss: 10.6, lr: 1e-5, global_norm: [1.2] }", 10, {"loss": 10.6}),
            Sample("warmup_step:1/20", -1),
            Sample("steps_per_print: inf, loss_scale: 0", -1),
            Sample("    and (torch.isnan(tr_loss_step) or torch.isinf(tr_loss_step))", -1),
            Sample("max_steps: 1000 learning_rate: 1e-4", -1),
        ),
    ),
    Format(
        "loss-scale",
        ("oss scale",),
        gaps(rf"(loss scale):? (?:\d+(?:\.\d+)?, reducing|from \d+(?:\.\d+)?) to {VALUE}", re.IGNORECASE),
        step_from="last",
        samples=(
            Sample("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768", None, {"loss_scale": 32768}),
            Sample("Increasing dynamic loss scale from 2048.0 to 4096.0", None, {"loss_scale": 4096}),
        ),
    ),
    Format(
        "deepspeed-chat",
        ("average reward score",),
        gaps(rf"(average reward score):\s*{VALUE}", re.IGNORECASE),
        step_from="last",
        samples=(Sample("average reward score: -0.67919921875", None, {"reward": -0.67919921875}),),
    ),
    Format(
        "deepspeed-chat-time",
        ("E2E latency",),
        gaps(rf"\|\s*(E2E latency|CurSamplesPerSec)=\s*{VALUE}"),
        step_from="last",
        samples=(
            Sample("|E2E latency=7.99s |Gather latency=0.00s (0.00%) |CurSamplesPerSec=8.01 |AvgSamplesPerSec=8.01", None, {"step_time": 7.99, "samples_per_second": 8.01}),
        ),
    ),
    Format(
        "evaluation",
        ("al",),
        gaps(
            rf"^[\W_]*((?:val\w*|eval\w*)[ _/](?:loss|acc(?:uracy)?|ppl|perplexity|bpb))\s*[:=]?\s*{VALUE}\s*$", re.IGNORECASE
        ),
        step_from="last",
        own_hint=r"(?:val|eval)[a-z0-9_]*[ _/](?:loss|acc|ppl|perplexity|bpb)",
        samples=(
            Sample("val loss 2.5", None, {"eval_loss": 2.5}),
            Sample("Validation loss: 2.31", None, {"eval_loss": 2.31}),
            Sample("eval loss at the end: 3", -1),
        ),
    ),
    Format(
        "epoch",
        ("poch", "oss"),
        AFTER_KEY,
        step_from="epoch",
        samples=(
            Sample("Epoch 3/10 - train_loss: 1.5 - val_loss: 1.7", 3, {"loss": 1.5, "eval_loss": 1.7}),
        ),
    ),
)  # fmt: skip
FORMATS: tuple[Format, ...] = tuple(table("FORMATS", ((f.name, f if f.samples else None) for f in _FORMATS)).values())


def parse(text: str) -> Record | None:
    """The metrics of one line (rank prefix already cut), None if it has none."""
    for form in FORMATS:
        for word in form.needs:
            if word not in text:
                break
        else:
            record = _read(form, text)
            if record:
                return record
    return None


def wrapped(text: str) -> Format | None:
    """The format whose record starts in this line and does not end in it."""
    for form in _WRAPPED:
        if all(word in text for word in form.needs):
            start = form.opens.search(text) if form.opens else None
            if start and form.closes and not form.closes.search(text, start.end()):
                return form
    return None


_WRAPPED = tuple(form for form in FORMATS if form.opens)


def _read(form: Format, text: str) -> Record | None:
    step, name, at = None, "", None
    if form.step_from == "line":
        found_at = counter(text) if form.step is None else _own_counter(form.step, text)
        if not found_at:
            return None
        name, step, at = found_at
    if form.step_from == "last" and form.step is not None and not form.step.search(text):
        return None
    if form.training_only and HELD_OUT.match(text):
        return None
    triples = [p for p in _pairs(form, text) if form.step is None or step_key(p[0]) is None]
    if not triples and not form.always:
        return None
    found = [(key, value) for key, value, _ in triples]
    epoch = epoch_of(text)
    if form.step_from == "keys":
        step, name, found = _step_of_keys(found, text)
        epoch = dict(found).get("epoch")
    if form.step_from == "epoch":
        if epoch is None:
            return None
        step, name = int(epoch), "epoch"
    if not found or not (form.always or _says_something(found)):
        return None
    rank = _RANK.search(text)
    spans = (at, *(span for _, _, span in triples)) if at else ()
    number_of_rank = int(rank.group(1)) if rank else None
    return Record(form.name, tuple(found), step, name, epoch, number_of_rank, form.counts_alone, spans)


def _own_counter(pattern: re.Pattern[str], text: str) -> tuple[str, int, Span] | None:
    match = pattern.search(text)
    if not match:
        return None
    last = match.lastindex or 1
    return match.group(1).lower() if last > 1 else "", counted(match.group(last)), match.span(last)


def _says_something(found: list[tuple[str, float]]) -> bool:
    """Whether one key is a metric that no configuration would print."""
    hits = [canonical(key) for key, _ in found]
    return any(hit and hit[0] not in SETTINGS_TOO for hit in hits) or (
        len(found) == 1 and hits[0] is not None and hits[0][0] == "loss_scale"
    )


def _pairs(form: Format, text: str) -> Iterator[tuple[str, float, Span]]:
    text = text.split(form.before, 1)[0] if form.before else text
    if form.pairs is AFTER_KEY:
        yield from loose_pairs(text, form.rename, HELD_OUT.match(text) is not None)
        return
    seen: set[str] = set()
    for match in form.pairs.finditer(text):
        key = match.group(1).strip()
        key = form.rename.get(key, key)
        if key not in seen and (form.keeps_unknown or canonical(key)):
            seen.add(key)
            yield key, number(match.group(2), match.group(3)), match.span(2)


def _step_of_keys(found: list[tuple[str, float]], text: str) -> tuple[int | None, str, list[tuple[str, float]]]:
    """The step among the keys of a dictionary, and the other keys."""
    counts = [(order, key, value) for key, value in found if (order := step_key(key)) is not None]
    for _, key, value in sorted(counts, key=lambda c: c[0]):
        if value == value and abs(value) < 1e15:
            return int(value), key, [(k, v) for k, v in found if step_key(k) is None]
    for pattern in (_STRING_STEP, _DICT_STEP):
        match = pattern.search(text)
        if match:
            name = match.group(1).lower() if match.lastindex == 2 else "global_step"
            return int(match.group(match.lastindex or 1)), name, found
    return None, "", found


_PROGRESS = gaps(rf"^\s*(?:(?:train\w*|epochs?\b[^|%]{{0,20}}|steps?)\s*:?)?\s*{_BAR}", re.IGNORECASE)


def progress(text: str) -> tuple[int, int] | None:
    """Done and total of a training progress bar; bars of evaluation, loading and mapping are not."""
    match = _PROGRESS.match(text) if "%|" in text else None
    return (int(match.group(2)[:15]), int(match.group(3)[:15])) if match else None
