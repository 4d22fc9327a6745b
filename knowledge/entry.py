"""A runbook entry: one failure, as one Markdown file with YAML front matter.

The front matter is data that diagnosis, proposal and verification read; the body explains, in both languages. What
people type when they have the failure only feeds the index: a shipped entry has it in a file of its own, a person's
entry under `says`. Entries come from files that people add, so they are validated here and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

from ..tools.phrase import Phrase
from .sign import code_of, parse_sign

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Strength = Literal["decisive", "strong", "moderate", "weak"]
Severity = Literal["S0", "S1", "S2", "S3"]
Lang = Literal["en", "zh"]

SECTIONS = {
    "en": ("Symptom", "Causes", "Diagnosis", "Fix", "Verification"),
    "zh": ("症状", "原因", "诊断", "修复", "验证"),
}
NOT_A_SETTING = ("dataset", "checkpoint", "code", "environment")
"""What `fix.variable` may name beside a canonical setting."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Says(Strict):
    """What people type when they have this problem; feeds the index, never shown."""

    en: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=3)
    zh: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=3)


SILENT = Says.model_construct(en=(), zh=())
"""Of an entry that is found by its name, title, symptom and causes alone."""


class Findings(Strict):
    """Finding codes that speak for or against, with the strength of that evidence."""

    for_: dict[Id, Strength] = Field(default_factory=dict, alias="for")
    against: dict[Id, Strength] = Field(default_factory=dict)
    needs: tuple[Id, ...] = ()
    """What the title says was seen: without any of these, or a serious finding, what speaks for the entry is weak."""


class Signs(Strict):
    """Signs over the relations of a run that speak for or against; they count as findings of that strength."""

    for_: dict[str, Strength] = Field(default_factory=dict, alias="for")
    against: dict[str, Strength] = Field(default_factory=dict)
    none: Literal["", "lines", "settings", "records", "person"] = ""
    """Why there are none: its evidence lies in lines of a log, in settings or in records, which other tools read; or
    only a person can tell."""

    @model_validator(mode="after")
    def readable(self) -> Signs:
        for text in (*self.for_, *self.against):
            parse_sign(text)
        return self


@cache
def _phrase() -> TypeAdapter[Phrase]:
    return TypeAdapter(Phrase)


class Fix(Strict):
    """The one change to try first."""

    variable: str
    """A canonical setting, or one of `NOT_A_SETTING`."""
    change: dict[Literal["multiply", "set", "add", "do"], Any]
    """Exactly one of: `multiply: 0.5`, `set: 1.0`, `add: 1`, or `do: {en, zh}` for what is not a setting."""
    why: Phrase
    expect: Phrase
    """What the next run should show if this was the cause."""
    undo: Phrase | None = None
    unless: tuple[Id, ...] = ()
    """Findings that contradict its reason: where the run shows one of them, it is not proposed."""

    @model_validator(mode="after")
    def one_change(self) -> Fix:
        if len(self.change) != 1:
            raise ValueError(f"change one thing, not {len(self.change)}: {sorted(self.change)}")
        if ("do" in self.change) != (self.variable in NOT_A_SETTING):
            raise ValueError(f"`do` goes with {', '.join(NOT_A_SETTING)}; a setting takes multiply, set or add")
        if "do" in self.change:
            _phrase().validate_python(self.change["do"])
        return self


class Cause(Strict):
    """One cause inside an entry, when the entry has several that evidence can tell apart."""

    id: Id
    text: Phrase
    for_: dict[Id, Strength] = Field(default_factory=dict, alias="for")
    fix: Fix | None = None
    """Overrides the entry's fix."""


