# ruff: noqa: E501  (patterns are read as a table)
"""The kinds of personal data and secrets that are detected: pattern, checksum, context.

A number without a checksum counts only with the right form and no context that says otherwise ("order no.").
Not detected: names outside labelled fields, postal addresses, face or voice, 15-digit Chinese identity numbers,
licence plates, and anything written out in words.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal

Class = Literal["personal", "secret"]
CONTEXT = 40
"""Characters before a value in which its context is looked for."""


@dataclass(frozen=True)
class Kind:
    """One kind of value."""

    name: str
    zh: str
    pattern: re.Pattern[str]
    """The value is group `v` if there is one, else the whole match."""
    hint: bytes
    """A coarse pattern without look-around; only texts that contain it are searched with `pattern`."""
    valid: Callable[[str, str, str], bool] = lambda value, before, after: True
    """(value, up to `CONTEXT` characters before, a few after) -> whether it counts."""
    kind: Class = "personal"
    strong: bool = True
    """A checksum or an unmistakable form backs it."""
    needs_company: bool = False
    """Counts only in a record that holds another personal value."""


def _context(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE | re.ASCII)


NOT_A_PERSON = _context(
    r"订单|单号|编号|流水|序列|快递|运单|商品|产品|型号|条码|批次|版本|校验|时间戳|端口"
    r"|order|invoice|serial|\bsku|\bisbn|\bissn|ticket|tracking|\bbatch|\bhash|checksum|\bbuild|\bcommit|timestamp"
    r"|\buid|\bguid|\buuid|item|product|\bepoch|\bstep|seed|offset|\bts\b|transaction|\bref|\bdoi|arxiv"
    r"|(?:^|[^a-z])(?:id|no|num|number|code|sn|oid|pid)\.?[\"']?\s*[:：=#]?\s*[\"']?$"
)
ID_WORDS = _context(r"身份|证件|id[ _-]?card|identity|national id|\bid number|idno|id_no")
PHONE_WORDS = _context(
    r"电话|手机|联系|致电|拨打|热线|短信|微信|传真|座机|tel|phone|mobile|cell|\bcall|fax|contact|whatsapp|\bsms"
)
CARD_WORDS = _context(
    r"银行|卡号|储蓄|信用卡|借记|账号|账户|转账|付款|汇款|card|\bvisa|master|amex|credit|debit|payment|\bpan\b"
)
IP_WORDS = _context(
    r"\bip\b|ip_|_ip|ipv4|ipv6|ip地址|地址|addr|host|server|client|login|登录|来源|访问|from|ping|ssh|curl|http|remote|peer"
)
VERSION_WORDS = _context(
    r"(?:\bv|version|ver\.?|release|版本|firmware|build|driver|cuda|package|sdk|chapter|section|==|>=|<=|~=)\s*[:：=]?\s*[\"']?$"
)
DIGITS = re.compile(r"\D")

CN_PROVINCES = {
    11,
    12,
    13,
    14,
    15,
    21,
    22,
    23,
    31,
    32,
    33,
    34,
    35,
    36,
    37,
    41,
    42,
    43,
    44,
    45,
    46,
    50,
    51,
    52,
    53,
    54,
    61,
    62,
    63,
    64,
    65,
    71,
    81,
    82,
    83,
}
IBAN_LENGTH = {"AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18,
               "EE": 20, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23,
               "IS": 26, "IT": 27, "KZ": 20, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18,
               "NO": 15, "PL": 28, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24,
               "SM": 27, "TR": 26, "UA": 29, "BR": 29, "EG": 29, "GE": 22, "PK": 24, "TN": 24}  # fmt: skip
COUNTRY_CODES = _context(
    r"^\+(?:1|7|20|27|3[0-4]|36|39|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|21[1-368]|22\d|23\d|24\d|25[0-8]|26\d|29[017-9]"
    r"|35\d|37\d|38[0-79]|42[0139]|50\d|59\d|67[02-9]|68\d|69\d|85[02356]|88[06]|96\d|97[1-7]|99[2-68])"
)
FILE_ENDINGS = {"png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "py", "md", "json", "html", "txt", "so",
                "local", "localdomain", "internal", "example", "invalid", "test", "lan"}  # fmt: skip
PLACEHOLDER_MAIL = re.compile(
    r"@(?:[\w.-]+\.)?(?:example|domain|email|mail|test|company|yourdomain|your-domain|sample|acme)\.(?:com|org|net|cn)$"
    r"|^(?:git|noreply|no-reply|user|username|name|your\.?name|foo|bar|test|someone|email|you|me|abc|xxx+)@",
    re.IGNORECASE,
)
PLACEHOLDER_SECRET = re.compile(
    r"example|your|xxxx|placeholder|dummy|sample|changeme|redacted|test|fake|\*\*\*|\.\.\.|1234567|abcdef0|0{8}|<|\$\{|\{\{",
    re.IGNORECASE,
)
SURNAMES = set(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭"
    "陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)


def cn_id_valid(value: str, before: str = "", after: str = "") -> bool:
    """GB 11643: province, date of birth, and the check character modulo 11; not where an order number stands."""
    if NOT_A_PERSON.search(before) and not ID_WORDS.search(before):
        return False
    if int(value[:2]) not in CN_PROVINCES:
        return False
    try:
        born = date(int(value[6:10]), int(value[10:12]), int(value[12:14]))
    except ValueError:
        return False
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(d) * w for d, w in zip(value[:17], weights, strict=True))
    return date(1900, 1, 1) <= born <= date.today() and "10X98765432"[total % 11] == value[17].upper()


def luhn(digits: str) -> bool:
    """The check digit of bank cards."""
    total = 0
    for i, d in enumerate(map(int, reversed(digits))):
        d = d * 2 if i % 2 else d
        total += d - 9 if d > 9 else d
    return total % 10 == 0


CARD_FORM = re.compile(
    r"62\d{14,17}|4\d{15}|4\d{12}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|35\d{14}|3(?:0[0-5]|[68]\d)\d{11}"
)


def card_valid(value: str, before: str, after: str) -> bool:
    """Issuer prefix, length and Luhn; a bare number of another scheme than UnionPay also needs context."""
    digits = DIGITS.sub("", value)
    groups = DIGITS.split(value)
    if not CARD_FORM.fullmatch(digits) or len(set(digits)) < 4 or not luhn(digits):
        return False
    if len(groups) > 1 and len(set(groups)) == 1:  # one number said again and again
        return False
    if CARD_WORDS.search(before):
        return True
    bare = digits.startswith("62") and not before.rstrip().endswith(("=", "[", ","))
    return not NOT_A_PERSON.search(before) and (bare or len(value) - len(digits) == 3)


def mobile_valid(value: str, before: str, after: str) -> bool:
    """A Chinese mobile number: allocated prefix (by the pattern) and no context of another number."""
    return len(set(value[-9:])) > 2 and bool(PHONE_WORDS.search(before) or not NOT_A_PERSON.search(before))


def phone_valid(value: str, before: str, after: str) -> bool:
    """International form with a known country code; national forms only after a telephone word."""
    digits = DIGITS.sub("", value)
    if len(set(digits[-7:])) < 2 or "555-01" in value:
        return False
    if value.startswith("+"):
        code = COUNTRY_CODES.match(value)
        return bool(code) and 8 <= len(digits) <= 15 and not NOT_A_PERSON.search(before[-12:])
    return bool(PHONE_WORDS.search(before))


def email_valid(value: str, before: str, after: str) -> bool:
    """Not a file name, and not a placeholder such as user@example.com."""
    domain = value.rsplit("@", 1)[1].lower()
    return (
        domain.rsplit(".", 1)[-1] not in FILE_ENDINGS
        and not PLACEHOLDER_MAIL.search(value)
        and (".." not in value and not before.endswith(("://", "/")))
    )


def iban_valid(value: str, before: str, after: str) -> bool:
    """Country length and the remainder modulo 97."""
    code = value.replace(" ", "").upper()
    if IBAN_LENGTH.get(code[:2]) != len(code):
        return False
    return int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1


def ip_valid(value: str, before: str, after: str) -> bool:
    """A public address; a dotted number that may be a version needs an address word before it."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    if not address.is_global or VERSION_WORDS.search(before) or value in {"8.8.8.8", "8.8.4.4", "1.1.1.1"}:
        return False
    return address.version == 6 or bool(IP_WORDS.search(before))


