"""Kills, parallel writers, full disks, homes read-only, damaged or open: nothing lost, and the answer comes."""

import json
import random
import shutil
import stat
import subprocess
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from attack.damage import WAYS
from attack.fence import EXAMPLE, Tally, name_of
from attack.kinds import KINDS, lay
from attack.oracle import Truth

ASK = ["ask", "loss is nan at step 4000", "--run", str(EXAMPLE), "--json"]
SEARCH = ["runbook", "search", "loss is nan", "--json"]
NOTES = "".join(f"# Note {i}\n\nLoss is nan on host {i}: restart the node, lower the rate.\n\n" for i in range(12))


def answered(outcome) -> bool:
    try:
        return outcome["code"] in (0, 1) and "state" in json.loads(outcome["out"])
    except ValueError:
        return False


@pytest.fixture(scope="session")
def lived_in(fence, tmp_path_factory):
    """A home with a case, a cache and traces; notes to add; a run with checkpoints; data."""
    base = tmp_path_factory.mktemp("lived-in")
    (base / "notes").mkdir()
    (base / "more").mkdir()
    (base / "notes" / "oncall.md").write_text(NOTES)
    (base / "more" / "other.md").write_text(NOTES.replace("host", "node"))
    for step in (100, 200, 300, 400):
        lay(KINDS["safetensors"], base / "run" / "x")
        (base / "run" / "x" / "checkpoint-100").rename(base / "run" / f"checkpoint-{step}")
    (base / "data.jsonl").write_bytes(KINDS["data-jsonl"].make() * 20)
    [outcome] = fence.run(ASK, home=base / "home")
    assert outcome["code"] == 1, outcome
    return base


@pytest.fixture(scope="session")
def annotated(fence, lived_in, tmp_path_factory):
    """The same with notes of one's own in the index, which takes seconds."""
    base = tmp_path_factory.mktemp("annotated")
    shutil.copytree(lived_in, base, dirs_exist_ok=True)
    [outcome] = fence.run(["runbook", "add", str(base / "notes")], home=base / "home")
    assert outcome["code"] == 0, outcome
    return base


def writers(base: Path, out: Path) -> dict[str, list[str]]:
    """Every command that writes, and what it writes into `out`."""
    data = str(base / "data.jsonl")
    clean = ["--write", str(out / "c.jsonl"), "--removed", str(out / "r.jsonl"), "--workers", "1"]
    return {
        "ask": ASK,
        "ask-html": [*ASK[:-1], "--html", str(out / "a.html")],
        "add": ["runbook", "add", str(base / "more")],
        "index": ["runbook", "index"],
        "dedup": ["data", "dedup", data, "--pairs", str(out / "p.jsonl"), *clean],
        "pii": ["data", "pii", data, *clean],
        "scan": ["scan", str(EXAMPLE), "--html", str(out / "s.html"), "--series", str(out / "s.parquet")],
        "bisect": ["bisect", str(base / "run"), "--eval", "sh -c 'echo 1' {checkpoint}", "--home", str(out / "bh")],
        "report": ["report", str(EXAMPLE), "--bug", "trl", "--out", str(out / "o.zip")],
        "verify": ["verify", "--baseline", str(EXAMPLE), "--candidate", str(EXAMPLE.with_name("run-2")), "--json"],
    }  # fmt: skip


def torn(out: Path) -> list[str]:
    """Files that are there, yet not whole, and what was left behind."""
    found = set()
    for path in (p for p in out.rglob("*") if p.is_file() and "bh" not in p.parts):
        if path.name.startswith((".", "tmp")) or path.suffix in (".part", ".tmp"):
            found.add("left-over")
        elif not whole(path):
            found.add("torn")
    return sorted(found)


def whole(path: Path) -> bool:
    data = path.read_bytes()
    try:
        match path.suffix:
            case ".jsonl":
                return all(isinstance(json.loads(line), dict) for line in data.splitlines())
            case ".html":
                return data.rstrip().endswith(b"</html>")
            case ".parquet":
                return data[-4:] == b"PAR1"
            case ".zip":
                return zipfile.ZipFile(path).testzip() is None
    except (ValueError, zipfile.BadZipFile):
        return False
    return bool(data)


def still_works(fence, home: Path, cases: int) -> list[str]:
    """After a fault: the earlier case is there, and both commands answer."""
    ask, search, listed = (fence.run(argv, home=home)[0] for argv in (ASK, SEARCH, ["cases", "--json"]))
    broken = [] if answered(ask) else ["ask-off"]
    broken += [] if search["code"] in (0, 1) else ["search-off"]
    try:
        kept = json.loads(listed["out"])
        kept = kept.get("cases", kept) if isinstance(kept, dict) else kept
        broken += [] if len(kept) >= cases else ["lost"]
    except ValueError:
        broken += ["cases-off"]
    if any("internal error" in o["err"] for o in (ask, search, listed)):
        broken += ["internal-error"]
    return broken


