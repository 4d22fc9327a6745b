"""Rates of wrong words above 1 beside low ones, and tables with a row an experiment."""

import json

import pytest

from triage.tools.kinds import recognise
from triage.tools.relate.results.look import of_results
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables
from triage.tools.tables.series import series_of

MODELS, VOICES = ("heron", "osprey", "kite"), ("north", "coast", "island", "valley")


def found(folder, **files):
    """The finding on error rates in files, whose names have `__` for the dot."""
    tables = []
    for key, content in files.items():
        path = folder / key.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        tables += read_tables(path, path.name)
    return next((f for f in of_results(tables, (), Settings()) if f.code == "error-rate-above-one"), None)


def by_voice(bad, percent=1.0):
    return [(m, v, percent * (bad + i / 50 if v == "island" else 0.11 + i / 20))
            for i, m in enumerate(MODELS) for v in VOICES]  # fmt: skip


def by_decoder(bad, head="name,WER,CER,epoch"):
    rates = (0.21, bad, 0.18, 0.34, bad * 0.97, 0.27, 0.4)
    return "\n".join([head, *(f"enc{i}_dec{i},{r},{r * 0.7:.3f},{e}" for i, (r, e) in enumerate(
        zip(rates, (40, 12, 33, 9, 51, 18, 27), strict=True)))])  # fmt: skip


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"voices__csv": "model,accent,wer\n" + "\n".join(f"{m},{v},{r:.3f}" for m, v, r in by_voice(1.01))}, "apart"),
        ({"口音__md": "| 模型 | 口音 | 字错误率 |\n|---|---|---|\n"
                      + "\n".join(f"| {m} | {v} | {r:.1f} |" for m, v, r in by_voice(1.03, 100))}, "apart"),
        ({"voices__json": {m: {v: {"word_error_rate": r} for n, v, r in by_voice(1.02) if n == m} for m in MODELS}},
         "apart"),
        ({"summary__csv": by_decoder(3.9)}, "runs-on"),
        ({f"run{i}__json": {"model": f"m{i}", "cer": r} for i, r in enumerate((0.12, 2.8, 0.2, 0.15, 0.3))}, "runs-on"),
    ],
    ids=["table", "percent", "nested", "a row an experiment", "a file each"],
)  # fmt: skip
def test_rates_above_one_beside_low_ones_are_told(tmp_path, files, kind):
    told = found(tmp_path, **files)
    assert told is not None
    assert told.data["kinds"] == [kind]
    assert ("goes with island in every row" in told.message) is (kind == "apart")


@pytest.mark.parametrize(
    "files",
    [
        {"voices__csv": "model,accent,wer\n" + "\n".join(f"{m},{v},{r:.3f}" for m, v, r in by_voice(0.62))},
        {"summary__csv": by_decoder(0.88)},
        {
            "before__csv": "model,split,wer\npretrained (no tuning),clean,1.03\npretrained (no tuning),other,1.02\n"
            "tuned,clean,0.21\ntuned,other,0.33\nlonger,clean,0.19\nlonger,other,0.3\n"
        },
        {"silent__csv": "模型,测试集,字错误率\n甲,一,1.0\n甲,二,1.002\n乙,一,0.2\n乙,二,0.3\n丙,一,0.2\n丙,二,0.25\n"},
        {"hard__csv": "model,wer\na,1.02\nb,0.98\nc,0.95\nd,1.1\n"},
        {"gain__csv": "model,wer_change,lag_ms\na,1.4,3\nb,0.1,2\nc,0.2,2\nd,0.1,4\n"},
        {"percent__csv": "model,wer\na,4.1\nb,7.9\nc,12.5\nd,0.9\n"},
    ],
    ids=["hard voices", "a weak one", "untaught", "silent", "all hard", "changes", "in percent"],
)
def test_hard_data_changes_and_percents_are_not(tmp_path, files):
    assert found(tmp_path, **files) is None


SCATTERED = "experiment,dev_loss,epoch\n" + "".join(
    f"{n},{v},{e}\n" for n, v, e in (("alpha", 0.4, 22), ("beta", 2.9, 7), ("gamma", 0.3, 41), ("delta", 0.5, 13),
                                     ("omega", 0.35, 30)))  # fmt: skip
STEPS = (100, 1000, 200, 300, 50)


@pytest.mark.parametrize(
    ("text", "curve"),
    [
        (SCATTERED, False),
        ("run\tstep\tloss\n" + "".join(f"try-{n}\t{s}\t{2 - i / 9:.2f}\n"
                                       for i, (n, s) in enumerate(zip("vwxyz", (90, 10, 70, 30, 80), strict=True))),
         False),
        ("checkpoint,step,loss\n" + "".join(f"ckpt-{s},{s},{3 - s / 900:.3f}\n" for s in STEPS), True),
        ("id,step,loss\n" + "".join(f"{c}{c},{s},{3 - s / 900:.3f}\n"
                                    for c, s in zip("pqrst", sorted(STEPS), strict=True)), True),
    ],
    ids=["best epochs", "tries", "checkpoints by name", "in order"],
)  # fmt: skip
def test_a_row_an_experiment_is_no_course(tmp_path, text, curve):
    path = tmp_path / ("all.tsv" if "\t" in text else "all.csv")
    path.write_text(text)
    tables = list(read_tables(path, path.name))
    assert any(series_of(t) for t in tables) is curve
    assert (getattr(recognise(path.name, text.encode()), "kind", "") == "metrics") is curve
