"""Tables that somebody summed up already: what they say, and healthy ones in which they must say nothing."""

import json

import numpy as np
import pytest

from triage.tools.relate.summed.look import summed
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(11)


def said(tmp_path, text, name="summary.csv"):
    """(findings by code, kinds of the contrasts) of one file."""
    (tmp_path / name).write_text(text if isinstance(text, str) else "\n".join(text))
    found, apart = summed(read_tables(tmp_path / name, name))
    return {f.code: f for f in found}, [(c.metric, c.by) for c in apart]


def serious(found):
    return [code for code, f in found.items() if f.severity < "S3"]


LANGUAGES = ["lang,docs_in,docs_removed", "en,400000,50800", "de,200000,21000", "zh,600000,{zh}", "ja,90000,{ja}"]


def test_hardly_any_removal_in_languages_without_spaces_is_told_and_a_usual_one_is_a_note(tmp_path):
    rows = [line.format(zh=1100, ja=160) for line in LANGUAGES]
    found, apart = said(tmp_path, rows)
    assert found["removed-by-language"].evidence[0].line == 4
    assert "0.18%" in found["removed-by-language"].message
    assert ("removed", "language") in apart
    usual, _ = said(tmp_path, [line.format(zh=52000, ja=9900) for line in LANGUAGES])
    assert not serious(usual)
    one, _ = said(tmp_path, [*(line.format(zh=52000, ja=9900) for line in LANGUAGES), "ko,100000,400"])
    assert not serious(one)


@pytest.mark.parametrize(("zh", "told"), [(3, True), (140, False)])
def test_removal_is_summed_over_the_shards_of_a_language(tmp_path, zh, told):
    rows = ["part,language,records,dropped"]
    for i in range(40):
        rows.append(f"p{i},{'zh' if i % 2 else 'en'},{2000 + 7 * i},{(zh if i % 2 else 150) + i % 3}")
    found, _ = said(tmp_path, rows)
    assert ("removed-by-language" in found) is told
    assert bool(serious(found)) is told


@pytest.mark.parametrize(("short", "told"), [((40, 9), True), ((90, 60), False)])
def test_right_where_longer_and_below_chance_where_shorter(tmp_path, short, told):
    rows = ["bucket;pairs;correct;acc", "chosen longer by >100;500;480;96.0%", "chosen longer by 1-100;400;300;75.0%",
            f"chosen shorter by 1-100;140;{short[0]};{short[0] / 1.4:.1f}%",
            f"chosen shorter by >100;80;{short[1]};{short[1] / .8:.1f}%", "ALL;1120;900;80.4%"]  # fmt: skip
    found, _ = said(tmp_path, rows)
    assert ("score-follows-length" in found) is told
    assert ("score-follows-length" in serious(found)) is told


def scored(tmp_path, follows, names):
    quality, length = RNG.normal(0.6, 1, 600), RNG.integers(60, 400, (600, 2))
    gap = quality * (not follows) + follows * (length[:, 0] - length[:, 1]) / 60 + RNG.normal(0.2, 0.3, 600)
    rows = [f"{i}\t{a}\t{b}\t{g / 2:.3f}\t{-g / 2:.3f}" for i, ((a, b), g) in enumerate(zip(length, gap, strict=True))]
    return said(tmp_path, ["\t".join(names), *rows], "pairs.tsv")[0]


@pytest.mark.parametrize(
    "names",
    [("pair", "len_chosen_tok", "len_rejected_tok", "rm_chosen", "rm_rejected"),
     ("id", "chosen_length", "rejected_length", "chosen_score", "rejected_score"),
     ("uid", "winner_tokens", "loser_tokens", "winner_reward", "loser_reward")],
)  # fmt: skip
def test_scores_that_go_by_length_are_told_whatever_the_columns_are_called(tmp_path, names):
    assert scored(tmp_path, True, names)["score-follows-length"].data["rho"] > 0.8
    assert not serious(scored(tmp_path, False, names))


