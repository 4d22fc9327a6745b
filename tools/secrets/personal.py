# ruff: noqa: E501  (patterns are read as a table)
"""Personal data in text, and beside it the secrets of `secrets`: pattern, checksum, context.

A number without a checksum counts only with the right form and no context that says otherwise ("order no.").
Hyperscan looks for a coarse form of every pattern first, so that clean text costs one pass.
Not detected: names outside labelled fields, postal addresses, face or voice, 15-digit Chinese identity numbers,
licence plates, and anything written out in words.
"""

from __future__ import annotations

import ipaddress
import re
import threading
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Literal

from ..patterns import bounded
from .forms import Valid
from .row import Secret
from .table import SECRETS

Class = Literal["personal", "secret"]
CONTEXT = 40
"""Characters before a value in which its context is looked for."""


@dataclass(frozen=True)
class Kind:
    """One kind of value."""

    name: str
    pattern: re.Pattern[str]
    """The value is its named group if there is one, else the whole match."""
    valid: Valid = lambda value, before, after: True
    """(value, up to `CONTEXT` characters before, a few after) -> whether it counts."""
    kind: Class = "personal"
    strong: bool = True
    """A checksum or an unmistakable form backs it."""
    needs_company: bool = False
    """Counts only in a record that holds another personal value."""
    secret: Secret | None = None
    """The row of the table of credentials that it is."""

    def spans(self, text: str) -> Iterable[tuple[int, int]]:
        found = self.pattern.finditer(text)
        return self.secret.spans(text) if self.secret else (match.span(match.lastgroup or 0) for match in found)


@dataclass(frozen=True)
class Hit:
    """One value, by its place in the text; the value itself is not kept."""

    kind: Kind
    start: int
    end: int


def _context(words: str) -> re.Pattern[str]:
    return bounded(words, re.IGNORECASE | re.ASCII)


_OTHER = (
    r"订单|单号|编号|流水|序列|快递|运单|商品|产品|型号|条码|批次|版本|校验|时间戳|端口"
    r"|order|invoice|serial|\bsku|\bisbn|\bissn|ticket|tracking|\bbatch|\bhash|checksum|\bbuild|\bcommit|timestamp"
    r"|\buid|\bguid|\buuid|item|product|\bepoch|\bstep|seed|offset|\bts\b|transaction|\bref|\bdoi|arxiv"
)
OTHER_NUMBER = _context(_OTHER)
NOT_A_PERSON = _context(rf"{_OTHER}|(?:^|[^a-z])(?:id|no|num|number|code|sn|oid|pid)\.?[\"']?\s*[:：=#]?\s*[\"']?$")
ID_WORDS = _context(
    r"身份|证件|id[ _-]?card|identity|national id|\bid number|idno|id_no"
    r"|(?:user|person|citizen|resident|customer|client|member|patient|student|employee|holder|owner)(?:'?s)?[ _-]?id\b"
)
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

