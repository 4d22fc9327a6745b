"""Errors of an earlier attempt beside the newest log, which ended for another reason."""

import pytest

from triage.tools.discover import discover
from triage.tools.findings import Severity
from triage.tools.logs.scan import scan

STEPS = "".join(f"step {s} loss {3 / s + 1:.3f}\n" for s in range(1, 30))
TRACE = 'Traceback (most recent call last):\n  File "run.py", line 9, in <module>\n    main()\n'
OOM = STEPS + TRACE + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79 GiB\n"
IMPORT = TRACE + "ModuleNotFoundError: No module named 'tensorflow_text'\n"
FULL = STEPS + TRACE + "OSError: [Errno 28] No space left on device\n"


def grades(tmp_path, **logs):
    for name, text in logs.items():
        (tmp_path / (name if "." in name else f"{name}.log")).write_text(text)
    return {f.code: f.severity for f in scan(discover(tmp_path)).findings if "role" in f.data}


@pytest.mark.parametrize(
    "names",
    [("align_v2", "align_v3"), ("train_try1", "train_try10"), ("job_20250301_0910", "job_20250301_1540"),
     ("fit-2025-03-01", "fit-2025-03-04"), ("训练_第1次", "训练_第2次"), ("slurm-81207.out", "slurm-81342.out"),
     ("align_81207.err", "align_81342.err"), ("align.e5512", "align.e5590")],
)  # fmt: skip
def test_what_ended_an_earlier_attempt_is_a_note(tmp_path, names):
    before, last = names
    told = grades(tmp_path, **{before: OOM, last: IMPORT})
    assert told["cuda-oom"] == Severity.S3
    assert told["import-error"] <= Severity.S1


@pytest.mark.parametrize(
    ("logs", "code"),
    [
        ({"rank0": OOM, "rank1": IMPORT}, "cuda-oom"),
        ({"seed_1": FULL, "seed_2": IMPORT}, "disk-full"),
        ({"job_20250301_0910": OOM, "job_20250301_0912": IMPORT}, "cuda-oom"),
        ({"align_v2": OOM, "align_v3": STEPS}, "cuda-oom"),
        ({"align_v2": OOM, "reward_v3": IMPORT}, "cuda-oom"),
        ({"align_v2": OOM, "align_v3": OOM}, "cuda-oom"),
        ({"slurm-81207.out": OOM, "slurm-81342.out": STEPS}, "cuda-oom"),
        ({"align_seed_1207.out": OOM, "align_seed_1342.out": IMPORT}, "cuda-oom"),
        ({"slurm-81207.out": OOM, "reward_81342.out": IMPORT}, "cuda-oom"),
    ],
)
def test_what_ended_one_of_a_time_or_nothing_overcame_stays(tmp_path, logs, code):
    assert grades(tmp_path, **logs)[code] <= Severity.S1


def test_the_newest_jobs_own_error_is_told_however_many_failed_before(tmp_path):
    for job in range(7001, 7012):
        (tmp_path / f"slurm-{job}.out").write_text(
            f"{TRACE}RuntimeError: the {'abcdefghijk'[job - 7001]} is not there\n"
        )
    [serious] = [f for f in scan(discover(tmp_path)).findings if f.severity <= Severity.S1 and "role" in f.data]
    assert serious.evidence[0].file == "slurm-7011.out"