class Criterion(Strict):
    """One acceptance criterion; `agent.acceptance.verify` computes it on the next run or says what is missing."""

    metric: str
    """A canonical metric, or a named acceptance metric (`train_eval_leak_rate`)."""
    is_: Literal[
        "finite",
        "between",
        "below",
        "at-most",
        "above",
        "at-least",
        "equals",
        "increases",
        "decreases",
        "stable",
        "true",
        "false",
    ] = Field(alias="is")
    low: float | None = None
    high: float | None = None
    value: float | str | None = None
    unit: str = ""
    window: dict[Literal["steps", "points", "again"], int] | None = None
    """`again`: how many times the steps that the failure took must lie behind it, within the plan of the run."""
    after: Literal["warmup", "start"] | None = None
    basis: Literal["stated", "inverted", "assumed", "proposed"] = "proposed"
    """`stated` in a source, the complement of a stated symptom, assumed definition, or proposed by us."""
    definition: Phrase | None = None
    """Unit, population and window, where the source leaves them out: printed as assumed."""
    source: str = ""
    criterion: str = ""
    """Id of the criterion in `inventory.json`, for `runbook coverage`."""
    needs: Literal["", "reference artifact", "human labels", "operational"] = ""

    @model_validator(mode="after")
    def bounds(self) -> Criterion:
        wanted = {
            "between": ("low", "high"),
            "below": ("high",),
            "at-most": ("high",),
            "above": ("low",),
            "at-least": ("low",),
            "equals": ("value",),
        }
        for name in wanted.get(self.is_, ()):
            if getattr(self, name) is None:
                raise ValueError(f"criterion {self.metric!r} is {self.is_!r} but has no {name!r}")
        return self


class Conflict(Strict):
    """Where the sources disagree: both sides, and the observation that decides."""

    about: Phrase
    positions: tuple[Phrase, ...] = Field(min_length=2)
    decided_by: Phrase
    decided_by_findings: dict[Id, int] = Field(default_factory=dict)
    """Finding code -> index of the position it supports, so that a run can decide."""
    ref: str = ""
    """Code in the project's list of contradictions, such as `X-01`."""


@dataclass(frozen=True)
class Caution(Phrase):
    """A dangerous, stale or disputed step and how to read it."""

    ref: str = ""


@dataclass(frozen=True)
class FirstCheck(Phrase):
    """What to look at first, and the findings that show it already: beside one of them nobody is asked to look."""

    answered_by: tuple[Id, ...] = ()


