"""What a file of a run is, from its name and its first KiB.

Names are only a hint: a binary file called `train.log` is no log, and a `.json` with a `log_history` is metrics. The
walk over directories is `tools.discover`.
"""

# ruff: noqa: E501  one row of the table on one line

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

from .answered import SAMPLED, is_episode, is_sampled, is_transcript
from .heads import (
    ARRAYS,
    MARKUP,
    NAMES_ONLY,
    RULED,
    SCALAR_TABLE,
    SCORED_TASKS,
    SWANLAB_POINT,
    TRACKED,
    classed,
    columned,
    csv_header,
    exported,
    grouped,
    holds_rows,
    logged,
    metric_records,
    mostly_pairs,
    scored,
)
from .patterns import bounded
from .reading import POINTER, POINTER_WHY, is_binary

Kind = Literal[
    "log", "metrics", "config", "script", "tokenizer", "data", "checkpoint", "eval", "generations", "stack",
    "table", "tracker", "document", "code",
]  # fmt: skip
OPEN: tuple[Kind, ...] = ("table", "tracker", "document")
"""Kinds of files that no reader of a known format takes: rows, trackers' own files, prose (`tools.store.opened`)."""


class Recognised(NamedTuple):
    kind: Kind
    why: str


class Refused(NamedTuple):
    """A file whose name promises something that its content does not hold; `empty`: nothing in it was not read."""

    why: str
    empty: bool = False


