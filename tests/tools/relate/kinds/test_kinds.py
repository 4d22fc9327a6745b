"""Relations by the kind of quantity: each on a small run in which it speaks, and on one in which it must not."""

import json

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.documents.counted import counted
from triage.tools.documents.event import Event
from triage.tools.documents.stated import stated
from triage.tools.reading import iter_chunks
from triage.tools.relate.clock import Clock
from triage.tools.relate.kinds.look import related_by_kind
from triage.tools.relate.kinds.names import about, kinds_of
from triage.tools.relate.line import Line
from triage.tools.relate.moves import moves
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(3)


@pytest.fixture
def found(tmp_path):
    """The findings by code of a run made of these files."""

    def make(files, lines=(), events=()):
        tables = []
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if isinstance(text, str) else "\n".join(text) + "\n")
            if path.suffix != ".py":
                tables += read_tables(path, name)
        run = discover(tmp_path)
        told = related_by_kind(
            tables,
            stated(run),
            moves(lines),
            events,
            Clock(()),
            (),
            tables,
            counted(run, {a.name: [*iter_chunks(a.path)] for a in run.of("log")}),
        )
        return {f.code: f for f in reversed(told)}

    return make


def pairs(bad):
    rows = [f"h{i:02d},h{(i + 1) % 12:02d},{rail},"
            f"{(bad if 5 in (i, (i + 1) % 12) and rail == 1 else 46) + RNG.normal(0, .2):.2f}"
            for i in range(12) for rail in range(4)]  # fmt: skip
    return ["a,b,rail,busbw_gbps", *rows]


def test_rows_that_stand_out_share_what_no_other_row_has(found):
    told = found({"pairs.csv": pairs(11.5)})["rows-stand-out"]
    assert set(told.data["shared"]) == {"1", "h05"}
    assert "link" in about(told)
    assert told.data["asks"][0]["is"] == "at-least"


@pytest.mark.parametrize("last", ["all,1645", "合计,1645"])
def test_the_line_of_the_sum_does_not_stand_out(found, last):
    parts = ["band,loans", *(f"{i},{164 + i % 2}" for i in range(1, 11)), last]
    assert "rows-stand-out" not in found({"bands.csv": parts})


def test_noise_and_levels_of_their_own_do_not_stand_out(found):
    noisy = ["host,step_ms", *(f"n{i},{1000 + RNG.normal(0, 150):.0f}" for i in range(40))]
    two = ["host,mem_gib", *(f"n{i},{40 if i % 2 else 80}" for i in range(40))]
    assert "rows-stand-out" not in found({"pairs.csv": pairs(46), "noisy.csv": noisy, "two.csv": two})


def test_what_a_tool_prints_for_many_machines_is_a_table_in_which_one_port_stands_out(found):
    lines = [f"n{i}: CA 'mlx{p}'\nn{i}: \tPort 1:\nn{i}: \t\tState: Active\nn{i}: \t\tRate: "
             f"{100 if (i, p) == (3, 1) else 400}\n"
             f"n{i}: \t\tLink layer: InfiniBand" for i in range(16) for p in range(4)]  # fmt: skip
    told = found({"ports.txt": lines})["rows-stand-out"]
    assert told.data["shared"][:2] == ["n3", "mlx1"]


def versions(lag):
    rows = []
    for step in range(1, 401):
        behind = lag if step > 200 else 1
        rows += [f"{step},{max(0, step - behind - int(RNG.integers(0, 2)))},{0.01 * behind:.3f}" for _ in range(3)]
    return ["step,weights_version,ratio_off", *rows]


@pytest.mark.parametrize(("lag", "speaks"), [(9, True), (1, False)])
def test_a_version_that_falls_behind_the_step(found, lag, speaks):
    told = found({"batches.csv": versions(lag)})
    assert ("counter-falls-behind" in told) is speaks
    if speaks:
        assert abs(told["counter-falls-behind"].data["at"] - 201) <= 3
        assert told["counter-falls-behind"].data["with"] == "ratio_off"


def answers(limit, n=200):
    sizes = [min(limit, int(x)) for x in RNG.lognormal(6, 0.6, n)]
    return [json.dumps({"id": f"q{i}", "n_out": s, "score": int(s < limit and i % 3 > 0)}) for i, s in enumerate(sizes)]


