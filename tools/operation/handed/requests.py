"""An adapter that an engine loads again and again, and requests that none of them goes to.

An engine applies an adapter only to what asks for it by name. Where single requests name it, whatever else is asked
for is a comparison.
"""

# ruff: noqa: E501  one sentence, pattern or case on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import Text, rows

LOADS, ASKED = 2, 3
"""Times that adapters are loaded, and requests, from which on it is no trial."""
_QUOTED = r"[\"'`]?([\w.][\w./@:+-]{0,80})[\"'`]?"
HOLDS = bounded(r"(?i)lora|adapter|适配器|delta")
LOADED = bounded(
    r"(?i)(?:load(?:ed|ing)?|updat(?:ed?|ing)|refresh(?:ed|ing)?|push(?:ed|ing)?|swap(?:ped)?|regist(?:er|ered)|add(?:ed)?"
    r"|attach(?:ed)?|sync(?:ed)?|install(?:ed)?|加载|更新|推送|注册|挂载)[^\n]{0,24}?(?:lora|adapter|适配器)s?(?:[ _-]adapter)?"
    rf"(?:\s?[:=：(]\s?|\s)(?:(?:named?|id|名|名称|名为)\s?[:=：]?\s?)?{_QUOTED}"
)
LOADED_AS = bounded(
    r"(?i)(?:lora|adapter|适配器)[ _-]?(?:name|id|int_id)?\s?[:=：]?\s?"
    rf"{_QUOTED}\s(?:\S{{1,40}}\s){{0,3}}?"
    r"(?:was |is |已)?(?:load(?:ed)|updated|refreshed|registered|pushed|swapped|加载|更新)"
)
LOADED_IN = bounded(
    r"(?i)(?:(?:load|add|update|register)_lora(?:_adapter)?|(?:lora|adapter)[ _](?:loaded|updated|pushed|registered|synced|added))"
    rf"[^\n]{{0,40}}?[\"']?(?:lora_|adapter_)?name[\"']?\s?[:=]\s?{_QUOTED}"
)
FAILED = bounded(r"(?i)fail|error|refus|not found|unload|remov|evict|失败|卸载|移除|错误")
SERVED = bounded(r"(?i)served[ _-]?(?:model[ _-]?)?(?:name|id)s?[\"']?[\s:=]{1,3}\[?\s?[\"']?([\w./@:-]+)")
MODEL = bounded(r"(?i)[\"']?\bmodel(?:_path|_name)?[\"']?\s?[:=]\s?[\"']([\w./@:-]+)[\"']")
ASKS = bounded(
    r"(?i)request|\breq\b|[\"']prompt|[\"']messages|\bprompt=|max_tokens|sampling|generate|completions|rollout|请求|采样"
)
NO_ADAPTER = bounded(
    r"(?i)[\"']?(?:lora_request|lora_path|lora_name|lora_id|lora_int_id|lora|adapter(?:_name|_id|_path)?|适配器)[\"']?"
    r"\s?[:=：]\s?[\"']?(?:none|null|-|base|无|空|0(?=[\s,;}])|\[\]|\[none\]|\"\")(?=$|[\s,;.}\]\"')])"
)
WITH_ADAPTER = bounded(
    r"(?i)[\"']?(?:lora_request|lora_path|lora_name|lora_id|lora_int_id|lora|adapter(?:_name|_id|_path)?|适配器)[\"']?"
    r"\s?[:=：]\s?\[?[\"']?(?!none|null|base\b|true|false|无|空|\[|\"\")([A-Za-z/0-9][\w./(=-]*)"
)
TO_MODEL = bounded(r"(?i)(?<![\w.])[\"']?(?:model|model_name|target)[\"']?\s?[:=]\s?[\"']?([\w./@:+-]{1,80})")
NOT_NAME = bounded(r"(?i)^(?:in|on|from|to|for|with|at|is|name|path|weights?|loaded|config|module\w*|tensors?|r|rank|alpha|and|the|\d{1,2}"
                   r"|HTTP/[\d.]+|enabled?|support\w*|takes?|took|done|ok|version|file|s)$")  # fmt: skip


@dataclass
class Seen:
    """What the texts of a run say of adapters and of requests."""

    loads: list[tuple[str, Evidence]] = field(default_factory=list)
    served: dict[str, Evidence] = field(default_factory=dict)
    none: list[Evidence] = field(default_factory=list)
    some: list[Evidence] = field(default_factory=list)
    models: list[tuple[str, Evidence]] = field(default_factory=list)


