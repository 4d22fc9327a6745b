from pathlib import Path

import pytest

import triage.evals
from triage.tools.boundary import Boundary
from triage.tools.findings import clean
from triage.tools.secrets import redact

A40 = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "secret",
    [
        "hf_" + "a1B2" * 9,
        "sk-proj-" + "Ab1_" * 10,
        "sk-ant-api03-" + "Ab1_" * 10,
        "AKIA" + "ABCD1234" * 2,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2_" * 9,
        "xoxb-123456789012-abcdefABCDEF",
        "AIza" + "a" * 35,
        "glpat-" + "a1" * 12,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_a_credential_never_survives(secret):
    assert secret not in clean(f"export X={secret} && python train.py")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("WANDB_API_KEY=" + A40, A40),
        ("wandb login " + A40, A40),
        ("password: correct-horse", "correct-horse"),
        ("--hub_token=abcdefgh12345678", "abcdefgh12345678"),
        ("https://user:s3cr3t@registry.example/x", "s3cr3t"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNz"),
    ],
)
def test_a_named_credential_is_masked_by_its_context(text, hidden):
    assert hidden not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "step 4000 loss 1.2345678901 grad_norm nan",
        f"commit {A40}",
        "pad_token: <pad> eos_token=</s> num_tokens: 123456789",
        "tokens per second: 1234567.8 tokenizer_path: /data/llama",
        "max_tokens=4096 token_type_ids missing",
        "password: None",
    ],
)
def test_training_logs_are_left_alone(text):
    assert redact(text) == text


def test_clean_strips_escape_sequences_and_bounds_the_text():
    assert clean("\x1b[31mred\x1b[0m\x07 [/x]") == "red [/x]"
    assert len(clean("x" * 10_000)) == 400


def test_sixty_planted_secrets_of_fifteen_kinds_are_masked(planted):
    assert (len(planted), len({kind for kind, _, _ in planted})) == (60, 15)
    assert [(kind, line) for kind, line, secret in planted if secret in redact(line)] == []


def test_clean_training_logs_pass_the_boundary_unchanged():
    examples = (Path(triage.evals.__path__[0]) / "example").glob("run-*/train.*")
    lines = [line for file in examples for line in file.read_text().splitlines()]
    lines += [f"step {i} loss {5 / (i + 1):.10f} sha {i * 7919:040x} id={i * 104729:012d}" for i in range(500)]
    changed = [line for line in lines if Boundary().hide(line) != line]
    assert len(changed) < 0.01 * len(lines), changed[:5]


def test_the_boundary_hides_personal_data_and_puts_it_back_where_asked():
    boundary = Boundary()
    line = "mail zhang.wei@corp-lab.cn, again zhang.wei@corp-lab.cn, not li.na@corp-lab.cn"
    hidden = boundary.hide(line)
    assert hidden == "mail [email-1], again [email-1], not [email-2]"
    assert boundary.restore(hidden) == line


def test_a_secret_is_not_put_back():
    boundary, token = Boundary(), "hf_" + "a1B2" * 9
    assert boundary.restore(boundary.hide(f"token {token}")) == "token [secret:huggingface]"


@pytest.mark.parametrize(
    ("also", "text", "gone"),
    [
        ("paths", "wrote /home/wei/exp42/ckpt/model.pt", "/home/wei/exp42"),
        ("hosts", "node17: connection to 10.0.3.7:29500 refused", "10.0.3.7"),
        ("hosts", "node17: connection to 10.0.3.7:29500 refused", "node17"),
        ("users", "sudo: user=weizhang ran /usr/bin/x", "weizhang"),
    ],
)
def test_names_of_machines_people_and_folders_are_hidden_on_request(also, text, gone):
    assert gone in Boundary().hide(text)
    boundary = Boundary([also])
    assert gone not in boundary.hide(text)
    assert boundary.restore(boundary.hide(text)) == text