def test_answers_lost_at_a_limit_name_the_line_that_sets_it_and_a_higher_one(found):
    files = {
        "gen/a.jsonl": answers(420),
        "task.yml": "gen:\n  max_gen_toks: 420\n",
        "train.yml": "max_response_length: 8192\n",
    }
    told = found(files)["answers-lost-at-limit"]
    assert {"lower", "limit"} <= about(told)
    assert told.data["proposes"]["new"] == 8192
    assert any(e.file == "task.yml" and e.line == 2 for e in told.evidence)


@pytest.mark.parametrize(("points", "percent"), [(1, True), (10, False), (100, False)])
def test_a_mean_of_points_is_no_percentage(found, points, percent):
    rows = [json.dumps({**json.loads(row), "score": points * json.loads(row)["score"]}) for row in answers(420)]
    told = found({"gen/a.jsonl": rows, "task.yml": "gen:\n  max_gen_toks: 420\n"})["answers-lost-at-limit"]
    part = told.message.split("in the")[0].split(" there and ")[1]
    assert ("%" in part) == percent
    assert ("%" in told.zh.split("自行结束的")[1].split("；")[0]) == percent


def test_lengths_that_end_by_themselves_are_at_no_limit(found):
    assert not {"rows-at-limit", "answers-lost-at-limit"} & found({"gen/a.jsonl": answers(100_000)}).keys()


SPEEDS = [
    ("prompt_kind,run,ttft_ms,decode_tps,completion_tokens,total_time_s", "{k},{i},{t},61.5,{n},4.{i}"),
    ("模型,首字延迟,吞吐,输出token", "m{i},{t},58.1,{n}"),
]


@pytest.mark.parametrize(("head", "row"), SPEEDS)
@pytest.mark.parametrize(
    ("more", "cell", "told"), [("", "", False), (",score", ",{c}", True), (",finish", ",{e}", True)]
)
def test_a_benchmark_of_speed_writes_as_much_as_it_was_asked_to(found, head, row, more, cell, told):
    sizes = [256 if i % 6 else 90 + i for i in range(36)]
    rows = [(row + cell).format(k="code", i=i, t=200 + i, n=n, c=int(n < 256), e="length" if n == 256 else "stop")
            for i, n in enumerate(sizes)]  # fmt: skip
    codes = {"rows-at-limit", "answers-lost-at-limit"} & found({"bench.csv": [head + more, *rows]}).keys()
    assert bool(codes) is told


def test_answers_of_which_none_says_that_it_was_cut_are_at_no_limit(found):
    rows = [row[:-1] + ', "finish_reason": "stop"}' for row in answers(31)]
    assert not {"rows-at-limit", "answers-lost-at-limit"} & found({"gen/a.jsonl": rows}).keys()


@pytest.mark.parametrize(("kv", "speaks"), [("fp8_e4m3", True), ("bf16", False)])
def test_extremes_beyond_the_format_that_the_run_names(found, kv, speaks):
    rows = ["layer,k_amax", *(f"{i},{900 if i == 4 else 120 + i}" for i in range(24))]
    told = found({"amax.csv": rows, "serve.sh": f"vllm serve m --kv-cache-dtype {kv} --max-num-seqs 8\n"})
    assert ("values-beyond-format" in told) is speaks


PARTS = "sources:\n  a: {{rate: 16000, lang: en}}\n  b: {{rate: 24000, lang: en}}\n  c: {{{c}lang: en}}\n"
READS = "def cut(cfg, source):\n    return cfg[source].get('rate', 44100)\n"
PROBED = ["c/1.wav sample_rate=48000 channels=1", "a/1.wav sample_rate=16000 channels=1"] * 3


@pytest.mark.parametrize(("c", "speaks"), [("", True), ("rate: 48000, ", False)])
def test_a_key_that_one_part_lacks_with_what_is_taken_and_what_is_so(found, c, speaks):
    told = found({"sources.yaml": PARTS.format(c=c), "cut.py": READS, "probe.txt": PROBED})
    assert ("setting-left-out" in told) is speaks
    if speaks:
        assert "44100" in told["setting-left-out"].message
        assert "48000" in told["setting-left-out"].message
        assert told["setting-left-out"].severity == "S2"


def norms(share):
    base = RNG.uniform(0.5, 2, 40)
    return [
        "module,live_delta,merged_delta",
        *(f"m{i},{x:.4f},{x * share + RNG.normal(0, 0.001):.4f}" for i, x in enumerate(base)),
    ]


