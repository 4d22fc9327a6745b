# ruff: noqa: E501  (patterns are read as a table)
# pyright: reportMissingImports=false
"""Personal data: recall per kind on generated values, invalid checksums, and false positives on clean records.

    python evals/bench/pii.py [--records 100000]

Every value is made here from random digits with the right form and checksum; none is anybody's.
"""

from __future__ import annotations

import argparse
import random
import string
import time
from collections import Counter
from collections.abc import Callable

from triage.tools.data.pii import find
from triage.tools.secrets.personal import CN_PROVINCES, IBAN_LENGTH, luhn

Make = Callable[[random.Random], str]
MOBILE = (
    "130 131 133 135 136 137 138 139 147 150 151 155 158 159 166 170 176 177 178 180 185 186 187 188 189 191 198 199"
)


def digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices(string.digits, k=count))


def cn_id(rng: random.Random) -> str:
    province = rng.choice(sorted(CN_PROVINCES))
    born = f"{rng.randint(1940, 2015)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
    body = f"{province}{digits(rng, 4)}{born}{digits(rng, 3)}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return body + "10X98765432"[sum(int(d) * w for d, w in zip(body, weights, strict=True)) % 11]


def card(rng: random.Random) -> str:
    prefix, length = rng.choice((("62", 19), ("62", 16), ("4", 16), ("51", 16), ("55", 16), ("37", 15)))
    body = prefix + digits(rng, length - len(prefix) - 1)
    return body + next(d for d in string.digits if luhn(body + d))


def grouped_card(rng: random.Random) -> str:
    number = card(rng)
    while len(number) != 16:
        number = card(rng)
    return rng.choice(" -").join(number[i : i + 4] for i in range(0, 16, 4))


def mobile(rng: random.Random) -> str:
    number = rng.choice(MOBILE.split()) + digits(rng, 8)
    style = rng.choice(("{0}{1}{2}", "{0} {1} {2}", "{0}-{1}-{2}", "+86 {0}{1}{2}", "+86-{0}{1}{2}"))
    return style.format(number[:3], number[3:7], number[7:])


def phone(rng: random.Random) -> str:
    return rng.choice((
        lambda: f"+44 20 {digits(rng, 4)} {digits(rng, 4)}", lambda: f"+1 ({rng.randint(201, 989)}) {rng.randint(200, 989)}-{digits(rng, 4)}",
        lambda: f"+49 30 {digits(rng, 8)}", lambda: f"+33 6 {digits(rng, 2)} {digits(rng, 2)} {digits(rng, 2)} {digits(rng, 2)}",
        lambda: f"+81-90-{digits(rng, 4)}-{digits(rng, 4)}",
    ))()  # fmt: skip


def email(rng: random.Random) -> str:
    user = "".join(rng.choices(string.ascii_lowercase, k=rng.randint(5, 10)))
    host = "".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 9)))
    return (
        rng.choice((f"{user}.{digits(rng, 2)}", user, f"{user}_{host}"))
        + f"@{host}.{rng.choice(('com', 'cn', 'org', 'co.uk', 'de'))}"
    )


def iban(rng: random.Random) -> str:
    country = rng.choice(("DE", "FR", "ES", "NL", "AT", "GB", "IT", "PL"))
    bank = {"NL": "ABNA", "GB": "BARC", "IT": "X"}.get(country, "")
    body = bank + digits(rng, IBAN_LENGTH[country] - 4 - len(bank))
    value = int("".join(str(int(c, 36)) for c in body + country + "00"))
    code = f"{country}{98 - value % 97:02}{body}"
    return " ".join(code[i : i + 4] for i in range(0, len(code), 4)) if rng.random() < 0.5 else code


def ip(rng: random.Random) -> str:
    return f"{rng.choice((13, 35, 47, 52, 81, 104, 114, 120, 139, 185))}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"


def token(alphabet: str, count: int, prefix: str) -> Make:
    return lambda rng: prefix + "".join(rng.choices(alphabet, k=count))


