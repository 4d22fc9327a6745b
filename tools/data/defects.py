"""From the counts of `check` to findings: thresholds, severities and words, one table row per defect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..findings import Check, Evidence, Finding, Severity, clean, declare
from .pii import mask
from .records.record import Broken
from .tally import Tally, Wanted

CODES = declare(
    "data check",
    ("data-parse-error", "parsing", "records that cannot be parsed"),
    ("data-schema-mismatch", ("text and roles", "field types"),
     "records whose fields, types or role tags differ from what training needs"),
    ("data-empty", ("records", "parsing"), "the data holds no record"),
    ("empty-records", "text and roles", "records without any text, or without a response"),
    ("encoding-broken", "text and roles", "text decoded with the wrong encoding, or with invisible control characters"),
    ("repeated-text", "text and roles", "records that end by repeating one piece again and again"),
    ("unspaced-records", "text and roles", "records with long runs without spaces (base64, hashes, minified data)"),
    ("double-bos", "text and roles", "the text begins with the begin-of-sequence token twice"),
    ("overlong-records", "lengths", "records longer than the context, which training cuts off"),
    ("short-data-for-context", "lengths", "almost no record is long enough to teach the context length"),
    ("language-mix-shift", "script mixture", "the mixture of scripts differs from the recipe or the earlier shards"),
    ("template-concentration", "openings", "many responses begin with the same words"),
    ("filter-unexplained", "filter reasons", "records were filtered out without a reason"),
)  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """A defect that counts records: from `share` on it is a finding of `severity`, below it an S3 note."""

    defects: tuple[str, ...]
    code: str
    share: float
    severity: Severity
    what: str
    zh: str
    noted: bool = True
    """Whether a share below the threshold is still noted."""
    least: int = 1
    """Records from which on it is more than a note: greedy decoding loops now and then."""


RULES = (
    Rule(("empty",), "empty-records", 0.01, Severity.S2, "hold no text", "没有任何文本"),
    Rule(("empty-response",), "empty-records", 0.01, Severity.S2, "have an empty response", "回复为空"),
    Rule(("encoding",), "encoding-broken", 0.01, Severity.S2,
         "hold text decoded with the wrong encoding", "含乱码（编码错误）"),
    Rule(("looping",), "repeated-text", 0.02, Severity.S2,
         "end by repeating one piece four times or more", "结尾把同一段重复四次以上", False, 3),
    Rule(("control",), "encoding-broken", 0.01, Severity.S2,
         "hold control or invisible characters", "含控制字符或不可见字符", False),
    Rule(("blob",), "unspaced-records", 0.01, Severity.S2,
         "hold a run of 400 or more characters without a space (base64, hashes)",
         "含有 400 个以上字符无空格的片段（base64、哈希）", False),
    Rule(("double-bos",), "double-bos", 0.0, Severity.S2,
         "begin with the begin-of-sequence token twice", "开头出现两次 BOS"),
    Rule(("special-tokens",), "data-schema-mismatch", 0.01, Severity.S2,
         "contain chat-template tokens as text; a template applied to them applies twice",
         "文本中含有对话模板的特殊标记，套用模板时会重复", False),
    Rule(("chat-not-list", "chat-empty", "chat-no-role", "chat-unknown-role"), "data-schema-mismatch", 0.01,
         Severity.S2, "are chats with missing or unknown role tags", "的对话缺少角色标签或角色未知"),
    Rule(("chat-no-assistant",), "data-schema-mismatch", 0.01, Severity.S2,
         "are chats without an assistant turn, so nothing in them is trained on",
         "的对话没有 assistant 轮次，不产生训练信号"),
    Rule(("unknown-shape",), "data-schema-mismatch", 0.01, Severity.S2, "have no known shape", "的结构无法识别"),
)  # fmt: skip
BROKEN_SERIOUS = 0.01
FEWEST = 5
"""Records from which on a share of them is more than a note. Own judgement."""
TYPE_CLASH = 0.001
"""A field's rarer types count from this share (and 1) on, when the main type has at least 90 percent."""
MIXED_SHAPES = 0.2
OPENING_NOTED, OPENING_SHARE = 0.3, 0.6
"""One opening in this share of at least 200 responses is noted, then suspicious: reasoning data often begins alike."""
SHIFT = 0.1
"""A script's share may differ from the norm by this much."""
LONG_SHARE = 0.05
FILLED_SHARE = 0.01