_I = re.IGNORECASE
_UNREAD_NAME = re.compile(r"\.(?:md|rst)$|^(?:README|requirements)", _I)
"""Papers, which are no logs, configurations or data whatever they quote."""
_BY_NAME: tuple[tuple[re.Pattern[str], Kind, str], ...] = (
    (re.compile(r"^(?:tokenizer(?:_config)?\.json|tokenizer\.model|special_tokens_map\.json|added_tokens\.json|vocab\.(?:json|txt)|merges\.txt|chat_template\.(?:jinja|json)|spiece\.model|tokenization_\w+\.py)$", _I), "tokenizer", "tokenizer file name"),
    (re.compile(r"\.(?:safetensors|ckpt|pth?|gguf|distcp)$|^(?:pytorch_model|adapter_model|optimizer|model)[\w.-]*\.bin$", _I), "checkpoint", "weights file name"),
    (re.compile(r"^(?:nccl_trace|fr_trace|flight_?recorder)|py-?spy|(?:^|[_.-])(?:stack|stacks|stacktrace|threads?_?dump|faulthandler)(?:[_.\d-]|$)", _I), "stack", "stack or flight-recorder dump name"),
    (re.compile(r"(?:^|[_.-])(?:config|args|arguments|h?params|hyperparameters|settings)\.json$", _I), "config", "configuration file name"),
    (re.compile(r"^(?:all_|eval_|test_|predict_|base_|before_|after_|lm_?eval\w*_)?results?(?:[_.-].*)?\.json$|^(?:eval|evaluation|metrics_eval|lm_eval)[\w.-]*\.json$", _I), "eval", "evaluation result name"),
    (re.compile(r"^(?:samples|gens?|generations?|generated|replies|predictions?|completions?|rollouts?|outputs?|responses?)[\w.-]*\.(?:jsonl|json|parquet|csv)(?:\.gz|\.zst)?$|generated_predictions", _I), "generations", "generated text file name"),
    (re.compile(r"\.(?:slurm|sbatch|sh|bash|zsh|bat|ps1|pbs|lsf|mk|service)$|^\w[\w-]{0,40}\.env$|^(?:GNU)?makefile$|^(?:launch|run|command|cmd|args|flags|overrides)(?:[_.-][\w.-]*)?\.txt$|[_.-](?:args|arguments|flags|cmd|command|overrides)\.txt$", _I), "script", "launch script name"),
    (re.compile(r"^(?:\w+[-_.])?(?:metrics?|history|results?|scores?|logs?|summary|stats|scalars|evals?)\.(?:parquet|arrow|feather)$", _I), "table", "columnar file named after what is measured"),
    (re.compile(r"\.(?:ya?ml|toml|ini|cfg|ipynb|properties|json5|jsonc|hocon|conf|jsonnet|libsonnet|gin)$|^\.env(?!.*(?:example|sample|template|dist$))\.[\w-]{1,30}$|^(?!.*(?:example|sample|template))[\w.-]{1,60}\.env$", _I), "config", "configuration file name"),
)  # fmt: skip
_LOG_NAME = bounded(
    r"\.(?:log|out|err|stdout|stderr)(?:\.\d+)?$|\.(?:info|warning)(?:\.[\d.-]{1,40})?$|\.[oe]\d+$|^(?:stdout|stderr|log|nohup|console|output)(?:[_.-]|$)"
    r"|(?:^|[_.-])(?:train|training|log|console|stdout|stderr|slurm|run|dmesg|kern|syslog|messages|journal|rank_?\d+)[\w.-]*\.txt$",
    _I,
)
_DATA_NAME = re.compile(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet|arrow)$", _I)
_METRIC_NAME = re.compile(r"metric|trainer_state|history|scalar|progress|loss|log", _I)
_PACKED = re.compile(r"\.(?:gz|gzip|zst|zstd)$", _I)
_ARCHIVE = re.compile(r"\.(?:tar|tgz|zip|7z|rar|bz2|xz|tar\.gz)$", _I)
_IGNORED = re.compile(
    r"\.(?:png|jpe?g|gif|svg|pdf|css|js|ts|so|whl|pyc|lock|wav|mp[34]|ttf)$"
    r"|^(?:LICEN[CS]E|COPYING|NOTICE|\.git|(?:wandb|swanlab)-metadata)", _I
)  # fmt: skip
_TRACKER_NAME = re.compile(
    r"tfevents|\.(?:wandb|swanlab|aim)$|^wandb-summary\.json$"
    r"|^(?:mlflow|trackio|swanlab|aim)[\w.-]*\.(?:db|sqlite3?)$", _I
)  # fmt: skip
_OF_TRACKER_ITSELF = re.compile(r"^debug-(?:core|internal|cli[\w.]{0,80})\.log$|^(?:wandb|swanlab)-metadata\.json$", _I)
"""What a tracker says of its own work (W&B's often a link into a cache), and of the machine."""
_TRACKER_SCHEMA = re.compile(
    rb"latest_metrics|experiment_tags|\brun_(?:uuid|name|id)\b.{0,400}\b(?:metrics?|step)\b", _I | re.S
)
"""Tables of MLflow, or rows of a metric for each run, in the first pages of a SQLite file."""
_SQLITE = b"SQLite format 3\0"
_TABLE_NAME = re.compile(r"\.(?:csv|tsv|tab|psv|ssv|dat|jsonl?|ndjson|prom|db|sqlite3?|swanlab)$", _I)
_DOCUMENT_NAME = re.compile(
    r"\.(?:md|markdown|rst|txt|adoc|org|diff|patch)$"
    r"|^(?:change(?:s|log)?|news|notes?|todo|plan|readme|history|requirements)(?:[._-]|$)", _I
)  # fmt: skip
_VERSIONED = re.compile(rb"\s*(?:commit [0-9a-f]{7,40}\b.{0,200}\n(?:Merge: .{1,100}\n)?Author: |diff --git )")
"""How `git log`, `git show` and `git diff` begin."""
_LISTED = bounded(
    rb"(?mi)^[ \t]{0,8}\d{1,9}(?:\.\d{1,3})?[ ]?[kmgtp]?i?b?[ \t]{1,8}\S{0,200}(?:ckpt|checkpoint|step|iter)[_-]{0,2}\d|^[-dl](?:[r-][w-][xsStT-]){3}[.+@]?[ ]{1,4}\S"
)
"""Lines of `du` about checkpoints, and of `ls -l`."""
_ROWS = bounded(
    rb"(?m)^\#\ (?:TYPE|HELP)\ \w|(?:^[ ]{0,8}[|+][^\n]{3,400}[|+][ ]{0,8}\r?\n){3}|^\s{0,8}\|?(?:\s{0,4}:?-{3,40}:?\s{0,4}\|){2}",
    re.X,
)
"""Prometheus text, and tables drawn with bars."""
_TEXT_KEY = re.compile(
    r"['\"](?:text|prompts?|messages|conversations?|instruction|chosen|rejected|question|answer|input|output|content"
    r"|response|completion|query|problem|solution|input_ids|labels|token_ids|score|source|target|问题|提问|题目|指令|回答|(?:标准|参考)?答案|回复)['\"]\s*:(?!\s*(?:[-+.\d]|nan\b|inf|null\b|true\b|false\b))".encode(), _I
)  # fmt: skip
"""A key of texts with something else than a number under it."""
_TEXT_COLUMN = re.compile(
    rb"(?:^|[,\t])\"?(?:text|prompt|question|answer|instruction|input|output|content|chosen|response)\"?(?:[,\t\r]|$)",
    _I,
)
_PAIRED = re.compile(rb"['\"]rejected['\"]\s*:")
"""Records of an answer beside a worse one: to learn from, whatever was drawn or scored to make them."""
_NESTED = re.compile(rb"\s*\[\s*\{[^{}]{0,400}\{")
"""A list of records with records in them, which only a reader of the whole document can join."""
_EVAL_KEY = re.compile(
    rb'"(?:eval_(?!every|steps?"|interval|freq|batch|prompts|strategy|iters|size|max|num|on_|data)\w+|(?:acc(?:uracy)?|exact_match)(?:,[\w-]+)?|bleu|rouge\w*|perplexity)"\s*:\s*[-\d.]',
    _I,
)
_CONFIG_KEY = re.compile(
    rb"['\"](?:train_micro_batch_size_per_gpu|train_batch_size|zero_optimization|model_type|architectures|hidden_size"
    rb"|learning_rate|per_device_train_batch_size|fp16|bf16|optimizer|lora_alpha|num_train_epochs|max_steps|dataset"
    rb"|model_name_or_path|rope_scaling|eos_token_id|apiVersion|lr|kl_coef|batch_size|max_new_tokens|weight_decay"
    rb"|gpu_memory_utilization|warmup(?:_steps|_ratio)?|seed|n_samples_per_prompt|micro_batch_size|grad_clip)['\"]\s*:",
    _I,
)  # fmt: skip
_REQUEST = re.compile(rb"['\"](?:messages|prompt)['\"]\s{0,16}:")
_RESULT = re.compile(rb"['\"](?:results?|scores?|metrics|win_?rate|f1|pass@\d{1,4})['\"]\s{0,16}:", _I)
_MOST_SAMPLED = 2048  # bytes of a file that holds parameters of sampling and nothing else
_PYTHON_SETTINGS = (  # an object of settings, of which every name begins with a letter (five times as fast), or a name that is set
    bounded(rb"(?:TrainingArguments|SFTConfig|DPOConfig|GRPOConfig|PPOConfig|KTOConfig|ORPOConfig|RewardConfig|RLOOConfig|ArgumentParser|LoraConfig|Optimi[sz]er\w*Config|Optimizers\w*\.Config|TrainingConfig|TrainerConfig|ConfigContainer|AdamWConfig|T(?<!\wT)rainer)\s*\("),
    bounded(rb"^\s*[\w.]+\.(?:lr|learning_rate|max_steps|train_iters|\w+_batch_size)\s*=|^\s*(?:learning_rate|batch_size|max_iters|lr)\s*[:=]", re.M),
)  # fmt: skip
_PROGRAM = re.compile(rb"^(?:import|from|def|class|async def)\b", re.M)
_STATEMENT = bounded(
    rb"^(?:for|while|with|if|try)\b[^\n]{0,300}:\s|^[A-Za-z_][\w.]{0,80}\s{0,8}(?:[-+*/]?=[^=]|\()", re.M
)
"""A line of a part of a program that defines nothing."""
_FLAGS = re.compile(
    rb"(?:^|\s)--[a-z][\w.-]+|\b(?:torchrun|accelerate launch|deepspeed|vllm serve|srun|python3? )|^[\w.+]+=\S+$", re.M
)
_YAML = re.compile(rb"^[A-Za-z_][\w.-]*:(?:\s|$)", re.M)
_CHANGED = bounded(rb"(?m)^[A-Za-z_][\w.-]{0,60}:[ ][^\n]{0,80}\S\s?(?:->|\xe2\x86\x92)\s?\S")
"""`key: old -> new`: no settings, though colons stand there."""
_DRAWN = bounded(  # Prometheus text, and columns under a row of dashes
    rb"(?m)\A(?:[^\n]{0,200}\n){0,2}\# (?:TYPE|HELP) \w|\A(?:[^\n]{0,200}\n){0,3}[ ]{0,8}-{3,60}(?:[ ]{1,8}-{3,60}){2,40}[ ]{0,8}\r?$"
)
_LOG_TEXT = re.compile(
    rb"\d\d:\d\d:\d\d|Traceback \(most recent|\b(?:INFO|WARNING|ERROR)\b|\b(?:step|iter(?:ation)?|epoch)\W{0,3}\d|CUDA"
    rb"|['\"]loss['\"]:|\bloss\b\W{0,3}[\dn]|\d%\||NCCL|[Ee]rror|\xac ?\d{1,9} ?\xe6\xad\xa5.{0,40}\xe6\x8d\x9f", _I
)  # fmt: skip
_STACK_TEXT = re.compile(rb"(?m)^(?:Thread 0x|Current thread 0x|Process \d+: |Thread \d+ \((?:idle|active))")
_NUMBER = bounded(rb"[-+]?\d{1,20}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?")
_WHOLE, _FLIGHT = re.compile(rb"\d{1,12}"), re.compile(rb'"(?:nccl_version|pg_config|collective_seq_id)"')


