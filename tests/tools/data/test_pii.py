# ruff: noqa: E501  (cases are rows of a table)
"""Personal data and secrets: found by checksum and context, quiet on clean text, and never shown."""

import importlib.util
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import write

from triage.tools.data.cleanup import write_masked
from triage.tools.data.pii import find, mask, mask_value, pii
from triage.tools.data.records.blocks import plan
from triage.tools.secrets.personal import KINDS

BENCH = Path(__file__).parents[3] / "evals" / "bench" / "pii.py"
spec = importlib.util.spec_from_file_location("pii_bench", BENCH)
assert spec
assert spec.loader
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


def kinds(text):
    return [h.kind.name for h in find(text)]


@pytest.mark.parametrize("name", bench.KINDS)
def test_values_with_a_valid_form_are_found(name):
    assert bench.recall(200, seed=5)[name] >= 0.98


@pytest.mark.parametrize("name", bench.INVALID)
def test_a_wrong_checksum_is_not_reported(name):
    assert bench.invalid(300, seed=6)[name] == 0


def test_clean_text_with_order_numbers_hashes_and_timestamps_gives_no_hit():
    assert sum(bench.false_positives(6000, seed=7).values()) == 0


@pytest.mark.parametrize(
    "text",
    [
        "订单编号：13812345678", "tracking 13912345678", "item_id=13812345678", "0.13812345678", "a13812345678b", "138123456789012",
        "https://x.org/p/13812345678", "version 52.12.33.1", "chapter 52.1.2.3", "192.168.1.20 from 10.0.0.7", "user@example.com", "logo@2x.png",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 'api_key = "your-api-key-goes-here-please"', "AKIAIOSFODNN7EXAMPLE", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "姓名：张三", "The name is Li Lei.", "555-0123 or 212-555-0100 on film", "11010519491231002Y", "4111111111111112", "password: 'changeme-changeme-changeme'",
        "https://user:${PASSWORD}@host/x", "01:23:45:67:89:ab is a MAC", "2001:db8::1 is for documents",
        "password=get_password(user1)", "api_key=os.environ['OPENAI_KEY1']", "secret_key=self.settings.SECRET_KEY_V2", '"secret_ref": "V1LocalObjectReference"',
        "if '-----BEGIN PRIVATE KEY-----' in text and len(text) > 100: raise ValueError('a private key')", "https://0123456789abcdef0123456789abcdef@o1.ingest.site.io/2",
    ],
)  # fmt: skip
def test_what_only_looks_like_personal_data_stays_silent(text):
    assert kinds(text) == []


@pytest.mark.parametrize("before", ["user id", "user_id=", "the holder's ID is", "for customer id:", "no.", ""])
def test_a_chinese_identity_number_is_found_beside_plain_words(before):
    assert kinds(f"{before} 11010519491231002X") == ["cn-id"]


@pytest.mark.parametrize("before", ["order", "tracking no.", "订单号：", "at step"])
def test_what_is_named_as_another_number_is_no_identity_number(before):
    assert kinds(f"{before} 11010519491231002X") == []


def test_a_name_counts_only_beside_another_value():
    assert kinds("姓名：王小明，电话：13912345678") == ["name", "cn-mobile"]
    assert mask("姓名：王小明，电话：13912345678") == "姓名：[name]，电话：[cn-mobile]"


def test_full_width_digits_are_digits():
    assert kinds("电话１３９１２３４５６７８") == ["cn-mobile"]


def test_values_inside_records_use_their_keys_as_context():
    row = {
        "client": {"id_card": bench.cn_id(random.Random(1)), "phone": 13912345678},
        "notes": ["mail ann.lee@mail.corp.net", 7],
    }
    assert mask_value(row) == {"client": {"id_card": "[cn-id]", "phone": "[cn-mobile]"}, "notes": ["mail [email]", 7]}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200) | st.text("0123456789 -+.:@abcdefsk_AKIA", max_size=120))
def test_masking_any_text_is_stable_and_keeps_the_rest(text):
    masked = mask(text)
    hits = find(text)
    assert (masked == text) == (not hits)
    assert len(masked) == len(text) - sum(h.end - h.start for h in hits) + sum(len(h.kind.name) + 2 for h in hits)


