"""What a run holds of credentials leaves by no channel: every shape, through everything that prints, keeps or sends."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from attack.channels import by_command, by_mcp, by_slack, by_web, plant
from attack.listener import listening
from attack.shapes import shapes

from triage.agent.casebook import Casebook
from triage.agent.conversation import Conversation
from triage.agent.propose import Proposal
from triage.tools.boundary import Boundary
from triage.tools.findings import Evidence, Finding, Severity, clean
from triage.tools.looking.lines import excerpts
from triage.tools.secrets import plain, redact, visible, visible_in, visible_lines
from triage.tools.secrets.table import SECRETS, spelled
from triage.ui import pages
from triage.ui.mcp_results import fit
from triage.ui.roots import Roots
from triage.ui.web.desk import Desk
from triage.ui.web.messages import said, spoken

EXAMPLE = Path(__file__).parents[2] / "evals" / "example" / "run-1" / "train.log"
TOKEN = spelled("hf_{a34}")
MASK = "[secret:"
LAUNCH = (
    "#!/bin/bash\n# \x1b]0;owned\x07 \u202e\nexport HF_TOKEN={}\n"
    "torchrun train.py --learning_rate 0.3 --max_grad_norm 0\n"
)
KNOWN, BLIND = shapes("known"), shapes("blind")
TABLE = [(line, line) for s in SECRETS for line in map(spelled, s.shows)]


@pytest.fixture
def run(tmp_path):
    def write(line):
        (folder := tmp_path / "run").mkdir(exist_ok=True)
        (folder / "train.log").write_bytes(EXAMPLE.read_bytes())
        (folder / "launch.sh").write_text(LAUNCH.format(TOKEN).replace("torchrun", f"# {line}\ntorchrun"))
        return folder

    return write


@pytest.fixture
def triage(tmp_path):
    def call(*args):
        command = [Path(sys.executable).with_name("triage"), *map(str, args)]
        env = os.environ | {"TRIAGE_HOME": str(tmp_path / "home")}
        return subprocess.run(command, capture_output=True, env=env, timeout=120).stdout

    return call


def test_a_patch_beside_a_token_shows_it_nowhere_and_the_real_one_is_made_on_request(run, triage, tmp_path):
    folder, page = run("x"), tmp_path / "page.html"
    said = triage("ask", "-v", "loss is nan", "--run", folder, "--html", page)
    case = said.split()[-1].decode()
    assert b"triage cases patch" in said
    outputs = [said, triage("ask", "loss is nan", "--run", folder, "--json"), triage("cases", "show", case)]
    outputs += [triage("cases", "show", case, "--json"), page.read_bytes(), triage("report", folder)]
    book = sqlite3.connect(next((tmp_path / "home").glob("*.sqlite3")))
    outputs.append("\n".join(book.iterdump()).encode())  # the file's own bytes may be anything
    for out in outputs:
        assert [mark for mark in (TOKEN.encode(), b"\x1b", "\u202e".encode(), b"owned") if mark in out] == []
    patch = triage("cases", "patch", case)
    assert TOKEN.encode() in patch
    subprocess.run(["patch", "-p1", "--binary"], input=patch, cwd=folder, check=True, capture_output=True)
    assert (folder / "launch.sh").read_text() == LAUNCH.format(TOKEN).replace("torchrun", "# x\ntorchrun").replace(
        "0.3", "0.15"
    )


def test_half_of_the_shapes_are_written_without_the_table():
    assert (len(KNOWN), len(BLIND)) == (75, 75)
    assert len({shape.line for shape in (*KNOWN, *BLIND)}) == 150


@pytest.mark.parametrize("name", ["known", "blind"])
def test_every_shape_is_masked_whatever_is_drawn_for_it(name):
    passes = {
        "text": visible,
        "line": clean,
        "boundary": Boundary().hide,
        "data": lambda line: json.dumps(visible_in({"a": [line]}), ensure_ascii=False),
        "lines": lambda line: "\n".join(visible_lines(["step 1", *line.split("\n"), "step 2"])),
        "finding": lambda line: repr(Finding("x", Severity.S1, line, evidence=(Evidence(text=line, value=line),))),
        "message": lambda line: str(spoken(line)) + str(said(visible(line))),
        "tool result": lambda line: str(fit({"text": line})),
    }
    for seed in range(5):
        out = [(s.issuer, to) for s in shapes(name, seed) for to, passed in passes.items() if s.out(passed(s.line))]
        assert out == [], f"seed {seed}"


def test_every_row_of_the_table_is_out_of_what_is_shown_kept_and_sent(run, tmp_path):
    (tmp_path / "home").mkdir()
    for line, gone in TABLE[:: len(TABLE) // 6]:
        answer = Conversation(tmp_path / "home", use_model=False).ask(f"loss is nan\n{line}", [run(line)])
        assert isinstance(answer.proposal, Proposal)
        assert answer.proposal.patch
        value = json.dumps(answer.as_json(), ensure_ascii=False)
        kept = json.dumps(Casebook(tmp_path / "home").get(answer.case).__dict__, ensure_ascii=False)
        shown = [
            answer.text,
            value,
            kept,
            pages.answer_page(answer),
            str(said(answer.text)),
            str(fit(answer.as_json())),
        ]
        assert [i for i, text in enumerate(shown) if gone in text or TOKEN in text] == [], line
    assert [line for line, _ in TABLE if line in Boundary().hide(line)] == []


def through(group, fence, listener, page, folder):
    """What came out of every channel for some shapes; those that show the run's lines must show something masked."""
    lines = [shape.line for shape in group]
    run = plant(folder / "run", lines)
    question = "\n".join(["loss is nan", *lines])
    out = by_command(fence, listener, run, question, folder)
    out |= by_mcp(run, question, folder / "home") | by_slack(listener, run, question, folder / "home")
    out |= by_web(page, page.desk, run, question)
    assert [name for name, text in out.items() if len(text) < 100] == []
    assert [n for n in ("terminal", "html", "json", "patch", "casebook", "trace", "model") if MASK not in out[n]] == []
    return out


