"""One training on far fewer devices than another, or than before its restart, with the learning rate left as it was.

With fewer devices and nothing else changed a step sees fewer tokens, its gradient is noisier, and the rate that was
chosen for the large batch is too high for the small one. The sizes are those that a log prints where it begins (or
begins again) and those of the files in the folder of the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from pathlib import PurePosixPath

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity
from ...heads import beginning
from ...patterns import bounded
from ...run import Artifact, Run
from ..line import Line, plain
from .clipped import is_rl
from .read import Course, noise
from .told import BYTES

LEAST, MOST_LOG = 40, 4 << 20
"""Points of a loss, and bytes of a log that are looked at for a second beginning."""
FEWER, KEPT = 4.0, 0.7
"""Times by which the batch is smaller at least, and share of the rate that is left at least: by the square-root rule it
would be half or less (Malladi et al. 2022, "On the SDEs and Scaling Rules for Adaptive Gradient Algorithms")."""
NOISIER, WORSE = 1.5, 0.03
"""Times the other's noise around the trend, and share of the level by which the loss is worse after as many tokens, or
at the same step."""
SAMPLING = 1.2
"""Times the root of the batches up to which the noise is that of a smaller sample at any rate. Own judgement."""
KINDS = ("config", "script", "code")
_N = r"[\"']?(?:\s?[(（][^()（）]{1,60}[)）])?\s{0,3}[:=：]?\s{0,3}([\d][\d,_.]{0,14}[kKmM]?)(?![\w.])"
SIZES = {
    "tokens": bounded(
        rf"(?i)(?<![a-z])tok(?:en)?s?\s?(?:/|_?per_?| per |_)\s?(?:iter(?:ation)?|step|batch|update){_N}"
        r"|([\d][\d,_.]{0,14}[kKmM]?)\s?tok(?:en)?s?\s?(?:/| per )\s?(?:iter|step|update|batch)"
        rf"|每步\s?(?:token|词元)\S{{0,2}}{_N}"
    ),
    "batch": bounded(
        rf"(?i)(?<![a-z])(?:global|effective|total)[_ ]?(?:train[_ ])?(?:batch(?:[_ ]?size)?|bs){_N}|(?<![a-z])gbs{_N}"
        rf"|(?:全局|总|有效)(?:批大小|批量|批|batch){_N}"
    ),
    "world": bounded(
        rf"(?i)(?<![a-z])(?:world(?:[_ ]?size)?|n_?gpus?|num_(?:gpus|processes|devices)|gpus|devices|dp(?:_size)?){_N}"
        rf"|(?<![\d.])(\d{{1,5}})\s?(?:x\s)?(?:gpus|cards|张?卡)(?![a-z])|(?:卡数|总卡数|进程数){_N}"
    ),
    "micro": bounded(
        rf"(?i)(?<![a-z])(?:mbs|micro_?(?:batch(?:_?size)?|bs)|(?<!global_)batch_size|per_device_\w{{0,6}}_?batch_size|bs){_N}"
        rf"|(?<![a-z])(?:instantaneous |micro |local )?batch[ _]size per (?:device|gpu|card|rank){_N}"
        rf"|单卡批(?:大小|量)?{_N}"
    ),
    "accumulation": bounded(
        rf"(?i)(?<![a-z])(?:ga|grad(?:ient)?[_ ]?acc(?:um\w*)?(?:[_ ]steps)?|accum\w*){_N}|梯度累积\S{{0,2}}{_N}"
    ),
    "length": bounded(rf"(?i)(?<![a-z])(?:block(?:_size)?|seq(?:_?len\w*)?|ctx|context_length|max_len\w*){_N}"),
}  # fmt: skip
"""What a batch is made of, as logs and settings write it."""
RATE = bounded(
    r"(?i)(?<![a-z_])(?:learning[_-]?rate|(?:max_|peak_|base_)?lr|学习率)[\"']?\s?[:=：\s]\s{0,3}([\d.]{1,8}(?:e-?\d{1,2})?)(?![\w.])"
)
WORDS = ("tok", "batch", "world", "gpu", "gbs", "mbs", "accum", "卡", "批", "累积")


@dataclass(frozen=True)
class Stretch:
    """A part of a course with one batch."""

    course: Course
    loss: Line
    rate: Line
    sizes: Mapping[str, tuple[float, Evidence]]

    def batch(self, other: Stretch) -> tuple[float, float, str] | None:
        """(own, the other's, what it is counted in): by the tokens or sequences of a step, else by the devices where
        nothing else of the batch is told to differ."""
        for of in ("tokens", "batch", "world"):
            if of in self.sizes and of in other.sizes:
                parts = ("micro", "accumulation", "length") if of == "world" else ()
                own, theirs = (x.sizes[of][0] * np.prod([x._part(p) for p in parts]) for x in (self, other))
                return float(own), float(theirs), of
        return None

    def _part(self, of: str) -> float:
        return self.sizes[of][0] if of in self.sizes else 1.0


def scaled(run: Run, found: Sequence[Course]) -> Iterator[Finding]:
    """The clearest pair of which the smaller batch has the rate of the larger one, and swings more or is behind."""
    some = [c for c in found if c.loss is not None and c.loss.axis == "step" and not is_rl(c)]
    parts = [s for c in some if len(c.loss or ()) >= LEAST for s in _stretches(run, c, some)]
    for small, large in permutations(parts, 2):
        sizes = small.batch(large)
        if sizes is None or sizes[1] < FEWER * sizes[0] or _same_loss(small, large) is False:
            continue
        rates = [float(s.rate.values.max()) for s in (small, large)]
        if rates[0] >= KEPT * rates[1] > 0 and (why := _suffers(small, large, sizes[0] / sizes[1]))[0]:
            yield _told(small, large, sizes, rates, why)
            return


def _same_loss(a: Stretch, b: Stretch) -> bool:
    return (a.loss.name, plain(a.loss.key)) == (b.loss.name, plain(b.loss.key))


def _stretches(run: Run, course: Course, every: Sequence[Course]) -> Iterator[Stretch]:
    """A course, cut where its log says a size again that is another."""
    loss, rate = course.loss, course.rate or _rate_set(run, course, every)
    artifact = next((a for a in run.artifacts if a.name == course.file), None)
    if loss is None or rate is None:
        return
    said = _said(artifact) if artifact is not None and artifact.kind == "log" else []
    beside = _beside(run, course, every)
    cuts = [0, *sorted({n for n, _, _ in said if loss.at[0] < n < loss.at[-1]}), int(loss.at.max()) + 1]
    for begin, end in pairwise(cuts):
        sizes = dict(beside)
        for n, of, size in said:
            if n <= max(begin, int(loss.at[0])):
                sizes[of] = size
        keep = (loss.at >= begin) & (loss.at < end)
        own = rate.only((rate.at >= begin) & (rate.at < end)) if loss.file == rate.file and len(cuts) > 2 else rate
        if sizes and keep.sum() >= LEAST and len(own):
            yield Stretch(course, loss.only(keep), own, sizes)


def _said(artifact: Artifact) -> list[tuple[int, str, tuple[float, Evidence]]]:
    """(line, of what, size) of the lines of a log that tell sizes and no loss."""
    out, last = [], dict[str, float]()
    for n, line in enumerate(beginning(artifact.path, MOST_LOG).splitlines(), 1):
        low = line.lower()
        if len(line) > 400 or "loss" in low or not any(word in low for word in WORDS):
            continue
        for of, size in _sizes(line):
            if last.get(of) != size:
                last[of] = size
                out.append((n, of, (size, Evidence(artifact.name, n, text=line.strip()))))
        if len(out) > 200:
            return []  # a measure of every step, and no heading
    return out


def _sizes(line: str) -> Iterator[tuple[str, float]]:
    """Each size that a line tells, by its first number; of devices the largest: one of a process stands beside all."""
    for of, pattern in SIZES.items():
        found = list(_numbers(pattern, line))
        if found:
            yield of, max(found) if of == "world" else found[0]


def _numbers(pattern: re.Pattern[str], line: str) -> Iterator[float]:
    for match in pattern.finditer(line):
        text = next((g for g in match.groups() if g), "").strip("._,")
        number = text.rstrip("kKmM").replace(",", "").replace("_", "")
        if re.fullmatch(r"\d+(?:\.\d+)?", number) and (value := float(number)) > 0:
            yield value * {"k": 1e3, "m": 1e6}.get(text[-1:].lower(), 1.0)


def _beside(run: Run, course: Course, every: Sequence[Course]) -> dict[str, tuple[float, Evidence]]:
    """The sizes that the files of the log's folder set."""
    out: dict[str, tuple[float, Evidence]] = {}
    for artifact, n, line in _lines_beside(run, course, every):
        for of, size in _sizes(line):
            out.setdefault(of, (size, Evidence(artifact.name, n, text=line.strip())))
    return out


def _lines_beside(run: Run, course: Course, every: Sequence[Course]) -> Iterator[tuple[Artifact, int, str]]:
    """The lines of the files that set something, in the log's folder, where no other course lies in it."""
    folder = PurePosixPath(course.file).parent
    if sum(PurePosixPath(c.file).parent == folder for c in every) > 1:
        return
    for artifact in run.artifacts:
        if artifact.kind in KINDS and PurePosixPath(artifact.name).parent == folder:
            for n, line in enumerate(beginning(artifact.path, BYTES).splitlines(), 1):
                if len(line) <= 400:
                    yield artifact, n, line


def _rate_set(run: Run, course: Course, every: Sequence[Course]) -> Line | None:
    """The learning rate that the files of the log's folder set, for a log that tells none."""
    for artifact, n, line in _lines_beside(run, course, every):
        if (found := RATE.search(line)) and (value := float(found[1])) > 0:
            one = np.array([0.0])
            return Line("learning_rate", "learning_rate", artifact.name, one, one + value, np.array([n]), "step")
    return None


def _suffers(small: Stretch, large: Stretch, share: float) -> tuple[str, str]:
    """What the small batch does to the loss; empty where nothing shows."""
    swings = [noise(s.loss.values[len(s.loss) // 2 :]) for s in (small, large)]
    times = swings[0] / swings[1] if swings[1] > 0 else 0.0
    higher = _same_step(small, large)
    if times >= (NOISIER if higher[0] else max(NOISIER, SAMPLING / share**0.5)):
        pair = [f"{x:.2g}" for x in swings]
        return (f"its loss swings {times:.1f} times as much around the trend ({' against '.join(pair)}){higher[0]}",
                f"loss 围绕趋势的波动是后者的 {times:.1f} 倍（{' 对 '.join(pair)}）{higher[1]}")  # fmt: skip
    last = small.loss.x[-1] * share
    if small.course.file == large.course.file or not large.loss.x[0] < last <= large.loss.x[-1]:
        return "", ""
    own, other = float(np.median(small.loss.values[-9:])), float(np.interp(last, large.loss.x, large.loss.values))
    if own < (1 + WORSE) * other:
        return "", ""
    return (f"after as many tokens its loss is {own:.4g} against {other:.4g}",
            f"处理同样多的 token 后 loss 为 {own:.4g}，后者为 {other:.4g}")  # fmt: skip


def _same_step(small: Stretch, large: Stretch) -> tuple[str, str]:
    """That the loss of the small batch is higher at the last step that both have; empty where it is not, or where one
    is the other's restart."""
    end = min(small.loss.x[-1], large.loss.x[-1])
    near = [s.loss.values[(s.loss.x <= end) & (s.loss.x > 0.9 * end)] for s in (small, large)]
    if small.course.file == large.course.file or not all(map(len, near)):
        return "", ""
    own, other = (float(np.median(v)) for v in near)
    if own < (1 + WORSE) * other:
        return "", ""
    return (f", and is {own:.4g} against {other:.4g} at step {end:.0f}",
            f"，到第 {end:.0f} 步为 {own:.4g}，后者为 {other:.4g}")  # fmt: skip


UNITS = {"tokens": ("tokens a step", "每步 token 数"), "batch": ("sequences a step", "每步样本数"),
         "world": ("by its devices and their share", "按设备数与单卡批量算")}  # fmt: skip


def _told(
    small: Stretch, large: Stretch, sizes: tuple[float, float, str], rates: Sequence[float], why: tuple[str, str]
) -> Finding:
    own, theirs, of = sizes
    new = float(f"{rates[0] * (own / theirs) ** 0.5:.2g}")
    names = [f"{s.course.file} (from step {s.loss.x[0]:.0f})" if small.course.file == large.course.file
             else s.course.file for s in (small, large)]  # fmt: skip
    en, zh = UNITS[of]
    places = [s.sizes[of][1] for s in (small, large)]
    return Finding(
        "batch-fell-rate-kept", Severity.S2,
        f"The batch of {names[0]} is {own:,.0f}, that of {names[1]} {theirs:,.0f} ({en}, {theirs / own:.3g} times), "
        f"at a peak learning rate of {rates[0]:.3g} and {rates[1]:.3g}; {why[0]}. With the root of the batch the rate "
        f"would be {new:.2g}; accumulation {theirs / own:.3g} times as long would keep the batch.",
        f"{names[0]} 的批为 {own:,.0f}，{names[1]} 为 {theirs:,.0f}（{zh}，{theirs / own:.3g} 倍），峰值学习率却是"
        f" {rates[0]:.3g} 与 {rates[1]:.3g}；{why[1]}。按批大小的平方根换算学习率应为 {new:.2g}；或把梯度累积加大 "
        f"{theirs / own:.3g} 倍以保持批大小。",
        (*places, small.rate.evidence(int(np.argmax(small.rate.values))),
         large.rate.evidence(int(np.argmax(large.rate.values))), small.loss.evidence(-1), large.loss.evidence(-1)),
        {"batch": own, "other": theirs, "rate": rates[0], "other_rate": rates[1],
         PROPOSES: _proposed(small, large, round(theirs / own, 2), new)},
    )  # fmt: skip


def _proposed(small: Stretch, large: Stretch, share: float, rate: float) -> dict[str, object]:
    """What to try: the accumulation that gives the batch back, where fewer devices alone made it smaller, else the rate
    that fits the smaller batch."""
    own, theirs = (s.sizes.get("accumulation") for s in (small, large))
    worlds = [s.sizes["world"][0] for s in (small, large) if "world" in s.sizes]
    fewer = len(worlds) == 2 and round(worlds[1] / worlds[0], 2) == share == round(share)
    if own is None or theirs is None or own[0] != theirs[0] or not fewer:
        return {"variable": "learning_rate", "new": rate}
    return {"variable": "grad_accumulation", "new": round(own[0] * share)}
