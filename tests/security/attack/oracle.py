"""What every command owes to any input: one function, `wrongs`, names the promises that were broken."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from attack.kinds import CANARY

CLEAN = re.compile(r"Nothing wrong (was )?found")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")
JSON = {"--json", "sarif"}


@dataclass(frozen=True)
class Truth:
    """What is known about the input, because the test made it."""

    unread: str = ""
    """"all": nothing of it can be read; "part": some cannot."""
    before: dict[str, str] = field(default_factory=dict)
    """Fingerprints of the person's files."""
    after: dict[str, str] = field(default_factory=dict)


def wrongs(outcome: dict, truth: Truth) -> list[str]:
    """The broken promises, by name, the worst first."""
    code, out, err = outcome["code"], outcome["out"], outcome["err"]
    said = out + err
    broken = {
        "executed": CANARY.exists(),
        "changed": truth.before != truth.after,
        outcome["why"]: outcome["why"] in ("hang", "memory"),
        "traceback": "Traceback (most recent call last)" in err,
        "internal-error": "internal error" in said or "internal errors" in said,
        "status": not outcome["why"] and code not in (0, 1, 2),
        "control": any(UNSAFE.search(s) for s in strings(out)) or bool(UNSAFE.search(err)),
        "not-json": not outcome["why"] and code in (0, 1) and bool(JSON & set(outcome["argv"])) and not parses(out),
        "unread-clean": not outcome["why"] and bool(truth.unread) and clean(outcome, truth.unread),
    }
    CANARY.unlink(missing_ok=True)
    return [name for name, is_so in broken.items() if is_so]


def strings(out: str) -> Iterator[str]:
    """Every string that a reader of this output gets: of JSON also what its escapes stand for."""
    yield out
    try:
        value = json.loads(out)
    except ValueError:
        return
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one.replace("\r\n", "\n")  # a patch of a file with such ends must keep them
        elif isinstance(one, dict):
            todo += [*one, *one.values()]
        elif isinstance(one, list):
            todo += one


def parses(out: str) -> bool:
    try:
        json.loads(out)
    except ValueError:
        return False
    return True


def clean(outcome: dict, unread: str) -> bool:
    """Does it say that nothing is wrong? Where a part was unread, a check that is said to have failed is enough."""
    out = outcome["out"]
    try:
        value = json.loads(out)
    except ValueError:
        value = None
    if isinstance(value, dict) and "state" in value:
        return value["state"] == "healthy"
    if outcome["code"] != 0:
        return bool(CLEAN.search(out)) and unread == "all"
    if unread == "all":
        return True
    if isinstance(value, dict):
        return not any(check.get("result") == "failed" for check in value.get("checks", ()))
    return "could not be checked" not in out


def prints(folder: Path) -> dict[str, str]:
    """A fingerprint of every file: content of small ones, else size; mode; target of a link. Opens no link or pipe."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(base, name)
            facts = os.lstat(path)
            mark = f"{facts.st_mode:o} {facts.st_size if not stat.S_ISDIR(facts.st_mode) else ''}"
            if stat.S_ISREG(facts.st_mode) and facts.st_size < 64 << 20:
                mark += hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()
            elif stat.S_ISLNK(facts.st_mode):
                mark += os.readlink(path)
            found[path] = mark
    return found
