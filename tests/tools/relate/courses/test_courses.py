"""Courses of training side by side: what restarts, decay, critics, restarted rates and clipping look like in them."""

import numpy as np
import pytest

from triage.agent.evidence import read_measures
from triage.tools.discover import discover
from triage.tools.relate.courses.look import side_by_side


def report(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    run = discover(tmp_path)
    read, opened = read_measures(run)
    tables, events = (opened.tables, opened.events) if opened else ((), ())
    return side_by_side(run, read.table, tables, events)


def told(tmp_path, files):
    return sorted({f.code for f in report(tmp_path, files).findings})


def rng(seed=0):
    return np.random.default_rng(seed)


# Restarts


def log(steps, loss, norm, rate, form, head=""):
    rows = [form.format(s=s, v=v, g=g, r=r) for s, v, g, r in zip(steps, loss, norm, rate, strict=True)]
    return "\n".join([*([head] if head else []), *rows]) + "\n"


FORMS = {
    "en": "step {s} loss {v:.4f} grad_norm {g:.3f} lr {r:.4e}",
    "pipes": "2026-01-02 10:00:00 | {s} | ntp {v:.4f} | norm {g:.3f} | rate {r:.4e}",
    "zh": "步={s} 损失={v:.4f} 梯度范数={g:.3f} 学习率={r:.3e}",
}


def parts(form, climb=0.5, norm=8.0, at_once=0.0, back=True, rate=1.0, lower=0.0):
    """A run to step 6000 and what goes on from 6000."""
    old, new = np.arange(5000, 6001, 10), np.arange(6010, 8001, 10)
    age = (new - 6000) / 10.0
    shape = np.minimum(age / 6, 1) * (np.exp(-age / 40) if back else 1.0)
    one = 2.3 + rng(1).normal(0, 0.01, len(old))
    two = 2.3 + climb * shape + at_once - lower + rng(2).normal(0, 0.01, len(new))
    fell = np.exp(-age / 20) if back else np.ones(len(new))
    norms = 0.3 * (1 + (norm - 1) * fell)
    first = log(old, one, 0.3 + rng(9).normal(0, 0.01, len(old)), np.full(len(old), 2e-4), form)
    return first, log(new, two, norms, np.full(len(new), 2e-4 * rate), form, "starting")


def rated(form, again, peak=2e-4, warm=40):
    """A run whose rate has come down to 1.2e-4 at step 6000, and what goes on there with a rate that warms up again."""
    old, new = np.arange(3000, 6001, 10), np.arange(6010, 9001, 10)
    loss = 2.3 + rng(3).normal(0, 0.008, len(old)), 2.32 + rng(4).normal(0, 0.008, len(new))
    norms = 0.3 + rng(5).normal(0, 0.01, len(old)), 0.3 + rng(6).normal(0, 0.01, len(new))
    down = np.linspace(1.1e-4, 4e-5, len(new))
    up = np.minimum(np.arange(1, len(new) + 1) / warm, 1.0) * peak if again else down
    first = log(old, loss[0], norms[0], np.linspace(2e-4, 1.2e-4, len(old)), form)
    return first, log(new, loss[1], norms[1], up, form, "starting")


@pytest.mark.parametrize(
    ("form", "names"),
    [("en", ("out_part1.log", "out_part2.log")), ("pipes", ("job-88121.out", "job-88134.out")),
     ("zh", ("train.log", "train_resume.log"))],
)  # fmt: skip
def test_a_rate_that_starts_over_in_the_log_in_which_a_job_goes_on(tmp_path, form, names):
    found = report(tmp_path, dict(zip(names, rated(FORMS[form], True), strict=True))).findings
    [one] = [f for f in found if f.code == "lr-starts-over"]
    assert one.evidence[0].file == names[1]
    assert one.evidence[1].file == names[0]


@pytest.mark.parametrize(
    ("names", "again", "peak"),
    [
        (("out_part1.log", "out_part2.log"), False, 0.0),
        (("out_part1.log", "out_part2.log"), True, 5e-5),
        (("stage1.log", "stage2.log"), True, 2e-4),
        (("small.log", "larger.log"), True, 2e-4),
    ],
    ids=["goes on", "warms up to less", "a stage of its own", "another run"],
)
def test_rates_that_go_on_warm_up_to_less_or_belong_to_another_stage(tmp_path, names, again, peak):
    files = dict(zip(names, rated(FORMS["en"], again, peak), strict=True))
    assert "lr-starts-over" not in told(tmp_path, files)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_loss_and_a_norm_that_climb_and_fall_behind_a_restart_are_those_of_empty_moments(tmp_path, form):
    one, two = parts(form)
    assert told(tmp_path, {"a.log": one, "b.log": two}) == ["restart-with-fresh-optimizer"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("go.sh", "torchrun train.py \\\n  --load /c/6000 --no-load-optim\n"),
        ("conf.yaml", "resume:\n  load_optimizer_states: false\n"),
        ("说明.md", "续训时未加载优化器。\n"),
    ],
)
def test_a_higher_loss_with_a_file_that_says_what_was_left_out(tmp_path, name, text):
    one, two = parts(FORMS["en"], climb=0.0, norm=1.0, at_once=0.3)
    assert told(tmp_path, {"a.log": one, "b.log": two, name: text}) == ["restart-without-state"]


