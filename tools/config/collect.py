"""What one file sets: each of its keys under the variable that it decides, of two keys the one that is obeyed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace

from ..patterns import bounded
from ..settings import Setting
from .frameworks import named
from .keys import normal, table
from .naming import ENGINES, OWN_MODEL, SWITCHES, Words, meant, per_node, sorting, words
from .syntax import commands
from .syntax.shellvalues import UNKNOWN
from .syntax.source import DEFAULT, Item, Source
from .values import UNSET, convert, measured, number

BOOKKEEPING = re.compile(r"(^|[._])_?(transformers_version|architectures|auto_map|added_tokens_decoder)($|\.)")


@dataclass
class Reading:
    """What one file sets."""

    name: str
    role: str
    framework: str
    values: dict[str, Setting] = field(default_factory=dict)
    others: dict[str, Setting] = field(default_factory=dict)
    shadowed: list[Setting] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    """Names of config files that this one points to."""
    programs: list[tuple[str, ...]] = field(default_factory=list)
    """Of each command of the launch the programs it names: `python train.py config/small.py`."""
    hints: list[str] = field(default_factory=list)
    """Program and file names that may tell the stage."""
    broken: list[Setting] = field(default_factory=list)
    """Flags cut off from their command."""
    problems: list[str] = field(default_factory=list)
    sections: dict[str, dict[str, Setting]] = field(default_factory=dict)
    """What stands below a heading that only a launch can choose (a phase, a profile), by the heading."""
    units: dict[str, str] = field(default_factory=dict)
    """Normalised key -> what its number counts instead of steps, where the file says so."""
    options: dict[str, str] = field(default_factory=dict)
    """Short option, or place among the words of the command -> the option of the program that it is."""
    words: list[tuple[str, ...]] = field(default_factory=list)
    """Of each command of the launch the words behind its program that belong to no option."""
    started: dict[str, Setting] = field(default_factory=dict)
    """What a command gives that a log shows to have started the run."""
    read_in: set[str] = field(default_factory=set)
    """Files that this script reads in: what they set is set here."""

    def only(self, keep: Callable[[Setting], bool]) -> Reading:
        """The reading with those of its settings alone."""
        values, others = ({k: s for k, s in part.items() if keep(s)} for part in (self.values, self.others))
        return replace(self, values=values, others=others)

    def each(self, change: Callable[[Setting], Setting]) -> Reading:
        """The reading with every setting changed."""
        values, others = ({k: change(s) for k, s in part.items()} for part in (self.values, self.others))
        return replace(self, values=values, others=others, shadowed=[change(s) for s in self.shadowed])

    def copied(self) -> Reading:
        """The same, to be changed without changing this one."""
        return replace(self, **{name: copy(value) for name, value in vars(self).items()})


def take(reading: Reading, items: Iterable[Item], source: Source, names: tuple[str, ...], spoken: bool = False) -> None:
    """Sort items into canonical values and others; of two keys the better ranked, of two equal ones the last.

    Args:
        reading: what is filled.
        items: what stands in the file.
        source: the file.
        names: frameworks whose names are tried, in this order.
        spoken: whether variables of the environment count by their words: a program reads them.
    """
    ranks: dict[str, int] = {}
    items = list(items)
    acting, around = any(ENVIRONMENTS.search(i.key) for i in items), Around(items)
    for item in items:
        if item.text is not None and UNKNOWN in item.text:
            item = _without_value(item)
            if item is None:
                continue
        key = normal(item.key)
        _note_file(reading, item)
        known = names if item.style != "env" else ("env", "generic") if spoken else ("env",)
        variable, rank, framework = _lookup(key, known, item, around)
        if item.means:
            variable, rank, framework = item.means, 0, names[0]
        variable = _of_engine(variable, normal(around.placed(item.key)))
        if acting and variable == "max_steps" and OF_ROLLOUT.search(key):
            variable = ""
        if variable in COUNTED and (other := _other_unit(item, variable, source, around, framework)):
            reading.units[key] = other
            variable = ""
        variable, text = measured(variable, item.text)
        value = convert(variable, text, key, item.style == "switch") if variable else UNSET
        if not variable or value is UNSET:
            if item.style != "env" or key.startswith("nccl_"):
                _other(reading, item, source, names[0])
            if "generic" in names and item.style != "env":
                _set_aside(reading, item, source, around)
            continue
        setting = as_setting(variable, value, item, source, framework)
        loser = reading.values.get(variable)
        if loser is None or rank <= ranks.get(variable, 99):
            reading.values[variable] = setting
            ranks[variable] = rank
        else:
            loser = setting
        if loser is not None:
            reading.shadowed.append(loser)
            if normal(loser.key) != normal(reading.values[variable].key):
                reading.others[loser.key.lstrip("-")] = replace(loser, variable=loser.key.lstrip("-"))


def _set_aside(reading: Reading, item: Item, source: Source, around: Around) -> None:
    """What a key would mean below a heading of its own, if a launch names that heading."""
    *above, last = item.key.split(".")
    chosen = [part for part in above if sorting(part) is None]
    named = [part for part in chosen if part.lower() not in CONTAINERS]
    if len(named) != 1:
        return
    key = ".".join(part for part in (*above, last) if part not in chosen)
    variable, _, framework = _lookup(normal(key), ("generic",), replace(item, key=key), around)
    variable, text = measured(variable, item.text)
    value = convert(variable, text, key) if variable else UNSET
    if variable and value is not UNSET:
        reading.sections.setdefault(named[0], {})[variable] = as_setting(variable, value, item, source, framework)


CONTAINERS = frozenset(
    ("phases", "stages", "profiles", "presets", "variants", "recipes", "experiments", "configs", "runs")
)


def _without_value(item: Item) -> Item | None:
    """A flag whose value is not visible: kept as a switch if it can be one."""
    if item.style == "flag" and normal(item.key) in commands.BARE:
        return Item(item.key, None, "switch", item.start, item.end, group=item.group)
    return None


def _lookup(key: str, names: tuple[str, ...], item: Item, around: Around) -> tuple[str, int, str]:
    """Variable, rank and framework of a key, of the first framework that knows it."""
    nobodys = "generic" in names
    if nobodys and (placed := around.placed(item.key)) != item.key:
        hit = meant(placed, item.text, around.beside(item), around.trains, around.samples)
        if hit:
            return hit[0], hit[1] + 50, "generic"
    for name in names:
        if hit := table(name).get(key):
            counted = hit[0] == "world_size" and name == "generic" and item.style != "env"
            variable = per_node(words(_parts(item.key)[1]), around.beside(item), item.text or "") if counted else hit[0]
            return variable, hit[1], name
    if not nobodys and ("." in key or not named(names[0]).tolerant):
        return "", 0, ""
    hit = None if nobodys else table("generic").get(key)
    if not hit and (nobodys or item.style == "flag"):
        written, key = (item.text, item.key) if item.style != "switch" else ("true", item.key)
        hit = meant(around.placed(key), written, around.beside(item), around.trains, around.samples)
        if item.style == "switch" and hit and hit[0] not in SWITCHES:
            hit = None
    return (hit[0], hit[1] + 50, "generic" if nobodys else names[0]) if hit else ("", 0, "")


COUNTED = frozenset(("save_steps", "eval_steps", "log_steps", "warmup_steps", "max_steps"))
"""What counts optimizer steps unless its file says otherwise."""
_UNIT = r"\W{0,3}(?:in |per |counts? |counted in |every |unit:? ?|按|以|单位[:：]?\s?)?"
_OTHERS = (
    r"(epochs?|passes|examples?|samples?|sequences?|images?|tokens?|minutes?|hours?|seconds?"
    r"|轮|遍|样本|分钟|小时|秒)(?![\w-])"
)
COMMENT = bounded(rf"[\s,;\"')\]]{{0,8}}(?:#|//|;|/\*){_UNIT}{_OTHERS}", re.I)
HELP = bounded(rf"[^#\n]{{0,120}}(?:\n[^#\n=]{{0,60}})?\bhelp\s{{0,2}}=\s{{0,2}}f?[\"']{_UNIT}{_OTHERS}", re.I)
"""A unit that is not steps, at the head of the comment or of the help behind a value."""
EVERY = frozenset(("save_steps", "eval_steps"))
FEWEST_STEPS = 5
"""A smaller number under a name without `step` counts epochs: nobody saves every second step (own judgement)."""
STEPS = re.compile(r"(?i)step|iter|update|batch|步")


def _other_unit(item: Item, variable: str, source: Source, around: Around, framework: str) -> str:
    """What a number of steps counts instead, empty where it is steps."""
    part, start = source.part(item.end)
    behind = part.text[start : start + 240]
    if found := COMMENT.match(behind) or (HELP.match(behind) if item.style == DEFAULT else None):
        return found[1].lower()
    if around.by_epoch(item):
        return "epochs"
    few = variable in EVERY and framework == "generic" and not around.samples and not STEPS.search(item.key)
    value = number(item.text or "") if few else None
    return "epochs" if value is not None and 0 < value < FEWEST_STEPS else ""


def variable_of(key: str, text: str | None) -> str:
    """What an option of nobody's means by its name alone; empty for none."""
    item = Item(key, text, "flag", 0, 0)
    return _lookup(normal(key), ("generic",), item, Around([item, Item("lr", "1", "flag", 0, 0)]))[0]


