"""Dumps of tokens and what is trained on; the share along a log; the mark that finds the answers."""

import numpy as np
import pytest

from triage.tools.data.between.marks import check_marks
from triage.tools.discover import discover
from triage.tools.documents.stated import Stated
from triage.tools.relate.line import Line
from triage.tools.relate.texts.masked import misplaced, nearly_all
from triage.tools.tables.read import read_tables

PERSON = ["could", "you", "tell", "me", "more", "about", "it", "please", "now"]
ANSWER = ["yes", "of", "course", "here", "it", "is", "all", "for", "you"]

END = (5, "<|im_end|>", "mark", False)


def turns(count, shift=0, every=False):
    """(turn, piece, whose, trained) of each token; the trained window lies `shift` tokens too early."""
    rows = []
    for turn in range(count):
        rows += [(turn, "<|im_start|>", "mark"), (turn, "user", "mark"), (turn, "\\n", "mark")]
        rows += [(turn, word, "user") for word in PERSON] + [(turn, "<|im_end|>", "mark")]
        rows += [(turn, "<|im_start|>", "mark"), (turn, "assistant", "mark"), (turn, "\\n", "mark")]
        rows += [(turn, word, "assistant") for word in ANSWER] + [(turn, "<|im_end|>", "mark")]
    flags = np.array([every or whose == "assistant" for *_, whose in rows])
    return [(*row, bool(flag)) for row, flag in zip(rows, np.roll(flags, -shift), strict=True)]


def role_csv(rows):
    return "n,token,who,target\n" + "".join(
        f"{i},{p},{w},{'x' if t else -100}\n" for i, (_, p, w, t) in enumerate(rows)
    )


def spaced(rows):
    head = "first row of rank 0\n\n pos     id  piece            lbl\n"
    return head + "".join(
        f" {i:3d}  {700 + i:5d}  {p:<15}  {700 + i if t else '.'}\n" for i, (_, p, _, t) in enumerate(rows)
    )


def chinese(rows):
    whose = {"user": "用户", "assistant": "助手", "mark": "标记"}
    return "序号\t词元\t角色\t掩码\n" + "".join(
        f"{i}\t{p}\t{whose[w]}\t{int(t)}\n" for i, (_, p, w, t) in enumerate(rows)
    )


def codes(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [f.code for table in read_tables(tmp_path / name, name) for f in misplaced(table)]


@pytest.mark.parametrize(("name", "form"), [("dump.csv", role_csv), ("peek.txt", spaced), ("看.tsv", chinese)])
def test_the_window_lies_beside_the_answers(tmp_path, name, form):
    assert codes(tmp_path, name, form(turns(6, shift=9))) == ["labels-on-prompt"]
    assert codes(tmp_path, name, form(turns(6, shift=3))) == ["labels-beside-answers"]
    assert codes(tmp_path, name, form([*turns(6, every=True)[:-1], END])) == ["labels-on-prompt"]
    assert not codes(tmp_path, name, form(turns(6)))
    assert not codes(tmp_path, name, form(turns(1, shift=9)))


def test_only_the_last_answer_is_trained(tmp_path):
    rows = [(k, p, w, t and k == 5) for k, p, w, t in turns(6)]
    assert not codes(tmp_path, "dump.csv", role_csv(rows))


def line(file, key, values):
    values = np.array(values, float)
    return Line(key, key, file, np.arange(len(values)) * 10.0, values, np.arange(len(values)) + 1)


def counted(file, share):
    whole = [9000 + 37 * i for i in range(12)]
    return [line(file, "n_tok", whole), line(file, "n_loss", [w * share for w in whole])]


@pytest.mark.parametrize(
    ("lines", "said", "found"),
    [
        ([*counted("new.log", 0.998), *counted("old.log", 0.31)], (), True),
        ([line("a.log", "label_frac", [0.99] * 9), line("b.log", "label_frac", [0.4] * 9)], (), True),
        (counted("sft.log", 0.999), (Stated("stats.json", 4, "tok_assistant", "0.29", ""),), True),
        ([*counted("new.log", 0.33), *counted("old.log", 0.31)], (), False),
        (counted("pretrain.log", 0.999), (), False),
        ([line("a.log", "label_frac", [0.99] * 3), line("b.log", "label_frac", [0.4] * 9)], (), False),
        (counted("sft.log", 0.999), (Stated("stats.json", 4, "assistant_dropout", "0.29", ""),), False),
    ],
)
def test_nearly_all_tokens_in_the_loss(lines, said, found):
    assert [f.code for f in nearly_all(lines, said)] == ["loss-over-all-tokens"] * found


CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
INST = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"


@pytest.mark.parametrize(
    ("template", "name", "text", "found"),
    [
        (CHATML, "run.yaml", 'collate: {answer_start: "<|assistant|>\\n"}\n', True),
        (CHATML, "train.py", "response_template = '### Response:'\n", True),
        (INST, "sft.json", '{"assistant_marker": "<|im_start|>assistant"}', True),
        (CHATML, "run.yaml", 'answer_start: "<|im_start|>assistant"\n', False),
        (INST, "run.yaml", 'response_template: "[/INST]"\n', False),
        (CHATML, "run.yaml", "answer_start: 17\nresponse_prefix: the answer\n", False),
        ("", "run.yaml", 'answer_start: "<|assistant|>"\n', False),
    ],
)
def test_the_mark_of_the_answers(tmp_path, template, name, text, found):
    if template:
        (tmp_path / "chat.jinja").write_text(template)
    (tmp_path / name).write_text(text)
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert [f.code for f in check_marks(discover(tmp_path)).findings] == ["answer-mark-not-in-template"] * found