def test_a_rate_that_is_another_behind_the_restart(tmp_path):
    one, two = parts(FORMS["en"], climb=0.4, norm=1.0, back=False, rate=3.0)
    assert told(tmp_path, {"a.log": one, "b.log": two}) == ["rate-off-since-restart"]


def test_a_lower_loss_with_a_record_of_reads_that_begins_again(tmp_path):
    one, two = parts(FORMS["en"], climb=0.0, norm=1.0, lower=0.08)
    shards = rng(3).permutation(900)[:40]
    rows = [f"{5000 + 25 * i},bin-{shards[i]:04d}" for i in range(40)]
    rows += [f"{6001 + 25 * i},bin-{shards[i]:04d}" for i in range(30)]
    reads = "step,shard\n" + "\n".join(rows) + "\n"
    found = told(tmp_path, {"a.log": one, "b.log": two, "reads.csv": reads})
    assert found == ["data-read-again-since-restart", "loss-lower-since-restart"]


COUNTED = {
    "pipes": "{t} iteration {s:8d}/ 9000 | consumed samples: {n:12d} | lm loss: {v:.4E} | grad norm: {g:.3f} |",
    "json": '{{"step": {s}, "loss": {v:.4f}, "grad_norm": {g:.3f}, "tokens_seen": {n}}}',
    "zh": "步数={s} 损失={v:.4f} 梯度范数={g:.3f} 已消耗样本={n}",
    "cursor": "[{s}] loss {v:.4f} grad_norm {g:.3f} loader_position={n}",
}


def counted(form, back=True, lower=0.06, wraps=0):
    """A run to step 6000 and what goes on from there: its loss, and the data that it has read."""
    logs = []
    for part, steps in enumerate((np.arange(5000, 6001, 10), np.arange(6010, 8001, 10))):
        noise = rng(part).normal(0, 0.01, len(steps))
        count = 64 * (steps - (6000 if part and back else 0))
        rows = [
            COUNTED[form].format(t="[2026-03-02 10:00:00]", s=s, v=2.3 - part * lower + e, g=0.3,
                                 n=c % wraps if wraps else c)
            for s, c, e in zip(steps, count, noise, strict=True)
        ]  # fmt: skip
        logs.append("\n".join(rows) + "\n")
    return {"job_1.out": logs[0], "job_2.out": logs[1]}


