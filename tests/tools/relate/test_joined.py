"""Relations over tables and lines of one run: small runs that show each, and rivals in which it must stay silent."""

import json
from dataclasses import replace

import numpy as np
import pytest

from triage.tools.findings import Finding, Severity
from triage.tools.relate.joined.look import joined
from triage.tools.relate.line import Line
from triage.tools.relate.moves import moves
from triage.tools.relate.summed.suffers import suffering
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables


def rng(seed=0):
    return np.random.default_rng(seed)


def told(tmp_path, files, lines=(), settings=None):
    """Findings by code of some files and lines."""
    tables = []
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else "\n".join(text) + "\n")
        tables += read_tables(path, name)
    return {f.code: f for f in joined(tables, lines, settings or Settings())}


def line(name, values, x=None, file="train.log"):
    values = np.asarray(values, float)
    x = np.arange(1.0, len(values) + 1) if x is None else np.asarray(x, float)
    return Line(name, name, file, x, values, np.arange(1, len(values) + 1))


def using(**values):
    return Settings({k: Setting(k, v, str(v), k, "run.yaml", 1) for k, v in values.items()})


BAD = (211, 384, 555)


def batches(header, of_bad, seed=0, noise=True, sep=","):
    """A dump of 600 steps with five numbers, of which the one named first has another value at the bad steps."""
    r = rng(seed)
    rows = [sep.join(["step", "host", *header])]
    for step in range(1, 601):
        own = of_bad if step in BAD else (0 if noise else of_bad)
        rest = [f"{v:.3f}" for v in r.normal(40, 5, len(header) - 1)]
        rows.append(sep.join([str(step), f"n{r.integers(8)}", str(own), *rest]))
    return rows


def broken_loss():
    values = rng(3).normal(2, 0.01, 600)
    values[[b - 1 for b in BAD]] = np.nan
    return line("loss", values)


