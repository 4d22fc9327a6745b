"""What a launch script would run, found without running anything.

Variables, arrays, defaults and arithmetic are expanded; conditions that can be told are decided, the others
let both branches speak, earlier assignments winning. Whatever only the machine knows (`$1`, `$(...)`,
`$SLURM_*` without a directive) is `UNKNOWN`: a value that contains it is "not visible here".
"""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .shellsyntax import (
    MAX_NESTING,
    Case,
    Command,
    Function,
    Group,
    If,
    Lexer,
    Loop,
    Statement,
    Traced,
    closing,
    continuation,
    parse,
)
from .shellvalues import MAX_TEXT, UNKNOWN, Fields, calculate, replaced, trimmed, unknown
from .source import Refused

MAX_STATEMENTS = 20_000
"""Most statements followed, loops and functions included."""
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=")
DECLARE = ("export", "declare", "local", "readonly", "typeset")
SBATCH = re.compile(r"^#SBATCH[ \t][^\n]*", re.MULTILINE)
DIRECTIVE = re.compile(r"(?<=\s)(?:--(nodes|gres|gpus-per-node|ntasks-per-node|gpus)[= ]|(-N)[ =]?)(\S+)")
SLURM_NAMES = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    "gres": ("SLURM_GPUS_ON_NODE",),
}
"""Directive -> variables that Slurm sets from it."""
Value = Traced | list[Traced]


@dataclass
class Launch:
    """One command as it would run: words after expansion, environment in front of it."""

    words: list[Traced]
    environment: dict[str, Traced]
    heredoc: Traced | None = None


@dataclass
class Script:
    """What was found in one script."""

    launches: list[Launch] = field(default_factory=list)
    exports: dict[str, Traced] = field(default_factory=dict)
    directives: dict[str, Traced] = field(default_factory=dict)
    """`#SBATCH` values: `nodes`, `gpus`."""
    spans: dict[int, int] = field(default_factory=dict)
    """Start -> end of arithmetic expressions: their digits are nowhere in the file."""


def run(text: str | Traced) -> Script:
    """Follow a script.

    Raises:
        Refused: nested or expanding beyond the limits.
    """
    whole = Traced(text, range(len(text))) if isinstance(text, str) else text
    shell = Shell(Script())
    shell.read_directives(whole)
    try:
        shell.block(parse(whole))
    except RecursionError:
        raise Refused(f"shell script nested deeper than {MAX_NESTING} levels; not read") from None
    return shell.script


