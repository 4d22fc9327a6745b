"""What several tests make and read: files, records as JSON lines, prose of made-up words, the codes of a report."""

import json
import random
from pathlib import Path

WORDS = ["".join(random.Random(i).choices("abcdefghijklmnop", k=3 + i % 6)) for i in range(4000)]


def prose(rng, words=60) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def write(path: Path, rows) -> Path:
    """Records as JSON lines; a row that is a string stands as it is."""
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n" for r in rows))
    return path


def fill(folder: Path, files) -> Path:
    """A folder with these files in it: name -> text or bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def codes(report) -> dict[str, str]:
    """Code -> severity of the findings of a report."""
    return {f.code: str(f.severity) for f in report.findings}
