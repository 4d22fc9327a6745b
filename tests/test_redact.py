import pytest

from triage.tools.findings import clean
from triage.tools.redact import redact

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
