"""What a key of a log means: the grammar of what trainers put around the names of `tools.vocabulary`.

`canonical` understands the owner (`actor/`), the split (`eval/`), the way of averaging (`interval_`, `/mean`), the
device (`_per_gpu`) and the unit; `step_key` which keys count steps. How pairs stand in a line is `tools.logs.points`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .meaning import quantity
from .patterns import bounded
from .vocabulary import ALIASES, ANSWER_SCORES, BARE_TIMES, COUNTS, SPLITS, STEPS, UNITS, VOCABULARY

_FAMILIES = (
    (re.compile(r"^val-core/[^ ]*/acc/mean@\d+$|^val/test_score/"), "eval_accuracy"),
    (re.compile(r"^val-(?:core|aux)/[^ ]*/(?:reward|score)/mean@\d+$"), "eval_reward"),
    (
        bounded(r"^(?:\w+[/_])?lr(?:-\w+|[_/](?:pg_?|group_?|adam\w*)\d*)(?:/(?:pg|group)\d+)?$"),
        "learning_rate",
    ),
    (
        bounded(
            r"^(?=.{0,60}(?:frac|share|ratio|rate|portion)).{0,60}(?:(?<![a-z])(?:zero|no|null)_?(?:std|var|adv|spread)"
            r"|(?:std|var|variance|adv|advantage|spread)s?_?(?:0|zero)(?![0-9a-z])|(?:dead|degenerate|uniform|same)_group)"
        ),
        "frac_reward_zero_std",
    ),
)
"""Keys that hold the name of a data set or of an optimizer."""

_LOOSE = 100
"""Order of preference of a key that only the grammar understands: after every name of the table."""

BY_WORDS = 1000
"""That of a name whose words are understood one by one: after the grammar."""


def splits(rest: str = "[a-z]*") -> str:
    """`SPLITS` as the alternatives of a pattern; `rest` is what their `*` stands for."""
    return "|".join(SPLITS).replace("*", rest).replace("_", "[_-]?")


_SPLIT = re.compile(rf"^(?:{splits()})[_/-]")
_SPLIT_LAST = re.compile(rf"^([a-z_/]{{2,60}})[_/]({splits()})$")
"""A name that ends with its split: `cross_entropy_val`."""
_SIGNS = re.compile(r"^[/|>]\s+|(?<!\s)\s{1,8}[/|>]$")
_OF_PARTS = bounded(
    r"(?:^|[/_])(?:layers?|blocks?|heads?|experts?|attn|attention|router|critic|value|ref(?:erence)?|config|\d{1,9})"
    r"(?:[/_]|$)"
)
"""Paths of what a model is made of, or of how it is set."""
_DEEP = frozenset(
    ("entropy", "learning_rate", "grad_norm", "kl", "ppo_kl", "policy_loss", "value_loss", "reward", "loss")
)
"""Metrics that the last part of a long path names (`info/learner/default_policy/learner_stats/entropy`)."""
_PART_LOSS = re.compile(rf"^(?:{splits()})[_/](?!.*(?:aux|policy|value)_loss$)\w+_loss$")
"""A loss of held-out data by the name of a part or of a data set."""
_SPLIT_ALONE = re.compile(rf"^(?:{splits()})$")
_TRAINS = bounded(r"(?:train(?:ing)?|trn)(?=[_/ .-]\w|[A-Z])|训练", re.IGNORECASE)
TRAINED = bounded(r"(?:train\w{0,4}|trn|tr|fit|训练)$", re.IGNORECASE)
"""How what is trained on is called beside a split."""
_AVERAGED = {"train_loss_mean": "loss"}
"""An average over a whole run where it is one over a whole split."""
_STEP_OWNER = re.compile(rf"^(?:train(?:ing|er)?|rollout|system|global|{splits()})[/_]")
_OWNER = re.compile(r"^(policy|actor|ppo_actor|grpo_actor|pg|critic|value)[_/]")
_OWNED = {
    "critic": {"loss": "value_loss", "grad_norm": "critic_grad_norm", "reward": "reward", "kl": "kl"},
    "value": {"loss": "value_loss", "grad_norm": "critic_grad_norm"},
}
"""What a metric is called where the critic owns it; the policy's own loss is `policy_loss`."""
_CAPACITY = bounded(r"(?:mem(?:ory)?|vram|显存)[._ ](?:total|limit|capacity|size)(?:[^a-z]|$)", re.IGNORECASE)
"""How much there is, of which a run uses some."""
_AROUND = tuple(
    re.compile(pattern)
    for pattern in (
        r"[_/](?:per|/)_?(?:gpu|device|npu|chip|card|rank|worker)$|/(?:gpu|device|npu|chip)$",
        r"[_/](?:train(?:ing)?|trn)$",
        r"[_/](?:mean|avg|average|total|all|global|global_avg|smoothed|ema)$",
        r"^(?:avg|average|mean|interval|current|curr?|running|reduced|smooth(?:ed)?|global|raw|total|overall|e2e)[_/]",
        r"^(?:train(?:ing|er)?|trn|tr|metrics?|perf(?:ormance)?|throughput|optim(?:izer)?|update|rollout|stats|time|timing(?:_s)?"
        r"|timeperf|rewards?|tokens|system|env|device|data)[_/]",
    )
)
"""What is cut off a name, one at a time: the device, the way of averaging (two places), the group it is shown in."""
_UNIT = re.compile(r"_?[(\[]([^()\[\]]{1,24})[)\]]$|_(?:in_)?(ms|mib|mb|gb|nats?|%)$|_in_(s|sec|seconds)$")
_TIMES = re.compile(r"_?[(\[]?_?[x×*]?_?(?:1e\+?|10\^)0?([1-9])[)\]]?$")
"""What a rate was multiplied with before it was written: `lr_1e4`, `lr (x1e6)`. A negative power names a setting."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where the next word of a name without blanks begins: `TrainLoss`."""
_PLURAL = bounded(r"[_ -](?:loss|accurac|acc|reward|return|rate|perplexit|norm)(?:es|ies|s)$", re.IGNORECASE)
"""How a list of a measure is called after it: `train_losses`."""
_WORD = re.compile(r"[-_/(). ]")
_WORDS = frozenset(word for alias in ALIASES for word in _WORD.split(alias) if len(word) > 1)


