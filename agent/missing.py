"""What is missing before a run in which nothing wrong was found may be called healthy, worst first.

Files that could show a fault and were not read; what the person describes or complains of and nobody measured, or what
is there after all; a reward that nobody but its own model judges; a sign that something strange was measured; a run
that had not come to its planned end; a main series too short for the check that would call it clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from ..tools.findings import STANDING, Check, Finding, clean
from ..tools.kinds import shows
from ..tools.logs.detectors.robust import finite, mann_kendall, stretches
from ..tools.logs.plan import PLANNED
from ..tools.metrics import held_out
from ..tools.patterns import bounded
from ..tools.phrase import in_chinese, phrases
from ..tools.series import Series, SeriesTable
from ..tools.vocabulary import VOCABULARY
from .coverage import Covered
from .question.complaints import GOES_ON
from .question.symptoms import Symptom
from .question.understand import Question
from .ranking import SHOWN
from .signs.apart import APART, explained
from .untold import MOVES, SLOW, Missing, Said, noted_beside, untold

SIGN = "sign-"
"""Beginning of the codes of signs."""
FINE = "run-healthy"
"""The reassurance; of a whole run it may rest on few points."""
LOW = "loss-low-from-start"
"""The note on a loss that is next to nothing at the first points."""
ENDED = "job-ended-badly"
"""What a scheduler's account says of the job: no curve can outweigh it."""
JUMPS, CALM = ("loss-spike", "grad-norm-spike"), ("loss-jitter-benign", FINE)
"""Jumps that may be single ones, and the reassurances of the curve that has them."""
OVERLAP = 0.5
"""Share of the steps of the judged curve that another one has, from which on it is a run of its own. Own judgement."""
APART_BY = 0.01
"""Part of the level by which the ends of two curves differ, from which on they are two runs. Own judgement."""
SCORED = frozenset(("accuracy", "eval_accuracy"))
"""Measures of which an evaluation tells."""
WHY = bounded(r"(?i)\bwhy\b.{0,120}|\bhow come\b.{0,120}|(?:为什么|为何|怎么会|咋).{0,60}")
MAIN = ("loss-spike", "reward-flat")
"""The checks of the main series: what they are too short for, nobody has looked at."""
JUDGES = ("eval", "generations")
"""Kinds of files by which somebody other than the reward model judges the answers."""
RL = ("ppo", "grpo")
TARGETS, AT_THE_END = ("all-labels-masked", "loss-mask-misaligned", "pad-eos-misconfig"), "end-token-masked"
"""What rules on programs lead to that find the loss computed over wrong tokens; the one of them that is of the last."""
STANDS_STILL, STANDING_STILL = "hang", ("loss-flat", "reward-flat")
"""The symptom that a job waits and says nothing, and those that a measure does not get better."""
BLOCKS, TREND = 10, 1.96
"""Parts of the rest whose medians are compared, and the z of Kendall's tau from which on they get better."""
JUMPED = 3.0
"""Times the spread of the later parts by which the first one lies below them, where it rose in the first."""
BEGINNINGS = (0.0, 0.0625, 0.125, 0.25, 0.5)
"""Parts of the way after which a measure may stand still to its end."""
SAID = phrases(
    "what is missing",
    ("waiting", "where each rank waits: stacks of all ranks (`py-spy dump`), the last collectives of the flight "
     "recorder, the logs of the other ranks and the kernel's; {n} log was read{one}",
     "每个 rank 停在哪里：所有 rank 的堆栈（`py-spy dump`）、flight recorder "
     "的最后几次集合通信、其余 rank 的日志和内核日志；目前只读到 {n} 份日志{one}"),
    ("stands", "{key} does stand still as you say ({first:.4g} there, {last:.4g} at the end)",
     "{key} 确如你所说停住不动（从 {first:.4g} 到最后的 {last:.4g}）"),
    ("at-times", "{key} is slow at times as you say ({n} stretches, {value:.4g} in the first against {level:.4g})",
     "{key} 确如你所说会慢一阵（共 {n} 段，第一段为 {value:.4g}，平时为 {level:.4g}）"),
    ("own-judge", "the reward rises, and nothing but its own model judges the answers: bring an independent evaluation "
     "or samples", "奖励在涨，但除奖励模型自己以外没有任何评判：请给出独立评测或样本"),
    ("tiny", "{key} is next to nothing from its first points on, as that of a policy or of targets that are given: it "
     "says nothing of what was learned; bring a reward, or a score of the answers",
     "{key} 从最初几个点起就接近 0，像是策略的 loss 或目标已经给出：它说明不了学到了什么；请给出奖励或对回答的评分"),
    ("file", "{file} was not read ({why})", "没有读 {file}（{why}）"),
    ("cut", "{file} was not read to its end ({why})", "{file} 没有读到末尾（{why}）"),
    ("plain", "{file} was not read", "没有读 {file}"),
    ("open-end", "{name} cannot be excluded: nothing shows that the run came to its planned end",
     "不能排除“{name}”：没有看到运行走到计划的终点"),
    ("unmeasured", "{name} was not measured", "没有测到“{name}”相关的量"),
    ("short", "{name} cannot be judged yet ({why})", "“{name}”还无法判断（{why}）"),
    ("there", "{name} is there, if only as a note", "“{name}”确实存在，虽只是提示"),
    ("beside", "{name}: an earlier run beside this one was at another speed",
     "“{name}”：旁边较早的 run 速度与它不同"),
    ("sign", "{what}", "{what}"),
    ("blind", "the loss is computed over labels that the program makes wrongly, so that no curve of it shows that "
     "({what}): bring answers of the model or a score of them",
     "loss 就是按程序弄错的 labels 计算的，曲线显示不出来（{what}）：请给出模型的回答或其得分"),
    ("curve", "{file} holds another curve of {metric} over the same steps, and only one of the two was judged: give "
     "the path of the run that you ask about", "{file} 里有同样步数的另一条 {metric} 曲线，只判断了其中一条："
     "请给出要问的那个 run 的路径"),
    ("unfinished", "nothing shows how it ended, and it had not come to its planned end",
     "看不到它是怎样结束的，且还没有走到计划的终点"),
    ("main", "the main series are too short ({why})", "主要曲线太短（{why}）"),
)  # fmt: skip


