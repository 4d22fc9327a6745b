"""One setting changed in the text of its file, everything else kept byte for byte.

Nothing is written: the new text and a patch are returned, and the text is read again before it is handed out,
so that an edit which would change another setting, or not change this one, is an error instead.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from ..findings import TriageError
from ..patterns import bounded
from ..settings import VARIABLES, Setting, Settings
from .collect import Reading
from .combine import settings_of
from .keys import normal, primary
from .read import read_source, syntax_of
from .syntax.source import PRINTED, Source, load, source
from .values import HELPERS, UNSET, boolean, convert

PLAIN = re.compile(r"[\w.+\-/@%]+")
LONG_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
LIGHTNING = {"bf16": "bf16-mixed", "fp16": "16-mixed", "fp32": "32-true"}


@dataclass(frozen=True)
class Edit:
    """A change of one setting, not yet made."""

    file: str
    line: int
    key: str
    old: str
    new: str
    patch: str
    """Unified diff against `file`."""
    text: str
    """The whole new text of the file."""
    also: tuple[str, ...] = ()
    """Context variables that the same literal feeds (a model length beside the sequence length)."""


def set_value(setting: Setting, new: str | float | bool, path: Path) -> Edit:
    """Change the value of a setting where it stands.

    Args:
        setting: as read from the file.
        new: the new value; a number or yes/no is spelled like the old one.
        path: the file that `setting.file` names.

    Raises:
        TriageError: the value is put together from several places, the file changed since it was read, or the
            edit would change another setting.
    """
    if setting.style == PRINTED:
        raise TriageError(f"{setting.file}:{setting.line}: a log prints {setting.key}; change it where it is set")
    syntax = syntax_of(path, setting.file)
    old = load(path, setting.file, syntax)
    spelled = new if isinstance(new, str) else like(setting.raw, new)
    if "\n" in spelled:
        raise TriageError(f"{setting.file}: the new value of {setting.key} must be one line")
    if setting.variable == "precision" and normal(setting.key).split(".")[-1] in ("bf16", "fp16", "enabled"):
        text = _precision_switch(old, setting, spelled)
    else:
        text = _splice(old, setting, spelled)
    return _checked(old, text, syntax, setting.variable, setting, spelled)


def add_value(variable: str, new: str | float | bool, path: Path, name: str = "") -> Edit:
    """Add a setting that the file does not have, in the file's own style.

    Args:
        variable: canonical variable.
        new: its value.
        path: a config file or launch script that already has settings.
        name: what patches call the file.

    Raises:
        TriageError: the framework has no key for the variable, or the file offers no place for it.
    """
    name = name or path.name
    syntax = syntax_of(path, name)
    old = load(path, name, syntax)
    reading = read_source(old, syntax)
    if variable in reading.values:
        return set_value(reading.values[variable], new, path)
    levels = sum("." in s.key for s in reading.values.values()) * 2 > len(reading.values)
    key = primary(reading.framework, variable, levels)
    if not key:
        raise TriageError(
            f"{name}: {reading.framework or 'this file'} has no key for {variable}; "
            "add it to the program or pick another file"
        )
    spelled = new if isinstance(new, str) else like("", new)
    text = _with_flag(old, reading, key, spelled) if syntax == "shell" else _with_key(old, reading, key, spelled)
    line = _changed_line(old.text, text)
    missing = Setting(variable, None, "", key, name, line)
    return _checked(old, text, syntax, variable, missing, spelled)


def like(raw: str, value: float | bool) -> str:
    """A number or yes/no in the spelling of the old value: exponent form, decimals, underscores, capitals."""
    if isinstance(value, bool):
        return _yes_no(raw, value)
    if "e" in raw.lower() and (match := re.fullmatch(r"[-+]?([\d.]+)[eE]([-+]?\d+)", raw)):
        mantissa, exponent = f"{value:.6e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        if "." in match[1] and "." not in mantissa:
            mantissa += ".0"
        width = len(match[2].lstrip("+-"))
        return f"{mantissa}{'E' if 'E' in raw else 'e'}{'-' if int(exponent) < 0 else ''}{abs(int(exponent)):0{width}d}"
    if float(value).is_integer() and abs(value) < 1e15 and "." not in raw and (raw or isinstance(value, int)):
        return f"{int(value):_}" if "_" in raw else str(int(value))
    text = f"{value:.12f}".rstrip("0")
    if len(text) > 10 or float(text) != value:
        text = repr(float(value))
    return text + "0" if text.endswith(".") else text


def _yes_no(raw: str, value: bool) -> str:
    pairs = [("true", "false"), ("True", "False"), ("yes", "no"), ("on", "off"), ("1", "0")]
    for pair in pairs:
        if raw in pair:
            return pair[not value]
    return pairs[0][not value]


def _splice(old: Source, setting: Setting, spelled: str) -> str:
    """The text with `raw` at its place replaced."""
    start = old.starts[setting.line - 1] + max(setting.column, 0) if setting.line <= len(old.starts) else -1
    if setting.style == "yaml" and setting.column < 0 and setting.value is None and not setting.raw:
        return _fill_empty(old, setting, spelled)
    if setting.column < 0:
        raise TriageError(
            f"{setting.file}:{setting.line}: the value of {setting.key} is put together from several "
            "places; change it by hand"
        )
    if old.text[start : start + len(setting.raw)] != setting.raw:
        raise TriageError(
            f"{setting.file}:{setting.line}: expected {setting.raw[:60]!r}; the file changed since it "
            "was read, read it again"
        )
    end = start + len(setting.raw)
    if setting.style == "switch":
        return _switch(old, setting, start, end, spelled)
    if setting.variable == "precision":
        spelled = _precision_name(setting.raw, spelled)
    return old.text[:start] + _quoted(old.text, setting, start, end, spelled) + old.text[end:]


def _quoted(text: str, setting: Setting, start: int, end: int, spelled: str) -> str:
    """The new value with quotes where the syntax needs them and none stand there."""
    inside = text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1 : start]
    if inside or PLAIN.fullmatch(spelled):
        return spelled
    if setting.style == "json" or setting.style == "yaml":
        return spelled if re.fullmatch(r"\[.*\]|\{.*\}", spelled) else json.dumps(spelled, ensure_ascii=False)
    return shlex.quote(spelled)


def _fill_empty(old: Source, setting: Setting, spelled: str) -> str:
    """`key:` without a value gets one."""
    start = old.starts[setting.line - 1]
    line = old.text[start:].split("\n", 1)[0]
    colon = line.index(":", line.find(setting.key.split(".")[-1]))
    return old.text[: start + colon + 1] + f" {spelled}" + old.text[start + colon + 1 :]


def _switch(old: Source, setting: Setting, start: int, end: int, spelled: str) -> str:
    """A flag without a value: dropped for no, given a value for anything but yes."""
    value = convert(setting.variable, spelled, normal(setting.key)) if setting.variable in VARIABLES else spelled
    if value is False:
        while start > 0 and old.text[start - 1] in " \t" and old.text[end : end + 1] in (" ", "\t", "\n", "\r", ""):
            start -= 1
        return old.text[:start] + old.text[end:]
    if value is True:
        return old.text
    return old.text[:end] + f" {shlex.quote(spelled)}" + old.text[end:]


def _precision_name(raw: str, spelled: str) -> str:
    """The precision in the words of the old value: `bf16-mixed`, `bfloat16`, `torch.bfloat16`, `no`."""
    if spelled not in LONG_NAMES:
        return spelled
    if re.search(r"-(mixed|true)$", raw):
        return LIGHTNING[spelled].replace("-mixed", "-true") if raw.endswith("-true") else LIGHTNING[spelled]
    if "float" in raw or raw == "half":
        return ("torch." if raw.startswith("torch.") else "") + LONG_NAMES[spelled]
    return spelled


def _precision_switch(old: Source, setting: Setting, spelled: str) -> str:
    """bf16 and fp16 switches: the old one off, the new one on, in one or two lines."""
    reading = read_source(old, syntax_of(Path(setting.file), setting.file))
    wanted = reading.values.get(spelled)
    text = old.text
    if setting.style == "switch":
        start = old.starts[setting.line - 1] + setting.column
        end = start + len(setting.raw)
        if spelled == "fp32":
            return _switch(old, setting, start, end, "false").replace("\0", "")
        return text[:start] + setting.raw.replace(setting.value, spelled) + text[end:]
    if wanted is not None and wanted.column >= 0:
        first, second = sorted([setting, wanted], key=lambda s: (s.line, s.column), reverse=True)
        for one in (first, second):
            here = source(old.name, text)
            text = _splice(here, replace(one, variable=""), _yes_no(one.raw, one is wanted))
        return text
    if spelled == "fp32":
        return _splice(old, replace(setting, variable="", value=True), _yes_no(setting.raw, False))
    value_at = old.starts[setting.line - 1] + setting.column
    inside = r"\s*[\n{]" if setting.key.endswith(".enabled") else ""
    keys = list(bounded(rf"""(?m)^[\s{{]*["']?({setting.value})["']?\s*:{inside}""").finditer(text[:value_at]))
    if not keys:
        raise TriageError(f"{setting.file}:{setting.line}: the key {setting.value} is not found above; edit by hand")
    start, end = keys[-1].span(1)
    return text[:start] + spelled + text[end:]


def _with_flag(old: Source, reading: Reading, key: str, spelled: str) -> str:
    """A flag or override behind the last one that stands in the file itself."""
    flags = [s for s in reading.values.values() if s.column >= 0 and s.style in ("flag", "switch", "override")]
    near = [s for s in flags if s.framework == reading.framework and _beside_its_key(old, s)]
    if not near:
        raise TriageError(f"{reading.name}: no command whose flags stand in the file; add {key} by hand")
    last = max(near, key=lambda s: (s.line, s.column))
    dashed = sum("-" in s.key.lstrip("-") for s in near) > len(near) / 2
    name = key.replace("_", "-") if dashed else key
    flag = f" {name}={shlex.quote(spelled)}" if last.style == "override" else f" --{name} {shlex.quote(spelled)}"
    if boolean(spelled) is True and last.style != "override" and name.replace("-", "_") in ("bf16", "fp16"):
        flag = f" --{name}"
    at = old.starts[last.line - 1] + last.column + len(last.raw)
    while at < len(old.text) and old.text[at] in "'\"":
        at += 1
    return old.text[:at] + flag + old.text[at:]


def _beside_its_key(old: Source, setting: Setting) -> bool:
    """The value stands in the command, not in a shell variable elsewhere."""
    line = old.text[old.starts[setting.line - 1] :].split("\n", 1)[0]
    return setting.key.lstrip("-") in line[: setting.column + len(setting.raw)]


def _with_key(old: Source, reading: Reading, key: str, spelled: str) -> str:
    """A key of a YAML or JSON file, beside a sibling of the same level."""
    settings = [*reading.values.values(), *reading.others.values()]
    parent = key.rpartition(".")[0]
    siblings = [s for s in settings if normal(s.key).rpartition(".")[0] == parent and _key_on_line(old, s)]
    if not siblings and not parent and old.name.endswith((".yaml", ".yml")):
        end = "" if not old.text or old.text.endswith("\n") else "\n"
        return f"{old.text}{end}{key}: {_yaml(spelled)}\n"
    if not siblings:
        raise TriageError(f"{reading.name}: there is no `{parent}` section to put {key} into; add it by hand")
    sibling = max(siblings, key=lambda s: s.line) if not _json_like(old) else min(siblings, key=lambda s: s.line)
    start = old.starts[sibling.line - 1]
    line = old.text[start:].split("\n", 1)[0]
    ending = "\r\n" if line.endswith("\r") else "\n"
    indent = re.match(r"[\s{]*", line)
    column = len(indent[0]) if indent else 0
    pad = " " * column if "\t" not in line[:column] else line[:column]
    leaf = key.rpartition(".")[2]
    if _json_like(old):
        entry = f"{json.dumps(leaf)}: {_json(spelled)},{ending}{pad}"
        return old.text[: start + column] + entry + old.text[start + column :]
    dashed = "-" in sibling.key and "_" not in sibling.key
    at = min(start + len(line) + 1, len(old.text))
    lead = "" if old.text[:at].endswith("\n") else ending
    leaf = leaf.replace("_", "-") if dashed else leaf
    return f"{old.text[:at]}{lead}{pad}{leaf}: {_yaml(spelled)}{ending}{old.text[at:]}"


def _json_like(old: Source) -> bool:
    return old.name.endswith(".json") or re.match(r"(\s|#[^\n]*\n)*\{", old.text) is not None


def _key_on_line(old: Source, setting: Setting) -> bool:
    if setting.line > len(old.starts) or setting.column < 0 or re.search(r"\.\d+$", setting.key):
        return False
    line = old.text[old.starts[setting.line - 1] :].split("\n", 1)[0]
    return re.match(rf"""[\s{{]*["']?{re.escape(setting.key.split(".")[-1])}["']?\s*:""", line) is not None


def _yaml(spelled: str) -> str:
    return spelled if PLAIN.fullmatch(spelled) else json.dumps(spelled, ensure_ascii=False)


def _json(spelled: str) -> str:
    return spelled if re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|null", spelled) else json.dumps(spelled)


def _changed_line(old: str, new: str) -> int:
    for i, (a, b) in enumerate(zip(old.split("\n"), new.split("\n"), strict=False), 1):
        if a != b:
            return i
    return old.count("\n") + 1


def _checked(old: Source, text: str, syntax: str, variable: str, setting: Setting, spelled: str) -> Edit:
    """Read the new text again and compare everything that is set."""
    before = settings_of(read_source(old, syntax))
    after = settings_of(read_source(source(old.name, text), syntax))
    changed = changed_variables(before, after) if variable in before or variable in after else {}
    linked = ("loss_scale",) if variable == "precision" else ()
    extra = [v for v in changed if v != variable and v in VARIABLES and v not in linked]
    place = f"{setting.file}:{setting.line}"
    if extra:
        raise TriageError(
            f"{place}: {setting.key} shares its value with {', '.join(extra)}; changing it would change "
            "more than one setting, edit by hand"
        )
    if variable in VARIABLES and variable not in changed:
        raise TriageError(f"{place}: setting {setting.key} to {spelled[:60]!r} leaves {variable} as it is")
    wanted = convert(variable, spelled, normal(setting.key)) if variable in VARIABLES else UNSET
    now = after.get(variable)
    if wanted not in (UNSET, None, False) and now is not None and now.value != wanted and variable != "freeze":
        raise TriageError(f"{place}: after the edit {variable} reads {now.value!r}, not {wanted!r}; edit by hand")
    also = tuple(v for v in changed if v != variable)
    return Edit(
        setting.file, setting.line, setting.key, setting.raw, spelled, patch(old.name, old.text, text), text, also
    )


def changed_variables(before: Settings, after: Settings) -> dict[str, tuple[object, object]]:
    """Variables whose value differs, helper variables of the same decision left out."""
    out = {}
    for variable in before.values.keys() | after.values.keys():
        a, b = before.get(variable), after.get(variable)
        old, new = a.value if a else None, b.value if b else None
        if old != new and variable not in HELPERS:
            out[variable] = (old, new)
    return out


def patch(name: str, old: str, new: str) -> str:
    """A unified diff that `patch -p1` and `git apply` take."""

    def lines(text: str) -> list[str]:
        return re.findall(r"[^\n]*\n|[^\n]+\Z", text)

    out = []
    for line in difflib.unified_diff(lines(old), lines(new), f"a/{name}", f"b/{name}", n=3):
        out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)
