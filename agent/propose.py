"""One change to try next: exactly one variable, as a patch that a person applies.

Nothing here writes a file. A proposal exists only for a hypothesis that evidence of this run supports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..knowledge.entry import NOT_A_SETTING, Criterion, Fix
from ..tools.config.edit import Edit, add_value, like, set_value
from ..tools.config.syntax.source import PRINTED
from ..tools.documents.cards import without_bf16
from ..tools.findings import PROPOSES, Finding, TriageError, clean
from ..tools.phrase import Phrase
from ..tools.run import Run
from ..tools.secrets import Shown, visible, visible_lines
from ..tools.series import SeriesTable
from ..tools.settings import Setting, Settings
from .acceptance.demands import demands
from .change.allowed import contradicts, possible
from .change.best import at_best
from .change.line import line_of
from .change.reverts import AGAIN, to_take_back
from .change.target import number, target
from .diagnose import Diagnosis, leading
from .ranking import SHOWN, Hypothesis, alike
from .signs.memories import judged_by

STATES = {"inconclusive": "尚无定论", "healthy": "未见异常", "out-of-scope": "不在范围内"}
SAME_THING = {"warmup_steps": "warmup_ratio", "max_steps": "epochs"}
"""The other spelling of a setting, changed by the same factor where a run uses it."""
OTHER_UNITS = {"warmup_steps": ("warmup_samples",)}
"""The same setting counted in another unit: what a finding says of it holds for the setting."""
UNSEEN = Phrase("not visible in the files that were read", "所读文件中看不到")
COMPUTED = Phrase("What the arithmetic says fits, and the finding is gone.", "算式成立，该发现消失。")
MENDED = Phrase("The finding is gone, and with it what was measured.", "该发现消失，测得的现象也随之消失。")
PUT_BACK = Phrase("Put the old value back.", "改回原值。")


@dataclass(frozen=True)
class Proposal:
    """One `Change` with why, what to check first, what to expect, how to judge it and how to undo it."""

    entry: str
    variable: str
    """Canonical setting, or `dataset`, `checkpoint`, `code`, `environment`."""
    file: str | None
    line: int | None
    key: str
    """The framework's own key, or what kind of thing changes."""
    old: Shown
    new: str
    patch: Shown
    """Unified diff with one changed line; empty when the change is not in a file that triage read."""
    hidden: bool
    """Whether the patch shows less than the file holds, so that it does not apply; `real_patch` makes one that does."""
    unchanged: tuple[str, ...]
    """The other settings of the run, which must stay as they are."""
    why: str
    check_first: str
    expect: str
    undo: str
    acceptance: tuple[Criterion, ...]
    stays: tuple[str, ...] = ()
    """What of all that stays people are most likely to change, see `stays`."""


class Nothing(Phrase):
    """No change is proposed yet, with the reason."""


def propose(
    diagnosis: Diagnosis, settings: Settings, run: Run, lang: str = "en", table: SeriesTable | None = None
) -> Proposal | Nothing:
    """The one change of the most probable hypothesis whose fix applies to this run's settings.

    Args:
        table: the curves of the run, for the bounds of the acceptance that they give.
    """
    chosen = _chosen(diagnosis, settings, run, lang)
    entry = next((h.entry for h in diagnosis.hypotheses if h.entry.id == getattr(chosen, "entry", "")), None)
    if isinstance(chosen, Nothing) or entry is None:
        return chosen
    held = [f for f in diagnosis.findings if f.code in entry.speaks.for_]
    own = judged_by(chosen.acceptance, held)
    return replace(chosen, acceptance=(*own, *demands(entry, diagnosis.findings, table)))