def missing(
    covered: Sequence[Covered],
    asked: Question,
    checks: Sequence[Check],
    findings: Sequence[Finding],
    series: Sequence[Series] = (),
    stage: str = "",
    scores: Sequence[Said] = (),
) -> tuple[Missing, ...]:
    """Everything that keeps a run from being called healthy.

    Args:
        covered: the account of its files.
        asked: what the person describes and complains of.
        checks: what was looked at.
        findings: what was found.
        series: what was measured.
        stage: what kind of training the settings say it is.
        scores: those of its tables.
    """
    unread = sorted((c for c in covered if c.missed), key=_first)
    cut = {c.cut: c.why for c in checks if c.cut}
    decided = [(s, undecided(s, checks, findings)) for s in asked.symptoms]
    clear = frozenset(c.name for c in checks if c.result == "clear")
    return (
        *(_file(c) for c in unread),
        *(_file(replace(c, why=cut[c.file]), "cut") for c in covered if c.file in cut and c.evidence and not c.missed),
        *_waiting(asked, covered, checks, findings),
        *(one for _, one in decided if one),
        *(one for symptom, absent in decided if not absent and (one := _stands(symptom, series))),
        *(one for c in asked.complaints if (one := untold(c, series, findings, scores, clear))),
        *_why(asked, findings),
        *_own_judge(asked, covered, series, stage),
        *_tiny(findings, series),
        *_other_curves(findings, series),
        *_strange(findings, series),
        *_blind(covered, findings, series),
        *_unfinished(checks, _of_now(asked)),
        *(() if any(f.code == FINE and f.data.get("whole") for f in findings) else _short(checks)),
    )


def _first(c: Covered) -> tuple[bool, bool, str]:
    """Trackers and what is named like a log, metrics or results before notes."""
    name = PurePosixPath(c.file).name
    return not ("tfevents" in name or name.endswith(".wandb")), not shows(name), c.file


def _file(c: Covered, how: str = "file") -> Missing:
    why, file = clean(c.why, 120).rstrip("."), clean(c.file, 80)
    said = SAID[how if why and why != "no reader knows this kind of file" else "plain"]
    return Missing(said.say("en", file=file, why=why), said.say("zh", file=file, why=in_chinese(why)), c.file)