@pytest.mark.parametrize(
    ("header", "code"),
    [(("rows_all_pad", "fill", "docs"), "trouble-shares-padding"), (("n_empty_seq", "io"), "trouble-shares-padding"),
     (("填充行数", "耗时"), "trouble-shares-padding"), (("zeta", "theta"), "trouble-shares-value"),
     (("longest_seq_len", "docs"), "trouble-shares-length")],
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_the_steps_that_went_bad_share_a_value_that_no_other_has(tmp_path, header, code, seed):
    found = told(tmp_path, {"pack.csv": batches(header, 3, seed)}, [broken_loss()])
    assert code in found
    assert found[code].data["column"] == header[0]
    assert [e.line for e in found[code].evidence[:3]] == [b + 1 for b in BAD]


def test_nothing_is_shared_where_all_have_the_value_or_the_bad_steps_are_one_stretch(tmp_path):
    same = told(tmp_path, {"pack.csv": batches(("rows_all_pad", "fill"), 3, noise=False)}, [broken_loss()])
    assert not [c for c in same if c.startswith("trouble")]
    loss = rng(3).normal(2, 0.01, 600)
    loss[500:530] = np.nan
    one = told(tmp_path, {"pack.csv": batches(("rows_all_pad", "fill"), 3)}, [line("loss", loss)])
    assert not [c for c in one if c.startswith("trouble")]


def test_chance_over_many_columns_shares_nothing(tmp_path):
    for seed in range(12):
        r = rng(seed)
        names = [f"m{k}" for k in range(30)]
        rows = [",".join(["step", *names])]
        rows += [",".join([str(s), *(f"{v:.4f}" for v in r.normal(0, 1, 30))]) for s in range(1, 601)]
        assert not told(tmp_path, {"probe.csv": rows}, [broken_loss()])


@pytest.mark.parametrize(
    ("column", "code"), [("input_shard", "trouble-shares-data"), ("node", "trouble-shares-machine")]
)
def test_rows_that_failed_share_a_text(tmp_path, column, code):
    r = rng(5)
    rows = [f"job,{column},lr,status"]
    for i in range(80):
        bad = i % 13 == 5
        rows.append(f"j{i},{'x7' if bad else f'x{r.integers(7)}'},{r.random():.3f},{'nan' if bad else 'ok'}")
    found = told(tmp_path, {"jobs.csv": rows})
    assert found[code].data["value"] == f"{column} = x7"


def test_failed_rows_with_nothing_in_common_are_not_told(tmp_path):
    r = rng(6)
    rows = ["job,node,lr,status"]
    rows += [f"j{i},x{r.integers(7)},{r.random():.3f},{'failed' if i % 13 == 5 else 'ok'}" for i in range(80)]
    assert not told(tmp_path, {"jobs.csv": rows})


@pytest.mark.parametrize(
    ("column", "word", "told_"),
    [("latency_seconds", "timeout", False), ("耗时", "失败", False), ("e2e_ms", "error", False),
     ("duration_s", "timed out", False), ("clip_duration_s", "failed", True), ("prompt_tokens", "timeout", True)],
)  # fmt: skip
def test_how_long_a_request_took_is_no_reason_for_its_outcome(tmp_path, column, word, told_):
    r = rng(8)
    rows = [f"{column},status"]
    rows += [f"{120 + i / 90:.3f},{word}" if i in (97, 311) else f"{r.uniform(0.2, 9):.3f},ok" for i in range(900)]
    assert bool(told(tmp_path, {"requests.csv": rows})) is told_


def dump(first, names):
    rows = ["idx\tmodule\tin_max\tout_max\tnan_frac"]
    for i, name in enumerate(names):
        bad = i >= first
        rows.append(f"{i}\t{name}\t{'nan' if i > first else 3.1}\t{'nan' if bad else 4.2}\t{1.0 if bad else 0.0}")
    return rows


MODULES = [f"blk.{k}.{part}" for k in range(3) for part in ("ln_1", "attn.qkv", "attn.softmax", "mlp.up", "mlp.down")]


@pytest.mark.parametrize(("first", "code"), [(2, "nonfinite-begins-in-op"), (8, "nonfinite-begins-in-module")])
def test_a_dump_names_the_module_where_numbers_stop(tmp_path, first, code):
    found = told(tmp_path, {"dump_a.tsv": dump(first, MODULES), "dump_b.tsv": dump(first, MODULES)})
    assert found[code].data["module"] == MODULES[first]
    assert found[code].data["dumps"] == 2
    assert found[code].evidence[0].line == first + 2


@pytest.mark.parametrize("first", [0, 99])
def test_a_dump_that_is_bad_throughout_or_nowhere_names_none(tmp_path, first):
    assert not told(tmp_path, {"dump.tsv": dump(first, MODULES)})


def passes(firsts):
    rows = ["item,op,peak,n_inf"]
    for k, first in enumerate(firsts):
        rows += [f"{k},{name},2.5,{7 if first is not None and i >= first else 0}" for i, name in enumerate(MODULES)]
    return rows


def test_a_dump_of_many_items_names_the_module_where_all_bad_ones_begin(tmp_path):
    found = told(tmp_path, {"hooks.csv": passes([None, 2, None, None, 2, None])})
    assert found["nonfinite-begins-in-op"].data["module"] == "blk.0.attn.softmax"
    assert found["nonfinite-begins-in-op"].evidence[0].line == len(MODULES) + 2 + 2


@pytest.mark.parametrize("firsts", [[None] * 4, [None, 2, 8], [0, None, 0]])
def test_items_that_begin_apart_or_are_bad_throughout_name_none(tmp_path, firsts):
    assert not told(tmp_path, {"hooks.csv": passes(firsts)})


CHAINS = (
    ("source", "read", "too_short", "kept"),
    ("来源", "读入", "丢弃:短", "保留"),
    ("corpus", "rows_in", "dropped", "rows_out"),
)


@pytest.mark.parametrize("names", CHAINS)
def test_a_source_that_is_lost_whole_is_told_with_its_reason(tmp_path, names):
    def rows(lost):
        parts = [
            ("web", 90000, 21000),
            ("qa", 70000, 70000 if lost else 15000),
            ("code", 30000, 4000),
            ("wiki", 9000, 90),
        ]
        return [",".join(names), *(f"{n},{read},{gone},{read - gone}" for n, read, gone in parts)]

    found = told(tmp_path, {"stats.csv": rows(True)})
    assert found["source-lost"].data["sources"] == ["qa"]
    assert found["source-lost"].data["reason"] == names[2]
    assert not told(tmp_path, {"stats.csv": rows(False)})


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("part", "hint", "rows_in", "after_lid", "after_quality"), "source-lost-by-kind"),
        (("分片", "语言", "读入", "语种过滤后", "质量过滤后"), "source-lost-by-kind"),
        (("part", "hint", "rows_in", "after_quality", "after_dedup"), "source-lost"),
    ],
)
def test_a_stage_that_sorts_by_kind_can_take_all_of_one(tmp_path, names, code):
    def rows(lost):
        parts = [("pt" if i % 4 == 1 else "en", 40000 + 977 * i % 9000) for i in range(16)]
        kept = [(h, n, int(n * (0.02 if lost and h == "pt" else 0.93))) for h, n in parts]
        return [",".join(names), *(f"s{i:02d},{h},{n},{k},{int(k * 0.7)}" for i, (h, n, k) in enumerate(kept))]

    found = told(tmp_path, {"stats.csv": rows(True)})
    assert code in found
    assert (found[code].data["value"], found[code].data["rows"]) == ("pt", 4)
    assert not {"source-lost", "source-lost-by-kind"} & set(told(tmp_path, {"stats.csv": rows(False)}))


@pytest.mark.parametrize(
    ("file", "names", "code"),
    [("dedup_stats.csv", ("shard", "batch", "docs_in", "docs_out"), "dedup-removed-nothing"),
     ("清单.csv", ("分片", "批次", "去重前文档", "去重后文档"), "dedup-removed-nothing"),
     ("quality.csv", ("part", "delivery", "input", "kept"), "filter-removed-nothing")],
)  # fmt: skip
def test_a_stage_that_removed_nothing_of_one_batch(tmp_path, file, names, code):
    def rows(idle):
        r = rng(2)
        out = [",".join(names)]
        for i in range(20):
            n = int(r.integers(40_000, 50_000))
            kept = n if idle and i >= 14 else int(n * r.uniform(0.8, 0.85))
            out.append(f"s{i:03d},{'b2' if i >= 14 else 'b1'},{n},{kept}")
        return out

    found = told(tmp_path, {file: rows(True)})
    assert (found[code].data["group"], found[code].data["value"]) == (names[1], "b2")
    assert found[code].evidence[0].line == 16
    assert not told(tmp_path, {file: rows(False)})