def recognise(name: str, head: bytes, alone: bool = False) -> Recognised | Refused | None:
    """The kind of a file, None for one that is no part of a run.

    Args:
        name: file name.
        head: its first KiB, unpacked.
        alone: the user named this very file, so be liberal: unknown text is a log.
    """
    plain = _PACKED.sub("", name)
    if _ARCHIVE.search(name):
        return Refused("is an archive; unpack it and name the directory")
    if _TRACKER_NAME.search(plain) or head.startswith(_SQLITE) or SWANLAB_POINT.match(head):
        return _tracked(plain, head)
    rows = alone and _TABLE_NAME.search(plain) and not (_LOG_TEXT.search(head) and plain.lower().endswith("json"))
    return _known(plain, head, alone and not rows, plain != name) or _open(plain, head)


def _known(plain: str, head: bytes, alone: bool, packed: bool) -> Recognised | Refused | None:
    """A file of a format with a reader of its own."""
    if (not alone or RULED.search(head)) and (_IGNORED.search(plain) or _UNREAD_NAME.search(plain)):
        return None
    by_name = next((Recognised(kind, why) for p, kind, why in _BY_NAME if p.search(plain)), None)
    if by_name and by_name.kind == "checkpoint" and not _LOG_NAME.search(plain):
        return by_name
    if head.startswith(POINTER):
        return Refused(POINTER_WHY)
    if PurePath(plain).suffix.lower() in (".parquet", ".arrow"):
        return by_name or Recognised("data", "columnar data file name")
    if not head.strip(b"\0 \r\n\t"):
        return _empty(plain, head, by_name, packed)
    return _binary(plain, by_name, alone) if is_binary(head) else _text(plain, head, by_name, alone)