def kill(fence, lived_in, name, times, strict, tmp_path, record_property):
    """Kill at evenly spread moments of the command's usual time. All kills of a command are one row of KNOWN."""
    tally = Tally("kills", strict=strict)
    usual = None
    for number in range(times + 1):
        folder = tmp_path / str(number)
        (folder / "out").mkdir(parents=True)
        home = folder / "home"
        if not name.startswith("first-"):
            shutil.copytree(lived_in / "home", home)
        argv = writers(lived_in, folder / "out")[name.removeprefix("first-")]
        after = {} if usual is None else {"kill_after": usual * number / (times + 1)}
        [outcome] = fence.run(argv, home=home, **after)
        if usual is None:
            assert outcome["code"] in (0, 1), outcome
            usual = outcome["wall"]
        else:
            tally.trials += 1
        outcome["code"] = 1 if outcome["code"] == -9 else outcome["code"]
        also = [p for p in torn(folder / "out") if p != "left-over"]  # nobody can tidy up after kill -9
        also += still_works(fence, home, 0 if name.startswith("first-") else 1)
        tally.add(f"{name}/kill", "kill", outcome, Truth(), also)
        shutil.rmtree(folder)
    tally.settle(record_property)


KILLS = {
    "ask": 10, "first-ask": 10, "ask-html": 6, "add": 6, "first-add": 8, "index": 10, "dedup": 10, "pii": 6, "scan": 6,
    "bisect": 6, "report": 6, "verify": 4,
}  # fmt: skip
assert sum(KILLS.values()) >= 80