def graded(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run = discover(tmp_path)
    read, opened = read_measures(run)
    found = side_by_side(run, read.table, opened.tables if opened else (), opened.events if opened else ()).findings
    return {f.code: f for f in found}


@pytest.mark.parametrize("lower", [0.06, 0.0])
@pytest.mark.parametrize("form", ["pipes", "zh", "cursor"])
def test_a_count_of_the_data_that_begins_anew_while_the_steps_go_on(tmp_path, form, lower):
    found = graded(tmp_path, counted(form, lower=lower) | {"go.sh": "pretrain.py --load /c --save /c --finetune\n"})
    assert set(found) == {"data-not-resumed"}
    assert found["data-not-resumed"].severity == "S2"
    assert "--finetune (go.sh:1)" in found["data-not-resumed"].data["names"]
    assert ("lower at once" in found["data-not-resumed"].message) == bool(lower)


def test_a_count_that_may_be_one_of_the_process_needs_the_loss_or_a_setting(tmp_path):
    found = graded(tmp_path, counted("json", lower=0.0))
    assert found["data-not-resumed"].severity == "S3"
    found = graded(tmp_path, counted("json", lower=0.0) | {"args.yaml": "ignore_data_skip: true\n"})
    assert found["data-not-resumed"].severity == "S2"
    assert graded(tmp_path, counted("json") | {"args.yaml": "lr: 1\n"})["data-not-resumed"].severity == "S2"


@pytest.mark.parametrize("files", [counted("pipes", back=False, lower=0.0), counted("json", back=False, lower=0.0),
                                   counted("cursor", back=False, lower=0.0, wraps=20000)])  # fmt: skip
def test_a_count_that_goes_on_or_begins_anew_with_every_shard_is_silent(tmp_path, files):
    assert graded(tmp_path, files | {"go.sh": "pretrain.py --load /base --finetune\n"}) == {}


@pytest.mark.parametrize(
    "of",
    [
        {"climb": 0.0, "norm": 1.0},
        {"climb": 0.02, "norm": 1.2},
    ],
)
def test_a_restart_that_goes_on_where_it_was_says_nothing(tmp_path, of):
    one, two = parts(FORMS["en"], **of)
    assert told(tmp_path, {"a.log": one, "b.log": two, "go.sh": "python t.py --no-load-rng\n"}) == []


def test_a_sibling_from_scratch_and_a_few_points_are_no_restart(tmp_path):
    steps = np.arange(10, 4000, 10)
    falls = 2 + 6 * np.exp(-steps / 300) + rng(4).normal(0, 0.01, len(steps))
    flat = [np.full(len(steps), v) for v in (0.3, 2e-4)]
    one = log(steps, falls, *flat, FORMS["en"])
    two = log(steps, falls + 0.3, *flat, FORMS["en"])
    few = log(steps[:4] + 4000, falls[:4], flat[0][:4], flat[1][:4], FORMS["en"])
    assert told(tmp_path, {"a.log": one, "b.log": two, "c.log": few}) == []


# Decay


def norms(left, loss_end=5.0, key="param_norm", stands=True):
    steps = np.arange(0, 4001, 40)
    shrinks = left + (1 - left) * np.exp(-steps / 600)
    loss = loss_end + 5 * np.exp(-steps / 200) + (0 if stands else 1.2 * (1 - steps / 4000))
    rows = [f"{s},{v:.4f},{800 * w:.3f}" for s, v, w in zip(steps, loss, shrinks, strict=True)]
    return f"step,loss,{key}\n" + "\n".join(rows) + "\n"


DIFF = "--- a/o.yaml\n+++ b/o.yaml\n@@ -1,3 +1,3 @@\n lr: 3e-4\n-weight_decay: 0.1\n+weight_decay: 2.0\n"


@pytest.mark.parametrize("key", ["param_norm", "weights_l2", "pnorm", "opt/p_l2", "参数总范数"])
def test_weights_that_shrink_while_the_loss_stands(tmp_path, key):
    assert told(tmp_path, {"m.csv": norms(0.1, key=key)}) == ["weights-shrink-loss-stands"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.diff", DIFF),
        ("o.yaml", "optim: {lr: 3e-4, wd: 1.5}\n"),
        ("o.py", "opt = torch.optim.Adam(p, lr=1e-3)\n"),
        ("o.py", "lam: float = 0.8\ndef make(p, o):\n    return AdamW(p, o.lr, weight_decay=o.lam)\n"),
        ("o.py", "ap.add_argument('--wd', type=float, default=0.7)\n"),
        ("run.sh", "REG2=0.9\nopt=dict(weight_decay=cfg.REG2)\n"),
    ],
)
def test_weights_that_shrink_under_a_large_or_other_decay(tmp_path, name, text):
    assert told(tmp_path, {"m.csv": norms(0.5), name: text}) == ["weights-shrink-under-decay"]


