"""Words a diagnosis in English or Chinese. It adds nothing: every number and name comes from the objects given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..knowledge.entry import SECTIONS, Criterion, Entry
from ..knowledge.library import Passage
from ..knowledge.search import MEANT
from ..tools.findings import Check, Finding, clean
from .acceptance.verify import Judged, Verdict
from .diagnose import Diagnosis, Hypothesis
from .propose import Nothing, Proposal

SHOWN_FINDINGS = 10
SHOWN_CHECKS = 8
"""Names of checks of one result in the answer; its JSON has them all."""

T: dict[str, tuple[str, str]] = {
    "diagnosed": (
        "**Most likely: {title}** (`{id}`) — {status}, probability {p}.",
        "**最可能：{title}**（`{id}`）—— {status}，概率 {p}。",
    ),
    "inconclusive": (
        "**Inconclusive.** What was looked at does not support one cause over the others.",
        "**无法下结论。** 现有证据不足以支持某一个原因。",
    ),
    "unread": (
        "**Nothing can be said yet.** What could be read shows nothing wrong, but some of it could not be checked; "
        "mend what is named below and ask again.",
        "**还不能下结论。** 能读到的部分没有发现问题，但有内容无法检查；请先处理下面列出的文件，再重新提问。",
    ),
    "closest": (
        "**Not established.** The source runbooks do not cover this; closest is an entry from public reports: {title} "
        "(`{id}`), by your words alone ({p}).",
        "**尚未证实。** 来源手册没有覆盖这个问题；最接近的是一条来自公开报告的条目：{title}（`{id}`），"
        "仅依据文字（{p}）。",
    ),
    "not-covered": (
        "**The runbook does not cover this.** No entry accounts for what was asked and found.",
        "**手册没有覆盖这个问题。** 没有条目能解释所问和所见。",
    ),
    "too-little": (
        "**Inconclusive.** Nothing wrong was found in what was read, but that is too little to call the run healthy, "
        "and no entry fits the question.",
        "**无法下结论。** 读到的内容没有发现问题，但不足以判断运行正常，也没有条目与问题相符。",
    ),
    "healthy": ("**Nothing wrong was found in this run.**", "**这次运行没有发现问题。**"),
    "healthy-but": (
        "Your words would point to `{id}` ({title}), but the run does not show it.",
        "按描述会想到 `{id}`（{title}），但运行记录里没有这个现象。",
    ),
    "healthy-benign": (
        "What you describe may be normal: `{id}` ({title}).",
        "你描述的现象可能是正常的：`{id}`（{title}）。",
    ),
    "healthy-note": (
        "What you describe is there, as no more than a note ({places}): `{id}` ({title}).",
        "你描述的现象确实存在，但只是一条提示（{places}）：`{id}`（{title}）。",
    ),
    "out-of-scope": (
        "This is outside what triage is for: failures in training, aligning and serving language models. "
        "It reads runs and answers about them; it does not execute commands or follow instructions found in text.",
        "这超出了 triage 的范围：它只处理语言模型训练、对齐和推理服务中的故障。"
        "它读取运行记录并作答，不执行命令，也不服从文本里的指令。",
    ),
    "words-only": (
        "No run was given, so this rests on your words alone: add `--run PATH` for evidence.",
        "没有给出运行目录，以上只依据文字描述：加上 `--run 路径` 才有证据。",
    ),
    "shows": ("### What the run shows", "### 运行中看到的"),
    "more": ("… and {n} more findings (`--json` lists all).", "…… 另有 {n} 条（`--json` 列出全部）。"),
    "unexplained": ("Not explained by any cause above: {codes}.", "以上原因都不能解释：{codes}。"),
    "causes": ("### Possible causes, most probable first", "### 可能的原因（概率从高到低）"),
    "for": ("for", "支持"),
    "against": ("against", "反对"),
    "close": (
        "The first two are close. This check splits them: {check}",
        "前两个很接近。用这个检查区分：{check}",
    ),
    "check": ("Check first (read-only): {check}", "先做只读检查：{check}"),
    "conflicts": ("### Where the sources disagree", "### 来源有分歧"),
    "decided": ("This run supports: {position}.", "这次运行支持：{position}。"),
    "undecided": ("Decided by: {by}", "判断依据：{by}"),
    "change": ("### One change: `{variable}`", "### 只改一处：`{variable}`"),
    "from-to": ("{file}: `{name}` from `{old}` to `{new}`", "{file}：`{name}` 从 `{old}` 改为 `{new}`"),
    "elsewhere": ("Change `{name}`: {new}", "修改 `{name}`：{new}"),
    "old": (" (now: {old})", "（现值：{old}）"),
    "why": ("Why: {text}", "理由：{text}"),
    "expect": ("Expect: {text}", "预期：{text}"),
    "undo": ("Undo: {text}", "撤销：{text}"),
    "unchanged": ("Leave everything else as it is.", "其余设置保持不变。"),
    "no-change": ("No change is proposed yet: {why}.", "暂不建议改动：{why}。"),
    "acceptance": ("### It is fixed when", "### 满足以下条件才算修好"),
    "then": (
        "Then: `triage verify --baseline OLD --candidate NEW --entry {id}`",
        "之后运行：`triage verify --baseline 旧 --candidate 新 --entry {id}`",
    ),
    "cautions": ("### Cautions", "### 注意"),
    "own": (
        "### From your own runbooks (quoted, not checked by triage)",
        "### 来自你自己的手册（仅引用，未经 triage 核实）",
    ),
    "looked": ("### What was looked at", "### 检查范围"),
    "sources": ("### Sources", "### 来源"),
    "found": ("found something", "有发现"),
    "clear": ("clear", "正常"),
    "not-applicable": ("no such artifact", "没有对应文件"),
    "more-checks": (" and {n} more", " 等，另有 {n} 项"),
    "failed": ("**could not be checked**", "**未能检查**"),
    "established": ("established by a decisive finding", "有决定性证据"),
    "supported": ("supported by findings", "有证据支持"),
    "possible": ("possible, from the words only", "仅依据文字，有可能"),
    "weak": ("possible, with weak support", "有可能，支持较弱"),
    "refuted": ("refuted", "已被证据否定"),
}
BASIS = {
    "stated": ("stated", "来源明确给出"),
    "inverted": ("from the stated symptom", "由来源的症状反推"),
    "assumed": ("definition assumed", "定义为假定"),
    "proposed": ("proposed by triage, not from a source", "triage 提议，非来源"),
}
IS = {
    "finite": ("stays finite", "保持有限值"),
    "between": ("between {low:g} and {high:g}", "在 {low:g} 与 {high:g} 之间"),
    "below": ("< {high:g}", "< {high:g}"),
    "at-most": ("<= {high:g}", "<= {high:g}"),
    "above": ("> {low:g}", "> {low:g}"),
    "at-least": (">= {low:g}", ">= {low:g}"),
    "equals": ("= {value}", "= {value}"),
    "increases": ("increases", "上升"),
    "decreases": ("decreases", "下降"),
    "stable": ("is stable", "保持稳定"),
    "true": ("is true", "成立"),
    "false": ("is false", "不成立"),
}
VERDICTS: dict[str, tuple[str, str]] = {
    "several-changes": (
        "{n} settings differ between the two runs, so no one of them can be credited. Change one.",
        "两次运行有 {n} 处设置不同，无法归因。只改一处。",
    ),
    "failure-remains": ("the old failure is still there: {remaining}.", "原来的故障仍在：{remaining}。"),
    "new-failure": ("a new failure appeared: {new}.", "出现了新的故障：{new}。"),
    "criterion-failed": ("an acceptance criterion failed.", "有验收条件未通过。"),
    "neighbour-worse": (
        "the criteria pass, but a neighbouring metric got worse.",
        "验收条件通过，但相邻指标变差。",
    ),
    "nothing-changed": (
        "no setting differs between the two runs as far as the files show, so nothing was tested.",
        "从文件看两次运行没有设置差异，等于没有验证任何改动。",
    ),
    "too-little-seen": (
        "not every criterion could be observed yet (the old failure came at step {must_reach}). Missing: {missing}.",
        "还有验收条件无法观察（原故障出现在第 {must_reach} 步）。缺少：{missing}。",
    ),
    "nothing-computable": (
        "no acceptance criterion of this entry can be judged from these runs: each needs a reference artifact, human "
        "labels or other hardware.",
        "该条目的验收条件都无法仅凭这两次运行判断：需要参照数据、人工标注或其他硬件。",
    ),
    "all-pass": (
        "one change, every computable criterion passed, the old failure did not return by step {reached}, "
        "no neighbour got worse.",
        "只改了一处，可计算的验收条件全部通过，到第 {reached} 步原故障没有再现，相邻指标没有变差。",
    ),
}


NO_MODEL: dict[str, tuple[str, str]] = {
    "no-server": (
        "The model server does not answer, so this is the built-in answer; `triage doctor` says more.",
        "模型服务没有响应，以下为内置回答；`triage doctor` 可查看详情。",
    ),
    "slow": (
        "The model took too long, so this is the built-in answer.",
        "模型超时，以下为内置回答。",
    ),
    "error": (
        "The model server failed twice, so this is the built-in answer; `triage doctor` says more.",
        "模型服务两次出错，以下为内置回答；`triage doctor` 可查看详情。",
    ),
    "malformed": (
        "The model's tool calls could not be read, so this is the built-in answer; `triage doctor` checks the parser.",
        "模型的工具调用无法解析，以下为内置回答；`triage doctor` 可检查解析器。",
    ),
    "context": (
        "The evidence does not fit the model's context, so this is the built-in answer.",
        "证据超出模型的上下文长度，以下为内置回答。",
    ),
    "no-such-model": (
        "The server does not serve the model that TRIAGE_MODEL names, so this is the built-in answer.",
        "服务端没有 TRIAGE_MODEL 指定的模型，以下为内置回答。",
    ),
    "unusable": (
        "Nothing usable came from the model, so this is the built-in answer.",
        "模型没有给出可用的内容，以下为内置回答。",
    ),
    "not-installed": (
        "A model is configured but its extra is missing (pip install 'llm-triage[llm]'): this is the built-in answer.",
        "已配置模型但缺少依赖（pip install 'llm-triage[llm]'），以下为内置回答。",
    ),
}
"""Why the built-in answer stands although a model is configured."""
NOTES: dict[str, tuple[str, str]] = {
    "dropped": (
        "{n} sentence(s) of the model were left out because the evidence does not carry them ({rules}).",
        "模型有 {n} 句话没有证据支持，已略去（{rules}）。",
    ),
    "attacks": (
        "Text in {places} looks like an instruction to a model; it was treated as data.",
        "{places} 中有看起来像是给模型下指令的文字，只当作数据处理。",
    ),
}


def say(key: str, lang: str, table: dict[str, tuple[str, str]] = T, **values: object) -> str:
    return table[key][lang == "zh"].format(**values)


def code(text: str) -> str:
    """A run's text as a Markdown code span that cannot break out of it."""
    return "`" + clean(text, 200).replace("`", "'") + "`"


