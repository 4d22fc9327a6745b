"""Small runs of which a look must not raise an alarm, each beside one of which it must."""

import json

import numpy as np
import pytest
from making import fill

from triage.agent.evidence import look, related
from triage.agent.session import ask
from triage.knowledge.runbook import load


def codes(folder, files):
    """Code -> the worst severity of what a look and the signs of the runbook find."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    out: dict[str, str] = {}
    for f in related(look([folder]), load()).findings:
        out[f.code] = min(out.get(f.code, "S9"), f.severity.name)
    return out


def table(head, *rows):
    return "\n".join([head, *rows]) + "\n"


@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("results/returns.csv", table("question,alpha,n", "Will the Agreement be signed this year?,0.02,50",
                                      "Will they agree on a new label for it soon?,-0.1,50"), "annotator-disagreement"),
        ("results/回测.csv", table("问题,alpha", "双方会在年底前就新的标注规则达成一致吗？,0.02",
                                   "标注员工会会在明年之前同意这份协议吗？,0.1"), "annotator-disagreement"),
        ("eval_results/rag.json", json.dumps({"dataset": "bench", "overlap_tokens": 64, "size_tokens": 512,
                                              "n_items": 150}), "eval-leakage"),
        ("eval_results/split.json", json.dumps({"eval": "val", "char_overlap": 40, "total": 800}), "eval-leakage"),
    ],
)  # fmt: skip
def test_a_number_of_another_kind_is_no_statistic_beyond_its_limit(tmp_path, file, text, code):
    assert code not in codes(tmp_path, {file: text})


@pytest.mark.parametrize(
    ("head", "rows", "told"),
    [
        ("name,job,mood,wish,score", ["A,farm,calm,rain,0.4", "B,mine,cross,pay,0.7", "C,ward,glad,rest,0.5"], False),
        ("姓名,职业,性格,得分", ["甲,农民,温和,0.4", "乙,矿工,急躁,0.7", "丙,护士,乐观,0.5"], False),
        ("name,lr,warmup_steps,batch_size,score", ["a,1e-5,30,8,0.4", "b,2e-5,20,16,0.7", "c,7e-6,40,32,0.5"], True),
    ],
)  # fmt: skip
def test_rows_of_people_are_no_runs(tmp_path, head, rows, told):
    assert ("runs-differ-in-many" in codes(tmp_path, {"rows.csv": table(head, *rows)})) == told


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("mix_v4", "mix_v5"), True),
        (("old", "new"), True),
        (("fed_v2", "large_m4_run"), False),
        (("qa2", "swarm7"), False),
    ],
)
def test_an_ability_is_lost_between_versions_of_one_thing(tmp_path, names, told):
    def result(ifeval):
        scores = {"ifeval": (ifeval, 541), "mmlu": (0.641, 14042), "gsm8k": (0.58, 1319), "bbh": (0.553, 6511)}
        return json.dumps({"results": {k: {"acc": v, "n": n} for k, (v, n) in scores.items()}})

    found = codes(tmp_path, {f"e/{names[0]}.json": result(0.71), f"e/{names[1]}.json": result(0.52)})
    assert ("ability-lost" in found) == told


@pytest.mark.parametrize(
    ("label", "told"),
    [("0.5B", False), ("7B params", False), ("约13亿参数", False), ("tern-7b-r3", True), ("wren_sft", True)],
)
def test_models_of_one_size_are_not_the_same_weights(tmp_path, label, told):
    text = table("model,harness_version,n,acc", f"{label},v2,900,0.76", f"{label},v3,900,0.55")
    assert ("same-weights-scored-apart" in codes(tmp_path, {"board.csv": text})) == told


@pytest.mark.parametrize(("end", "told"), [(-2.1, False), (0.004, True)])
def test_an_entropy_below_zero_is_that_of_actions_that_are_numbers(tmp_path, end, told):
    steps = range(60)
    lines = [
        {"step": i, "reward": 0.2 + i / 100, "kl": 0.01, "entropy": 2.0 + (end - 2.0) * min(1, i / 40)} for i in steps
    ]
    found = codes(tmp_path, {"ppo.jsonl": "".join(json.dumps(one) + "\n" for one in lines)})
    assert ("entropy-collapse" in found) == told


@pytest.mark.parametrize(("start", "told"), [(1800.0, False), (240.0, False), (9.8, True), (2.4, True)])
def test_a_loss_that_no_tokens_cost_says_nothing_of_rows_known_by_heart(tmp_path, start, told):
    rows = [{"step": 10 * i, "epoch": i / 3, "loss": max(0.006, start * 0.7**i)} for i in range(60)]
    found = codes(tmp_path, {"log.jsonl": "".join(json.dumps(one) + "\n" for one in rows)})
    assert ("train-loss-memorised" in found) == told


@pytest.mark.parametrize("level", ["WARNING -", "[WARNING]:"])
def test_what_a_program_warns_of_itself_is_no_end_of_it(tmp_path, level):
    done = "2026-03-04 10:0{}:01,20 - make - INFO - [item-{}] done in 3.1s, 2 answers\n"
    warned = f"2026-03-04 10:05:09,11 - make - {level} JSON parse error: Extra data: line 3 column 1 (char 40)\n"
    text = "".join(done.format(i % 10, i) + (warned if i % 7 == 3 else "") for i in range(60))
    assert codes(tmp_path / "a", {"make.log": text}).get("data-parse-error", "S3") == "S3"
    ends = text.replace(level, level.replace("WARNING", "ERROR"))
    assert codes(tmp_path / "b", {"make.log": ends})["data-parse-error"] < "S2"


@pytest.mark.parametrize(
    "text",
    [
        "A second replay harness now executes the unmodified pinned sampler.\n",
        "We updated the docs of our test harness and its stubs.\n",
    ],
)
def test_a_harness_of_ones_own_is_no_new_version_of_the_evaluation(tmp_path, text):
    sign = "sign-event-dependency-harness"
    assert sign not in codes(tmp_path / "a", {"NOTES.md": f"# Notes\n\n- 2026-02-01: {text}"})
    assert sign in codes(
        tmp_path / "b", {"NOTES.md": "# Notes\n\n- 2026-02-01: harness upgraded from 0.4.2 to 0.4.5\n"}
    )


@pytest.mark.parametrize("names", [("train_small.yaml", "train_large.yaml"), ("基线.yaml", "消融.yaml")])
def test_recipes_side_by_side_are_a_note(tmp_path, names):
    recipe = "per_device_train_batch_size: 8\nseed: 1\nlearning_rate: {}\n"
    found = codes(tmp_path, {names[0]: recipe.format("1.0e-5"), names[1]: recipe.format("2.0e-4")})
    assert found.get("settings-conflict") == "S3"
    assert "deepspeed-values-differ" not in found


@pytest.mark.parametrize("column", ["rubric", "rules_text"])
def test_texts_that_nobody_sends_share_no_prefix(tmp_path, column):
    said = "Every answer is held against the list of rules below and gets a point for each that it keeps. " * 4
    rows = [
        {"kind": ("a", "b")[i % 2], column: said + str(i) if i % 2 else f"{i * 7919 % 9973} {said}"} for i in range(24)
    ]
    found = codes(tmp_path / "a", {"items.jsonl": "".join(json.dumps(r) + "\n" for r in rows)})
    assert "texts-begin-otherwise" not in found
    sent = [{"kind": r["kind"], "prompt": r[column]} for r in rows]
    assert "texts-begin-otherwise" in codes(
        tmp_path / "b", {"items.jsonl": "".join(json.dumps(r) + "\n" for r in sent)}
    )


@pytest.mark.parametrize("key", ["_attn_implementation", "_learning_rate"])
def test_underscores_before_a_name_are_meant(tmp_path, key):
    text = f"per_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n{key}: eager\n"
    assert "key-misspelt" not in codes(tmp_path, {"sft.yaml": text})


def test_equal_columns_do_not_break_the_relations(tmp_path):
    text = table("set,total,train total,kept", "a,900,900,800", "b,700,700,650", "c,500,500,420")
    codes(tmp_path, {"counts.csv": text})
    report = related(look([tmp_path]), load())
    assert not [c for c in report.checks if "broke" in (c.why or "")]


@pytest.mark.parametrize("names", [("wins", "draws", "losses"), ("won", "ties", "losses")])
def test_games_that_were_lost_are_no_loss(tmp_path, names):
    won, drawn, lost = names

    def played(i):
        return f"round {i}: {won}={14 + i % 4}, {drawn}=1, {lost}={0 if i > 6 else 4}, reward={0.1 + i / 90:.3f}\n"

    found = codes(tmp_path, {"selfplay.log": "".join(map(played, range(60)))})
    assert not {"loss-hidden-nan", "loss-zero", "train-loss-memorised"} & found.keys()


@pytest.mark.parametrize(
    ("world", "told"),
    [
        ('int(os.environ.get("WORLD_SIZE", 1))', False),
        ('int(os.getenv("PMI_SIZE", "1"))', False),
        ("2", True),
    ],
)
def test_what_is_written_for_want_of_a_launch_counts_no_devices(tmp_path, world, told):
    sizes = {"train_batch_size": 16, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1}
    program = f"import os\nimport deepspeed\nworld_size = {world}\nlr = 1e-5\ndeepspeed.initialize(config='ds.json')\n"
    found = codes(tmp_path, {"ds.json": json.dumps(sizes), "train.py": program})
    assert ("global-batch-mismatch" in found) == told


@pytest.mark.parametrize(("file", "grade"), [("train.log", "S2"), ("transfer.ipynb", "S3")])
def test_another_cell_of_a_notebook_trains_another_model(tmp_path, file, grade):
    from triage.tools.logs.detectors.trends import loss_jump_on_resume

    assert loss_jump_on_resume.__doc__
    first = [f"step {i} loss {2.0 * 0.99**i + 0.05:.4f}\n" for i in range(1, 300)]
    second = [f"step {i} loss {1.9 * 0.99 ** (i - 280) + 0.05:.4f}\n" for i in range(280, 520)]
    text = "".join([*first, *second])
    if file.endswith(".ipynb"):
        cell = {"cell_type": "code", "source": [], "metadata": {}, "execution_count": 1,
                "outputs": [{"output_type": "stream", "name": "stdout", "text": [*first, *second]}]}  # fmt: skip
        text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    assert codes(tmp_path, {file: text}).get("loss-jump-on-resume", grade) == grade


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("\n\nKind regards,\nMina Sorvari\nField Sales, Tallis", False),
        ("\n\n祝好\n沈青\n客户支持部", False),
        ("You find the rest of it here: https://tallis.example/offers", False),
        ("The rest of the offer depends on how many of the", True),
    ],
)
def test_a_letter_that_is_signed_does_not_break_off(tmp_path, end, told):
    said = "Thank you for your message, which we read with care. The offer stands until the end of the month. "
    rows = [
        {"id": i, "question": f"ask {i}", "response": f"{said * 2}{'Indeed. ' * (i % 7)}It is {i * 37}. {end}"}
        for i in range(30)
    ]
    found = codes(tmp_path, {"results/replies.jsonl": "".join(json.dumps(r) + "\n" for r in rows)})
    assert ("answers-break-off" in found) == told


@pytest.mark.parametrize("counted", ["successful_judge_calls", "judge_errors"])
def test_what_was_counted_on_the_way_is_no_other_way_of_measuring(tmp_path, counted):
    text = table(f"model,n,{counted},acc", "wren-7b,400,395,0.76", "wren-7b,400,400,0.51")
    assert "same-weights-scored-apart" not in codes(tmp_path / "a", {"board.csv": text})
    text = table("model,n,judge,acc", "wren-7b,400,owl-a,0.76", "wren-7b,400,owl-b,0.51")
    assert "same-weights-scored-apart" in codes(tmp_path / "b", {"board.csv": text})


@pytest.mark.parametrize("name", ["solution_leak_rate", "system_prompt_leak_rate"])
def test_a_tutor_that_tells_the_solution_leaks_no_data(tmp_path, name):
    text = table(f"eval_arm,n,{name}", "plain,400,0.21", "guarded,400,0.02")
    assert "eval-leakage" not in codes(tmp_path / "a", {"eval/arms.csv": text})
    text = table("eval_set,n,contamination_rate", "plain,400,0.21", "guarded,400,0.02")
    assert "eval-leakage" in codes(tmp_path / "b", {"eval/sets.csv": text})


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["v2,wren-7b,0.76", "v3,wren-7b,0.55", "v4,wren-7b,0.66", "v5,wren-7b,0.81"], False),
        (["1.2,wren-7b,0.76", "1.3,wren-7b,0.55", "1.2,owl-3b,0.61", "1.3,owl-3b,0.44"], True),
    ],
)
def test_the_version_by_which_each_row_is_called_is_no_way_of_measuring(tmp_path, rows, told):
    found = codes(tmp_path, {"history.csv": table("version,model,acc", *rows)})
    assert ("same-weights-scored-apart" in found) == told


@pytest.mark.parametrize(("rate", "told"), [("9.0e-6", False), (None, True)])
def test_a_default_beside_a_written_rate_is_not_judged(tmp_path, rate, told):
    program = "class Args:\n    lr: float = 4e4\n    batch_size: int = 4\n    epochs: int = 2\n"
    ds = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}}
    if rate:
        ds["optimizer"] = {"type": "AdamW", "params": {"lr": float(rate)}}
    found = codes(tmp_path, {"args.py": program, "ds.json": json.dumps(ds)})
    assert ("lr-outside-range" in found) == told


@pytest.mark.parametrize(
    "program",
    [
        "import math\nper = math.ceil(len(loader) / args.accum)\nmodel = build(per)\n"
        "for i, batch in enumerate(loader):\n"
        "    loss = model(**batch).loss\n    loss = loss / args.accum\n    loss.backward()\n"
        "    if (i + 1) % args.accum == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n",
        "from torchvision import transforms\nto = transforms.Compose([\n    transforms.ToTensor(),\n"
        "    lambda x: 2 * x - 1,\n])\nimage = to(read(path)) / 255\n",
    ],
)
def test_programs_that_are_fine_are_read_to_their_end(tmp_path, program):
    (tmp_path / "train.py").write_text(program)
    report = look([tmp_path])
    assert "accumulated-loss-divided-twice" not in {f.code for f in report.findings}
    assert not [c for c in report.checks if "broke" in (c.why or "")]


@pytest.mark.parametrize("rate", ["learning_rate=2e-5", "lr=3e-4"])
def test_padding_with_the_end_token_in_a_notebook_is_a_note(tmp_path, rate):
    source = ["tok.pad_token = tok.eos_token\n", "args = TrainingArguments(output_dir='o', num_train_epochs=1,\n",
              f"    per_device_train_batch_size=4, {rate})\n"]  # fmt: skip
    cell = {"cell_type": "code", "source": source, "metadata": {}, "execution_count": 1, "outputs": []}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    assert codes(tmp_path, {"tune.ipynb": text}).get("pad-equals-eos", "S3") == "S3"


BOTH = "training:\n  fp16: true\n  bf16: true\n  batch_size: 12\n  epochs: 4\n"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("Mixed-precision training enabled (dtype=bfloat16).\n", False),
        ("INFO autocast runs in fp16\n", False),
        ("使用混合精度：bf16\n", False),
        ("Using fp16\n...\nUsing bf16 autocast\n", True),  # of two things, or of one: not settled
        ("args: fp16=True bf16=True\n", True),
        ("loading data\n", True),
    ],
)
def test_both_formats_are_no_conflict_where_the_log_says_which_was_taken(tmp_path, log, told):
    found = codes(tmp_path, {"configs/train.yaml": BOTH, "run.log": "start of run\n" + log})
    assert ("precision-conflict" in found) == told


@pytest.mark.parametrize(("idle", "first"), [(0.0, "completions-truncated"), (0.9, "entropy-collapse")])
def test_groups_whose_rewards_differ_to_the_end_speak_against_a_collapse(tmp_path, idle, first):
    share = np.linspace(0.2, 0.95, 120)
    rows = [{"step": i, "loss": 0.01, "reward": 0.4 + i / 400, "kl": 0.01, "entropy": 0.05 * 0.97**i + 0.004,
             "completions/clipped_ratio": share[i - 1], "frac_reward_zero_std": idle * min(1, i / 60)}
            for i in range(1, 121)]  # fmt: skip
    run = fill(tmp_path, {"grpo.jsonl": "".join(json.dumps(one) + "\n" for one in rows)})
    assert ask("is this run ok?", [run]).diagnosis.hypotheses[0].entry.id == first


@pytest.mark.parametrize(("level", "severity"), [(2.1, "S3"), (4.0, "S2"), (0.2, "S2")],
                         ids=["below it", "above it", "of another scale"])  # fmt: skip
def test_a_flat_reward_above_the_baseline_of_its_folder_is_a_note(tmp_path, level, severity):
    noise = np.random.default_rng(11).normal(0, 0.08, 60)
    curve = table("step,mean_reward", *(f"{50 * i},{3.0 + e:.4f}" for i, e in enumerate(noise)))
    rule = json.dumps({"policy": "round robin", "episodes": 400, "mean_reward": level})
    assert codes(tmp_path, {"curve.csv": curve, "baseline_summary.json": rule})["reward-flat"] == severity