ADAPTER = '{\n "lora_alpha": 16,\n "r": 64,\n "use_rslora": %s\n}\n'
FOLD = "def fold(cfg):\n    return cfg['lora_alpha'] / cfg['r']\n"


def test_an_adapter_scaled_otherwise_than_its_configuration_asks(found):
    files = {"norms.csv": norms(0.125), "adapter_config.json": ADAPTER % "true", "fold.py": FOLD}
    told = found(files)
    assert told["columns-in-proportion"].data["ratio"] == pytest.approx(8, rel=0.05)
    assert "sqrt" in told["adapter-scaled-otherwise"].message


def test_an_adapter_that_is_scaled_as_it_says(found):
    told = found({"norms.csv": norms(1.0), "adapter_config.json": ADAPTER % "false", "fold.py": FOLD})
    assert not {"columns-in-proportion", "adapter-scaled-otherwise"} & told.keys()


@pytest.mark.parametrize(("none", "speaks"), [(0.93, True), (0.02, False)])
def test_a_count_that_is_nearly_all_of_some_groups_and_hardly_any_of_others(found, none, speaks):
    lines = [f"shard={i} lang={lang} docs=1000 unsigned={int(1000 * (none if lang in ('zh', 'ja') else 0.01))} ok"
             for i, lang in enumerate(["en", "zh", "de", "ja"] * 5)]  # fmt: skip
    told = found({"dedup_stage.log": lines})
    assert ("share-uneven" in told) is speaks
    if speaks:
        assert {"language", "dedup"} <= about(told["share-uneven"])


def line(name, before, after, at=200, n=400):
    x = np.arange(1.0, n + 1)
    values = np.where(x < at, before, after) + RNG.normal(0, 0.02 * abs(after - before or 1), n)
    return Line(name, name, "log.csv", x, values, np.arange(2, n + 2))


CHANGE = Event("config", "router_aux_coef 0.01 -> 0.0001", "CHANGES.md", 3, 200)


def test_measures_that_part_behind_a_change_that_is_written_down(found):
    early = Event("note", "dashboards moved", "CHANGES.md", 2, 60)
    told = found({"a.txt": "x"}, [line("max_load", 1.2, 5.0), line("dropped", 0.01, 0.3)], [early, CHANGE])[
        "moved-at-change"
    ]
    assert "routing" in about(told)
    assert told.data["names"] == "router_aux_coef 0.0001 -> 0.01"
    assert told.evidence[0].line == 3


def test_a_change_behind_which_nothing_moves_is_not_told(found):
    slope = Line("loss", "loss", "l.csv", np.arange(400.0), np.linspace(3, 2, 400), np.arange(400))
    assert "moved-at-change" not in found({"a.txt": "x"}, [line("max_load", 1.2, 1.2), slope], [CHANGE])


def test_what_other_files_say_of_the_thing_that_stands_out(found):
    notes = "# Work\n\n| where | what |\n|---|---|\n| h01 - h03 | firmware updated |\n"
    notes += "| h04 - h06 | moved to another switch |\n"
    told = found({"pairs.csv": pairs(11.5), "work.md": notes})["named-elsewhere"]
    assert "moved to another switch" in told.message
    assert "firmware" not in told.message


@pytest.mark.parametrize(("there", "speaks"), [(64, True), (128, False)])
def test_a_line_that_counts_fewer_parts_than_the_whole(found, there, speaks):
    log = ["[rank0] step 1/64", f"[rank0] {there} of 128 optimizer shards found", "[rank0] loading 3/64"]
    told = found({"resume.log": log})
    assert ("fewer-than-whole" in told) is speaks
    if speaks:
        assert "state" in about(told["fewer-than-whole"])


@pytest.mark.parametrize(
    "text", ["05/27 08:14:22 [info] restored the weights of step 900", "[3/11 7:02] skipped a record"]
)
def test_a_date_before_a_time_counts_nothing(found, text):
    assert "fewer-than-whole" not in found({"train.log": ["[rank0] step 1/64", text]})


@pytest.mark.parametrize(
    "text",
    [
        " successfully loaded checkpoint from /ckpt/mcore-8b [ t 1/8, p 2/4 ] at iteration 700",
        "restored optimizer state (tp=3/8, pp=1/2) from step_700",
        "[agent] signal received on node h7, restarting the workers (restart 2/5)",
        "loaded optimizer states of rank 3/64",
        "resumed: 12000/20000 steps, consumed 3.1e9 tokens",
        "第 3/16 片已加载",
    ],
)
def test_the_place_of_one_among_several_is_no_count(found, text):
    assert "fewer-than-whole" not in found({"train.log": ["[rank0] step 1/64", text]})


