"""Duplicates: features, sketches, candidate pairs, the true similarity of what is reported, and clean-up."""

import contextlib
import json
import multiprocessing
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import WORDS, prose

from triage.tools.data import engine
from triage.tools.data.cleanup import duplicate_removals, whole_files, write_clean
from triage.tools.data.similar import features, longtext
from triage.tools.data.similar.dedup import dedup, pair_rows
from triage.tools.data.similar.features import Batch, grams, sketch
from triage.tools.data.similar.matching import Groups, band_rows, candidate_pairs, equal_pairs, jaccard
from triage.tools.findings import TriageError

HAN = [chr(0x4E00 + i) for i in range(3000)]
TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(["the", "猫", "Ａ", "é", "e\u0301", "\u200b", ",", "日本", "x1", " ", "\n"]), max_size=25
).map(" ".join)


def write(path, texts):
    path.write_text("".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts))
    return path


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from(["auto", "char", "word"]))
def test_a_text_has_the_same_features_alone_and_in_any_batch(texts, unit):
    together = grams(texts, unit)
    signatures = sketch(together)
    for i, text in enumerate(texts):
        alone = grams([text], unit)
        assert np.array_equal(np.sort(alone.hashes), np.sort(together.of(i)))
        assert np.array_equal(sketch(alone)[0], signatures[i])
        assert Batch([text]).exact()[0] == Batch(texts).exact()[i]


@settings(max_examples=80, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_positions_point_at_the_characters_of_the_text(texts):
    batch = Batch(texts)
    for cut in (batch.char_grams(positions=True), batch.word_grams(positions=True)):
        for i, text in enumerate(texts):
            spots = cut.positions[cut.starts[i] : cut.starts[i + 1]]
            assert all(0 <= s < len(text) and text[s].isalnum() for s in spots.tolist()) or any(
                ord(c) > 127 for c in text
            )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Hello,  World", "hello, world"),
        ("ＡＢＣ１２３", "abc123"),
        ("e\u0301t\u00e9", "\u00e9te\u0301"),
        (" a b ", "a\tb"),
    ],
)
def test_case_width_accents_and_spaces_do_not_make_a_text_different(left, right):
    exact = Batch([left, right]).exact()
    assert exact[0] == exact[1]


def test_punctuation_makes_texts_different_but_leaves_their_n_grams_alike():
    exact = Batch(["a + b equals c", "a - b equals c"]).exact()
    cut = grams(["let us eat, grandma now", "let us eat grandma, now!"], "word")
    assert exact[0] != exact[1]
    assert jaccard(cut.set_of(0), cut.set_of(1)) == 1.0


@pytest.mark.parametrize("unit", ["char", "word"])
def test_slots_agree_as_often_as_the_true_similarity(unit):
    rng, errors = random.Random(3), []
    for size in (4, 12, 40, 200) * 40:
        words = rng.choices(WORDS, k=size)
        other = [rng.choice(WORDS) if rng.random() < 0.1 else w for w in words]
        cut = grams([" ".join(words), " ".join(other)], unit)
        signature = sketch(cut)
        errors.append((signature[0] == signature[1]).mean() - jaccard(cut.set_of(0), cut.set_of(1)))
    assert abs(np.mean(errors)) < 0.01
    assert np.std(errors) < 0.045  # 128 fair coins


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30))
def test_candidates_are_all_pairs_of_different_texts_with_one_key(rows):
    keys, exact = (np.array([r[i] for r in rows], np.uint64) for i in (0, 1))
    ids = np.arange(len(rows))
    first = {}
    for i, row in enumerate(rows):
        first.setdefault(row, i)
    leaders = sorted(first.values())
    want = [(a, b) for a in leaders for b in leaders if a < b and keys[a] == keys[b]]
    assert candidate_pairs(keys, ids, exact).tolist() == [list(p) for p in sorted(want)]
    assert len(equal_pairs(exact, ids)) == len(rows) - len(set(exact.tolist()))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20))