def test_one_part_that_repeats_what_was_there(tmp_path):
    def rows(share):
        head = "date;source;docs;dup_of_earlier_pct"
        return [head, "d1;web1;900;1.9", "d2;books;80;0.4", "d3;code;200;2.2", f"d4;web2;1000;{share}"]

    assert told(tmp_path, {"manifest.csv": rows(61.0)})["duplicates-in-one-part"].evidence[0].line == 5
    assert not told(tmp_path, {"manifest.csv": rows(4.0)})


def stream(name, pool):
    """40 places with 60 documents; from place 25 on a quarter are drawn from a small pool where there is one."""
    r = rng(4)
    rows = [f"step,{name},n_tok"]
    for place in range(40):
        for _ in range(60):
            again = pool and place >= 25 and r.random() < 0.25
            number = r.integers(40) if again else r.integers(10**8)
            rows.append(f"{1000 + 50 * place},{number:08x},{r.integers(20, 900)}")
    return rows


@pytest.mark.parametrize("name", ["doc_sha1", "md5", "文档指纹"])
def test_a_stream_that_begins_to_repeat(tmp_path, name):
    found = told(tmp_path, {"sample.csv": stream(name, True)})
    assert 2200 <= found["repeats-rise"].data["at"] <= 2500
    assert not told(tmp_path, {"sample.csv": stream(name, False)})


def test_epochs_over_a_small_set_are_no_repeats_of_a_stream(tmp_path):
    r = rng(8)
    rows = [
        "step,doc_id,n_tok",
        *(f"{10 * (i // 30)},d{v},{r.integers(9, 99)}" for i, v in enumerate(r.integers(900, size=2400))),
    ]
    assert "repeats-rise" not in told(tmp_path, {"sample.csv": rows})


def probe(names, off):
    r = rng(7)
    rows = [",".join(["pair", "side", *names])]
    for i in range(120):
        own = r.normal(-220, 60)
        rows.append(f"p{i},{'chosen' if i % 2 else 'rejected'},{own:.3f},{own + off + r.normal(0, 0.02):.3f},"
                    f"{own + r.normal(0, 0.02):.3f}")  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("names", "code"),
    [(("logp_policy", "logp_ref_cached", "logp_ref_fresh"), "reference-off"),
     (("logprob_hf", "logprob_engine", "logprob_hf_again"), "column-off")],
)  # fmt: skip
def test_two_columns_agree_and_the_third_is_off(tmp_path, names, code):
    found = told(tmp_path, {"probe.csv": probe(names, 31.0)})
    assert found[code].data["odd"] == names[1]
    assert found[code].data["off"] == pytest.approx(-31.0, abs=0.1)
    assert not told(tmp_path, {"probe.csv": probe(names, 0.0)})


def preference(first, rate):
    chosen, rejected = (first + np.linspace(0, way, 40) for way in (0.4, -0.6))
    return [line("reward_chosen", chosen), line("reward_rejected", rejected), line("learning_rate", rate),
            line("loss", np.linspace(0.69, 0.5, 40))]  # fmt: skip


WARM = np.minimum(np.arange(40) / 10, 1) * 5e-7


def test_rewards_before_the_first_update_that_are_not_zero(tmp_path):
    assert "reference-off-at-start" in told(tmp_path, {}, preference(-4.1, WARM))
    assert not told(tmp_path, {}, preference(0.002, WARM))
    assert not told(tmp_path, {}, preference(0.4, np.full(40, 5e-7))[:1])


def followed(names, apart=0.0, rate=5e-7):
    """A policy and its reference over 60 updates."""
    r = rng(4)
    own = [r.normal(-120, 9, 60).round(2), r.normal(-150, 9, 60).round(2)]
    both = [*own, *(v + apart * np.arange(60) for v in own)]
    return [*(line(n, v) for n, v in zip(names, both, strict=True)), line("learning_rate", np.full(60, rate)),
            line("grad_norm", r.uniform(4, 9, 60))]  # fmt: skip


@pytest.mark.parametrize("names", [
    ("logp_chosen", "logp_rejected", "ref_logp_chosen", "ref_logp_rejected"),
    ("policy_chosen_logps", "policy_rejected_logps", "reference_chosen_logps", "reference_rejected_logps"),
])  # fmt: skip
def test_a_reference_that_moves_with_the_policy(tmp_path, names):
    assert told(tmp_path, {}, followed(names))["reference-equals-policy"].data["points"] == 60
    assert not told(tmp_path, {}, followed(names, 0.01))
    assert "reference-equals-policy" not in told(tmp_path, {}, followed(names, rate=0.0))
    old = [n.replace("reference", "old").replace("ref", "old") for n in names]
    assert "reference-equals-policy" not in told(tmp_path, {}, followed(old))


@pytest.mark.parametrize(("value", "told_"), [(0.0, True), (0.004, False)])
def test_rewards_that_stay_at_zero_while_the_policy_is_updated(tmp_path, value, told_):
    rewards = [line(n, np.full(60, value)) for n in ("reward_chosen", "reward_rejected")]
    learns = [line("learning_rate", np.full(60, 1e-6)), line("grad_norm", np.full(60, 7.0))]
    assert ("reference-equals-policy" in told(tmp_path, {}, [*rewards, *learns])) is told_
    assert "reference-equals-policy" not in told(tmp_path, {}, [*rewards, learns[0], line("grad_norm", np.zeros(60))])


