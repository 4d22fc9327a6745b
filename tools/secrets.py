# ruff: noqa: E501, SIM905  (patterns and words are read as a table)
"""Credentials in text, known by form: issuers' prefixes, private keys, passwords in addresses, values named as one.

One table for two readers. `redact` masks whatever has the form: it errs on hiding. The scan of training data
(`personal.find`) also asks the row's `valid`: it errs on not alarming, so placeholders and plain words are no finds.

The shapes are the issuers' published ones. No detector is depended on: detect-secrets 1.5 has had no release since
2024, misses Hugging Face, OpenAI project and W&B keys, and takes log lines for secrets.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NewType

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
    form: Callable[[str, str], bool] = lambda head, value: True
    """(what the pattern found before the value, the value) -> whether it is one: asked by both readers."""

    def __post_init__(self) -> None:
        for name in ("kind", "hint", "pattern", "shows"):
            said = getattr(self, name)
            if not said or not all(said):
                raise ValueError(f"SECRETS: {self.kind or self.pattern!r} has an empty {name}")

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where its values stand. What is none is read again from there on: it may hold one itself."""
        at = 0
        while match := self.regex.search(text, at):
            start, end = match.span(match.lastgroup or 0)
            if whole := self.form(text[match.start() : start], text[start:end]):
                yield start, end
            at = match.end() if whole or start == match.start() else start


_VALUES = (
    r"(?:\\{1,3}[\"'](?P<quoted>[^\"'\\\n]{1,300})\\|\"(?P<double>[^\"\n]{1,300})\"|'(?P<single>[^'\n]{1,300})'"
    r"|\\{0,3}[\"']?(?P<value>(?:[^\s\"',;，；。\\`]|,(?=[^\s\"',])(?!\w{1,40}[=:])){3,300}))"
)
_NAME = r"(?:(?<![\[A-Za-z0-9_-])[A-Za-z0-9_-]{0,80}(?i:key|token|secret|pass|pwd|credential|auth)[A-Za-z0-9_-]{0,80}|密码|口令|密钥|令牌)"
_LINE = (
    r"(?m:^[ \t]{0,40}(?:-[ ])?)[\w-]{0,80}(?i:password|passwd|passphrase|pwd|secret|credentials?|(?:db|root|admin|user)[_-]?pass|密码|口令)[\"']?:[ \t]{1,9}"
    r"(?!(?i:none|null|not|is|unset|invalid|missing|required|optional)\b)(?P<line>[^\s\"'\[\]{}|>&*!%@`$<(#\\-]\S{0,200}(?:[ \t]{1,9}[^\s#]\S{0,200}){1,30})"
)
"""A line of YAML: without quotes, the value of a password goes on over blanks, to the end or a comment."""
_SEPARATOR = r"(?:\\{0,3}[\"'])?(?:[ \t]{0,40}(?:=>|:[ ]?str[ ]?=|[:=：])[ \t]{0,40}|,?[ \t]{1,9}(?=[^\s-]))"
_NO_VALUE = re.compile(
    r"\$\{?[\w.:-]*\}?|\$\(.*|\{\{?[^{}]*\}\}?|<[A-Za-z_| /-]*>|<\|.*|[*.x•…]+|[-\d.,]{1,3}[a-z%]{0,3}|\[secret:.*|\[[a-z-]+-\d+\]|[\[({][\s\"'\])}]?|\w+\(.*|\w+(?:\.\w+)+[\[(].*"
    r"|.*(?:\.{3}|…)|(?i:your[_ -].*|none|null|nil|true|false|yes|no|on|off|str|string|bool|int|float|bytes|optional|required|missing|not|is|unset|invalid|empty|redacted|auto|default|ok|failed)",
    re.DOTALL,
)
"""References to a variable, templates, placeholders, brackets that open a structure, calls, small numbers, plain words."""
_ABOUT = set(
    "file path dir directory env name names ref refs len length field type class policy store manager provider count size id ids index hash version prefix suffix url uri format kind mode found".split()
)
"""Last words of names that say something of a credential, not the credential."""
_KEYS = set(
    "api access secret private encrypt encryption decrypt decryption signing master auth client deploy ssh license admin consumer hmac jwt fernet subscription git gh hub slack wandb openai hf anthropic account app".split()
)
_TOKENS = set(
    "access auth bot hub hf refresh api session npm vault git github gitlab gh slack wandb openai security personal deploy oauth csrf".split()
)
_NOT_PASS = set("forward backward bwd fwd first second third one two single multi last next by".split())