def judge(tmp_path, first, says):
    rows = []
    for i in range(300):
        for shown in ("new,old", "old,new"):
            place = 0 if RNG.random() < first else 1
            winner = shown.split(",")[place] if says == "name" else "AB"[place]
            rows.append(
                f'{{"pair": "p{i}", "shown": "{shown}", "winner": "{winner}", "tok_new": {RNG.integers(50, 300)}}}'
            )
    return said(tmp_path, rows, "dump.jsonl")[0]


@pytest.mark.parametrize("says", ["name", "place"])
def test_a_judge_that_goes_by_the_place_is_told_with_both_shares(tmp_path, says):
    found = judge(tmp_path, 0.65, says)["verdicts-follow-order"]
    assert found.data["first"] > 0.55 > 0.45 > found.data["second"]
    assert not serious(judge(tmp_path, 0.5, says))


def items(tmp_path, leaked):
    rows = []
    for i in range(400):
        over = i % 4 == 0
        ok = [int(RNG.random() < p) for p in (0.62, leaked if over else 0.62)]
        rows.append(f"q{i},{ok[0]},{ok[1]},{0.95 if over else 0.03},{'crawl_9' if over else ''}")
    return said(tmp_path, ["item_id,ok_old,ok_new,ngram_overlap_train,matched_shard", *rows])[0]


def test_a_score_that_is_higher_on_overlapping_items_is_told_with_the_shard(tmp_path):
    found = items(tmp_path, 0.98)["score-follows-overlap"]
    assert found.data["overlapping"] == 100
    assert "crawl_9" in found.message
    assert "ok_old" in found.message
    assert not serious(items(tmp_path, 0.62))


def test_answers_of_two_models_side_by_side(tmp_path):
    def table(times, finish):
        rows = [f"{i},{n},{int(n * times)},stop,{finish}" for i, n in enumerate(RNG.integers(50, 300, 120))]
        return said(tmp_path, ["prompt_id,sft_tok,dpo_tok,sft_finish,dpo_finish", *rows])[0]

    assert table(1.6, "stop")["answers-longer"].data["growth"] == pytest.approx(0.6, abs=0.02)
    assert not table(1.1, "stop")
    assert not table(1.6, "length")


def ranks(tmp_path, odd, jitter=0):
    counts = [12504 - 7 * (r == odd) + int(RNG.integers(0, jitter + 1)) for r in range(12)]
    rows = [f"{r},gn0{r // 4},{n},{RNG.normal(1.2, 0.01):.3f}" for r, n in enumerate(counts)]
    return said(tmp_path, ["rank,host,batches(bs=4),step_s", *rows])[0]


def test_the_rank_with_less_work_is_named_and_equal_or_jittering_counts_are_not(tmp_path):
    found = ranks(tmp_path, 7)["work-unequal"]
    assert found.data["groups"] == ["7"]
    assert "12497" in found.message
    assert found.evidence[0].line == 9
    assert not serious(ranks(tmp_path, -1))
    assert not serious(ranks(tmp_path, 7, jitter=60))


@pytest.mark.parametrize(
    ("keys", "counts", "told"),
    [(("rows_pred", "rows_test"), (8750, 10000), True), (("num_scored", "num_total"), (4375, 5000), True),
     (("rows_pred", "rows_test"), (10000, 10000), False), (("n_train", "n_test"), (900, 1000), False)],
)  # fmt: skip
def test_fewer_results_than_items(tmp_path, keys, counts, told):
    text = f'{{"ckpt": "a", "{keys[0]}": {counts[0]}, "{keys[1]}": {counts[1]}, "acc": 0.41, "f1": 0.4}}'
    found, _ = said(tmp_path, text, "metrics.json")
    assert ("results-missing" in found) is told


@pytest.mark.parametrize("taken", ["removed", "dropped_duplicates", "filtered", "cancelled_docs", "去重移除"])
def test_what_was_taken_out_on_purpose_is_not_missing(tmp_path, taken):
    counts = {"en": {"docs_in": 4000, "docs_out": 3721, taken: 279}, "fr": {"docs_in": 90, "docs_out": 90, taken: 0}}
    text = json.dumps(counts, ensure_ascii=False)
    assert "results-missing" not in said(tmp_path, text, "report.json")[0]
    assert "results-missing" in said(tmp_path, text.replace("279", "12"), "other.json")[0]