def sampled(levels):
    rows = ["policy,top_p,temp,uniq_3"]
    for k, level in enumerate(levels):
        name = f"rl-{100 * k}" if k else "init"
        rows += [f"{name},{p},{t},{level + 0.05 * t:.3f}"
                 for p in (0.9, 1.0) for t in (0.2, 0.8, 1.3)]  # fmt: skip
    return rows


def test_variety_falls_with_every_way_of_sampling(tmp_path):
    found = told(tmp_path, {"u.csv": sampled([0.5, 0.41, 0.42, 0.33, 0.3, 0.24, 0.2, 0.17])})["variety-falls"]
    assert found.data["last"] == pytest.approx(0.18)
    assert not told(tmp_path, {"u.csv": sampled([0.5, 0.48, 0.51, 0.47, 0.5, 0.49, 0.5, 0.48])})
    assert not told(tmp_path, {"u.csv": sampled([0.5, 0.3, 0.2])[:-1]})


def test_variety_falls_along_the_models_and_goes_with_a_setting(tmp_path):
    models = ["name,distinct_2,temperature", "sft,0.46,0.8", "dpo-400,0.34,0.8", "dpo-1200,0.21,0.8"]
    assert told(tmp_path, {"variety.csv": models})["variety-falls"].data["last"] == pytest.approx(0.21)
    steady = ["name,distinct_2,temperature", "sft,0.46,0.8", "dpo-400,0.44,0.8", "dpo-1200,0.45,0.8"]
    assert not told(tmp_path, {"variety.csv": steady})
    tries = ["beta,distinct-2,win", "0.1,0.40,63", "0.2,0.35,64", "0.5,0.21,61"]
    found = told(tmp_path, {"tries.csv": tries}, settings=using(dpo_beta=0.5))
    assert found["variety-follows-setting"].data["best"] == pytest.approx(0.1)
    assert not told(tmp_path, {"tries.csv": tries}, settings=using(dpo_beta=0.1))


def sweep(one_at_a_time):
    head = "run;peak_lr;epochs;batch;neftune;data_ver;internal_acc"
    if one_at_a_time:
        return [
            head,
            "r1;1e-5;3;64;0;d1;70.8",
            "r2;2e-5;3;64;0;d1;71.0",
            "r3;1e-5;2;64;0;d1;70.1",
            "r4;1e-5;3;64;5;d1;74.4",
        ]
    return [
        head,
        "r1;1e-5;3;64;0;d1;70.8",
        "r2;2e-5;3;32;5;d2;69.6",
        "r3;2e-5;2;128;0;d3;72.0",
        "r4;7e-6;4;256;5;d4;74.4",
    ]


def test_runs_that_differ_in_many_things_tell_nothing_apart(tmp_path):
    assert told(tmp_path, {"runs.csv": sweep(False)})["runs-differ-in-many"].data["best"] == "r4"
    assert "runs-differ-in-many" not in told(tmp_path, {"runs.csv": sweep(True)})


CAME_OUT = [
    ("run,lr,epochs,batch,hit_pos,hit_neg,accuracy", "r{i},{lr},{e},{b},{x},{y},{a}"),
    ("实验,学习率,轮数,批大小,真阳,假阳,预测占比,准确率", "r{i},{lr},{e},{b},{x},{y},0.4{x},{a}"),
]
ONE_APART = [(1e-5, 3, 64), (2e-5, 3, 64), (1e-5, 2, 64), (2e-5, 2, 32)]
ALL_APART = [(1e-5, 3, 64), (2e-5, 2, 32), (7e-6, 4, 128), (3e-5, 5, 256)]


@pytest.mark.parametrize(("head", "row"), CAME_OUT, ids=["en", "zh"])
@pytest.mark.parametrize(("settings", "found"), [(ONE_APART, False), (ALL_APART, True)], ids=["one", "all"])
def test_counts_that_came_out_are_no_settings(tmp_path, head, row, settings, found):
    rows = [row.format(i=i, lr=lr, e=e, b=b, x=310 + 7 * i, y=12 + 3 * i, a=0.8 + i / 50)
            for i, (lr, e, b) in enumerate(settings)]  # fmt: skip
    told_ = told(tmp_path, {"runs.csv": [head, *rows]}).get("runs-differ-in-many")
    assert (told_ is not None) is found
    assert told_ is None or len(told_.data["settings"]) == 3


@pytest.mark.parametrize(("right", "inside"), [((126, 122), True), ((126, 82), False)])
def test_scores_inside_and_outside_their_noise(tmp_path, right, inside):
    rows = ["model,questions,accuracy", *(f"m{i},200,{k / 2:.1f}%" for i, k in enumerate(right))]
    found = told(tmp_path, {"scores.csv": rows})
    assert ("scores-within-noise" in found) is inside


@pytest.mark.parametrize("label", ["bucket", "长度桶", "tokens"])
def test_documents_far_below_the_window(tmp_path, label):
    def rows(long):
        return [f"{label},docs", "0-512,54000", "512-1k,29000", "1k-2k,15000", f"2k-8k,{long}", f">=8k,{long // 9}"]

    assert "documents-far-below-window" in told(tmp_path, {"len.csv": rows(900)}, settings=using(sequence_length=32768))
    assert not told(tmp_path, {"len.csv": rows(900)}, settings=using(sequence_length=2048))
    assert not told(tmp_path, {"len.csv": rows(90_000)}, settings=using(sequence_length=32768))
    days = [f"{label},docs", *(f"0{3 + i // 12}-1{i % 3},{900 + i}" for i in range(24))]
    assert not told(tmp_path, {"days.csv": days}, settings=using(sequence_length=32768))