def _chosen(diagnosis: Diagnosis, settings: Settings, run: Run, lang: str) -> Proposal | Nothing:
    if diagnosis.state != "diagnosed":
        return Nothing(f"the diagnosis is {diagnosis.state}", f"诊断结果为“{STATES[diagnosis.state]}”")
    believed = leading([h for h in diagnosis.hypotheses if h.status in ("established", "supported")])
    if not believed:
        return Nothing(
            "no finding of a run supports a cause yet; make the check first",
            "还没有运行证据支持某个原因，请先做检查",
        )
    if back := _taken_back(diagnosis, settings, run, lang):
        return back
    if diagnosis.close and not _decided(*diagnosis.hypotheses[:2]):
        first, second = diagnosis.hypotheses[:2]
        return Nothing(
            f"{first.entry.id} and {second.entry.id} are too close; the check decides first",
            f"{first.entry.id} 与 {second.entry.id} 证据相近，先做能区分二者的检查",
        )
    if not any(_in_program(h) or any(True for _ in _fixes(h)) for h in believed):
        return Nothing(
            "the entry names a check, not a change; make the check first", "该条目只给出检查，不建议直接改动"
        )
    forbidden, contradicted = False, ""
    for hypothesis in believed:
        if shown := _in_program(hypothesis):
            return _mends(hypothesis, shown, settings, lang)
        for fix in _fixes(hypothesis):
            if not possible(fix, run):
                forbidden = True
            elif against := contradicts(fix, diagnosis.findings):
                contradicted = contradicted or against.code
            elif proposal := _apply(hypothesis, fix, settings, run, lang):
                return proposal
    if forbidden and (card := without_bf16(run)):
        return Nothing(f"the change needs bf16, and the {card[0]} has none", f"该改动需要 bf16，而 {card[0]} 不支持")
    if contradicted:
        return Nothing(
            f"what the runbook names first is contradicted by this run ({contradicted})",
            f"手册首选的改动与本次运行矛盾（{contradicted}）",
        )
    return Nothing("the change that the runbook names is already in force here", "手册建议的改动在这里已经生效")


def _taken_back(diagnosis: Diagnosis, settings: Settings, run: Run, lang: str) -> Proposal | None:
    """The one change that lies where the trouble of the first began, to be put back."""
    first = diagnosis.hypotheses[0]
    change = to_take_back(first, diagnosis.findings)
    if change is None or _in_program(first):
        return None
    variable = change.setting or ("environment" if change.first["what"] == "dependency" else "code")
    words = Phrase(change.why("en"), change.why("zh"))
    old = str(change.first["old"])
    to = (
        {"set": old if (n := number(old)) is None else int(n) if n.is_integer() and n < 1e15 else n}
        if change.setting
        else {"do": {"en": change.do("en"), "zh": change.do("zh")}}
    )
    fix = Fix(variable=variable, change=to, why=words, expect=AGAIN)  # pyright: ignore[reportArgumentType]
    made = _apply(first, fix, settings, run, lang)
    where = change.first
    if made is None or made.file:
        return made
    return replace(made, file=clean(where["file"]), line=where["line"],
                   old=clean(str(where["new"] or "")) if change.setting else made.old)  # fmt: skip


def _in_program(hypothesis: Hypothesis) -> Finding | None:
    """The line of the program that causes what was measured, with the edit that mends it."""
    measured = any(f.code.startswith("sign-") or "entry" not in f.data for f in hypothesis.for_)
    edits = (f for f in hypothesis.for_ if "entry" in f.data and (f.data.get("fix") or {}).get("patch"))
    return next(edits, None) if measured else None


def _mends(hypothesis: Hypothesis, finding: Finding, settings: Settings, lang: str) -> Proposal:
    """The edit of one line of the program as the one change."""
    entry, where, fix = hypothesis.entry, finding.evidence[0], finding.data["fix"]
    patch = visible(fix["patch"])
    return Proposal(
        entry.id,
        "code",
        where.file,
        where.line,
        "code",
        clean(fix["old"]),
        clean(fix["new"]),
        patch,
        patch != fix["patch"],
        tuple(sorted(s.variable for s in settings)),
        finding.say(lang),
        entry.check_first.say(lang),
        entry.fix.expect.say(lang) if entry.fix else MENDED.say(lang),
        PUT_BACK.say(lang),
        entry.acceptance,
    )


def _decided(first: Hypothesis, second: Hypothesis) -> bool:
    """Whether the first may be tried before the check between two close hypotheses.

    It may where both lead to the same setting or the same act, where it causes what the second names, or where
    something found speaks strongly for it and not for the second; never where all that was found speaks alike for both.
    """
    fixes = [fix for h in (first, second) for fix in list(_fixes(h))[:1]]
    variables, changes = {fix.variable for fix in fixes}, [fix.change for fix in fixes]
    if len(variables) == 1 and (variables.isdisjoint(NOT_A_SETTING) or changes == changes[:1] * 2):
        return True
    mine, other = first.entry.speaks.for_, second.entry.speaks.for_
    if alike(first, second):
        return False
    strong = (f.code for f in first.for_ if f.severity in SHOWN and mine[f.code] in ("decisive", "strong"))
    return second.entry.id in first.entry.explains or any(other.get(c) not in ("decisive", "strong") for c in strong)


