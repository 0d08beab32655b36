"""Expressions that select records: `state.messages > 10 and "lon" in config.placement.tags`.

The language is the part of expr (https://expr-lang.org/docs/language-definition) that `nats --expression` is
used with: literals, fields, arithmetic, comparisons, `in`, `matches`, `contains`, `startsWith`, `endsWith`,
`?:`, `??`, pipes, and the functions of `FUNCTIONS` and `PREDICATES`. `compiled` returns a function of the
record.

Promises: an expression can read its record and nothing else. A mistake in it is a UsageError that shows
where. A field that is not there is nil; nil equals only nil, and is neither smaller nor larger than anything.
"""

from __future__ import annotations

import math
import operator
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..protocol import duration
from ..protocol.timestamp import parse_rfc3339
from .errors import UsageError, close_matches

Scope = Mapping[str, Any]
Node = Callable[[Scope], Any]

TOKENS = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>0x[0-9a-fA-F_]+|\d[\d_]*\.\d+(?:[eE][+-]?\d+)?|\d[\d_]*(?:[eE][+-]?\d+)?)
    | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<sign>\?\?|\?\.|\.\.|\*\*|&&|\|\||[=!<>]=|[-+*/%^<>!?:.,\[\](){}|\#])""",
    re.VERBOSE,
)
ELEMENT = "#"  # what a predicate is about
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
# What Python raises where a value is of the wrong kind.
FAULTS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, re.error)
RANGE = 1_000_000  # numbers of `1..n`
# How strongly operators bind; those of one row bind equally.
BINDING = {
    text: strength
    for strength, row in enumerate(
        (
            ("or", "||"),
            ("and", "&&"),
            ("==", "!=", "<", ">", "<=", ">=", "in", "not", "matches", "contains", "startsWith", "endsWith"),
            ("..",),
            ("+", "-"),
            ("*", "/", "%"),
            ("**", "^"),
            ("??",),
        ),
        1,
    )
    for text in row
}
NOT, SIGN = 4, 6  # how strongly `not` and a minus in front bind


class Token(NamedTuple):
    """A piece of an expression. kind: a group of TOKENS, or `end`. place: where it begins."""

    kind: str
    text: str
    place: int


def compiled(text: str, names: Iterable[str]) -> Callable[[Scope], bool]:
    """Return the function of an expression: whether it holds for a record. Raises UsageError for a mistake.

    names: of the record's fields.

    The function raises UsageError where the expression does not fit the record, or is neither true nor false.
    """
    try:
        node = _Parser(text, frozenset(names)).whole()
    except RecursionError:
        raise UsageError("invalid expression: it is nested too deeply") from None

    def holds(record: Scope) -> bool:
        try:
            found = node(record)
        except UsageError:
            raise
        except FAULTS as error:
            raise UsageError(f"the expression does not fit: {error}", text) from None
        if not isinstance(found, bool):
            raise UsageError(f"expression did not return a boolean, but {found!r}", text)
        return found

    return holds


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    place = 0
    while place < len(text):
        match = TOKENS.match(text, place)
        if match is None:
            raise _wrong(text, place, f"unexpected {text[place]!r}")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], place))
        place = match.end()
    return [*found, Token("end", "", len(text))]


def _wrong(text: str, place: int, what: str) -> UsageError:
    return UsageError(f"invalid expression: {what}", text, " " * place + "^")


