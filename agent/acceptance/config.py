"""Criteria on settings: equations between them, and equality with the baseline's.

A setting that is not written down in the files is not visible here, which is an observation of nothing.
"""

from __future__ import annotations

from ...knowledge.entry import Criterion
from ...tools.config.diff import diff
from ...tools.settings import Settings
from .subject import Observation, Subject, metric, missing, seen

ROUNDING = 0.01
"""Relative difference allowed where a plan is rounded to whole steps."""


@metric("global_batch_size")
def global_batch_size(subject: Subject, criterion: Criterion) -> Observation:
    """Micro-batch x accumulation x data-parallel size, computed from the configuration before and after."""
    if subject.baseline is None:
        return missing("the baseline's configuration is needed")
    before, after = (_batch(s) for s in (subject.baseline.settings, subject.settings))
    if before is None or after is None:
        side = "the baseline" if before is None else "this run"
        return missing(
            f"the global batch of {side} cannot be computed: micro-batch, accumulation and devices are needed"
        )
    words = f"sequences per optimizer step, {before} before and {after} now (micro-batch x accumulation x replicas)"
    ok = before == after if criterion.value == "unchanged" else after == float(criterion.value or 0)
    return Observation(after, 2, _files(subject.settings), words, ok)


def _batch(settings: Settings) -> int | None:
    """The global batch, or that of one device where the number of devices is not visible."""
    if total := settings.value("global_batch_size"):
        return int(total)
    micro, steps = settings.value("micro_batch_size"), settings.value("grad_accumulation")
    return int(micro * steps) if isinstance(micro, int) and isinstance(steps, int) else None


def _files(settings: Settings) -> str:
    return ", ".join(settings.files)


@metric("global_batch_tokens")
def global_batch_tokens(subject: Subject, criterion: Criterion) -> Observation:
    """Micro-batch x accumulation x data-parallel size x context, against the tokens per step declared elsewhere."""
    s = subject.settings
    parts = [s.value(v) for v in ("micro_batch_size", "grad_accumulation", "data_parallel", "sequence_length")]
    if not all(isinstance(p, (int, float)) and p > 0 for p in parts):
        names = ("micro_batch_size", "grad_accumulation", "data_parallel (world size)", "sequence_length")
        lacking = ", ".join(n for n, p in zip(names, parts, strict=True) if not p)
        return missing(f"not visible in the files: {lacking}")
    product = int(parts[0] * parts[1] * parts[2] * parts[3])
    declared = _declared_tokens(s)
    words = f"{parts[0]:g} x {parts[1]:g} x {parts[2]:g} x {parts[3]:g} = {product} tokens per step"
    if declared is None:
        return missing(f"{words}; a declared figure to compare with is needed (global batch or tokens per step)", 1)
    what, tokens = declared
    return Observation(product, 2, _files(s), f"{words}, against {tokens} by {what}", product == tokens)


def _declared_tokens(s: Settings) -> tuple[str, int] | None:
    """(what declares it, tokens per step), where a file says so itself."""
    for key, setting in s.others.items():
        name = key.rsplit(".", 1)[-1].lstrip("-").replace("-", "_").lower()
        if name in DECLARED and isinstance(setting.value, (int, float)):
            return key, int(setting.value)
    for variable in ("global_batch_size", "train_batch_size"):
        if (setting := s.get(variable)) and isinstance(setting.value, (int, float)) and setting.value > 0:
            return setting.key, int(setting.value * s.value("sequence_length"))
    return None


DECLARED = (
    "global_batch_tokens",
    "tokens_per_step",
    "batch_size_tokens",
    "tokens_per_batch",
    "global_tokens_per_batch",
)
"""Keys by which configurations state the tokens of one optimizer step."""


@metric("total_steps")
def total_steps(subject: Subject, criterion: Criterion) -> Observation:
    """Steps of the schedule against planned tokens over tokens per step."""
    s = subject.settings
    tokens, per_step, steps = s.value("train_tokens"), s.value("tokens_per_step"), s.get("max_steps")
    decay = s.value("decay_steps")
    if not tokens or not per_step:
        lacking = " and ".join(n for n, v in (("train_tokens", tokens), ("tokens per step", per_step)) if not v)
        return missing(f"not visible in the files: {lacking}")
    if steps is None and decay is None:
        return missing("neither max_steps nor the length of the decay is written down")
    planned, written = tokens / per_step, float(steps.value if steps else decay)
    words = f"written {written:g} steps against {tokens:g} / {per_step:g} = {planned:.1f}; "
    words += f"the rate reaches its minimum at step {decay or written:g}"
    near = abs(written - planned) <= max(1.0, ROUNDING * planned)
    falls = decay is None or abs(decay - planned) <= max(1.0, ROUNDING * planned)
    return Observation(written, 2, _files(s), words, near and falls)