class Around:
    """What stands beside a key of a file."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.names: dict[str, set[Words]] = {}
        self.epochs: dict[str, bool] = {}
        self.served: set[str] = set()
        for item in items:
            section, last = _parts(item.key)
            self.names.setdefault(section, set()).update((words(last), words(OWN_MODEL.sub("", last, count=1))))
            if last == "by_epoch":
                self.epochs[section] = (item.text or "").lower() == "true"
            elif last.lower() in SERVER and ENGINES.fullmatch(item.text or ""):
                self.served.add(section)
        self.trains = any(
            not TRAINING.isdisjoint(names) or "optimizer" in words(section) for section, names in self.names.items()
        )
        self.samples = any(
            "rollout" in words(section) or not SAMPLING.isdisjoint(names) for section, names in self.names.items()
        )

    def by_epoch(self, item: Item) -> bool:
        """Whether a hook counts epochs: it says so, or it is one of those that do where nothing is said."""
        section, last = _parts(item.key)
        return last == "interval" and self.epochs.get(section, section.endswith("hooks.checkpoint"))

    def placed(self, key: str) -> str:
        """A key beside the name of an engine, where nothing is trained, as below the engine's own heading."""
        section, last = _parts(key)
        if self.trains or self.samples or section not in self.served or last.lower() in SERVER:
            return key
        return f"{section}.engine.{last}".lstrip(".")

    def beside(self, item: Item) -> set[Words]:
        return self.names.get(_parts(item.key)[0], set())


