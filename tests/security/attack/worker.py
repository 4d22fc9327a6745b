"""Runs commands of triage fast and fenced: a warm process that forks one child per command, and watches it.

It imports triage and uses it once, so that a child costs milliseconds, not the half second of a start. It knows the
package only by its command's entry point. A child has its own session, home and files for what it prints; it is killed
beyond its processor time, its wall clock or its memory. It judges nothing: see `oracle`.

Spoken to over standard input and output, one JSON object per line: a `Job` in, an `Outcome` out.
"""

import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def drop_override() -> None:
    """Let the modes of files bind root too, as they bind everybody else."""

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    class Data(ctypes.Structure):
        _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))

    libc = ctypes.CDLL(None, use_errno=True)
    header, data = Header(0x20080522, 0), (Data * 2)()
    if libc.capget(ctypes.byref(header), data):
        raise OSError(ctypes.get_errno(), "capget")
    gone = ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH) & 0xFFFFFFFF
    for part in ("effective", "permitted", "inheritable"):
        setattr(data[0], part, getattr(data[0], part) & gone)
    if libc.capset(ctypes.byref(header), data):
        raise OSError(ctypes.get_errno(), "capset")


def tree(pid: int) -> list[int]:
    """The process and all below it."""
    found, todo = [], [pid]
    while todo:
        found.append(one := todo.pop())
        # A process may end between any two of these reads, and each of them may be the one that finds it gone.
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{one}/task"):
                with contextlib.suppress(OSError):
                    todo += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
    return found


def usage(pid: int) -> tuple[float, int]:
    """Processor seconds and resident bytes of a process and all below it."""
    seconds, resident = 0.0, 0
    for one in tree(pid):
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(map(int, fields[11:15])) / TICKS
            resident += int(fields[21]) * PAGE
    return seconds, resident


def play(job: dict, out: Path) -> None:
    """In the child: become the command. Never returns."""
    os.setsid()
    for number, name in enumerate(("in", "out", "err")):
        path = (job.get("stdin") or os.devnull) if name == "in" else str(out / name)
        os.dup2(os.open(path, os.O_RDONLY if name == "in" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    for name, encoding in (("stdin", "utf-8"), ("stdout", "utf-8"), ("stderr", "utf-8")):
        number = ("stdin", "stdout", "stderr").index(name)
        errors = "backslashreplace" if name == "stderr" else "strict"
        setattr(sys, name, os.fdopen(number, "r" if not number else "w", encoding=encoding, errors=errors))
    os.environ.update(job.get("env", {}))
    os.chdir(job.get("cwd", "/"))
    if job.get("drop"):
        drop_override()
    resource.setrlimit(resource.RLIMIT_AS, (job["address"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if job.get("file_size"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"],) * 2)
    sys.argv = ["triage", *(os.fsdecode(a.encode("latin-1")) for a in job["argv"])]
    code = 70
    try:
        entry()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def entry() -> None:
    importlib.import_module("triage.ui.cli").main()


def watch(pid: int, job: dict) -> dict:
    """Wait for the child, or end it and everything it started: what became of it, and what it used."""
    start, used, peak, why = time.monotonic(), 0.0, 0, ""
    while not why and not ended(pid):
        seconds, resident = usage(pid)
        wall = time.monotonic() - start
        used, peak = max(used, seconds), max(peak, resident)
        if job.get("kill_after") is not None and wall > job["kill_after"]:
            why = "killed"
        elif used > job["cpu"] or wall > job["wall"]:
            why = "hang"
        elif peak > job["resident"]:
            why = "memory"
        time.sleep(0.003 if wall < 0.3 else 0.02)
    wall = time.monotonic() - start
    end(pid)
    _, status, spent = os.wait4(pid, 0)
    peak = max(peak, spent.ru_maxrss * 1024)
    used = max(used, spent.ru_utime + spent.ru_stime)
    return {"code": os.waitstatus_to_exitcode(status), "why": why, "wall": wall, "cpu": used, "peak": peak}


def ended(pid: int) -> bool:
    """Whether the child has ended; it is not reaped yet, so that its number stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(pid: int) -> None:
    """End the child, what it started, and what is left of its session. Only before it is reaped."""
    for one in tree(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def serve(warm: list[list[str]]) -> None:
    for module in pkgutil.iter_modules(importlib.import_module("triage").__path__):
        importlib.import_module(f"triage.{module.name}")
    entry_module = importlib.import_module("triage.ui.cli")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        for argv in warm:
            sys.argv = ["triage", *argv]
            with contextlib.suppress(SystemExit):
                entry_module.main()
    print(json.dumps({"threads": len(os.listdir("/proc/self/task"))}), flush=True)
    for line in sys.stdin:
        jobs = json.loads(line)
        print(json.dumps(run(jobs)), flush=True)


def run(jobs: list[dict]) -> list[dict]:
    """Several jobs are run at once (the parallel writers); the outcomes come in their order."""
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for number, job in enumerate(jobs):
            out = Path(folder) / str(number)
            out.mkdir()
            if not (pid := os.fork()):
                play(job, out)
            started.append((pid, job, out))
        outcomes = []
        for pid, job, out in started:
            outcome = watch(pid, job) | {"argv": job["argv"]}
            for name in ("out", "err"):
                path = out / name
                outcome[name] = path.read_bytes()[: 8 << 20].decode(errors="surrogateescape") if path.exists() else ""
            outcomes.append(outcome)
        return outcomes


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
