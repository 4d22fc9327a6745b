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

LOADS, ASKED, MANY = 2, 3, 20
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
SERVING = bounded(
    r"(?i)vllm|sglang|lmdeploy|swift deploy|text-generation-launcher|api_server|lorax|tgi|serv(?:e|er|ing)\b|部署"
)
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
    r"(?i)(?<!max_)(?<!num_)[\"']?(?:lora_request|lora_path|lora_name|lora_id|lora_int_id|lora|adapter(?:_name|_id|_path)?|适配器)[\"']?"
    r"\s?[:=：]\s?\[?[\"']?(?!none|null|base\b|true|false|无|空|\[|\"\")([A-Za-z/0-9][\w./(=-]*)"
)
TO_MODEL = bounded(r"(?i)(?<![\w.])[\"']?(?:model|model_name|target)[\"']?\s?[:=]\s?[\"']?([\w./@:+-]{1,80})")
GIVEN = bounded(
    r"(?i)(?:--?|\b)(?:lora[-_]modules?|lora[-_]paths?|lora[-_]adapters?|adapters?|adapter[-_](?:name[-_]or[-_])?paths?)[\"']?[\s=:,]{1,3}"
    r"(?:[\"'\[{\s]{0,6})(?:name[\"']?\s?:\s?[\"'])?([\w.@:-]{1,80})[\"']?\s?[=:,]\s?[\"']?(?:[\w./-]*/|path)"
)
"""An adapter that a server is started with, by its name and its path."""
BASE = bounded(
    r"(?i)(?:vllm serve|lmdeploy serve api_server|swift deploy)\s([\w./@-]{2,160})|--model(?:[-_]path|[-_]name[-_]or[-_]path|-id)?[\s=]{1,3}([\w./@-]{2,160})"
)
CLIENT = bounded(
    r"(?i)(?<![\w.-])[\"']?(?:model|model_?name|model_?id|(?!base|ref|teacher|judge|draft|reward|embed|grader)[a-z]\w{0,16}_model(?:_name)?)[\"']?\s?[:=]\s?[\"']?([\w./@:+-]{1,120})"
)
URL = bounded(r"(?i)://|upstream|base_?url|api_?base|endpoint")
JUDGES = bounded(r"(?i)judge|grader|compar|baseline|ablation|bench|eval|对比|评测|裁判")
DIRECT = bounded(
    r"(?i)upstream|https?://|base_url|api_base|endpoint|route|completions|max_tokens|temperature|openai|gateway|timeout|网关"
)
NOT_NAME = bounded(r"(?i)^(?:in|on|from|to|for|with|at|is|name|path|weights?|loaded|config|module\w*|tensors?|r|rank|alpha|and|the|\d{1,2}"
                   r"|HTTP/[\d.]+|enabled?|support\w*|takes?|took|done|ok|version|file|s)$")  # fmt: skip


@dataclass
class Seen:
    """What the texts of a run say of adapters and of requests."""

    loads: list[tuple[str, Evidence]] = field(default_factory=list)
    served: dict[str, Evidence] = field(default_factory=dict)
    none: list[Evidence] = field(default_factory=list)
    some: list[Evidence] = field(default_factory=list)
    given: list[tuple[str, Evidence]] = field(default_factory=list)
    bases: dict[str, Evidence] = field(default_factory=dict)
    clients: list[tuple[str, Evidence]] = field(default_factory=list)
    models: list[tuple[str, Evidence]] = field(default_factory=list)


def unnamed(texts: Sequence[Text]) -> Iterator[Finding]:
    """Adapters are loaded, and every request that is written down goes to the base."""
    seen = Seen()
    if not any(HOLDS.search(line) for t in texts for line in t.lines[:400]):
        return
    for text in texts:
        _look(text, seen)
    names = {n for n, _ in seen.loads}
    if (told := _served(texts, seen)) is not None:
        yield told
        return
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