def _words(name: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\x00-\x7f]+", name)]


def _is_password(words: list[str]) -> bool:
    """Whether the name says that its value is a secret, whatever the value looks like."""
    whole = "".join(words)
    if re.search(r"passw|passphrase|密码|口令|密钥|令牌|(?:secret|credential)s?(?!ar|iv|ed)", whole):
        return True
    before = words[-2] if len(words) > 1 else ""
    return words[-1] == "pwd" or (words[-1] in ("pass", "dbpass") and before not in _NOT_PASS)


def _is_key(words: list[str]) -> bool:
    run = any(
        w in ("apikey", "secretkey", "accesskey", "privatekey", "authkey", "authtoken", "accesstoken") for w in words
    )
    return run or any((b == "key" and a in _KEYS) or (b == "token" and a in _TOKENS) for a, b in pairwise(words))


def named(head: str, value: str) -> bool:
    """Whether the name that stands before the value makes it a credential.

    A value named as a password counts whatever it looks like; one named as some token or key when it looks drawn.
    """
    head = head.lstrip("- \t") if head[:1].isspace() or head.startswith("- ") else head
    match = re.match(r"[\w-]+", head)
    name, value = (match[0] if match else ""), value.strip()
    words = _words(name)
    if not words or words[-1] in _ABOUT or _NO_VALUE.fullmatch(value.rstrip(")]},")):
        return False
    if re.match(r"[~.]{0,2}/(?:[\w.@+-]+/|[\w-]+\.\w+$)|[A-Z]:\\", value) and not re.search(r"[+=]|//", value):
        return False
    digit, letter, blank = (
        re.search(r"\d", value),
        re.search("[A-Za-z]", value),
        not re.search(r"[=:：]", head[len(name) :]),
    )
    if blank and not name.startswith("--") and not (digit and len(value) >= 6):
        return False
    if (_is_password(words) and not (blank and words[-1] == "pass")) or _is_key(words):
        return blank or name[:1] == "-" or len(value) > 5 or not value.isdigit()
    if blank and not name.startswith("--"):
        return False
    if words[-1] == "token":
        return bool(
            digit and letter and len(value) >= (8 if name.isupper() else 16) and re.fullmatch(r"[\w.~+/=-]+", value)
        )
    if words[-1] == "auth":
        return bool(re.search("[A-Z]", value) and re.fullmatch(r"[A-Za-z0-9+/]{11,}={0,2}", value))
    drawn = digit and re.search("[a-z]", value) and re.search("[A-Z]", value)
    return bool(words[-1] == "key" and len(words) > 1 and drawn and re.fullmatch(r"[A-Za-z0-9+/=]{20,}", value))


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
           r"\bwandb_v1_[A-Za-z0-9_]{20,}|(?i:wandb|w&b|weights ?& ?biases)(?:(?!(?i:commit|sha|hash|revision))[^\n]){0,40}?(?<![0-9a-z])(?P<value>[0-9a-f]{40})\b",
           ("wandb login {x40}", "WANDB_API_KEY={x40}", "wandb_v1_{a60}"), ("weights at commit {x40}", "wandb: run {x8} sha256 {x64}", "wandb commit: {x40}")),
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
    Secret("xai-key", ("xai-",), r"\bxai-[A-Za-z0-9]{40,}", ("xai-{a80}",), ("xai-sdk",)),
    Secret("langsmith-key", ("lsv2_",), r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", ("lsv2_pt_{x32}_{x10}",), ("lsv2_pt_missing",)),
    Secret("vault-token", ("hvs.", "hvb.", "hvr."), r"\bhv[sbr]\.[\w-]{20,}", ("login hvs.{a90}", "hvb.{a90}"), ("hvs.init",)),
    Secret("grafana-token", ("glsa_", "glc_"), r"\bglsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|\bglc_[A-Za-z0-9+/]{32,}={0,2}", ("glsa_{a32}_{x8}", "glc_{a60}"), ("glsa_x",)),
    Secret("tailscale-key", ("tskey-",), r"\btskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}", ("tskey-auth-{a16}-{a32}",), ("tskey-auth",)),
    Secret("pinecone-key", ("pcsk_",), r"\bpcsk_[A-Za-z0-9_]{20,}", ("pcsk_{a5}_{a60}",), ("pcsk_x",)),
    Secret("fireworks-key", ("fw_",), r"\bfw_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{20,40}\b", ("fw_{a24}",), ("fw_bwd_time fw_latency=3",)),
    Secret("notion-token", ("ntn_", "secret_"), r"\bntn_[A-Za-z0-9]{40,}|\bsecret_[A-Za-z0-9]{43}\b", ("ntn_{a46}", "x secret_{a43}"), ("ntn_x",)),
    Secret("linear-key", ("lin_",), r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}", ("lin_api_{a40}",), ("lin_api_x",)),
    Secret("perplexity-key", ("pplx-",), r"\bpplx-[A-Za-z0-9]{32,}", ("pplx-{a48}",), ("pplx-70b-online",)),
    Secret("doppler-token", ("dp.",), r"\bdp\.(?:st|pt|ct|sa|scim|audit)\.[\w.-]{30,}", ("dp.st.prd.{a40}", "dp.pt.{a43}"), ("dp.st.x",)),
    Secret("google-refresh-token", ("1//0",), r"\b1//0[\w-]{30,}", ("1//0{a60}",), ("1//0x",)),
    Secret("cloud-access-key", ("aklt", "ltai", "akid", "altak"), r"\bAKLT[A-Za-z0-9+/_-]{20,}={0,2}|\bLTAI[A-Za-z0-9]{16,24}\b|\bAKID[A-Za-z0-9]{32}\b|\b(?:bce-v3/)?ALTAK-[\w/-]{20,}",
           ("AKLT{a40}", "LTAI{a20}", "AKID{a32}", "bce-v3/ALTAK-{a21}/{x40}"), ("AKLT is not set", "LTAI5t")),
    Secret("chat-webhook", ("/hook/", "webhook/send", "robot/send"),
           r"(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/(?P<feishu>[\w-]{20,})|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=(?P<wecom>[\w-]{20,})"
           r"|oapi\.dingtalk\.com/robot/send\?access_token=(?P<dingtalk>\w{20,})",
           ("https://open.feishu.cn/open-apis/bot/v2/hook/{x8}-0c1d-4e2f-8a3b-{x12}", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={x8}-0c1d-4e2f-8a3b-{x12}",
            "https://oapi.dingtalk.com/robot/send?access_token={x64}"), ("https://open.feishu.cn/open-apis/bot/v2/hook/",)),
    Secret("docker-token", ("dckr_",), r"\bdckr_(?:pat|oat)_[\w-]{20,}", ("dckr_pat_{a27}",), ("dckr_pat_x",)),
    Secret("together-key", ("tgp_v1_",), r"\btgp_v1_[\w-]{30,}", ("tgp_v1_{a43}",)),
    Secret("sentry-token", ("sntry",), r"\bsntry[su]_[\w+/=-]{30,}", ("sntryu_{x64}",)),
    Secret("postman-key", ("pmak-",), r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}", ("PMAK-{x24}-{x34}",)),
    Secret("newrelic-key", ("nrak-",), r"\bNRAK-[A-Z0-9]{20,}", ("NRAK-{u27}",)),
    Secret("terraform-token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}", ("{a14}.atlasv1.{a67}",)),
    Secret("pulumi-token", ("pul-",), r"\bpul-[0-9a-f]{40}\b", ("pul-{x40}",), ("pul-request",)),
    Secret("atlassian-token", ("atatt3", "atctt3"), r"\bAT[AC]TT3[\w=-]{30,}", ("ATATT3{a90}",)),
    Secret("shopify-token", ("shp",), r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b", ("shpat_{x32}",)),
    Secret("tavily-key", ("tvly-",), r"\btvly-[\w-]{30,}", ("tvly-dev-{a32}",), ("tvly-dev",)),
    Secret("brevo-key", ("xkeysib-",), r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", ("xkeysib-{x64}-{a16}",)),
    Secret("supabase-key", ("sbp_", "sb_secret_"), r"\bsbp_[0-9a-f]{40}\b|\bsb_secret_[\w-]{20,}", ("sbp_{x40}", "sb_secret_{a31}")),
    Secret("runpod-key", ("rpa_",), r"\brpa_[A-Z0-9]{30,}[A-Za-z0-9]{0,20}", ("rpa_{u42}",), ("rpa_score",)),
    Secret("posthog-key", ("phx_", "phc_"), r"\bph[xc]_[A-Za-z0-9]{40,}", ("phx_{a43}",)),
    Secret("jwt", ("eyj",), r"\beyJ[A-Za-z0-9_-]{10,1000}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*", ("cookie eyJ{a20}.eyJ{a30}.{a30}",), ("eyJ{a20}",)),
    Secret("bearer-token", ("bearer ", "authorization"),
           r"(?i:bearer (?P<value>[a-z0-9._~+/-]{20,}=*)|authorization\\{0,3}[\"']?[ \t]{0,9}[:=][ \t]{0,9}\\{0,3}[\"']?(?:token|basic|apikey|bot|bearer)[ ](?P<basic>[a-z0-9._~+/-]{8,}=*))",
           ("Authorization: Bearer {a40}", "authorization: Basic {a24}=="), ("the bearer of this letter", "bearer token is missing"), token(0, 2)),
    Secret("url-password", ("://",), r"://(?!\[secret:)(?:(?P<value>[^\s/:@\"']{0,80}:(?!\d{1,5}/)[^\s\"'<>]{1,200})|(?P<user>[A-Za-z0-9_-]{20,200}))@(?!sha256:)",
           ("postgres://admin:{a14}@db.prod.net/x", "redis://:{a14}@db:1", "git+https://{a32}@h/x", "postgres://u:{a9}@{a3}/{a4}@db.prod.net/x"),
           ("http://10.0.0.7:8080/a", "see https://x.org/@someone", "ssh://git@host/x"), url_password),
    Secret("command-password", ("mysql", "mariadb", "sshpass", "curl", "docker login", "redis-cli"),
           r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]{0,200}?\s-p(?P<mysql>[^\s-]\S{1,100})|\bsshpass\s{1,9}-p\s{0,9}[\"']?(?P<ssh>[^\s\"']{1,200})"
           r"|\bcurl\b[^\n|;&]{0,200}?\s(?:-u|--user)[ =]{0,9}[\"']?[^\s:\"']{1,80}:(?P<curl>[^\s\"']{1,200})|\bdocker login\b[^\n|;&]{0,200}?\s-p[ =]?(?P<docker>[^\s\"']{1,200})"
           r"|\bredis-cli\b[^\n|;&]{0,200}?\s-a[ ](?P<redis>[^\s\"']{1,200})",
           ("mysql -u root -p{a14}", "sshpass -p '{a14}' ssh h", "curl -s -u admin:{a14} https://h/x", "docker login -u me -p {a24} reg"),
           ("mysql -u root -p db", "curl -u $CREDS https://h", "ssh -p 2222 host", "curl -s https://h/x:y"), strong=False, form=lambda head, value: not _NO_VALUE.fullmatch(value)),
    Secret("cookie", ("cookie",), r"(?i:\b(?:set-)?cookie[\"']?[ \t]{0,9}[:=][ \t]{0,9}[\"']?)(?P<value>[\w.-]{1,80}=[^\s\"';]{4,1000}(?:;[ ]?[\w.-]{1,80}(?:=[^\s\"';]{0,1000})?){0,40})",
           ("Cookie: session={a24}", "set-cookie: sid={a24}; Path=/; HttpOnly", '"Cookie": "a={a24}; b={x24}"'), ("cookies: 5", "cookie=true", "Cookie: consent"), strong=False),
    Secret("assigned-secret", ("key", "secret", "token", "pass", "pwd", "credential", "auth", "密码", "口令", "密钥", "令牌"),
           rf"{_LINE}|{_NAME}{_SEPARATOR}{_VALUES}",
           ('api_key = "{a32}"', "db_password={a12}!x", "密码：{a14}", '"passwd": "{a14}"', "secret_key: {x40}", "--hub_token={a20}", 'openaiApiKey: "{a32}"',
            "VAULT_TOKEN={a24}", "NPM_TOKEN={x8}-0c1d-4e2f-8a3b-{x12}", "PGPASSWORD={a14}", "accessKeySecret: {a30}", "encryption_key: {a32}", "--password {a14}",
            "client-key-data: {a60}", '{\\"password\\": \\"{a14}\\"}', '"auth": "{a40}"'),
           ("pad_token: <pad> eos_token=</s> num_tokens: {d9}", "tokens per second: {d7}.8 tokenizer_path: /data/llama", "max_tokens=4096", "password: None",
            "password=$DB_PASSWORD", "password: ${DB_PASSWORD}", "api_key=os.environ['KEY']", "secret_name: train-{x8}", "PWD=/home/me/run", "cache_key: {x40}",
            "forward_pass: 12.5ms", "bos_token: <|begin_of_text|>", "sort_key: LengthGroupedSampler", "eos_token_id: 128009", "image_token: <image_1>"),
           assigned, strong=False, form=named),
)  # fmt: skip
"""In order: where two claim the same text the first has it, so issuers stand before addresses and names."""
table("SECRETS", ((secret.kind, secret) for secret in SECRETS))

_HINTS = [(hint, secret) for secret in SECRETS for hint in secret.hint]


def redact(text: str) -> str:
    """The text with every credential replaced by `[secret:KIND]`."""
    low = text.lower()
    for secret in dict.fromkeys(secret for hint, secret in _HINTS if hint in low):
        parts, at = [], 0
        for start, end in secret.spans(text):
            parts += [text[at:start], f"[secret:{secret.kind}]"]
            at = end
        text = "".join((*parts, text[at:])) if parts else text
    return text


Shown = NewType("Shown", str)
"""Text of a run that has passed: no credential, no escape sequence, no control or direction mark. Made here only."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{30}|^\W*[A-Za-z0-9+/]*=*\W*$|^\W*(?:Proc-Type|DEK-Info|Version|Comment|Hash):")


def unstyled(text: str) -> str:
    """The text without escape sequences."""
    return _ESCAPES.sub("", text)


def plain(text: str) -> str:
    """The text without escape sequences, control characters and marks that turn the direction; lines stay lines."""
    text = unstyled(text)
    return text if text.isprintable() else "".join(filter(_plain, text))


def _plain(c: str) -> bool:
    return c in "\n\t" or c.isprintable() or unicodedata.category(c) == "Zs"


def visible(text: str) -> Shown:
    """Text of a run, of one line or many, as it may be printed, kept and sent."""
    return Shown(redact(plain(text)))


def visible_in(value: Any) -> Any:
    """JSON-ready data with every text in it passed: the last step before it is printed or kept."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(key) if isinstance(key, str) else key: visible_in(one) for key, one in value.items()}
    return [visible_in(one) for one in value] if isinstance(value, (list, tuple)) else value


def in_key(line: str, inside: bool) -> bool:
    """Whether the line after this one lies in a private key, if this one does or does not."""
    if edge := _KEY_EDGE.findall(line):
        return edge[-1] == "BEGIN"
    return inside and bool(_KEY_LINE.search(plain(line)))


def visible_lines(lines: Iterable[str]) -> Iterator[Shown]:
    """Consecutive lines of a file, each by itself, from its beginning: one inside a private key is masked whole."""
    inside = False
    for line in lines:
        after = in_key(line, inside)
        yield Shown("[secret:private-key]") if inside and (after or _KEY_EDGE.search(line)) else visible(line)
        inside = after


_DRAWN = {"a": "k7Qz2mW9xR4tB6nY1vH8cJ3pL5sD0gF", "x": "3f9a0c7e1b6d8254", "u": "7QZ2MW9XR4TB6NY1", "d": "8301947265"}


def spelled(line: str) -> str:
    """A line of `shows` or `silent` with `{a34}` as 34 letters and digits (`x` hex, `u` capitals, `d` digits).

    So the repository holds no credential, not even an invented one that other scanners would report.
    """
    return re.sub(r"\{([axud])(\d+)\}", lambda m: (_DRAWN[m[1]] * 9)[: int(m[2])], line)