SIFTED = """# Curation

## Totals

- **Input records**: 41,200
- **Output records**: 30,950
{more}
## Where they went

- {gone}: {count}
- Mean length: 312.5
"""


@pytest.mark.parametrize(
    ("more", "gone", "count", "told"),
    [("- **Retention**: 75.1%\n", "Other", 7, False), ("- 保留率: 75.1%\n", "其他", 7, False),
     ("", "Discarded", "10,250", False), ("", "过滤", 10250, False),
     ("- **Mean score**: 0.41\n", "Other", 7, True), ("", "Discarded", 950, True)],
)  # fmt: skip
def test_what_a_report_of_a_step_says_was_taken_out_is_not_missing(tmp_path, more, gone, count, told):
    found, _ = said(tmp_path, SIFTED.format(more=more, gone=gone, count=count), "curation.md")
    assert ("results-missing" in found) is told


VARIANTS = ["weights,engine,template,n,correct,mean_tokens", "fp16,hf,chatml,300,243,118", "fp16,vllm,{b},300,{x},700",
            "awq,vllm,{b},300,{y},710", "awq,hf,chatml,300,{z},120"]  # fmt: skip


def test_the_factor_that_carries_the_difference_is_named_and_the_idle_one_too(tmp_path):
    found, apart = said(tmp_path, [v.format(b="inst", x=131, y=129, z=241) for v in VARIANTS])
    assert found["score-follows-template"].data["not_by"] == ["quantization"]
    assert ("correct", "template") in apart
    found, _ = said(tmp_path, [v.format(b="chatml", x=241, y=150, z=148) for v in VARIANTS])
    assert "score-follows-format" in found
    assert "formats-score-alike" not in found
    found, _ = said(tmp_path, [v.format(b="inst", x=238, y=240, z=241) for v in VARIANTS])
    assert not serious(found)


def test_a_score_that_jumps_where_the_judge_changes_is_the_measurement(tmp_path):
    def table(change):
        rows = [f"{1000 * i},{'judge-b' if i >= 4 else 'judge-a'},{(58 if i >= change else 71) + i % 2 * 0.4}%"
                for i in range(8)]  # fmt: skip
        return said(tmp_path, ["step,judge_model,acc", *rows])[0]

    assert table(4)["score-follows-measurement"].evidence[0].line == 5
    assert not serious(table(9))
    assert not serious(table(6))


def shares(tmp_path, moves, long=False):
    rows = []
    for i in range(30):
        web = 0.5 - 0.2 * (moves and i >= 18) + RNG.normal(0, 0.004)
        parts = {"web": web, "code": 0.2, "books": 1 - web - 0.2}
        if long:
            rows += [f"{100 * i},{name},{value:.4f}" for name, value in parts.items()]
        else:
            rows.append(",".join([str(100 * i), *(f"{v:.4f}" for v in parts.values()), "2.1"]))
    head = "step,source,share" if long else "step,web_share,code_share,books_share,loss"
    return said(tmp_path, [head, *rows])[0]


@pytest.mark.parametrize("long", [False, True])
def test_a_share_of_the_mixture_that_moves_for_good_is_told_with_where(tmp_path, long):
    found = shares(tmp_path, True, long)["mixture-moved"]
    assert found.data["at"] == 1800
    assert abs(found.data["after"] - found.data["before"]) == pytest.approx(0.2, abs=0.01)
    assert not shares(tmp_path, False, long)


def counted(tmp_path, moves, names):
    rows = ["step," + ",".join(names)]
    for i in range(40):
        a = (60 if moves and i >= 22 else 180) + int(RNG.integers(-6, 7))
        b = 250 + int(RNG.integers(-6, 7))
        rows.append(f"{50 * i},{a},{b},{512 - a - b - 12},12")
    return said(tmp_path, [*rows])[0]