SERVER = frozenset(("engine", "backend", "server", "runtime", "engine_kind", "engine_type", "引擎", "推理引擎"))
"""Keys whose value names an inference engine."""
TRAINING = frozenset(
    map(words, ("lr", "peak_lr", "max_lr", "base_lr", "weight_decay", "warmup_steps", "max_steps", "optim"))
)
"""Names of whoever trains at all."""
SAMPLING = frozenset(
    map(words, ("group_size", "num_generations", "samples_per_prompt", "rollout_batch", "adv_estimator"))
)
"""Names of whoever trains on its own answers."""


def _parts(key: str) -> tuple[str, str]:
    """The headings of a key and its last name; an element of a list counts as its list."""
    section, _, last = re.sub(r"\.\d+$", "", key).rpartition(".")
    return section, last


def _of_engine(variable: str, key: str) -> str:
    """`engine.tp` is the size of the inference engine, not that of the trainer."""
    return OF_ENGINE.get(variable, variable) if ENGINE_SECTION.search(key) else variable


ENVIRONMENTS = re.compile(r"(?i)(^|[._-])(n|num)_(envs|environments|steps_per_env|minibatches)$|(^|[._-])gae_lambda$")
"""Keys of a training that acts in environments: there `num_steps` is how far each goes before an update."""
OF_ROLLOUT = re.compile(r"(^|\.)(num_steps|n_steps|steps|nsteps)$")
OF_ENGINE = {
    "tensor_parallel": "engine_tensor_parallel",
    "pipeline_parallel": "engine_pipeline_parallel",
    "data_parallel": "engine_data_parallel",
}
ENGINE_SECTION = re.compile(r"(^|\.)(engine|rollout|vllm|sglang|serve|serving|llm|inference)\.(\w+\.)*\w+$")


def _other(reading: Reading, item: Item, source: Source, framework: str) -> None:
    part_of_list = item.style == "flag" and re.search(r"\.\d+$", item.key)
    if part_of_list or (item.text is None and item.style != "switch") or BOOKKEEPING.search(item.key):
        return
    value = True if item.text is None else item.text
    reading.others[item.key] = as_setting(item.key, value, item, source, framework)


def _note_file(reading: Reading, item: Item) -> None:
    if item.text and len(item.text) < 400:
        reading.files |= {w for w in item.text.split() if commands.CONFIG_FILE.fullmatch(w)}


def as_setting(variable: str, value: object, item: Item, source: Source, framework: str) -> Setting:
    """The item as a setting at its place in the file, with the text that stands there."""
    source, start = source.part(item.start)
    raw = source.text[start : start + item.end - item.start]
    column = source.column(start) if item.end > item.start else -1
    if item.quoted and len(raw) >= 2 and raw[0] in "'\"" and raw[0] == raw[-1]:
        raw, column, start = raw[1:-1], column + 1, start + 1
    if "\n" in raw:
        column = -1
    if column < 0:
        raw = (item.text or "")[:4000]
    key = item.key if item.style != "flag" and item.style != "switch" else f"--{item.key}"
    if item.key.startswith("SBATCH"):
        key = item.key
    return Setting(variable, value, raw, key, source.name, source.line(start), column, item.style, framework)