class _Parser:
    """Makes a function of an expression, by the strength of its operators."""

    def __init__(self, text: str, names: frozenset[str]) -> None:
        self._text = text
        self._names = names
        self._tokens = _tokens(text)
        self._at = 0

    def whole(self) -> Node:
        """Return the function of all of the text."""
        node = self._piped()
        if self._next.kind != "end":
            raise self._wrong(f"unexpected {self._next.text!r}")
        return node

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _wrong(self, what: str) -> UsageError:
        return _wrong(self._text, self._next.place, what)

    def _take(self, *texts: str) -> bool:
        """Skip the next token if it is one of these signs or words."""
        found = self._next.kind in ("sign", "word") and self._next.text in texts
        self._at += found
        return found

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise self._wrong(f"expected {text!r}" + (", the end came" if self._next.kind == "end" else ""))

    def _piped(self) -> Node:
        """Parse an expression, with `a | f(b)`, which is `f(a, b)`, and `condition ? a : b`."""
        node = self._binary(1, self._unary())
        while self._take("|"):
            name = self._next
            if name.kind != "word":
                raise self._wrong("expected a function")
            self._at += 1
            node = self._binary(1, self._called(name, [node]))
        if not self._take("?"):
            return node
        first = self._piped()
        self._need(":")
        second = self._piped()
        return lambda scope: first(scope) if node(scope) else second(scope)

    def _binary(self, least: int, node: Node) -> Node:
        """Parse the operators after `node` that bind at least as strongly as `least`."""
        while True:
            token = self._next
            strength = BINDING.get(token.text, 0) if token.kind in ("sign", "word") else 0
            if strength < least:
                return node
            self._at += 1
            negated = token.text == "not"
            if negated and not self._take("in", "matches", "contains", "startsWith", "endsWith"):
                raise self._wrong("expected 'in' after 'not'")
            name = self._tokens[self._at - 1].text
            right = self._binary(strength + (name not in ("**", "^")), self._unary())
            node = _operation(name, node, right)
            if negated:
                node = _not(node)

    def _unary(self) -> Node:
        if self._take("not", "!"):
            return _not(self._binary(NOT, self._unary()))
        if self._take("-"):
            node = self._binary(SIGN, self._unary())
            return lambda scope: -node(scope)
        if self._take("+"):
            return self._binary(SIGN, self._unary())
        return self._members(self._primary())

    def _members(self, node: Node) -> Node:
        """Parse what follows a value: `.name`, `?.name`, `[key]`, `[from:to]`."""
        while True:
            if self._take(".", "?."):
                name = self._next
                if name.kind != "word":
                    raise self._wrong("expected a name")
                self._at += 1
                node = _item(node, _constant(name.text))
            elif self._take("["):
                first = None if self._next.text == ":" else self._piped()
                if self._take(":"):
                    last = None if self._next.text == "]" else self._piped()
                    node = _slice(node, first, last)
                elif first is not None:
                    node = _item(node, first)
                self._need("]")
            else:
                return node

    def _primary(self) -> Node:
        token = self._next
        self._at += 1
        if token.kind == "number":
            return _constant(_number(token.text))
        if token.kind == "text":
            return _constant(_unquoted(token.text))
        if token.kind == "word":
            return self._word(token)
        if token.text == "(":
            node = self._piped()
            self._need(")")
            return node
        if token.text == "[":
            nodes = self._listed("]")
            return lambda scope: [each(scope) for each in nodes]
        if token.text == "#":
            return lambda scope: scope[ELEMENT]
        if token.text == ".":  # of the element that a predicate is about
            self._at -= 1
            return lambda scope: scope[ELEMENT]
        self._at -= 1
        raise self._wrong(f"unexpected {token.text!r}" if token.text else "it ends too early")

    def _word(self, token: Token) -> Node:
        constants = {"true": True, "false": False, "nil": None, "null": None}
        if token.text in constants:
            return _constant(constants[token.text])
        if self._next.text == "(":
            return self._called(token, [])
        if token.text not in self._names:
            near = close_matches(token.text, self._names) or f"there is {', '.join(sorted(self._names))}"
            raise UsageError(f"invalid expression: unknown name {token.text}", near)
        return lambda scope: scope[token.text]

    def _listed(self, end: str) -> list[Node]:
        nodes: list[Node] = []
        while not self._take(end):
            if nodes:
                self._need(",")
            nodes.append(self._piped())
        return nodes

    def _called(self, name: Token, given: list[Node]) -> Node:
        """Parse the arguments of a function."""
        if name.text not in FUNCTIONS and name.text not in PREDICATES:
            near = close_matches(name.text, [*FUNCTIONS, *PREDICATES])
            raise UsageError(f"invalid expression: unknown function {name.text}", near)
        self._need("(")
        if name.text in PREDICATES:
            return self._predicate(name.text, given)
        nodes = [*given, *self._listed(")")]
        function = FUNCTIONS[name.text]
        return lambda scope: function(*(each(scope) for each in nodes))

    def _predicate(self, name: str, given: list[Node]) -> Node:
        """Parse `any(list, condition)`; the condition may stand in braces, and `#` is the element."""
        node = given[0] if given else self._piped()
        if not given:
            self._need(",")
        braced = self._take("{")
        condition = self._piped()
        if braced:
            self._need("}")
        self._need(")")
        function = PREDICATES[name]
        return lambda scope: function(
            node(scope) or [], lambda element: condition({**scope, ELEMENT: element})
        )