def ssn_valid(value: str, before: str, after: str) -> bool:
    """United States social security number: allocated ranges, and named as one."""
    area, group, serial = value.split("-")
    return (
        area not in {"000", "666"}
        and area < "900"
        and group != "00"
        and serial != "0000"
        and bool(re.search(r"ssn|social security", before, re.IGNORECASE))
    )


def secret_valid(value: str, before: str, after: str) -> bool:
    """Not a placeholder, and as irregular as a random token."""
    tail = re.sub(r"^[A-Za-z]+[_-](?:[a-z]+[_-])*", "", value)
    return not PLACEHOLDER_SECRET.search(value) and entropy(tail) > 2.8


def assigned_secret_valid(value: str, before: str, after: str) -> bool:
    """The value of a variable called token, password and the like, in quotes: mixed and irregular."""
    kinds = sum(bool(re.search(p, value)) for p in ("[a-z]", "[A-Z]", "[0-9]"))
    return secret_valid(value, before, after) and kinds >= 2 and entropy(value) > 3.5 and " " not in value


def entropy(text: str) -> float:
    """Bits per character of the text's own character frequencies."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) if text else 0.0


def surname_first(value: str, before: str, after: str) -> bool:
    return value[0] in SURNAMES


def _personal(
    name: str,
    zh: str,
    pattern: str,
    hint: bytes,
    valid: Callable[[str, str, str], bool],
    strong: bool = True,
    company: bool = False,
) -> Kind:
    return Kind(name, zh, re.compile(pattern, re.ASCII), hint, valid, "personal", strong, company)


def _secret(
    name: str, pattern: str, hint: bytes, valid: Callable[[str, str, str], bool] = secret_valid, strong: bool = True
) -> Kind:
    return Kind(name, name, re.compile(pattern, re.ASCII), hint, valid, "secret", strong)


EDGE, END = r"(?<![\w.+\-/@#])", r"(?![\w@]|[.\-]\w)"
LONG_NUMBER = rb"[0-9]([ -]?[0-9]){10}"

KINDS: tuple[Kind, ...] = (
    _secret("aws-key", r"(?<!\w)(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)", rb"A(?:K|S)IA[0-9A-Z]{16}"),
    _secret("anthropic-key", r"(?<!\w)sk-ant-[A-Za-z0-9_\-]{24,200}", rb"sk-ant-"),
    _secret("openai-key", r"(?<!\w)sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_\-]{40,200}(?![\w\-])", rb"sk-[A-Za-z0-9_-]{20}"),
    _secret("huggingface-token", r"(?<!\w)hf_[A-Za-z0-9]{30,40}(?!\w)", rb"hf_[A-Za-z0-9]{30}"),
    _secret("github-token", r"(?<!\w)(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255})", rb"gh[pousr]_[A-Za-z0-9]{30}|github_pat_"),
    _secret("gitlab-token", r"(?<!\w)glpat-[A-Za-z0-9_\-]{20,}", rb"glpat-"),
    _secret("slack-token", r"(?<!\w)xox[abeoprs]-[A-Za-z0-9\-]{10,250}|hooks\.slack\.com/services/T\w+/B\w+/\w{16,}", rb"xox[abeoprs]-|hooks\.slack\.com/"),
    _secret("google-key", r"(?<!\w)AIza[0-9A-Za-z_\-]{35}(?![\w\-])", rb"AIza[0-9A-Za-z_-]{30}"),
    _secret("stripe-key", r"(?<!\w)(?:sk|rk)_live_[0-9A-Za-z]{16,}", rb"[sr]k_live_"),
    _secret("package-token", r"(?<!\w)(?:npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_\-]{50,}|dop_v1_[a-f0-9]{64})", rb"npm_|pypi-AgEI|dop_v1_"),
    _secret("jwt", r"(?<!\w)eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}", rb"eyJ[A-Za-z0-9_-]{10}"),
    _secret("private-key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]{64,8000}?(?:-----END|$)", rb"PRIVATE KEY-----",
            lambda v, b, a: True),
    _secret("wandb-key", r"(?i:wandb)[^\n]{0,30}?(?<![0-9a-f])(?P<v>[0-9a-f]{40})(?![0-9a-f])", rb"[Ww][Aa][Nn][Dd][Bb]"),
    _secret("url-password", r"\b[a-z][a-z0-9+]{1,12}://[^\s:/@\"'<>{}$]{1,64}:(?P<v>[^\s:/@\"'<>{}$]{6,128})@[\w.\-]+", rb"://[^ /@]{1,64}:[^ /@]{3,64}@",
            lambda v, b, a: not PLACEHOLDER_SECRET.search(v) and v[0] != "[" and v.lower() not in {"password", "passwd", "secret"}),
    _secret("assigned-secret", r"(?i:api[_-]?key|secret(?:[_-]?key)?|access[_-]?token|auth[_-]?token|passw(?:or)?d|private[_-]?key)[\"']?\s*[:=]\s*"
            r"[\"'](?P<v>[A-Za-z0-9_\-+/=.]{20,200})[\"']", rb"(?i)(?:key|secret|token|passwo?r?d)[\"']? *[:=] *[\"']",
            assigned_secret_valid, strong=False),
    _personal("cn-id", "身份证号", r"(?<![\dA-Za-z])\d{17}[\dXx](?![\dA-Za-z])", rb"[0-9]{17}[0-9Xx]", cn_id_valid),
    _personal("iban", "国际银行账号", r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Za-z0-9])",
              rb"[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4}", iban_valid),
    _personal("bank-card", "银行卡号", r"(?<![\w.+\-/#])\d(?:[ -]?\d){12,18}" + END, LONG_NUMBER, card_valid),
    _personal("cn-mobile", "手机号", r"(?<![\w.\-/#])(?:(?:\+|00)?86[ -]?)?(?P<v>1(?:3\d|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|8\d|9[0-35-9])"
              r"(?:\d{8}|[ -]\d{4}[ -]\d{4}))" + END, LONG_NUMBER, mobile_valid, strong=False),
    _personal("phone", "电话号码", r"(?<![\w.\-/#+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|\(\d{3}\) ?\d{3}-\d{4}|[2-9]\d{2}[-.]\d{3}[-.]\d{4}"
              r"|\(?0\d{2,3}\)?[- ]?\d{7,8})" + END, rb"[0-9][0-9() .-]{7,}", phone_valid, strong=False),
    _personal("email", "邮箱", r"(?<![\w.+\-%/])[A-Za-z0-9][\w.+\-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,62})\.){1,4}[A-Za-z]{2,18}(?![\w@])",
              rb"@[A-Za-z0-9-]+\.", email_valid, strong=False),
    _personal("ip", "公网 IP", r"(?<![\w.\-:])(?:\d{1,3}\.){3}\d{1,3}(?![\w.\-]*\d)|(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){3,7}:?(?:[0-9a-fA-F]{1,4}:?){0,4}[0-9a-fA-F]{1,4}(?![\w:])",
              rb"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.|[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:", ip_valid, strong=False),
    _personal("us-ssn", "美国社会安全号", r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])", rb"[0-9]{3}-[0-9]{2}-[0-9]{4}", ssn_valid),
    _personal("passport", "护照号", r"(?i:护照(?:号码?)?|passport(?: no\.?| number)?)[\"']?\s*[:：=是为]?\s*[\"']?(?P<v>[A-Z]{1,2}\d{7,8})(?!\w)",
              "护照".encode() + rb"|[Pp][Aa][Ss][Ss][Pp][Oo][Rr][Tt]", lambda v, b, a: True),
    _personal("name", "姓名", r"(?:姓名|联系人|收件人|持卡人|客户)[\"']?\s*[:：]\s*[\"']?(?P<v>[\u4e00-\u9fff]{2,3})(?=[\s,，。;；、\"'|）)]|$)",
              "姓名|联系人|收件人|持卡人|客户".encode(), surname_first, strong=False, company=True),
)  # fmt: skip