@pytest.mark.parametrize("name", ["ask", "dedup", "report"])
def test_a_kill_loses_nothing_in_part(fence, lived_in, name, tmp_path, record_property):
    kill(fence, lived_in, name, 1, False, tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", KILLS)
def test_a_kill_loses_nothing(fence, annotated, name, tmp_path, record_property):
    kill(fence, annotated, name, KILLS[name], True, tmp_path, record_property)


def parallel(fence, base, rounds, groups, tmp_path, record_property):
    tally = Tally("parallel")
    for name, make in groups.items():
        for number in range(rounds):
            folder = tmp_path / f"{name}-{number}"
            (folder / "out").mkdir(parents=True)
            if name != "first-asks":
                shutil.copytree(base / "home", folder / "home")
            known = writers(base, folder / "out") | {"search": SEARCH}
            argvs = [known[one] for one in make]
            tally.trials += 1
            for one, outcome in zip(make, fence.run(*argvs, home=folder / "home"), strict=True):
                also = ["no-answer"] if one == "ask" and not answered(outcome) else []
                refused = one == "bisect" and outcome["code"] == 2 and "triage:" in outcome["err"]
                also += ["failed"] if outcome["code"] not in (0, 1) and not refused else []
                tally.add(f"{name}/parallel", one, outcome, Truth(), also)
            asked = make.count("ask") + (name != "first-asks")
            tally.tried.add((f"{name}/parallel", "after"))
            for promise in torn(folder / "out") + still_works(fence, folder / "home", asked):
                tally.broken.add((f"{name}/parallel", "after", promise))
                tally.notes[f"{name}/parallel", "after", promise] = "after it"
            shutil.rmtree(folder)
    tally.settle(record_property)


GROUPS = {
    "asks": ["ask"] * 8,
    "first-asks": ["ask"] * 4,
    "dedups": ["dedup"] * 3,
    "bisects": ["bisect"] * 2,
}


def test_parallel_writers_lose_nothing_in_part(fence, lived_in, tmp_path, record_property):
    parallel(fence, lived_in, 1, {"first-asks": ["ask"] * 3}, tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", GROUPS)
def test_parallel_writers_lose_nothing(fence, annotated, name, tmp_path, record_property):
    parallel(fence, annotated, 3, {name: GROUPS[name]}, tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(900)
def test_an_index_in_the_making_switches_nothing_off(fence, annotated, tmp_path, record_property):
    """`ask` and `search` answer while others add to the index and make it anew."""
    parallel(
        fence, annotated, 6, {"while-indexing": ["index", "add", "ask", "search", "index"]}, tmp_path, record_property
    )


@contextmanager
def small_disk(folder: Path, size: str):
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("no small disk may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("place", ["home", "out"])
def test_a_full_disk_costs_the_files_not_the_answer(fence, lived_in, place, tmp_path, record_property):
    tally = Tally("full-disk")
    with small_disk(tmp_path / "disk", "64k") as disk:
        for name in ("ask", "ask-html", "dedup", "pii", "scan", "report"):
            if (name == "ask") != (place == "home"):
                continue
            folder = disk / name
            (folder / "out").mkdir(parents=True)
            (disk / "filler").write_bytes(b"")
            fill(disk / "filler")
            home = folder / "home" if place == "home" else tmp_path / "home"
            [outcome] = fence.run(writers(lived_in, folder / "out" if place == "out" else tmp_path)[name], home=home)
            tally.trials += 1
            also = ["no-answer"] if name.startswith("ask") and not outcome["out"].strip() else []
            also += [] if outcome["err"].strip() else ["unsaid"]
            also += torn(folder / "out") if place == "out" else []
            also += ["left-over"] if list(folder.rglob("*.part")) else []
            tally.add(f"{place}/full", name, outcome, Truth(), sorted(set(also)))
            shutil.rmtree(folder)
    tally.settle(record_property)


def fill(path: Path) -> None:
    try:
        with path.open("wb", buffering=0) as out:
            while True:
                out.write(bytes(4096))
    except OSError:
        pass


@pytest.mark.parametrize("mode", [0o500, 0o000], ids=["read-only", "shut"])
def test_a_home_that_cannot_be_written_costs_no_answer(fence, lived_in, mode, tmp_path, record_property):
    tally = Tally("home")
    home = tmp_path / "home"
    for name, fresh in (("empty", True), ("lived-in", False)):
        if fresh:
            home.mkdir()
        else:
            shutil.copytree(lived_in / "home", home)
        for path in (home, *home.rglob("*")):
            path.chmod(mode if path.is_dir() else mode & 0o400)
        for argv in (ASK, SEARCH, ["scan", str(EXAMPLE)], writers(lived_in, tmp_path)["verify"]):
            [outcome] = fence.run(argv, home=home)
            tally.trials += 1
            also = ["no-answer"] if outcome["code"] not in (0, 1) else []
            tally.add(f"{name}-{mode:o}/home", name_of(argv), outcome, Truth(), also)
        for path in (home, *home.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(home)
    tally.settle(record_property)


HOME_WAYS = ("empty", "random", "cut-50", "nul", "flips", "directory", "denied", "loop", "doubled-cut")


def damaged(fence, lived_in, ways, tmp_path, record_property):
    tally = Tally("damaged-home")
    files = sorted(p.relative_to(lived_in / "home") for p in (lived_in / "home").rglob("*") if p.is_file())
    case = json.loads(fence.run(["cases", "--json"], home=lived_in / "home")[0]["out"])
    case = (case.get("cases", case) if isinstance(case, dict) else case)[0]
    for file in files:
        for way in ways:
            home = tmp_path / "home"
            shutil.copytree(lived_in / "home", home)
            WAYS[way](home / file, random.Random(f"{file}/{way}"))
            for argv in (ASK, SEARCH, ["cases"], ["cases", "trace", str(case.get("id", case.get("case")))]):
                [outcome] = fence.run(argv, home=home)
                tally.trials += 1
                also = ["no-answer"] if argv is ASK and not answered(outcome) else []
                tally.add(f"{short(file)}/{way}", name_of(argv), outcome, Truth(), also)
            shutil.rmtree(home)
    tally.settle(record_property)


def short(file: Path) -> str:
    """The file without the parts of its name that change from one time to the next."""
    return "-".join([*file.parts[:-1][:1], file.suffix.lstrip(".") or "bare"]) if len(file.parts) > 1 else file.name


def test_a_damaged_home_costs_no_answer_in_part(fence, lived_in, tmp_path, record_property):
    damaged(fence, lived_in, ("empty",), tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("way", HOME_WAYS)
def test_a_damaged_home_costs_no_answer(fence, annotated, way, tmp_path, record_property):
    damaged(fence, annotated, (way,), tmp_path, record_property)


def open_to_others(folder: Path):
    """What others could read, were the folder itself open."""
    for path in folder.iterdir():
        if stat.S_IMODE(path.lstat().st_mode) & 0o077:
            yield path
            if path.is_dir():
                yield from open_to_others(path)


def closed(fence, lived_in, mode, name, tmp_path, record_property):
    """A folder that was there keeps its mode; what is kept in it is shut, or in what is shut."""
    tally = Tally("modes", trials=1)
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    [outcome] = fence.run(writers(lived_in, tmp_path)[name], home=home)
    loose = list(open_to_others(home))
    also = [] if not loose and stat.S_IMODE(home.stat().st_mode) == mode else ["open-mode"]
    tally.add(f"{mode:o}/mode", name, outcome, Truth(), also)
    tally.settle(record_property)


@pytest.mark.parametrize("mode", [0o755, 0o777], ids=["755", "777"])
def test_a_home_that_was_there_is_closed_by_ask(fence, lived_in, mode, tmp_path, record_property):
    closed(fence, lived_in, mode, "ask", tmp_path, record_property)


@pytest.mark.security
def test_a_home_that_was_there_is_closed_by_add(fence, lived_in, tmp_path, record_property):
    closed(fence, lived_in, 0o755, "add", tmp_path, record_property)


@pytest.mark.security
def test_a_full_disk_stops_no_index_half_made(fence, annotated, tmp_path, record_property):
    """Notes are added while the disk is full: said, and what was there before still answers."""
    tally = Tally("full-disk", trials=1)
    with small_disk(tmp_path / "disk", "64m") as disk:
        shutil.copytree(annotated / "home", disk / "home")
        fill(disk / "filler")
        [outcome] = fence.run(writers(annotated, tmp_path)["add"], home=disk / "home")
        also = [] if outcome["err"].strip() else ["unsaid"]
        (disk / "filler").unlink()
        tally.add("home-later/full", "add", outcome, Truth(), also + still_works(fence, disk / "home", 1))
    tally.settle(record_property)
