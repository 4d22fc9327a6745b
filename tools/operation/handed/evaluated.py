"""An evaluation that is meant for an adapter and is given the base alone: the command that scores names the model that
the adapter was trained on, nothing in it names the adapter, and the place for that stands there unused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import Text

MOST = 400
"""Lines of a script that are read."""
EVALUATOR = bounded(
    r"(?i)(?:^|[\s/;&|])(?:lm[-_]eval\w*|lighteval|opencompass|evalscope|swift eval|evalplus\S*"
    r"|vlmeval\w*|olmes|bigcode\w*|inspect eval|oc_?eval"
    r"|(?:run_?)?(?:eval\w*|bench\w*|score\w*|predict\w*|infer\w*)\.py)(?=\s|$)"
)
"""What scores a model on a command line."""
ARGS = bounded(r"(?i)^\s*[\"']?(?:model_args|pretrained|model_name_or_path|model_path|model)[\"']?\s?[:=]")
TASKS = bounded(r"(?i)^\s*[\"']?(?:tasks?|benchmarks?|datasets?|eval_?(?:sets?|tasks?))[\"']?\s?[:=]")
ADAPTED = bounded(r"(?i)(?<![a-z])(?:peft|q?lora|adapters?|delta|merged?)(?![a-z])|适配器|合并")
"""What names an adapter, or weights with one merged in."""
SET = re.compile(
    r"^\s*(?:export\s+|local\s+|readonly\s+)?([A-Za-z_]\w{0,40})=([\"']?)([^\s\"'#;]{1,200})\2\s*(?:#.{0,200})?$"
)
HOLDS = bounded(r"(?i)(?:^|_)(?:adapter|lora|peft|ckpt|checkpoint|tuned|finetuned|delta|weights)(?:_|$)")
"""Variables that hold what was trained, by their name."""
PLACED = bounded(r"(?i)(?:^|[^a-z])(?:checkpoint|ckpt|step|epoch|global_step)[-_]?\d{1,7}|adapter|lora|peft")
OUT = bounded(
    r"(?i)(?:--?|\b)(?:output|out|output[-_]?(?:path|dir|file)|save[-_]?(?:to|dir|path)|work[-_]dir|results?[-_]?dir|run[-_]name|tag"
    r"|label)[\"']?[\s=:]{1,3}[\"']?([^\s\"',]{1,160})"
)
TRAINED = bounded(
    r"(?i)(?:^|[^a-z])(?:sft|dpo|ft|q?lora|adapters?|peft|tuned|finetuned?|fine[-_]tuned?|after|post|trained|(?:checkpoint|ckpt)[-_]?\d+)"
    r"(?:$|[^a-z])|微调|训练后"
)
BASED = bounded(r"[\"']base_model_name_or_path[\"']\s?:\s?[\"']([^\"'\n]{2,200})[\"']")
UNTRAINED = bounded(r"(?i)(?:^|[^a-z])(?:base(?:line)?|before|original|untuned|pre)(?:$|[^a-z])|底座|基座|训练前")


@dataclass(frozen=True)
class Command:
    """One call of an evaluation, with the line that it begins on."""

    text: Text
    line: int
    said: str


def left_out(texts: Sequence[Text]) -> Iterator[Finding]:
    """The first evaluation of an adapter that is given only its base; none where another one is given the adapter.

    Two of three have to speak for it: it names the base of an adapter of this run, a variable with what was trained is
    never used, its results are called after a training.
    """
    based = [(m[1], text.at(i)) for text in texts if "adapter" in PurePosixPath(text.name).name.lower()
             for i, line in enumerate(text.lines[:MOST], 1) if (m := BASED.search(line))]  # fmt: skip
    commands = [c for text in texts for c in _commands(text)]
    if not commands or any(_adapted(c) for c in commands):
        return
    for command in commands:
        base = next((b for b in based if _names(command.said, b[0])), None)
        unused, out = _unused(command.text), OUT.search(command.said)
        meant = out[1] if out and TRAINED.search(out[1]) and not UNTRAINED.search(out[1]) else ""
        if sum(map(bool, (base, unused, meant))) > 1:
            yield _told(command, base, unused, meant)
            return


def _commands(text: Text) -> Iterator[Command]:
    """The calls of a script, lines that go on joined; a file of settings of an evaluation is one."""
    name = PurePosixPath(text.name)
    if name.suffix in (".sh", ".bash", ".slurm", ".sbatch", ".mk") or name.name.lower() in ("makefile", "run"):
        number, joined = 0, ""
        for i, line in enumerate(text.lines[:MOST], 1):
            if not joined:
                number = i
            joined += line.split(" #")[0].rstrip("\\") + " "
            if not line.rstrip().endswith("\\"):
                if EVALUATOR.search(joined) and not joined.lstrip().startswith(("#", "echo ")):
                    yield Command(text, number, joined.strip())
                joined = ""
    elif name.suffix in (".yaml", ".yml", ".toml"):
        lines = [(i, x) for i, x in enumerate(text.lines[:MOST], 1) if not x.lstrip().startswith("#")]
        at = next((i for i, x in lines if ARGS.search(x)), None)
        if at is not None and any(TASKS.search(x) for _, x in lines) and text.role != "train":
            yield Command(text, at, "\n".join(x for _, x in lines))


def _adapted(command: Command) -> bool:
    """Whether the call names an adapter as what it loads, itself or by a variable; its results do not count."""
    said = OUT.sub(" ", command.said)
    for name, value in _variables(command.text).items():
        if re.search(rf"\$\{{?{re.escape(name)}\b", said):
            said += f" {name} {value[1]}"
    return bool(ADAPTED.search(said.replace("_", " ")) or PLACED.search(said))


def _variables(text: Text) -> dict[str, tuple[int, str]]:
    """What a script sets: name -> (line, value)."""
    if PurePosixPath(text.name).suffix in (".yaml", ".yml", ".toml"):
        return {}
    return {m[1]: (i, m[3]) for i, line in enumerate(text.lines[:MOST], 1) if (m := SET.match(line))}


def _unused(text: Text) -> tuple[str, int, str] | None:
    """A variable that holds what was trained and that nothing in the script asks for."""
    for name, (line, value) in _variables(text).items():
        holds = HOLDS.search(name) and not value.isdigit()
        if (holds or PLACED.search(value)) and not re.search(rf"\$\{{?{re.escape(name)}\b", "\n".join(text.lines)):
            exported = text.lines[line - 1].lstrip().startswith("export")
            if not exported:
                return name, line, value
    return None


def _names(said: str, base: str) -> bool:
    last = base.rstrip("/").rpartition("/")[2]
    return bool(re.search(rf"(?<![\w.-]){re.escape(last)}(?![\w-])", said))


def _told(
    command: Command, base: tuple[str, Evidence] | None, unused: tuple[str, int, str] | None, meant: str
) -> Finding:
    text = command.text
    en, zh, places = [], [], [text.at(command.line)]
    if base:
        places.append(base[1])
        en.append(f"it names {base[0]}, the base of {base[1].file}")
        zh.append(f"它写的是 {base[0]}，即 {base[1].file} 的底座")
    if unused:
        name, line, value = unused
        places.append(text.at(line))
        en.append(f"{name} ({value}, line {line}) is set and never used")
        zh.append(f"{name}（{value}，第 {line} 行）设了却没有用到")
    if meant:
        en.append(f"its results are called {meant}")
        zh.append(f"结果却叫 {meant}")
    return Finding(
        "adapter-left-out-of-evaluation", Severity.S1,
        f"The evaluation at {text.name}:{command.line} loads no adapter: {'; '.join(en)}. What it scores is the base.",
        f"{text.name}:{command.line} 的评测没有加载适配器：{'；'.join(zh)}。被评测的是底座。",
        tuple(places), {"base": base[0] if base else "", "unused": unused[0] if unused else "", "results": meant},
    )  # fmt: skip