def _tracked(name: str, head: bytes) -> Recognised | Refused:
    if not head.strip(b"\0"):
        return Refused("is empty", empty=True)
    if head.startswith(_SQLITE) and not (_TRACKER_NAME.search(name) or _TRACKER_SCHEMA.search(head)):
        return Recognised("table", "SQLite file")
    return Recognised("tracker", "file of an experiment tracker")


def _open(name: str, head: bytes) -> Recognised | Refused | None:
    """A file that only the open readers can take: rows or prose."""
    prose = _DOCUMENT_NAME.search(name) or not PurePath(name).suffix
    if ARRAYS.match(head):
        return Recognised("table", "arrays of measures")
    if name.startswith(".") or _IGNORED.search(name) or not head.strip(b"\0 \r\n\t") or is_binary(head):
        return None
    suffix = PurePath(name).suffix.lower()
    if suffix in MARKUP:
        return Recognised("table", "document with a table") if MARKUP[suffix].search(head) else None
    if suffix == ".eml":
        return Recognised("document", "mail")
    if suffix == ".json" and NAMES_ONLY.match(head):
        return Recognised("document", "list of names")
    if _TABLE_NAME.search(name) or (suffix in ("", ".txt") and _ROWS.search(head)):
        return Recognised("table", "rows in no known format")
    return Recognised("document", "text") if prose else None


