"""Every format reads its own samples, and templates give what the patterns give."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.tools.logs.points.format import Sample
from triage.tools.logs.points.formats import FORMATS
from triage.tools.logs.points.hints import SMALL, candidates
from triage.tools.logs.points.lines import read_store
from triage.tools.logs.points.parse import parse, progress, wrapped
from triage.tools.logs.points.points import Store
from triage.tools.logs.points.templates import Templates
from triage.tools.metrics import canonical

SAMPLES = [(form.name, sample) for form in FORMATS for sample in form.samples]


def canonical_values(record):
    """Metric -> value; of several keys of one metric the preferred one."""
    best = {}
    for key, value in record.values:
        hit = canonical(key)
        metric, scale, order = hit if hit else (key, 1.0, 0)
        if metric not in best or order < best[metric][0]:
            best[metric] = order, value * scale
    return {metric: value for metric, (_, value) in best.items()}


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[f"{n}:{s.line[:40]}" for n, s in SAMPLES])
def test_format_reads_its_sample(name: str, sample: Sample):
    record = parse(sample.line)
    if sample.step == -1:
        assert record is None
        return
    assert record is not None
    assert (record.format, record.step) == (name, sample.step)
    values = canonical_values(record)
    for metric, expected in sample.values.items():
        assert values[metric] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[f"{n}:{s.line[:40]}" for n, s in SAMPLES])
def test_a_sample_is_read_from_a_file_as_from_a_line(name: str, sample: Sample, tmp_path):
    store = Store()
    path = tmp_path / "train.log"
    path.write_text(f"starting 8 workers\nstep 7 kl 2.5\n{sample.line}\nbye\n")
    read_store(path, store)
    read = {
        s.metric: s.values[i] for s in store.series("train.log", "", None) for i in range(len(s)) if s.lines[i] == 3
    }
    assert {metric: read.get(metric) for metric in sample.values} == pytest.approx(dict(sample.values), nan_ok=True)


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[f"{n}:{s.line[:40]}" for n, s in SAMPLES])
def test_the_first_pass_lets_every_record_through_in_both_ways_of_searching(name: str, sample: Sample):
    line = sample.line.encode() + b"\n"
    if sample.step != -1:
        assert candidates(b"chatter\n" + line + b"chatter\n") == [8]
    filler = b"GET /health 200 OK\n" * (SMALL // 18)
    assert candidates(filler + line) == [len(filler) + at for at in candidates(line)]


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_every_format_has_a_positive_sample(form):
    assert any(s.step != -1 for s in form.samples)


@pytest.mark.parametrize(
    "line",
    [
        "Namespace(max_steps=1000, learning_rate=5e-05, logging_steps=10, save_steps=500)",
        "lr_scheduler: cosine, warmup steps: 100, loss_type: sigmoid",
        'print(f"step:{step}/{args.num_iterations} train_loss:{train_loss.item():.4f}")',
        "assert not torch.isnan(loss), f'loss is nan at step {step}'",
        "Saving checkpoint at step 500 to out/checkpoint-500",
        "INFO 01-01 10:00:00 metrics.py:123] Avg prompt throughput: 10.0 tokens/s",
        "loss = F.cross_entropy(logits, labels)",
        "steps_per_print ... 10, gradient_clipping ... 1.0",
    ],
)
def test_lines_that_only_look_like_metrics_are_no_records(line: str):
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("step 20: train loss 9.5 and val loss nan", {"loss": 9.5, "eval_loss": math.nan}),
        ("step:7 loss:-inf grad_norm:inf", {"loss": -math.inf, "grad_norm": math.inf}),
        ("step 7 loss 1.5E+00 lr .01", {"loss": 1.5, "learning_rate": 0.01}),
        ("step 7, best val loss 1.0, loss 2.0", {"loss": 2.0}),
        ("Validation | step 10 | loss: 2.0", {"eval_loss": 2.0}),
        ("Epoch: 0, Step: 10, Rank: 3, loss = 1.25", {"loss": 1.25}),
        ("{'train/lr(1e-3)': 2.0, 'loss': 1.0, 'step': 4}", {"learning_rate": 0.002, "loss": 1.0}),
        ("{'loss': tensor(1.5, device='cuda:0'), 'grad_norm': np.float64(2.5)}", {"loss": 1.5, "grad_norm": 2.5}),
    ],
)
def test_numbers_and_keys_as_logs_write_them(line: str, values: dict):
    record = parse(line)
    assert record is not None
    read = canonical_values(record)
    assert {k: read[k] for k in values} == pytest.approx(values, nan_ok=True)


def test_rank_and_epoch_of_a_line():
    record = parse("Epoch: 2, Step: 10, Rank: 3, loss = 1.25")
    assert record is not None
    assert (record.epoch, record.rank, record.step) == (2.0, 3, 10)


def test_progress_bars_of_training_only():
    assert progress(" 42%|####      | 829/1954 [28:49<39:13,  2.09s/it]") == (829, 1954)
    assert progress("Epoch 1:  10%|#  | 5/50 [00:01<00:09]") == (5, 50)
    assert progress("Loading checkpoint shards: 50%|#  | 1/2 [00:01<00:01]") is None
    assert progress("Evaluating:  10%|#  | 5/50 [00:01<00:09]") is None


def test_wrapped_records_are_noticed():
    form = wrapped(" iteration  10/ 100 | elapsed time per iteration (s): 1.5 | learning")
    assert form is not None
    assert form.name == "megatron"
    assert wrapped(" iteration  10/ 100 | lm loss: 1.5 |") is None
    assert wrapped("{'loss': 0.5, 'grad_norm':") is not None
    assert wrapped("{'loss': 0.5}") is None


@pytest.mark.parametrize(
    ("key", "metric"),
    [
        ("ppo_actor/update/actor_loss/avg", "policy_loss"), ("critic/loss", "value_loss"), ("train/critic/lr", None),
        ("Train loss/train/total", "loss"), ("reduced_train_loss", "loss"), ("valid_loss", "eval_loss"),
        ("Eval metrics/eval/LanguageCrossEntropy", "eval_loss"), ("val/clipfrac_avg", None), ("time/total", None),
        ("rewards/accuracy_reward/mean", None), ("tokens per GPU (tokens/s/GPU)", "tokens_per_second"),
        ("interval_samples_per_second", "samples_per_second"), ("train_step_timing in s", "step_time"),
        ("lr-DecoupledAdamW/group0", "learning_rate"), ("max_response_length", None), ("梯度范数", "grad_norm"),
    ],
)  # fmt: skip
def test_keys_are_understood_with_what_trainers_put_around_them(key, metric):
    hit = canonical(key)
    assert (hit and hit[0]) == metric


NUMBERS = st.sampled_from(["1.5", "nan", "2e-05", "0.0", "inf", "-3", "7.343709E+00", "1,234", "12"])


@given(st.lists(st.tuples(st.integers(0, 10**7), NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_templates_read_what_the_patterns_read(rows):
    templates = Templates()
    for step, loss, norm in rows:
        for line in (
            f"step:{step}/100 loss:{loss} grad_norm:{norm} time:182/1147s step_avg:{abs(step)}ms",
            f" iteration {step:8}/ 100 | lm loss: {loss} | loss scale: {norm} | grad norm: {norm} |",
        ):
            fast, slow = templates.parse(line), parse(line)
            assert (fast is None) == (slow is None)
            if fast and slow:
                assert (fast.step, fast.format, fast.counter) == (slow.step, slow.format, slow.counter)
                assert dict(fast.values) == pytest.approx(dict(slow.values), nan_ok=True)


@given(st.text(max_size=300))
def test_random_text_never_breaks_the_parser(text: str):
    parse(text)
    progress(text)
    wrapped(text)
    Templates().parse(text)


@given(st.sampled_from([s.line for _, s in SAMPLES]), st.integers(0, 200), st.text(max_size=5))
def test_truncated_lines_never_break_the_parser(line: str, cut: int, junk: str):
    parse(line[:cut] + junk)
    parse(junk + line[cut:])
