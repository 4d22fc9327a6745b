# ruff: noqa: E501  (patterns are read as a table)
"""Credentials in text, known by form: issuers' prefixes, private keys, passwords in addresses, values named as one.

One table for two readers. `redact` masks whatever has the form: it errs on hiding. The scan of training data
(`personal.find`) also asks the row's `valid`: it errs on not alarming, so placeholders and plain words are no finds.

The shapes are the issuers' published ones. No detector is depended on: detect-secrets 1.5 has had no release since
2024, misses Hugging Face, OpenAI project and W&B keys, and takes log lines for secrets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from .registry import table

Valid = Callable[[str, str, str], bool]
"""(value, the characters before it, a few after it) -> whether it counts in training data."""
PLACEHOLDER = re.compile(
    r"example|your|xxxx|placeholder|dummy|sample|changeme|redacted|test|fake|\*\*\*|\.\.\.|1234567|abcdef0|0{8}|<|\$\{|\{\{",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""`settings.api.KEY_2`, `OPENAI_API_KEY`: what stands for a secret in code."""


def entropy(text: str) -> float:
    """Bits per character of the text's own character frequencies."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) if text else 0.0


def irregular(value: str, kinds: int = 2, run: float = 3) -> bool:
    """Whether capitals, small letters and digits alternate as if drawn: `k3Qz9xW1`, not `V1ObjectReference2`."""
    pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", value)
    found = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return found >= kinds and sum(map(len, pieces)) <= run * len(pieces)


def token(least: int = 0, kinds: int = 0) -> Valid:
    """No placeholder, as irregular as a random token, of a length; with `kinds`, of so many kinds of letters, mixed."""

    def valid(value: str, before: str, after: str) -> bool:
        tail = re.sub(r"^[A-Za-z]+[_-](?:[a-z]+[_-])*", "", value)
        drawn = not kinds or irregular(value, kinds)
        return len(value) >= least and drawn and not PLACEHOLDER.search(value) and entropy(tail) > 2.8

    return valid


random_token = token()


def key_body(value: str, before: str, after: str) -> bool:
    """A private key with the key in it, and not only its heading."""
    return any(irregular(run, 2, 5) for run in re.findall(r"[A-Za-z0-9+/=]{40}", value[:1000])) or value.startswith(
        "AGE"
    )


def url_password(value: str, before: str, after: str) -> bool:
    """No template and no placeholder; without a user, it must look like a token."""
    _, colon, password = value.rpartition(":")
    if PLACEHOLDER.search(password) or set(value) & set("<>{}[]$"):
        return False
    if not colon:
        return irregular(value, 3)
    return len(password) >= 6 and password.lower() not in {"password", "passwd", "secret"}


def assigned(value: str, before: str, after: str) -> bool:
    """The value of a variable called token, password and the like: neither words nor code; a short one mixes more."""
    if len(value) < 10 or set(value) & set("(){}[]<>$") or IDENTIFIER.fullmatch(value):
        return False
    long = len(value) >= 20
    drawn = irregular(value, 2 if long else 3, 3.6 if long or set(value) & set("!@#^*~") else 3)
    return drawn and random_token(value, before, after)


@dataclass(frozen=True, eq=False)
class Secret:
    """One kind of credential: a row of the table."""

    kind: str
    """What stands in its place: `[secret:KIND]`."""
    hint: tuple[str, ...]
    """Lower-case words of which the lower-cased text must hold one, so that clean text costs no pattern."""
    pattern: str
    """A named group narrows what is masked. Bounded repeats where the start can come again: time stays linear."""
    shows: tuple[str, ...]
    """Lines in which both readers must find it, for `spelled`: its tests."""
    silent: tuple[str, ...] = ()
    """Similar lines in which neither may find anything; its tests."""
    valid: Valid = random_token
    """What is asked beside the form in training data; masking does not ask."""
    strong: bool = True
    """An unmistakable form: in training data a find of the first severity."""

    def __post_init__(self) -> None:
        for name in ("kind", "hint", "pattern", "shows"):
            said = getattr(self, name)
            if not said or not all(said):
                raise ValueError(f"SECRETS: {self.kind or self.pattern!r} has an empty {name}")

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)


_NAMED = (
    r"(?i:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|client[_-]?secret|(?:access|auth|bot|hub|hf|refresh)[_-]?token"
    r"|(?:git|gh|hub|slack|wandb|openai)[_-]?(?:token|key)|private[_-]?key|passwd|password|passphrase|credential|pwd|密码|口令|密钥|令牌)"
)
_VALUE = r"(?P<value>(?![\"'$<{(\[]|(?i:none|null|true|false)\b|\*)[^\s\"',;，；。]{6,300})"

SECRETS: tuple[Secret, ...] = (
    Secret("private-key", ("private key", "age-secret-key"),
           r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)|AGE-SECRET-KEY-1[A-Z0-9]{20,}",
           ("-----BEGIN RSA PRIVATE KEY----- {a60} -----END RSA PRIVATE KEY-----", "key: '-----BEGIN PGP PRIVATE KEY BLOCK----- {a64}", "AGE-SECRET-KEY-1{u58}"),
           ("expected BEGIN PRIVATE KEY", "-----BEGIN PUBLIC KEY----- {a60}"), key_body),
    Secret("huggingface-token", ("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}\b",
           ("login --token hf_{a34}", "api_org_{a34}"), ("hf_hub_download hf_transfer=1", "hf_olmo_{a34}"), token(33)),
    Secret("anthropic-key", ("sk-ant-",), r"\bsk-ant-(?:[a-z0-9]{1,12}-)?[A-Za-z0-9_-]{20,}",
           ("export KEY=sk-ant-api03-{a80}",), ("sk-ant-lion",), token(31)),
    Secret("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,}",
           ("OPENAI_API_KEY=sk-{a48}", "sk-proj-{a64}", "sk-or-v1-{x64}"), ("task-{a48}", "sk-learn-contrib-models-without-digits-in-them"), token(43)),
    Secret("aws-key", ("akia", "asia", "abia", "acca", "aws"),
           r"\b(?:AKIA|ASIA|ABIA|ACCA)(?![ACGTNU]{16}\b)[0-9A-Z]{16}\b"
           r"|(?i:aws[a-z_ ]{0,20}(?:secret|key|token)[a-z_ ]{0,20})[\"']?\s*[:=]+\s*[\"']?(?P<value>[A-Za-z0-9/+=]{40,})",
           ("aws_access_key_id = AKIA{u16}", "ASIA{u16}", "ABIA{u16}", "ACCA{u16}", "AWS_SECRET_ACCESS_KEY={a40}"),
           ("aws s3 cp s3://bucket/key .", "read ACCAGATTACAGATTACAGA")),
    Secret("google-key", ("aiza", "ya29.", "gocspx-"), r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}",
           ("key=AIza{a35}", "ya29.{a60}", "GOCSPX-{a28}"), ("AIzawa et al. 2024",)),
    Secret("azure-key", ("accountkey", "sharedaccess", "sig=", "8q~", "7q~"),
           r"\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?P<value>[A-Za-z0-9%+/=&-]{20,})"
           r"|\bsig=[A-Za-z0-9%+/=]{30,}|\b[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}",
           ("azure: AccountKey={a86}==;EndpointSuffix=x", "SharedAccessKey={a43}=", "https://x/y?sv=2024&sig={a43}%3D", "abc8Q~{a33}"),
           ("sig=sigmoid", "AccountKey=$KEY"), token(0, 3)),
    Secret("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}\b",
           ("https://ghp_{a36}@github.com/x/y", "ghs_{a36}", "github_pat_{a22}_{a59}"), ("ghp_token is not set",)),
    Secret("gitlab-token", ("glpat-", "gldt-", "glrt-"), r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}",
           ("glpat-{a20}", "gldt-{a20}", "glrt-{a20}"), ("glpat-token",)),
    Secret("slack-token", ("xox", "xapp-", "hooks.slack.com"),
           r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/(?P<value>[A-Za-z0-9/]+)",
           ("SLACK=xoxb-{d12}-{a24}", "xapp-1-{u11}-{d13}-{x64}", "https://hooks.slack.com/services/T{u8}/B{u8}/{a24}"), ("https://hooks.slack.com/services/",), token(15)),
    Secret("wandb-key", ("wandb", "w&b", "weights"),
           r"\bwandb_v1_[A-Za-z0-9_]{20,}|(?i:wandb|w&b|weights ?& ?biases)[^\n]{0,40}?(?<![0-9a-z])(?P<value>[0-9a-f]{40})\b",
           ("wandb login {x40}", "WANDB_API_KEY={x40}", "wandb_v1_{a60}"), ("weights at commit {x40}", "wandb: run {x8} sha256 {x64}")),
    Secret("stripe-key", ("_live_",), r"\b[sr]k_live_[0-9A-Za-z]{16,}", ("sk_live_{a24}", "rk_live_{a24}"), ("task_live_{a24}",)),
    Secret("sendgrid-key", ("sg.",), r"\bSG\.[\w-]{20,24}\.[\w-]{40,46}", ("SG.{a22}.{a43}",)),
    Secret("npm-token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}", ("//registry/:_authToken=npm_{a36}",), ("npm_config_cache=x",)),
    Secret("pypi-token", ("pypi-",), r"\bpypi-Ag[\w-]{50,}", ("pypi-AgEIcHlwaS5vcmc{a60}",), ("pypi-mirror",)),
    Secret("nvidia-key", ("nvapi-",), r"\bnvapi-[\w-]{40,}", ("NGC: nvapi-{a64}",), ("nvapi-client",)),
    Secret("groq-key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{40,}", ("gsk_{a52}",), ("gsk_score=0.5",)),
    Secret("replicate-token", ("r8_",), r"\br8_[A-Za-z0-9]{37}", ("r8_{a37}",), ("r8_unorm",)),
    Secret("databricks-token", ("dapi",), r"\bdapi[a-f0-9]{32}\b", ("dapi{x32}", "dapi{x32}-2"), ("dapi {x32}",)),
    Secret("digitalocean-token", ("dop_v1_",), r"\bdop_v1_[a-f0-9]{64}", ("dop_v1_{x64}",)),
    Secret("square-secret", ("sq0csp-",), r"\bsq0csp-[\w-]{43}", ("sq0csp-{a43}",)),
    Secret("discord-webhook", ("discord",), r"discord(?:app)?\.com/api/webhooks/(?P<value>[\w/-]{20,})", ("https://discord.com/api/webhooks/{d18}/{a68}",)),
    Secret("telegram-token", (":aa",), r"\b\d{8,10}:AA[\w-]{33}\b", ("chat via {d10}:AA{a33}",), ("12:AA:3F",)),
    Secret("jwt", ("eyj",), r"\beyJ[A-Za-z0-9_-]{10,1000}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*", ("cookie eyJ{a20}.eyJ{a30}.{a30}",), ("eyJ{a20}",)),
    Secret("bearer-token", ("bearer ", "authorization: "),
           r"(?i:bearer (?P<value>[a-z0-9._~+/-]{20,}=*)|authorization: (?:token|basic) (?P<basic>[a-z0-9._~+/-]{16,}=*))",
           ("Authorization: Bearer {a40}", "authorization: Basic {a24}=="), ("the bearer of this letter", "bearer token is missing"), token(0, 2)),
    Secret("url-password", ("://",), r"://(?!\[secret:)(?:(?P<value>[^\s/:@\"']{0,80}:[^\s/@\"']{1,200})|(?P<user>[A-Za-z0-9_-]{20,200}))@",
           ("postgres://admin:{a14}@db.prod.net/x", "redis://:{a14}@db:1", "git+https://{a32}@h/x"),
           ("http://10.0.0.7:8080/a", "see https://x.org/@someone", "ssh://git@host/x"), url_password),
    Secret("assigned-secret", ("key", "secret", "token", "pass", "pwd", "credential", "密码", "口令", "密钥", "令牌"),
           rf"(?<!\[){_NAMED}s?(?:[_-][A-Za-z0-9]{{1,40}}){{0,8}}[\"']?\s{{0,40}}(?:=>|[:=：]|\s(?=\S{{0,300}}[0-9]))\s{{0,40}}[\"']?{_VALUE}"
           r"|(?<![A-Za-z_-])(?i:--token|token)[\"']?\s{0,40}[:=]\s{0,40}[\"']?(?P<long>(?=\S{0,300}[0-9])(?=\S{0,300}[A-Za-z])[A-Za-z0-9_.-]{20,})",
           ('api_key = "{a32}"', "db_password={a12}!x", "密码：{a14}", '"passwd": "{a14}"', "secret_key: {x40}", "--hub_token={a20}", 'openaiApiKey: "{a32}"'),
           ("pad_token: <pad> eos_token=</s> num_tokens: {d9}", "tokens per second: {d7}.8 tokenizer_path: /data/llama", "max_tokens=4096", "password: None"),
           assigned, strong=False),
)  # fmt: skip
"""In order: where two claim the same text the first has it, so issuers stand before addresses and names."""
table("SECRETS", ((secret.kind, secret) for secret in SECRETS))

_HINTS = [(hint, secret) for secret in SECRETS for hint in secret.hint]


def redact(text: str) -> str:
    """The text with every credential replaced by `[secret:KIND]`."""
    low = text.lower()
    for secret in dict.fromkeys(secret for hint, secret in _HINTS if hint in low):
        text = secret.regex.sub(lambda match, kind=secret.kind: _masked(match, kind), text)
    return text


def _masked(match: re.Match[str], kind: str) -> str:
    (start, end), begin = match.span(match.lastgroup or 0), match.start()
    return f"{match[0][: start - begin]}[secret:{kind}]{match[0][end - begin :]}"


_DRAWN = {"a": "k7Qz2mW9xR4tB6nY1vH8cJ3pL5sD0gF", "x": "3f9a0c7e1b6d8254", "u": "7QZ2MW9XR4TB6NY1", "d": "8301947265"}


def spelled(line: str) -> str:
    """A line of `shows` or `silent` with `{a34}` as 34 letters and digits (`x` hex, `u` capitals, `d` digits).

    So the repository holds no credential, not even an invented one that other scanners would report.
    """
    return re.sub(r"\{([axud])(\d+)\}", lambda m: (_DRAWN[m[1]] * 9)[: int(m[2])], line)