@pytest.mark.parametrize(
    "text",
    ["| Routing | Accuracy | 75.0% (9/12) | 3 calls failed in this snapshot |", "评测 40/40 通过，失败 0",
     "requests 500/500, failed: 0", "20/20 checks pass, none failed"],
)  # fmt: skip
def test_a_score_beside_what_failed_is_no_count_of_lost_parts(found, text):
    assert "fewer-than-whole" not in found({"train.log": ["[rank0] step 1/64", text]})


@pytest.mark.parametrize("text", ["30/30 samples failed generation", "生成：60 / 60 条失败"])
def test_parts_that_failed_one_and_all_are_more_than_a_note(found, text):
    assert found({"train.log": ["[rank0] step 1/64", text]})["fewer-than-whole"].severity == "S2"


def test_the_way_through_all_parts_is_no_count(found):
    lines = [f"loaded {i}/6 optimizer files in {i * 1.3:.1f}s" for i in range(1, 7)]
    assert "fewer-than-whole" not in found({"resume.log": lines})
    assert "fewer-than-whole" in found({"resume.log": lines[:-1]})


@pytest.mark.parametrize(
    "text", ["optimizer state: loaded 3/8 shards [ t 1/8, p 2/4 ]", "恢复优化器状态：找到 48 / 96 个文件（进程 1/8）"]
)
def test_a_count_beside_the_place_of_one_is_still_a_count(found, text):
    assert "state" in about(found({"resume.log": ["[rank0] step 1/64", text]})["fewer-than-whole"])


@pytest.mark.parametrize(
    "text",
    [
        "boolq: 3270/3270 questions graded, 0 failed to parse",
        "题目 812/812 已评测，失败 0 条",
        "| tools | 58.33% (7/12) | 5 calls failed |",
        "retries were dropped while the suite holds `9/9` green",
        "no answer is truncated and none empty, compared with 41/300 for the old model",
        "100%|##########| 8/8 [00:12<00:00]target folder /out exists and is not empty",
    ],
)
def test_a_word_of_another_clause_or_with_its_own_number_says_nothing_of_a_count(found, text):
    assert "fewer-than-whole" not in found({"train.log": ["[rank0] step 1/64", text]})


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("loaded tensors (211/290), the rest is new", 211),
        ("| matched keys | 30 of 48 |", 30),
        ("题库共 640 条，其中 96/640 失败，其余正常", 544),
        ("21/48 tensors matched, 27 missing", 21),
    ],
)
def test_a_count_is_of_what_its_clause_says(found, text, there):
    told = found({"resume.log": ["[rank0] step 1/64", text]})["fewer-than-whole"]
    assert told.data["there"] == there


@pytest.mark.parametrize(("draft", "speaks"), [("chat-v8-draft", True), ("chat-v9-draft", False)])
def test_versions_of_two_things_that_must_match(found, draft, speaks):
    script = f"vllm serve x \\\n  --model=/m/chat-v9 \\\n  --draft-model=/m/{draft}\n"
    told = found({"serve.sh": script})
    assert ("versions-apart" in told) is speaks


@pytest.mark.parametrize(("key", "names", "speaks"), [
    ("weights_md5", ("river-a", "river-b"), False),  # two models, each with its own
    ("ckpt_hash", ("river-a", "river-b"), False),
    ("weights_md5", ("river-a", "river-a"), True),
    ("tokenizer_hash", ("river-a", "river-b"), True),
])  # fmt: skip
def test_two_models_have_weights_of_their_own(found, key, names, speaks):
    files = {f"m{i}.yaml": f"model: {n}\n{key}: {i}e7f4{i}a\n" for i, n in enumerate(names, 1)}
    assert ("versions-apart" in found(files)) is speaks


@pytest.mark.parametrize(("one", "other", "speaks"), [
    (("ask_v1.yaml", "version: 1"), ("ask_v2.yaml", "version: 2"), False),  # each is its own
    (("a.yaml", "revision: nightly"), ("b.yaml", "revision: stable"), False),  # no number
    (("a.yaml", "revision: 4f1c22"), ("b.yaml", "revision: 5f0d31"), True),
    (("serve_v1.yaml", "engine_version: 8"), ("bench.yaml", "engine_version: 9"), True),
])  # fmt: skip
def test_versions_by_which_files_are_called(found, one, other, speaks):
    files = {name: f"model: river\n{line}\n" for name, line in (one, other)}
    assert ("versions-apart" in found(files)) is speaks