CN_PROVINCES = {11, 12, 13, 14, 15, 21, 22, 23, 31, 32, 33, 34, 35, 36, 37, 41, 42, 43, 44, 45, 46, 50, 51, 52, 53, 54, 61,
                62, 63, 64, 65, 71, 81, 82, 83}  # fmt: skip
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
SURNAMES = set(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭"
    "陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)


def cn_id_valid(value: str, before: str = "", after: str = "") -> bool:
    """GB 11643: province, date of birth, and the check character modulo 11; not where an order number stands.

    After a mere "id" or "no." a number may be anything, but one that ends with X is no number.
    """
    other = OTHER_NUMBER if value[17] in "xX" else NOT_A_PERSON
    if other.search(before) and not ID_WORDS.search(before):
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


TEST_CARDS = frozenset(
    [
        "4242424242424242",
        "4000056655665556",
        "4012888888881881",
        "4111111111111111",
        "4222222222222",
        "5555555555554444",
        "5105105105105100",
        "5200828282828210",
        "2223003122003222",
        "378282246310005",
        "371449635398431",
        "378734493671000",
        "6011111111111117",
        "6011000990139424",
        "30569309025904",
        "38520000023237",
        "3530111333300000",
        "3566002020360505",
        "6200000000000005",
    ]
)
"""Numbers that payment services publish for tests: nobody's."""
OTHER_BEFORE, OTHER_AFTER = re.compile(r"\d[\s,;]{1,3}$"), re.compile(r"[\s,;]{1,3}\d")
"""A number right before or behind another."""


def card_valid(value: str, before: str, after: str) -> bool:
    """Issuer prefix, length and Luhn; a bare number of another scheme than UnionPay also needs context."""
    digits = DIGITS.sub("", value)
    groups = DIGITS.split(value)
    if not CARD_FORM.fullmatch(digits) or len(set(digits)) < 4 or digits in TEST_CARDS or not luhn(digits):
        return False
    if len(groups) > 1 and len(set(groups)) == 1:  # one number said again and again
        return False
    if CARD_WORDS.search(before):
        return True
    if OTHER_BEFORE.search(before[-6:]) or OTHER_AFTER.match(after[:6]):
        return False  # one of many numbers: one in ten passes the check by chance
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


def surname_first(value: str, before: str, after: str) -> bool:
    return value[0] in SURNAMES


def _personal(name: str, pattern: str, valid: Valid, strong: bool = True, company: bool = False) -> Kind:
    return Kind(name, bounded(pattern, re.ASCII), valid, "personal", strong, company)


END = r"(?![\w@]|[.\-]\w)"

KINDS: tuple[Kind, ...] = (
    *(Kind(s.kind, s.regex, s.valid, "secret", s.strong, secret=s) for s in SECRETS),
    _personal("cn-id", r"(?<![\dA-Za-z])\d{17}[\dXx](?![\dA-Za-z])", cn_id_valid),
    _personal("iban", r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Za-z0-9])", iban_valid),
    _personal("bank-card", r"(?<![\w.+\-/#])\d(?:[ -]?\d){12,18}" + END, card_valid),
    _personal("cn-mobile", r"(?<![\w.\-/#])(?:(?:\+|00)?86[ -]?)?(?P<v>1(?:3\d|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|8\d|9[0-35-9])"
              r"(?:\d{8}|[ -]\d{4}[ -]\d{4}))" + END, mobile_valid, strong=False),
    _personal("phone", r"(?<![\w.\-/#+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|\(\d{3}\) ?\d{3}-\d{4}|[2-9]\d{2}[-.]\d{3}[-.]\d{4}"
              r"|\(?0\d{2,3}\)?[- ]?\d{7,8})" + END, phone_valid, strong=False),
    _personal("email", r"(?<![\w.+\-%/])[A-Za-z0-9][\w.+\-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,62})\.){1,4}[A-Za-z]{2,18}(?![\w@])", email_valid, strong=False),
    _personal("ip", r"(?<![\w.\-:])(?:\d{1,3}\.){3}\d{1,3}(?![\w.\-]*\d)|(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){3,7}:?(?:[0-9a-fA-F]{1,4}:?){0,4}[0-9a-fA-F]{1,4}(?![\w:])", ip_valid, strong=False),
    _personal("us-ssn", r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])", ssn_valid),
    _personal("passport", r"(?i:护照(?:号码?)?|passport(?: no\.?| number)?)[\"']?\s*[:：=是为]?\s*[\"']?(?P<v>[A-Z]{1,2}\d{7,8})(?!\w)", lambda v, b, a: True),
    _personal("name", r"(?:姓名|联系人|收件人|持卡人|客户)[\"']?\s*[:：]\s*[\"']?(?P<v>[一-鿿]{2,3})(?=[\s,，。;；、\"'|）)]|$)", surname_first, strong=False, company=True),
)  # fmt: skip


WIDE = {0xFF10 + i: str(i) for i in range(10)} | {0xFF20: "@", 0xFF0B: "+", 0xFF38: "X", 0xFF0D: "-"}


def find(text: str) -> list[Hit]:
    """All values in one text, in order, not overlapping (the first kind of the table wins)."""
    if not text.isascii():
        text = text.translate(WIDE)
    hits: list[Hit] = []  # in order, and none over another
    for kind in _likely(text):
        for start, end in kind.spans(text):
            before, after = text[max(0, start - CONTEXT) : start], text[end : end + 8]
            at = bisect_left(hits, end, key=lambda h: h.start)
            if kind.valid(text[start:end], before, after) and not (at and start < hits[at - 1].end):
                hits.insert(at, Hit(kind, start, end))
    company = any(h.kind.kind == "personal" and not h.kind.needs_company for h in hits)
    return [h for h in hits if company or not h.kind.needs_company]


SMALL = 256 << 10
"""Characters up to which a thread is better served by `re` than by compiling the database (0.2 s)."""


class _Own(threading.local):
    """What each thread has for itself."""

    seen = 0
    """Characters searched so far."""
    scratch: Any = None
    """Hyperscan's working space."""


_OWN = _Own()


@cache
def _database() -> Any:
    """Hyperscan database of the patterns, each widened to what hyperscan can see; None where it cannot run."""
    try:
        import hyperscan
    except ImportError:
        return None
    database = hyperscan.Database()
    flags = hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_UTF8
    coarse = [(n, one) for n, k in enumerate(KINDS) for one in (k.secret and k.secret.sieve) or (k.pattern.pattern,)]
    patterns = [re.sub(r"\{(\d+),\d+\}", r"{\1,}", one).encode() for _, one in coarse]  # long counts compile slowly
    database.compile(
        expressions=patterns, ids=[n for n, _ in coarse], elements=len(coarse), flags=[flags] * len(coarse)
    )
    return database


def _likely(text: str) -> list[Kind]:
    """The kinds of which the text may hold a value, in the table's order."""
    _OWN.seen += len(text)
    database = _database() if _OWN.seen > SMALL else None
    if database is None:
        low = text.lower()
        return [k for k in KINDS if not k.secret or any(hint in low for hint in k.secret.hint)]
    seen: set[int] = set()
    if _OWN.scratch is None:
        import hyperscan

        _OWN.scratch = hyperscan.Scratch(database)
    data = text.encode("utf-8", "replace")
    database.scan(data, match_event_handler=lambda id, *rest: seen.add(id), scratch=_OWN.scratch)
    return [KINDS[number] for number in sorted(seen)]