def results(ifeval, lib):
    scores = {"ifeval": (ifeval, 541), "mmlu": (0.641, 14042), "gsm8k": (0.58, 1319), "bbh": (0.553, 6511)}
    body = ",".join(f'"{k}": {{"acc": {v}, "n": {n}}}' for k, (v, n) in scores.items())
    return f'{{"rows": 9000, "harness": {{"lib": "{lib}", "commit": "c3"}}, "results": {{{body}}}}}'


def test_one_ability_lost_beside_a_source_that_came_in(tmp_path):
    files = {"e/v4.json": results(0.706, "4.46"), "e/v5.json": results(0.518, "4.51"),
             "e/ablation.json": results(0.702, "4.51"),
             "card.csv": "source,rows_v4,rows_v5\nchat,29000,29000\nmath,15000,15000\ndocs,0,61000"}  # fmt: skip
    found = told(tmp_path, files)
    assert (found["ability-lost"].data["before"], found["ability-lost"].data["after"]) == ("v4", "v5")
    assert found["setting-not-to-blame"].data["version"] == "ablation"
    assert found["source-added"].data["source"] == "docs"
    steady = {"e/v4.json": results(0.706, "4.46"), "e/v5.json": results(0.701, "4.51"),
              "card.csv": "source,rows_v4,rows_v5\nchat,29000,31000\nmath,15000,15000\ndocs,5000,6100"}  # fmt: skip
    assert not told(tmp_path / "b", steady)


def rows_with(field, n=20):
    return [f'{{"id": "q{i}", "gold": "{i}", "{field}": "{i * 7 % 11}", "stop": "eos"}}' for i in range(n)]


def test_a_family_of_files_that_calls_one_field_differently(tmp_path):
    found = told(tmp_path, {"p/a.jsonl": rows_with("pred"), "p/b.jsonl": rows_with("prediction")})
    assert found["prediction-field-renamed"].data["fields"] == ["pred", "prediction"]
    assert not told(tmp_path / "same", {"p/a.jsonl": rows_with("pred"), "p/b.jsonl": rows_with("pred")})
    found = told(tmp_path / "text", {"zh_v1.jsonl": rows_with("text"), "zh_v2.jsonl": rows_with("content")})
    assert "fields-renamed" in found


def test_outputs_that_are_all_empty(tmp_path):
    def rows(beam):
        return [f'{{"user": "u{i}", "truth": "t{i}", "beams": {beam}}}' for i in range(30)]

    assert "outputs-empty" in told(tmp_path, {"pred.jsonl": rows('["", "", ""]')})
    assert not told(tmp_path, {"pred.jsonl": rows('["a", "", ""]')})


@pytest.mark.parametrize(
    ("name", "field", "given"),
    [("results.csv", "extracted_label", "response"), ("eval/scored.tsv", "parsed_answer", "model_output"),
     ("评分.csv", "提取的标签", "回答")],
)  # fmt: skip
def test_answers_that_nothing_was_read_out_of(tmp_path, name, field, given):
    def rows(cell):
        cut = "\t" if name.endswith("tsv") else ","
        said = '"first the lights,\nthen the road\n\nand so on {i}"'
        cells = (("id", "target", given, field), *((str(i), "ab"[i % 2], said, cell(i)) for i in range(40)))
        return [cut.join(row).replace("{i}", row[0]) for row in cells]

    found = told(tmp_path, {name: rows(lambda i: "1.0" if i == 7 else "")})["outputs-empty"]
    assert (found.severity, found.data["answers"]) == ("S1", given)
    assert "outputs-empty" not in told(tmp_path, {name: rows(lambda i: str(i % 2))})


def test_a_column_that_is_read_out_of_nothing_is_no_lost_answer(tmp_path):
    rows = ["id,target,extracted_label", *(f"{i},{i % 2}," for i in range(40))]
    assert "outputs-empty" not in told(tmp_path, {"todo.csv": rows})


def test_a_learning_rate_that_starts_over(tmp_path):
    x = np.arange(0, 4000, 100.0)
    decay = 3e-4 * 0.5 * (1 + np.cos(np.pi * x / 6000))
    again = np.concatenate([decay[:20], 3e-4 * np.minimum(np.arange(20) / 8 + 0.02, 1)])
    found = told(tmp_path, {}, [line("learning_rate", again, x)])
    assert found["lr-starts-over"].data["at"] == pytest.approx(2000)
    assert not told(tmp_path, {}, [line("learning_rate", decay, x)])
    cycles = 3e-4 * (1 - (np.arange(40) % 10) / 12)
    assert not told(tmp_path, {}, [line("learning_rate", cycles, x)])


def extended(*, parts=((0, 60), (60, 180), (180, 270)), top=1.8e-4, low=0.0, warm=5):
    """A linear decay whose end moves away each time that the training is resumed with more steps."""
    steps = np.arange(1, parts[-1][1] + 1, dtype=float)
    rate = np.empty(len(steps))
    for begin, end in parts:
        part = (steps > begin) & (steps <= end)
        rate[part] = np.minimum(steps[part] / warm, 1) * top * np.clip((end - steps[part]) / end, low, 1)
    return steps, rate