def rollouts(pays):
    rows = []
    for i in range(400):
        edited = bool(RNG.random() < 0.3)
        rows.append(json.dumps({"task": f"t{i}", "tests_edited": edited,
                                "reward": int(RNG.random() < (pays if edited else 0.4)),
                                "hidden_ok": int(RNG.random() < 0.2)}))  # fmt: skip
    return rows


@pytest.mark.parametrize(("pays", "speaks"), [(0.99, True), (0.4, False)])
def test_an_outcome_that_goes_with_a_column_of_two_values(found, pays, speaks):
    told = found({"rollouts.jsonl": rollouts(pays)})
    assert ("outcome-follows-column" in told) is speaks
    if speaks:
        assert "exploit" in about(told["outcome-follows-column"])
        assert told["outcome-follows-column"].data["group"].lower() == "true"


def test_two_commands_of_one_thing_that_differ_in_a_setting(found):
    one = "serve m --tp 2 --max-len 8192 --max-seqs 24 --mem 0.9\n"
    told = found({"old.sh": one, "new.sh": one.replace("0.9", "0.9 --kv-dtype fp8")})["set-otherwise"]
    assert "kv_dtype" in told.message
    assert "set-otherwise" not in found({"old.sh": one, "new.sh": one})


@pytest.mark.parametrize(
    ("name", "kind"),
    [("busBW (GB/s)", "link"), ("policy_version", "age"), ("生成长度", "output"), ("max_new_tokens", "limit"),
     ("has_system_msg", "template"), ("touched_tests", "exploit"), ("语言", "language"), ("采样率", "rate")],
)  # fmt: skip
def test_names_of_a_kind(name, kind):
    assert kind in kinds_of(name)


@pytest.mark.parametrize("name", ["loss", "hidden_size", "grad_norm", "epoch"])
def test_names_of_no_kind_that_leads(name):
    assert not kinds_of(name) & {"link", "age", "exploit", "template", "routing", "dedup", "scale"}


def subtitles(late=0.0, times=1.0, odd="第3批"):
    """Beginnings in the text and as they are heard, of three sources; those of one are late, or grow too fast."""
    rows = []
    for i in range(90):
        source, heard = f"第{i % 3 + 1}批", 3 + i * 0.7
        text = heard * times + late if source == odd else heard
        rows.append(f"{i},{source},{text + RNG.normal(0, 0.03):.3f},{heard:.3f}")
    return ["编号,数据集,字幕起点_s,语音起点_s", *rows]


@pytest.mark.parametrize(("late", "times", "how"), [(2.5, 1.0, "shift"), (0.0, 1.0417, "factor")])
def test_two_columns_that_agree_in_all_groups_but_one(found, late, times, how):
    told = found({"对齐/抽查.csv": subtitles(late, times)})["columns-part-in-group"]
    assert told.data["groups"] == ["第3批"]
    assert told.data["how"] == how
    assert "moment" in about(told)


def test_what_the_odd_group_alone_has_makes_the_proportion(found):
    files = {"对齐/抽查.csv": subtitles(times=1.2), "fps.csv": ["数据集,帧率", "第1批,25", "第2批,25", "第3批,30"]}
    told = found({**files, "prep.yaml": "subtitle:\n  fps: 25\n"})["columns-part-in-group"]
    assert {"made", "rate"} <= about(told)
    assert "prep.yaml:2" in told.message


def test_groups_in_which_two_columns_agree_or_go_each_their_way_are_nothing(found):
    loose = [f"{i},{'abc'[i % 3]},{RNG.integers(5, 90)},{RNG.integers(100, 900)}" for i in range(120)]
    assert "columns-part-in-group" not in found({"t.csv": subtitles(), "u.csv": ["id,source,labels,tokens", *loose]})


def masked(odd):
    for i in range(90):
        lang, tokens = ("en", "zh", "de")[i % 3], int(RNG.integers(60, 900))
        yield json.dumps({"uid": i, "lang": lang, "seq_tokens": tokens,
                          "loss_mask_sum": tokens if lang == odd else int(tokens * RNG.uniform(0.2, 0.7))})  # fmt: skip