@metric("train_batch_size")
def train_batch_size(subject: Subject, criterion: Criterion) -> Observation:
    """Train batch against rollout batch x responses per prompt, x max_epochs where the framework divides by it."""
    s = subject.settings
    if s.framework == "verl":
        why = "verl counts prompts in train_batch_size, so the rule of the source is not made for it"
        return Observation(None, 0, _files(s), why, None, applies=False)
    train, rollout = s.value("train_batch_size"), s.value("rollout_batch_size")
    each = s.value("num_generations") or 1
    if not train or not rollout:
        lacking = " and ".join(n for n, v in (("train_batch_size", train), ("rollout_batch_size", rollout)) if not v)
        return missing(f"not visible in the files: {lacking}")
    epochs = _max_epochs(s)
    need = int(rollout * each * epochs)
    words = f"{train:g} against {rollout:g} prompts x {each:g} responses x {epochs} max_epochs = {need} (D-05)"
    return Observation(float(train), 1, _files(s), words, train >= need)


def _max_epochs(s: Settings) -> int:
    """Passes over each rollout, by which OpenRLHF and LightRFT divide; 1 where it is not written down."""
    for setting in (s.get("epochs"), *s.others.values()):
        if setting and setting.key.lstrip("-").replace("-", "_").endswith("max_epochs"):
            return max(int(setting.value), 1) if isinstance(setting.value, (int, float)) else 1
    return 1


@metric("batch_size_mod_world_size")
def batch_size_mod_world_size(subject: Subject, criterion: Criterion) -> Observation:
    """Global batch modulo the data-parallel size (the world size without model parallelism)."""
    s = subject.settings
    written = next((x for v in ("global_batch_size", "train_batch_size") if (x := s.get(v))), None)
    batch = written.value if written else s.value("global_batch_size")
    replicas = s.value("data_parallel") or s.value("world_size")
    if not isinstance(batch, (int, float)) or not isinstance(replicas, (int, float)) or replicas < 1:
        lacking = "the global batch" if not isinstance(batch, (int, float)) else "the number of devices"
        return missing(f"{lacking} is not visible in the files")
    rest = int(batch) % int(replicas)
    words = f"{batch:g} modulo {replicas:g} (data-parallel size where model parallelism is used, assumed)"
    return seen(rest, criterion, words, 1, _files(s))


@metric("zero_config_consistent")
def zero_config_consistent(subject: Subject, criterion: Criterion) -> Observation:
    """train_batch_size = micro-batch x accumulation x replicas, and one precision in both files."""
    codes = ("global-batch-mismatch", "precision-conflict", "deepspeed-precision-differs", "deepspeed-config-error")
    if bad := sorted({f.code for f in subject.found(*codes)}):
        return seen(False, criterion, f"findings: {', '.join(bad)}", len(bad), _files(subject.settings))
    s = subject.settings
    clash = [f"{a.variable} ({a.file} and {b.file})" for a, b in s.conflicts if a.variable in SHARED]
    if clash:
        return seen(False, criterion, f"the files disagree on {', '.join(clash)}", len(clash), _files(s))
    if "zero_stage" not in s and "deepspeed" not in s:
        return missing("no DeepSpeed configuration in the run")
    if not any(v in s for v in ("micro_batch_size", "train_batch_size", "global_batch_size")):
        return missing("no batch size is visible beside the DeepSpeed configuration")
    words = "no disagreement on batch sizes or precision between the files (values set to `auto` follow the trainer)"
    return seen(True, criterion, words, len(s.files), _files(s))


SHARED = ("micro_batch_size", "grad_accumulation", "global_batch_size", "train_batch_size", "precision", "grad_clip")
"""Variables that the trainer's file and DeepSpeed's both may set."""


@metric("groups_are_whole")
def groups_are_whole(subject: Subject, criterion: Criterion) -> Observation:
    """Completions per optimizer step divided by the group size is a whole number of at least one."""
    s = subject.settings
    each, batch = s.value("num_generations"), s.value("global_batch_size") or s.value("train_batch_size")
    if not isinstance(each, int) or each < 1 or not isinstance(batch, (int, float)):
        lacking = "num_generations" if not isinstance(each, int) or each < 1 else "the batch per optimizer step"
        return missing(f"{lacking} is not visible in the files")
    words = f"{batch:g} completions per optimizer step, groups of {each}"
    return seen(batch >= each and batch % each == 0, criterion, words, 1, _files(s))


@metric("changed_settings")
def changed_settings(subject: Subject, criterion: Criterion) -> Observation:
    """Number of settings that differ from the baseline; micro-batch against accumulation counts as one."""
    if subject.baseline is None or not subject.baseline.settings.values or not subject.settings.values:
        return missing("the configuration of both runs is needed")
    changed = [d.variable for d in diff(subject.baseline.settings, subject.settings) if d.counts]
    words = f"settings that differ from the baseline{': ' + ', '.join(changed) if changed else ''}"
    return seen(len(changed), criterion, words, len(changed), _files(subject.settings))
