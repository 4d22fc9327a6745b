"""The change that lies where the trouble began, as the one thing to take back.

A run of which one change came into force at the onset is tried without that change before anything else is tuned: what
it did need not be understood for that. Where several changes fall together, or none has an old value or a patch, there
is nothing to take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...tools.findings import PROPOSES, Finding, clean
from ...tools.patterns import bounded
from ...tools.phrase import Phrase
from ...tools.settings import CONTEXT, VARIABLES
from ..ranking import SERIOUS, Hypothesis

REVERTED = ("code", "config", "dependency")
"""Kinds of events that can be taken back as they were: data, machines and services have entries of their own."""
OF_NO_EFFECT = frozenset(("seed", "save_steps", "save_total_limit", "log_steps", "eval_steps", "visible_devices",
                          "num_workers", "pin_memory"))  # fmt: skip
"""Settings that do not change what is learned."""
SPOKEN = bounded(r"(?i)\b(?:logg?(?:er|ing)?|print|wandb|tqdm|tensorboard|comment|typo|docs?)\b|日志|打印|注释")
TAKE_BACK = Phrase("Take back {file}: {what}. Leave everything else, and resume from the last checkpoint before "
                   "it{at}.", "回退 {file}：{what}。其余不动，从它之前的最后一个检查点继续{at}。")  # fmt: skip
PIN = Phrase("Put {variable} back from {new} to {old} ({file}:{line}) and leave everything else.",
             "把 {variable} 从 {new} 改回 {old}（{file}:{line}），其余不动。")  # fmt: skip
WHY = Phrase("{what} ({place}) came into force where the trouble began ({onset}), and nothing else that was read "
             "changed there.", "{what}（{place}）正好在问题开始处（{onset}）生效，此处没有读到别的改动。")  # fmt: skip
AGAIN = Phrase("Without that change the run goes on as before it, with the same data and settings.",
               "去掉该改动后，相同数据与设置下训练恢复到改动之前的样子。")  # fmt: skip
AT = Phrase(" (step {step})", "（第 {step} 步）")


@dataclass(frozen=True)
class Change:
    """One change that lies at the onset: its first event, and all events of it."""

    first: Mapping[str, Any]
    onset: Finding

    @property
    def setting(self) -> str:
        """The canonical variable to put back; empty where the change is of another kind."""
        of = str(self.first.get("variable") or "")
        return of if self.first["what"] == "config" and of in VARIABLES.keys() | CONTEXT.keys() else ""

    def do(self, lang: str) -> str:
        """What is to be done, in words."""
        e = {k: clean(str(v or ""), 120) for k, v in self.first.items()}
        if self.first["what"] == "dependency":
            return PIN.say(lang, **{k: e[k] for k in ("variable", "new", "old", "file", "line")})
        pair = f"{e['new']} -> {e['old']}" if e["new"] and e["old"] else ""
        what = f"{e['file']}:{e['line']} {e['text']}" + (f" ({pair})" if pair else "")
        at = AT.say(lang, step=self.first["step"]) if self.first.get("step") is not None else ""
        return TAKE_BACK.say(lang, file=PurePath(e["file"]).name, what=what, at=at)

    def why(self, lang: str) -> str:
        e = self.first
        what = clean(str(e.get("text") or e["what"]), 120)
        return WHY.say(lang, what=what, place=f"{clean(e['file'], 80)}:{e['line']}", onset=self.onset.place())


def to_take_back(hypothesis: Hypothesis, findings: Iterable[Finding]) -> Change | None:
    """The one change at the onset of what speaks for a hypothesis; None where there is none, or more than one."""
    onset = next((f for f in findings if f.code == "onset"), None)
    if onset is None or any(PROPOSES in f.data for f in hypothesis.for_) or not _shares(hypothesis, onset):
        return None
    events = [e for e in onset.data.get("events", ()) if e["what"] != "note"]
    return _only(events, onset)


def _only(events: Sequence[Mapping[str, Any]], onset: Finding) -> Change | None:
    """The change that all these events tell of."""
    texts = [str(e.get("text") or "") for e in events]
    sources = {str(e["file"]) for e in events}
    tells = {f for f in sources for e, text in zip(events, texts, strict=True)
             if e["file"] != f and PurePath(f).name in text}  # fmt: skip
    kept = [e for e in events if e["file"] in tells] if tells else list(events)
    kept = [e for e in kept if e["what"] != "restart" or len(events) == 1]
    usable = [e for e in kept if _usable(e)]
    places = {(e["file"], e["variable"] if e["what"] != "code" else "") for e in usable}
    if len(places) != 1 or len(usable) != len([e for e in kept if not _idle(e)]):
        return None
    return Change(usable[0], onset)


def _idle(event: Mapping[str, Any]) -> bool:
    """Whether it changes nothing of what is learned."""
    return event["variable"] in OF_NO_EFFECT or bool(SPOKEN.search(f"{event.get('text')}"))


def _usable(event: Mapping[str, Any]) -> bool:
    if event["what"] not in REVERTED or _idle(event):
        return False
    return bool(event["old"]) if event["what"] != "code" else bool(event["old"] or event["new"])


def _shares(hypothesis: Hypothesis, onset: Finding) -> bool:
    """Whether what speaks for the hypothesis begins where the onset lies."""
    low, high = onset.data.get("interval", (0.0, 0.0))
    slack = max(high - low, 0.02 * high)
    grave = [f for f in hypothesis.for_ if f.severity in (*SERIOUS, "S2")]
    steps = [float(f.evidence[0].step) for f in grave if f.evidence and f.evidence[0].step is not None]
    return onset in hypothesis.for_ or any(low - slack <= step <= high + slack for step in steps)
