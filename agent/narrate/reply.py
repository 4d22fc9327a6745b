"""Words what the evidence says to the person's own words, in their language, for the first lines of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...tools.findings import Finding, clean
from ...tools.phrase import phrases
from ..diagnose import Diagnosis
from ..evidence import Look
from ..propose import Nothing, Proposal
from ..respond import Judged, Reply, Seen, Weighed
from ..signs.memories import HOST, of

SAID = phrases(
    "who says it",
    ("suspects", "You suspect {topic}", "你怀疑{topic}"),
    ("denies", "You rule out {topic}", "你排除{topic}"),
    ("doubts", "You doubt that it is {topic}", "你不太相信是{topic}"),
    ("told", "You were told of {topic}", "别人说是{topic}"),
    ("both", "You say both that it is {topic} and that it is not", "你既说是{topic}，又说不是"),
)
JUDGED = phrases(
    "verdicts on a suspicion",
    ("supported", "supported by the run ({for_}).", "运行证据支持（{for_}）。"),
    ("supported-denied", "but the run supports it ({for_}).", "但运行证据支持它（{for_}）。"),
    ("not-supported", "not supported; {against} speak for `{leader}`.", "没有证据支持；{against} 指向 `{leader}`。"),
    ("not-supported-hint", "weakly supported ({for_}); {against} speak for `{leader}`.",
     "只有弱证据（{for_}）；{against} 指向 `{leader}`。"),
    ("not-supported-denied", "the run agrees; {against} speak for `{leader}`.",
     "运行证据与此一致；{against} 指向 `{leader}`。"),
    ("not-supported-healthy", "nothing in what was read shows it.", "读到的内容里没有这个迹象。"),
    ("contradicted", "{against} speak against it.", "{against} 与之矛盾。"),
    ("contradicted-elsewhere", "not as you say: what was found is of the {memory}'s memory ({against}).",
     "与你说的不同：发现的是{memory_zh}的内存问题（{against}）。"),
    ("contradicted-elsewhere-denied", "right for that of the {other}; what was found is of the {memory}'s memory "
     "({against}).", "就 {other_zh} 而言确实如此；发现的是{memory_zh}的内存问题（{against}）。"),
    ("contradicted-denied", "the run agrees ({against}).", "运行证据与此一致（{against}）。"),
    ("unchecked", "unchecked: nothing that was read speaks for or against it.",
     "未能核实：读到的内容既不支持也不反对。"),
    ("unchecked-hint", "unchecked: {for_} alone: too little.", "未能核实：只有 {for_}，证据太少。"),
    ("no-run", "unchecked: no run was given.", "未能核实：没有给出运行目录。"),
)  # fmt: skip
MEMORIES = (("host", "主机"), ("GPU", "GPU"))
PLANNED = phrases(
    "plans",
    ("raise", "You plan to raise `{what}`", "你打算调高 `{what}`"),
    ("lower", "You plan to lower `{what}`", "你打算调低 `{what}`"),
    ("set", "You plan to change `{what}`", "你打算改动 `{what}`"),
    ("enable", "You plan to turn on `{what}`", "你打算开启 `{what}`"),
    ("disable", "You plan to turn off `{what}`", "你打算关闭 `{what}`"),
    ("remove", "You plan to remove from `{what}`", "你打算从 `{what}` 中删除"),
    ("do", "You plan to act on `{what}`", "你打算处理 `{what}`"),
)  # fmt: skip
NO_SWITCH = ("hardware", "data", "code", "run")
"""What is bought, mended or stopped, and not turned on or off."""
WEIGHED = phrases(
    "verdicts on a plan",
    ("is-the-proposal", "that is the one change proposed: `{key}` to {new}.",
     "这正是建议的那一处改动：`{key}` 改为 {new}。"),
    ("not-now", "not now: one change at a time, and it is `{key}` first.", "先不要：一次只改一处，先改 `{key}`。"),
    ("not-now-healthy", "not now: nothing was found that it would mend.", "先不要：没有发现需要它来修的问题。"),
    ("harmful", "no: {because} ask for the opposite.", "不要：{because} 要求相反的方向。"),
    ("unchecked", "unchecked: no evidence yet says that it would help.", "未能核实：还没有证据说明它有用。"),
)  # fmt: skip
SEEN = phrases(
    "symptoms",
    ("contradicted", "You describe {what}: the run does not show it (last measured at step {step}: {value:.4g}).",
     "你描述的是{what}：运行里没有出现（最后一次测量在第 {step} 步：{value:.4g}）。"),
    ("stands", "You describe {what}: it is so from about step {step} on ({key} is {value:.4g} at the end).",
     "你描述的是{what}：大约从第 {step} 步起确实如此（最后 {key} 为 {value:.4g}）。"),
    ("at-times", "You describe {what}: it is so at times ({key} in {file}: {times} stretches, the first from step "
     "{step} on, {value:.4g} there).",
     "你描述的是{what}：确实会有一阵（{file} 里的 {key} 共 {times} 段，第一段从第 {step} 步起，为 {value:.4g}）。"),
    ("level", "You describe {what}: {key} in {file} keeps its level ({value:.4g} in the middle), which does not say "
     "whether that is slow.",
     "你描述的是{what}：{file} 里的 {key} 保持在 {value:.4g} 左右，但这不能说明它快还是慢。"),
    ("absent", "You describe {what}: the checks that look for it found nothing.",
     "你描述的是{what}：查找它的各项检查都没有发现。"),
    ("unchecked", "You describe {what}: what was read neither shows nor excludes it.",
     "你描述的是{what}：读到的内容既不能证实也不能排除。"),
    ("not-shown", "You describe {what}: no measure shows it, and {because} would lead to it.",
     "你描述的是{what}：没有指标显示这一点，但 {because} 会导致它。"),
)  # fmt: skip
KEPT = phrases(
    "which checkpoint to take",
    ("fall", "Last good checkpoint by the scores that were read: step {good:.10g} ({score} is {before:.1f} up to it "
     "and {after:.1f} from {bad:.10g} on).",
     "按读到的得分，最后一个好的检查点是第 {good:.10g} 步（{score} 到此为 {before:.1f}，从 {bad:.10g} 起为 "
     "{after:.1f}）。"),
)  # fmt: skip
COMPARED = phrases(
    "versions that were compared",
    ("compared", "What you compare was measured ({place}): {what}", "你比较的内容有测量（{place}）：{what}"),
)  # fmt: skip
RUNS = phrases(
    "several runs",
    ("about", "There are several runs here; this is about `{run}`.", "这里有多个运行；以下说的是 `{run}`。"),
    ("other", "Also here: `{run}`: {worst}.", "另有 `{run}`：{worst}。"),
    ("quiet", "Also here: `{runs}`: nothing wrong in the logs.", "另有 `{runs}`：日志中没有发现问题。"),
    ("quiet-more", "Also here: `{runs}` and {more} more: nothing wrong in the logs.",
     "另有 `{runs}` 等（还有 {more} 个）：日志中没有发现问题。"),
    ("more", "{n} more here went wrong too.", "这里另有 {n} 个也出了问题。"),
    ("worst", "{severity} {code}{step}", "{severity} {code}{step}"),
    ("step", " from step {step}", "，自第 {step} 步起"),
)  # fmt: skip
OTHERS = 4
"""Other runs that are named."""
ORDERS = phrases(
    "orders in the evidence",
    ("order", "Line {lines} holds an instruction to an assistant; it was not followed.",
     "第 {lines} 行含有对助手的指令；未予执行。"),
    ("file-order", "An instruction to an assistant stands at {places}; it was not followed.",
     "{places} 含有对助手的指令；未予执行。"),
)  # fmt: skip


def about(seen: Look, lang: str, path: str) -> tuple[list[str], list[str]]:
    """Which of several runs is meant, by its path; and the others, those that went wrong in a line each."""
    if not seen.others:
        return [], []
    wrong = [(o.run, o.worst) for o in seen.others if o.worst]
    quiet = [clean(o.run, 120) for o in seen.others if not o.worst]
    said = [RUNS["other"].say(lang, run=clean(run, 120), worst=_worst(f, lang)) for run, f in wrong[:OTHERS]]
    if quiet:
        named = "`, `".join(quiet[:OTHERS])
        key = "quiet-more" if quiet[OTHERS:] else "quiet"
        said.append(RUNS[key].say(lang, runs=named, more=len(quiet) - OTHERS))
    if wrong[OTHERS:]:
        said.append(RUNS["more"].say(lang, n=len(wrong) - OTHERS))
    own = clean(path, 200)
    named = own if path.endswith(seen.about) else f"{clean(seen.about, 60)}` of `{own}"
    return [RUNS["about"].say(lang, run=named)], said


def _worst(f: Finding, lang: str) -> str:
    at = f.evidence[0].step if f.evidence else None
    step = "" if at is None else RUNS["step"].say(lang, step=at)
    return RUNS["worst"].say(lang, severity=f.severity, code=f.code, step=step)


def lines(reply: Reply, d: Diagnosis, proposal: Proposal | Nothing, lang: str, looked: bool) -> Iterator[str]:
    """One line for each suspicion, plan and symptom that is not simply there."""
    number = {id(f): f"F{i}" for i, f in enumerate(d.findings, 1)}
    if reply.kept is not None:
        told = {key: reply.kept.data[key] for key in ("before", "after")}
        good, bad = reply.kept.data["interval"]
        yield KEPT["fall"].say(lang, good=good, bad=bad, score=clean(str(reply.kept.data["score"]), 60), **told)
    if reply.compared is not None:
        where = _places([reply.compared], number) or clean(reply.compared.code, 40)
        yield COMPARED["compared"].say(lang, place=where, what=clean(reply.compared.say(lang), 240))
    yield from (_judged(j, d, number, lang, looked) for j in reply.suspicions)
    yield from (weighed(w, d, proposal, number, lang) for w in reply.plans)
    yield from (_seen(s, number, lang) for s in reply.symptoms if s.verdict != "shown")


def _places(findings: Sequence[Finding], number: Mapping[int, str]) -> str:
    return ", ".join(number[id(f)] for f in findings[:4] if id(f) in number)


def _judged(j: Judged, d: Diagnosis, number: Mapping[int, str], lang: str, looked: bool) -> str:
    s = j.suspicion
    who = SAID["both" if s.both else "told" if s.told_by else s.polarity].say(lang, topic=s.topic.name.say(lang))
    key: str = j.verdict if looked else "no-run"
    tails = {
        "supported": "-denied" if s.polarity != "suspects" else "",
        "contradicted": ("-elsewhere" if j.elsewhere else "") + ("-denied" if s.polarity != "suspects" else ""),
        "not-supported": "-healthy"
        if not j.against
        else "-denied"
        if s.polarity != "suspects"
        else "-hint"
        if j.for_
        else "",
        "unchecked": "-hint" if j.for_ else "",
    }
    leader = d.top.entry.id if d.top else ""
    said = JUDGED[key + tails.get(key, "")]
    places = {"for_": _places(j.for_, number), "against": _places(j.against, number), "leader": leader}
    (memory, memory_zh), (other, other_zh) = MEMORIES if of(j.against) == {HOST} else MEMORIES[::-1]
    verdict = said.say(lang, **places, memory=memory, memory_zh=memory_zh, other=other, other_zh=other_zh)
    return f"{who}{'：' if lang == 'zh' else ': '}{verdict}"


def weighed(w: Weighed, d: Diagnosis, proposal: Proposal | Nothing, number: Mapping[int, str], lang: str) -> str:
    """What is said of one plan."""
    p = w.plan
    key: str = w.verdict
    if key == "not-now" and isinstance(proposal, Nothing):
        key = "not-now-healthy"
    change = proposal if isinstance(proposal, Proposal) else None
    verdict = WEIGHED[key].say(
        lang,
        key=change.key if change else "",
        new=change.new if change else "",
        because=_places(w.because, number) or (d.top.entry.id if d.top else ""),
    )
    way = "do" if p.variable in NO_SWITCH else p.direction
    return f"{PLANNED[way].say(lang, what=p.variable)}{'：' if lang == 'zh' else ': '}{verdict}"


def _seen(s: Seen, number: Mapping[int, str], lang: str) -> str:
    because = _places(s.findings, number)
    key = "not-shown" if because else s.verdict
    parts = {
        "step": s.step,
        "value": s.value or 0.0,
        "key": clean(s.key, 40),
        "file": clean(s.file, 60),
        "times": s.times,
    }
    return SEEN[key].say(lang, what=s.symptom.kind.name.say(lang), because=because, **parts)


def order_lines(numbers: Sequence[int], places: Sequence[str], lang: str) -> Iterator[str]:
    """What is said of lines, of the message and of the run's files, that speak to an assistant."""
    if places:
        yield ORDERS["file-order"].say(lang, places=", ".join(f"`{place}`" for place in places))
    if numbers:
        yield ORDERS["order"].say(lang, lines=", ".join(map(str, numbers)))
