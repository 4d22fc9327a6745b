"""What stands around a match decides: where its line ends, what takes it back, whose words it is in."""

from __future__ import annotations

import pytest

from triage.tools.discover import discover
from triage.tools.findings import Finding
from triage.tools.logs.scan import scan

BAR = " 98%|#########8| {}/400 [25:15<00:22,  5.79it/s]"


def found(tmp_path, text: str, name: str = "train.log") -> dict[str, Finding]:
    (tmp_path / name).write_text(text, "utf-8")
    return {f.code: f for f in reversed(scan(discover(tmp_path)).findings)}


def bars(n: int = 40) -> str:
    return "".join("\r" + BAR.format(i) for i in range(1, n))


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("Killed", "killed-without-reason"),
        ("slurmstepd: error: *** JOB 71 ON n04 CANCELLED AT 2025-01-02T03:04:05 ***", "job-cancelled"),
        ("swanlab: Error happened while training", "uncaught-exception"),
        ("ValueError: the batch is empty", "uncaught-exception"),
        ("\rKilled", "killed-without-reason"),
    ],
)
def test_the_last_words_behind_a_progress_bar_are_found_with_their_line(tmp_path, end, code):
    told = found(tmp_path, "loading\n" * 3 + bars() + end + "\n")
    assert told[code].severity in ("S0", "S1")
    assert (told[code].evidence[0].line, told[code].evidence[0].text) == (4, end.strip())


@pytest.mark.parametrize("end", ["", "done", " Killed time: 3 s", "step 41"])
def test_a_bar_that_ends_in_other_words_is_silent(tmp_path, end):
    assert not {"killed-without-reason", "job-cancelled", "uncaught-exception"} & set(
        found(tmp_path, bars() + end + "\n")
    )


def taken_back(told: dict[str, Finding]) -> object:
    """The code of what the log says and takes back."""
    note = told["failure-taken-back"]
    assert note.severity == "S3"
    return note.data["code"]


NONE = "WARNING - No trainable parameters found!\n"


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        (NONE, True),
        (NONE + "loading\nTrainable parameters: 11,796,480\n", False),
        (NONE + "trainable params: 4,194,304 || all params: 7,000,000\n", False),
        ("Trainable parameters: 11,796,480\n" + NONE, True),
        (NONE + "trainable params: 0 || all params: 7,000,000\n", True),
        ("trainable params: 0 || all params: 7,000,000\nStarting inference on 40 prompts\n", False),
        ("trainable params: 0 || all params: 7,000,000\n评测模型加载完成\n开始生成，共 40 条\n", False),
        ("trainable params: 0 || all params: 7,000,000\nStarting training on 40 prompts\nRunning eval loop\n", True),
        ("trainable params: 0 || all params: 7,000,000\n***** Running Prediction *****\n  Batch size = 2\n", False),
        (NONE + "Trainable parameters: 8\nValueError: optimizer got an empty parameter list\n", True),
    ],
)
def test_a_later_statement_of_the_same_thing_takes_a_match_back(tmp_path, text, stands):
    told = found(tmp_path, text)
    assert ("no-trainable-parameters" in told) == stands
    assert stands or taken_back(told) == "no-trainable-parameters"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Installed CUDA version 12.1 does not match the version torch was compiled with 12.4, accepting this",
         "op-build-failed"),
        ("FlashAttention is not installed, falling back to sdpa", "cuda-version-mismatch"),
        ("fast reduce is disabled because peer access is not supported between these two devices", "p2p-error"),
    ],
)  # fmt: skip
def test_a_line_that_says_that_the_program_goes_on_is_a_note(tmp_path, line, code):
    assert taken_back(told := found(tmp_path, f"start\n{line}\nloading\n")) == code
    assert code not in told
    plain = line.split(", ")[0].replace("fast reduce is disabled because ", "")
    assert found(tmp_path, f"start\n{plain}\nloading\n")[code].severity < "S2"


OLD = "x/cuda/__init__.py:9: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found 1).\n"


def test_a_warning_of_python_is_a_note_unless_something_fails(tmp_path):
    assert taken_back(found(tmp_path, OLD + "running on the cpu\n" * 5)) == "cuda-version-mismatch"
    failed = found(tmp_path, OLD + "RuntimeError: No CUDA GPUs are available\n")
    assert failed["cuda-version-mismatch"].severity == "S0"
    assert failed["device-ordinal-invalid"].data["follows"]["code"] == "cuda-version-mismatch"


@pytest.mark.parametrize(
    "line",
    [
        "INFO non-default args: {'model': 'm', 'note': \"raise_exception('Conversation roles must alternate')\"}",
        "INFO non-default args: {'model': '" + "m" * 2000 + "', 'x': 'Conversation roles must alternate'}",
        "Namespace(lr=0.1, hint='CUDA out of memory')",
        "WARNING Using supplied chat template: {% if x %}{{ raise_exception('Conversation roles must alternate') }}",
        "30\t../sysdeps/unix/sysv/linux/wait4.c: No such file or directory.",
        "warning: 30\tpoll.c: No such file or directory",
        "args: {'error': 'FileNotFoundError: none'}",
        "Assistant: RuntimeError: CUDA out of memory",
        "'chat_template': \"{{ raise('Conversation roles must alternate') }}\"",
    ],
)
def test_dumps_of_arguments_templates_and_debuggers_are_silent(tmp_path, line):
    assert not [f for f in found(tmp_path, f"start\n{line}\nloading\n").values() if f.severity < "S3"]


