"""What the place of a key says: wrappers, interpolations, sections that are switched off, lists of overrides."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from ...patterns import bounded
from .commands import OVERRIDE
from .source import Item

WRAPPERS = ("parameters.",)
"""Sections of a job description that hold the trainer's whole config (MosaicML)."""
ONE = re.compile(r"\[([^\[\],]{1,80})\]")
OFF = {"false", "no", "off"}


def resolved(items: list[Item]) -> list[Item]:
    """The items as the trainer sees them."""
    return in_force(chosen(listed(interpolated(overrides(unwrapped(swept(items)))))))


STOPS = bounded(r"((?:.{0,80}[._])?stop(?:[_-]?(?:tokens?|words?|strings?|strs?|sequences?|list))?)\.\d{1,3}")
"""Elements of a list of what ends an answer."""


def listed(items: list[Item]) -> list[Item]:
    """The items with the texts that end an answer as one value: the one text of a list, or all of them."""
    held: dict[str, list[Item]] = {}
    for item in items:
        if item.text and (found := STOPS.fullmatch(item.key)):
            held.setdefault(found[1], []).append(item)
    keys = {i.key for i in items} if held else set()
    whole = {key: of for key, of in held.items() if key not in keys}
    joined = [
        replace(of[0], key=key) if len(of) == 1
        else Item(key, json.dumps([i.text for i in of], ensure_ascii=False), of[0].style, of[0].start, of[0].start)
        for key, of in whole.items()
    ]  # fmt: skip
    return [*items, *joined]


RANGE = bounded(r"parameters\.([\w.\-]{1,80}?)\.(?:values\.\d+|min|max|distribution|mu|sigma|q|probabilities\.\d+)")


def swept(items: list[Item]) -> list[Item]:
    """Of a sweep (wandb's `method` beside `parameters`) only what it holds fixed: a range is what may be tried."""
    if not any(RANGE.fullmatch(i.key) for i in items) or not any(i.key == "method" for i in items):
        return items
    fixed = [i for i in items if i.key.startswith("parameters.") and i.key.endswith(".value")]
    return [replace(i, key=i.key.removeprefix("parameters.").removesuffix(".value")) for i in fixed]


SELECTOR = bounded(
    r"(?i)(?:.{0,40}[._])?(?:active|current|use|selected?|chosen|profile|stage|phase|preset|variant|mode|recipe|run|which"
    r"|default|target|启用|当前|使用|选用)"
)
"""Keys whose value may be the name of the one part of the file that holds."""
SHARED = 2
"""Keys that two parts of a file have in common that are alternatives of each other."""


def chosen(items: list[Item]) -> list[Item]:
    """The items with the part that the file itself chooses (`active: big` beside `big:` and `small:`) in the open.

    Only where another part beside it has the same keys: then they are alternatives, and the others stay below headings
    that nobody knows.
    """
    named = dict.fromkeys(i.text for i in items if i.text and SELECTOR.fullmatch(i.key))
    headings = _headings(items) if named else {}
    for name in named:
        if name in headings and (part := _alternative(name, headings[name], items)):
            inside = [replace(i, key=i.key.removeprefix(part)) for i in items if i.key.startswith(part)]
            return [*(i for i in items if not i.key.startswith(part)), *inside]
    return items


def _headings(items: list[Item]) -> dict[str, set[str]]:
    """Of each heading, outermost or one below, the prefixes of the keys that stand under it."""
    found: dict[str, set[str]] = {}
    for key in dict.fromkeys(i.key for i in items):
        ends = [at for at, c in enumerate(key) if c == "."]
        under = {key[:end]: key[: end + 1] for end in ends}
        if ends and ends[0] > 0:
            under |= {key[ends[0] + 1 : end]: key[: end + 1] for end in ends[1:]}
        for heading, prefix in under.items():
            found.setdefault(heading, set()).add(prefix)
    return found