MIXED = string.ascii_letters + string.digits
KINDS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "cn-id": (cn_id, ("身份证号：{}", "他的证件号码是{}，请核对", '{{"id_card": "{}"}}', "ID number {} on file", "{}")),
    "bank-card": (card, ("银行卡号：{}", "请转账到{}", "card number: {}", "My Visa is {}", "付款账户 {} 已绑定")),
    "bank-card grouped": (grouped_card, ("{}", "卡 {}", "paid with {} yesterday")),
    "cn-mobile": (mobile, ("电话：{}", "请联系{}。", "手机{}", "call {} please", "{}", "我的号码是{}，谢谢")),
    "phone": (phone, ("phone: {}", "Call {} now", "{}", "传真：{}")),
    "email": (email, ("mail {}", "邮箱：{}，谢谢", "<{}>", '"email": "{}"', "contact {}.")),
    "iban": (iban, ("IBAN {}", "account {}", "{}")),
    "ip": (ip, ("login from {}", "客户端IP地址：{}", "remote_addr={}", "ssh root@host {} port 22")),
    "us-ssn": (lambda r: f"{r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}", ("SSN: {}", "social security number {}")),
    "passport": (lambda r: f"{r.choice('EG')}{digits(r, 8)}", ("护照号：{}", "passport no. {}")),
    "aws-key": (token(string.ascii_uppercase + string.digits, 16, "AKIA"), ("aws_access_key_id = {}", "{}")),
    "openai-key": (token(MIXED, 48, "sk-"), ("OPENAI_API_KEY={}", 'key = "{}"')),
    "anthropic-key": (token(MIXED, 80, "sk-ant-api03-"), ("{}", "export KEY={}")),
    "huggingface-token": (token(string.ascii_letters, 34, "hf_"), ("login --token {}", "{}")),
    "github-token": (token(MIXED, 36, "ghp_"), ("{}", "https://{}@github.com/x/y")),
    "slack-token": (lambda r: f"xoxb-{digits(r, 12)}-{''.join(r.choices(MIXED, k=24))}", ("{}", "SLACK={}")),
    "google-key": (token(MIXED, 35, "AIza"), ("key={}", "{}")),
    "wandb-key": (token("0123456789abcdef", 40, ""), ("wandb login {}", "WANDB_API_KEY={}")),
    "url-password": (token(MIXED, 14, ""), ("postgres://admin:{}@db.prod.net/x", "https://bob:{}@site.org")),
    "assigned-secret": (token(MIXED, 32, ""), ('api_key = "{}"', "password: '{}'", '"secret_key": "{}"')),
}  # fmt: skip
INVALID: dict[str, Make] = {
    "cn-id": lambda r: (v := cn_id(r))[:-1] + r.choice([c for c in "0123456789X" if c != v[-1]]),
    "bank-card": lambda r: (v := card(r))[:-1] + str((int(v[-1]) + r.randint(1, 9)) % 10),
    "iban": lambda r: (v := iban(r).replace(" ", ""))[:2] + f"{(int(v[2:4]) + r.randint(1, 90)) % 97:02}" + v[4:],
}  # fmt: skip
CLEAN: tuple[Callable[[random.Random], str], ...] = (
    lambda r: f"订单号 {digits(r, 18)} 已发货，快递单号 {digits(r, 13)}，金额 {r.randint(10, 9999)}.{digits(r, 2)} 元。",
    lambda r: f"Order no. {r.randint(1, 9)}{digits(r, 15)} shipped, invoice {digits(r, 12)}, tracking number 1{digits(r, 10)}.",
    lambda r: f"commit {''.join(r.choices('0123456789abcdef', k=40))} on {r.randint(2015, 2026)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
    lambda r: f"timestamp {r.randint(1_500_000_000, 1_800_000_000)} ms {r.randint(1_500_000_000_000, 1_800_000_000_000)} ns {r.randint(10**18, 2 * 10**18)}",
    lambda r: f"uuid {''.join(r.choices('0123456789abcdef', k=8))}-{''.join(r.choices('0123456789abcdef', k=4))}-4{digits(r, 3)}-a{digits(r, 3)}-{''.join(r.choices('0123456789abcdef', k=12))}",
    lambda r: f"The value is 0.{digits(r, 17)} and pi is 3.14159265358979, step {r.randint(1, 10**6)}, loss {r.random():.12f}",
    lambda r: f"Install torch=={r.randint(1, 3)}.{r.randint(0, 20)}.{r.randint(0, 9)} cuda 12.{r.randint(0, 9)}.{r.randint(0, 200)}.{r.randint(1, 99)}, driver version 535.{r.randint(10, 250)}.{r.randint(1, 99)}.{r.randint(1, 9)}",
    lambda r: f"192.168.{r.randint(0, 255)}.{r.randint(1, 254)} and 10.0.{r.randint(0, 255)}.1 talk over port {r.randint(1024, 65535)}; localhost is 127.0.0.1",
    lambda r: f"ISBN 978-{digits(r, 1)}-{digits(r, 4)}-{digits(r, 4)}-{digits(r, 1)}, doi 10.{digits(r, 4)}/s{digits(r, 5)}-0{digits(r, 2)}-{digits(r, 5)}, arXiv:{r.randint(10, 26)}{r.randint(1, 12):02}.{digits(r, 5)}",
    lambda r: f"{r.randint(2, 9)}{digits(r, 2)} + {digits(r, 8)} = {digits(r, 9)}, then {digits(r, 3)}-{digits(r, 4)} and {digits(r, 3)}-{digits(r, 3)}-{digits(r, 4)} are ranges in the table",
    lambda r: f"user_id: {r.randint(10**10, 2 * 10**10)}, item {digits(r, 11)}, sku {digits(r, 12)}, batch 20{digits(r, 10)}",
    lambda r: f"随机种子 {digits(r, 10)}，版本 v{r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}.{r.randint(0, 99)}，编号 1{digits(r, 10)}，时间戳 {r.randint(1_500_000_000, 1_800_000_000)}",
    lambda r: f"Write to user@example.com or admin@localhost; see logo@2x.png, @property and git@github.com:org/repo{r.randint(1, 99)}.git",
    lambda r: f"api_key = 'YOUR_API_KEY_HERE_PLEASE' # export OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  {r.random()}",
    lambda r: f"sha256:{''.join(r.choices('0123456789abcdef', k=64))} md5 {''.join(r.choices('0123456789abcdef', k=32))} crc {digits(r, 10)}",
    lambda r: f"姓名：张三，这是例句。我叫李雷，今年{r.randint(10, 60)}岁，住在{r.randint(1, 999)}号。",
    lambda r: f"The {r.randint(1, 30)} tables hold {r.randint(1, 10**9):,} rows; 1{digits(r, 3)}-{digits(r, 4)} was a hard century, {r.randint(1, 12)}:{r.randint(10, 59)}:{r.randint(10, 59)}.{digits(r, 6)}",
    lambda r: f"[{r.randint(2020, 2026)}-01-02T03:04:05.{digits(r, 6)}Z] step={r.randint(1, 99999)} lr={r.random():.3e} tokens={r.randint(10**10, 10**12)} id={digits(r, 19)}",
    lambda r: f"x = [{', '.join(digits(r, 8) for _ in range(6))}]; y = {digits(r, 16)}; z = {digits(r, 20)}",
    lambda r: f"https://site.org/items/{digits(r, 11)}?ref={digits(r, 13)}&page={r.randint(1, 9)} and /data/{digits(r, 18)}.jpg",
)  # fmt: skip