def results(
    total: Tally, broken: Sequence[tuple[str, int, Broken]], wanted: Wanted, norm: Mapping[str, float]
) -> tuple[tuple[Finding, ...], tuple[Check, ...]]:
    """(findings, checks) of the counts."""
    if not total.records:
        found = _nothing(total, broken)
        return found, (Check("records", "found", "no record could be read"),)
    groups = {
        "parsing": list(_parsing(total, broken)),
        "text and roles": list(_rules(total)),
        "field types": list(_types(total)),
        "lengths": list(_lengths(total, wanted)),
        "script mixture": list(mixture(total, norm)),
        "openings": list(_openings(total)),
        "filter reasons": list(_filters(total)),
    }
    why = {
        "lengths": f"tokens are estimated; context {wanted.context_length}"
        if wanted.context_length
        else "no --context-length given",
        "script mixture": "against the recipe or reference" if norm else "no recipe or reference given",
        "openings": f"{total.responses} responses",
        "filter reasons": _reasons(total),
    }
    skipped = {
        "lengths": not wanted.context_length,
        "script mixture": not norm,
        "openings": total.responses < 200,
        "filter reasons": not (total.reasons or total.kept_flags),
    }
    checks = tuple(
        Check(
            name,
            "found" if found else "not-applicable" if skipped.get(name) else "clear",
            why.get(name, f"{total.records} records"),
        )
        for name, found in groups.items()
    )
    return tuple(f for found in groups.values() for f in found), checks


def _nothing(total: Tally, broken: Sequence[tuple[str, int, Broken]]) -> tuple[Finding, ...]:
    if broken:
        return tuple(_parsing(total, broken))
    return (Finding("data-empty", Severity.S1, "The data holds no record.", "数据中没有任何记录。"),)


def _parsing(total: Tally, broken: Sequence[tuple[str, int, Broken]]) -> Iterator[Finding]:
    count = total.broken_count
    if not count:
        return
    share = count / (count + total.records)
    yield Finding(
        "data-parse-error",
        Severity.S1 if share >= BROKEN_SERIOUS else Severity.S2,
        f"{count} of {count + total.records} records ({share:.2%}) cannot be parsed.",
        f"{count + total.records} 条记录中有 {count} 条（{share:.2%}）无法解析。",
        tuple(
            Evidence(file, line, value=None if b.byte is None else f"byte {b.byte}", text=clean(mask(b.why), 160))
            for file, line, b in broken[:5]
        ),
        {"count": count, "share": share},
    )


def _places(total: Tally, names: Sequence[str]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(file, line, value=None if byte is None else f"byte {byte}", text=text)
        for name in names
        for file, line, byte, text in total.places.get(name, ())
    )[:5]


def _rules(total: Tally) -> Iterator[Finding]:
    for rule in RULES:
        count = sum(total.defects[name] for name in rule.defects)
        share = count / total.records
        if count and (share >= rule.share or rule.noted):
            enough = total.records >= FEWEST and count >= rule.least
            severity = rule.severity if share >= rule.share and enough else Severity.S3
            yield Finding(
                rule.code,
                severity,
                f"{count} of {total.records} records ({share:.2%}) {rule.what}.",
                f"{total.records} 条记录中有 {count} 条（{share:.2%}）{rule.zh}。",
                _places(total, rule.defects),
                {"count": count, "share": share},
            )


def _types(total: Tally) -> Iterator[Finding]:
    """Fields with two types, and records of another shape than the rest of their files."""
    for key, types in _by_family({(f"{family}\0{key}", kind): n for (family, key, kind), n in total.types.items()}):
        name = clean(key.partition("\0")[2], 40)
        main, most = max(types.items(), key=lambda item: item[1])
        rest = sum(types.values()) - most
        if most >= 0.9 * (most + rest) and rest >= max(1, TYPE_CLASH * total.records):
            others = ", ".join(f"{t} {n}" for t, n in types.items() if t != main)
            yield Finding(
                "data-schema-mismatch",
                Severity.S2,
                f"Field `{name}` is a {main} in {most} records and something else in {rest} ({others}).",
                f"字段 `{name}` 在 {most} 条记录中是 {main}，在 {rest} 条中是其他类型（{others}）。",
                data={"field": name, "types": types},
            )
    for family, shapes in _by_family(total.shapes):
        main, most = max(shapes.items(), key=lambda item: item[1])
        rest = sum(shapes.values()) - most
        if main != "other" and rest < MIXED_SHAPES * (most + rest):
            others = ", ".join(f"{s} {n}" for s, n in shapes.items() if s != main)
            yield Finding(
                "data-schema-mismatch",
                Severity.S2 if rest >= TYPE_CLASH * (most + rest) else Severity.S3,
                f"Most records of {clean(family, 60)} are {main} ({most}), but some are not ({others}): a loader that "
                "expects one shape drops or breaks on them.",
                f"{clean(family, 60)} 的多数记录为 {main}（{most}），但有其他结构（{others}）。",
                data={"shapes": shapes},
            )