def test_groups_are_the_connected_parts(pairs):
    groups = Groups()
    groups.join(pairs)
    parent = list(range(13))
    for _ in range(13):
        for a, b in pairs:
            parent[a] = parent[b] = min(parent[a], parent[b])
    want = {}
    for i, p in enumerate(parent):
        want.setdefault(p, []).append(i)
    assert groups.members() == {k: v for k, v in want.items() if len(v) > 1}


def test_bands_find_a_pair_at_the_threshold_with_the_promised_chance():
    for threshold in (0.5, 0.7, 0.8, 0.9):
        rows = band_rows(threshold)
        assert 1 - (1 - threshold**rows) ** (features.SLOTS // rows) >= 0.995


def test_planted_copies_are_found_and_nothing_else(tmp_path):
    rng = random.Random(5)
    texts = [prose(rng) for _ in range(800)]
    texts += texts[:30] + [t.upper() for t in texts[30:40]]
    texts += [" ".join([*t.split()[:-1], "changed"]) for t in texts[100:150]]
    report, matches = dedup([write(tmp_path / "a.jsonl", texts)])
    summary = report.summary
    assert (summary["exact_duplicates"], summary["near_duplicates"]) == (40, 50)
    assert summary["near_duplicate_rate"] == pytest.approx(50 / len(texts))
    assert {"exact-duplicates", "near-duplicates"} == report.codes()
    cut = grams(texts)
    for row in pair_rows(matches):
        a, b = cut.set_of(row["a"]["line"] - 1), cut.set_of(row["b"]["line"] - 1)
        assert row["similarity"] == pytest.approx(jaccard(a, b), abs=1e-4)
        assert row["similarity"] >= 0.8


def test_different_texts_of_one_style_are_not_duplicates(tmp_path):
    rng = random.Random(6)
    report, _ = dedup([write(tmp_path / "a.jsonl", [prose(rng) for _ in range(500)])])
    assert report.findings == ()
    assert {c.result for c in report.checks} == {"clear"}


def chinese(rng, size):
    return "".join(rng.choices(HAN, k=size))


def test_whitespace_n_grams_see_nothing_in_chinese_where_ours_find_the_copies(tmp_path):
    rng = random.Random(7)
    texts = [chinese(rng, 200) for _ in range(200)]
    copies = [t[:90] + chinese(rng, 4) + t[94:] for t in texts[:60]]  # four characters changed
    ordinary = 0
    for text, copy in zip(texts, copies, strict=False):
        a, b = (({tuple(w[i : i + 3]) for i in range(max(1, len(w) - 2))}) for w in (text.split(), copy.split()))
        ordinary += len(a & b) / len(a | b) >= 0.8
    assert ordinary == 0  # the classic failure: split() leaves the whole text as one word
    path = write(tmp_path / "zh.jsonl", texts + copies)
    report, _ = dedup([path])
    assert report.summary["near_duplicates"] == 60
    blind, _ = dedup([path], unit="word")
    assert blind.summary["near_duplicates"] == 0
    assert "ineffective-dedup-features" in blind.codes()
    assert "ineffective-dedup-features" not in report.codes()


def test_japanese_korean_and_thai_are_cut_by_characters_and_english_by_words():
    texts = [
        "日本語の文章です。もう一度。",
        "한국어 문장을 나눕니다",
        "ภาษาไทยไม่มีช่องว่าง",
        "plain English text",
        "naïve café déjà vu",
    ]
    assert Batch(texts).unspaced().tolist() == [True, True, True, False, False]


def test_records_that_share_a_template_but_not_their_content_are_listed_apart(tmp_path):
    rng = random.Random(8)
    frame = prose(rng, 150)
    texts = [f"{frame} {prose(rng, 22)}" for _ in range(120)] + [prose(rng, 170) for _ in range(400)]
    report, matches = dedup([write(tmp_path / "a.jsonl", texts)], threshold=0.7)
    assert report.summary["near_duplicates"] == 0
    assert report.summary["benign_template_pairs"] > 0
    assert {row["kind"] for row in pair_rows(matches)} == {"template"}


def test_empty_and_wordless_records_are_no_duplicates_of_each_other(tmp_path):
    report, _ = dedup([write(tmp_path / "a.jsonl", ["", " ", "...", "!?", "", "one text here"])])
    assert (report.summary["exact_duplicates"], report.summary["empty"]) == (0, 5)


def test_the_answer_does_not_depend_on_the_number_of_workers_or_parts(tmp_path, monkeypatch):
    from triage.tools.data.engine import Local
    from triage.tools.data.records.blocks import plan
    from triage.tools.data.similar import dedup as module
    from triage.tools.data.similar.corpus import Options

    rng = random.Random(9)
    texts = [prose(rng) for _ in range(300)]
    texts += [t.replace(t.split()[5], "swap") for t in texts[:80]]
    path = write(tmp_path / "a.jsonl", texts)
    results = []
    for part_bytes, workers in ((1 << 22, 1), (9000, 1), (9000, 2)):
        matches = module.find_matches(plan([path], part_bytes), Options(), Local(workers))
        places = [tuple(matches.corpus.place(i)[1] for i in pair) for pair in matches.near_pairs().tolist()]
        results.append((sorted(places), sorted(matches.corpus.place(i)[1] for i in matches.removable())))
    assert results[0][0]
    assert results[0] == results[1] == results[2]


def test_the_clean_copy_keeps_one_of_each_group_and_says_why_the_others_went(tmp_path):
    rng = random.Random(10)
    texts = [prose(rng) for _ in range(50)]
    path = write(tmp_path / "a.jsonl", texts + texts[:5])
    path.write_text(path.read_text() + "{broken\n")
    _, matches = dedup([path])
    clean, removed = tmp_path / "clean.jsonl", tmp_path / "removed.jsonl"
    with whole_files([path], clean, removed) as (kept, gone):
        assert write_clean(matches.corpus.parts, duplicate_removals(matches), {}, kept, gone) == (50, 6)
    rows = [json.loads(line) for line in removed.read_text().splitlines()]
    assert [r["rule"] for r in rows] == ["exact-duplicate"] * 5 + ["data-parse-error"]
    assert [(r["line"], r["partner"]["line"]) for r in rows[:5]] == [(51 + i, 1 + i) for i in range(5)]
    again, _ = dedup([clean])
    assert again.findings == ()


def test_data_is_never_edited_in_place_and_a_failed_write_leaves_nothing(tmp_path):
    path = write(tmp_path / "a.jsonl", ["one two three"])
    with pytest.raises(TriageError, match="never edited in place"), whole_files([path], path, tmp_path / "r"):
        pass
    with contextlib.suppress(KeyboardInterrupt), whole_files([path], tmp_path / "c", tmp_path / "r") as (kept, _):
        kept.write("half")
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


INTERRUPT, END, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


def _dedup_stopped(tmp_path, after, *signals):
    """(exit status, standard error) of a dedup with workers and three outputs that gets the signals on its way."""
    rng = random.Random(11)
    path = write(tmp_path / "a.jsonl", [prose(rng, 150) for _ in range(12000)])
    outputs = [str(tmp_path / name) for name in ("p.jsonl", "c.jsonl", "r.jsonl")]
    command = [
        sys.executable,
        "-c",
        "import sys, triage.ui.cli as cli; app = cli.app\n"
        "cli.app = lambda: (print('up', file=sys.stderr, flush=True), app())\ncli.main()",
    ]
    command += ["data", "dedup", str(path), "--pairs", outputs[0], "--write", outputs[1], "--removed", outputs[2]]
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    ) as process:
        assert process.stderr
        assert process.stderr.readline() == "up\n"
        time.sleep(after)
        for number in signals:
            (os.killpg if number == INTERRUPT else os.kill)(process.pid, number)  # a terminal tells the whole group
            time.sleep(0.02)
        _, errors = process.communicate(timeout=60)
    return process, errors