def planted(tmp_path):
    """One record per kind, and the raw values."""
    rng, rows, values = random.Random(8), [], []
    for make, frames in bench.KINDS.values():
        value = make(rng)
        values.append(value)
        rows.append({"prompt": "write it down", "completion": frames[0].format(value)})
    rows += [{"prompt": "clean", "completion": f"nothing {i} here"} for i in range(20)]
    return write(tmp_path / "train.jsonl", rows), values


def leaked(values, *texts):
    flat = "\n".join(texts)
    return [v for v in values if v in flat]


def test_no_raw_value_is_in_any_output_of_any_command(tmp_path):
    path, values = planted(tmp_path)
    path.write_text(path.read_text() * 2 + '{"broken: "' + values[0] + "\n")
    outputs = {n: tmp_path / f"{n}.jsonl" for n in ("pairs", "sample", "masked", "where")}
    runs = [
        ["pii", str(path)], ["pii", str(path), "--json"], ["check", str(path), "--json"], ["generations", str(path), "--json"],
        ["pii", str(path), "--write", str(outputs["masked"]), "--removed", str(outputs["where"])], ["preference", str(path)],
        ["dedup", str(path), "--against", str(path), "--json", "--pairs", str(outputs["pairs"]), "--sample", str(outputs["sample"])],
    ]  # fmt: skip
    seen = []
    for arguments in runs:
        done = subprocess.run(
            [sys.executable, "-c", "from triage.ui.cli import main; main()", "data", *arguments],
            capture_output=True, text=True, env={"TRIAGE_DEBUG": "1", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        seen += [done.stdout, done.stderr]
    assert leaked(values, *seen, *(p.read_text() for p in outputs.values())) == []
    assert "[cn-id]" in outputs["masked"].read_text()


def test_the_report_counts_kinds_places_and_says_what_is_not_detected(tmp_path):
    path, _ = planted(tmp_path)
    report = pii([path])
    assert report.codes() == {"pii-found", "secrets-found"}
    assert report.summary["records"] == len(bench.KINDS) + 20
    assert report.summary["hits"]["cn-id"] == 1
    first = report.findings[0].evidence[0]
    assert (first.file, first.value) == ("train.jsonl", "cn-id")
    assert any("postal addresses" in c.why for c in report.checks)


def test_none_found_states_the_bound_of_the_rule_of_three(tmp_path):
    report = pii([write(tmp_path / "a.jsonl", [{"text": f"plain {i}"} for i in range(300)])])
    assert report.findings == ()
    assert report.summary["upper_bound_when_none"] == pytest.approx(0.01)
    assert "3/n" in report.checks[0].why


def test_the_masked_copy_holds_no_hit(tmp_path):
    path, _ = planted(tmp_path)
    clean, removed = tmp_path / "clean.jsonl", tmp_path / "where.jsonl"
    with clean.open("w") as out, removed.open("w") as gone:
        total, changed = write_masked(plan([path]), out, gone)
    assert (total, changed) == (len(bench.KINDS) + 20, len(bench.KINDS))
    assert pii([clean]).findings == ()
    assert len(removed.read_text().splitlines()) == changed


def test_kinds_have_different_names():
    assert len({k.name for k in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("number", "before", "after"),
    [
        ("4012888888881881", "card: ", ""),
        ("378282246310005", "getIssuer(", ")"),
        ("6228480402564890018", "5 12 ", "\n3 4"),
    ],
)
def test_published_test_numbers_and_numbers_in_a_row_are_nobodys_card(number, before, after):
    from triage.tools.secrets.personal import card_valid

    assert not card_valid(number, before, after)


def test_a_number_said_again_and_again_is_no_bank_card():
    from triage.tools.secrets.personal import card_valid

    assert not card_valid("4000 0028 4000 0028 "[:19].replace("4000 0028", "4242 4242"), "card ", "")
    assert card_valid("4539 1488 0343 6467", "card number ", "")


def test_several_threads_find_the_same():
    text = "write to jane.doe@corp-mail.io or call +1 415 555 2671\n" * 200
    with ThreadPoolExecutor(8) as pool:
        assert len({len(hits) for hits in pool.map(find, [text] * 200)}) == 1