@pytest.mark.parametrize(
    "table", [norms(1.3), norms(0.8), norms(0.1, stands=False), norms(0.1, key="grad_norm"), norms(0.5)]
)
def test_weights_that_grow_or_learn_and_other_norms_say_nothing(tmp_path, table):
    assert told(tmp_path, {"m.csv": table}) == []


@pytest.mark.parametrize("text", [
    "lam: float = 0.95\n",
    "lam: float = 0.95\nopt = AdamW(p, weight_decay=o.wd)\nwd = 0.1\n",
    "wd: float = 0.1\nopt = AdamW(p, weight_decay=o.wd)\n",
])  # fmt: skip
def test_other_settings_are_no_reason(tmp_path, text):
    assert told(tmp_path, {"m.csv": norms(0.5), "o.py": text}) == []


# Critics


def ppo(names, explained, value=0.3, returns=8.0, reward=(11.0, 8.0), n=120):
    r = rng(5)
    rows = [
        f"{i},{e + r.normal(0, 0.02):.4f},{value + r.normal(0, 0.05):.3f},{returns + r.normal(0, 0.3):.3f},"
        f"{w + r.normal(0, 0.1):.3f}"
        for i, e, w in zip(range(n), explained(np.linspace(0, 1, n)), np.linspace(*reward, n), strict=True)
    ]
    return f"step,{names}\n" + "\n".join(rows) + "\n"


PPO = "explained_variance,values/mean,returns/mean,reward"


@pytest.mark.parametrize("names", [PPO, "ev,vhat_mean,ret_mean,rm_mean", "解释方差,价值均值,回报均值,奖励"])
def test_a_critic_that_explains_nothing_to_the_end(tmp_path, names):
    assert told(tmp_path, {"m.csv": ppo(names, lambda x: 0 * x - 0.04)}) == ["critic-explains-nothing"]


def test_values_far_from_returns_without_an_explained_variance(tmp_path):
    names = "unused,vf_mean,ret_mean,score_mean"
    assert told(tmp_path, {"m.csv": ppo(names, lambda x: x)}) == ["values-far-from-returns"]


@pytest.mark.parametrize(
    ("explained", "of"),
    [
        (lambda x: 0 * x + 0.7, {"value": 7.9}),
        (lambda x: np.minimum(2 * x, 0.6), {"value": 7.5}),
        (lambda x: 0 * x, {"n": 12}),
        (lambda x: 0.7 - 0.9 * (x > 0.8), {"value": 7.9}),
    ],
)
def test_a_critic_that_learns_or_that_is_lost_late_says_nothing(tmp_path, explained, of):
    assert told(tmp_path, {"m.csv": ppo(PPO, explained, **of)}) == []


def test_a_critic_of_no_use_in_a_run_that_learns_is_a_note(tmp_path):
    assert told(tmp_path, {"m.csv": ppo(PPO, lambda x: 0 * x, reward=(2.0, 9.0))}) == ["critic-behind"]


# Rates that start again