def undecided(symptom: Symptom, checks: Sequence[Check], findings: Sequence[Finding]) -> Missing | None:
    """Why a symptom is not known to be absent; None where the checks that look for it came to a result.

    One that ends a run leaves no trace where the log only breaks off: that it came to its planned end is asked for too.
    """
    if any((f.code in symptom.kind.codes and not _passed(f, findings)) or _moved(f, symptom) for f in findings):
        return _said("there", symptom)
    if symptom.kind.id == SLOW and noted_beside(symptom.kind.metrics, findings):
        return _said("beside", symptom)
    if any(_of_scores(f) for f in findings) and not SCORED & {*symptom.kind.metrics}:
        return _said("unmeasured", symptom)
    looking = list(_looking(symptom))
    made = [c for name in looking for c in checks if c.name == name]
    judged = any(c.result in ("clear", "found") for c in made)
    if symptom.kind.ends and not any(c.name == PLANNED and c.result == "clear" for c in checks):
        return _said("open-end", symptom)
    short = next((c for c in made if c.result == "too-short" and (c.name == looking[0] or not judged)), None)
    if short:
        return _said("short", symptom, short)
    return None if judged else _said("unmeasured", symptom)


def _of_scores(f: Finding) -> bool:
    """Whether it is the reassurance of an evaluation: scores show nothing but what they are of."""
    return f.code == FINE and "versions" in f.data


def _why(asked: Question, findings: Sequence[Finding]) -> Iterator[Missing]:
    """That somebody asks why something is so, of which scores alone say nothing."""
    told = asked.symptoms or asked.complaints or not any(map(_of_scores, findings))
    if not told and (m := WHY.search(asked.described)):
        said = clean(m[0], 90).rstrip("?？ ")
        yield Missing(SAID["unmeasured"].say("en", name=said), SAID["unmeasured"].say("zh", name=said))


def _passed(f: Finding, findings: Sequence[Finding]) -> bool:
    """Whether it is a jump that was back at once, in a curve that was judged sound, or restless and no more."""
    note = f.severity not in SHOWN and f.code in JUMPS and f.data.get("recovered", True)
    return note and any(g.code in CALM for g in findings)


def _moved(f: Finding, symptom: Symptom) -> bool:
    """Whether the finding is more than a note on a metric that shows the symptom, whatever it calls it."""
    return f.severity in SHOWN and any(e.metric in symptom.kind.metrics for e in f.evidence)


def stands_from(s: Series) -> tuple[int, float, float] | None:
    """(row from which on a measure gets no better to its end, its level there and at the end), the earliest of a few;
    None where its later half still does."""
    values, better = finite(s).values, VOCABULARY[s.metric].better
    for part in BEGINNINGS:
        late = values[int(part * len(values)) :]
        if len(late) < 3 * BLOCKS:
            break
        blocks = np.array([np.median(b) for b in np.array_split(late, BLOCKS)])
        begun = better * (np.median(blocks) - blocks[0]) <= JUMPED * float(np.std(blocks[1:]))
        if begun and better * mann_kendall(blocks)[1] < TREND:
            return len(values) - len(late), float(blocks[0]), float(blocks[-1])
    return None


def slow_at_times(metrics: Sequence[str], table: SeriesTable) -> tuple[Series, list[tuple[int, int, float]]] | None:
    """The first measure of speed that lies beyond its level in several stretches, and comes back each time."""
    for s in (s for m in metrics if (s := table.get(m)) is not None):
        if parts := stretches(finite(s).values, -VOCABULARY[s.metric].better):
            return s, parts
    return None


def _stands(symptom: Symptom, series: Sequence[Series]) -> Missing | None:
    """That a measure does stand still, or is slow at times, as the person says, though nothing calls that a fault."""
    if symptom.kind.id == SLOW and (again := slow_at_times(symptom.kind.metrics, SeriesTable(tuple(series)))):
        s, parts = again
        level = float(np.median(finite(s).values))
        numbers = {"key": clean(s.key, 60), "n": len(parts), "value": parts[0][2], "level": level}
        return Missing(SAID["at-times"].say("en", **numbers), SAID["at-times"].say("zh", **numbers))
    if symptom.kind.id not in STANDING_STILL:
        return None
    for s in (s for s in series if s.metric in symptom.kind.metrics):
        if (found := stands_from(s)) is not None:
            numbers = {"key": clean(s.key, 60), "first": found[1], "last": found[2]}
            return Missing(SAID["stands"].say("en", **numbers), SAID["stands"].say("zh", **numbers))
    return None


