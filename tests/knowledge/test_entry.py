import pytest

from triage.knowledge.entry import EntryError, parse
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
        ("severity: S0", "severity: !!python/object:os.system {}", "not YAML"),
    ],
)
def test_a_wrong_entry_is_refused_with_the_file_and_the_problem(old, new, says):
    assert old in GOOD
    with pytest.raises(EntryError, match=r"loss-nan-high-lr\.md") as error:
        parse(GOOD.replace(old, new, 1), "loss-nan-high-lr.md")
    assert says in str(error.value)
