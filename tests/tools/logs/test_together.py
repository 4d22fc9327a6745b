"""Lines that are read together give the points that they give one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from triage.tools.logs.points.layouts import LARGE
from triage.tools.logs.points.lines import _Reader
from triage.tools.logs.points.points import Store
from triage.tools.logs.points.shapes import Shapes, plain
from triage.tools.logs.points.together import Together
from triage.tools.reading import iter_chunks

DRAWN = 60


SPELLED = ("nan", "NaN", "inf", "-inf", "Infinity", "-nan", "INF", "+inf")
"""Numbers without digits, as languages and libraries print them."""


def _value(draw: random.Random, form: str, broken: float) -> str:
    x = draw.choice((0.0, 1.0, draw.random(), draw.random() * 10, -draw.random(), draw.random() * 1e-5, 12345.678))
    return draw.choice(SPELLED[: draw.choice((1, 1, 3, len(SPELLED)))]) if draw.random() < broken else format(x, form)


def _kinds(draw: random.Random, i: int, epoch: int, forms: Sequence[str], broken: Sequence[float]) -> list[str]:
    """Lines of many kinds; `broken` is how often each value is no number."""
    v = [_value(draw, form, share) for form, share in zip(forms, broken, strict=True)]
    step = 10 * i if draw.random() < 0.98 else draw.randrange(200)
    rank = draw.randrange(4)
    return [
        f"[default{rank}]: iteration {step:8d}/  500 | consumed samples: {step * 8} | elapsed time per iteration (ms): "
        f"{v[0]} | lm loss: {v[1]} | grad norm: {v[2]} | number of nan iterations:   0 |",
        str({"loss": float(v[0]), "grad_norm": v[1], "learning_rate": 1e-5, "epoch": i / 10}),
        f"{{'train/loss': {v[0]}, 'layer{rank}/norm': {v[1]}, 'top 1': {v[2]}, 'step': {step}}}",
        f"step:{step} - actor/entropy:{v[0]} - critic/score/mean:{v[1]} - time/x{rank}:{v[2]}",
        f"2024-05-01 10:00:{i % 60:02d} INFO step {step}/900 loss {v[0]} lr {v[1]} {7 * i % 900} tok/s {v[2]}ms",
        f"Epoch [{epoch}/9], Step [{i}/100], Loss: {v[0]}, acc: {v[1]}%",
        f"Epoch: [{epoch}][{i}/100] Loss {v[0]} ({v[1]}) time {v[2]}s",
        f"Epoch {epoch} - train_loss: {v[0]} - val_loss: {v[1]}",
        f"rank: {rank} step: {i} loss: {v[0]} mem {draw.randrange(9)}.5GiB",
        f"step {step}: train loss {v[0]}, val loss {v[1]}, top {rank} acc {v[2]}",
        f"iter {step}: loss {v[0]}, time {draw.randrange(900)}.25ms, mfu {v[2]}%",
        f"{i}%|##| {i}/100 [00:01<00:09, 1.2it/s]",
        f"val loss {v[0]}",
        "Skipping step. Attempted loss scale: 65536, reducing to 32768",
        f"worker {draw.randrange(99)} fetched shard {i}",
        f"---- step {step} ----",
        f"  reward: {v[0]}",
        "{'loss': 1.5,",
        " 'epoch': 0.5}",
        "",
        f'{{"step": {step}, "loss": {v[0]}, "grad_norm": {v[1]}, "info": "nan checks: {rank}"}}',
        f"step={step} loss={v[0]} grad_norm={v[1]} step_time={v[2]} ms",
        f"step {step} | loss {v[0]} | grad_norm {v[1]} | mem {v[2]} GiB | infinite {rank}",
        f"第{step}步 损失：{v[0]}，学习率：{v[1]}，梯度范数 {v[2]}",
        f"step {step}  {v[0]} {v[1]}  loss {v[2]}s",
        f"Epoch {epoch}: {i}%|{'█' * (i // 9)}| {i}/100 [00:{i % 60}<00:09, {i / 7:.2f}it/s, loss={v[0]}, lr={v[1]}]",
        f" {i}%|{'#' * (i // 10)}{i % 10}| {i}/100 [00:01<0:09, 1.2s/it]{{'loss': {v[0]}, 'epoch': {epoch + i / 100}}}",
        f"loss {v[0]} kl {v[1]}: {i}%|##| {i}/{draw.choice((1, 100))} [00:01<00:09, ?it/s]",
    ]


def _coloured(draw: random.Random, line: str) -> str:
    """The line as loggers for a terminal print it."""
    words = line.split(" ")
    at = draw.randrange(len(words))
    words[at] = f"\x1b[{draw.choice((1, 32, 33))}m{words[at]}\x1b[0m"
    return " ".join(words)


def _log(seed: int) -> str:
    draw = random.Random(seed)
    chosen = draw.sample(range(28), k=draw.randrange(1, 6))
    forms, lines = draw.choices((".4f", ".3f", ".6E", "g", ".2e", ".1f"), k=3), list[str]()
    before, after = draw.choices((0.0, 0.01, 0.3), k=3), draw.choices((0.0, 0.01, 0.5, 1.0), k=3)
    n = draw.randrange(30, 900)
    breaks = draw.randrange(n)
    for i in range(n):
        kinds = _kinds(draw, i % 100, i // 100, forms, after if i > breaks else before)
        lines += [kinds[k] for k in chosen if draw.random() < 0.9]
        if draw.random() < 0.02:
            lines.append(draw.choice(lines or [""]))
    if draw.random() < 0.3:
        lines = [_coloured(draw, line) for line in lines]
    if draw.random() < 0.3:
        lines = [line + draw.choice(("\r", "\n", "\n\r", "\r\r", "\r\n", "\x1b[A\r")) for line in lines]
        return "".join(lines)
    return "\n".join(lines) + "\n" * draw.randrange(3)


def _read(path: Path, together: bool, size: int = 60_000) -> Store:
    store = Store()
    reader = _Reader(store)
    chunks = iter_chunks(path, size)
    if together:
        reader.read(chunks)
    else:
        for chunk in chunks:
            reader.apart(chunk)
        reader.close()
        reader.found(reader.blocks.end())
    return store


@pytest.mark.parametrize("seed", range(DRAWN))
def test_the_points_are_the_same_together_and_one_by_one(seed: int, tmp_path: Path):
    file = tmp_path / "train.log"
    file.write_text(_log(seed), encoding="utf-8", newline="")
    one, all_ = _read(file, False), _read(file, True)
    assert list(one.streams) == list(all_.streams)
    for name, stream in one.streams.items():
        other = all_.streams[name]
        assert list(stream.points) == list(other.points), name
        for key, points in stream.points.items():
            found = other.points[key]
            assert list(points.steps) == list(found.steps), (name, key)
            assert list(points.lines) == list(found.lines), (name, key)
            assert np.array_equal(np.array(points.values), np.array(found.values), equal_nan=True), (name, key)
        told = (
            "step_is",
            "last_step",
            "records",
            "falls",
            "last_epoch",
            "offset",
            "starts",
            "before",
            "after",
            "previous",
        )
        assert repr([getattr(stream, t) for t in told]) == repr([getattr(other, t) for t in told]), name
    assert one.kept == all_.kept


def test_most_lines_of_a_long_log_are_read_together(tmp_path: Path):
    file = tmp_path / "train.log"
    file.write_text(
        "".join(f"[default{i % 8}]: iteration {i // 8}/ 99 | lm loss: {2 + i / 7:.6E} |\n" for i in range(4000))
    )
    chunk = next(iter_chunks(file))
    seen = Shapes().look(plain(chunk))
    assert sum(len(one.at) for one in Together().rows(seen)) == 4000
    assert _read(file, True).kept == 4000


TOGETHER = {
    "words": "step {i} loss nan grad_norm {x:.3f} lr 1e-4",
    "bars": "step {i} | loss -inf | grad_norm nan | lr {x:.2e} | mem 71.5GB",
    "infinite count": " iteration {i}/ 9000 | lm loss: NaN | grad norm: {x:.3f} | number of nan iterations: {i} |",
    "dictionary": "{{'loss': nan, 'grad_norm': {x:.2f}, 'epoch': {e:.2f}}}",
    "texts": "{{'loss': '{x:.4f}', 'grad_norm': 'nan', 'epoch': '{e:.2f}'}}",
    "records": '{{"step": {i}, "loss": NaN, "kl": {x:.4f}, "msg": "of rank"}}',
    "unit": "step {i}: loss {x:.3f} step_time nan ms",
    "Chinese": "第{i}步 损失：nan，学习率：{x:.2e}，梯度范数：inf",
    "coloured": "\x1b[32mINFO\x1b[0m step \x1b[1m{i}\x1b[0m loss {x:.3f} grad_norm \x1b[31minf\x1b[0m",
    "postfix": "Epoch 0: {p:3d}%|{b:4s}| {i}/4000 [00:11<09:10, {r:.1f}it/s, loss=nan, lr={x:.1e}]",
    "described": "loss {x:.3f} kl inf: {p:3d}%|{b:4s}| {i}/4000 [00:11<09:10, 2.5s/it]",
}
"""Lines in whose like nothing changes but numbers: `i` counts, `e` is the epoch, `b` a bar."""


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("form", TOGETHER)
def test_numbers_without_digits_colours_and_redrawn_bars_do_not_part_lines(form: str, end: str, tmp_path: Path):
    file = tmp_path / "train.log"
    lines = (
        TOGETHER[form].format(i=i, x=i % 97 / 7 + 0.01, e=i / 1000, p=i // 40, b="█" * (i // 1000), r=9 + i % 7 / 10)
        for i in range(4000)
    )
    file.write_text(end.join(lines) + "\n", encoding="utf-8", newline="")
    chunk = next(iter_chunks(file))
    seen = Shapes().look(plain(chunk))
    assert sum(len(one.at) for one in Together().rows(seen)) > 3900
    store = _read(file, True)
    (stream,) = store.streams.values()
    assert store.kept > 0
    lines_of = np.array(next(iter(stream.points.values())).lines)
    assert (lines_of == 1).all() if end == "\r" else lines_of[-1] > 3900


APART = {
    "numbers that change places": ("step {i}  loss {x:.2f}  nan acc", "step {i}  loss nan  {x:.2f} acc"),
    "a word of the text": ("nan {i} is step 4 of the loss", "step 4 of the nan {i} is the loss"),
}


@pytest.mark.parametrize("form", APART)
def test_a_value_is_not_taken_from_another_place(form: str, tmp_path: Path):
    """Lines that are alike without their blanks and digits give each the points that they give alone."""
    file = tmp_path / "train.log"
    file.write_text("".join(APART[form][i % 5 == 3].format(i=i, x=i / 7) + "\n" for i in range(1000)))
    one, all_ = _read(file, False), _read(file, True)
    assert one.streams.keys() == all_.streams.keys()
    for name, stream in one.streams.items():
        assert repr(stream.points) == repr(all_.streams[name].points)


def test_a_large_log_is_read_as_a_small_one(tmp_path: Path):
    """Its chunks are put into shapes in another way, and in a thread."""
    file = tmp_path / "train.log"
    lines = (
        f"[default{i % 8}]: iteration {i // 8}/ 99999 | lm loss: {2 + i % 977 / 7:.6E} | grad norm: {i % 31 / 3:.3f}\n"
        + (f"worker {i % 5} fetched {'abcdefgh'[i % 8] * (i % 7)}{i}\n" if i % 3 else "")
        for i in range(60_000)
    )
    file.write_text("".join(lines))
    small, large = _read(file, True), _read(file, True, LARGE + 1)
    assert small.kept == large.kept == 120_000
    for name, stream in small.streams.items():
        for key, points in stream.points.items():
            assert points == large.streams[name].points[key], (name, key)