class Entry(Strict):
    """One failure of the runbook."""

    id: Id
    title: Phrase
    kind: Literal["failure", "benign", "guide"] = "failure"
    """`benign` answers "is this normal?"; `guide` is a procedure (triage order, incident response)."""
    severity: Severity
    stages: tuple[str, ...] = Field(min_length=1)
    prior: Literal["common", "usual", "rare"] = "usual"
    says: Says = SILENT
    findings: Findings = Findings()
    signs: Signs = Signs()
    causes: tuple[Cause, ...] = ()
    check_first: FirstCheck
    """The cheapest read-only check that splits this from its rivals."""
    fix: Fix | None = None
    """None where nothing should be changed (benign, or only a check)."""
    stays: tuple[str, ...] = ()
    """What people wrongly reach for: settings, or things of `agent.change.stays`. A proposal names them as kept."""
    acceptance: tuple[Criterion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    cautions: tuple[Caution, ...] = ()
    sources: tuple[str, ...] = ()
    """Where the facts come from: `"002 §1"` for a source runbook."""
    covers: tuple[str, ...] = ()
    """Inventory row ids that this entry carries whole (`S2-1-LR`)."""
    sections: tuple[Id, ...] = ()
    """Failures that are a section of this entry instead of one of their own."""
    references: tuple[str, ...] = ()
    """Public documentation or issue threads (`owner/repo#123`, or a documentation page's name and address)."""
    rivals: tuple[Id, ...] = ()
    generic: bool = False
    """Whether it says only that a measure got worse from some place on: it yields to a failure that explains that."""
    explains: tuple[Id, ...] = ()
    """Broader entries whose symptom this one causes: words that mean them speak for it too, once a finding does."""
    body: dict[Lang, dict[str, str]] = Field(default_factory=dict)
    """language -> section heading -> Markdown."""
    origin: str = "triage"
    """`triage` for a shipped entry, otherwise the file it came from."""

    @cached_property
    def speaks(self) -> Findings:
        """Its findings, and its signs as findings of their strength."""
        for_, against = ({code_of(text): word for text, word in side.items()} for side in
                         (self.signs.for_, self.signs.against))  # fmt: skip
        mine = self.findings
        return mine.model_copy(update={"for_": {**mine.for_, **for_}, "against": {**mine.against, **against}})

    @property
    def cited(self) -> list[str]:
        """All that it rests on."""
        return [*self.sources, *self.references]

    def said(self, lang: str) -> dict[str, str]:
        """The sections of `SECTIONS` in the language: heading -> Markdown."""
        side = "zh" if lang == "zh" else "en"
        return {heading: self.body[side][heading] for heading in SECTIONS[side]}


class RunbookError(ValueError):
    """What `knowledge` cannot do with what it was given; the message names the thing and the next step."""


class EntryError(RunbookError):
    """An entry file is wrong; the message names the file and what to change."""


def parse(text: str, name: str, says: Says | None = None) -> Entry:
    """Validate one entry file.

    Args:
        text: the file's content.
        name: its name, for messages.
        says: its phrases, for an entry whose phrases lie in a file of their own; None where it holds them itself.

    Raises:
        EntryError: the front matter or the body is wrong, with the first problem and where it is.
    """
    import yaml

    match = re.match(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    if not match:
        raise EntryError(f"{name}: an entry starts with YAML front matter between two lines of ---")
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        _no_key_twice(yaml.compose(match[1], Loader=loader), name)
        front = yaml.load(match[1], Loader=loader)
    except yaml.YAMLError as error:
        raise EntryError(f"{name}: front matter is not YAML: {error}") from None
    if not isinstance(front, dict):
        raise EntryError(f"{name}: front matter is made of `key: value` lines, and this is not")
    if says is not None:
        if "says" in front:
            raise EntryError(f"{name}: move `says` to phrases/{Path(name).stem}.txt, where phrases lie")
        front["says"] = says
    entry = _valid(Entry, {**front, "body": _body(match[2], name)}, name)
    if Path(name).stem != entry.id:
        raise EntryError(f"{name}: the file must be named {entry.id}.md after its id")
    return entry


def _no_key_twice(root: Any, name: str) -> None:
    """YAML would keep the later of two and drop the earlier without a word."""
    nodes, done = [root], set[int]()
    while nodes:
        node = nodes.pop()
        if node is None or isinstance(node.value, str) or id(node) in done:
            continue
        done.add(id(node))
        seen = dict[str, int]()
        for child in node.value:
            key, value = child if isinstance(child, tuple) else (None, child)
            nodes.append(value)
            if key is None or not isinstance(key.value, str):
                continue
            line = key.start_mark.line + 2
            if seen.setdefault(key.value, line) != line:
                raise EntryError(f"{name}:{line}: `{key.value}` stands in line {seen[key.value]} too; join the two")


def parse_phrases(text: str, name: str) -> Says:
    """Validate one file of phrases: one a line, first those under `# en`, then those under `# zh`.

    Raises:
        EntryError: it is empty or wrong, with its name.
    """
    before, *parts = re.split(r"^# (en|zh)\s*$", text, flags=re.MULTILINE)
    if before.strip() or parts[::2] != ["en", "zh"]:
        raise EntryError(f"{name}: phrases stand one a line, first under `# en`, then under `# zh`")
    lines = ([line.strip() for line in part.splitlines() if line.strip()] for part in parts[1::2])
    return _valid(Says, dict(zip(("en", "zh"), lines, strict=True)), name)


def _valid(kind: type[BaseModel], found: dict[str, Any], name: str) -> Any:
    from pydantic import ValidationError

    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise EntryError(f"{name}: {where}: {first['msg']} ({error.error_count()} problems in all)") from None


def _body(markdown: str, name: str) -> dict[str, dict[str, str]]:
    """`# en` and `# zh`, each with the five `##` sections of `SECTIONS`, into a nested dict."""
    body: dict[str, dict[str, str]] = {}
    for lang, headings in SECTIONS.items():
        part = re.search(rf"^# {lang}\s*\n(.*?)(?=^# (?:en|zh)\s*$|\Z)", markdown, re.DOTALL | re.MULTILINE)
        if not part:
            raise EntryError(f"{name}: the body has no `# {lang}` part")
        found = re.split(r"^## (.*\S)[^\S\n]*$", part[1], flags=re.MULTILINE)
        body[lang] = {h: t.strip() for h, t in zip(found[1::2], found[2::2], strict=True)}
        missing = [h for h in headings if not body[lang].get(h)]
        if missing:
            raise EntryError(f"{name}: `# {lang}` has no section {', '.join('## ' + h for h in missing)}")
    return body
