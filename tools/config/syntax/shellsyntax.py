"""Shell scripts as statements: simple commands and control structures.

Covers what launch scripts use, is total (any text gives some statements, broken quotes run to the end), and
executes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .shellwords import MAX_NESTING, Lexer, Token, Traced
from .source import Refused


@dataclass
class Command:
    """A simple command: words as written, and the here-document it reads."""

    words: list[Traced]
    heredoc: Token | None = None


@dataclass
class If:
    branches: list[tuple[list[Statement], list[Statement]]]
    """(condition, body) in order; the condition of `else` is empty."""


@dataclass
class Case:
    subject: Traced
    branches: list[tuple[list[Traced], list[Statement]]]


@dataclass
class Loop:
    variable: str
    """Loop variable of `for`, empty for `while` and `until`."""
    words: list[Traced]
    body: list[Statement]


@dataclass
class Function:
    name: str
    body: list[Statement] = field(default_factory=list)


@dataclass
class Group:
    body: list[Statement]


Statement = Command | If | Case | Loop | Function | Group


def parse(text: Traced) -> list[Statement]:
    """The statements of a script; text that is not shell gives commands that nobody knows."""
    return _Parser(Lexer(text).run()).block(())


class _Parser:
    def __init__(self, tokens: list[Token]):
        self.tokens = tokens
        self.i = 0
        self.depth = 0

    def peek(self) -> Token | None:
        return self.tokens[self.i] if self.i < len(self.tokens) else None

    def block(self, until: tuple[str, ...]) -> list[Statement]:
        """Statements up to one of the reserved words (not consumed)."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise Refused(f"shell script nested deeper than {MAX_NESTING} levels; not read")
        statements: list[Statement] = []
        while token := self.peek():
            if token.kind != "heredoc" and token.text.text in until:
                break
            if token.kind == "op" and not token.op("("):
                self.i += 1
                continue
            statements.append(self.statement())
        self.depth -= 1
        return statements

    def statement(self) -> Statement:
        token = self.tokens[self.i]
        if token.kind == "word":
            build = {
                "if": self._if,
                "case": self._case,
                "for": self._for,
                "select": self._for,
                "while": self._while,
                "until": self._while,
                "{": self._group,
                "function": self._function,
                "!": self._skip,
            }.get(token.text.text)
            if build:
                return build()
            after = self.tokens[self.i + 1 : self.i + 3]
            if len(after) == 2 and after[0].op("(") and after[1].op(")"):
                return self._function()
        elif token.op("("):
            self.i += 1
            body = self.block((")",))
            self._eat(")")
            return Group(body)
        return self._command()

    def _skip(self) -> Statement:
        self.i += 1
        return self.statement() if self.peek() else Command([])

    def _eat(self, *words: str) -> bool:
        token = self.peek()
        if token and token.text.text in words:
            self.i += 1
            return True
        return False

    def _newlines(self) -> None:
        while (token := self.peek()) and token.op("\n", ";"):
            self.i += 1

    def _if(self) -> If:
        branches = []
        self.i += 1
        while True:
            condition = self.block(("then",))
            self._eat("then")
            branches.append((condition, self.block(("elif", "else", "fi"))))
            if self._eat("elif"):
                continue
            if self._eat("else"):
                branches.append(([], self.block(("fi",))))
            self._eat("fi")
            return If(branches)

    def _case(self) -> Case:
        self.i += 1
        token = self.peek()
        subject = token.text if token else Traced("", [])
        self.i += 1
        self._newlines()
        self._eat("in")
        branches = []
        while self.peek() and not self._eat("esac"):
            patterns = []
            while (token := self.peek()) and not token.op(")"):
                if token.kind == "word":
                    patterns.append(token.text)
                self.i += 1
            self._eat(")")
            branches.append((patterns, self.block((";;", ";&", ";;&", "esac"))))
            self._eat(";;", ";&", ";;&")
            self._newlines()
        return Case(subject, branches)

    def _for(self) -> Loop:
        self.i += 1
        token = self.peek()
        name = token.text.text if token else ""
        self.i += 1
        words = []
        while (token := self.peek()) and not token.op("\n", ";") and not token.word("do"):
            if token.kind == "word" and token.text.text != "in":
                words.append(token.text)
            self.i += 1
        return Loop(name, words, self._body())

    def _while(self) -> Loop:
        self.i += 1
        self.block(("do",))
        return Loop("", [], self._body())

    def _body(self) -> list[Statement]:
        self._newlines()
        self._eat("do")
        body = self.block(("done",))
        self._eat("done")
        return body

    def _group(self) -> Group:
        self.i += 1
        body = self.block(("}",))
        self._eat("}")
        return Group(body)

    def _function(self) -> Statement:
        self._eat("function")
        token = self.peek()
        name = token.text.text if token else ""
        self.i += 1
        self._eat("(")
        self._eat(")")
        self._newlines()
        if not self.peek():
            return Function(name)
        inner = self.statement()
        return Function(name, inner.body if isinstance(inner, Group) else [inner])

    def _command(self) -> Command:
        """Words up to an operator; what is redirected to or from is dropped."""
        command = Command([])
        test = False
        while token := self.peek():
            if token.kind == "op":
                if token.op(">"):
                    self.i += 2 if self._next_is_word() else 1
                    continue
                if test and not token.op("\n"):
                    self.i += 1
                    command.words.append(token.text)
                    continue
                break
            self.i += 1
            if token.kind == "word":
                test = test or (not command.words and token.text.text == "[[")
                test = test and token.text.text != "]]"
                command.words.append(token.text)
        following = self.tokens[self.i + 1 : self.i + 2]
        if following and following[0].kind == "heredoc":
            command.heredoc = following[0]
            self.i += 2
        elif not command.words:
            self.i += 1
        return command

    def _next_is_word(self) -> bool:
        return self.i + 1 < len(self.tokens) and self.tokens[self.i + 1].kind == "word"
