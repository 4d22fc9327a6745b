"""What kind of training record a JSON value is, and the text inside it.

Chat, preference, rollout, instruction, prompt-completion, pre-training, tokenised and code-dump records are
recognised by their field names. A record is never altered; text is only gathered for comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Shape = Literal[
    "chat", "preference", "rollout", "instruction", "prompt-completion", "pretrain", "tokens", "codes", "other"
]

CHAT = ("messages", "conversations", "conversation", "dialog", "dialogue", "turns")
PROMPT = ("prompt", "question", "query", "problem", "instruction", "input", "source", "context", "task")
RESPONSE = ("response", "completion", "output", "answer", "solution", "target", "canonical_solution",
            "generated_text", "generation", "prediction", "predict", "assistant")  # fmt: skip
GENERATED = ("predict", "predicted", "prediction", "generated_text", "generated", "generation", "model_output",
             "model_answer", "model_response")  # fmt: skip
"""Names that only a model's own answer has; beside them `answer`, `output`, `label` are references."""
MANY = ("completions", "responses", "samples", "generations", "outputs", "candidates")
_ASKED = "user|human|prompt|question|query|utterance|instruction"
ASKS = re.compile(
    rf"^(?!.*_(?:id|ids|name|type|key|no|time|len|length|count|hash|tokens)$)(?:(?:{_ASKED})(?:_|$)|.*_(?:{_ASKED})$)",
    re.IGNORECASE,
)
"""Own names of a field with what was asked; it counts where a text stands beside it that is an answer by name."""
SAID = {
    **dict.fromkeys(("问题", "提问", "问", "题目", "用户", "用户问题", "用户输入", "输入", "查询", "q"), "question"),
    **dict.fromkeys(("指令",), "instruction"),
    **dict.fromkeys(
        ("回答", "答案", "答", "标准答案", "参考答案", "回复", "客服回复", "输出", "助手", "模型回答", "a"), "answer"
    ),
    **dict.fromkeys(("正文", "内容", "文本"), "text"),
}
"""What people write instead of a usual name; it counts where the usual one is not there, and a lone letter only where
its fellow is."""
TEXT = ("text", "content", "raw_content", "body", "code", "document", "caption", "abstract", "article")
REWARD = ("reward", "rewards", "score", "scores", "advantage", "advantages")
PAIR = (("chosen", "rejected"), ("preferred", "dispreferred"), ("response_chosen", "response_rejected"),
        ("answer_chosen", "answer_rejected"), ("positive", "negative"), ("win", "lose"))  # fmt: skip
STOP = ("finish_reason", "stop_reason", "finish_reasons")
ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user", "prompter": "user",
         "assistant": "assistant", "gpt": "assistant", "bot": "assistant", "chatbot": "assistant",
         "model": "assistant", "bing": "assistant", "chatgpt": "assistant", "tool": "tool", "function": "tool",
         "function_call": "tool", "function_response": "tool", "tool_call": "tool", "tool_response": "tool",
         "observation": "tool", "ipython": "tool"}  # fmt: skip
LABEL = re.compile(r"[\w.:/+\-]{1,48}", re.ASCII)
"""An id, a name, a digest: no text."""
OTHER_FIELDS_LIMIT = 64
"""Deepest nesting that is searched for text."""


@dataclass(frozen=True)
class View:
    """The texts of one record."""

    shape: Shape
    prompt: str = ""
    response: str = ""
    """The chosen answer of a preference, the only or first answer of a rollout."""
    system: str = ""
    rejected: str = ""

    @property
    def text(self) -> str:
        """Prompt and response, without the system prompt: that is the same text in every record."""
        return f"{self.prompt}\n{self.response}" if self.prompt and self.response else self.prompt or self.response


TOKENS = frozenset(("tokens", "token_ids", "ids", "pieces", "token_strings", "input_tokens"))
LABELLED = frozenset(("labels", "label_ids", "target_ids", "loss_mask", "label_mask", "train_mask", "assistant_masks",
                      "assistant_mask", "completion_mask"))  # fmt: skip
"""Lists with an item for each token: the tokens, and which of them are trained."""


def usual(value: Any) -> Any:
    """A record with the usual names for its texts, if it had others."""
    if not isinstance(value, Mapping):
        return value
    names = _usual(tuple(value))
    return {names.get(key, key): item for key, item in value.items()} if names else value


@lru_cache(1024)
def _usual(names: tuple[Any, ...]) -> dict[str, str]:
    own = {name: said for name in names if isinstance(name, str) and (said := SAID.get(name.strip().lower()))}
    letters = {name for name in own if len(name.strip()) == 1 and name.isascii()}
    if len(letters) == 1:
        own = {name: said for name, said in own.items() if name not in letters}
    taken = [said for said in own.values()]
    return {name: said for name, said in own.items() if said not in names and taken.count(said) == 1}


def shape_of(value: Any) -> Shape:
    """The shape of one record, by its field names."""
    value = usual(value)
    if isinstance(value, str):
        return "pretrain"
    if isinstance(value, list):
        return "chat" if _is_chat(value) else "other"
    if not isinstance(value, Mapping):
        return "other"
    return _shape(tuple((key, type(item)) for key, item in value.items() if item is not None))


