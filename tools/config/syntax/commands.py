"""Command lines as items: flags, switches, hydra overrides, environment, embedded JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...patterns import bounded
from . import jsonfile, yamlfile
from .shell import Launch, Script
from .shellvalues import UNKNOWN
from .shellwords import Traced
from .source import Item, Refused, short, source

FLAG = re.compile(r"--?([A-Za-z][\w.\-]*)(=|$)")
OVERRIDE = re.compile(r"[+~]{0,2}([A-Za-z_][\w./@\-]*)=")
CONFIG_FILE = re.compile(r"[^\s,=]+\.(ya?ml|json|toml|conf)$")
PROGRAM_WORD = re.compile(r".*\.(py|sh)$|(python3?|torchrun|accelerate|deepspeed|launch|vllm|serve|srun|bash)$")
CONTAINERS = ("docker", "podman", "nerdctl", "nvidia-docker")
IMAGE = re.compile(r"[\w.\-]+(?::\d+)?(?:/[\w.\-]+)+(?::[\w.\-]+)?(?:@sha256:\w+)?")
VALUED = ("-v", "-w", "-u", "-e", "--volume", "--workdir", "--name", "--network", "--env-file", "--mount", "--user")
"""Options of `docker run` whose value can look like an image."""
IGNORED = {"echo", "printf", "cd", "mkdir", "rm", "cp", "mv", "ls", "pip", "pip3", "git", "conda", "mamba", "source",
           ".", "set", "module", "curl", "wget", "sleep", "exit", "tee", "touch", "ln", "chmod", "sed", "awk", "grep",
           "read", "kill", "pkill", "wait", "huggingface-cli", "hf", "wandb", "ulimit", "date", "shift", "test", "[",
           "[[", "true", "return", "trap", "apt", "apt-get", "nvidia-smi", "clear", "tail", "head", "sbatch", "pushd",
           "popd", "hostname", "break", "continue", "ssh", "scp", "rsync", "unzip", "tar", "getopts", "scontrol",
           "pwd", "which"}  # fmt: skip
"""Programs that train and serve nothing; their arguments are no settings."""


@dataclass
class CommandLine:
    """One command of a script."""

    program: str
    """Words that are no flags, overrides or values."""
    items: list[Item] = field(default_factory=list)
    start: int = 0
    """Offset of the first word."""


@dataclass
class ScriptItems:
    """What a script sets, by command."""

    commands: list[CommandLine]
    environment: list[Item]
    embedded: list[list[Item]]
    """Config files that the script writes from here-documents."""
    broken: list[int]
    """Offsets of flags that stand at the start of a command: the line above lost its continuation."""
    problems: list[str]


def read(script: Script) -> ScriptItems:
    """Items of every command that may train or serve."""
    out = ScriptItems([], [], [], [], [])
    spans = script.spans
    out.environment += [_env(n, v, spans) for n, v in script.exports.items() if UNKNOWN not in v.text]
    for group, launch in enumerate(script.launches, 1):
        if launch.heredoc is not None:
            _embedded(launch.heredoc, spans, out)
        if not launch.words:
            continue
        own = [_env(n, v, spans, group) for n, v in launch.environment.items() if UNKNOWN not in v.text]
        first = launch.words[0].text
        if short(first) in IGNORED:
            continue
        if first.startswith("--") and out.commands:
            if launch.words[0].start >= 0:
                out.broken.append(launch.words[0].start)
            orphan = _Reader(launch, group, spans).run()
            out.commands[-1].items += orphan.items
            continue
        if short(first) in CONTAINERS:
            launch, inside = _contained(launch)
            own += [_env(n, v, spans, group) for n, v in inside.items() if UNKNOWN not in v.text]
        command = _Reader(launch, group, spans).run()
        command.items += own
        out.commands.append(command)
    return out


def environment(variables: dict[str, Traced], spans: dict[int, int]) -> list[Item]:
    """Variables that stand in the file, as items."""
    return [_env(n, v, spans) for n, v in variables.items() if v.start >= 0 and UNKNOWN not in v.text]


def _contained(launch: Launch) -> tuple[Launch, dict[str, Traced]]:
    """What `docker run` starts: the words from the image on, and the environment that `-e` gives it."""
    inside: dict[str, Traced] = {}
    for i, word in enumerate(launch.words[2:], 2):
        before = launch.words[i - 1].text
        if before in ("-e", "--env") and (at := word.text.find("=")) > 0:
            inside[word.text[:at]] = word[at + 1 :]
        elif IMAGE.fullmatch(word.text) and before not in VALUED:
            return Launch(launch.words[i:], launch.environment, launch.heredoc), inside
    return launch, {}


def _env(name: str, value: Traced, spans: dict[int, int], group: int = 0) -> Item:
    start, end = place(value, spans)
    return Item(name, value.text, "env", start, end, group=group)


def place(value: Traced, spans: dict[int, int]) -> tuple[int, int]:
    """Where a value stands as one literal; (start, start) where it is put together from several places."""
    at = value.at
    if not len(at):
        return 0, 0
    first = at[0]
    if first >= 0 and all(a == first + i for i, a in enumerate(at)):
        return first, at[-1] + 1
    if first >= 0 and first in spans and all(a == first for a in at):
        return first, spans[first]
    start = max(value.start, 0)
    return start, start


class _Reader:
    def __init__(self, launch: Launch, group: int, spans: dict[int, int]):
        self.words = launch.words
        self.group = group
        self.spans = spans
        self.line = CommandLine("", start=max(0, launch.words[0].start))
        self.program: list[str] = []

    def run(self) -> CommandLine:
        i = 0
        while i < len(self.words):
            i = self.word(i)
        self.line.program = " ".join(self.program)
        return self.line

    def word(self, i: int) -> int:
        """Read the word at `i` and what belongs to it; the index behind that."""
        word = self.words[i]
        text = word.text
        flag = FLAG.match(text)
        if flag and text not in ("-m", "-u", "-c", "-x", "-e"):
            if flag[2]:
                self.add(flag[1], word[flag.end() :], "flag")
                return i + 1
            return self.flag(flag[1], i)
        if (match := OVERRIDE.match(text)) and not text.startswith("-"):
            name = match[1]
            style = "env" if "." not in name and name.isupper() else "override"
            self.add(name, word[match.end() :], style)
            return i + 1
        if not text.startswith("-"):
            self.program.append(text)
        return i + 1

    def has_script(self) -> bool:
        """A program to run was already named, so that a later `x.py` is a value."""
        return any(w.endswith((".py", ".sh")) or re.fullmatch(r"\w+(\.\w+){1,6}", w) for w in self.program)

    def flag(self, name: str, i: int) -> int:
        """A flag with the words that follow it as its values."""
        j = i + 1
        values: list[Traced] = []
        while j < len(self.words):
            text = self.words[j].text
            is_flag = text.startswith("-") and not re.match(r"-(\d|\.\d|inf)", text)
            is_program = PROGRAM_WORD.match(text) and (values or not self.has_script())
            if (
                is_flag
                or is_program
                or (values and text == UNKNOWN)
                or (values and OVERRIDE.match(text) and ("." in text or not OVERRIDE.match(values[0].text)))
            ):
                break
            values.append(self.words[j])
            j += 1
        if name == "module" and values:
            self.program.append(values[0].text)
        if not values or (name in BARE and [v.text for v in values] == [UNKNOWN]):
            start, end = place(self.words[i], self.spans)
            self.line.items.append(Item(name, None, "switch", start, end, group=self.group))
            return i + 1
        self.add(name, values[0], "flag", rest=values[1:])
        return j

    def add_parts(self, name: str, values: list[Traced]) -> bool:
        """The settings that the value of one flag is made of, if it is one of those."""
        plain = name.replace("-", "_")
        found = [OVERRIDE.match(v.text) for v in values]
        if plain in OVERRIDING and all(found):
            for one, match in zip(values, found, strict=True):
                if match:
                    self.add(match[1], one[match.end() :], "override")
            return True
        if plain in LISTED and len(values) == 1 and LIST.fullmatch(values[0].text):
            for match in PAIR_OF_LIST.finditer(values[0].text):
                self.add(f"{name}.{match[1]}", values[0][match.start(2) : match.end(2)], "override")
            return True
        return False

    def add(self, name: str, value: Traced, style: str, rest: list[Traced] | None = None) -> None:
        if style == "flag" and self.add_parts(name, [value, *(rest or [])]):
            return
        value, quoted = _unquoted(value)
        start, end = place(value, self.spans)
        if rest:
            text = " ".join([value.text, *(r.text for r in rest)])
            self.line.items.append(Item(name, text, style, start, end, quoted, self.group))
            for n, one in enumerate([value, *rest]):
                s, e = place(one, self.spans)
                self.line.items.append(Item(f"{name}.{n}", one.text, style, s, e, False, self.group))
            return
        self.line.items.append(Item(name, value.text, style, start, end, quoted, self.group))
        if value.text.startswith("{") and value.text.rstrip().endswith("}"):
            try:
                nested = jsonfile.read(source("argument", value.text))
            except Refused:
                return
            for item in nested:
                s, e = place(value[item.start : item.end], self.spans)
                self.line.items.append(Item(f"{name}.{item.key}", item.text, style, s, e, item.quoted, self.group))


OVERRIDING = frozenset(
    ("o", "opt", "opts", "s", "set", "override", "overrides", "cfg_options", "options", "D", "hparams")
)
"""Flags whose values are settings of the configuration file: `-o train.lr=1e-6`."""
LISTED = frozenset(("model_args", "gen_kwargs", "generation_config", "model_kwargs", "engine_args", "engine_kwargs"))
"""Flags whose value is a list of settings: `--model_args pretrained=org/model,dtype=float16`."""
PAIR_OF_LIST = bounded(r"([A-Za-z_]\w{0,60})=([^,=\n]{0,400})(?:,|$)")
LIST = bounded(r"[A-Za-z_]\w{0,60}=[^,=\n]{0,400}(?:,[A-Za-z_]\w{0,60}=[^,=\n]{0,400}){0,60},?")


BARE = {"bf16", "fp16", "gradient_checkpointing", "flash_attn", "packing_samples"}
"""Switches that stay switches when an unknown variable follows them."""


def _unquoted(value: Traced) -> tuple[Traced, bool]:
    """Quotes that reach the program as characters (hydra, strings built in variables) are dropped."""
    text = value.text
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return value[1:-1], True
    return value, False


def _embedded(body: Traced, spans: dict[int, int], out: ScriptItems) -> None:
    """A here-document that is a JSON or YAML config."""
    text = body.text
    if text.lstrip().startswith("{"):
        reader = jsonfile
    elif re.match(r"\s*(#.*\n\s*)*[A-Za-z_]+:(\s|$)", text):
        reader = yamlfile
    else:
        return
    try:
        items = reader.read(source("here-document", text))
    except Refused as error:
        out.problems.append(str(error))
        return
    placed = []
    for item in items:
        part = body[item.start : item.end]
        if item.quoted and len(part) > 2:
            part = part[1:-1]
        start, end = place(part, spans)
        placed.append(Item(item.key, item.text, item.style, start, end, False, item.group))
    out.embedded.append(placed)