def test_documents_counted_by_language_are_a_mixture(tmp_path):
    names = ("ja_docs", "en_docs", "web_docs", "rest_docs")
    found = counted(tmp_path, True, names)["mixture-moved"]
    assert found.data["part"] in ("ja", "web")
    assert found.data["at"] == 1100
    assert "mixture-moved" not in counted(tmp_path, False, names)
    assert "mixture-moved" not in counted(tmp_path, True, ("free_slots", "busy_slots", "held_slots", "lost_slots"))


def test_a_plan_that_was_not_kept(tmp_path):
    rows = ["source,target_share,actual_share", "web,0.5,{}", "code,0.3,0.3", "books,0.2,{}"]
    found, _ = said(tmp_path, "\n".join(rows).format(0.62, 0.08))
    assert found["mixture-off-plan"].data["planned"] in (0.5, 0.2)
    assert not said(tmp_path, "\n".join(rows).format(0.51, 0.19))[0]


def test_a_win_rate_that_falls_from_its_peak_and_one_that_wavers(tmp_path):
    def table(wins):
        return said(
            tmp_path, ["ckpt;n;wins;win_rate", *(f"{100 * i};400;{w};{w / 4:.1f}%" for i, w in enumerate(wins, 1))]
        )[0]

    assert table((218, 232, 242, 220, 189, 164))["share-falls-from-peak"].data["best"] == 300
    assert not table((218, 232, 242, 230, 236, 228))
    assert not table((160, 190, 220, 230, 240, 242))


def test_a_source_of_which_nothing_was_trained(tmp_path):
    rows = ["source,planned_tokens,trained_tokens", "web,100000,98000", "code,50000,51000", "math,40000,{}"]
    assert said(tmp_path, "\n".join(rows).format(0))[0]["source-untouched"].data["sources"] == ["math"]
    assert not said(tmp_path, "\n".join(rows).format(38000))[0]


def test_subjects_of_an_exam_differ_by_nature(tmp_path):
    rows = [
        f"{name},{n},{int(n * p)}" for name, n, p in (("math", 1319, 0.31), ("trivia", 2000, 0.78), ("code", 164, 0.4))
    ]
    found, _ = said(tmp_path, ["task,n,correct", *rows])
    assert set(found) == {"rates-differ"}
    assert not serious(found)


@pytest.mark.parametrize("column", ["shown_first", "order"])
def test_the_order_may_be_told_by_who_stands_first(tmp_path, column):
    def dump(first):
        rows = [f"{i};{one};j70;{one if RNG.random() < first else other}" for i in range(200)
                for one, other in (("base", "tuned"), ("tuned", "base"))]  # fmt: skip
        return said(tmp_path, [f"pair;{column};judge;verdict", *rows])[0]

    assert "verdicts-follow-order" in dump(0.7)
    assert not serious(dump(0.5))


def test_scores_that_pay_length_where_being_right_does_not(tmp_path):
    def table(pays):
        size, right = RNG.integers(3, 200, 200), RNG.integers(0, 2, 200)
        score = (size / 100 if pays else right) + RNG.normal(0, 0.2, 200)
        rows = [f"{i},{n},{r},{s:.3f}" for i, (n, r, s) in enumerate(zip(size, right, score, strict=True))]
        return said(tmp_path, ["qid,tokens,is_correct,rm_score", *rows])[0]

    assert table(True)["score-follows-length"].data["rho"] > 0.8
    assert not serious(table(False))


def test_weeks_with_another_judge(tmp_path):
    def table(jump):
        rows = [f"w{i:02},{'grader-x' if i >= 5 else 'judge-v1'},400,{52.8 + i % 3 * 0.3 + (jump if i >= 5 else 0):.1f}"
                for i in range(1, 9)]  # fmt: skip
        return said(tmp_path, ["实验,评审模型,样本数,得分(%)", *rows])[0]

    assert table(14)["score-follows-measurement"].data["at"] == "w05"
    assert not serious(table(0))


