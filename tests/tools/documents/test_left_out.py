"""Samples that a training says are left out: cut at its limit, many of them, or few as in every run."""

import pytest

from triage.tools.config.combine import read_settings
from triage.tools.discover import discover
from triage.tools.documents.left_out import left_out
from triage.tools.findings import Severity
from triage.tools.logs.scan import read_run
from triage.tools.reading import iter_chunks


def found(tmp_path, config, says, every=2, steps=120, until=None):
    """The findings by code of a training of so many steps that says something behind every second."""
    log = []
    for i in range(1, steps + 1):
        log.append(f"step {i * 10} loss {3 - i / steps:.4f} lr 1e-4")
        if i % every == 0 and i <= (until or steps):
            log += [says(i), says(i + 1)]
    (tmp_path / "train.log").write_text("\n".join(log) + "\n")
    (tmp_path / "conf.yaml").write_text(config)
    run = discover(tmp_path)
    logs = {a.name: [*iter_chunks(a.path)] for a in run.of("log")}
    report = left_out(run, logs, read_settings(run)[0], read_run(run).table)
    return {f.code: f for f in report.findings}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("max_seq_length: 3072\n", lambda i: f"[w{i % 4}] placeholders {3000 + i % 60} vs patches {3400 + 7 * i}: "
                                             f"dropping example {i * 977}"),
        ("cutoff_len: 4096\nlearning_rate: 1e-5\n", lambda i: f"样本 {i * 31} 图像 token {4010 + i % 80}，特征 "
                                                              f"{5200 + i}，不一致，跳过"),
        ("max_len: 1500\n", lambda i: f"utt_{i * 13}: frames {1600 + 3 * i}, kept {1400 + i % 90}; record masked"),
    ],
)  # fmt: skip
def test_samples_that_are_cut_at_the_limit_of_the_run(tmp_path, config, says):
    told = found(tmp_path, config, says)["samples-cut-at-limit"]
    assert told.severity == Severity.S1
    assert told.data["count"] == 120
    assert told.data["needed"] > told.data["limit"]
    assert told.evidence[1].file == "conf.yaml"


def test_samples_beyond_the_limit_that_a_filter_takes_out_are_only_counted(tmp_path):
    told = found(tmp_path, "max_seq_length: 3072\n", lambda i: f"sample {i} has {3100 + i} tokens > 3072, skipped")
    assert [f.severity for f in told.values()] == [Severity.S3]
    assert "samples-left-out" in told


def test_a_large_share_of_the_batches_that_is_left_out(tmp_path):
    told = found(tmp_path, "global_batch_size: 1\n", lambda i: f"WARN bad record r{i}, ignored: no answer")
    assert told["samples-left-out"].severity == Severity.S2


@pytest.mark.parametrize(
    ("says", "every", "until"),
    [
        (lambda i: f"sample {i} has {3100 + i} tokens > 3072, skipped", 40, None),
        (lambda i: f"skipping document {i}: empty", 1, 60),
        (lambda i: f"saved sample {i} with {3000 + i % 60} of {3400 + i} tokens", 1, None),
        (lambda i: f"optimizer step {i} skipped, scale {2 ** (i % 16)}", 1, None),
    ],
)
def test_few_lines_those_of_a_start_and_other_things_are_nothing(tmp_path, says, every, until):
    assert found(tmp_path, "max_seq_length: 3072\n", says, every, until=until) == {}


def test_what_prepares_data_and_trains_nothing_is_not_judged(tmp_path):
    (tmp_path / "clean.log").write_text("".join(f"skipping record {i}: {40 + i} chars\n" for i in range(500)))
    run = discover(tmp_path)
    logs = {a.name: [*iter_chunks(a.path)] for a in run.of("log")}
    assert not left_out(run, logs, read_settings(run)[0], read_run(run).table).findings