def test_an_error_that_speaks_of_templates_or_of_ignoring_is_still_one(tmp_path):
    told = found(tmp_path, "error while applying chat template: Conversation roles must alternate user/assistant\n")
    assert told["data-schema-mismatch"].severity == "S0"
    words = "ValueError: ignoring the mask is not supported"
    assert found(tmp_path, TRACE.format(script="a.py", line=3, error=words))["uncaught-exception"].severity == "S1"


def test_a_refused_command_is_not_a_renamed_argument(tmp_path):
    for said in ("unrecognized arguments: --max_int 3", "argument --fp16: Truthy value expected: got s"):
        assert {"command-refused"} == set(found(tmp_path, f"usage: t.py [-h]\nt.py: error: {said}\n")) & {
            "command-refused", "argument-error",
        }  # fmt: skip
    assert "argument-error" in found(tmp_path, "TypeError: X.__init__() got an unexpected keyword argument 'lr'\n")


TRACE = """Traceback (most recent call last):
  File "{script}", line {line}, in <module>
    main()
  File "/env/lib/python3.11/site-packages/torch/nn/module.py", line 7, in call
    return f(x)
{error}
"""


def test_an_exception_is_told_with_its_message_and_the_programs_own_frame(tmp_path):
    told = found(tmp_path, "start\n" + TRACE.format(script="job/train.py", line=12, error="ValueError: no labels"))
    stopped = told["uncaught-exception"]
    assert stopped.severity == "S1"
    assert "stopped on ValueError: no labels, in job/train.py, line 12" in stopped.message
    assert stopped.data["at"] == {"file": "job/train.py", "line": 12, "in": "<module>"}
    assert "import-error" not in told


def test_the_last_traceback_of_a_script_is_the_one_that_ended_it(tmp_path):
    first = TRACE.format(script="train.py", line=2, error="IndentationError: unindent does not match")
    last = TRACE.format(script="train.py", line=90, error="RuntimeError: Cannot save checkpoint")
    told = found(tmp_path, first + "\n" + last)
    assert (told["checkpoint-save-error"].severity, told["uncaught-exception"].severity) == ("S0", "S2")
    assert "follows" not in told["checkpoint-save-error"].data


@pytest.mark.parametrize(
    ("between", "ends"),
    [("\nDuring handling of the above exception, another exception occurred:\n\n", "RuntimeError: it was not kept"),
     ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n", "RuntimeError: Cannot save checkpoint")],
)  # fmt: skip
def test_tracebacks_that_belong_together_are_one_end(tmp_path, between, ends):
    first = TRACE.format(script="train.py", line=2, error="KeyError: 3")
    last = TRACE.format(script="train.py", line=90, error=ends)
    told = found(tmp_path, first + between + last)
    assert told["uncaught-exception"].severity == "S1"


def test_an_early_error_counts_where_the_last_start_did_not_get_that_far(tmp_path):
    banner = "".join(f"now preparing the {'part of ' * i}job\n" for i in range(1, 14))
    work = "".join(f"item {i} of the list done\n" for i in range(60))
    error = "RuntimeError: CUDA out of memory.\n"
    assert found(tmp_path, banner + work + error + banner + work + work)["cuda-oom"].severity == "S2"
    assert found(tmp_path, banner + work + error + banner)["cuda-oom"].severity == "S0"


def test_a_log_behind_nul_bytes_is_read_and_they_are_told(tmp_path):
    steps = "".join(f"step: {i} loss: {4 - i / 40:.4f} lr: 0.0003\n" for i in range(1, 61))
    (tmp_path / "train.log").write_bytes(bytes(11_000) + steps.encode())
    run = discover(tmp_path)
    assert "11000 bytes are NUL" in next(run.of("log")).why
    assert not run.skipped
    assert "run-healthy" in scan(run).codes()
    (tmp_path / "train.log").write_bytes(bytes(11_000))
    assert "only NUL bytes" in discover(tmp_path).skipped[0].why


LOAD = "INFO 03-04 11:50:00 [m.py:1] loading the data\nINFO 03-04 11:50:10 [m.py:2] loading the model\n"
STOP = "[2025-03-04 12:01:09,004] [INFO] [launch.py:335] Killing subprocess 77\nKeyboardInterrupt\n"


@pytest.mark.parametrize(
    "text",
    [LOAD + "".join(f"12:{i:02d}:00 waiting for batch {i}...\n" for i in range(9)), LOAD + STOP],
)  # fmt: skip
def test_a_log_that_waits_until_its_end_is_a_hang(tmp_path, text):
    assert found(tmp_path, text)["log-stands-still"].evidence[0].line in (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        LOAD + "waiting for batch...\n" * 3,
        LOAD + "waiting for batch...\n" * 9 + "batch 1 came\n",
        LOAD + "downloading part 1\n" * 9,
        LOAD + "".join(f"0{i}:00:00 slot0 active 0 waiting 0 blocks 0.0%\n" for i in range(9)),
        LOAD + "INFO 03-04 12:01:09 [m.py:3] model ready\n",
        LOAD + STOP.replace("12:01", "11:51"),
        LOAD + "INFO:     Application startup complete.\n" + STOP,
    ],
)
def test_a_log_that_waits_for_a_moment_or_goes_on_is_no_hang(tmp_path, text):
    assert "log-stands-still" not in found(tmp_path, text)
