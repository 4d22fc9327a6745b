"""Versions as rows of one table, and as files of records: which ability fell, and which source came in."""

import json

import pytest

from triage.tools.relate.joined.abilities import abilities
from triage.tools.tables.read import read_tables

HEAD = {
    "board.csv": "run,rate,IFEval,mmlu,gsm8k,arc_c,domain_em",
    "榜单.tsv": "模型\t学习率\tifeval_prompt\tcmmlu\thellaswag\tceval\t内部问答",
}


def told(tmp_path, files):
    tables = []
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        tables += read_tables(path, name)
    return {f.code: f for f in abilities(tables)}


def board(name, follows, knows=62.0):
    mark = "\t" if name.endswith("tsv") else ","
    rows = [("mix4", "2e-5", 64.1, 62.3, 55.0, 51.2, 9.0), ("mix5", "2e-5", follows, knows, 54.6, 50.9, 71.0),
            ("mix5_without_wiki", "2e-5", 63.2, 62.1, 55.3, 51.4, 9.5)]  # fmt: skip
    return {name: "\n".join([HEAD[name], *(mark.join(map(str, row)) for row in rows)]) + "\n"}


@pytest.mark.parametrize("name", HEAD)
def test_a_row_that_lost_following_instructions_alone(tmp_path, name):
    found = told(tmp_path, board(name, 41.0))
    assert (found["ability-lost"].data["before"], found["ability-lost"].data["after"]) == ("mix4", "mix5")
    assert "mix5_without_wiki has not fallen" in found["ability-lost"].message
    assert "2e-05" in found["ability-lost"].message
    assert "instructions-lost-alone" in found


@pytest.mark.parametrize("name", HEAD)
def test_rows_that_keep_it_or_lose_all(tmp_path, name):
    assert not told(tmp_path, board(name, 62.5))
    assert "instructions-lost-alone" not in told(tmp_path, board(name, 41.0, 38.0))


def records(shares, key="source", turns="role"):
    rows = []
    for source, n in shares.items():
        for i in range(n):
            said = [{turns: "user", "content": f"what is {i} of {source}?"}, {turns: "assistant", "content": "12 mm"}]
            rows.append(json.dumps({key: source, "messages": said if source == "facts" else said * 3}))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("names", [("mix_v2.jsonl", "mix_v3.jsonl"), ("v6_head300.jsonl", "v7_rand400.jsonl")])
@pytest.mark.parametrize("turns", ["role", "from"])
def test_a_source_of_records_that_came_in(tmp_path, names, turns):
    old, new = {"chat": 160, "math": 140}, {"chat": 90, "math": 80, "facts": 230}
    made = {names[0]: records(old, turns=turns), names[1]: records(new, turns=turns)}
    found = told(tmp_path, made)["source-added"]
    assert (found.data["source"], found.data["share"]) == ("facts", 230 / 400)
    assert "100% of them have a single turn, 0% of the others" in found.message


@pytest.mark.parametrize(
    ("names", "new"),
    [(("mix_v2.jsonl", "mix_v3.jsonl"), {"chat": 170, "math": 130}),
     (("train-00000.jsonl", "train-00001.jsonl"), {"chat": 90, "math": 80, "facts": 230}),
     (("chat.jsonl", "other.jsonl"), {"chat": 90, "math": 80, "facts": 230})],
)  # fmt: skip
def test_the_same_sources_or_parts_of_one_version(tmp_path, names, new):
    assert not told(tmp_path, {names[0]: records({"chat": 160, "math": 140}), names[1]: records(new)})