@pytest.mark.parametrize(
    ("form", "times"),
    [({}, 2), ({"parts": ((0, 400), (400, 900)), "top": 2e-5, "low": 0.01}, 1)],
    ids=["to zero, twice", "to a hundredth, once"],
)
def test_a_schedule_that_is_made_anew_for_a_longer_training(tmp_path, form, times):
    x, rate = extended(**form)
    found = told(tmp_path, {}, [line("learning_rate", rate, x)])
    assert found["lr-starts-over"].severity == "S2"
    assert found["lr-starts-over"].data["times"] == times


def test_cycles_and_a_floor_that_stays_are_no_schedule_made_anew(tmp_path):
    x = np.arange(1, 401, dtype=float)
    cycles = 3e-4 * (1 - (np.arange(400) % 100) / 99)
    assert not told(tmp_path, {}, [line("learning_rate", cycles, x)])
    floor = 3e-4 * np.maximum(1 - x / 300, 0.0)
    assert not told(tmp_path, {}, [line("learning_rate", floor, x)])
    restless = np.where(np.arange(400) % 2, 3e-4, 0.0) * np.linspace(1, 0.5, 400)
    assert "lr-starts-over" not in told(tmp_path, {}, [line("learning_rate", restless, x)])


def test_experts_and_layers_of_which_a_part_is_dead(tmp_path):
    def table(name, measure, values):
        return [f"{name},{measure}", *(f"{i},{v:.6g}" for i, v in enumerate(values))]

    r = rng(9)
    even = r.normal(1000, 60, 32)
    skewed = np.where(np.arange(32) < 3, 9000, np.where(np.arange(32) < 18, 20, 300))
    assert "experts-idle" in told(tmp_path, {"moe.csv": table("expert", "tokens", skewed)})
    assert not told(tmp_path, {"moe.csv": table("expert_id", "tokens", even)})
    assert "gradients-fade" in told(tmp_path, {"g.csv": table("layer", "grad_norm", 10.0 ** np.linspace(-7, -1, 24))})
    assert not told(tmp_path, {"g.csv": table("layer", "grad_norm", r.uniform(0.1, 0.4, 24))})
    zeros = np.where(np.arange(24) < 16, 0, 0.2)
    assert "layers-without-gradient" in told(tmp_path, {"g.csv": table("layer", "grad_norm", zeros)})


def test_experts_whose_load_a_cell_lists(tmp_path):
    def stats(last):
        rows = [{"step": s, "moe_layer_1": load, "moe_layer_2": load} for s, load in ((100, [500] * 16), (200, last))]
        return [json.dumps(row) for row in rows]

    skewed = [6000, 900, 400, 300, 200, 100, 80, 20, *[0] * 8]
    assert "experts-idle" in told(tmp_path, {"moe_load_stats.jsonl": stats(skewed)})
    assert not told(tmp_path, {"moe_load_stats.jsonl": stats([480 + 5 * i for i in range(16)])})
    assert not told(tmp_path, {"lengths.jsonl": stats(skewed)})


@pytest.mark.parametrize(
    ("memory", "length", "top", "told_"),
    [("peak_gib", "seq_len", 16384, True), ("perf/max_memory_allocated_gb", "response_length/max", 9000, True),
     ("显存_GB", "最大长度", 8192, True), ("peak_gib", "seq_len", 2600, False), ("loss", "seq_len", 16384, False),
     ("mem_gib", "tokens_per_second", 16384, False)],
)  # fmt: skip
def test_memory_that_goes_with_the_longest_batch(tmp_path, memory, length, top, told_):
    sizes = rng(1).normal(2048, 120, 60)
    sizes[40] = top
    lines = [line(length, sizes), line(memory, 20 + sizes / 400 + rng(2).normal(0, 0.05, 60))]
    assert ("memory-follows-length" in told(tmp_path, {}, lines)) is told_


def test_memory_that_is_high_for_another_reason_follows_nothing(tmp_path):
    sizes, taken = rng(1).normal(2048, 120, 60), rng(2).normal(30, 1, 60)
    sizes[40], taken[12] = 16384, 79
    assert not told(tmp_path, {}, [line("seq_len", sizes), line("peak_gib", taken)])


@pytest.mark.parametrize(("fades", "code"), [(1e-5, {"gradients-fade"}), (0.8, set())])
def test_gradients_by_layer_and_step_are_judged_at_the_last_step(tmp_path, fades, code):
    rows = ["step,layer,grad_norm"] + [
        f"{step},{layer},{0.5 * fades ** ((11 - layer) / 11 * (step == 400)):.4g}"
        for step in (200, 400)
        for layer in range(12)
    ]
    assert set(told(tmp_path, {"layers.csv": rows})) == code


def moved_part(worse, part="zh", metric="eval_loss"):
    x = np.arange(500.0, 20001, 500)
    shift = Finding(
        "mixture-moved", Severity.S2, "", "", (), {"at": 9000.0, "parts": {"zh": [0.3, 0.08], "en": [0.6, 0.82]}}
    )
    groups = {g: 2.1 + 0.004 * rng(i).normal(size=40) for i, g in enumerate(("zh", "en", "code"))}
    groups[part][x > 9500] += worse
    lines = [replace(line(metric, v, x, "eval.csv"), group=f"language {g}") for g, v in groups.items()]
    return {f.code for f in suffering(moves(lines), [shift])}