def _number(text: str) -> float:
    digits = text.replace("_", "")
    if digits.startswith("0x"):
        return int(digits, 16)
    return int(digits) if digits.isdecimal() and len(digits) < 100 else float(digits)


def _unquoted(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), text[1:-1], flags=re.DOTALL)


def _constant(value: Any) -> Node:
    return lambda _scope: value


def _not(node: Node) -> Node:
    return lambda scope: not node(scope)


def _item(node: Node, key: Node) -> Node:
    def item(scope: Scope) -> Any:
        value, name = node(scope), key(scope)
        if isinstance(value, Mapping):
            return value.get(name)
        if isinstance(value, (list, str)) and isinstance(name, int):
            return value[name] if -len(value) <= name < len(value) else None
        if value is None:
            return None
        raise TypeError(f"{value!r} has no {name!r}")

    return item


def _slice(node: Node, first: Node | None, last: Node | None) -> Node:
    return lambda scope: node(scope)[first and first(scope) : last and last(scope)]


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: left is not None and right is not None and compare(left, right)


def _within(left: Any, right: Any) -> bool:
    return right is not None and left in right


def _span(first: int, last: int) -> range:
    if last - first > RANGE:
        raise ValueError(f"{first}..{last} has more than {RANGE:,} numbers")
    return range(first, last + 1)


def _power(left: float, right: float) -> float:
    return math.pow(left, right)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": _ordered(operator.lt),
    ">": _ordered(operator.gt),
    "<=": _ordered(operator.le),
    ">=": _ordered(operator.ge),
    "in": _within,
    "matches": lambda left, right: left is not None and re.search(right, left) is not None,
    "contains": lambda left, right: left is not None and right in left,
    "startsWith": lambda left, right: left is not None and left.startswith(right),
    "endsWith": lambda left, right: left is not None and left.endswith(right),
    "..": _span,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "**": _power,
    "^": _power,
}


def _operation(name: str, left: Node, right: Node) -> Node:
    if name in ("or", "||"):
        return lambda scope: bool(left(scope) or right(scope))
    if name in ("and", "&&"):
        return lambda scope: bool(left(scope) and right(scope))
    if name == "??":
        return lambda scope: found if (found := left(scope)) is not None else right(scope)
    function = OPERATORS[name]
    return lambda scope: function(left(scope), right(scope))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "date": parse_rfc3339,
    "duration": duration.parse,
    "first": lambda values: values[0] if values else None,
    "float": float,
    "hasPrefix": lambda text, start: text.startswith(start),
    "hasSuffix": lambda text, end: text.endswith(end),
    "int": int,
    "join": lambda values, between="": between.join(values),
    "keys": lambda value: list(value or {}),
    "last": lambda values: values[-1] if values else None,
    "len": lambda value: len(value or ()),
    "lower": lambda text: (text or "").lower(),
    "max": max,
    "min": min,
    "now": time.time_ns,
    "split": lambda text, between: text.split(between),
    "string": str,
    "sum": lambda values: sum(values or ()),
    "trim": lambda text: (text or "").strip(),
    "upper": lambda text: (text or "").upper(),
    "values": lambda value: list((value or {}).values()),
}
Condition = Callable[[Any], Any]
PREDICATES: dict[str, Callable[[Iterable[Any], Condition], Any]] = {
    "all": lambda values, holds: all(map(holds, values)),
    "any": lambda values, holds: any(map(holds, values)),
    "count": lambda values, holds: sum(map(bool, map(holds, values))),
    "filter": lambda values, holds: [each for each in values if holds(each)],
    "find": lambda values, holds: next((each for each in values if holds(each)), None),
    "map": lambda values, change: [change(each) for each in values],
    "none": lambda values, holds: not any(map(holds, values)),
    "one": lambda values, holds: sum(map(bool, map(holds, values))) == 1,
}