def _empty(name: str, head: bytes, by_name: Recognised | None, packed: bool) -> Recognised | Refused | None:
    if head.strip(b"\r\n\t "):
        return Refused("holds only NUL bytes (an interrupted write or a full disk)")
    if by_name or _LOG_NAME.search(name):
        if packed:
            return Refused("is empty, or packed data that breaks off before its first block")
        return Refused("is empty", empty=True)
    return None


def _binary(name: str, by_name: Recognised | None, alone: bool) -> Recognised | Refused | None:
    if by_name and by_name.kind in ("stack", "tokenizer"):
        return by_name
    if alone or by_name or _LOG_NAME.search(name) or _DATA_NAME.search(name):
        return Refused("is binary, not the text that its name promises")
    return None


def _text(name: str, head: bytes, by_name: Recognised | None, alone: bool) -> Recognised | None:
    suffix = PurePath(name).suffix.lower()
    crashed = not by_name and _LOG_NAME.search(name) is not None and b"Fatal Python error: " in head
    if _STACK_TEXT.search(head) and not crashed:
        return Recognised("stack", "thread stacks in its first lines")
    if suffix in (".json", ".jsonl", ".ndjson", ".csv", ".tsv") or (not suffix and head.lstrip()[:1] in b"{["):
        found = _structured(name, suffix, head, by_name)
        if found:
            return found
    if by_name:
        return by_name
    if suffix == ".py":
        if any(p.search(head) for p in _PYTHON_SETTINGS) or re.search(r"config|args|settings", name, _I):
            return Recognised("config", "Python file that sets training arguments")
        program = _PROGRAM.search(head) or _STATEMENT.search(head)
        return Recognised("code", "Python program") if program else None
    if _LOG_NAME.search(name):
        return Recognised("log", "log file name and text content")
    if suffix in ("", ".txt") or alone:
        return _plain(head, alone)
    return None


def _structured(name: str, suffix: str, head: bytes, by_name: Recognised | None) -> Recognised | None:
    """JSON, JSON lines and CSV by their keys."""
    if b'"log_history"' in head or name == "trainer_state.json":
        return Recognised("metrics", "trainer state with a log history")
    first = head.lstrip().split(b"\n", 1)[0]
    if suffix in (".csv", ".tsv"):
        if (csv_header(first) and not grouped(head)) or SCALAR_TABLE.match(first.strip()):
            return Recognised("metrics", "table with a step and a metric column")
        texts = _texts_below(head)
        if texts and is_sampled(first):
            return by_name or Recognised("generations", "texts beside why they ended, or how they were drawn")
        if texts or classed(first):
            return by_name or Recognised("data", "table with a text column")
        return by_name or (Recognised("log", "lines of names with numbers behind colons") if logged(head) else None)
    if _FLIGHT.search(head):
        return Recognised("stack", "flight-recorder keys")
    lines = suffix in (".jsonl", ".ndjson") or (first.rstrip().endswith(b"}") and head.count(b"\n") > 1)
    records, nested = lines or head.lstrip()[:1] == b"[", head.lstrip()[:1] == b"[" and _NESTED.match(head)
    if lines and is_episode(first):
        return Recognised("table", "steps of an agent with what each paid")
    if records and not (nested or _TEXT_KEY.search(first if lines else head) or grouped(head)) and metric_records(head):
        return Recognised("metrics", "records with step and metric keys")
    if not records and (by_name is None or by_name.kind in ("eval", "generations")) and _is_sampling(head):
        return Recognised("config", "parameters of sampling")
    if by_name and by_name.kind in ("tokenizer", "eval", "generations"):
        return by_name
    if lines and _TEXT_KEY.search(head) and is_sampled(first):
        return Recognised("generations", "texts beside why they ended, or how they were drawn")
    if records and exported(head) and not by_name:
        return Recognised("table", "messages with the times at which they were sent")
    if records and _TEXT_KEY.search(head):
        if lines and metric_records(first) and not _PAIRED.search(first):
            return Recognised("generations", "texts beside a step and a reward")
        return Recognised("data", "records with text keys")
    if records or SCORED_TASKS.match(head):
        return None if records else Recognised("eval", "JSON with a measure of each task")
    settings = len(_CONFIG_KEY.findall(head))
    if (settings and not scored(head, settings)) or re.search(r"config|cfg|args|settings|params", name, _I):
        return Recognised("config", "JSON with configuration keys or such a name")
    if _REQUEST.search(head) and SAMPLED.search(head):
        return Recognised("config", "request to a server: a prompt and sampling parameters")
    if _EVAL_KEY.search(head):
        return Recognised("eval", "JSON with evaluation metrics")
    return Recognised("data", "JSON with text keys") if _TEXT_KEY.search(head) else None


