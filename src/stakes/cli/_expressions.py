"""Prices as arithmetic over columns: parsed by hand, never run as code.

>>> from stakes.cli._expressions import parse
>>> price = parse("0.75*amount + max(20, `late fee`)")
>>> price.columns
('amount', 'late fee')
>>> price({"amount": 100, "late fee": 30}.get)
105.0
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from stakes.utils._arrays import quoted

Value = Callable[[Callable[[str], Any]], Any]
TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<sign>[-+*/(),])"
)
FUNCTIONS: dict[str, Callable] = {"min": np.minimum, "max": np.maximum, "abs": np.abs}
OPERATORS: dict[str, Callable] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
MAX_DEPTH, MAX_PARTS = 50, 300


class ExpressionError(ValueError):
    """An expression that cannot be read; the message is the rest of a sentence."""


@dataclass(frozen=True)
class Expression:
    """Arithmetic over columns.

    Calling it with a function from the name of a column to its numbers returns the value.
    """

    text: str
    value: Value
    columns: tuple[str, ...]

    def __call__(self, column: Callable[[str], Any]) -> Any:
        """Return the value, given the numbers of a column by its name."""
        with np.errstate(all="ignore"):  # the caller looks for what is not finite, row by row
            numbers = np.asarray(self.value(column), dtype=float)
        return numbers if numbers.ndim else float(numbers)


def parse(text: str) -> Expression:
    """Read numbers, columns (in backquotes where a name is no word), + - * / ( ) min max abs."""
    return _Parser(text).expression()


class _Parser:
    """Reads from left to right; each rule of the grammar is a method that returns a `Value`."""

    def __init__(self, text: str):
        self.text = text
        self.columns: dict[str, None] = {}
        self.depth = 0
        self.tokens: list[tuple[str, str, int]] = []
        place = 0
        while place < len(text):
            if text[place].isspace():
                place += 1
                continue
            token = TOKEN.match(text, place)
            if token is None:
                raise ExpressionError(f"cannot be read from {_from(text, place)} on")
            kind = str(token.lastgroup)
            self.tokens.append((kind, token[kind], place))
            place = token.end()
        if len(self.tokens) > MAX_PARTS:
            raise ExpressionError(f"has more than {MAX_PARTS} parts")
        self.tokens.append(("end", "", len(text)))
        self.next = 0

    def expression(self) -> Expression:
        value = self.sum()
        if self.kind != "end":
            raise self.strange("an operator such as + or *")
        return Expression(self.text, value, tuple(self.columns))

    @property
    def kind(self) -> str:
        return self.tokens[self.next][0]

    def take(self, *signs: str) -> str:
        """Return the next token and go past it where it is one of these signs; else ""."""
        kind, token, _ = self.tokens[self.next]
        if kind != "sign" or token not in signs:
            return ""
        self.next += 1
        return token

    def strange(self, wanted: str) -> ExpressionError:
        _, token, place = self.tokens[self.next]
        if self.kind == "end":
            return ExpressionError(f"ends where {wanted} should come")
        hint = " (a decimal point is written as '.')" if token == "," else ""
        return ExpressionError(
            f"has {_from(self.text, place)} at character {place + 1}, where {wanted} should "
            f"come{hint}"
        )

    def sum(self) -> Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"is nested more than {MAX_DEPTH} deep")
        value = self.product()
        while sign := self.take("+", "-"):
            value = _apply(OPERATORS[sign], value, self.product())
        self.depth -= 1
        return value

    def product(self) -> Value:
        value = self.signed()
        while sign := self.take("*", "/"):
            value = _apply(OPERATORS[sign], value, self.signed())
        return value

    def signed(self) -> Value:
        minus = False
        while sign := self.take("+", "-"):
            minus ^= sign == "-"
        value = self.atom()
        return _apply(np.negative, value) if minus else value

    def atom(self) -> Value:
        kind, token, _ = self.tokens[self.next]
        if self.take("("):
            value = self.sum()
            self.close()
            return value
        if kind not in ("number", "name", "quoted"):
            raise self.strange("a number or a column")
        self.next += 1
        if kind == "number":
            number = float(token)
            return lambda column: number
        if kind == "name" and token in FUNCTIONS and self.take("("):
            arguments = [self.sum()]
            while self.take(","):
                arguments.append(self.sum())
            self.close()
            return self.call(token, arguments)
        self.columns[token] = None
        return lambda column: column(token)

    def call(self, name: str, arguments: list[Value]) -> Value:
        if name == "abs":
            if len(arguments) != 1:
                raise ExpressionError(f"gives abs {len(arguments)} values, but it takes 1")
            return _apply(FUNCTIONS[name], *arguments)
        if len(arguments) < 2:
            raise ExpressionError(f"gives {name} a single value, but it takes at least 2")
        return reduce(lambda left, right: _apply(FUNCTIONS[name], left, right), arguments)

    def close(self) -> None:
        if not self.take(")"):
            raise self.strange("')'")


def _apply(function: Callable, *values: Value) -> Value:
    return lambda column: function(*(value(column) for value in values))


def _from(text: str, place: int) -> str:
    return quoted([text[place : place + 20]])
