"""Folders and files that may not be read: said, never left out in silence, and never the end of the whole command."""

import os

import pytest
from attack.fence import Tally, name_of
from attack.kinds import KINDS, lay
from attack.oracle import Truth, prints

pytestmark = pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/proc/self/status"), reason="root, not Linux")

ASK = ("ask", "loss is nan", "--run", "{run}", "--json")
LOOKS = {
    "logs": (("log", "metrics-jsonl"), [("scan", "{run}"), ASK]),
    "configs": (("yaml", "launch"), [("lint", "{run}"), ASK]),
    "data": (("data-jsonl", "parquet"), [("data", c, "{run}", "--workers", "1") for c in ("check", "pii", "dedup")]),
    "checkpoints": (("safetensors", "config-json"), [("checkpoint", "check", "{run}")]),
}
SHUT = {"folder-000": 0, "folder-no-list": 0o311, "folder-no-enter": 0o444, "file-000": 0, "file-write-only": 0o222}


def healthy(run):
    """Something that can be read lies beside it, and nothing is wrong with it."""
    lay(KINDS["data-jsonl"], run)
    lay(KINDS["safetensors"], run)
    (run / "good.log").write_text("".join(f"{{'loss': {2 - i / 100}, 'step': {i}}}\n" for i in range(1, 60)))
    (run / "good.yaml").write_text("learning_rate: 0.0001\nmax_steps: 100\nwarmup_steps: 10\nmax_grad_norm: 1.0\n")


@pytest.mark.parametrize("how", SHUT)
@pytest.mark.parametrize("what", LOOKS)
def test_what_may_not_be_read_is_said(fence, what, how, tmp_path, record_property):
    tally = Tally("permissions", trials=1)
    kinds, commands = LOOKS[what]
    run = tmp_path / "run"
    healthy(run)
    for kind in kinds:
        lay(KINDS[kind], run / "shut")
    shut = run / "shut" if how.startswith("folder") else run / "shut" / KINDS[kinds[0]].path
    shut.chmod(SHUT[how])
    try:
        for command in commands:
            argv = [part.format(run=run) for part in command]
            [outcome] = fence.run(argv, home=tmp_path / "home")
            said = outcome["out"] + outcome["err"]
            also = [] if "shut" in said or outcome["code"] == 2 else ["unsaid"]
            also += ["aborted"] if outcome["code"] == 2 else []
            tally.add(f"{what}/{how}", name_of(command), outcome, Truth("part"), also)
    finally:
        shut.chmod(0o700)
    assert prints(run)
    tally.settle(record_property)