def _alternative(name: str, prefixes: set[str], items: list[Item]) -> str:
    """The prefix of the keys below a heading of this name, if a heading beside it holds keys of the same names."""
    if len(prefixes) != 1:
        return ""
    part = next(iter(prefixes))
    outer = part.removesuffix(f"{name}.")
    beside: dict[str, set[str]] = {}
    for item in items:
        if item.key.startswith(outer) and "." in (rest := item.key.removeprefix(outer)):
            heading, _, last = rest.partition(".")
            beside.setdefault(heading, set()).add(last)
    own = beside.pop(name, set())
    return part if any(len(own & keys) >= SHARED for keys in beside.values()) else ""


def interpolated(items: list[Item]) -> list[Item]:
    """`${other.key}` (hydra, torchtune) stands for the value of that key, `${.key}` for a sibling's; anything else in
    `${}` is not visible."""
    known = {i.key: i for i in items}
    out = []
    for item in items:
        if item.text and "${" in item.text:
            match = re.fullmatch(r"\$\{(\.*+)([\w.]++)\}", item.text)
            target = known.get(_absolute(item.key, match[1], match[2])) if match else None
            if target is None or target.text is None or "${" in target.text:
                continue
            item = replace(target, key=item.key)
        out.append(item)
    return out


def _absolute(key: str, dots: str, name: str) -> str:
    levels = key.split(".")[: -len(dots)] if dots else []
    return ".".join([*levels, name])


def unwrapped(items: list[Item]) -> list[Item]:
    """wandb's `config.yaml` keeps every value under `key.value`, next to a description; a job may hold a config."""
    for wrapper in WRAPPERS:
        inner = [replace(i, key=i.key.removeprefix(wrapper)) for i in items if i.key.startswith(wrapper)]
        if len(inner) * 2 > len(items):
            return inner
    levels = [i.key.split(".") for i in items if i.key != "wandb_version"]
    items = [i for i in items if i.key != "wandb_version"] if any(len(parts) > 1 for parts in levels) else items
    if not items or not all(len(parts) > 1 and parts[1] in ("value", "desc") for parts in levels):
        return items
    kept = zip(items, levels, strict=True)
    return [replace(i, key=".".join([parts[0], *parts[2:]])) for i, parts in kept if parts[1] == "value"]


def overrides(items: list[Item]) -> list[Item]:
    """Hydra's `overrides.yaml` is a list of `key=value`."""
    matches = [OVERRIDE.match(i.text or "") if i.key.isdigit() else None for i in items]
    if not items or None in matches:
        return items
    out = []
    for item, match in zip(items, matches, strict=True):
        if match:
            start = item.start + (1 if item.quoted else 0) + match.end()
            end = item.end - (1 if item.quoted else 0)
            value = (item.text or "")[match.end() :]
            if one := ONE.fullmatch(value):  # a list of one, as fairseq writes its rate
                value, start, end = one[1], start + one.start(1), end - 1
            out.append(Item(match[1], value, "override", start, end))
    return out


def in_force(items: list[Item]) -> list[Item]:
    """Without the sections that say `enabled: false`, and without an adapter's where none is used; the switch stays."""
    if any(_switched_off(i) for i in items):
        items = [i for i in items if ADAPTER_SWITCH.search(i.key) or not ADAPTERS.search(i.key)]
    off = {i.key.removesuffix("enabled") for i in items if i.key.endswith(".enabled") and (i.text or "").lower() in OFF}
    if not off:
        return items
    return [i for i in items if i.key.endswith(".enabled") or not _below(i.key, off)]


ADAPTER_SWITCH = re.compile(r"(?:^|\.)(?:(?:use|enable)_(?:peft|lora)|(?:lora|peft)_enabled?)$")
ADAPTERS = re.compile(r"(?:^|\.)(?:lora|peft)(?:_(?:r|rank|alpha)|\.(?:r|rank|alpha|lora_\w{1,40}))$")


def _switched_off(item: Item) -> bool:
    return bool(ADAPTER_SWITCH.search(item.key)) and (item.text or "").lower() in OFF


def _below(key: str, sections: set[str]) -> bool:
    return any(key[: at + 1] in sections for at, c in enumerate(key) if c == ".")