def _looking(symptom: Symptom) -> dict[str, None]:
    """Names of the checks that look for a symptom; of one that metrics show, those that read these metrics."""
    from ..tools.catalogue import checks as that_look_for  # imports every tool
    from ..tools.logs.detectors.detect import DETECTORS

    names = dict.fromkeys(name for code in symptom.kind.codes for name in that_look_for(code))
    wanted = set(symptom.kind.metrics)
    measuring = {name for name in names if name in DETECTORS and wanted.intersection(DETECTORS[name].needs)}
    return {name: None for name in names if name in measuring} if measuring else names


def _said(key: str, symptom: Symptom, check: Check | None = None) -> Missing:
    name = symptom.kind.name
    en, zh = ((check.say(lang) if check else "") for lang in ("en", "zh"))
    return Missing(SAID[key].say("en", name=name.en, why=en), SAID[key].say("zh", name=name.zh, why=zh))


def _waiting(
    asked: Question, covered: Sequence[Covered], checks: Sequence[Check], findings: Sequence[Finding]
) -> Iterator[Missing]:
    """What would tell who waits for whom, where a job stands still and no file shows where."""
    hang = next((s for s in asked.symptoms if s.kind.id == STANDS_STILL), None)
    if hang is None or undecided(hang, checks, findings) is None:
        return
    if any(f.code in hang.kind.codes and f.severity in SHOWN for f in findings):
        return
    logs = [c.file for c in covered if c.read_as in ("log", "metrics")]
    if not any(c.read_as == "stack" for c in covered):
        n, one = len(logs), clean(logs[0], 60) if len(logs) == 1 else ""
        yield Missing(SAID["waiting"].say("en", n=n, one=f" ({one})" if one else ""),
                      SAID["waiting"].say("zh", n=n, one=f"（{one}）" if one else ""))  # fmt: skip


def _own_judge(asked: Question, covered: Sequence[Covered], series: Sequence[Series], stage: str) -> Iterator[Missing]:
    """A reward that rises by the trained reward model alone, where the person asks of it."""
    rewards = [s for s in series if s.metric == "reward" and mann_kendall(finite(s).values)[1] >= MOVES]
    metrics = {s.metric for s in series}
    trained = stage in RL or bool(metrics & {"kl", "entropy"})
    judged = any(m.startswith("eval_") or m == "accuracy" for m in metrics) or any(held_out(s.key) for s in series)
    judged = judged or any(c.read_as in JUDGES for c in covered) or _played(series)
    if rewards and trained and not judged and _REWARD.search(asked.own):
        yield Missing(SAID["own-judge"].say("en"), SAID["own-judge"].say("zh"))


def _tiny(findings: Sequence[Finding], series: Sequence[Series]) -> Iterator[Missing]:
    """That the only curve which clears the run is a loss that no text begins with."""
    fine = next((f for f in findings if f.code == FINE and f.evidence), None)
    low = next((f for f in findings if f.code == LOW and f.evidence), None)
    judged = any(s.metric == "reward" or s.metric.startswith("eval_") or _judges(s) or held_out(s.key) for s in series)
    if fine and low and fine.evidence[0].metric == low.evidence[0].metric and not judged:
        key = clean(low.evidence[0].metric or "", 60)
        yield Missing(SAID["tiny"].say("en", key=key), SAID["tiny"].say("zh", key=key))


_REWARD = bounded(
    r"reward|奖励|\b(?:quality|better|good|great|improv\w+|learn\w*|ship|release|deploy|hack\w*)\b|质量|效果|变好|上线|发布",
    re.IGNORECASE,
)
"""What asks of the quality of what was trained."""


def _played(series: Sequence[Series]) -> bool:
    """Whether episodes of an environment are played and no answers written: its reward is the task itself."""
    episodes = any(_EPISODE.search(s.key) or s.axis == "episode" for s in series)
    return episodes and not any(s.metric in ("response_length", "kl") for s in series)


_EPISODE = bounded(r"(?i)(?:^|[/_\s.-])(?:episod(?:e|ic)s?|ep_(?:len|rew(?:ard)?|ret(?:urn)?))(?:$|[/_\s.(-])|回合")


