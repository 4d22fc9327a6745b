"""Token labels against the tokens they label: what a dump of tokens and labels (`.dumps`) shows.

Without the ids of special tokens, the end token is the one that most sequences end with. Tokenizer folders are read for
their chat template. Labels are taken as Hugging Face gives them: not shifted, the model shifts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, declare, looked_for
from ..reading import parse_json
from .dumps import ANSWERS, IGNORED, Dump, Sequence_

END, TEMPLATE = "end token is trained", "chat template"
CODES = declare(
    "data labels",
    ("label-mask-misaligned", "labels line up with tokens",
     "labels do not line up with their tokens or with the assistant's turns"),
    ("answer-cut-off", "labels line up with tokens",
     "truncation removed the answers of sequences, so that no label is left in them"),
    ("eos-not-trained", END, "the end token is never a label, so the model does not learn to stop"),
    ("pad-equals-eos", "padding and end", "padding and end share one token, and masking the padding masks the end too"),
    ("double-bos", "begin token once", "sequences begin with the begin-of-sequence token twice"),
    ("chat-template-missing", TEMPLATE, "chat data, and a tokenizer without a chat template"),
)  # fmt: skip

ENOUGH = 3
"""Sequences below which an end token is not guessed."""
BAD_SHARE = 0.01


def check_labels(dump: Dump) -> Report:
    """What is wrong with the labels of a dump."""
    if not dump.sequences and not dump.odd:
        none = Check("labels", "not-applicable", "no record with input_ids and labels")
        return dump.account.on(Report("data labels", checks=(none,)))
    eos = dump.special.get("eos", _usual_end(dump.sequences))
    findings = tuple(f for fault in (_shape, _alignment, _masking, _end, _padding, _double) for f in fault(dump, eos))
    codes = {f.code for f in findings}
    checks = tuple(
        Check(
            name,
            "found" if codes & own else "not-applicable" if name == END and eos is None else "clear",
            f"{len(dump.sequences)} sequences, end token {'unknown' if eos is None else eos}",
        )
        for name, own in looked_for(CODES).items()
        if name != TEMPLATE
    )
    trained = sum(int((s.labels != IGNORED).sum()) for s in dump.sequences)
    total = sum(len(s.ids) for s in dump.sequences)
    summary = {"sequences": len(dump.sequences), "tokens": total, "trained_share": trained / max(total, 1), "eos": eos}
    return dump.account.on(Report("data labels", findings, checks, summary))


def _usual_end(sequences: Sequence[Sequence_]) -> int | None:
    """The last token of nearly all sequences, when it is not also common inside them."""
    last = Counter(int(s.ids[-1]) for s in sequences if len(s.ids))
    if len(sequences) < ENOUGH or not last:
        return None
    token, count = last.most_common(1)[0]
    return token if count >= 0.8 * len(sequences) else None


def _where(sequences: Sequence[Sequence_], text: str) -> tuple[Evidence, ...]:
    return tuple(Evidence(s.file, s.line, text=text) for s in sequences[:5])


def _shape(dump: Dump, eos: int | None) -> Iterator[Finding]:
    if dump.odd:
        yield Finding(
            "label-mask-misaligned",
            Severity.S1,
            f"{len(dump.odd)} records have labels of another length than input_ids.",
            f"{len(dump.odd)} 条记录的 labels 与 input_ids 长度不一致。",
            tuple(dump.odd[:5]),
            {"count": len(dump.odd)},
        )


def _alignment(dump: Dump, eos: int | None) -> Iterator[Finding]:
    """A label that is on equals its token; labels already shifted by one train the token after next."""
    wrong, shifted = [], 0
    for s in dump.sequences:
        on = s.labels != IGNORED
        if not on.any() or (s.labels[on] == s.ids[on]).mean() > 0.9:
            continue
        wrong.append(s)
        ahead = on[:-1]
        shifted += bool(ahead.any()) and bool((s.labels[:-1][ahead] == s.ids[1:][ahead]).mean() > 0.9)
    if wrong and len(wrong) >= BAD_SHARE * len(dump.sequences):
        how = f"; {shifted} of them are already shifted by one, and the model shifts again" if shifted else ""
        zh = f"；其中 {shifted} 条已提前移位一格，模型会再次移位" if shifted else ""
        yield Finding(
            "label-mask-misaligned",
            Severity.S1,
            f"In {len(wrong)} of {len(dump.sequences)} sequences the labels are not the tokens they stand on{how}.",
            f"{len(dump.sequences)} 条序列中有 {len(wrong)} 条的标签与所在位置的 token 不一致{zh}。",
            _where(wrong, "labels differ from input_ids where the loss is on"),
            {"count": len(wrong), "shifted": shifted},
        )


def _masking(dump: Dump, eos: int | None) -> Iterator[Finding]:
    """Nothing trained at all, prompt tokens trained, or assistant tokens masked (spans given)."""
    silent = [s for s in dump.sequences if not (s.labels != IGNORED).any()]
    longest = max((len(s.ids) for s in dump.sequences), default=0)
    cut = [s for s in silent if len(s.ids) == longest]
    if len(cut) >= max(2, 0.05 * len(dump.sequences)):
        yield Finding(
            "answer-cut-off",
            Severity.S1 if len(cut) >= 0.5 * len(dump.sequences) else Severity.S2,
            f"{len(cut)} of {len(dump.sequences)} sequences fill the whole length of {longest} tokens and have no "
            "label left: truncation removed the answer.",
            f"{len(dump.sequences)} 条序列中有 {len(cut)} 条占满 {longest} 个 token 且没有任何标签：回答被截断掉了。",
            _where(cut, "all labels are -100 at the full length"),
            {"count": len(cut), "length": longest},
        )
        silent = [s for s in silent if len(s.ids) < longest]
    if len(silent) > max(0.05 * len(dump.sequences), 0):
        yield Finding(
            "label-mask-misaligned",
            Severity.S1,
            f"{len(silent)} of {len(dump.sequences)} sequences have no label at all: nothing is learned from them.",
            f"{len(dump.sequences)} 条序列中有 {len(silent)} 条的标签全为 -100，不产生训练信号。",
            _where(silent, "all labels are -100"),
            {"count": len(silent)},
        )
    yield from _spoken(dump)


def _spoken(dump: Dump) -> Iterator[Finding]:
    """Tokens of the person that are trained, or of the assistant that are not, where the dump says whose they are."""
    bad, prompt_on, answer_off, later = [], 0, 0, 0
    counted = np.zeros(4, np.int64)  # asked, asked and trained, answered, answered and masked
    for s in (s for s in dump.sequences if s.spans):
        on = s.labels != IGNORED
        asked, answered = np.zeros(len(on), bool), np.zeros(len(on), bool)
        for role, start, end in s.spans:
            (answered if role.lower() in ANSWERS else asked)[max(start, 0) : max(end, 0)] = True
        many = (on & asked).sum() > 0.1 * max(asked.sum(), 1) and (on & asked).sum() > 2
        few = answered.any() and (on & answered).sum() < 0.5 * answered.sum()
        prompt_on, answer_off = prompt_on + bool(many), answer_off + bool(few)
        counted += [asked.sum(), (on & asked).sum(), answered.sum(), (~on & answered).sum()]
        bad += [s] if many or few else []
        first = int(np.argmax(answered)) if answered.any() else 0
        later += bool(many and on[first:].all() and asked[first:].any())
    if not bad or len(bad) < BAD_SHARE * len(dump.sequences):
        return
    share, off = counted[1] / max(counted[0], 1), counted[3] / max(counted[2], 1)
    several = 2 * later > prompt_on
    more = "; behind the first answer everything is trained, the later turns of the user included" if several else ""
    more_zh = "；第一个回答之后的所有 token 都参与训练，包括后面的用户轮次" if several else ""
    yield Finding(
        "label-mask-misaligned",
        Severity.S1 if answer_off >= 0.5 * len(bad) else Severity.S2,
        f"The loss mask misses the assistant's turns: {prompt_on} sequences train on the prompt, in "
        f"{answer_off} most of the answer is masked (of {len(dump.sequences)}); {share:.1%} of the tokens of prompt "
        f"and user carry a label, {off:.1%} of the assistant's carry none{more}.",
        f"损失掩码与 assistant 轮次不符：{prompt_on} 条在提示上训练，{answer_off} 条的回答大部分被屏蔽"
        f"（共 {len(dump.sequences)} 条）；提示和用户的 token 有 {share:.1%} 带标签，assistant 的 token 有 {off:.1%} "
        f"没有标签{more_zh}。",
        _where(bad, "labels against spans"),
        {"prompt_trained": prompt_on, "answer_masked": answer_off, "prompt_share": float(share),
         "answer_share": float(off), "later_turns": later},
    )  # fmt: skip


def _ends(dump: Dump, eos: int) -> tuple[list[Sequence_], list[Sequence_]]:
    """(sequences that end with the end token, those of them whose last end token is no label)."""
    ended = [s for s in dump.sequences if (len(s.ids) and int(s.ids[-1]) == eos) or eos in s.ids[-3:]]
    masked = [s for s in ended if (s.labels != IGNORED).any() and not _end_trained(s, eos)]
    return ended, masked


def _end_trained(s: Sequence_, eos: int) -> bool:
    """Whether the last end token is a label, in its own place or, when labels came shifted, one before it."""
    at = int(np.flatnonzero(s.ids == eos)[-1])
    return bool(s.labels[at] != IGNORED or (at and s.labels[at - 1] == eos))


def _end(dump: Dump, eos: int | None) -> Iterator[Finding]:
    if eos is None:
        return
    ended, masked = _ends(dump, eos)
    trained = [s for s in dump.sequences if (s.labels != IGNORED).any()]
    if len(ended) >= ENOUGH and len(masked) >= 0.9 * len([s for s in ended if (s.labels != IGNORED).any()] or ended):
        yield Finding(
            "eos-not-trained",
            Severity.S1,
            f"The end token {eos} closes {len(ended)} of {len(dump.sequences)} sequences and is masked in "
            f"{len(masked)}: the model is never taught to stop.",
            f"结束符 {eos} 出现在 {len(ended)} 条序列末尾，其中 {len(masked)} 条被屏蔽：模型学不到停止。",
            _where(masked, f"label of the last {eos} is -100"),
            {"ended": len(ended), "masked": len(masked), "eos": eos},
        )
    elif (
        "eos" in dump.special and not ended and len(trained) >= 20 and sum(s.cut for s in trained) < 0.5 * len(trained)
    ):
        yield Finding(
            "eos-not-trained",
            Severity.S1,
            f"None of {len(trained)} sequences ends with the end token {eos}: the model is never taught to stop.",
            f"{len(trained)} 条序列都不以结束符 {eos} 结尾：模型学不到停止。",
            _where(trained, f"ends without {eos}"),
            {"ended": 0, "masked": 0, "eos": eos},
        )


def _padding(dump: Dump, eos: int | None) -> Iterator[Finding]:
    pads = Counter(int(t) for s in dump.sequences for t in s.pad[:1])
    pad = dump.special.get("pad", pads.most_common(1)[0][0] if pads else None)
    if pad is None or eos is None or pad != eos:
        return
    ended, masked = _ends(dump, eos)
    hurts = len(ended) >= ENOUGH and len(masked) >= 0.9 * len(ended)
    yield Finding(
        "pad-equals-eos",
        Severity.S1 if hurts else Severity.S3,
        f"Padding and end are the same token {eos}"
        + (
            ", and the end token's own label is masked with the padding."
            if hurts
            else "; the end token's label is kept, so this is harmless here."
        ),
        f"填充与结束符是同一个 token {eos}"
        + ("，结束符的标签也随填充被屏蔽。" if hurts else "；结束符的标签保留，在此无害。"),
        _where(masked or ended, f"ends with {eos}"),
        {"token": eos, "masked": len(masked), "ended": len(ended)},
    )


def _double(dump: Dump, eos: int | None) -> Iterator[Finding]:
    twice = [s for s in dump.sequences if len(s.ids) > 2 and s.ids[0] == s.ids[1]]
    firsts = Counter(int(s.ids[0]) for s in twice)
    if not firsts:
        return
    token, count = firsts.most_common(1)[0]
    known = dump.special.get("bos")
    if (known is None and count >= 0.9 * len(dump.sequences) >= 0.9 * ENOUGH) or (
        known == token and count >= BAD_SHARE * len(dump.sequences)
    ):
        yield Finding(
            "double-bos",
            Severity.S2,
            f"{count} of {len(dump.sequences)} sequences begin with token {token} twice: template and tokenizer "
            "both add it.",
            f"{len(dump.sequences)} 条序列中有 {count} 条以 token {token} 开头两次：模板与分词器各加了一次。",
            _where(twice, f"begins {token} {token}"),
            {"count": count, "token": token},
        )


def check_tokenizer(folder: Path, chat_data: bool) -> Report:
    """Whether a tokenizer folder has the chat template that chat data needs, and its special tokens."""
    path = folder / "tokenizer_config.json"
    try:
        config = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        return Report("data labels", checks=(Check(TEMPLATE, "failed", f"{path.name}: {error}"),))
    if not isinstance(config, Mapping):
        return Report("data labels", checks=(Check(TEMPLATE, "failed", f"{path.name} is not an object"),))
    template = config.get("chat_template") or any(
        (folder / n).exists() for n in ("chat_template.jinja", "chat_template.json", "additional_chat_templates")
    )
    if template or not chat_data:
        why = "the tokenizer has one" if template else "the data is not chat"
        return Report("data labels", checks=(Check(TEMPLATE, "clear" if template else "not-applicable", why),))
    return Report(
        "data labels",
        (
            Finding(
                "chat-template-missing",
                Severity.S2,
                "The data is chat, and the tokenizer has no chat template: training and serving will format turns "
                "differently.",
                "数据是对话格式，但分词器没有 chat template：训练与推理的格式会不一致。",
                (Evidence(path.name, 1, text="no chat_template"),),
            ),
        ),
        (Check(TEMPLATE, "found", "no chat_template in the tokenizer"),),
    )
