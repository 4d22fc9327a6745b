"""Credentials out of text before anybody else sees it.

One table of shapes that are secret by construction (issuer prefixes, private keys, passwords in addresses, named
credentials in assignments). It does not look for names or other personal data: that is `tools.data.pii`.
"""

from __future__ import annotations

import re

SECRETS: dict[str, str] = {
    "private-key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "huggingface": r"\bhf_[A-Za-z0-9]{20,}\b",
    "openai": r"\bsk-(?:proj-|svcacct-|ant-[a-z0-9]+-)?[A-Za-z0-9_-]{20,}",
    "aws-key-id": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "google": r"\bAIza[0-9A-Za-z_-]{35}\b|\bya29\.[0-9A-Za-z_-]{20,}",
    "github": r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}\b",
    "gitlab": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "slack": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]+",
    "azure": r"\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=[A-Za-z0-9%+/=&-]{20,}"
    r"|\bsig=[A-Za-z0-9%+/=]{30,}",
    "jwt": r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    "url-password": r"(?<=://)[^\s/:@]{1,80}:[^\s/@]{1,200}(?=@)",
    "bearer": r"(?i:(?<=bearer )|(?<=token )|(?<=basic ))[A-Za-z0-9._~+/-]{24,}=*",
    "assignment": r"(?i:(?<![a-z])(?:[a-z0-9]+[_-])*"
    r"(?:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|access[_-]?token|auth[_-]?token"
    r"|hf[_-]?token|(?:git|gh|wandb|slack|hub)[_-]?(?:token|key)|passwd|password|credential)s?)"
    r"[\"']?\s*(?:=>|[:=]|\s)\s*[\"']?(?P<value>(?![\"'$<{(]|None\b|null\b|true\b|false\b|\*)[^\s\"',;]{6,200})",
    "wandb": r"(?i:(?<=wandb login )|(?<=wandb.login\(key=.)|(?<=use_wandb[ =])|(?<=use-wandb[ =]))[0-9a-f]{40}\b"
    r"|\bwandb_v1_[A-Za-z0-9_]{20,}",
}
"""kind -> pattern; a group named `value` narrows what is masked."""

_ANY = re.compile("|".join(f"(?P<{kind.replace('-', '_')}>{pattern})" for kind, pattern in SECRETS.items()))


def redact(text: str) -> str:
    """The text with every credential replaced by `[secret:KIND]`."""
    return _ANY.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    kind = (match.lastgroup or "secret").replace("_", "-")
    kind = next((k for k in SECRETS if match.groupdict().get(k.replace("-", "_"))), kind)
    value = match.groupdict().get("value")
    shown = f"[secret:{kind}]"
    return match[0].replace(value, shown) if value else shown
