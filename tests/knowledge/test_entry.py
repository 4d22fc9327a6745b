import shutil

import pytest

from triage.knowledge.entry import SILENT, EntryError, parse
from triage.knowledge.runbook import SHIPPED, check, load

GOOD = (SHIPPED / "loss-nan-high-lr.md").read_text(encoding="utf-8")


def test_the_shipped_runbook_is_clean():
    assert check() == []


def test_every_shipped_entry_is_whole_in_both_languages():
    for entry in load():
        assert {len(part) for part in entry.body.values()} == {5}, entry.id


def test_no_entry_fixes_a_failure_without_saying_how_to_tell():
    assert [e.id for e in load() if e.kind == "failure" and e.fix and not e.acceptance] == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("severity: S0", "severity: S9", "severity"),
        ("multiply: 0.5", "multiply: 0.5, add: 1", "change one thing"),
        ("variable: learning_rate", "variable: dataset", "`do` goes with"),
        ("# zh", "# fr", "no `# zh` part"),
        ("## 验证", "## 证明", "## 验证"),
        ("id: loss-nan-high-lr", "id: other", "must be named other.md"),
        ("prior: common", "prior: common\nsurprise: 1", "surprise"),
        ("    low: 0.5\n", "", "has no 'low'"),
        ("---\nid", "id", "front matter"),
        (GOOD[: GOOD.index("\n---\n")], "---\n- id", "made of `key: value` lines"),
        ("severity: S0", "severity: S0\nsays: {en: [], zh: []}", "says.en"),
        ("severity: S0", "severity: S0\nprior: rare", "`prior` stands in line"),
        ("severity: S0", "severity: !!python/object:os.system {}", "not YAML"),
    ],
)
def test_a_wrong_entry_is_refused_with_the_file_and_the_problem(old, new, says):
    assert old in GOOD
    with pytest.raises(EntryError, match=r"loss-nan-high-lr\.md") as error:
        parse(GOOD.replace(old, new, 1), "loss-nan-high-lr.md")
    assert says in str(error.value)


@pytest.fixture
def folder(tmp_path):
    """One entry with its phrases."""
    (tmp_path / "phrases").mkdir()
    for name in ("double-bos.md", "phrases/double-bos.txt"):
        shutil.copy(SHIPPED / name, tmp_path / name)
    return tmp_path


PHRASES = (SHIPPED / "phrases" / "double-bos.txt").read_text(encoding="utf-8")
PAGE = (SHIPPED / "double-bos.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("phrases/no-such-entry.txt", PHRASES, "no entry has this name"),
        ("phrases/double-bos.yaml", PHRASES, "no entry has this name"),
        ("phrases/double-bos.txt", "", "under `# en`, then under `# zh`"),
        ("phrases/double-bos.txt", PHRASES + PHRASES, "under `# en`, then under `# zh`"),
        ("phrases/double-bos.txt", PHRASES.replace("# en", "# fr", 1), "under `# en`, then under `# zh`"),
        ("phrases/double-bos.txt", "# en\n\n# zh\n", "en: Tuple should have at least 3 items"),
        ("phrases/double-bos.txt", b"\xff", "cannot be read"),
        ("double-bos.md", PAGE.replace("severity:", "says: {}\nseverity:", 1), "move `says` to phrases/double-bos.txt"),
        ("another.md", PAGE, "must be named double-bos.md"),
    ],
)
def test_phrases_without_an_entry_empty_or_given_twice_fail_with_the_files_name(folder, name, text, says):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EntryError) as error:
        load(folder)
    assert str(error.value).startswith(f"{name}: ")
    assert says in str(error.value)
    assert str(error.value) in check(folder)


def test_phrases_that_two_entries_claim_are_reported_with_both_files(folder):
    (folder / "triple-bos.md").write_text(PAGE.replace("id: double-bos", "id: triple-bos"), encoding="utf-8")
    shutil.copy(folder / "phrases" / "double-bos.txt", folder / "phrases" / "triple-bos.txt")
    first = PHRASES.splitlines()[1]
    assert f"phrases/triple-bos.txt: {first!r}, which phrases/double-bos.txt has too" in check(folder)


def test_an_entry_without_phrases_is_one(folder):
    (folder / "phrases" / "double-bos.txt").unlink()
    assert load(folder).entries["double-bos"].says == SILENT


def test_a_page_shows_the_facts_before_anything_that_feeds_the_index():
    assert [page.name for page in SHIPPED.glob("*.md") if "\nsays:" in page.read_text(encoding="utf-8")] == []
