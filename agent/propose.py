"""One change to try next: exactly one variable, as a patch that a person applies.

Nothing here writes a file. A proposal exists only for a hypothesis that evidence of this run supports.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..knowledge.entry import NOT_A_SETTING, Criterion, Fix
from ..tools.findings import TriageError
from ..tools.run import Run
from ..tools.settings import Setting, Settings
from .diagnose import Diagnosis, Hypothesis


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
    old: str
    new: str
    patch: str
    """Unified diff with one changed line; empty when the change is not in a file that triage read."""
    unchanged: tuple[str, ...]
    """The other settings of the run, which must stay as they are."""
    why: str
    check_first: str
    expect: str
    undo: str
    acceptance: tuple[Criterion, ...]


@dataclass(frozen=True)
class Nothing:
    """No change is proposed yet, with the reason."""

    en: str
    zh: str


def propose(diagnosis: Diagnosis, settings: Settings, run: Run, lang: str = "en") -> Proposal | Nothing:
    """The one change of the most probable hypothesis whose fix applies to this run's settings."""
    if diagnosis.state != "diagnosed":
        return Nothing(f"the diagnosis is {diagnosis.state}", f"诊断结果为 {diagnosis.state}")
    believed = [h for h in diagnosis.hypotheses if h.status in ("established", "supported")]
    if not believed:
        return Nothing(
            "no finding of a run supports a cause yet; make the check first",
            "还没有运行证据支持某个原因，请先做检查",
        )
    if diagnosis.close and not _same_variable(diagnosis.hypotheses[:2]):
        first, second = diagnosis.hypotheses[:2]
        return Nothing(
            f"{first.entry.id} and {second.entry.id} are too close; the check decides first",
            f"{first.entry.id} 与 {second.entry.id} 证据相近，先做能区分二者的检查",
        )
    for hypothesis in believed[:2]:
        for fix in _fixes(hypothesis):
            if proposal := _apply(hypothesis, fix, settings, run, lang):
                return proposal
    return Nothing("the change that the runbook names is already in force here", "手册建议的改动在这里已经生效")


def _same_variable(hypotheses: tuple[Hypothesis, ...]) -> bool:
    return len({fix.variable for h in hypotheses for fix in list(_fixes(h))[:1]}) == 1


def _fixes(hypothesis: Hypothesis) -> Iterator[Fix]:
    if hypothesis.cause and hypothesis.cause.fix:
        yield hypothesis.cause.fix
    if hypothesis.entry.fix:
        yield hypothesis.entry.fix


def _apply(hypothesis: Hypothesis, fix: Fix, settings: Settings, run: Run, lang: str) -> Proposal | None:
    """The fix on this run's own files, or None when it would change nothing."""
    entry = hypothesis.entry
    default_undo = {"en": "Put the old value back.", "zh": "改回原值。"}
    file = line = None
    key, old, new, patch = fix.variable, "", "", ""
    if fix.variable in NOT_A_SETTING:
        new = fix.change["do"][lang]
    elif setting := settings.get(fix.variable):
        new = change(setting.value, setting.raw, fix)
        if new is None or new == setting.raw:
            return None
        file, line, key, old = setting.file, setting.line, setting.key, setting.raw
        patch = _patch(setting, new, run)
    else:
        [(how, amount)] = fix.change.items()
        new = f"{amount}" if how == "set" else f"{'x' if how == 'multiply' else '+'} {amount}"
        old = "not visible in the files that were read" if lang == "en" else "所读文件中看不到"
    return Proposal(
        entry.id,
        fix.variable,
        file,
        line,
        key,
        old,
        new,
        patch,
        tuple(sorted(s.variable for s in settings if s.variable != fix.variable)),
        fix.why.say(lang),
        entry.check_first.say(lang),
        fix.expect.say(lang),
        fix.undo.say(lang) if fix.undo else default_undo[lang],
        entry.acceptance,
    )


def change(value: object, raw: str, fix: Fix) -> str | None:
    """The new value, spelled as the file spells numbers; None when the fix does not apply to this value."""
    [(how, amount)] = fix.change.items()
    if how == "set":
        same = str(amount) == str(value) or (_number(amount) is not None and _number(amount) == _number(value))
        return None if same else str(amount).lower() if isinstance(amount, bool) else str(amount)
    number = _number(value)
    if number is None or not math.isfinite(number):
        return None
    result = number * amount if how == "multiply" else number + amount
    if result == number:
        return None
    if isinstance(value, int):
        whole = max(round(result), 1)
        return None if whole == value else str(whole)
    return spell(result, raw)


def spell(number: float, like: str) -> str:
    """`1.5e-4` if the file writes `3e-4`, `0.00015` if it writes `0.0003`."""
    if "e" not in like.lower():
        return f"{number:.10f}".rstrip("0").rstrip(".") if abs(number) >= 1e-9 else f"{number:.6g}"
    mantissa, exponent = f"{number:.6e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    if "." in like.lower().split("e")[0] and "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{int(exponent)}"


def _number(value: object) -> float | None:
    try:
        return float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return None


def _patch(setting: Setting, new: str, run: Run) -> str:
    """The unified diff, or an empty string if the file cannot be edited line by line."""
    from ..tools.config.edit import set_value

    path = next((a.path for a in run.artifacts if a.name == setting.file), run.root / setting.file)
    try:
        return set_value(setting, new, path).patch
    except TriageError:
        return ""
