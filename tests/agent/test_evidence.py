"""One look at a run reads each of its logs once, and what the settings say of the log is believed."""

import gzip
import os
import subprocess
import sys

import pytest

from triage.agent.evidence import look, read_logs
from triage.tools.discover import discover
from triage.tools.reading import listening
from triage.tools.run import stamped

OPENS = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from triage.agent.evidence import look
look([Path(sys.argv[1])])
print(sum(name.endswith("/train.log") for name in opened))
"""


@pytest.fixture
def run(tmp_path):
    lines = [f"[2026-01-01 10:{i // 60:02}:{i % 60:02}] step {i} loss {3 - i / 1000:.4f}\n" for i in range(400)]
    (tmp_path / "train.log").write_text("Total optimization steps = 400\n" + "".join(lines))
    (tmp_path / "train.yaml").write_text("learning_rate: 1e-5\nmax_steps: 400\nlogging_steps: 1\n")
    return tmp_path


def test_a_log_is_opened_to_be_recognised_and_to_be_read(run):
    """Whoever else asks for its beginning has it from there."""
    done = subprocess.run([sys.executable, "-c", OPENS, run], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_is_read_through_once(run, packed):
    log = run / "train.log"
    if packed:
        (run / "train.log.gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
        log = run / "train.log.gz"
    read: list[int] = []
    with listening(read.append):
        seen = look([run])
    assert sum(read) == log.stat().st_size
    assert len(seen.table.all("loss")[0]) == 400
    assert "error signatures" in {c.name for c in seen.checks}


@pytest.mark.parametrize("name", ["serve.yaml", "export/model.yaml"])
def test_a_file_of_settings_is_parsed_once_whoever_asks_for_it(run, name, monkeypatch):
    from triage.tools.config import read

    parsed: list[str] = []
    parse = read.yamlfile.read
    monkeypatch.setattr(read.yamlfile, "read", lambda source: parsed.append(source.name) or parse(source))
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_text(f"model: {name}\nmax_position_embeddings: 4096\nweight_decay: 0.1\n")
    read._once.cache_clear()
    look([run])
    assert "train.yaml" in parsed
    assert len(parsed) == len(set(parsed))


def test_lines_without_a_step_are_counted_as_the_settings_say(tmp_path):
    lines = [f"{{'loss': {3 - i / 10}, 'learning_rate': 1e-05, 'epoch': {i / 100}}}\n" for i in range(1, 4)]
    (tmp_path / "train.log").write_text("".join(lines))
    (tmp_path / "args.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\nlogging_steps: 25\n")
    for table in (look([tmp_path]).table, read_logs(discover(tmp_path)).table):
        assert table.all("loss")[0].steps.tolist() == [25, 50, 75]


def test_a_history_under_any_known_name_is_judged(tmp_path):
    (tmp_path / "train.log").write_text("INFO 10:00:00 starting\n" * 30)
    rows = [f'{{"step": {i * 10}, "lm_loss": {3 - i / 100}, "tgs": 9000}}\n' for i in range(1, 60)]
    (tmp_path / "history.jsonl").write_text("".join(rows))
    seen = look([tmp_path])
    assert {"loss", "tokens_per_second"} <= set(seen.table.metrics())
    assert "metrics-not-recognised" not in {f.code for f in seen.findings}


def replaced_in_the_same_size_and_time(path):
    before = path.stat()
    (path.parent / "new").write_text(path.read_text().replace("2.0", "9.0"))
    os.utime(path.parent / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (path.parent / "new").rename(path)


@pytest.mark.parametrize(
    "touch",
    [
        lambda log: log.write_text(log.read_text() + "{'loss': 1.0}\n"),
        lambda log: log.write_text(log.read_text()[:-5]),
        lambda log: replaced_in_the_same_size_and_time(log),
        lambda log: (log.parent / "deep" / "train.yaml").write_text("learning_rate: 0.1\n"),
        lambda log: log.unlink(),
    ],
    ids=["appended", "cut", "replaced", "another file", "gone"],
)
def test_a_change_under_the_paths_is_noticed(tmp_path, touch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "train.log").write_text("{'loss': 2.0}\n" * 3)
    for paths in ([tmp_path], [tmp_path, tmp_path / "deep"]):
        before = stamped(paths)
        assert stamped(paths) == before
    before = stamped([tmp_path])
    touch(tmp_path / "train.log")
    assert stamped([tmp_path]) != before


@pytest.mark.parametrize("rate", ["Infinity", "-Infinity", "NaN", '"inf"', "1e400", "1e308"])
def test_numbers_without_an_end_break_no_relation(tmp_path, rate):
    row = '{{"request_rate": {0}, "max_concurrency": {0}, "num_prompts": 500, "completed": 500, "total": {0}, '
    row += '"correct": {0}, "errors": 3, "epoch": {0}, "output_throughput": {1}, "mean_ttft_ms": {2}, "seq_len": {0}}}'
    for name, scale in (("v1", 1.0), ("v2", 1.4)):
        rows = [row.format(rate, 900 * scale + i, 130 / scale + i) for i in range(12)]
        (tmp_path / f"bench_{name}.jsonl").write_text("\n".join(rows))
        (tmp_path / f"result_{name}.json").write_text(f'{{"a": {rows[0]}, "b": {rows[1]}}}')
        (tmp_path / f"results_{name}.jsonl").write_text(f'{{"backend": "sglang", {rows[0][1:]}\n')
    (tmp_path / "serve.yaml").write_text(f"max_num_seqs: {rate}\nmax_model_len: {rate}\nrequest_rate: {rate}\n")
    assert [c for c in look([tmp_path]).checks if "broke" in c.why] == []