@lru_cache(maxsize=8192)
def canonical(key: str) -> tuple[str, float, int] | None:
    """Metric, scale to its unit and order of preference of a key, None for an unknown one.

    >>> canonical("elapsed time per iteration (ms)")
    ('step_time', 0.001, 4)
    >>> canonical("ppo_actor/update/grad_norm")[0], canonical("interval_tokens_per_second_per_device")[0]
    ('grad_norm', 'tokens_per_second')
    >>> canonical("ValLoss")[0], canonical("episode_rewards")[0]
    ('eval_loss', 'reward')
    """
    found = _canonical(key) or (_canonical(apart) if (apart := _HUMP.sub("_", key)) != key else None)
    return found or (_canonical(_one_of(key)) if _PLURAL.search(key) else None)


def _one_of(key: str) -> str:
    """The name of one of a list."""
    end, one = next(pair for pair in (("ies", "y"), ("sses", "ss"), ("s", "")) if key.lower().endswith(pair[0]))
    return f"{key[: -len(end)]}{one}"


def _canonical(key: str) -> tuple[str, float, int] | None:
    plain = _plain(key)
    hit = ALIASES.get(plain)
    if hit:
        unit = UNITS.get(plain)
        return hit[0], unit.scale if unit and unit.metric == hit[0] else 1.0, hit[1]
    if (times := _TIMES.search(plain)) and times.start():
        rate = _canonical(plain[: times.start()])
        return (
            (rate[0], rate[1] / 10 ** int(times[1]), _LOOSE + rate[2]) if rate and rate[0] == "learning_rate" else None
        )
    if len(plain) > 120 or _CAPACITY.search(plain) or _WORDS.isdisjoint(_WORD.split(plain)):
        return None
    found = _meaning(plain, 6) or (_meaning(plain.replace("-", "_"), 6) if "-" in plain else None)
    if found is None and _PART_LOSS.search(plain):
        return "eval_loss", 1.0, _LOOSE - 1
    if found is None and plain.count("/") > 1 and not _OF_PARTS.search(plain):
        last = _meaning(re.sub(r"[/_](?:mean|avg)$", "", plain).rpartition("/")[2], 6)
        return (last[0], last[1], BY_WORDS + last[2]) if last and last[0] in _DEEP else None
    return found or next(((name, 1.0, _LOOSE - 1) for pattern, name in _FAMILIES if pattern.search(plain)), None)


def named(key: str) -> tuple[str, float, int] | None:
    """`canonical`, or what every word of a name together says where no table has the name: how a series is called.

    >>> named("平均回复长度"), canonical("平均回复长度")
    (('response_length', 1.0, 1000), None)
    """
    plain = _plain(key)
    return canonical(key) or (None if _CAPACITY.search(plain) else _by_words(plain))


def _by_words(plain: str) -> tuple[str, float, int] | None:
    unit = _UNIT.search(plain)
    of = (unit[1] or unit[2] or unit[3]) if unit else ""
    name = quantity(plain[: unit.start()] if unit else plain, of)
    return (name, UNITS[of].scale if of in UNITS else 1.0, BY_WORDS) if name and name in VOCABULARY else None