@lru_cache(1024)
def _shape(fields: tuple[tuple[str, type], ...]) -> Shape:
    """The shape of a record with these (name, type) fields; records of one file share a few."""
    names = {name for name, _ in fields}
    lists = {name for name, kind in fields if kind is list}
    answers = not names.isdisjoint(RESPONSE)
    texts = {name for name, kind in fields if kind is str}
    asks = not names.isdisjoint(PROMPT) or (not texts.isdisjoint(RESPONSE) and any(map(ASKS.search, texts)))
    many = not lists.isdisjoint(MANY)
    scored = not names.isdisjoint((*REWARD, *STOP))
    tests: tuple[tuple[Shape, bool], ...] = (
        ("preference", any(a in names and b in names for a, b in PAIR)),
        ("tokens", "input_ids" in names or bool(lists & LABELLED and lists & TOKENS)),
        ("codes", not names.isdisjoint(("codes", "audio_codes", "codebook_ids"))),
        ("rollout", asks and (many or (answers and scored))),
        ("chat", not names.isdisjoint(CHAT)),
        ("instruction", "instruction" in names and answers),
        ("prompt-completion", asks and answers),
        ("pretrain", not names.isdisjoint(TEXT)),
        ("prompt-completion", asks),
    )
    for shape, fits in tests:
        if fits:
            return shape
    return "other"


def _is_chat(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], Mapping)
        and (("role" in value[0] and "content" in value[0]) or ("from" in value[0] and "value" in value[0]))
    )


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((n for n in names if n in value and value[n] is not None), None)


def _prompt(value: Mapping[str, Any]) -> str:
    """The field with what was asked, empty for none."""
    own = (n for n, v in value.items() if isinstance(v, str) and ASKS.search(n))
    return _first(value, PROMPT) or next(own, "")


def view(value: Any, field: str | None = None) -> View:
    """The texts of one record; `field` names the one field to use instead of recognising the shape."""
    if field is not None:
        return View("other", text_of(value.get(field)) if isinstance(value, Mapping) else text_of(value))
    value = usual(value)
    shape = shape_of(value)
    if shape == "preference":
        return _preference(value)
    if shape == "chat":
        turns = value if isinstance(value, list) else value[next(k for k in CHAT if k in value)]
        return _chat(turns)
    if shape in ("instruction", "prompt-completion", "rollout"):
        return _prompted(value, shape)
    if shape == "pretrain" and isinstance(value, Mapping):
        return View(shape, response=text_of(value[_first(value, TEXT) or "text"]))
    if isinstance(value, str):
        return View(shape, response=value)
    return View(shape, response="\n".join(_told(value)) if shape == "other" else "")


def _told(value: Any) -> list[str]:
    """The strings of a record of no known shape, without its ids and labels where it has texts."""
    every = list(strings(value))
    return [text for text in every if not LABEL.fullmatch(text)] or every


def _chat(turns: Any) -> View:
    """System text, everything up to the last assistant turn, and that turn."""
    said = list(turns_of(turns))
    system = "\n".join(t for role, t in said if role == "system")
    rest = [(role, t) for role, t in said if role != "system"]
    if rest and rest[-1][0] == "assistant":
        return View("chat", "\n".join(t for _, t in rest[:-1]), rest[-1][1], system)
    return View("chat", "\n".join(t for _, t in rest), "", system)


def turns_of(turns: Any) -> Iterator[tuple[str, str]]:
    """(canonical role or the role's own name, text) of each turn."""
    if isinstance(turns, str):
        yield "user", turns
        return
    for turn in turns if isinstance(turns, list) else []:
        if isinstance(turn, Mapping):
            role = str(turn.get("role", turn.get("from", "")))
            yield ROLES.get(role.lower(), role), text_of(turn.get("content", turn.get("value")))
        else:
            yield "", text_of(turn)


def _preference(value: Mapping[str, Any]) -> View:
    better, worse = next((a, b) for a, b in PAIR if a in value and b in value)
    name = _first(value, PROMPT)
    chosen, rejected = _answer(value[better]), _answer(value[worse])
    prompt = _chat_text(value[name]) if name else chosen[0]
    return View("preference", prompt, chosen[1], text_of(value.get("system")), rejected[1])


def _answer(value: Any) -> tuple[str, str]:
    """(prompt, answer) of one side of a preference: a string or the whole chat."""
    if not _is_chat(value):
        return "", text_of(value)
    seen = _chat(value)
    return seen.prompt, seen.response


def _prompted(value: Mapping[str, Any], shape: Shape) -> View:
    name = _prompt(value)
    prompt = _chat_text(value.get(name))
    if name == "instruction" and value.get("input"):
        prompt = f"{prompt}\n{text_of(value['input'])}"
    answers = responses_of(value)
    return View(shape, prompt, answers[0] if answers else "", text_of(value.get("system")))


def responses_of(value: Mapping[str, Any]) -> list[str]:
    """All answers of one prompted record."""
    value = usual(value)
    many = next((k for k in MANY if isinstance(value.get(k), list)), None)
    if many:
        return [_answer(v)[1] for v in value[many]]
    one = _first(value, RESPONSE)
    if one is None:
        return []
    if isinstance(value[one], list) and not _is_chat(value[one]):
        return [text_of(v) for v in value[one]]
    return [_answer(value[one])[1]]


def _chat_text(value: Any) -> str:
    return _chat(value).prompt or _chat(value).response if _is_chat(value) else text_of(value)


def text_of(value: Any) -> str:
    """The text in a field: a string, a list of multi-modal pieces, or a nested value's strings."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (int, float, bool)):
        return str(value)
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return value["text"]
    return "\n".join(strings(value))


def strings(value: Any) -> Iterator[str]:
    """Every string inside a value, at most `OTHER_FIELDS_LIMIT` levels deep."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            yield item
        elif depth < OTHER_FIELDS_LIMIT and isinstance(item, Mapping):
            stack += [(v, depth + 1) for v in reversed(list(item.values()))]
        elif depth < OTHER_FIELDS_LIMIT and isinstance(item, list):
            stack += [(v, depth + 1) for v in reversed(item)]