def _other_curves(findings: Sequence[Finding], series: Sequence[Series]) -> Iterator[Missing]:
    """Files with another curve of what was judged: of several runs side by side only one was."""
    judged = next((f.evidence[0] for f in findings if f.code == FINE and f.evidence), None)
    if judged is None:
        return
    of_file = (s for s in series if s.file == judged.file and judged.metric in (s.metric, s.key) and not s.group)
    own = next(of_file, None)
    if own is None or own.metric not in VOCABULARY:
        return
    for s in series:
        alike = s.metric == own.metric and s.attempt == own.attempt and s.rank is None and not s.group
        if alike and s.file != own.file and _lies_apart(s, own):
            numbers = {"file": clean(s.file, 80), "metric": clean(s.key, 40)}
            yield Missing(SAID["curve"].say("en", **numbers), SAID["curve"].say("zh", **numbers), s.file)


def _lies_apart(other: Series, own: Series) -> bool:
    """Whether a curve over the same steps ends elsewhere: means and roundings of one training lie around it."""
    steps, i, j = np.intersect1d(other.steps, own.steps, return_indices=True)
    if len(steps) < OVERLAP * len(own):
        return False
    late = slice(-(len(steps) // 4) or None, None)
    between, level = other.values[i][late] - own.values[j][late], own.values[j][late]
    away = abs(float(between.mean()))
    return away > max(APART_BY * abs(float(level.mean())), 3 * float(between.std()) / len(between) ** 0.5)


def _strange(findings: Sequence[Finding], series: Sequence[Series]) -> Iterator[Missing]:
    """What somebody has to say the meaning of: signs of failures that are more than notes, every such finding where the
    run is judged by few points, and parts of the run that differ."""
    few = any(f.code == FINE and f.data.get("whole") for f in findings)
    for f in findings:
        shown = f.severity in SHOWN and (few or (f.code.startswith(SIGN) and STANDING not in f.data))
        if shown or f.code == ENDED or (f.code in APART and not explained(f, series)):
            en, zh = (clean(f.say(lang), 120).rstrip(".。") for lang in ("en", "zh"))
            yield Missing(SAID["sign"].say("en", what=en), SAID["sign"].say("zh", what=zh))


def _blind(covered: Sequence[Covered], findings: Sequence[Finding], series: Sequence[Series]) -> Iterator[Missing]:
    """That a loss over wrong labels says nothing of them, where nobody but the loss judges the answers."""
    told = (f for f in findings if f.severity in SHOWN and f.code != AT_THE_END)
    wrong = next((f for f in told if f.data.get("entry") in TARGETS), None)
    if wrong is not None and not any(_judges(s) for s in series) and not any(c.read_as in JUDGES for c in covered):
        en, zh = (clean(wrong.say(lang), 120).rstrip(".。") for lang in ("en", "zh"))
        yield Missing(SAID["blind"].say("en", what=en), SAID["blind"].say("zh", what=zh))


def _judges(s: Series) -> bool:
    """Whether a series is a score of answers; the accuracy of single tokens goes by the same labels as the loss."""
    return s.metric in ("accuracy", "eval_accuracy", "eval_reward") and "token" not in s.key.lower()


def _unfinished(checks: Sequence[Check], of_now: bool) -> Iterator[Missing]:
    """That the run had not come to its end, unless only something is asked that its curves decide."""
    if not of_now and any(c.name == PLANNED and c.result == "found" for c in checks):
        yield Missing(SAID["unfinished"].say("en"), SAID["unfinished"].say("zh"), later=True)


def _of_now(asked: Question) -> bool:
    """Whether only what the curves so far decide is asked: how a measure goes, by a symptom that has a name or by a
    complaint of the measure, or of a run of which the person says that it goes on. What is planned decides no state."""
    asks = bool(asked.symptoms) or any(c.metrics for c in asked.complaints) or GOES_ON.search(asked.own) is not None
    return asks and not any(s.kind.ends for s in asked.symptoms)


def _short(checks: Sequence[Check]) -> Iterator[Missing]:
    main = [c for c in checks if c.name in MAIN]
    short = [c for c in main if c.result == "too-short"]
    if short and not any(c.result in ("clear", "found") for c in main):
        yield Missing(SAID["main"].say("en", why=short[0].why), SAID["main"].say("zh", why=short[0].say("zh")))