class Shell:
    """One shell with its variables and functions; what it would run is added to the script."""

    def __init__(self, script: Script):
        self.script = script
        self.variables: dict[str, Value] = {}
        self.exported: set[str] = set()
        self.functions: dict[str, list[Statement]] = {}
        self.unsure = 0
        self.steps = 0
        self.depth = 0

    def read_directives(self, whole: Traced) -> None:
        """Slurm's own variables from the `#SBATCH` lines."""
        lines = list(SBATCH.finditer(whole.text))
        for match in (m for line in lines for m in DIRECTIVE.finditer(whole.text, line.start(), line.end())):
            directive = "nodes" if match[2] else match[1]
            number = re.search(r"(\d+)$", match[3])
            if not number:
                continue
            start = match.start(3) + number.start()
            value = whole[start : start + len(number[1])]
            for name in SLURM_NAMES.get(directive, ()):
                self.variables[name] = value
            if directive == "nodes":
                self.script.directives["nodes"] = value
            elif directive in ("gres", "gpus-per-node"):
                self.script.directives["gpus"] = value

    def block(self, statements: list[Statement]) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise Refused(f"shell script nested deeper than {MAX_NESTING} levels; not read")
        for statement in statements:
            self.steps += 1
            if self.steps > MAX_STATEMENTS:
                raise Refused(f"shell script runs more than {MAX_STATEMENTS} statements; not read")
            self.statement(statement)
        self.depth -= 1

    def statement(self, statement: Statement) -> None:
        match statement:
            case Command():
                self.command(statement)
            case If():
                self.choose([(self.condition(c), b) for c, b in statement.branches])
            case Case():
                subject = self.text(statement.subject)
                self.choose([(self.matches(subject, patterns), b) for patterns, b in statement.branches])
            case Loop():
                words = [w for word in statement.words for w in self.expand(word)]
                if statement.variable and words:
                    self.assign(statement.variable, words[0])
                self.block(statement.body)
            case Function():
                self.functions[statement.name] = statement.body
            case Group():
                self.block(statement.body)

    def choose(self, branches: list[tuple[bool | None, list[Statement]]]) -> None:
        """Run the branch that holds; where that cannot be told, every branch that may hold, unsurely."""
        unsure = False
        for holds, body in branches:
            if holds is False:
                continue
            sure = holds is True and not unsure
            self.unsure += not sure
            self.block(body)
            self.unsure -= not sure
            if holds is True:
                return
            unsure = True

    def condition(self, statements: list[Statement]) -> bool | None:
        """Truth of a simple test; None where it cannot be told. No condition at all is `else`."""
        if not statements:
            return True
        if len(statements) > 1 or not isinstance(statements[0], Command):
            return None
        words = statements[0].words
        if len(words) < 3 or words[0].text not in ("[", "[[", "test"):
            return None
        inner = words[1:-1] if words[-1].text in ("]", "]]") else words[1:]
        return self.test([w.text if w.text in ("==", "=", "!=", "&&", "||") else self.text(w) for w in inner])

    @staticmethod
    def test(words: list[str]) -> bool | None:
        if len(words) == 2 and words[0] in ("-z", "-n"):
            if UNKNOWN in words[1]:
                return None
            return (words[1] == "") == (words[0] == "-z")
        if len(words) != 3 or UNKNOWN in words[0] + words[2]:
            return None
        left, op, right = words
        if op in ("=", "==", "!="):
            return fnmatch.fnmatchcase(left, right) == (op != "!=")
        numeric: dict[str, Callable[[int, int], bool]] = {
            "-eq": operator.eq,
            "-ne": operator.ne,
            "-gt": operator.gt,
            "-ge": operator.ge,
            "-lt": operator.lt,
            "-le": operator.le,
        }
        if op in numeric and re.fullmatch(r"-?\d{1,18}", left) and re.fullmatch(r"-?\d{1,18}", right):
            return numeric[op](int(left), int(right))
        return None

    def matches(self, subject: str, patterns: list[Traced]) -> bool | None:
        if UNKNOWN in subject or not subject:
            return None
        return any(fnmatch.fnmatchcase(subject, self.text(p)) for p in patterns)

    def command(self, command: Command) -> None:
        words = command.words
        assignments: list[tuple[str, Traced]] = []
        while words and (match := ASSIGNMENT.match(words[0].text)):
            assignments.append((words[0].text[: match.end()], words[0][match.end() :]))
            words = words[1:]
        if not words:
            for left, right in assignments:
                self.assign_text(left, right)
            return
        if words[0].text in DECLARE:
            self.declare(words)
            return
        environment = {m[1]: self.one(right) for left, right in assignments if (m := ASSIGNMENT.match(left))}
        expanded = [w for word in words for w in self.expand(word)]
        heredoc = None
        if command.heredoc:
            body = command.heredoc.text
            heredoc = body if command.heredoc.quoted else self.expand_text(body)
        if len(expanded) and self.follow(expanded, heredoc):
            return
        if expanded or heredoc:
            self.script.launches.append(Launch(expanded, environment, heredoc))

    def follow(self, words: list[Traced], heredoc: Traced | None) -> bool:
        """Calls of functions, `eval`, `bash -c`, `unset`, and `read` from a here-document; True if it was one."""
        name = words[0].text
        if name == "read" and heredoc is not None:
            self.assign(words[-1].text, heredoc)
            return True
        if name in self.functions and self.depth < MAX_NESTING - 2:
            for i, word in enumerate(words[1:10], 1):
                self.variables[str(i)] = word
            self.block(self.functions[name])
            return True
        if name == "eval":
            joined = words[0][0:0]
            for word in words[1:]:
                joined = joined + Traced(" ", [-1]) + word
            self.block(parse(joined))
            return True
        for i, word in enumerate(words[:-1]):
            shell = i > 0 and words[i - 1].text.rsplit("/", 1)[-1] in ("bash", "sh")
            if shell and word.text in ("-c", "-lc", "-ec"):
                self.block(parse(words[i + 1]))
                return True
        if name == "unset":
            for word in words[1:]:
                self.variables.pop(word.text, None)
                self.script.exports.pop(word.text, None)
            return True
        return False

    def declare(self, words: list[Traced]) -> None:
        for word in words[1:]:
            if match := ASSIGNMENT.match(word.text):
                self.assign_text(word.text[: match.end()], word[match.end() :])
                name = match[1]
            else:
                name = word.text
            if words[0].text == "export" or (words[0].text == "declare" and words[1].text == "-x"):
                self.exported.add(name)
                if isinstance(value := self.variables.get(name), Traced):
                    self.script.exports[name] = value

    def assign_text(self, left: str, right: Traced) -> None:
        match = ASSIGNMENT.match(left)
        if not match:
            return
        name, append = match[1], match[3] == "+"
        value: Value
        if right.text.startswith("("):
            inner = right[1:-1] if right.text.endswith(")") else right[1:]
            value = [w for t in Lexer(inner).run() if t.kind == "word" for w in self.expand(t.text)]
        else:
            value = self.one(right)
        old = self.variables.get(name)
        if append and old is not None and type(old) is type(value):
            value = old + value  # type: ignore[operator]
        self.assign(name, value)

    def assign(self, name: str, value: Value) -> None:
        """Set a variable; inside a branch that may not run, only where it is not known yet."""
        old = self.variables.get(name)
        if self.unsure and old is not None and not (isinstance(old, Traced) and (not old.text or UNKNOWN in old.text)):
            return
        size = sum(len(v) for v in value) if isinstance(value, list) else len(value)
        if size > MAX_TEXT:
            raise Refused(f"shell variable {name} grows beyond {MAX_TEXT} characters; script not read")
        self.variables[name] = value
        if name in self.exported and isinstance(value, Traced):
            self.script.exports[name] = value

    # Expansion

    def text(self, word: Traced) -> str:
        return self.one(word).text

    def one(self, word: Traced) -> Traced:
        """The word as one value, without field splitting."""
        fields = Fields(split=False)
        self._expand_into(word, fields)
        return fields.joined()

    def expand(self, word: Traced) -> list[Traced]:
        """The word as the fields that a command would receive."""
        fields = Fields(split=True)
        self._expand_into(word, fields)
        return fields.done()

    def expand_text(self, body: Traced) -> Traced:
        """A here-document: expansions, but quotes are plain characters."""
        fields = Fields(split=False)
        i, t = 0, body.text
        while i < len(t):
            if t[i] == "\\":
                if skip := continuation(t, i):
                    i = skip
                    continue
                escaped = t[i + 1 : i + 2] in ("$", "`", "\\")
                fields.add(body[i + 1 : i + 2] if escaped else body[i : i + 1])
                i += 2 if escaped else 1
            elif t[i] in "$`":
                i = self._expansion(body, i, fields, quoted=True)
            else:
                end = next((j for j in range(i + 1, len(t)) if t[j] in "$`\\"), len(t))
                fields.add(body[i:end])
                i = end
        return fields.joined()

    def _expand_into(self, word: Traced, fields: Fields) -> None:
        i, t, quote = 0, word.text, False
        while i < len(t):
            c = t[i]
            if c == "'" and not quote:
                end = t.find("'", i + 1)
                end = len(t) if end < 0 else end
                fields.add(word[i + 1 : end], quoted=True)
                i = end + 1
            elif c == '"':
                quote = not quote
                fields.present = True
                i += 1
            elif c == "\\":
                i = self._backslash(word, i, quote, fields)
            elif c in "$`":
                i = self._expansion(word, i, fields, quote)
            else:
                fields.add(word[i : i + 1], quoted=True)
                i += 1

    @staticmethod
    def _backslash(word: Traced, i: int, quote: bool, fields: Fields) -> int:
        t = word.text
        if t.startswith("\r\n", i + 1):
            return i + 3
        following = t[i + 1 : i + 2]
        if following == "\n":
            return i + 2
        if quote and following not in ('"', "$", "`", "\\"):
            fields.add(word[i : i + 2], quoted=True)
        else:
            fields.add(word[i + 1 : i + 2], quoted=True)
        return i + 2

    def _expansion(self, word: Traced, i: int, fields: Fields, quoted: bool) -> int:
        t = word.text
        if t[i] == "`":
            end = t.find("`", i + 1)
            fields.add(unknown(), quoted)
            return len(t) if end < 0 else end + 1
        if t.startswith("$((", i):
            end = closing(t, i + 1)
            fields.add(self._arithmetic(word[i:end]), quoted)
            return end
        if t.startswith("$(", i):
            fields.add(unknown(), quoted)
            return closing(t, i + 1)
        if t.startswith("${", i):
            end = closing(t, i + 1)
            self._braced(word[i + 2 : end - 1], fields, quoted)
            return end
        match = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])").match(t, i)
        if not match:
            fields.add(word[i : i + 1], quoted=True)
            return i + 1
        self._plain(match[1], word, i, fields, quoted)
        return match.end()

    def _plain(self, name: str, word: Traced, i: int, fields: Fields, quoted: bool) -> None:
        if name in "@*":
            fields.present = fields.present and not quoted
            return
        value = self.variables.get(name)
        if isinstance(value, list):
            value = value[0] if value else Traced("", [])
        fields.add(unknown() if value is None else value, quoted)

    def _braced(self, inner: Traced, fields: Fields, quoted: bool) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise Refused(f"shell expansion nested deeper than {MAX_NESTING} levels; not read")
        match = re.match(r"([#!]?)([A-Za-z_]\w*|[0-9@*])(\[[^\]]*\])?", inner.text)
        if not match or match[1]:
            fields.add(unknown(), quoted)
        elif match[2] in "@*":
            pass
        else:
            value = self.variables.get(match[2])
            rest = inner[match.end() :]
            if match[3] and isinstance(value, list):
                value = self._element(value, match[3][1:-1])
            if isinstance(value, list) and not match[3]:
                value = value[0] if value else Traced("", [])
            if isinstance(value, list):
                fields.add_all(value)
            else:
                fields.add(self._operator(value, rest, inner), quoted)
        self.depth -= 1

    @staticmethod
    def _element(value: list[Traced], index: str) -> Value | None:
        if index in ("@", "*"):
            return value
        return value[int(index)] if index.isdigit() and int(index) < len(value) else None

    def _operator(self, value: Traced | None, rest: Traced, inner: Traced) -> Traced:
        """`:-`, `:=`, `:+`, replacement, prefix and suffix removal, case."""
        known = value is not None and bool(value.text) and UNKNOWN not in value.text
        text = rest.text
        if match := re.match(r":?[-=]", text):
            return value if known and value is not None else self.one(rest[match.end() :])
        if match := re.match(r":?\+", text):
            return self.one(rest[match.end() :]) if known else Traced("", [])
        if value is None:
            return unknown()
        if text.startswith("//") or text.startswith("/"):
            pattern, _, replacement = text.lstrip("/").partition("/")
            return replaced(value, pattern, replacement, everywhere=text.startswith("//"))
        if match := re.match(r"(##?|%%?)(.*)", text, re.DOTALL):
            return trimmed(value, match[1], match[2])
        if text in ("^^", ",,"):
            changed = value.text.upper() if text == "^^" else value.text.lower()
            return Traced(changed, value.at) if len(changed) == len(value.text) else value
        if text and not text.startswith(":?"):
            return unknown()
        return value

    def _arithmetic(self, whole: Traced) -> Traced:
        """`$((...))` over integers; the result points at the whole expression."""
        expression = whole.text[3:-2]
        expression = re.sub(r"\$\{?([A-Za-z_]\w*)\}?|([A-Za-z_]\w*)", self._number, expression)
        result = calculate(expression)
        if result is None or whole.start < 0:
            return unknown()
        start = whole.start
        self.script.spans[start] = max(whole.at) + 1
        return Traced(str(result), [start] * len(str(result)))

    def _number(self, match: re.Match[str]) -> str:
        value = self.variables.get(match[1] or match[2])
        text = value.text.strip().strip("'\"") if isinstance(value, Traced) else ""
        return f"({text})" if re.fullmatch(r"-?\d{1,18}", text) else "UNKNOWN"