def recall(per_kind: int, seed: int = 1) -> dict[str, float]:
    """Share of planted values that are found as their kind, per kind; the value must be gone from a masked text."""
    out = {}
    for name, (make, frames) in KINDS.items():
        rng, hit = random.Random(f"{seed}{name}"), 0
        for i in range(per_kind):
            value = make(rng)
            text = frames[i % len(frames)].format(value)
            found = [h for h in find(text) if h.kind.name == name.split()[0]]
            hit += any(value[-8:] in text[h.start : h.end] for h in found)
        out[name] = hit / per_kind
    return out


def invalid(per_kind: int, seed: int = 2) -> dict[str, float]:
    """Share of values with a wrong checksum that are reported as their kind."""
    out = {}
    for name, make in INVALID.items():
        rng, frames = random.Random(f"{seed}{name}"), KINDS[name][1]
        out[name] = (
            sum(
                any(h.kind.name == name for h in find(frames[i % len(frames)].format(make(rng))))
                for i in range(per_kind)
            )
            / per_kind
        )
    return out


def false_positives(records: int, seed: int = 3) -> Counter[str]:
    """Hits by kind in clean records."""
    rng, out = random.Random(seed), Counter()
    for i in range(records):
        out.update(h.kind.name for h in find(CLEAN[i % len(CLEAN)](rng)))
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    arguments = parser.parse_args()
    print("recall per kind (2,000 values each)")
    for kind, share in recall(2000).items():
        print(f"  {kind:18} {share:.4f}")
    print("wrong checksum reported:", {k: round(v, 4) for k, v in invalid(5000).items()})
    begin = time.perf_counter()
    hits = false_positives(arguments.records)
    print(
        f"false positives in {arguments.records} clean records: {sum(hits.values())} {dict(hits)} "
        f"({arguments.records / (time.perf_counter() - begin):,.0f} records/s)"
    )
