"""What gets worse for good, by the words of its name; not what goes with the load, comes back or varies."""

import json
import math
from pathlib import Path

import pytest

from triage.agent.evidence import look

N = 120
NOISE = [math.sin(5 * i) + math.cos(11 * i) for i in range(N)]


def codes(folder: Path, columns: dict[str, list[float]]) -> set[str]:
    rows = [",".join(["timestamp", *columns])]
    rows += [",".join([str(1719300000 + 10 * i), *(f"{c[i]:.4f}" for c in columns.values())]) for i in range(N)]
    (folder / "stats.csv").write_text("\n".join(rows) + "\n")
    return {f.code for f in look([folder]).findings}


GROWN = [max(0.0, i - 40) / 20 for i in range(N)]
BACK = [3 * math.exp(-(((i - 60) / 15) ** 2)) for i in range(N)]


@pytest.mark.parametrize(
    ("name", "level", "way", "code"),
    [
        ("p95_latency_ms", 200.0, 1, "latency-grows"),
        ("pending", 30.0, 1, "queue-grows"),
        ("rss_mb", 5000.0, 1, "host-memory-grows"),
        ("draft_acceptance_rate", 0.8, -0.1, "acceptance-falls"),
    ],
)
def test_what_goes_one_way_is_told(tmp_path: Path, name: str, level: float, way: float, code: str):
    for told, curve in (("gone", GROWN), ("back", BACK), ("still", [0.0] * N)):
        folder = tmp_path / told
        folder.mkdir()
        values = [level * (1 + way * curve[i] + 0.01 * NOISE[i]) for i in range(N)]
        assert (code in codes(folder, {name: values})) == (told == "gone")


@pytest.mark.parametrize(("name", "beside", "told"), [
    ("sessions_open", [14 + 90 * g for g in GROWN], True),
    ("缓存条目数", [14 + 90 * g for g in GROWN], True),
    ("sessions_open", [14 + 4 * i for i in range(N)], False),  # went on before, too
    ("sessions_open", [14.0 + 9 * math.sin(i) for i in range(N)], False),
])  # fmt: skip
def test_what_is_kept_as_the_memory_grows_is_named(tmp_path: Path, name: str, beside: list[float], told: bool):
    memory = [30 + 20 * g + 0.2 * x for g, x in zip(GROWN, NOISE, strict=True)]
    rows = [f"timestamp,rss_gib,{name}"]
    rows += [f"{1719300000 + 60 * i},{memory[i]:.3f},{beside[i]:.3f}" for i in range(N)]
    (tmp_path / "pod.csv").write_text("\n".join(rows) + "\n")
    [found] = [f for f in look([tmp_path]).findings if f.code == "host-memory-grows"]
    assert (name in found.message) is told
    assert found.evidence[0].line is not None
    assert 40 <= found.evidence[0].line <= 52  # where it begins, and not half-way


def test_a_latency_goes_with_the_users(tmp_path: Path):
    users = [10 * (1 + g) for g in GROWN]
    latency = [200 * (1 + 0.5 * g + 0.01 * x) for g, x in zip(GROWN, NOISE, strict=True)]
    assert "latency-grows" not in codes(tmp_path, {"users": users, "latency_ms": latency})


def scores(folder: Path, fallen: tuple[str, ...]) -> set[str]:
    names = ("gsm8k", "mbpp", "ifeval", "mmlu")
    rows = ["step,reward," + ",".join(names)]
    for i in range(9):
        cells = [60 - 5 * max(0, i - 3) if n in fallen else 30 + 2 * i + 0.3 * (i % 2) for n in names]
        rows.append(f"{500 * (i + 1)},{1 + 0.5 * i}," + ",".join(map(str, cells)))
    (folder / "evals.csv").write_text("\n".join(rows) + "\n")
    return {f.code for f in look([folder]).findings}


def test_scores_that_fall_from_their_peak(tmp_path: Path):
    for fallen, code in (
        (("ifeval",), "ability-lost"),
        (("gsm8k", "mbpp", "ifeval"), "share-falls-from-peak"),
        ((), ""),
    ):
        folder = tmp_path / str(len(fallen))
        folder.mkdir()
        assert {"ability-lost", "share-falls-from-peak"} & scores(folder, fallen) == ({code} if code else set())


@pytest.mark.parametrize(("column", "labels", "code"), [
    ("set", ("chart", "ocr", "text"), "ability-lost"),
    ("judge", ("human", "hidden", "proxy"), "share-falls-from-peak"),
])  # fmt: skip
def test_a_score_that_falls_on_some_sets_and_rises_on_another(
    tmp_path: Path, column: str, labels: tuple[str, ...], code: str
):
    rows = [f"step,{column},score"]
    for i in range(30):
        ends = (0.5 - 0.008 * i, 0.6 - 0.009 * i, 0.3 + 0.007 * i)
        rows += [f"{10 * i},{name},{end + 0.003 * (i % 2):.4f}" for name, end in zip(labels, ends, strict=True)]
    (tmp_path / "by.csv").write_text("\n".join(rows) + "\n")
    assert {"ability-lost", "share-falls-from-peak"} & {f.code for f in look([tmp_path]).findings} == {code}