def test_a_part_that_is_the_whole_in_one_group_alone(found):
    told = found({"dump.jsonl": list(masked("zh"))})["columns-part-in-group"]
    assert told.data["groups"] == ["zh"]
    assert {"trained", "equal"} <= about(told)
    assert "columns-part-in-group" not in found({"dump.jsonl": list(masked(""))})


def stored(lacks, printed):
    """A list of five saved steps, the optimizer's file of some of which is not there."""
    for i in range(1, 6):
        names = [f"model-{k:05d}-of-00002.safetensors" for k in (1, 2)] + ["optimizer.bin"] * (i not in lacks)
        yield from (printed(f"runs/zh-sft/step_{i * 500}", name, i) for name in [*names, "config.json"])


def s3(folder, name, day):
    return f"2026-03-{10 + day} 04:{day}1:07 {48211020 + day:>11} {folder}/{name}"


def long(folder, name, day):
    return f"-rw-r--r-- 1 ops ml {48211020 + day} Mar {10 + day} 04:{day}1 {folder}/{name}"


@pytest.mark.parametrize("printed", [s3, long])
def test_later_folders_of_a_list_lack_a_kind_of_file(found, printed):
    at = "03-13 21:30 为省空间，检查点不再保存优化器"
    files, noted = {"objects.txt": list(stored((4, 5), printed))}, Event("config", at, "变更.md", 4)
    told = found(files, events=[noted])["folder-lacks-files"]
    assert (told.data["of"], told.data["last_whole"]) == ("step_2000", "step_1500")
    assert "变更.md:4" in told.message
    assert "state" in about(told)


@pytest.mark.parametrize("lacks", [(), (1, 2, 3), (2,)])
def test_whole_folders_and_older_ones_that_were_thinned_out_are_nothing(found, lacks):
    assert "folder-lacks-files" not in found({"objects.txt": list(stored(lacks, s3))})


def prompts(odd, lead):
    fixed = "你是客服助手，只回答与订单有关的问题，不要承诺退款，先询问订单号。" * 12
    for i in range(24):
        release = ("r7", "r8")[i >= 12]
        before = lead.format(i * 7919 % 9973) if release == odd else ""
        yield json.dumps(
            {"release": release, "prompt": f"{before}{fixed}用户 {i * 31 % 97}：我的包裹呢？"}, ensure_ascii=False
        )


def test_texts_of_one_release_no_longer_begin_alike(found):
    told = found({"sample.jsonl": list(prompts("r8", "会话 {}。"))})["texts-begin-otherwise"]
    assert told.data["groups"] == ["r8"]
    assert about(told) == {"prefix"}


@pytest.mark.parametrize("lead", ["", "今天是工作日。"])
def test_texts_that_begin_alike_in_every_release_are_nothing(found, lead):
    assert "texts-begin-otherwise" not in found({"sample.jsonl": list(prompts("r8", lead))})


def steps_of(steps):
    for i in range(160):
        step = steps[i % len(steps)]
        cut = RNG.random() < 0.5 and step == steps[-1]
        tokens = 2048 if cut else int(RNG.integers(300, 1900))
        yield json.dumps({"step": step, "id": i, "completion_tokens": tokens, "reward": 0.0 if cut else 0.7})


def test_rollouts_at_their_limit_are_told_apart_from_an_evaluation(found):
    told = found({"r.jsonl": list(steps_of([10, 300])), "run.sh": "train --max_response_length 2048\n"})
    assert "rollout" in about(told["answers-lost-at-limit"])
    assert told["answers-lost-at-limit"].data["proposes"]["new"] == 4096
    alone = found({"r.jsonl": list(steps_of([300])), "run.sh": "train --max_response_length 2048\n"})
    assert "rollout" not in about(alone["answers-lost-at-limit"])


THROWN = ["torchrun --nproc-per-node 8 train.py > out.log 2> /dev/null", "#SBATCH --error=/dev/null",
          "python sft.py --config 配置.yaml &>/dev/null"]  # fmt: skip
KEPT = ["torchrun train.py > out.log 2> err.log", "command -v nvidia-smi >/dev/null 2>&1 && python sft.py",
        "kill -0 $PID 2>/dev/null || true"]  # fmt: skip


@pytest.mark.parametrize(("line", "told"), [*((x, True) for x in THROWN), *((x, False) for x in KEPT)])
def test_a_launch_that_throws_away_what_its_program_says_of_a_failure(found, line, told):
    assert ("output-thrown-away" in found({"run.sh": f"#!/bin/bash\nset -e\n{line}\n"})) is told