@pytest.fixture(scope="module")
def listener():
    with listening() as one:
        yield one


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from triage.ui.web.app import Page

    folder = tmp_path_factory.mktemp("page")
    return Page(Desk(folder, Roots([folder.parent]), folder / "scratch"))


def leak(groups, fence, listener, page, tmp_path, record_property):
    leaks, passed = [], 0
    for number, group in enumerate(groups):
        (folder := tmp_path / str(number)).mkdir()
        out = through(group, fence, listener, page, folder)
        passed += len(group) * len(out)
        leaks += [(shape.issuer, name) for shape in group for name, text in out.items() if shape.out(text)]
        shutil.rmtree(folder)
    told = {"about": "secrets", "trials": sum(map(len, groups)), "commands": passed, "known": 0}
    broken = {"out": len(leaks)} if leaks else {}
    record_property("attack", told | {"broken": broken, "slowest": 0.0, "largest": 0})
    assert leaks == []


def grouped(many):
    """Three at a time; what holds a private key hides what stands below it, and goes alone."""
    alone = [[shape] for shape in many if "PRIVATE KEY" in shape.line]
    others = [shape for shape in many if "PRIVATE KEY" not in shape.line]
    return [*alone, *(others[i : i + 3] for i in range(0, len(others), 3))]


GROUPS = [*grouped(KNOWN), *grouped(BLIND)]
assert sum(map(len, GROUPS)) == 150


def test_no_shape_leaves_by_any_channel_in_part(fence, listener, page, tmp_path, record_property):
    leak([[KNOWN[1], KNOWN[16], BLIND[53]]], fence, listener, page, tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(9))
def test_no_shape_leaves_by_any_channel(fence, listener, page, part, tmp_path, record_property):
    leak(GROUPS[part::9], fence, listener, page, tmp_path, record_property)


@pytest.mark.parametrize("around", [0, 2])
def test_a_key_whose_beginning_is_cut_is_masked_line_by_line(around):
    [shape] = [shape for shape in BLIND if shape.issuer == "rsa-private-tail"]
    lines = [*["step 1 loss 2"] * around, *shape.line.split("\n")]
    shown = list(visible_lines(lines))
    assert not shape.out("\n".join(shown))
    assert (len(shown), shown[-1]) == (len(lines), lines[-1])


def test_an_excerpt_that_begins_inside_a_private_key_shows_none_of_it(tmp_path):
    body = [spelled("{a64}")[i:] + spelled("{a64}")[:i] for i in range(26)]
    text = [
        "step 1 loss 2.0",
        "-----BEGIN RSA PRIVATE KEY-----",
        *body,
        "-----END RSA PRIVATE KEY-----",
        "step 2 loss nan",
    ]
    (path := tmp_path / "train.log").write_text("\n".join(text) + "\n")
    for line in (12, 29, 30):
        (one,) = excerpts(path, [Evidence("train.log", line)])
        assert not {shown for _, shown in one.lines} & set(body)
    assert dict(one.lines)[30] == "step 2 loss nan"


def test_a_finding_and_its_evidence_pass_by_themselves():
    made = Finding("x", Severity.S1, f"a {TOKEN} \x1b[31m", evidence=(Evidence(text=f"{TOKEN}\u202e", value=TOKEN),))
    assert TOKEN not in repr(made)
    assert all(mark not in made.message + str(made.evidence[0].text) for mark in "\x1b\u202e")


def test_nothing_of_the_bundled_runs_the_runbook_and_the_docs_is_masked():
    folders = [EXAMPLE.parents[1], EXAMPLE.parents[2] / "data", EXAMPLE.parents[3] / "knowledge"]
    files = [
        p for folder in folders for p in folder.rglob("*") if p.suffix in (".log", ".yaml", ".json", ".md", ".txt")
    ]
    files += (EXAMPLE.parents[3] / "docs").rglob("*.md")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in files}
    assert len(texts) > 100
    assert [str(path) for path, text in texts.items() if redact(text) != text] == []
    assert [str(p) for p, text in texts.items() if "\n".join(visible_lines(text.split("\n"))) != plain(text)] == []
