"""Schema, encoding, length and mixture of training data: what a look at every record can say.

Findings are about the records as written; nothing is judged by a model. Records are counted once per defect and
the first few places are kept.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..findings import Check, Finding, Report, clean
from .defects import mixture, results
from .engine import Engine, Local
from .generations import loop_period
from .pii import mask
from .records.blocks import blocks, plan
from .records.record import Account, Broken, Lines, Part, Record
from .records.shapes import CHAT, ROLES, View, responses_of, view
from .records.text_stats import BLOB, CONTROL, DOUBLE_BOS, MOJIBAKE, SPECIAL, main_script, opening, token_estimate
from .tally import PLACES_KEPT, Tally, Wanted

OPENINGS_KEPT = 5000
"""Distinct openings held per part; rarer ones are dropped, so concentration is never overstated."""
FIELDS_MOST = 500
"""Field names of a part that are counted."""
DIGITS = re.compile(r"\d+")
LEAST_ORDERED = 500
"""Records of early and of late shards from which on their mixtures are compared: a shift of 10% is then three standard
errors."""
LENGTH_EDGES = tuple(2**i for i in range(3, 23))
"""Upper edges of the length histogram, in estimated tokens."""


def check_part(wanted: Wanted, part: Part) -> Tally:
    """Count everything about one part."""
    out = Tally(part.number)
    for block in blocks(part):
        for b in block.broken:
            out.broken_count += 1
            if len(out.broken) < 2 * PLACES_KEPT or b.ends_file:
                out.broken.append(b)
        for record in block.records[_heads(block.records) if out.lines == 0 and part.start == 0 else 0 :]:
            tally_record(out, part.name, record, wanted)
        out.lines += block.lines
        if len(out.openings) > OPENINGS_KEPT:
            out.openings = Counter(dict(out.openings.most_common(OPENINGS_KEPT // 2)))
    return out


def _heads(records: Sequence[Record]) -> int:
    """1 where the first record has no field of the next two, which have theirs in common: it tells about the file."""
    some = [r.value.keys() for r in records[:3] if isinstance(r.value, Mapping)]
    return int(len(some) == 3 and not some[0] & (some[1] | some[2]) and bool(some[1] & some[2]))


def tally_record(out: Tally, file: str, record: Record, wanted: Wanted) -> None:
    value = record.value
    seen = view(value, wanted.field)
    out.records += 1
    family = DIGITS.sub("#", file)
    out.shapes[family, seen.shape] += 1
    if isinstance(value, Mapping):
        for key, item in islice(value.items(), FIELDS_MOST):
            if len(out.keys) > FIELDS_MOST and str(key)[:80] not in out.keys:
                continue  # names made of data, one per record, would fill the memory
            out.keys[str(key)[:80]] += 1
            if item is not None:
                out.types[family, str(key)[:80], _type_name(item)] += 1
        _filter_reason(out, value)
    text = f"{seen.system}\n{seen.text}" if seen.system else seen.text
    _length(out, text, value, wanted)
    for name in text_defects(seen, text, record):
        out.defect(name, file, record, text)
    for name, why in schema_defects(value, seen):
        out.defect(name, file, record, why)
    for answer in responses_of(value) if seen.shape == "rollout" else [seen.response] * bool(seen.response):
        out.responses += 1
        if words := opening(answer):
            out.openings[words] += 1


def _length(out: Tally, text: str, value: Any, wanted: Wanted) -> None:
    ids = value.get("input_ids") if isinstance(value, Mapping) else None
    script = main_script(text)
    tokens = len(ids) if isinstance(ids, list) else token_estimate(text, script)
    out.tokens += tokens
    out.longest = max(out.longest, tokens)
    out.lengths[next((e for e in LENGTH_EDGES if tokens <= e), LENGTH_EDGES[-1])] += 1
    out.scripts[script] += 1
    if wanted.context_length:
        out.over_context += tokens > wanted.context_length
        out.filled += tokens >= wanted.context_length / 2


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
    return names.get(type(value), "object")


def text_defects(seen: View, text: str, record: Record) -> list[str]:
    """Names of what is wrong with the text of one record."""
    if not text.strip():
        return ["empty"] if seen.shape not in ("tokens", "codes") else []
    out = []
    if record.recoded or (not text.isascii() and MOJIBAKE.search(text)):
        out.append("encoding")
    if CONTROL.search(text):
        out.append("control")
    if BLOB.search(text):
        out.append("blob")
    if DOUBLE_BOS.search(text):
        out.append("double-bos")
    elif seen.shape != "pretrain" and SPECIAL.search(text):
        out.append("special-tokens")
    if loop_period(seen.response or text):
        out.append("looping")
    return out


REQUESTS = frozenset(("max_tokens", "max_new_tokens", "max_completion_tokens", "temperature", "top_p", "stream"))
"""Keys of what was asked of a server: the answer is not there yet."""


def schema_defects(value: Any, seen: View) -> list[tuple[str, str]]:
    """(name, what was found) of structural defects in one record."""
    if seen.shape == "chat":
        turns = value if isinstance(value, list) else value[next(k for k in CHAT if k in value)]
        found = _chat_defects(turns)
        asked = isinstance(value, Mapping) and bool(REQUESTS & value.keys())
        return [] if asked and found and found[0][0] == "chat-no-assistant" else found
    if seen.shape in ("instruction", "prompt-completion") and seen.prompt.strip() and not seen.response.strip():
        return [("empty-response", f"no response to: {seen.prompt[:100]}")] if _promises_response(value) else []
    if seen.shape == "preference" and not (seen.response.strip() and seen.rejected.strip()):
        return [("empty-response", "chosen or rejected is empty")]
    return (
        [("unknown-shape", "not text, chat, instruction, preference or rollout")]
        if (seen.shape == "other" and not isinstance(value, (Mapping, str)))
        else []
    )


def _promises_response(value: Mapping[str, Any]) -> bool:
    return bool({"response", "completion", "output", "answer", "solution"} & value.keys())


def _chat_defects(turns: Any) -> list[tuple[str, str]]:
    if not isinstance(turns, list):
        return [("chat-not-list", f"turns are a {_type_name(turns)}, not a list")]
    if not turns:
        return [("chat-empty", "no turns")]
    roles = []
    for turn in turns:
        role = turn.get("role", turn.get("from")) if isinstance(turn, Mapping) else None
        if not isinstance(role, str):
            return [("chat-no-role", "a turn has no role")]
        roles.append(ROLES.get(role.lower(), role))
    unknown = set(roles) - set(ROLES.values())
    if unknown:
        return [("chat-unknown-role", f"unknown role {clean(str(sorted(unknown)[0]), 40)!r}")]
    if "assistant" not in roles:
        return [("chat-no-assistant", f"roles {' '.join(roles[:8])}")]
    if roles[-1] == "assistant" and _says_nothing(turns[-1]):
        return [("empty-response", f"the last of {len(turns)} turns is empty")]
    twice = any(a == b == "user" for a, b in itertools.pairwise(roles))
    return [("chat-user-twice", f"roles {' '.join(roles[:8])}")] if twice else []


def _says_nothing(turn: Mapping[str, Any]) -> bool:
    """Whether a turn has a text, which is blank, and calls no tool."""
    said = turn.get("content", turn.get("value"))
    return isinstance(said, str) and not said.strip() and not (turn.get("tool_calls") or turn.get("function_call"))


FILTER_KEYS = ("filter_reason", "filtered_reason", "drop_reason", "removed_reason", "reject_reason", "filter_reasons")
KEEP_KEYS = ("keep", "kept", "is_filtered", "filtered", "dropped")


def _filter_reason(out: Tally, value: Mapping[str, Any]) -> None:
    for key in FILTER_KEYS:
        if key in value:
            reasons = value[key] if isinstance(value[key], list) else [value[key]]
            out.reasons.update(clean(str(r), 60) for r in reasons if r not in (None, ""))
    for key in KEEP_KEYS:
        if isinstance(value.get(key), bool):
            gone = value[key] if key in ("is_filtered", "filtered", "dropped") else not value[key]
            explained = any(value.get(k) for k in FILTER_KEYS)
            out.kept_flags["dropped" if gone else "kept"] += 1
            out.kept_flags["unexplained"] += gone and not explained


def check(
    paths: Sequence[Path | Part],
    *,
    context_length: int | None = None,
    recipe: Mapping[str, float] | None = None,
    reference: Sequence[Path | Part] = (),
    field: str | None = None,
    engine: Engine | None = None,
) -> Report:
    """Check every record under `paths`.

    Args:
        paths: files or folders.
        context_length: tokens of the training context.
        recipe: script -> share that the mixture should have (`{"han": 0.5, "latin": 0.5}`).
        reference: earlier shards whose mixture is the norm, instead of a recipe.
        field: judge this field only.
        engine: what runs the kernels.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    engine = engine or Local()
    wanted = Wanted(context_length, field)
    parts, total, broken, account = tally(paths, wanted, engine)
    norm, before = dict(recipe or {}), Account()
    if reference:
        _, earlier, _, before = tally(reference, wanted, engine)
        norm = {s: n / max(earlier.records, 1) for s, n in earlier.scripts.items()}
    findings, checks = results(total, broken, wanted, norm)
    report = account.on(Report("data check", findings, checks, summary(total, parts, norm)))
    return before.on(report, "reference")