def stages(peak=3e-4, rise=0.2, stays=0.6, drift=0.0, key="old_part", annealed=True):
    first = np.arange(100, 10001, 100)
    rate = 3e-4 * np.where(first < 7000, 1, np.maximum((10000 - first) / 3000, 0.01)) if annealed else 0 * first + 3e-4
    one = log(first, 2.1 + rng(6).normal(0, 0.005, len(first)), 0 * first + 0.3, rate, FORMS["en"])
    second = np.arange(20, 6001, 20)
    up = np.minimum(second / 600, 1)
    old = 2.1 + rise * up * (stays + (1 - stays) * np.exp(-second / 1500)) + drift * second / 6000
    rows = [
        f"step {s} loss {v - 0.3 * s / 6000:.4f} {key} {v + e:.4f} lr {peak * u:.4e}"
        for s, v, u, e in zip(second, old, up, rng(7).normal(0, 0.005, len(second)), strict=True)
    ]
    return {"stage1.log": one, "stage2.log": "\n".join(rows) + "\n"}


@pytest.mark.parametrize("key", ["old_part", "replay_loss", "web_nll"])
def test_a_loss_of_old_data_that_rises_with_the_rate_after_an_annealed_stage(tmp_path, key):
    assert told(tmp_path, stages(key=key)) == ["old-loss-rises-with-restarted-rate"]


@pytest.mark.parametrize(
    "of",
    [{"rise": 0.0}, {"rise": 0.2, "stays": 0.0}, {"rise": 0.02, "drift": 0.5}, {"peak": 1e-5}],
    ids=["calm", "comes-back", "forgets-on-and-on", "low-peak"],
)
def test_a_stage_that_keeps_the_old_loss_or_forgets_on_and_on_says_nothing(tmp_path, of):
    assert told(tmp_path, stages(**of) if "peak" not in of else stages(rise=0.0, **of)) == []


# Clipping


def clipping(level, rate, loss, key="gn", seed=8):
    steps, r = np.arange(20, 4001, 20), rng(seed)
    up = np.minimum(steps / 400, 1)
    rows = [
        f"{s},{loss + 5 * np.exp(-s / 300) + r.normal(0, 0.01):.4f},"
        f"{level * np.exp(r.normal(0, 0.3)):.3f},{rate * u:.3e}"
        for s, u in zip(steps, up, strict=True)
    ]
    return f"step,loss,{key},lr\n" + "\n".join(rows) + "\n"


CLIP = [
    ("c.yaml", "max_norm: 1.0\n"),
    ("train.sh", "python t.py --clip-grad 1.0\n"),
    ("o.json", '{"grad_clip": 1.0}\n'),
]


@pytest.mark.parametrize("file", CLIP, ids=[name for name, _ in CLIP])
def test_a_faster_run_that_is_clipped_throughout_and_behind(tmp_path, file):
    files = {"a.csv": clipping(0.4, 3e-4, 2.3), "b.csv": clipping(5.0, 1.5e-3, 2.45, seed=9), file[0]: file[1]}
    assert told(tmp_path, files) == ["clipped-throughout-and-behind"]


@pytest.mark.parametrize(
    ("other", "clip"),
    [
        (clipping(5.0, 1.5e-3, 2.2, seed=9), 1.0),
        (clipping(0.5, 1.5e-3, 2.45, seed=9), 1.0),
        (clipping(5.0, 3e-4, 2.45, seed=9), 1.0),
        (clipping(5.0, 1.5e-3, 2.45, seed=9), 20.0),
    ],
    ids=["ahead", "hardly-clipped", "same-rate", "high-limit"],
)
def test_a_run_that_is_ahead_or_hardly_clipped_says_nothing(tmp_path, other, clip):
    files = {"a.csv": clipping(0.4, 3e-4, 2.3), "b.csv": other, "c.yaml": f"max_norm: {clip}\n"}
    assert told(tmp_path, files) == []