def _served(texts: Sequence[Text], seen: Seen) -> Finding | None:
    """A server is started with an adapter, and what asks it names the base: in its settings and in every request."""
    for text in texts:
        if text.name.endswith((".md", ".txt")) or not any(HOLDS.search(x) or "adapter" in x for x in text.lines[:400]):
            continue
        if not text.has(SERVING):
            continue
        for number, line in enumerate(text.lines[:400], 1):
            if line.lstrip().startswith(("#", "//")):
                continue
            seen.given += [(m[1], text.at(number)) for m in GIVEN.finditer(line)]
            seen.bases |= {m[1] or m[2]: text.at(number) for m in BASE.finditer(line)}
            seen.served |= {m[1]: text.at(number) for m in SERVED.finditer(line)}
    names = {n for n, _ in seen.given}
    if not names or len(seen.loads) > 1 or seen.some or any(_is(m, names) for m, _ in seen.models):
        return None
    base = set(seen.served or seen.bases) - names
    files = {e.file for _, e in seen.given}
    for text in texts:
        if text.name in files or text.role == "train" or text.name.endswith((".md", ".csv", ".log", ".txt", ".jsonl")):
            continue
        if not any(DIRECT.search(x) for x in text.lines[:400]) or (
            JUDGES.search(text.name) and not _labelled(text, names)
        ):
            continue
        url = any(URL.search(x) for x in text.lines[:400])
        for number, line in enumerate(text.lines[:400], 1):
            said = CLIENT.search(line) if url or seen.none or seen.models else None
            if said is not None and not line.lstrip().startswith(("#", "//")):
                seen.clients.append((said[1].rstrip(","), text.at(number)))
    if any(_is(m, names) for m, _ in seen.clients):
        return None
    asks = [(m, e) for m, e in seen.clients if m in base]
    sent = [(m, e) for m, e in seen.models if m in base]
    if len(seen.none) < ASKED and (len(sent) < ASKED or len(sent) < len(seen.models)):
        sent = []
    if not asks and not (sent or (len(seen.none) >= MANY and base)):
        return None
    model, where = (*asks, *sent, ("", seen.none[0] if seen.none else seen.given[0][1]))[0]
    return _by_base((sorted(names)[0], seen.given[0][1]), (model, where), seen, len(sent))


LABEL = bounded(
    r"(?i)(?<![\w.-])[\"']?(?:tag|label|run(?:_?(?:name|id))?|exp(?:eriment)?(?:_?name)?|variant|adapter_?(?:tag|label)|out(?:put)?"
    r"(?:_?\w{1,8})?|results?(?:_?\w{1,8})?|save_?(?:to|as|dir)|标签|实验名?|输出)[\"']?\s?[:=：]\s?[\"']?([^\s\"'#,}]{1,120})"
)
"""What an evaluation calls its results."""


def _labelled(text: Text, names: set[str]) -> bool:
    """Whether an evaluation calls its results after an adapter: then it means that, and no comparison."""
    said = [
        m[1] for line in text.lines[:400] for m in LABEL.finditer(line) if not line.lstrip().startswith(("#", "//"))
    ]
    return any(n in re.split(r"[/\\]", s) or n in re.split(r"[/\\.]", s) for n in names for s in said)


def _by_base(given: tuple[str, Evidence], asked: tuple[str, Evidence], seen: Seen, sent: int) -> Finding:
    (name, here), (model, there) = given, asked
    held = seen.served.get(model) or seen.bases.get(model)
    base = f", the name of the base ({held.file}:{held.line})" if held else ""
    base_zh = f"（即底座的名字，{held.file}:{held.line}）" if held else ""
    en = f"what asks ({there.file}:{there.line}) names {model!r}{base}" if model else "no request names it"
    zh = f"请求方（{there.file}:{there.line}）写的模型是 {model!r}{base_zh}" if model else "没有请求指名它"
    none = seen.none
    more = f"; all {len(none)} requests in {none[0].file} go without an adapter ({_short(none[0])})" if none else ""
    more_zh = f"；{none[0].file} 中的 {len(none)} 个请求都不带适配器（{_short(none[0])}）" if none else ""
    return Finding(
        "adapter-served-base-asked", Severity.S1,
        f"The server holds the adapter {name!r} ({here.file}:{here.line}), and {en}{more}: what answers is the base.",
        f"服务挂载了适配器 {name!r}（{here.file}:{here.line}），而{zh}{more_zh}：实际回答的是底座。",
        (there, here, *((held,) if held else ()), *none[:1]),
        {"adapter": name, "asked": model, "requests": max(len(none), sent)},
    )  # fmt: skip


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