def unnamed(texts: Sequence[Text]) -> Iterator[Finding]:
    """Adapters are loaded, and every request that is written down goes to the base."""
    seen = Seen()
    if not any(HOLDS.search(line) for t in texts for line in t.lines[:400]):
        return
    for text in texts:
        _look(text, seen)
    names = {n for n, _ in seen.loads}
    if len(seen.loads) < LOADS or seen.some:
        return
    if any(_is(m, names) for m, _ in seen.models):
        return
    base = [(m, e) for m, e in seen.models if _is(m, set(seen.served))]
    if len(seen.none) >= ASKED:
        yield _told(
            seen,
            seen.none,
            "ask for no adapter (" + _short(seen.none[0]) + ")",
            f"都不带适配器（{_short(seen.none[0])}）",
        )
    elif len(base) >= ASKED and len(base) == len(seen.models):
        name = base[0][0]
        where = seen.served.get(name)
        held = f", the base's name ({where.file}:{where.line})" if where else ""
        held_zh = f"（底座的名字，{where.file}:{where.line}）" if where else "（底座的名字）"
        yield _told(
            seen, [e for _, e in base], f"ask for the model {name!r}{held}", f"请求的模型都是 {name!r}{held_zh}"
        )


def _short(where: Evidence) -> str:
    found = NO_ADAPTER.search(where.text or "")
    return found[0] if found else (where.text or "")[:60]


def _look(text: Text, seen: Seen) -> None:
    document = text.name.endswith((".md", ".txt", ".py"))
    for number, line in rows(text):
        low = line.lower()
        if (
            "lora" not in low
            and "adapter" not in low
            and "适配器" not in line
            and "model" not in low
            and "serve" not in low
        ):
            continue
        served = SERVED.search(line)
        if served is not None and not document:
            seen.served.setdefault(served[1], text.at(number))
        if HOLDS.search(line) and not document and not FAILED.search(line):
            found = LOADED_IN.search(line) or LOADED.search(line) or LOADED_AS.search(line)
            if found is not None and not NOT_NAME.match(found[1]):
                seen.loads.append((found[1], text.at(number)))
                continue
        if document or not ASKS.search(line):
            continue
        if (none := NO_ADAPTER.search(line)) is not None and served is None:
            seen.none.append(
                Evidence(text.name, number, text=line[max(0, none.start() - 60) : none.end() + 60].strip())
            )
        elif (
            served is None
            and WITH_ADAPTER.search(line)
            and text.role != "train"
            and not text.name.endswith((".yaml", ".toml", ".yml"))
        ):
            seen.some.append(text.at(number))
        if (to := TO_MODEL.search(line)) is not None and served is None and _sent(text, line):
            seen.models.append((to[1], text.at(number)))


def _sent(text: Text, line: str) -> bool:
    """Whether a line is one request, not a setting."""
    settings = text.name.endswith((".yaml", ".yml", ".toml", ".ini", ".sh"))
    return not settings and (
        line.lstrip()[:1] == "{"
        or text.name.endswith((".csv", ".tsv"))
        or bool(re.search(r"(?i)request|\breq\b|post|请求|generate", line))
    )


def _is(model: str, names: set[str]) -> bool:
    last = model.rstrip("/").rpartition("/")[2]
    return any(n in (model, last) or n.rstrip("/").rpartition("/")[2] == last for n in names)


def _told(seen: Seen, asked: Sequence[Evidence], en: str, zh: str) -> Finding:
    names = list(dict.fromkeys(n for n, _ in seen.loads))
    shown = ", ".join(map(repr, names[:2])) + (f", ... ({len(names)} names)" if len(names) > 2 else "")
    first, last = seen.loads[0][1], asked[-1]
    return Finding(
        "adapter-never-asked-for", Severity.S1,
        f"An adapter is loaded {len(seen.loads)} times ({shown}, first {first.file}:{first.line}), and all {len(asked)} "
        f"requests that are written down {en}, the last at {last.file}:{last.line}: what generates is the base.",
        f"适配器加载了 {len(seen.loads)} 次（{shown}，首次见 {first.file}:{first.line}），而记录到的 {len(asked)} 个请求"
        f"{zh}，最后一个在 {last.file}:{last.line}：实际生成用的是底座。",
        (asked[0], first, last), {"loads": len(seen.loads), "requests": len(asked), "adapters": names[:10]},
    )  # fmt: skip