def test_the_part_that_is_fed_less_and_turns_worse():
    assert moved_part(0.3) == {"less-fed-part-suffers"}
    assert moved_part(-0.1, metric="eval_accuracy") == {"less-fed-part-suffers"}
    assert moved_part(0.3, metric="eval_perplexity") == {"less-fed-part-suffers"}


def test_a_part_that_is_fed_more_or_improves_says_nothing():
    assert not moved_part(0.3, part="en")
    assert not moved_part(-0.1)
    assert not moved_part(0.0)


@pytest.mark.parametrize(
    ("rate", "told_"),
    [
        (lambda s: 3e-4 * (4 if s >= 120 else 1), True),
        (lambda s: 3e-4 * (1 - s / 500) * (2 if s >= 120 else 1), True),
        (lambda s: 3e-4 * min(1, s / 150), False),
        (lambda s: 3e-4 * (1 - s / 500), False),
        (lambda s: 3e-4 * (1 + np.cos(np.pi * (s % 100) / 100)) / 2 + 1e-7, False),
        (lambda s: 3e-4 * (10 if s == 120 else 1), False),
    ],
    ids=["a step up", "a step up on the way down", "warm-up", "decay", "restarts of a cosine", "one point"],
)
def test_a_rate_that_is_raised_by_hand(tmp_path, rate, told_):
    rates = line("learning_rate", [rate(s) for s in range(1, 301)])
    assert ("lr-raised" in told(tmp_path, {}, [rates])) is told_


def linear(s, total=400, peak=2e-4):
    return peak * (1 - s / total)


def cosine(s, total=400, peak=2e-4):
    return peak * (1 + np.cos(np.pi * s / total)) / 2


@pytest.mark.parametrize(
    ("rate", "loss", "code"),
    [
        (lambda s: linear(s if s <= 180 else s - 180), lambda s: 1.4 + 0.2 * (s > 180), "rate-off-since-restart"),
        (lambda s: cosine(s if s <= 150 else s - 150), lambda s: 1.4, "lr-starts-over"),
        (lambda s: linear(s), lambda s: 1.4 + 0.2 * (s > 180), None),
        (lambda s: 1e-5 + cosine(s % 150, 150), lambda s: 1.4, None),
        (lambda s: 4e-5 + cosine(s % 160, 160), lambda s: 1.4, None),
        (lambda s: 2e-4 * min(1, s / 60), lambda s: 1.4, None),
        (lambda s: linear(s) * (2 if s > 180 else 1), lambda s: 1.4, None),
    ],
    ids=["linear", "cosine", "goes on", "cycles", "two cycles", "warm-up", "raised"],
)  # fmt: skip
def test_a_schedule_that_begins_again_from_amid_its_decay(tmp_path, rate, loss, code):
    steps = range(1, 301)
    noise = 0.01 * rng(3).normal(size=300)
    lines = [line("learning_rate", [rate(s) for s in steps]), line("loss", [loss(s) for s in steps] + noise)]
    found = told(tmp_path, {}, lines)
    assert {"rate-off-since-restart", "lr-starts-over"} & {*found} == ({code} if code else set())


@pytest.mark.parametrize(
    ("name", "row", "code"),
    [
        ("CCKS_test.json", {"instruction": "生成查询", "input": "谁？", "output": ""}, "references-empty"),
        ("data/dev.jsonl", {"问题": "首都？", "答案": ""}, "references-empty"),
        ("wmt_test.csv", "source,target\n", "references-empty"),
        ("test_predictions.jsonl", {"prompt": "a", "output": ""}, "outputs-empty"),
        ("test.jsonl", {"question": "a", "answer": "b"}, ""),
        ("test.jsonl", {"question": "a", "id": "b"}, ""),
    ],
)
def test_a_held_out_file_without_answers_has_no_outputs_to_miss(tmp_path, name, row, code):
    many = [*([row] if isinstance(row, str) else []), *(f"s{i}," for i in range(12) if isinstance(row, str))]
    text = "\n".join(many) if many else "\n".join(json.dumps({**row, "n": i}, ensure_ascii=False) for i in range(12))
    found = told(tmp_path, {name: text + "\n"})
    assert {"references-empty", "outputs-empty"} & found.keys() == ({code} if code else set())


def test_what_is_used_of_one_whole_over_time_is_no_source_that_lost_its_rows(tmp_path):
    clock = [f"2031-04-0{1 + i // 24} {i % 24:02d}:00,96000,{4 if i == 0 else 71000 + i % 3}" for i in range(60)]
    assert "source-lost" not in told(tmp_path, {"cards.csv": ["ts,hbm_total,hbm_used", *clock]})
    pair = [row.replace(",", f",card{i},", 1) for row in clock for i in (0, 1)]
    assert "source-lost" not in told(tmp_path, {"pair.csv": ["ts,card,hbm_total,hbm_used", *pair]})
    numbers = [f"{i},5000,{0 if i == 2 else 4100 + 7 * i}" for i in range(9)]
    assert "source-lost" not in told(tmp_path, {"slots.csv": ["slot,total,used", *numbers]})
    shards = [f"pack-{i},{5000 + i},{0 if i == 2 else 4100 + 7 * i}" for i in range(9)]
    assert "source-lost" in told(tmp_path, {"shards.csv": ["shard,docs_in,docs_out", *shards]})


def predictions(n=30, **fields):
    return [
        json.dumps({"id": i, "pred": "A" if i % 3 else "B", **{k: f(i) for k, f in fields.items()}}) for i in range(n)
    ]


