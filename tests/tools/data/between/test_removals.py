"""A letter asks for content to leave the data: told where a list in use still holds it, not where all of it is off."""

import pytest

from triage.tools.data.between.corpora import check_corpora
from triage.tools.discover import discover

LETTERS = {
    "mail/2025-06.txt": "To whom it may concern\n\nWe ask that you take our pages\nat "
    "https://blog.tidemark.example/tales/ out of all your training\ndata, and the files tidemark_tale*.pdf too.\n",
    "法务函.md": "权利人来函：请你们从训练语料中删除 https://blog.tidemark.example/tales 的全部"
    "页面\n以及 tidemark_tale*.pdf。\n",
}  # fmt: skip


def told(tmp_path, letter, files):
    for name, text in ({letter: LETTERS[letter]} | files).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [f for f in check_corpora(discover(tmp_path)).findings if f.code == "removal-asked-still-there"]


def found(extra=""):
    rows = [f"pages,crawl-{i % 2 + 4},https://blog.tidemark.example/tales/{i}" for i in range(9)]
    rows += [f"files,ebooks-1,tidemark_tale{i}.pdf" for i in range(5)]
    return "\n".join(["query,part,name", *rows, extra]) + "\n"


def listed(off, mark=",", words=("active", "yes", "no")):
    parts = ("crawl-3", "crawl-4", "crawl-5", "ebooks-1", "ebooks-2")
    return "\n".join([f"part{mark}{words[0]}", *(f"{p}{mark}{words[2 if p in off else 1]}" for p in parts)]) + "\n"


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("words", [("active", "yes", "no"), ("状态", "启用", "停用"), ("enabled", "1", "0")])
def test_some_parts_are_off_and_the_others_are_in_use(tmp_path, letter, words):
    files = {"search.csv": found("motto,crawl-3,offset 12"), "parts.tsv": listed(("ebooks-1",), "\t", words),
             "trained.csv": "first_step,part\n1,crawl-5\n900,ebooks-1\n1800,crawl-4\n"}  # fmt: skip
    (finding,) = told(tmp_path, letter, files)
    assert finding.data["names"] == "crawl-4, crawl-5, crawl-3"
    assert finding.data["hits"] == 10
    assert {"search.csv", "parts.tsv", "trained.csv", letter} == {e.file for e in finding.evidence}


@pytest.mark.parametrize("letter", LETTERS)
def test_all_parts_are_off_or_nothing_was_found(tmp_path, letter):
    off = {"search.csv": found(), "parts.csv": listed(("crawl-4", "crawl-5", "ebooks-1"))}
    assert told(tmp_path / "off", letter, off) == []
    none = "query,hits\nhttps://blog.tidemark.example/tales,0\ntidemark_tale*.pdf,0\nother.example,3\n"
    assert told(tmp_path / "none", letter, {"search.csv": none, "parts.csv": listed(())}) == []