@pytest.mark.parametrize("climbs", [True, False])
def test_a_gradient_norm_that_climbs(tmp_path: Path, climbs: bool):
    rows = ["step,loss,grad_norm"]
    for i in range(N):
        norm = (1 + 0.05 * NOISE[i]) * (math.exp(max(0, i - 50) / 20) if climbs else 1 + BACK[i])
        rows.append(f"{10 * i},{2 + math.exp(-i / 20):.4f},{norm:.4f}")
    (tmp_path / "metrics.csv").write_text("\n".join(rows) + "\n")
    assert ("grad-norm-climbs" in {f.code for f in look([tmp_path]).findings}) == climbs


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("p99_abs_logp_diff", False),
        ("w.p99", False),
        ("p99", True),
        ("output_tokens_p95", False),
        ("p99_ms", True),
        ("http_p95", True),
    ],
)
def test_a_quantile_of_what_is_no_time_is_no_latency(tmp_path: Path, name: str, told: bool):
    values = [200 * (1 + g + 0.01 * x) for g, x in zip(GROWN, NOISE, strict=True)]
    assert ("latency-grows" in codes(tmp_path, {name: values})) is told


@pytest.mark.parametrize(("axis", "told"), [("prompt_len", False), ("concurrency", False), ("step", True)])
def test_what_takes_longer_because_more_is_asked_gets_no_worse(tmp_path: Path, axis: str, told: bool):
    rows = [f"{64 * (i + 1)},{20 * (1 + GROWN[i] + 0.01 * NOISE[i]):.4f}" for i in range(N)]
    (tmp_path / "sweep.csv").write_text("\n".join([f"{axis},ttft_ms", *rows]) + "\n")
    assert ("latency-grows" in {f.code for f in look([tmp_path]).findings}) == told


@pytest.mark.parametrize(
    ("axis", "values", "told"),
    [
        ("conc", [1, 2, 4, 8, 16, 32, 48, 64, 96, 128], False),
        ("并发数", [1, 4, 16, 32, 64, 128, 256, 512, 768, 1024], False),
        ("c", [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], False),  # a name that nobody knows, by its doubling
        ("c", [10, 20, 30, 40, 50, 60, 70, 80, 90, 100], True),
        ("it", [1, 2, 4, 8, 16, 32, 48, 64, 96, 128], True),
    ],
)
def test_a_load_that_is_turned_up_from_row_to_row_is_no_course(tmp_path: Path, axis: str, values: list, told: bool):
    rows = [{axis: v, "ttft_p50_ms": 50 + 20.0 * i * i, "itl_p99_ms": 12 + 3.0 * i} for i, v in enumerate(values)]
    (tmp_path / "bench.json").write_text(json.dumps(rows))
    found = {f.code for f in look([tmp_path]).findings}
    assert ("latency-grows" in found, any("rises" in code for code in found)) == (told, told)


@pytest.mark.parametrize(("one", "many", "code"), [
    ("pass@1", "pass@16", "further-answers-bring-less"), ("pass_at_1", "pass_at_64", "further-answers-bring-less"),
    ("pass@16", "pass@1", "share-falls-from-peak"), ("accuracy", "pass@8", "share-falls-from-peak"),
])  # fmt: skip
def test_what_falls_is_only_that_several_answers_solve(tmp_path: Path, one: str, many: str, code: str):
    rows = [f"step,{one},{many}"]
    rows += [f"{100 * i},{0.3 + 0.025 * min(i, 4):.3f},{0.74 - 0.03 * max(0, i - 1):.3f}" for i in range(9)]
    (tmp_path / "heldout.csv").write_text("\n".join(rows) + "\n")
    found = {f.code for f in look([tmp_path]).findings}
    assert {"further-answers-bring-less", "share-falls-from-peak", "ability-lost"} & found == {code}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.2, 0.3, 0.5, 0.52, 0.51, 0.5, 0.2, 0.1, 0.1], True),
        ([0.0, 0.0, 0.1, 0.0, 0.5, 0.0, 0.02, 0.0, 0.01], False),  # a leap there and back
        ([0.0, 0.5, 0.0, 0.1, 0.0, 0.5, 0.0, 0.0, 0.5], False),  # it ends where it was at best
    ],
)
def test_a_score_that_leaps_there_and_back_was_never_held(tmp_path: Path, values: list[float], told: bool):
    rows = "".join(f"{i},{v},{0.1 + i / 20},{0.2 + i / 20}\n" for i, v in enumerate(values))
    (tmp_path / "log.csv").write_text("epoch,val_accuracy,val_recall,val_precision\n" + rows)
    found = {f.code for r in look([tmp_path]).reports for f in r.findings}
    assert bool(found & {"ability-lost", "share-falls-from-peak"}) == told


@pytest.mark.parametrize(
    ("axis", "told"), [("finished_at", False), ("timestamp", False), ("step", True), ("ckpt", True)]
)
def test_scores_of_pieces_of_work_in_the_order_of_the_clock_are_none_of_a_model(tmp_path: Path, axis: str, told: bool):
    clock = [f"2031-04-02T11:{i:02d}:07" if told is False else str(100 * i) for i in range(9)]
    scores = zip(clock, (6.1, 6.2, 6.0, 6.1, 0.0, 0.0, 0.0, 0.0, 0.0), (7, 7, 7, 7, 7, 7, 7, 7, 7), strict=True)
    rows = [",".join(map(str, row)) for row in scores]
    (tmp_path / "made.csv").write_text("\n".join([f"{axis},plan_score,prose_score", *rows]) + "\n")
    assert any(f.code in ("ability-lost", "share-falls-from-peak") for f in look([tmp_path]).findings) is told
