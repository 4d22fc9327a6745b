"""Planted secrets, made at run time so that the repository itself holds none; property tests without a deadline.

They draw the same examples each time; `HYPOTHESIS_PROFILE=drawn` has new ones.
"""

import os
import random
import signal
import string

import pytest
from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes its background jobs deaf to it

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def make_secrets(seed: int = 7) -> list[tuple[str, str, str]]:
    """(kind, the line it stands in, the secret) for 15 kinds, four lines each."""
    rng = random.Random(seed)

    def chars(n: int, of: str = LETTERS) -> str:
        return "".join(rng.choices(of, k=n - 2)) + rng.choice("acdeg") + rng.choice("2345679")

    upper = string.ascii_uppercase + string.digits
    made = {
        "huggingface": lambda: f"hf_{chars(34)}",
        "openai": lambda: f"sk-proj-{chars(64)}",
        "anthropic": lambda: f"sk-ant-api03-{chars(80)}",
        "wandb": lambda: "".join(rng.choices(HEX, k=40)),
        "aws-id": lambda: "AKIA" + "".join(rng.choices(upper, k=16)),
        "aws-secret": lambda: chars(40),
        "gcp": lambda: f"AIza{chars(35)}",
        "azure": lambda: chars(86) + "==",
        "github": lambda: f"ghp_{chars(36)}",
        "gitlab": lambda: f"glpat-{chars(20)}",
        "slack": lambda: f"xoxb-{rng.randrange(10**11, 10**12)}-{chars(24)}",
        "jwt": lambda: f"eyJ{chars(20)}.eyJ{chars(30)}.{chars(30)}",
        "url-password": lambda: chars(14),
        "password": lambda: chars(12) + "!x",
        "private-key": lambda: chars(60),
    }
    forms = {
        "wandb": ("wandb login {}", "WANDB_API_KEY={}", "wandb: Appending key: {}", "export WANDB_API_KEY='{}'"),
        "aws-secret": ("AWS_SECRET_ACCESS_KEY={}", "aws_secret_access_key: {}", "secret_key={}", "my_secret_key={}"),
        "azure": ("AccountKey={}", "azure: AccountKey={};EndpointSuffix=x", "SharedAccessKey={}", "x;AccountKey={}"),
        "url-password": ("http://bob:{}@proxy.example:80", "redis://:{}@db:1", "git+https://u:{}@h/x", "s3://a:{}@h/x"),
        "password": ("password: {}", "db_password={}", "密码：{}", '"passwd": "{}"'),
        "private-key": (
            "-----BEGIN RSA PRIVATE KEY----- {} -----END RSA PRIVATE KEY-----",
            "key: '-----BEGIN PRIVATE KEY----- {}'",
            "-----BEGIN OPENSSH PRIVATE KEY----- {}",
            "-----BEGIN PGP PRIVATE KEY BLOCK----- {}",
        ),
    }  # fmt: skip
    usual = (
        "RuntimeError: 401 for {}",
        "export TOKEN={}",
        "args: Namespace(token='{}', steps=10)",
        "using {} to log in",
    )
    out = []
    for kind, make in made.items():
        for form in forms.get(kind, usual):
            secret = make()
            out.append((kind, form.format(secret), secret))
    return out


@pytest.fixture(scope="session")
def planted():
    return make_secrets()


settings.register_profile("unhurried", deadline=None, derandomize=True)  # the same tree, the same verdict
settings.register_profile("drawn", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))