def answer(
    diagnosis: Diagnosis, proposal: Proposal | Nothing, lang: str, looked: bool, passages: Sequence[Passage] = ()
) -> str:
    """The whole answer as Markdown."""
    if diagnosis.state == "out-of-scope":
        return say("out-of-scope", lang)
    parts = [
        list(_headline(diagnosis, lang, looked)),
        _shows(diagnosis, lang),
        _causes(diagnosis, proposal, lang, looked),
        _conflicts(diagnosis, lang),
        _change(diagnosis, proposal, lang),
        _cautions(diagnosis, lang),
        _own(passages, lang),
        checks_made(diagnosis.checks, lang),
        _sources(diagnosis, lang),
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def after_model(diagnosis: Diagnosis, proposal: Proposal | Nothing, lang: str, passages: Sequence[Passage] = ()) -> str:
    """What follows a model's words: the change, its acceptance, quotes, what could not be checked, the sources."""
    failed = [c for c in diagnosis.checks if c.result == "failed"]
    parts = [
        _change(diagnosis, proposal, lang),
        _own(passages, lang),
        checks_made(failed, lang),
        _sources(diagnosis, lang),
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _headline(d: Diagnosis, lang: str, looked: bool) -> Iterator[str]:
    top = d.top
    if d.state == "diagnosed" and top:
        yield say(
            "diagnosed",
            lang,
            title=top.entry.title.say(lang),
            id=top.entry.id,
            status=say(top.status, lang),
            p=top.percent,
        )
    elif d.state == "healthy":
        yield say("healthy", lang)
        if top:
            noted = [i for i, f in enumerate(d.findings, 1) if f in top.for_ and f.code != "run-healthy"]
            places = ", ".join(f"F{i}" for i in noted)
            kind = "healthy-note" if noted else "healthy-benign" if top.entry.kind == "benign" else "healthy-but"
            yield say(kind, lang, id=top.entry.id, title=top.entry.title.say(lang), places=places)
    elif top and top.words >= MEANT and not top.entry.sources and not d.findings:
        yield say("closest", lang, title=top.entry.title.say(lang), id=top.entry.id, p=top.percent)
    elif not d.findings and any(c.result == "failed" for c in d.checks):
        yield say("unread", lang)
    else:
        none = "too-little" if looked else "not-covered"
        yield say("inconclusive" if d.hypotheses or d.findings else none, lang)
    if not looked:
        yield say("words-only", lang)


def _shows(d: Diagnosis, lang: str) -> Iterator[str]:
    if not d.findings:
        return
    yield say("shows", lang)
    for i, finding in enumerate(d.findings[:SHOWN_FINDINGS], 1):
        yield f"- **F{i}** {finding.severity} `{finding.code}`: {clean(finding.say(lang), 600)}{_place(finding)}"
    if len(d.findings) > SHOWN_FINDINGS:
        yield say("more", lang, n=len(d.findings) - SHOWN_FINDINGS)
    if d.unexplained:
        yield say("unexplained", lang, codes=", ".join(f"`{f.code}`" for f in d.unexplained))


def _place(finding: Finding) -> str:
    for e in finding.evidence[:1]:
        place = f"{e.file}:{e.line}" if e.line else e.file
        return (f" — {code(place)}" if place else "") + (f" {code(e.text)}" if e.text else "")
    return ""


def _causes(d: Diagnosis, proposal: Proposal | Nothing, lang: str, looked: bool) -> Iterator[str]:
    if not d.hypotheses or d.state == "healthy":
        return
    number = {id(f): f"F{i}" for i, f in enumerate(d.findings, 1)}
    yield say("causes", lang)
    for i, h in enumerate(d.hypotheses, 1):
        sides = [
            f"{say(side, lang)} " + ", ".join(number[id(f)] for f in found)
            for side, found in (("for", h.for_), ("against", h.against))
            if found
        ]
        cause = f": {h.cause.text.say(lang)}" if h.cause else ""
        tail = f" ({'; '.join(sides)})" if sides else ""
        weak = h.status == "possible" and h.for_
        words_only = h.status == "possible" and not h.for_ and looked
        odds = "" if words_only else f", {h.percent}"
        standing = f"{say('weak' if weak else h.status, lang)}{odds}{tail}"
        yield f"{i}. {h.entry.title.say(lang)} [`{h.entry.id}`]{cause} — {standing}"
    key = "close" if d.close and isinstance(proposal, Nothing) else "check"
    yield ""
    yield say(key, lang, check=d.hypotheses[0].entry.check_first.say(lang))


def _conflicts(d: Diagnosis, lang: str) -> Iterator[str]:
    if d.state == "healthy" or not d.conflicts:
        return
    yield say("conflicts", lang)
    for conflict, side in d.conflicts:
        positions = " / ".join(p.say(lang) for p in conflict.positions)
        ref = f" ({conflict.ref})" if conflict.ref else ""
        decision = (
            say("undecided", lang, by=conflict.decided_by.say(lang))
            if side is None
            else say("decided", lang, position=conflict.positions[side].say(lang))
        )
        yield f"- {conflict.about.say(lang)}{ref}: {positions}. {decision}"


def _change(d: Diagnosis, proposal: Proposal | Nothing, lang: str) -> Iterator[str]:
    if isinstance(proposal, Nothing):
        if d.state == "diagnosed":
            yield say("no-change", lang, why=proposal.zh if lang == "zh" else proposal.en)
        return
    p = proposal
    yield say("change", lang, variable=p.variable)
    if p.file:
        yield say("from-to", lang, file=code(f"{p.file}:{p.line}"), name=p.key, old=clean(p.old), new=p.new)
    else:
        yield say("elsewhere", lang, name=p.key, new=p.new) + (say("old", lang, old=p.old) if p.old else "")
    if p.patch:
        yield f"```diff\n{p.patch.rstrip().replace('```', chr(39) * 3)}\n```"
    for key in ("why", "expect", "undo"):
        yield f"- {say(key, lang, text=getattr(p, key))}"
    yield f"- {say('unchanged', lang)}"
    yield ""
    yield say("acceptance", lang)
    yield from (f"- {criterion(c, lang)}" for c in p.acceptance)
    yield ""
    yield say("then", lang, id=p.entry)


def criterion(c: Criterion, lang: str) -> str:
    """One acceptance criterion in words, with its basis and, where a source left it out, the assumed definition."""
    low, high = c.low or 0.0, c.high or 0.0
    text = f"`{c.metric}` {say(c.is_, lang, IS, low=low, high=high, value=c.value)}"
    if c.unit:
        text += f" {c.unit}"
    notes = [
        n
        for n in (
            {"warmup": ("after warm-up", "预热之后"), "start": ("from the start", "从开始")}[c.after][lang == "zh"]
            if c.after
            else "",
            (f"{c.window['steps']} 步" if lang == "zh" else f"over {c.window['steps']} steps")
            if c.window and "steps" in c.window
            else "",
            say(c.basis, lang, BASIS) + (f", {c.source}" if c.source else ""),
            c.definition.say(lang) if c.definition else "",
            {
                "": "",
                "reference artifact": "需要参照数据",
                "human labels": "需要人工标注",
                "operational": "流程要求",
            }[c.needs]
            if lang == "zh"
            else (f"needs {c.needs}" if c.needs else ""),
        )
        if n
    ]
    return f"{text} ({'; '.join(notes)})"


def page(entry: Entry, lang: str) -> str:
    """One runbook entry whole, as Markdown."""
    side = "zh" if lang == "zh" else "en"
    lines = [f"# {entry.title.say(lang)}", f"`{entry.id}` {entry.severity} ({', '.join(entry.stages)})", ""]
    lines += [entry.check_first.say(lang), ""]
    for heading in SECTIONS[side]:
        lines += [f"## {heading}", entry.body[side][heading], ""]
    lines += [f"- {criterion(c, lang)}" for c in entry.acceptance]
    lines += [f"> {c.say(lang)}" for c in entry.cautions]
    return "\n".join([*lines, "", "; ".join((*entry.sources, *entry.references))])


def _cautions(d: Diagnosis, lang: str) -> Iterator[str]:
    cautions = [c.say(lang) + (f" ({c.ref})" if c.ref else "") for h in d.hypotheses[:1] for c in h.entry.cautions]
    if cautions and d.state == "diagnosed":
        yield say("cautions", lang)
        yield from (f"- {text}" for text in cautions)


def _own(passages: Iterable[Passage], lang: str) -> Iterator[str]:
    """Quotes from the person's own runbooks, marked as such; their text is data, whatever it says."""
    for i, passage in enumerate(passages):
        if i == 0:
            yield say("own", lang)
        place = f"{passage.file}:{passage.line}"
        yield f"- {code(place)} {clean(' > '.join(passage.headings), 120)}: {code(passage.text)}"


def checks_made(checks: Iterable[Check], lang: str) -> Iterator[str]:
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.result, []).append(check)
    if not groups:
        return
    yield say("looked", lang)
    for result in ("found", "clear", "not-applicable"):
        if names := [c.name for c in groups.get(result, ())]:
            names = list(dict.fromkeys(map(clean, names)))
            rest = say("more-checks", lang, n=len(names) - SHOWN_CHECKS) if len(names) > SHOWN_CHECKS else ""
            yield f"- {say(result, lang)}: {', '.join(names[:SHOWN_CHECKS])}{rest}"
    for check in groups.get("failed", ()):
        why = check.zh if lang == "zh" and check.zh else check.why
        yield f"- {say('failed', lang)}: {clean(check.name)}: {clean(why)}"


def _sources(d: Diagnosis, lang: str) -> Iterator[str]:
    if not d.hypotheses or d.state == "healthy":
        return
    yield say("sources", lang)
    yield from (
        f"- `{h.entry.id}`: {'; '.join((*h.entry.sources, *h.entry.references)) or h.entry.origin}"
        for h in d.hypotheses[:3]
    )


def citations(hypotheses: Iterable[Hypothesis], passages: Iterable[Passage] = ()) -> list[dict[str, object]]:
    """What the answer rests on: entries with the section and the sources behind it, and the person's own passages."""
    entries: list[dict[str, object]] = [
        {
            "entry": h.entry.id,
            "section": "fix" if i == 0 else "diagnosis",
            "sources": [*h.entry.sources, *h.entry.references],
        }
        for i, h in enumerate(hypotheses)
    ]
    own = [
        {"entry": "", "own": True, "section": " > ".join(p.headings), "sources": [f"{p.file}:{p.line}"]}
        for p in passages
    ]
    return [*entries, *own]


def verdict(v: Verdict, lang: str) -> str:
    """The verdict as Markdown."""
    why = say(
        v.why,
        lang,
        VERDICTS,
        n=len(v.changed),
        remaining=", ".join(v.remaining),
        new=", ".join(v.new),
        must_reach=v.must_reach,
        reached=v.reached,
        missing="; ".join(clean(what, 300) for what in v.unseen),
    )
    lines = [f"**{v.verdict}**: {why}", ""]
    lines += [
        f"- `{d.variable}`: {clean(str(d.old))} → {clean(str(d.new))} ({clean(d.where)})"
        + (f" — {d.note}" if d.note else "")
        for d in v.changed
    ]
    header = (
        ("指标", "结果", "数值", "点数", "范围与口径")
        if lang == "zh"
        else ("criterion", "result", "value", "points", "window and definition")
    )
    lines += [
        "",
        "| " + " | ".join(header) + " |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {criterion(j.criterion, lang)} | {j.result} | {measured(j, lang)} | {j.observation.points} "
        f"| {clean(_how(j), 400)} |"
        for j in v.criteria
    ]
    for n in v.neighbours:
        lines.append(f"| {n.metric} | {n.result} | {n.before:.4g} → {n.after:.4g} | | {n.window} |")
    return "\n".join(lines)


def _how(j: Judged) -> str:
    """What was looked at and how the number was made; for one that could not be, what is missing."""
    return ": ".join(part for part in (j.observation.window, j.observation.definition) if part)


def measured(j: Judged, lang: str) -> str:
    """The value with its standard error, and a word where that could have decided."""
    text = _number(j.observation.value)
    if text and j.observation.noise:
        text += f" ± {j.observation.noise:.2g}"
    return text + {True: "（接近阈值）" if lang == "zh" else " (near the threshold)", False: ""}[j.near]


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