@pytest.mark.parametrize(
    ("after", "signals"),
    [(0.0, [INTERRUPT]), (0.4, [INTERRUPT] * 3), (0.9, [INTERRUPT]), (0.4, [END]), (0.8, [END, INTERRUPT])],
)
def test_stopping_leaves_no_partial_file_behind(tmp_path, after, signals):
    process, errors = _dedup_stopped(tmp_path, after, *signals)
    assert "Traceback" not in errors
    assert not list((tmp_path / "tmp").iterdir())
    left = {p.name for p in tmp_path.iterdir()} - {"a.jsonl", "tmp"}
    assert not any(name.endswith(".part") for name in left)
    done = process.returncode == -INTERRUPT and errors.startswith("kept ")  # as the interpreter was leaving
    if process.returncode == 0 or done:  # done before the signal came, or an import of numpy's swallowed it
        assert left == {"p.jsonl", "c.jsonl", "r.jsonl"}
    else:
        assert (process.returncode, errors) == (2, "triage: interrupted\n")
    for name in left:
        assert all(json.loads(line) for line in (tmp_path / name).read_text().splitlines())


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    process, _ = _dedup_stopped(tmp_path, 0.6, KILL)  # the pipes are closed only when the workers are gone, too
    assert process.returncode == -KILL


