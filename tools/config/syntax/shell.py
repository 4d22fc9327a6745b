"""What a launch script would run, found without running anything.

Variables, arrays, defaults and arithmetic are expanded; conditions that can be told are decided, the others
let both branches speak, earlier assignments winning. Whatever only the machine knows (`$1`, `$(...)`,
`$SLURM_*` without a directive) is `UNKNOWN`: a value that contains it is "not visible here".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .expansion import Expansion, Value
from .shellsyntax import Case, Command, Function, Group, If, Loop, Statement, parse
from .shellvalues import MAX_TEXT, UNKNOWN
from .shellwords import MAX_NESTING, Lexer, Traced
from .source import Refused, short

MAX_STATEMENTS = 20_000
"""Most statements followed, loops and functions included."""
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=")
DECLARE = ("export", "declare", "local", "readonly", "typeset")
SBATCH = re.compile(r"^#SBATCH[ \t][^\n]*", re.MULTILINE)
DIRECTIVE = re.compile(r"(?<=\s)(?:--(nodes|gres|gpus-per-node|ntasks-per-node|gpus)[= ]|(-N)[ =]?)(\S+)")
NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-gt": operator.gt, "-ge": operator.ge, "-lt": operator.lt,
    "-le": operator.le,
}  # fmt: skip
SLURM_NAMES = {
    "nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    "gres": ("SLURM_GPUS_ON_NODE",),
}
"""Directive -> variables that Slurm sets from it."""


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
    variables: dict[str, Traced] = field(default_factory=dict)
    """What its variables hold at the end."""
    declared: dict[str, Traced] = field(default_factory=dict)
    """What services are given whose commands are not visible."""
    spans: dict[int, int] = field(default_factory=dict)
    """Start -> end of arithmetic expressions: their digits are nowhere in the file."""


def run(text: str | Traced, files: Mapping[str, Traced] | None = None) -> Script:
    """Follow a script.

    Args:
        text: the script.
        files: what it may read in with `source`, by the file's own name.

    Raises:
        Refused: nested or expanding beyond the limits.
    """
    whole = Traced(text, range(len(text))) if isinstance(text, str) else text
    shell = Shell(Script(), files)
    shell.read_directives(whole)
    try:
        shell.block(parse(whole))
    except RecursionError:
        raise Refused(f"shell script nested deeper than {MAX_NESTING} levels; not read") from None
    shell.script.variables = {n: v for n, v in shell.variables.items() if isinstance(v, Traced)}
    return shell.script


class Shell(Expansion):
    """One shell with its variables and functions; what it would run is added to the script."""

    def __init__(self, script: Script, files: Mapping[str, Traced] | None = None):
        super().__init__()
        self.script = script
        self.files = files or {}
        self.exports_all = False
        self.spans = script.spans
        self.exported: set[str] = set()
        self.functions: dict[str, list[Statement]] = {}
        self.unsure = 0
        self.steps = 0

    def read_directives(self, whole: Traced) -> None:
        """Slurm's own variables from the `#SBATCH` lines."""
        lines = list(SBATCH.finditer(whole.text))
        for match in (m for line in lines for m in DIRECTIVE.finditer(whole.text, line.start(), line.end())):
            directive = "nodes" if match[2] else match[1]
            number = re.search(r"(?<!\d)(\d++)$", match[3])
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

    def test(self, words: list[str]) -> bool | None:
        if len(words) == 2 and words[0] in ("-z", "-n"):
            if UNKNOWN in words[1]:
                return None
            return (words[1] == "") == (words[0] == "-z")
        if len(words) != 3 or UNKNOWN in words[0] + words[2]:
            return None
        left, op, right = words
        if op in ("=", "==", "!="):
            return self.budget.fits(left, right) == (op != "!=")
        if op in NUMERIC and re.fullmatch(r"-?\d{1,18}", left) and re.fullmatch(r"-?\d{1,18}", right):
            return NUMERIC[op](int(left), int(right))
        return None

    def matches(self, subject: str, patterns: list[Traced]) -> bool | None:
        if UNKNOWN in subject or not subject:
            return None
        return any(self.budget.fits(subject, self.text(p)) for p in patterns)

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
            shell = i > 0 and short(words[i - 1].text) in ("bash", "sh")
            if shell and word.text in ("-c", "-lc", "-ec"):
                self.block(parse(words[i + 1]))
                return True
        if name in ("source", ".") and len(words) > 1 and (inside := self.files.get(short(words[1].text))):
            self.block(parse(inside))
            return True
        if name == "set" and len(words) > 1 and words[1].text == "--":
            self.variables["@"] = words[2:]
            return True
        if name == "set" and len(words) > 1 and words[-1].text in ("-a", "+a", "allexport"):
            self.exports_all = not words[1].text.startswith("+")
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
            self.budget.spend(sum(map(len, value)) if isinstance(value, list) else len(value))
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
        if (name in self.exported or self.exports_all) and isinstance(value, Traced):
            self.script.exports[name] = value
