"""Credentials in text, known by form: issuers' prefixes, private keys, passwords in addresses, values named as one.

The shapes are the issuers' published ones. No detector is depended on: detect-secrets 1.5 has had no release since
2024, misses Hugging Face, OpenAI project and W&B keys, and takes log lines for secrets.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of credential."""

    hints: tuple[str, ...]
    """Lower-case words of which the lower-cased text must hold one, so that clean text costs no pattern."""
    pattern: str
    """A group named `value` narrows what is masked."""


_NAMED = (
    r"(?i:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|client[_-]?secret|(?:access|auth|bot|hub|hf|refresh)[_-]?token"
    r"|(?:git|gh|hub|slack|wandb|openai)[_-]?(?:token|key)|passwd|password|passphrase|credential|pwd|密码|口令|密钥|令牌)"
)
_VALUE = r"(?P<value>(?![\"'$<{(\[]|(?i:none|null|true|false)\b|\*)[^\s\"',;，；。]{6,300})"

RULES: dict[str, Rule] = {
    "private-key": Rule(
        ("private key", "age-secret-key"),
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
        r"|AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    ),
    "url-password": Rule(
        ("://",), r"(?<=://)[^\s/:@\"']{0,80}:[^\s/@\"']{1,200}(?=@)|(?<=://)[A-Za-z0-9_-]{20,200}(?=@)"
    ),
    "huggingface": Rule(("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}\b"),
    "openai": Rule(
        ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|or-v1-|ant-[a-z0-9]+-)?(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"
    ),
    "aws": Rule(
        ("akia", "asia", "aws"),
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"
        r"|(?i:aws[a-z_ ]{0,20}(?:secret|key|token)[a-z_ ]{0,20})[\"']?\s*[:=]+\s*[\"']?(?P<value>[A-Za-z0-9/+=]{40,})",
    ),
    "google": Rule(
        ("aiza", "ya29.", "gocspx-"),
        r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}",
    ),
    "azure": Rule(
        ("accountkey", "sharedaccess", "sig=", "8q~", "7q~"),
        r"\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?P<value>[A-Za-z0-9%+/=&-]{20,})"
        r"|\bsig=[A-Za-z0-9%+/=]{30,}|\b[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}",
    ),
    "github": Rule(("gh", "github_pat_"), r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}\b"),
    "gitlab": Rule(("glpat-", "gldt-", "glrt-"), r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}"),
    "slack": Rule(
        ("xox", "xapp-", "hooks.slack.com"),
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]+",
    ),
    "wandb": Rule(
        ("wandb", "w&b", "weights"),
        r"\bwandb_v1_[A-Za-z0-9_]{20,}"
        r"|(?i:wandb|w&b|weights ?& ?biases)[^\n]{0,40}?(?<![0-9a-z])(?P<value>[0-9a-f]{40})\b",
    ),
    "service": Rule(
        (
            "_live_",
            "sg.",
            "npm_",
            "pypi-",
            "nvapi-",
            "gsk_",
            "r8_",
            "dop_v1_",
            "dapi",
            "sq0csp-",
            "discord",
            "telegram",
            "bot",
        ),
        r"\b[sr]k_live_[0-9A-Za-z]{16,}|\bSG\.[\w-]{20,24}\.[\w-]{40,46}|\bnpm_[A-Za-z0-9]{36}|\bpypi-Ag[\w-]{50,}"
        r"|\bnvapi-[\w-]{40,}|\bgsk_[A-Za-z0-9]{40,}|\br8_[A-Za-z0-9]{37}|\bdop_v1_[a-f0-9]{64}|\bdapi[a-f0-9]{32}\b"
        r"|\bsq0csp-[\w-]{43}|discord(?:app)?\.com/api/webhooks/[\w/-]{20,}|\b\d{8,10}:AA[\w-]{33}\b",
    ),
    "jwt": Rule(("eyj",), r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    "bearer": Rule(
        ("bearer ", "authorization: "),
        r"(?i:(?<=bearer )[A-Za-z0-9._~+/-]{20,}|(?<=authorization: )(?:token|basic) [A-Za-z0-9._~+/-]{16,})=*",
    ),
    "assignment": Rule(
        ("key", "secret", "token", "pass", "pwd", "credential", "密码", "口令", "密钥", "令牌"),
        rf"(?<![A-Za-z\[])(?:[A-Za-z0-9]+[_-])*{_NAMED}s?(?:[_-][A-Za-z0-9]+)*[\"']?\s*(?:=>|[:=：]|\s(?=\S*[0-9]))\s*[\"']?{_VALUE}"
        rf"|(?<![A-Za-z_-])(?i:--token|token)[\"']?\s*[:=]\s*[\"']?(?P<long>(?=\S*[0-9])(?=\S*[A-Za-z])[A-Za-z0-9_.-]{{20,}})",
    ),
}
_COMPILED = [(kind, rule.hints, re.compile(rule.pattern)) for kind, rule in RULES.items()]


def redact(text: str) -> str:
    """The text with every credential replaced by `[secret:KIND]`."""
    low = text.lower()
    for kind, hints, pattern in _COMPILED:
        if any(hint in low for hint in hints):
            text = pattern.sub(lambda match, kind=kind: _mask(match, kind), text)
    return text


def _mask(match: re.Match[str], kind: str) -> str:
    groups = match.groupdict()
    value = groups.get("value") or groups.get("long")
    return match[0].replace(value, f"[secret:{kind}]") if value else f"[secret:{kind}]"