LOOPS = st.builds(lambda text, times: text * times, TEXTS.filter(len), st.integers(1, 40))


@settings(max_examples=150, deadline=None)
@given(st.lists(LOOPS | TEXTS, max_size=8).map(" ".join).filter(len), st.sampled_from(["auto", "char", "word"]))
def test_a_long_text_hashed_in_pieces_has_the_same_features(text, unit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longtext, "BATCH_CHARS", 64)  # one word may have 64 characters here, not 96,000
        patch.setattr(longtext, "CUT", 63)
        pieces = longtext.LongText(text, unit)
        assert pieces.exact() == Batch([text]).exact()[0]
        whole = grams([text], unit)
        if any(len(word) > 30 for word in re.split("[ \n\t\u3000]", text)) and not pieces.by_char:
            return
        assert pieces.unspaced == Batch([text]).unspaced()[0]
        assert np.array_equal(pieces.gram_set(), whole.set_of(0))
        assert np.array_equal(pieces.sketch()[0], sketch(whole)[0])


@pytest.mark.parametrize(
    "text", ["ab cd " * 60_000, "a" * 200_000, "!" * 200_000, "猫が好き。" * 50_000, "one, " + "." * 200_000]
)
def test_a_looped_text_is_compared_with_its_like(tmp_path, text):
    report, matches = dedup([write(tmp_path / "a.jsonl", [text, text + " ", "the end of " + text])])
    letters = any(c.isalnum() for c in text)
    assert report.summary["exact_duplicates"] == (1 if letters else 0)
    assert report.summary["empty"] == (0 if letters else 2)
    assert len(matches.equal) == (1 if letters else 0)


def test_the_texts_compared_together_are_bounded(tmp_path, monkeypatch):
    rng = random.Random(5)
    one = prose(rng, 400)
    path = write(tmp_path / "a.jsonl", [f"{one} {prose(rng, 3)}" for _ in range(30)])
    whole = dedup([path])[1]
    monkeypatch.setattr("triage.tools.data.similar.dedup.BYTES_PER_TASK", 8000)
    few = dedup([path])[1]
    assert np.array_equal(few.pairs, whole.pairs)
    assert np.array_equal(few.similarity, whole.similarity)


def test_a_worker_that_is_ended_while_it_hands_over_a_result_holds_nobody_up():
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    assert pool.submit(abs, -1).result() == 1
    thread, pipe = pool._executor_manager_thread, pool._result_queue._writer
    os.write(pipe.fileno(), struct.pack("!i", 1000) + b"less than 1000 bytes")
    engine._stop(pool)
    assert not thread.is_alive()
