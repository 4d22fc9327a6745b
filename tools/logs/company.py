"""What short names mean beside others: `gn` and `lm` beside a learning rate, `R` and `H` beside a KL.

People who write their own loop write as little as they can, and one letter says nothing alone. It is understood where
the same file logs a metric that only goes with it, where nothing else there is that metric already, and where its
values can be those of it. The name that the file uses stays the key of the series.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..metrics import canonical, of_split, split_named
from ..patterns import bounded
from ..series import Series, may_be_loss

_TRAINED = frozenset(("learning_rate", "grad_norm", "loss_scale", "loss", "step_time", "mfu", "tokens_per_second"))
_OF_RL = frozenset((
    "kl", "ppo_kl", "entropy", "policy_loss", "value_loss", "clip_fraction", "response_length", "reward",
    "frac_reward_zero_std", "rollout_time",
))  # fmt: skip
_OF_CODES = frozenset((
    "vq", "vq_loss", "loss_vq", "vqloss", "commit", "commit_loss", "commitment", "commitment_loss", "codebook_loss",
    "codebook_usage", "codebook_entropy", "codebook_perplexity", "dead_codes",
))  # fmt: skip
"""What only a training with a codebook logs."""
NEAR = 1.5
"""How far beyond what the loss of the training was the loss of held-out data may lie, as a factor. Own judgement."""
_HELD_OUT = bounded(r"(?i)held[ _-]?out|验证集?(?:损失)?$|测试集?损失|评估损失")
_SIDE = bounded(r"(?i)^(?:(?P<train>t|tr|trn|train)|(?P<held>v|va|val|te|ts|tst))[_ .-](?=[a-z])")
"""A letter or two for the data that is trained on, or held out."""
_BEST, _LEARNT = ("best", "best_so_far", "最佳", "最优"), ("learn", "train", "fit", "训练")
_SUM = bounded(r"^[a-z]{1,8}(?:\+[a-z]{1,8}){1,3}$")
"""Losses that are added: `ctc+att`."""
_PARTS = frozenset(
    ("ce", "xe", "ctc", "att", "attn", "rnnt", "nll", "mse", "bce", "kl", "kd", "mlm", "lm", "l1", "dice")
)
_TRAIN = bounded(r"^(?:train|trn|tr)[_/.-](?=[a-z])|[_/.-](?:train|trn|tr)$")
LEAST = 5
"""Points from which on the values of a series can speak for its name."""


def _positive(values: np.ndarray) -> bool:
    """No count, and never below zero."""
    return bool((values >= 0).all() and (values != np.floor(values)).any())


def _powers_of_two(values: np.ndarray) -> bool:
    return bool((values >= 1).all() and values.max() > 2 and (np.frexp(values)[0] == 0.5).all())


def _rates(values: np.ndarray) -> bool:
    return bool((values >= 0).all() and 0 < values.max() < 0.1)


def _times(values: np.ndarray) -> bool:
    """Seconds of a step, and no clock that runs."""
    return _positive(values) and not (len(values) > 2 and bool((np.diff(values) >= 0).all()))


def _share(values: np.ndarray) -> bool:
    return bool((values >= 0).all() and (values <= 1).all() and (values != values[0]).any())


def _percent(values: np.ndarray) -> bool:
    return bool((values >= 0).all() and (values <= 100).all())


def _lengths(values: np.ndarray) -> bool:
    return bool((values >= 0).all() and np.median(values) >= 4)


def _above_one(values: np.ndarray) -> bool:
    return bool((values >= 1).all() and (values != values[0]).any())


def _any(values: np.ndarray) -> bool:
    return bool((values != values[0]).any())


def _comes_down(values: np.ndarray) -> bool:
    """As the loss of a training does that begins with knowing little."""
    part = max(1, len(values) // 5)
    return (
        len(values) >= 4 * LEAST
        and may_be_loss(values)
        and _positive(values)
        and bool(np.median(values[-part:]) < np.median(values[:part]))
    )


class Short(NamedTuple):
    """A metric by the short names that people give it."""

    metric: str
    names: tuple[str, ...]
    """In lower case, the one to prefer first."""
    beside: frozenset[str]
    """Metrics of which the same file must log one."""
    fits: Callable[[np.ndarray], bool]
    """Whether these finite values can be those of the metric."""
    otherwise: str = ""
    """The metric that the name is where nothing of `beside` is logged."""


SHORT = tuple(
    Short(metric, tuple(names.split()), beside - {metric}, fits, {"codebook_perplexity": "perplexity"}.get(metric, ""))
    for metric, names, beside, fits in (
        ("grad_norm", "gn gnrm g_norm gradn grad grads norm total_norm l2_norm g |g| ||g|| ‖g‖ |∇| ‖∇‖ grad_l2 "
         "g_l2 gradl2 梯度 范数",
         _TRAINED | _OF_RL, _positive),
        ("loss", "tot total lm mlm nll xe ctc obj objective l tr trn tr_l trl tloss trainloss dpo_loss tot_loss 训练",
         _TRAINED, _positive),
        ("loss", "column_1 column_2 column_3", _TRAINED - {"loss"}, _comes_down),
        ("learning_rate", "eta η stepsize", _TRAINED, _rates),
        ("loss_scale", "ls scale scaler amp_scale lscale 缩放", _TRAINED, _powers_of_two),
        ("step_time", "t dt sec secs it_t iter_t step_t t_step t_it upd_t upd_s update_s 用时 耗时",
         _TRAINED | _OF_RL, _times),
        ("data_time", "data data_t t_data io fetch load dl 取数", frozenset(("step_time",)), _positive),
        ("gpu_utilization", "util gpu_util", frozenset(("gpu_memory", "step_time")), _percent),
        ("entropy", "h ent entr 熵", _OF_RL, _positive),
        ("reward", "r rew rwd ret 奖励", _OF_RL, _any),
        ("clip_fraction", "clip clipped clipf cf 裁剪", _OF_RL, _share),
        ("policy_loss", "pg pg_l pi pi_l", _OF_RL, _any),
        ("value_loss", "v vf vf_l v_l vloss l_v value_function_loss", _OF_RL, _positive),
        ("codebook_perplexity", "ppl perplexity cb_ppl code_ppl pplx 困惑度", _OF_CODES, _above_one),
        ("dead_codes", "unused dead n_dead num_dead dead_num dead_cnt unused_codes inactive 死码 死码数 未使用",
         _OF_CODES, _any),
        ("response_length", "len lens resp_len resp_tok gen_len gen_tok out_len out_tok ans_len 长度",
         _OF_RL, _lengths),
    )
)  # fmt: skip


TIMES = frozenset().union(*(short.names for short in SHORT if short.metric in ("step_time", "data_time")))
"""Short names of times, whose numbers are seconds whatever their unit was."""
_GAMES = bounded(r"(?:^|[_/.])(?:wins?|won|draws?|ties)$|^(?:胜|平)(?:局|场)?数?$")
_LOST = bounded(r"(?:^|[_/.])losses$|^负(?:局|场)?数?$")
"""Counts of games: beside those that were won, those that were lost are no error of a model."""
LOSSES = frozenset().union(*(short.names for short in SHORT if short.metric == "loss"))


def in_company(found: Iterable[Series]) -> Iterator[Series]:
    """The series of a run, those with short names under the metric that the others of their file make of them."""
    files: dict[str, list[Series]] = {}
    for one in found:
        files.setdefault(one.file, []).append(one)
    for series in files.values():
        yield from _of_file(series)


def _of_file(series: Sequence[Series]) -> Iterator[Series]:
    metrics = {s.metric for s in series}
    means: dict[str, str] = {}
    instead = {short.metric: short.otherwise for short in SHORT if short.otherwise}
    for short in SHORT:
        if short.metric not in metrics and metrics & short.beside and (key := _short(short, series, means)):
            means[key] = short.metric
            metrics.add(short.metric)
    if "loss" in metrics and "eval_loss" not in metrics and (key := _held_out(series, means)):
        means[key] = "eval_loss"
    games = any(_GAMES.search(_plain(s.key)) for s in series)
    sides = {} if (metrics - {"value_loss"}) & _OF_RL else _sides({s.key for s in series})
    sides |= _by_best(series)
    for one in series:
        meant = sides.get(one.key) or means.get(one.key, one.metric)
        free = one.metric in (one.key, instead.get(meant)) or one.key in sides
        if games and _LOST.search(_plain(one.key)):
            meant, free = one.key, True
        yield replace(one, metric=meant) if free else one


def _by_best(series: Sequence[Series]) -> dict[str, str]:
    """What a bare `test` and `learn` are beside their `best`: a loss where that is the lowest so far, a score where it
    is the highest."""
    best = next((s for s in series if _plain(s.key) in _BEST), None)
    for held in (s for s in series if best is not None and split_named(s.key)):
        if best is None or len(best) != len(held) or len(held) < LEAST:
            continue
        ways = [bool(np.allclose(best.values, way.accumulate(held.values))) for way in (np.minimum, np.maximum)]
        if ways[0] != ways[1]:
            names = ("loss", "eval_loss") if ways[0] else ("accuracy", "eval_accuracy")
            return {s.key: names[0] for s in series if _plain(s.key) in _LEARNT} | {held.key: names[1]}
    return {}


def _sides(keys: Iterable[str]) -> dict[str, str]:
    """What `T_loss` and `V_loss` mean beside each other: the same of what is trained on, and of what is held out."""
    pairs: dict[str, dict[str, str]] = {}
    for key in keys:
        if side := _SIDE.match(key):
            pairs.setdefault(key[side.end() :].lower(), {})["train" if side["train"] else "held"] = key
    means: dict[str, str] = {}
    for rest, pair in pairs.items():
        hit = canonical(rest)
        held = canonical(of_split(rest, "eval")) if hit and hit[1] == 1.0 else None
        if hit and held and len(pair) == 2:
            means |= {pair["train"]: hit[0], pair["held"]: held[0]}
    return means


def _held_out(series: Sequence[Series], means: dict[str, str]) -> str:
    """The key that says held-out data and a loss, or nothing more, with values such as the loss of its file has."""
    trained = np.concatenate([s.values for s in series if means.get(s.key, s.metric) == "loss"])
    trained = trained[np.isfinite(trained)]
    if not len(trained):
        return ""
    low, high = (float(np.percentile(trained, q)) for q in (1, 99))
    for one in series:
        words = [word for word in re.split(r"[\s_/.-]+", one.key.lower()) if word]
        rest = [word for word in words if not split_named(word)]
        said = len(rest) < len(words) and (not rest or "_".join(rest) in LOSSES)
        if one.metric != one.key or not (said or _HELD_OUT.search(one.key)):
            continue
        values = one.values[np.isfinite(one.values)]
        if len(values) and low / NEAR <= np.median(values) <= high * NEAR and _positive(values):
            return one.key
    return ""


def _plain(key: str) -> str:
    """In lower case, without what says that it is of the training."""
    return _TRAIN.sub("", key.strip().lower().replace(" ", "_"))


def _is_sum(key: str) -> bool:
    """Whether a name is that of losses added up."""
    return bool(_SUM.match(_plain(key))) and bool(_PARTS & set(_plain(key).split("+")))


def _short(short: Short, series: Sequence[Series], taken: dict[str, str]) -> str:
    """The key that is the metric by its name and by all its values, empty for none; the first of the names."""
    own = [s for s in series if s.metric in (s.key, short.otherwise or s.key)]
    keys = {s.key for s in own if _plain(s.key) in short.names or (short.metric == "loss" and _is_sum(s.key))}
    if {"g", "d"} <= {_plain(s.key) for s in series}:
        keys -= {"g", "G"}  # a generator beside its discriminator
    order = {name: i for i, name in enumerate(short.names)}
    for key in sorted(keys, key=lambda key: (order.get(_plain(key), -1), key)):
        values = np.concatenate([s.values for s in series if s.key == key])
        values = values[np.isfinite(values)]
        if key not in taken and len(values) >= LEAST and short.fits(values):
            return key
    return ""