def check_order(paths: Sequence[Part], engine: Engine | None = None) -> Report:
    """Whether later shards of one family of files have another mixture of scripts than the first of them.

    Shards are files whose names differ in their numbers only; the first half of a family is the norm for the second.
    """
    families: dict[str, list[Part]] = {}
    for part in sorted(paths, key=lambda p: [int(n) for n in DIGITS.findall(p.name)]):
        families.setdefault(DIGITS.sub("#", part.name), []).append(part)
    findings: list[Finding] = []
    for shards in (s for s in families.values() if len(s) > 1):
        half = (len(shards) + 1) // 2
        early, late = (tally(s, Wanted(), engine or Local())[1] for s in (shards[:half], shards[half:]))
        if min(early.records, late.records) >= LEAST_ORDERED:
            findings += mixture(late, {s: n / early.records for s, n in early.scripts.items()})
    result = "found" if findings else "clear"
    return Report("data check", tuple(findings), (Check("script mixture", result, "later shards against the first"),))


def tally(
    paths: Sequence[Path | Part], wanted: Wanted, engine: Engine
) -> tuple[Sequence[Part], Tally, list[tuple[str, int, Broken]], Account]:
    """(parts, counts, located broken records, what was read) of all data under `paths`."""
    parts = plan(paths)
    lines, total, account = Lines(), Tally(), Account()
    broken: list[tuple[str, int, Broken]] = []
    for part, one in zip(parts, engine.map(partial(check_part, wanted), parts), strict=True):
        lines.add(part, one.lines)
        total.add(one, part, lines)
        account.add(part.name, one.records, one.broken, one.broken_count)
        broken += [(part.name, lines.absolute(part, b.line), b) for b in one.broken]
    return parts, total, broken, account


def summary(total: Tally, parts: Sequence[Part], norm: Mapping[str, float]) -> dict[str, Any]:
    shares = {s: round(n / max(total.records, 1), 4) for s, n in total.scripts.most_common()}
    return {"files": len({p.path for p in parts}), "records": total.records, "broken": total.broken_count,
            "shapes": dict(sum((Counter({s: n}) for (_, s), n in total.shapes.items()), Counter())),
            "scripts": shares, "expected_scripts": dict(norm), "tokens_estimated": total.tokens,
            "longest_estimated": total.longest,
            "length_histogram": {str(e): total.lengths[e] for e in LENGTH_EDGES if total.lengths[e]},
            "over_context": total.over_context, "defects": dict(total.defects),
            "fields": dict(total.keys.most_common(40)), "filter_reasons": dict(total.reasons.most_common(40)),
            "filter_flags": dict(total.kept_flags),
            "top_openings": [{"opening": clean(mask(o), 80), "share": round(n / max(total.responses, 1), 4)}
                             for o, n in total.openings.most_common(5)]}  # fmt: skip