def _texts_below(head: bytes) -> bool:
    """Whether a table has a column of texts by its name, with something else than a number in its first row."""
    names, *row = (re.split(rb"[,\t]", line) for line in head.lstrip().split(b"\n")[:2])
    below = row[0] if row and len(row[0]) == len(names) else [b""] * len(names)
    return any(_TEXT_COLUMN.search(n) and not _NUMBER.fullmatch(c.strip()) for n, c in zip(names, below, strict=True))


def _is_sampling(head: bytes) -> bool:
    """Whether a JSON object is short, and says how to sample, but neither a text nor a result."""
    short = len(head) < _MOST_SAMPLED and head.rstrip().endswith(b"}")
    said = any(p.search(head) for p in (_TEXT_KEY, _EVAL_KEY, _RESULT))
    return short and len(SAMPLED.findall(head)) > 1 and not said


def _plain(head: bytes, alone: bool) -> Recognised | None:
    if TRACKED.match(head.split(b"\n", 1)[0]):
        return Recognised("metrics", "lines of clock, value and step")
    if _DRAWN.search(head) or columned(head):
        return Recognised("table", "rows of a monitoring tool or a scheduler")
    pairs, keys = mostly_pairs(head), _YAML.findall(head)
    named = len(keys) == len({k.strip() for k in keys}) >= 2 and not _CHANGED.search(head)  # twice: who speaks
    if (pairs or named) and scored(head):
        return Recognised("document", "names with their scores")
    if _VERSIONED.match(head) or len(_LISTED.findall(head)) >= 3:
        return Recognised("document", "changes of files, or a list of them with their sizes")
    if pairs:
        return Recognised("config", "text with `key = value` lines")
    if is_transcript(head):
        return Recognised("table", "items with what a model said to each")
    if _LOG_TEXT.search(head):
        return Recognised("log", "text with log lines")
    if _repeats(head):
        return Recognised("log", "lines of one shape with numbers in them")
    if _FLAGS.search(head):
        return Recognised("script", "text with command-line flags")
    if named:
        return Recognised("config", "text with `key: value` lines")
    return Recognised("log", "text file named by the user") if alone else None


def _repeats(head: bytes) -> bool:
    """Whether most lines are one line with other numbers, a count that goes up among them."""
    lines = [line for line in head.splitlines()[:-1] if line.strip()]
    shapes = Counter(_NUMBER.sub(b"0", line) for line in lines)
    shape, often = shapes.most_common(1)[0] if shapes else (b"", 0)
    if often < 4 or often * 2 < len(lines) or shape.count(b"0") < 2 or not re.search(rb"[^\W\d_]{2}", shape):
        return False
    counts = [int(found[0]) for line in lines if _NUMBER.sub(b"0", line) == shape and (found := _WHOLE.search(line))]
    return len(counts) == often and all(a < b for a, b in pairwise(counts))


def opens(kind: Kind, path: Path) -> bool:
    """Whether the open readers have something to read in a file of a kind: rows, a tracker's, prose; rows in settings."""
    return kind in (*OPEN, "eval") or (kind == "config" and holds_rows(path))


def shows(name: str, data: bool = True) -> bool:
    """Whether the name alone promises what could show that a run went wrong: a log, metrics, results, dumps, `data`."""
    plain = _PACKED.sub("", _ARCHIVE.sub("", name))
    if _OF_TRACKER_ITSELF.search(plain):
        return False
    by_name = next((kind for p, kind, _ in _BY_NAME if p.search(plain)), None)
    if by_name:
        return by_name in ("stack", "eval", "generations")
    return bool(_LOG_NAME.search(plain) or (_DATA_NAME.search(plain) and (data or _METRIC_NAME.search(plain))))


def wanted(name: str) -> bool:
    """Whether the name alone promises a part of a run, so that an unreadable file is worth a word."""
    plain, names = _PACKED.sub("", name), (_LOG_NAME, _DATA_NAME, *(p for p, _, _ in _BY_NAME))
    return not _OF_TRACKER_ITSELF.search(plain) and any(p.search(plain) for p in names)