@pytest.mark.parametrize(
    ("scores", "code"), [((0.59, 0.29), "score-follows-format"), ((0.59, 0.575), "formats-score-alike")]
)
def test_two_rows_that_differ_in_the_number_format_alone(tmp_path, scores, code):
    assert set(
        said(tmp_path, ["weights,score,se,n", f"bf16,{scores[0]},0.02,300", f"w4a16,{scores[1]},0.02,300"])[0]
    ) == {code}


@pytest.mark.parametrize("head", ["dtype,f1,stderr,n", "quant,mmlu,se,items", "格式,得分,标准误,样本数"])
@pytest.mark.parametrize("percent", [1, 100])
def test_a_score_may_be_called_by_its_measure_or_benchmark_and_be_in_percent(tmp_path, head, percent):
    if percent == 100:
        head = head.replace("得分", "得分(%)")
    rows = [f"bf16,{0.608 * percent:.4g},{0.015 * percent},300", f"w4a16-rtn,{0.282 * percent:.4g},0.02,300"]
    assert "score-follows-format" in serious(said(tmp_path, [head, *rows])[0])
    alike = [f"bf16,{0.608 * percent:.4g},{0.015 * percent},300", f"w4a16-rtn,{0.602 * percent:.4g},0.02,300"]
    assert not serious(said(tmp_path, [head, *alike])[0])


@pytest.mark.parametrize("head", ["run,grader,n,f1", "exp;evaluator;items;score (%)", "实验,裁判模型,样本数,准确率(%)"])
def test_a_jump_where_the_judge_changes_under_other_names_of_it(tmp_path, head):
    mark = ";" if ";" in head else ","
    scale = 100 if "%" in head else 1

    def table(jump):
        rows = [f"w{i},{'x-large' if i >= 5 else 'v1'},400,{scale * (0.52 + 0.004 * i + jump * (i >= 5)):.4f}"
                for i in range(1, 9)]  # fmt: skip
        return said(tmp_path, [head, *(r.replace(",", mark) for r in rows)])[0]

    assert "score-follows-measurement" in serious(table(0.13))
    assert not serious(table(0))


LENGTHS = (2048, 4096, 8192, 9216, 12288, 16384)


@pytest.mark.parametrize("head", ["context_tokens;ppl_trainer;ppl_served", "length;eval_ppl;engine_ppl"])
def test_what_breaks_down_beyond_a_length_on_one_side_only(tmp_path, head):
    def table(one, two):
        rows = [f"{n};{a};{b}" for n, a, b in zip(LENGTHS, one, two, strict=True)]
        return said(tmp_path, [head, *rows])[0]

    fine, bad = (6.9, 6.5, 6.2, 6.1, 6.0, 5.9), (7.0, 6.6, 6.3, 8.9, 31.7, 118.0)
    assert table(fine, bad)["worse-beyond-on-one-side"].data["knee"] == 8192
    assert set(table(bad, bad)) == {"worse-beyond-length"}
    assert not table(fine, fine)


def test_buckets_of_lengths_in_words(tmp_path):
    def table(*hits):
        rows = [f"{b},{h}" for b, h in zip(("<2k", "2k-4k", "4k-8k", "8k-16k", "16k-32k"), hits, strict=True)]
        return said(tmp_path, ["length_bucket,recall", *rows])[0]

    assert "8k-16k" in table(0.98, 0.97, 0.96, 0.31, 0.12)["worse-beyond-length"].message
    assert not table(0.98, 0.97, 0.95, 0.93, 0.9)


@pytest.mark.parametrize(
    ("whole", "told"), [("total_params", False), ("hidden_size", False), ("总参数量", False), ("total", True)]
)
def test_a_share_of_items_is_not_one_of_parameters(tmp_path, whole, told):
    rows = [f"{name},{acc},{n}" for name, acc, n in (("plain", 0.88, 23_110_400), ("gated", 0.94, 25_880_320))]
    assert ("rates-differ" in said(tmp_path, [f"variant,top1_accuracy,{whole}", *rows])[0]) is told