def _by_family(counts: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Families in which there is more than one kind, with the counts of each."""
    out: dict[str, dict[str, int]] = {}
    for (family, kind), n in counts.items():
        out.setdefault(family, {})[kind] = n
    return ((family, kinds) for family, kinds in out.items() if len(kinds) > 1)


def _lengths(total: Tally, wanted: Wanted) -> Iterator[Finding]:
    if not wanted.context_length:
        return
    share, filled = total.over_context / total.records, total.filled / total.records
    if total.over_context:
        yield Finding(
            "overlong-records",
            Severity.S2 if share >= LONG_SHARE else Severity.S3,
            f"{total.over_context} of {total.records} records ({share:.2%}) are longer than the context of "
            f"{wanted.context_length} tokens (estimated; the longest about {total.longest}): training cuts them off.",
            f"{total.records} 条记录中有 {total.over_context} 条（{share:.2%}）"
            f"超过上下文长度 {wanted.context_length}（估算）。",
            data={"count": total.over_context, "share": share, "longest": total.longest},
        )
    if wanted.context_length >= 16384 and filled < FILLED_SHARE and total.records >= 100:
        yield Finding(
            "short-data-for-context",
            Severity.S2,
            f"Only {filled:.2%} of {total.records} records reach half the context of {wanted.context_length} tokens "
            "(estimated): unless they are packed by document, the long context is not trained.",
            f"只有 {filled:.2%} 的记录达到上下文长度 {wanted.context_length} 的一半（估算），长上下文得不到训练。",
            data={"share": filled},
        )


def mixture(total: Tally, norm: Mapping[str, float]) -> Iterator[Finding]:
    """Scripts whose share moved by `SHIFT` or more against the norm (script -> share)."""
    if not norm:
        return
    now = {s: n / total.records for s, n in total.scripts.items()}
    shifts = {s: (norm.get(s, 0.0), now.get(s, 0.0)) for s in {*now, *norm}}
    moved = {s: (a, b) for s, (a, b) in shifts.items() if abs(a - b) >= SHIFT}
    if moved:
        words = ", ".join(f"{s} {a:.0%} -> {b:.0%}" for s, (a, b) in sorted(moved.items()))
        yield Finding(
            "language-mix-shift",
            Severity.S2,
            f"The mixture of scripts moved by {SHIFT:.0%} or more against the norm: {words}.",
            f"语种（文字）配比与基准相差 {SHIFT:.0%} 以上：{words}。",
            data={s: {"expected": a, "found": b} for s, (a, b) in moved.items()},
        )


def _openings(total: Tally) -> Iterator[Finding]:
    if total.responses < 200 or not total.openings:
        return
    words, count = total.openings.most_common(1)[0]
    share = count / total.responses
    if share >= OPENING_NOTED:
        shown = clean(mask(words), 60)
        yield Finding(
            "template-concentration",
            Severity.S2 if share >= OPENING_SHARE else Severity.S3,
            f"{share:.0%} of {total.responses} responses begin with {shown!r}: one template dominates.",
            f"{total.responses} 条回复中有 {share:.0%} 以 {shown!r} 开头：模板过于集中。",
            data={"opening": shown, "share": share},
        )


def _reasons(total: Tally) -> str:
    if not (total.reasons or total.kept_flags):
        return "no filter fields"
    counts = ", ".join(f"{reason} {n}" for reason, n in total.reasons.most_common(8))
    flags = total.kept_flags
    told = (
        f"{flags['dropped']} records dropped, {flags['dropped'] - flags['unexplained']} with a reason; "
        if flags
        else ""
    )
    return f"{told}{counts or 'no reasons'}"


def _filters(total: Tally) -> Iterator[Finding]:
    if count := total.kept_flags["unexplained"]:
        gone = total.kept_flags["dropped"]
        yield Finding(
            "filter-unexplained",
            Severity.S2,
            f"{count} of {gone} filtered records carry no filter reason: the reasons do not add up.",
            f"{gone} 条被过滤的记录中有 {count} 条没有过滤原因。",
            data={"unexplained": count, "dropped": gone},
        )
