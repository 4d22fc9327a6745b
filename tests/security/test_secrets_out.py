"""What a run holds of credentials leaves by no channel: every shape, through everything that prints, keeps or sends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from triage.agent.casebook import Casebook
from triage.agent.conversation import Conversation, excerpts
from triage.agent.propose import Proposal
from triage.tools.boundary import Boundary
from triage.tools.findings import Evidence, Finding, Severity, clean
from triage.tools.secrets import SECRETS, spelled
from triage.ui import pages
from triage.ui.mcp_results import fit
from triage.ui.web.messages import said

EXAMPLE = Path(__file__).parents[2] / "evals" / "example" / "run-1" / "train.log"
TOKEN = spelled("hf_{a34}")
LAUNCH = (
    "#!/bin/bash\n# \x1b]0;owned\x07 \u202e\nexport HF_TOKEN={}\n"
    "torchrun train.py --learning_rate 0.3 --max_grad_norm 0\n"
)
D, W = spelled("{a12}"), spelled("{a40}")
BY_HAND = [
    ("DB_PASS=" + D, D),
    ("pass: " + D, D),
    ("PGPASSWORD=" + D, D),
    ("MY_SECRET=" + D, D),
    ("session_token: " + W, W),
    ("CLOUDFLARE_API_TOKEN=" + W, W),
    ("export ACCESS_KEY=" + D, D),
    ("encryption_key: " + D, D),
    ("accessKeySecret: " + D, D),
    ("train.py --password lettersonly", "lettersonly"),
    ("train.py --db-password 'correct horse battery'", "horse"),
    ('password: "correct horse"', "horse"),
    ("password=$" + D + "!", D),
    ("password=<" + D, D),
    ("password=(" + D, D),
    ("password=[" + D, D),
    ("password={" + D, D),
    ("password=*" + D, D),
    ("password: ab1c", "ab1c"),
    ("password: hunter,two2", "two2"),
    ('{\\"password\\": \\"' + D + '\\"}', D),
    ('{"Authorization": "Basic ' + D + '="}', D),
    ("client-key-data: " + W, W),
    ('{"auths": {"r.io": {"auth": "' + W + '"}}}', W),
    ("Cookie: sid=" + D, D),
    ("Set-Cookie: sid=" + D + "; Path=/", D),
    ("mysql -u root -p" + D + " db", D),
    ("sshpass -p " + D + " ssh h", D),
    ("curl -u a:" + D + " https://h", D),
    ("https://u:p@" + D + "/w@host/x", D),
]
"""(line, what may not leave), written from the list of an attack and not from the table."""
SHAPES = [(line, line) for s in SECRETS for line in map(spelled, s.shows)]


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
    said = triage("ask", "loss is nan", "--run", folder, "--html", page)
    case = said.split()[-1].decode()
    assert b"triage cases patch" in said
    outputs = [said, triage("ask", "loss is nan", "--run", folder, "--json"), triage("cases", "show", case)]
    outputs += [triage("cases", "show", case, "--json"), page.read_bytes(), triage("report", folder)]
    outputs += [file.read_bytes() for file in (tmp_path / "home").glob("*.sqlite3*")]
    for out in outputs:
        assert [mark for mark in (TOKEN.encode(), b"\x1b", "\u202e".encode(), b"owned") if mark in out] == []
    patch = triage("cases", "patch", case)
    assert TOKEN.encode() in patch
    subprocess.run(["patch", "-p1", "--binary"], input=patch, cwd=folder, check=True, capture_output=True)
    assert (folder / "launch.sh").read_text() == LAUNCH.format(TOKEN).replace("torchrun", "# x\ntorchrun").replace(
        "0.3", "0.15"
    )


@pytest.mark.parametrize(("line", "hidden"), BY_HAND, ids=[line[:30] for line, _ in BY_HAND])
def test_a_shape_written_without_the_table_is_masked(line, hidden):
    assert hidden not in clean(line)


def test_every_shape_is_out_of_every_channel(run, tmp_path):
    """All at once in the launch script, beside the changed line's neighbours and in the words of the question."""
    lines = [line for line, _ in SHAPES] + [line for line, _ in BY_HAND]
    for line, gone in [*SHAPES[:: len(SHAPES) // 12], *BY_HAND[:: len(BY_HAND) // 6]]:
        talk = Conversation(tmp_path / "home", use_model=False)
        (tmp_path / "home").mkdir(exist_ok=True)
        answer = talk.ask(f"loss is nan\n{line}", [run(line)])
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
    finding = Finding("x", Severity.S1, " ".join(lines[:40]), evidence=tuple(Evidence(text=line) for line in lines))
    assert [line for line in lines if line in str(finding)] == []
    assert [line for line in lines if line in Boundary().hide(line)] == []


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