def _fixes(hypothesis: Hypothesis) -> Iterator[Fix]:
    """What a finding's own arithmetic asks for, before what the cause and its entry say in general."""
    yield from (_computed(hypothesis, f) for f in hypothesis.for_ if PROPOSES in f.data and f.severity in SHOWN)
    if hypothesis.cause and hypothesis.cause.fix:
        yield hypothesis.cause.fix
    if hypothesis.entry.fix:
        yield hypothesis.entry.fix
    yield from (c.fix for c in hypothesis.entry.causes if c.fix and not c.for_ and c.fix.variable not in NOT_A_SETTING)


def _computed(hypothesis: Hypothesis, finding: Finding) -> Fix:
    asked, entry = finding.data[PROPOSES], hypothesis.entry
    known = [f for f in (*(c.fix for c in entry.causes), entry.fix) if f is not None]
    fix = next((f for f in known if f.variable == asked["variable"]), entry.fix)
    return Fix(
        variable=asked["variable"],
        change={"do": asked["do"]} if "do" in asked else {"set": asked["new"]},
        why=Phrase(finding.message, finding.zh or finding.message),
        expect=fix.expect if fix else COMPUTED,
    )


def _apply(hypothesis: Hypothesis, fix: Fix, settings: Settings, run: Run, lang: str) -> Proposal | None:
    """The fix on this run's own files, or None when it would change nothing."""
    entry, limit, fix = hypothesis.entry, _limit(hypothesis, fix), at_best(hypothesis, fix, settings)
    if limit:
        meant = {"variable": limit.data["variable"], "change": {"set": float(limit.data["fix"]["new"])}}
        fix = fix.model_copy(update=meant)
    change = _stated(hypothesis, fix, settings) or _change(fix, settings, run, lang, _named(hypothesis, lang))
    if change is None:
        return None
    if fix.variable == "code" and change[0] is None and (found := line_of(hypothesis, fix)):
        file, line, text = found
        change = (clean(file), line, change[2], clean(text), *change[4:])
    return Proposal(
        entry.id,
        fix.variable,
        *change,
        tuple(sorted(s.variable for s in settings if s.variable != fix.variable)),
        limit.say(lang) if limit else fix.why.say(lang),
        entry.check_first.say(lang),
        fix.expect.say(lang),
        fix.undo.say(lang) if fix.undo else PUT_BACK.say(lang),
        entry.acceptance,
    )


def _stated(hypothesis: Hypothesis, fix: Fix, settings: Settings) -> Change | None:
    """The change at the place that the finding itself names, where another file is in force or none is."""
    asked = (f.data[PROPOSES] for f in hypothesis.for_ if PROPOSES in f.data and f.severity in SHOWN)
    place = next((a for a in asked if a.get("file") and a["variable"] == fix.variable and fix.change.get("set")
                  == a["new"]), None)  # fmt: skip
    setting = settings.get(fix.variable)
    if place is None or (setting is not None and setting.file == place["file"] and not place.get("key")):
        return None
    key, old = clean(str(place.get("key") or fix.variable)), clean(str(place.get("old") or ""))
    return clean(place["file"]), place["line"], key, old, clean(str(place["new"])), clean(""), False


BACK = Phrase(" Put back what changed there: {what}.", "改回当时的变化：{what}。")
THERE = Phrase(" Here: {what}.", "此处：{what}。")


def _named(hypothesis: Hypothesis, lang: str) -> str:
    """What was changed where the trouble began, as the run's documents tell it: value by value, with its place."""
    told = [e for f in hypothesis.for_ for e in f.data.get("events", ()) if e.get("old") and e.get("new")]
    what = ", ".join(
        f"{clean(e['variable'] or e['what'], 60)} {clean(e['new'], 40)} -> {clean(e['old'], 40)}"
        f" ({clean(e['file'], 60)}:{e['line']})"
        for e in told[:1]
    )
    own = ("names_zh", "names") if lang == "zh" else ("names",)
    said = (f.data[key] for f in hypothesis.for_ for key in own if f.data.get(key))
    names = clean(str(next(said, "")), 80)
    return (BACK.say(lang, what=what) if what else "") + (THERE.say(lang, what=names) if names else "")


def _limit(hypothesis: Hypothesis, fix: Fix) -> Finding | None:
    """The finding that calls the value to be changed absurd and names a sound one: half of absurd is absurd still."""
    if not {"multiply", "add"} & set(fix.change):
        return None
    for finding in hypothesis.for_:
        rule = finding.data.get("fix")
        about = finding.data.get("variable")
        other = about in OTHER_UNITS.get(fix.variable, ())
        absurd = finding.severity in SHOWN and (about == fix.variable or other)
        if absurd and rule and number(rule["new"]) is not None:
            return finding
    return None


