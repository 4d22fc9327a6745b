"""The usual ways of writing a defect: each is found, and its mended sibling is left alone.

`forms/*.txt` hold programs, each under `=== codes | what is special`; lines that begin with `-` stand in the bad
program only, those with `+` in the good one only. `silent/*.txt` hold sound programs that come near a defect.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.tools.code.check import RULES, judged
from triage.tools.code.source import parse

HEAD = (
    "import torch\nimport torch.distributed as dist\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
)


def forms() -> Iterator[tuple[str, str, str]]:
    for path in sorted((Path(__file__).parent / "forms").glob("*.txt")):
        for block in path.read_text().split("=== ")[1:]:
            head, _, body = block.partition("\n")
            codes, _, title = head.partition(" | ")
            yield codes, f"{path.stem}: {title}", body


def side(body: str, mark: str) -> str:
    rows = body.splitlines(keepends=True)
    return HEAD + "".join(r[1:] if r[0] == mark else r for r in rows if r[0] not in "+-" or r[0] == mark)


CASES = [pytest.param(*f, id=f"{f[0]}: {f[1]}") for f in forms()]


@pytest.mark.parametrize(("codes", "title", "body"), CASES)
def test_a_usual_way_of_writing_a_defect_is_found_and_its_sound_sibling_is_not(codes, title, body):
    wanted = set(codes.split(","))
    bad, _ = judged(parse(side(body, "-"), "train.py"), RULES.values())
    good, _ = judged(parse(side(body, "+"), "train.py"), RULES.values())
    assert wanted & {f.code for f in bad}, bad
    assert not [f for f in good if f.code in wanted or str(f.severity) != "S3"], good


SILENT = [
    pytest.param(body, id=f"{path.stem}: {title}")
    for path in sorted((Path(__file__).parent / "silent").glob("*.txt"))
    for title, _, body in (b.partition("\n") for b in path.read_text().split("=== ")[1:])
]


@pytest.mark.parametrize("body", SILENT)
def test_what_only_looks_like_a_defect_is_left_alone(body):
    found, broken = judged(parse(HEAD + body, "train.py"), RULES.values())
    assert not broken
    assert not [f for f in found if str(f.severity) != "S3"], found