def _meaning(plain: str, left: int) -> tuple[str, float, int] | None:
    """What a name means once at most `left` things around it are cut off."""
    hit = ALIASES.get(plain)
    if hit or not left:
        return (hit[0], 1.0, hit[1]) if hit else None
    unit = _UNIT.search(plain)
    if unit:
        return _measured(plain[: unit.start()], unit.group(1) or unit.group(2) or unit.group(3), left)
    split = _SPLIT.match(plain := _SPLIT_LAST.sub(r"\2_\1", plain))
    if split:
        inner = _meaning(plain[split.end() :], left - 1) or _meaning(plain[split.end() :].rpartition("/")[2], left - 1)
        held = _AVERAGED.get(inner[0], inner[0]) if inner else ""
        name = held if held.startswith("eval_") else f"eval_{held}"
        return (name, inner[1], _LOOSE + inner[2]) if inner and name in VOCABULARY else None
    owner = _OWNER.match(plain)
    if owner:
        inner = _meaning(plain[owner.end() :], left - 1)
        names = _OWNED.get(owner.group(1))
        name = (names.get(inner[0]) if names else {"loss": "policy_loss"}.get(inner[0], inner[0])) if inner else None
        return (name, inner[1], _LOOSE + inner[2]) if inner and name else None
    for pattern in _AROUND:
        shorter = pattern.sub("", plain, count=1)
        inner = _meaning(shorter, left - 1) if shorter not in (plain, "", *BARE_TIMES) else None
        if inner:
            return inner[0], inner[1], _LOOSE + inner[2]
    return None


def _measured(name: str, unit: str, left: int) -> tuple[str, float, int] | None:
    """A name with its unit: a known unit scales it, a rate (`(tokens/s/gpu)`) may be all that is known of it."""
    scale = UNITS[unit].scale if unit in UNITS else None
    if scale is None and re.fullmatch(r"\d+(?:\.\d+)?e-?\d+", unit):
        scale = float(unit)
    inner = _meaning(name, left - 1)
    if inner:
        return inner[0], inner[1] * (scale or 1.0), inner[2]
    rate = _meaning(unit, left - 1) if "/" in unit else None
    return (rate[0], rate[1], _LOOSE + rate[2]) if rate else None


def _plain(key: str) -> str:
    bare = _SIGNS.sub("", key.strip("'\" \t")).lower()
    return re.sub(r"[\s_]+", "_", re.sub(r"\.(?=\s)", "", bare)).replace(".", "/")


@lru_cache(maxsize=4096)
def held_out(key: str) -> bool:
    """Whether a key tells of data that is not trained on."""
    hit = canonical(key)
    return _SPLIT.match(_plain(key)) is not None or (hit is not None and hit[0].startswith("eval_"))


def split_named(text: object) -> str:
    """The split that a cell beside its numbers names (`"phase": "val"`), empty for none or for what is trained on."""
    return _split_of(text) if isinstance(text, str) and text[:1].isalpha() and len(text) < 24 else ""


@lru_cache(maxsize=4096)
def _split_of(text: str) -> str:
    plain = _plain(text)
    return plain if _SPLIT_ALONE.match(plain) else ""


def _of_training(key: str) -> bool:
    """Whether it is set or measured where weights are updated, or says so, though an evaluation prints it, too."""
    return _TRAINS.match(key) is not None or (canonical(key) or ("",))[0] in (
        "learning_rate",
        "grad_norm",
        "loss_scale",
    )


@lru_cache(maxsize=4096)
def of_answers(key: str) -> bool:
    """Whether a key is a score of written answers: `BLEU-4`, `test_rougeL`."""
    return any(word.rstrip("0123456789") in ANSWER_SCORES for word in re.split(r"[^a-z0-9]+", key.lower()))


def of_split(key: str, split: str) -> str:
    """A key of a row that belongs to a split; what says so itself, or counts the steps, stays as it is.

    >>> of_split("loss", "val"), of_split("val_loss", "val"), of_split("train loss", "val"), of_split("loss", "")
    ('val/loss', 'val_loss', 'train loss', 'loss')
    """
    return f"{split}/{key}" if split and not held_out(key) and not counts(key) and not _of_training(key) else key


def tag_of(stem: str) -> str:
    """The metric that a download of TensorBoard is named after; the run before the tag may name the split.

    >>> tag_of("run-1-tag-train_loss"), tag_of("exp3_validation-tag-epoch_loss")
    ('train_loss', 'validation/loss')
    """
    run, _, tag = stem.rpartition("tag-")
    split = next((word for word in reversed(re.split(r"[-_.]", run)) if word), "")
    return of_split("loss" if tag == "epoch_loss" else tag, split_named(split))


@lru_cache(maxsize=4096)
def step_key(key: str) -> int | None:
    """How soon a key is believed to count the steps, None for one that does not; a split's own count comes last."""
    if key in STEPS:
        return STEPS[key]
    inner = STEPS.get(_STEP_OWNER.sub("", key, count=1))
    return None if inner is None else len(STEPS) + inner


def counts(key: str) -> bool:
    """Whether a key of a record counts steps or epochs, whatever it calls them."""
    plain = _plain(key)
    return step_key(plain) is not None or re.search(r"(?:step|^epoch)$", plain) is not None


def tells(key: str) -> bool:
    """Whether a key is a metric, and neither a count nor a setting nor a time of whatever."""
    hit = canonical(key)
    return hit is not None and hit[0] not in COUNTS and _plain(key) not in BARE_TIMES