def test_predictions_to_empty_questions_or_without_references_are_told(tmp_path):
    asked = told(tmp_path, {"preds.jsonl": predictions(question=lambda i: "", gold=lambda i: "A")})
    assert asked["questions-empty"].severity == "S1"
    assert "references-empty" in told(tmp_path, {"preds.jsonl": predictions(gold=lambda i: "NO_GOLD")})


@pytest.mark.parametrize("fields", [
    {"question": lambda i: f"What is {i}?", "gold": lambda i: "A"},
    {"question": lambda i: f"What is {i}?", "label": lambda i: "unknown" if i % 2 else "A"},
    {"gold": lambda i: "" if i < 5 else "B"},
])  # fmt: skip
def test_predictions_with_questions_and_references_are_not(tmp_path, fields):
    assert not {"questions-empty", "references-empty"} & told(tmp_path, {"preds.jsonl": predictions(**fields)}).keys()


@pytest.mark.parametrize(("rows", "is_told"), [
    (["model,ppl", "a,8792.7", "b,41990.1"], True),
    (["model,ppl", "a,12.7", "b,41990.1"], False),  # one of them is
    (["step,ppl", "1,50257", "2,21000"], False),  # a training begins so
    (["model,ppl_tokens_per_s", "a,8792", "b,9000"], False),
])  # fmt: skip
def test_results_of_which_the_best_perplexity_is_in_the_thousands(tmp_path, rows, is_told):
    assert ("perplexity-unlearned" in told(tmp_path, {"results.csv": rows})) is is_told


@pytest.mark.parametrize(("rows", "is_told"), [
    (["model,task,accuracy,avg_tokens", "raw,cmmlu,0.06,512", "tuned,cmmlu,0.71,3"], True),
    (["model,task,acc,total", "raw,piqa,11.5,400", "tuned,piqa,78.0,400"], True),
    (["模型,C-Eval,GSM8K", "基座,3.1,40.2", "微调,68.9,51.0"], True),
    (["model,mmlu,arc_challenge", "raw,0.58,0.09", "tuned,0.61,0.55"], True),
    (["model,task,accuracy", "raw,cmmlu,0.24,", "tuned,cmmlu,0.71"], False),  # at guessing: it knows nothing yet
    (["model,task,accuracy", "raw,gsm8k,0.01", "tuned,gsm8k,0.64"], False),  # nothing can be guessed
    (["model,task,accuracy", "raw,mmlu,0.05", "tuned,mmlu,0.06"], False),  # nobody answers it
    (["model,task,accuracy,total", "raw,mmlu,0.1,10", "tuned,mmlu,0.7,10"], False),  # ten items
    (["model,mmlu_delta,mmlu_tokens", "raw,0.02,4", "tuned,0.9,70"], False),
])  # fmt: skip
def test_one_model_right_less_often_than_guessing_where_another_answers_well(tmp_path, rows, is_told):
    assert ("score-below-guessing" in told(tmp_path, {"results.csv": rows})) is is_told


@pytest.mark.parametrize("beside", ["num_fewshot", "n-shot"])
def test_how_many_examples_a_benchmark_is_shown_is_no_score_of_it(tmp_path, beside):
    rows = [f"model,{beside}.arc_challenge,{beside}.mmlu,mmlu.acc,arc_challenge.acc", "old,10,5,0.61,0.55"]
    assert "score-below-guessing" not in told(tmp_path, {"results.csv": [*rows, "new,25,5,0.62,0.56"]})


REPORT = (
    "# Report\n\n## BoolQ\n- **ACC**: {}\n- **ACC_STDERR**: 0.04\n\n## MMLU\n- **ACC**: {}\n\n## PIQA\n- **ACC**: {}\n"
)


@pytest.mark.parametrize(("files", "is_told"), [
    ({"scores.csv": ["model,hellaswag,mmlu,winogrande", "tuned,0.251,0.246,0.498"]}, True),
    ({"结果.csv": ["模型,task,accuracy,total", "微调,piqa,51.0,400", "微调,mmlu,24.1,900", "微调,boolq,48.5,600"]},
     True),
    ({"report.md": REPORT.format(0.46, 0.243, 0.512).splitlines()}, True),
    ({"scores.csv": ["model,hellaswag,mmlu,winogrande", "small,0.31,0.246,0.498"]}, False),  # a small one
    ({"scores.csv": ["model,cmmlu,mmlu,gpqa", "small,0.251,0.246,0.249"]}, False),  # hard ones alone
    ({"scores.csv": ["model,hellaswag,mmlu,winogrande", "random,0.251,0.246,0.498"]}, False),
    ({"scores.csv": ["step,hellaswag,mmlu,winogrande", "1,0.251,0.246,0.498", "500,0.252,0.25,0.5"]}, False),
    ({"report.md": REPORT.format(0.71, 0.243, 0.512).splitlines()}, False),
])  # fmt: skip
def test_everything_answered_as_by_guessing(tmp_path, files, is_told):
    assert ("scores-all-at-guessing" in told(tmp_path, files)) is is_told


def test_one_result_that_names_its_checkpoint_is_no_course(tmp_path):
    assert "perplexity-unlearned" in told(tmp_path, {"eval.csv": ["checkpoint,perplexity,n", "750,5310.2,100"]})
    assert "perplexity-unlearned" not in told(tmp_path, {"eval.csv": ["checkpoint,perplexity,n", "750,53.2,100"]})
