"""What a sentence says has happened: kind of change, variable, old and new value.

A wish, a question, a condition, a plan and a denial are no events. Which words mean what is `words`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..findings import clean
from ..patterns import bounded
from . import names, words
from .event import Event, Kind
from .sentences import Sentence

_I = re.IGNORECASE
_V = r"[^\s,;()\[\]{}|→\"'=<>\u3002]+"
_NUM = r"(?<![A-Za-z0-9_.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?:%|[kKMBT]\b|[\w.+-]*)"
_TO_ZH = (
    r"(?:改[为成到]|调[整]?[到至为成]|调[高低大小][到至]|[降升提][低高级]?[到至为]|提高[到至]|降低[到至]|增?加大?[到至]|增大[到至]"
    r"|减[少小半][到至]|变[为成]|换成|切换?[到成为]|升级[到至为]|降级[到至为]"
    r"|回退到|扩[大展]?到|缩[小短]?到|设[为成置]为?|到|至)"
)
_UP_ZH = (
    r"(?:改[为成到]|调整?[到至为成]|升级[到至为]|降级[到至为]|提高[到至]|"
    r"降[低]?[到至]|升[到至]|增加[到至]|减少[到至]|变成|换成|调[高低大小][到至])"
)


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    """With the groups `old`, `new`, of which one may be missing, and `name` where it stands inside."""
    told: bool = True
    """It tells of a change by itself, without a word for one."""
    known: bool = False
    """It counts only beside the name of a setting or of a weight."""


_FORMS = (
    _Form(bounded(rf"(?P<old>{_V})(?:(?<=\d)\s?[a-zA-Z%]{{1,8}})? → (?P<new>{_V})")),
    _Form(bounded(rf"\bfrom\s(?:the\s)?(?P<old>{_V})(?:\s[a-z]{{2,10}})?\s(?:up |down "
    rf"|back )?to\s(?:the\s)?(?P<new>{_NUM}|{_V})", _I), told=False),
    _Form(bounded(rf"(?:从|由)\s?(?:原来的|原先的|之前的|默认的?)?\s?(?P<old>[^\s,;()→\u4e00-\u9fff]+)\s?[个条张]?\s?(?:直接"
    rf"|逐步|手动|临时"
    rf"|统一)?{_TO_ZH}了?\s?(?P<new>[^\s,;()→\u4e00-\u9fff.]+(?:\.[^\s,;()→\u4e00-\u9fff]+)*)")),
    _Form(bounded(rf"(?P<old>(?<![\w.-])v?\d[\w.%+-]*)\s?{_UP_ZH}了?\s?(?P<new>v?\d[\w.%+-]*)")),
    _Form(bounded(r"(?:升级|降级|更新)\s?(?P<name>[A-Za-z][\w.-]*)\s(?P<old>v?\d[\w.+-]*)\s?[到至]\s?(?P<new>v?\d[\w.+-]*)")),
    _Form(bounded(rf"(?P<new>{_NUM})(?:\s[a-z]{{1,10}})?\s?\((?:was|before|previously|formerly|prev|old"
    rf"|from|instead of|originally|原|原来"
    rf"|之前|此前|原先)[:为是]?\s?(?P<old>{_V})[^()]{{0,60}}\)", _I)),
    _Form(bounded(rf"(?P<new>{_NUM}),? (?:was|before:?|formerly|previously) (?P<old>{_NUM})", _I)),
    _Form(bounded(rf"(?P<new>{_NUM}),? (?:instead of|rather than) (?P<old>{_NUM})", _I), told=False),
    _Form(bounded(rf"(?P<new>{_NUM})\s(?P<name>[A-Za-z ]{{2,40}}?)\s\((?:was|before|previously"
    rf"|formerly):? (?P<old>{_V})\)", _I)),
    _Form(bounded(r"(?:之前|原来|原先|以前|此前)[是用为]?\s?(?P<old>[^\s,;]+?)\s?[,;]\s?(?:现在|现"
    r"|目前)[是用为改成]{0,3}\s?(?P<new>[^\s,;.]+)")),
    _Form(bounded(r"(?<!from )\b(?P<old>v\d[\w.+-]*) to (?P<new>v\d[\w.+-]*)"), told=False),
    _Form(bounded(rf"\b(?:was|before) (?P<old>{_NUM}),? (?:is )?now (?P<new>{_NUM})", _I)),
    _Form(bounded(rf"(?<!from )(?<![\w.])(?P<old>{_NUM}) to (?P<new>{_NUM})(?![\w%])", _I), told=False, known=True),
    _Form(bounded(r"\b(?:upgrad|downgrad|bump|lower|rais|increas|decreas"
    r"|reduc)\w*\s(?P<name>[\w. -]{1,30}?)\s(?P<old>v?\d[\w.+-]*)\s?(?:to"
    r"|-)\s(?P<new>v?\d[\w.+-]*)", _I)),
)  # fmt: skip
_NEW = (
    bounded(
        rf"(?P<verb>\b(?:set|raised?|lower(?:ed)?|increased?|decreased?|reduced?|changed?"
        rf"|bump(?:ed)?|upgraded?|downgraded?|switch(?:ed)?|moved?|cut|halved?|doubled?"
        rf"|rolled back|roll back|scaled|reset|pin(?:ned)?|updated?|shortened|extended|dropped"
        rf"|grew|adjusted|capped|cap)\b)(?P<name>[^,;:→=]{{0,50}}?)\s?(?:(?:back |up "
        rf"|down )?\bto\b|=|\bat\b)\s?(?:the |about |~)?(?P<new>{_NUM}|v\d[\w.]*|True|False"
        rf"|true|false|[\w-]+-v?\d[\w.-]*)(?![\w%/])",
        _I,
    ),
    bounded(
        rf"\s(?:(?:was|were|is now|has been|now|got|been)\s)?(?P<verb>(?:set|raised|lowered"
        rf"|increased|decreased|reduced|changed|bumped|halved|doubled|cut|reset|upgraded"
        rf"|downgraded|dropped|switched|scaled|pinned|updated|shortened|extended|went (?:up"
        rf"|down)|adjusted|moved|capped)) (?:(?:back |up |down )?to|at)\s(?P<new>{_NUM}"
        rf"|v\d[\w.]*|True|False|true|false)(?![\w%/])",
        _I,
    ),
    bounded(
        rf"(?P<verb>[降升提调改增减设切换加翻][低高级整加大少小置换倍半]?[到至为成]+|设置为|改用|换用)了?\s?(?P<new>{_NUM}|v\d[\w.]*|[A-Za-z][\w.-]*)"
    ),
)
_DATASET = bounded(
    r"\b(?:switch(?:ed)?|moved?|chang(?:ed?)|went)\b.{0,20}?\bto (?:the "
    r"|new )?(?:data(?:set)?|corpus|mix(?:ture)?|data mix)[ _-](?P<new>[\w.-]*\d[\w.-]*)"
    r"|(?:切换?|换)[到成为了]?(?:新)?(?:的)?(?:数据集?|语料)\s?(?P<zh>[\w.-]*\d[\w.-]*)",
    _I,
)
_SWITCH = bounded(
    rf"\b(?P<on>{words.ON.split('|启')[0]})\b|\b(?P<off>{words.OFF.split('|禁')[0]})\b"
    rf"|(?P<on_zh>启用|开启|打开)|(?P<off_zh>禁用|关闭|关掉|停用)",
    _I,
)
_TO_NEW = bounded(r"\bswitch(?:ed)?\b[^,;]{0,40}? to (?P<new>[\w.-]*\d[\w.-]*)$", _I)
_PAST = bounded(rf"\b(?:{words.PAST})\b", _I)
_NOW = bounded(
    rf"^(?:\W|\w+(?:\([^)]*\))?:\s|we |i |and ){{0,3}}(?:{words.NOW})\b|^Revert\b"
    rf"|\brestart(?:s|ing)?\b|\b(?:{words.NOW})\b(?=.{{0,40}}(?:→|\bto\b))",
    _I,
)
_DONE_ZH = bounded(words.DONE_ZH)
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple((kind, bounded(pattern, _I)) for kind, pattern in words.KINDS)
_PACKAGE = bounded(rf"(?<![\w-])(?:{words.PACKAGES})(?![\w-])", _I)
_ASIDE = bounded(
    r"\((?![^()]*(?:→|\d to v?\.?\d|instead of))(?!was|before|prev|old|from|instead|originally"
    r"|step|第|原|之前|此前)[^()]*\)"
)
_LEAD = bounded(
    r"^(?:and|then|also|we|i|the|a|an|our|my|just|now|finally|again|把|将|并|并且|又|再|同时|我|我们|已"
    r"|已经|后|了|其中|把\s)\s*|^(?:把|将|并|又|已)",
    _I,
)
_TAIL = bounded(
    r"\s*(?:\b(?:was|were|is|has been|been|went|got|now|from|by|at|of|to)\b|[:=]|从|由|比例|是|为|被|了)+\s*$", _I
)
_TRASH = bounded(
    r"^(?:update|fix|delete|add|create|edit|docs?:?)\s?(?:the )?(?:read ?me|docs?"
    r"|docstrings?|typos?|comments?|changelog|licen[cs]e|gitignore|badge)|^(?:docs?|style"
    r"|chore\(docs\)|ci)(?:\([^)]*\))?:|^Merge (?:branch|remote|pull)|^typos?\b|^(?:wip"
    r"|tmp|initial commit|first commit)\b|README",
    _I,
)
_STATE = bounded(
    r"\b(?:is|are|means?|lists?|shows?|contains?|describes?|holds?|does|supports?"
    r"|provides?|allows?|uses|requires?)\b(?! (?:now|back|up|again))",
    _I,
)
_HINT = bounded(rf"[\d→]|\b(?:{words.PAST}|{words.NOW}|restart\w*|resum\w*)\b|{words.DONE_ZH}", _I)
"""Without any of it a sentence tells no event."""
_DID = bounded(rf"^.{{0,80}}\b(?:{words.PAST})\s(?=\w)", _I)
_VERB = bounded(rf"^(?:{words.PAST}|{words.NOW}|{words.DONE_ZH})(?:\s|(?<=[\u4e00-\u9fff]))", _I)
_SERVICE = bounded(r"service|endpoint|server|服务|推送|pushed|shipped", _I)
_PARTS = bounded(r"[,;|]|: | and (?=\w+(?: \S+)?$)|并(?!行)")
_TO_VERSION = bounded(r"\bto v?(\d[\w.+-]*)")
_TO_SOMETHING = bounded(r"\bto (?:the )?((?=[a-zA-Z_.-]{0,30}\d)[\w.-]+)(?![/%])")
_REST = bounded(
    r"(?:其余|其他|其它|剩余|everything else|all else|the rest|others?(?: settings)?|same config)[^,;.]*", _I
)
_NOTHING = bounded(r"^(?:nothing|none\b|n/a|no (?:change|news)|无$|没有变化|一切(?:正常|顺利))", _I)
_NEW_ONE = bounded(r"^new\b|\b(?:a|the|with) new\b|^新|新版|新的", _I)
_DOING = bounded(rf"\b(?:{words.NOW}|(?:{words.DOING})ing|(?:restart|switch|replace|resume)s)\b", _I)
_AGENT = bounded(
    rf"^(?i:(?:[\w ]{{1,20}}:\s)?\W{{0,3}}(?:{words.PAST}))\b"
    rf"|\b(?:[Ww]e|I|he|she|[Tt]hey|team|and|then|just|[A-Z][a-z]+) (?:\w+ )?(?:{words.PAST})\b"
    rf"|\b(?:was|were|been|got|had|has|have) (?:\w+ )?(?:{words.PAST})\b"
    rf"|\b(?:{words.PAST}) (?:to|from|by|back|off|on|out)\b",
)
"""Somebody did it: a past form with its subject, not one that describes a thing (`a fixed number`)."""
_ASPECT = bounded(r"[了已把将刚]|昨|上周|完成")
_SINCE = bounded(r"\b(?:since|as of|starting|effective)\s(?:\w+ )?\d|自.{0,12}起", _I)
_WEIGHT = bounded(
    r"\b(?:weight|ratio|share|rate|size|coefficient|threshold|width|scale|probability"
    r"|interval|limit|factor|fraction)\b",
    _I,
)
_CLAUSES = re.compile(r"[,;](?!\d)")
_FIX = bounded(
    r"^(?:feat|perf|fix|refactor)(?:\([^)]*\))?!?:|^(?:\w+(?:\([^)]*\))?:\s)?(?:fix|bug"
    r"|refactor|revert|implement|修复|修正|重构|实现)",
    _I,
)
_VERSION = bounded(r"^v?\d+\.\d+(?:\.\d+)*[\w.+-]*$")
_DATA = bounded(
    r"\b(?:data|mix(?:ture)?|share|blend|corpus|tokens? ratio|sampling weight)\b|数据|语料|占比|配比|比例", _I
)


def events(said: Sentence, name: str) -> Iterator[Event]:
    """The events of a sentence, none where it only wishes, asks or denies."""
    text = _without_denials(said.text)
    stamped = said.stamp.dated or said.stamp.step is not None
    if (
        said.mode in ("plan", "wish")
        or not (stamped or said.mode == "commit" or _HINT.search(text))
        or _NOTHING.match(text)
        or not happened(text)
    ):
        return
    bare = _ASIDE.sub(" ", text)
    if said.mode in ("commit", "body") and _TRASH.search(bare.strip()):
        return
    found = list(_values(bare, said))
    for variable, old, new in found:
        kind = _kind_of_change(variable, old, new, said)
        yield _event(said, name, kind, (kind == "note" and _measure(variable)) or variable, old, new)
    if found or said.mode == "body":
        return
    kind = _kind(bare, said)
    if kind:
        yield _event(said, name, kind, *_unvalued(bare, kind))


def lost(said: Sentence, name: str) -> Iterator[Event]:
    """That what would have told was not kept, where the sentence is no wish or plan."""
    if said.mode not in ("plan", "wish") and words.LOST.search(said.text):
        yield _event(said, name, "lost", "", "", "")


def _without_denials(text: str) -> str:
    """A sentence without the clauses that say what was not done, where others are left: `merged x, lr untouched`."""
    clauses = [clause.strip() for clause in _CLAUSES.split(text)]
    told = [c for c in clauses if not (words.NOT.search(c) or words.NOT_ZH.search(c))]
    whole = any(p.search(text) for p in (words.WISH, words.WISH_ZH)) or not any(_HINT.search(c) for c in told)
    return text if whole or len(told) == len(clauses) else ", ".join(told)


def happened(text: str) -> bool:
    """Whether a sentence tells a fact and no wish, question, condition, plan or denial."""
    core = _REST.sub("", words.BECAUSE.sub("", _ASIDE.sub(" ", text)))
    denied = any(p.search(core) for p in (words.WISH, words.WISH_ZH, words.NOT, words.NOT_ZH))
    return not (denied or words.STEADY.search(text))


def _event(said: Sentence, name: str, what: Kind, variable: str, old: str, new: str) -> Event:
    s = said.stamp
    step = s.step if s.step is not None else s.resumed
    return Event(
        what, clean(said.raw), name, said.line, step, s.at, clean(variable, 80), clean(old, 80), clean(new, 80)
    )


def _values(text: str, said: Sentence) -> Iterator[tuple[str, str, str]]:
    """Variable, old and new value of every change that the sentence spells."""
    at, taken = 0, False
    spans = sorted((m.start(), -m.end(), i, m) for i, f in enumerate(_FORMS) for m in f.pattern.finditer(text))
    for start, _, i, match in spans:
        if start < at or not (
            _FORMS[i].told or _changed(text, said) or names.setting(text[max(at, start - 30) : start])
        ):
            continue
        old, new = _value(match["old"]), _value(match["new"])
        if not old or not new or not (_worth(old, new)):
            continue
        inside = match.groupdict().get("name")
        variable = _named(inside or text[at:start], text[match.end() :], text[:start])
        if _FORMS[i].known and not (names.setting(text[at:start]) or _WEIGHT.search(text[at:start])):
            continue
        digits = any(c.isdigit() for c in old + new)
        if not digits and not names.setting(variable) and said.stamp.step is None and not said.stamp.dated:
            continue  # a path through menus
        at, taken = match.end(), True
        yield variable, old, new
    if not taken:
        yield from _only_new(text, said)


def _only_new(text: str, said: Sentence) -> Iterator[tuple[str, str, str]]:
    if found := _DATASET.search(text):
        yield "dataset", "", _value(found["new"] or found["zh"])
        return
    if not _changed(text, said):
        return
    for pattern in _NEW:
        if (found := pattern.search(text)) and (new := _value(found["new"])):
            around = found.groupdict().get("name") or text[: found.start()]
            variable = names.setting(around) or names.setting(text[: found.start("new")])
            if variable or _PACKAGE.search(around):
                package = _PACKAGE.search(around)
                yield variable or (package[0].lower() if package else ""), "", new
                return
    if switch := _SWITCH.search(text):
        after = names.places(text[switch.end() :])
        variable = after[0][2] if after else names.setting(text)
        if not variable and (said.item or said.stamp.head) and (said.stamp.dated or said.stamp.step is not None):
            variable = _own(text.replace(switch[0], " "))
        if variable:
            yield variable, "", "true" if switch["on"] or switch["on_zh"] else "false"


def _worth(old: str, new: str) -> bool:
    """Two values, and not two places or two words of prose."""
    return (
        any(c.isdigit() for c in old + new)
        or bool(re.search(r"[_./-]", old + new))
        or (len(old) < 24 and len(new) < 24)
    )


def _value(text: str) -> str:
    return text.strip("\"'`*_:.,;") if text else ""


def _named(before: str, after: str, whole: str) -> str:
    """The variable of a change from the words before its old value."""
    left = before.rstrip(" :=")
    piece = _PARTS.split(_TAIL.sub("", left))[-1]
    if found := names.setting(piece):
        return found
    if package := _PACKAGE.findall(piece):
        return package[-1].lower()
    own = _own(piece)
    return own or names.setting(whole) or _own(re.split(r"[,;|]|: ", left)[-1]) or names.setting(after[:40])


def _own(piece: str) -> str:
    """The words of an unknown variable, without what leads to them."""
    piece = _TAIL.sub("", piece).strip(" :=|-(\"'")
    piece = _DID.sub("", piece, count=1)
    for _ in range(4):
        shorter = _LEAD.sub("", piece, count=1).strip()
        shorter = _VERB.sub("", shorter, count=1).strip()
        if shorter == piece:
            break
        piece = shorter
    return " ".join(piece.split()[-4:]).lower()[-60:]


def _changed(text: str, said: Sentence) -> bool:
    """Whether the sentence has a word for a change that was made."""
    if _PAST.search(text) or _DONE_ZH.search(text):
        return True
    if said.entry and _DOING.search(text):
        return True
    return (said.mode == "commit" or said.stamp.head or said.item) and bool(_NOW.search(text))


def _kind_of_change(variable: str, old: str, new: str, said: Sentence) -> Kind:
    known = variable in names.PHRASES or names.of_key(variable)
    versions = _VERSION.match(new) and (not old or _VERSION.match(old))
    if versions and (_PACKAGE.search(variable) or (not known and (_PACKAGE.search(said.text) or _upgraded(said.text)))):
        return "dependency"
    if variable == "dataset" or (not known and _DATA.search(f"{said.text} {said.heading}")):
        return "data"
    if not known and _measure(variable):
        return "note"
    if not known and (kind := _kind(said.text, said, True)) in ("node", "deployment", "data"):
        return kind
    if not known and versions and _SERVICE.search(said.text):
        return "deployment"
    return "config"


def _measure(variable: str) -> str:
    """The metric that the last words of a variable name, empty where they name none."""
    own = variable.split()
    return next((metric for n in (4, 3, 2, 1) if (metric := names.metric(" ".join(own[-n:])))), "")


def _upgraded(text: str) -> bool:
    return bool(re.search(r"upgrad|downgrad|bump|升级|降级", text, _I))


def _kind(text: str, said: Sentence, changed: bool = False) -> Kind | None:
    """What an event without values is about; a note only where the line is stamped and nobody chats."""
    changed = changed or _changed(text, said)
    stamped = said.stamp.step is not None or (said.stamp.dated and said.stamp.head)
    kind, start, end = _named_kind(text)
    if kind in (None, "code", "config") and changed and (named := names.places(text)):
        if stamped or said.entry or said.mode in ("chat", "commit") or _done(text, "config", *named[0][:2]):
            return "config"
        return "note" if said.stamp.dated else None
    if said.mode == "commit":
        if not (fixed := _FIX.search(said.text)) and not (changed or kind):
            return None
        return "code" if fixed or kind in (None, "restart", "node") else kind
    entry = stamped or said.entry
    if kind and (changed or (entry and (kind in ("restart", "node") or _NEW_ONE.search(text)))):
        stated = said.mode == "told" and not said.item and _STATE.search(text)
        if entry or said.mode == "chat" or (not stated and _done(text, kind, start, end)):
            return kind
    if said.mode == "chat":
        return "note" if said.stamp.step is not None else None
    told = stamped or (said.stamp.dated and (changed or _SINCE.search(text)))
    return "note" if told and len(text) > 3 else None


def _named_kind(text: str) -> tuple[Kind | None, int, int]:
    """The first kind whose words a sentence has, and where they stand."""
    for kind, pattern in _KINDS:
        if found := pattern.search(text):
            return kind, found.start(), found.end()
    return None, 0, 0


def _done(text: str, kind: Kind, start: int, end: int) -> bool:
    """Whether an undated sentence says near the words of its kind that somebody did it, or that it befell the run."""
    around = text[max(0, start - 40) : end + 40]
    if kind in ("restart", "node", "dependency"):
        return bool(_PAST.search(around) or _DONE_ZH.search(around))
    return bool(
        _AGENT.search(text[max(0, start - 60) : end + 40]) or (_DONE_ZH.search(around) and _ASPECT.search(text))
    )


def _unvalued(text: str, kind: Kind) -> tuple[str, str, str]:
    """Variable and new value of an event whose line has no pair of values."""
    if kind == "dependency" and (package := _PACKAGE.search(text)):
        version = _TO_VERSION.search(text)
        return package[0].lower(), "", version[1] if version else ""
    if kind in ("deployment", "code", "config") and (new := _TO_SOMETHING.search(text[:400])):
        return (names.setting(text[: new.start()]) if kind == "config" else ""), "", new[1].rstrip(".")
    return (names.setting(text) if kind == "config" else ""), "", ""
