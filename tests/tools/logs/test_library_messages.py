"""Messages of libraries: what one names wins over how it shows, and one that a run outlives is no alarm."""

# One line of a log per line, however long.
# ruff: noqa: E501

import pytest

from triage.tools.discover import discover
from triage.tools.findings import Severity
from triage.tools.logs.scan import scan
from triage.tools.logs.signatures import checks, engines, joining, loading
from triage.tools.logs.signatures.causes import Timeline, judge
from triage.tools.logs.signatures.match import Matcher
from triage.tools.reading import Chunk

ROWS = [row for module in (checks, engines, joining, loading) for row in module.ROWS]
STEPS = Timeline((("", 1, 90),), {"": tuple(range(1, 91))})


def told(text: str, life: Timeline | None = None):
    matcher = Matcher(len(text))
    matcher.look(Chunk(text.encode(), 1))
    return {f.code: f for f in judge({"a.log": matcher.hits()}, {"a.log": life or Timeline()})}


def serious(text: str) -> set[str]:
    return {code for code, f in told(text).items() if f.severity <= Severity.S1}


@pytest.mark.parametrize("line", [line for row in ROWS for line in row.shows])
def test_a_message_that_the_run_outlives_is_no_alarm(line):
    found = told("step 3 loss 2.1\n" * 3 + f"WARNING caught: {line}\n", STEPS)
    assert all(f.severity >= Severity.S2 for f in found.values())


@pytest.mark.parametrize("line", [line for row in ROWS if row.role == "cause" for line in row.shows])
def test_a_message_is_told_by_its_own_code(line):
    codes = {row.code for row in ROWS if line in row.shows}
    assert codes & {code for code, f in told(line + "\n").items() if f.severity <= row_severity(line)}


def row_severity(line: str) -> Severity:
    return max(row.severity for row in ROWS if line in row.shows)


@pytest.mark.parametrize(
    ("text", "code", "never"),
    [
        ("/usr/bin/ld: cannot find -lcublas: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
         "op-build-failed", "file-missing"),
        ("ops/softmax.cu:3:10: fatal error: cutlass/gemm.h: No such file or directory\n", "op-build-failed", "file-missing"),
        ("ValueError: n_samples_per_prompt must be greater than 1 for grpo\n", "group-of-one", "num-rollouts-zero"),
        ("ImportError: accelerate>=1.1 is required for a normal functioning of this module, but found accelerate==0.30.\n",
         "version-mismatch", "import-error"),
    ],
)  # fmt: skip
def test_what_a_message_names_wins_over_how_it_shows(text, code, never):
    assert code in serious(text)
    assert never not in serious(text)


CHAIN = """Traceback (most recent call last):
  File "/w/serve.py", line 9, in load
    kind = TABLE[name]
KeyError: 'olmo9'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/w/run.py", line 4, in main
    load(name)
ValueError: The checkpoint you are trying to load has model type `olmo9` but Transformers does not recognize this architecture.
"""


@pytest.mark.parametrize("mark", ["", "[rank0]: "])
def test_an_exception_is_told_by_the_one_that_was_raised_from_it(mark):
    found = told("".join(mark + line + "\n" for line in CHAIN.splitlines()))
    assert found["version-mismatch"].severity <= Severity.S1
    assert "uncaught-exception" not in found


@pytest.mark.parametrize(
    "text",
    [
        CHAIN.replace("During handling of the above exception, another exception occurred:", "retrying once"),
        CHAIN.replace("but Transformers does not recognize this architecture", "which is odd"),
    ],
    ids=["another failure above", "nothing names it"],
)
def test_an_exception_that_nothing_names_better_stays(text):
    assert "uncaught-exception" in told(text)


CRASH = 'Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f11 (most recent call first):\n  File "/w/a.py", line 3 in load\n'


@pytest.mark.parametrize("name", ["train.log", "console.out"])
def test_a_log_that_begins_with_a_crash_is_a_log(tmp_path, name):
    (tmp_path / name).write_text(CRASH + "Segmentation fault (core dumped)\n")
    assert "native-crash" in {f.code for f in scan(discover(tmp_path)).findings}


def test_a_dump_of_stacks_is_none(tmp_path):
    (tmp_path / "stacks.txt").write_text(
        'Thread 0x00007f11 (most recent call first):\n  File "/w/a.py", line 3 in load\n'
    )
    assert [a.kind for a in discover(tmp_path).artifacts] == ["stack"]