Change = tuple[str | None, int | None, str, Shown, str, Shown, bool]
"""file, line, key, old, new, patch, hidden"""


def _made(edit: Edit, unseen: str = "") -> Change:
    patch = _shown(edit)
    return edit.file, edit.line, clean(edit.key), clean(edit.old or unseen), edit.new, patch, patch != edit.patch


def _shown(edit: Edit) -> Shown:
    """The patch as it may be printed and kept: every line passed, with those inside a private key masked whole."""
    lines, out, at = list(visible_lines(edit.text.split("\n"))), list[str](), -1
    for line in edit.patch.split("\n"):
        if hunk := re.match(r"@@ -\d+(?:,\d+)? \+(\d+)", line):
            at = int(hunk[1]) - 1
        if at >= 0 and line[:1] in (" ", "+"):
            out.append(line[0] + lines[at])
            at += 1
        else:
            out.append(line[:1] + visible(line[1:]))
    return visible("\n".join(out))


def real_patch(proposal: Mapping[str, Any], settings: Settings, run: Run) -> str:
    """The patch of a kept proposal made again from the run's files, as they are: for the person's own machine only.

    Raises:
        TriageError: it has no patch, or the file is gone or no longer what it was.
    """
    path = next((a.path for a in run.artifacts if a.name == proposal["file"]), None)
    if not proposal["patch"] or path is None:
        raise TriageError("the last answer of this case proposes no patch of a file that is still there")
    if proposal["variable"] == "code":
        return _program_patch(path, proposal)
    place = proposal["file"], proposal["key"]
    setting = next((s for s in settings if (s.file, clean(s.key)) == place), None)
    new = proposal["new"]
    edit = set_value(setting, new, path) if setting else add_value(proposal["variable"], new, path, proposal["file"])
    if _shown(edit) != proposal["patch"]:
        raise TriageError(f"{proposal['file']}: has changed since the answer; ask again")
    return edit.patch


def _program_patch(path: Path, proposal: Mapping[str, Any]) -> str:
    """The patch of a program made again.

    Raises:
        TriageError: the program is no longer what it was.
    """
    from ..tools.code.check import check_files

    made = (f.data.get("fix") or {} for f in check_files([(path, proposal["file"])]).findings)
    for fix in made:
        if fix and visible(fix["patch"]) == proposal["patch"]:
            return fix["patch"]
    raise TriageError(f"{proposal['file']}: has changed since the answer; ask again")


def _change(fix: Fix, settings: Settings, run: Run, lang: str, named: str = "") -> Change | None:
    """The one change in the run's own words, with its patch where a file shows the setting.

    Args:
        named: what was changed in this run, behind what is to be done of a thing that is no setting.
    """
    if fix.variable in NOT_A_SETTING:
        return None, None, fix.variable, clean(""), fix.change["do"][lang] + named, clean(""), False
    setting = settings.get(fix.variable) or settings.get(SAME_THING.get(fix.variable, ""))
    if setting:
        return _change_visible(fix, setting, run)
    default = settings.defaults.get(fix.variable)
    new = target(default, fix)
    if default is not None and new is None:
        return None
    if edit := new is not None and _edit(settings, run, lambda path, name: add_value(fix.variable, new, path, name)):
        return _made(edit, UNSEEN.say(lang))
    [(how, amount)] = fix.change.items()
    shown = {"set": "{}", "multiply": "x {}", "add": "+ {}"}[how].format(amount) if new is None else str(new)
    return None, None, fix.variable, clean(UNSEEN.say(lang)), shown, clean(""), False


def _change_visible(fix: Fix, setting: Setting, run: Run) -> Change | None:
    new = target(setting.value, fix)
    if new is None:
        return None
    path = next((a.path for a in run.artifacts if a.name == setting.file), run.root / setting.file)
    try:
        edit = set_value(setting, new, path)
    except TriageError:
        spelled = like(setting.raw, new) if isinstance(new, (int, float)) else str(new)
        if setting.style == PRINTED:  # it was set elsewhere, in what is not here
            return None, None, clean(setting.key), clean(setting.raw), spelled, clean(""), False
        return setting.file, setting.line, clean(setting.key), clean(setting.raw), spelled, clean(""), False
    return _made(edit)


def _edit(settings: Settings, run: Run, make: Callable[[Path, str], Edit]) -> Edit | None:
    """The edit in the first file in force that offers a place for it."""
    for name in reversed(settings.files):
        path = next((a.path for a in run.artifacts if a.name == name and a.kind != "log"), None)
        if path:
            with suppress(TriageError):
                return make(path, name)
    return None
