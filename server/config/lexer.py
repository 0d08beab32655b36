"""Lexer: reads keys, values and separators of nats-server's configuration language from a text.

The parser asks for what may come next (`key`, `value`, `end_of_entry`, …). The lexer returns a token or
raises ConfigError with the exact place. It knows no files, variables or options.

nats-server's own lexer accepts some input that can only be a mistake: a lone `/`, a number directly before
`]`, an unclosed brace around the file, a key without a value in a map. This one refuses it with a hint. What
it accepts means the same in both. docs/options.md lists these cases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import NamedTuple, NoReturn

from .tree import ConfigError, SourcePosition

SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
BLANK = " \t"
NEWLINE = "\r\n"
END_OF_BARE = frozenset(BLANK + NEWLINE + ";,]}")
END_OF_NUMBER = frozenset(BLANK + NEWLINE + ";,}")
END_OF_INCLUDE = frozenset(BLANK + NEWLINE + ";}'")
BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}

_NUMBER = re.compile(r"-?[0-9]+")
_SUFFIX = re.compile(r"[kKmMgGtTpPeE][bBiI]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_ADDRESS_REST = re.compile(r"[0-9.:\-]*")
_HEX = re.compile(r"[0-9a-fA-F]{2}")


class TokenKind(Enum):
    """The kinds of tokens."""

    KEY = "key"
    INCLUDE = "include"
    END = "end"
    STRING = "string"
    BOOL = "bool"
    INTEGER = "integer"
    FLOAT = "float"
    DATE = "date"
    VARIABLE = "variable"
    LIST = "list"
    MAP = "map"


class Token(NamedTuple):
    """A token: its kind, its text (without quotes, escapes resolved) and where it starts."""

    kind: TokenKind
    text: str
    position: SourcePosition


class Lexer:
    """A cursor over one text. The methods consume what they return. The caller keeps track of the nesting."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.at = 0
        self._lines = [m.end() for m in re.finditer("\n", text)]

    def position(self, offset: int | None = None) -> SourcePosition:
        """Return the place of an offset, by default of the cursor."""
        at = self.at if offset is None else offset
        line = bisect_right(self._lines, at)
        return SourcePosition(self.file, line + 1, at - (self._lines[line - 1] if line else 0) + 1)

    def fail(self, message: str, hint: str = "", at: int | None = None) -> NoReturn:
        """Raise a ConfigError at an offset, by default at the cursor."""
        raise ConfigError.syntax(self.position(at), message, hint)

    def peek(self) -> str:
        """Return the next character without consuming it, "" at the end."""
        return self.text[self.at : self.at + 1]

    # ---- between values ------------------------------------------------------------------------------

    def skip(self, characters: str) -> None:
        """Skip these characters and comments."""
        text, size = self.text, len(self.text)
        while self.at < size:
            here = text[self.at]
            if here in characters:
                self.at += 1
            elif here == "#" or text.startswith("//", self.at):
                end = min((i for i in (text.find(c, self.at) for c in NEWLINE) if i >= 0), default=size)
                self.at = end
            else:
                return

    def entry(self) -> Token:
        """Return the next key or include, or END at `}` (not consumed) or at the end of the text."""
        self.skip(SPACE)
        start = self.at
        here = self.peek()
        if here in ("", "}"):
            return Token(TokenKind.END, here, self.position())
        if here in "=:":
            self.fail(f"unexpected {here!r}: a key must come first")
        if here == "/":
            self.fail("unexpected '/'", "comments start with # or //")
        if here in "\"'":
            return self._quoted_key(here)
        size = len(self.text)
        while self.at < size and self.text[self.at] not in SPACE and self.text[self.at] not in "=:":
            self.at += 1
        key = self.text[start : self.at]
        if key.endswith("{"):
            self.fail(f"unexpected {{ in the key {key!r}", "put a blank before it", at=start)
        if key.lower() == "include" and self.peek() and self.peek() in SPACE:
            return self._include(self.position(start))
        return Token(TokenKind.KEY, key, self.position(start))

    def _quoted_key(self, quote: str) -> Token:
        start = self.at
        end = self.text.find(quote, start + 1)
        if end < 0:
            self.fail("a quoted key is not closed", at=start)
        self.at = end + 1
        return Token(TokenKind.KEY, self.text[start + 1 : end], self.position(start))

    def _include(self, position: SourcePosition) -> Token:
        while self.peek() and self.peek() in BLANK:
            self.at += 1
        here = self.peek()
        if here and here in "\"'":
            end = self.text.find(here, self.at + 1)
            if end < 0:
                self.fail("the path of an include is not closed")
            path = self.text[self.at + 1 : end]
            self.at = end + 1
            return Token(TokenKind.INCLUDE, path, position)
        if not here or here in "[{(-\\" or here in NEWLINE or here.isdigit():
            self.fail("expected the path of a file after include", "quote it if it starts with a digit")
        start, size = self.at, len(self.text)
        while self.at < size and self.text[self.at] not in END_OF_INCLUDE:
            self.at += 1
        path = self.text[start : self.at]
        if self.peek() == "'":
            self.at += 1
        return Token(TokenKind.INCLUDE, path, position)

    def separator(self, *, in_map: bool) -> bool:
        """Skip blanks and at most one `=` or `:` after a key. Return False if the text ends here.

        In a map the value may be on a later line; at the top level only if it is before the separator.
        """
        self._spaces(SPACE)
        if self.peek() and self.peek() in "=:":
            self.at += 1
            self._spaces(SPACE if in_map else BLANK)
            if self.peek() and self.peek() in NEWLINE:
                self.fail("expected a value but the line ends")
            return True
        return self.at < len(self.text)

    def _spaces(self, characters: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1

    def end_of_entry(self, *, closable: bool) -> None:
        """Consume what ends an entry: a separator, a line end, the end, or `}` (not consumed)."""
        self.skip(BLANK)
        here = self.peek()
        if here == "" or here in NEWLINE or here == "}":
            return
        if here in ",;":
            self.at += 1
            return
        level = "map" if closable else "top-level"
        self.fail(
            f"expected the {level} value to end, but got {here!r}",
            "entries on one line need , or ; between them; quote text with blanks",
        )

    def end_of_element(self) -> bool:
        """Consume what follows a value of a list. Return False if that is `]`, True if the list goes on."""
        self.skip(BLANK)
        here = self.peek()
        if here == "]":
            self.at += 1
            return False
        if here == "," or (here and here in NEWLINE):
            self.at += 1
            return True
        if not here:
            self.fail("the list is not closed")
        raise ConfigError.at(self.position(), f"expected , or ] after a list value, but got {here!r}")

    def element_or_end(self) -> bool:
        """Look for the next value of a list. Return False if `]` was consumed instead."""
        self.skip(SPACE)
        here = self.peek()
        if here == "]":
            self.at += 1
            return False
        if here == ",":
            self.fail("unexpected ',' in a list: a value must come first")
        if here == "":
            self.fail("the list is not closed")
        return True

    # ---- values --------------------------------------------------------------------------------------

    def value(self) -> Token:
        """Return the value at the cursor. For LIST and MAP only the opening bracket is consumed."""
        start = self.at
        here = self.peek()
        where = self.position(start)
        if here == "[":
            self.at += 1
            return Token(TokenKind.LIST, "", where)
        if here == "{":
            self.at += 1
            return Token(TokenKind.MAP, "", where)
        if here == "'":
            return self._single_quoted(where)
        if here == '"':
            self.at += 1
            return Token(TokenKind.STRING, self._escaped('"', "a quoted string"), where)
        if here == "(":
            return self._block(where)
        if here == ".":
            self.fail("a number must start with a digit", "quote the value if it is text")
        if here == "-":
            if not self.text[start + 1 : start + 2].isdecimal():
                self.fail("expected a digit after '-'", "quote the value if it is text")
            return self._number(where)
        if here and here in "0123456789":
            return self._number(where)
        if here == "/" and self.text.startswith("//", start):
            self.fail("expected a value but found a comment", "quote the value if it is text")
        return self._bare(where)

    def _single_quoted(self, where: SourcePosition) -> Token:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.fail("a quoted string is not closed")
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return Token(TokenKind.STRING, text, where)

    def _escaped(self, quote: str, what: str) -> str:
        parts: list[str] = []
        start = self.at
        while True:
            here = self.peek()
            if here == "":
                self.fail(f"{what} is not closed", at=start - 1)
            self.at += 1
            if here == quote:
                return "".join(parts)
            parts.append(self._escape() if here == "\\" else here)

    def _escape(self) -> str:
        here = self.peek()
        if here == "x":
            digits = self.text[self.at + 1 : self.at + 3]
            if not _HEX.fullmatch(digits):
                self.fail(f"expected two hexadecimal digits after \\x, but got {digits!r}")
            self.at += 3
            return bytes.fromhex(digits).decode("utf-8", "surrogateescape")
        if here not in ESCAPES:
            self.fail(
                f"invalid escape character {here!r}",
                r"allowed are \xXX, \t, \n, \r, \", \\; single quotes take text as it is",
                at=self.at - 1,
            )
        self.at += 1
        return ESCAPES[here]

    def _block(self, where: SourcePosition) -> Token:
        start = self.at + 1
        end = start
        while True:
            end = self.text.find("\n)", end)
            if end < 0:
                self.fail("a block string is not closed", "it ends with ) on a line by itself")
            if self.text[end + 2 : end + 3] in ("", "\n"):
                break
            end += 1
        self.at = end + 2
        return Token(TokenKind.STRING, self.text[start : end + 1], where)

    def _bare(self, where: SourcePosition) -> Token:
        parts: list[str] = []
        escaped = quoted = False
        size = len(self.text)
        while self.at < size:
            here = self.text[self.at]
            if here in END_OF_BARE:
                break
            self.at += 1
            if here == "'":
                quoted = True
                break
            if here == "\\":
                escaped = True
                here = self._escape()
            parts.append(here)
        text = "".join(parts)
        if not escaped and not quoted:
            if text.lower() in BOOLS:
                return Token(TokenKind.BOOL, text.lower(), where)
            if text.startswith("$"):
                return Token(TokenKind.VARIABLE, text[1:], where)
        return Token(TokenKind.STRING, text, where)

    def _number(self, where: SourcePosition) -> Token:
        start = self.at
        match = _NUMBER.match(self.text, start)
        assert match is not None
        self.at = match.end()
        negative = match.group().startswith("-")
        here = self.peek()
        if here == ".":
            return self._float(start, where, negative=negative)
        if here == "-" and not negative:
            date = _DATE.match(self.text, start)
            if date is None:
                self.fail(
                    f"'-' after the digits {match.group()} is only legal in a date (YYYY-MM-DDTHH:MM:SSZ)",
                    "quote the value if it is text",
                )
            self.at = date.end()
            return Token(TokenKind.DATE, date.group(), where)
        suffix = _SUFFIX.match(self.text, self.at)
        if suffix is not None:
            self.at = suffix.end()
        here = self.peek()
        if here == "]" and suffix is None:
            self.fail("a number may not be directly before ]", "put a blank between them")
        if here in END_OF_NUMBER or here == "" or negative:
            return Token(TokenKind.INTEGER, self.text[start : self.at], where)
        rest = self._bare(where)
        return Token(TokenKind.STRING, self.text[start : match.end()] + self._tail(match.end(), rest), where)

    def _tail(self, digits_end: int, rest: Token) -> str:
        """Return what follows the digits of a bare string: the suffix letters lexed so far and the rest."""
        suffix = _SUFFIX.match(self.text, digits_end)
        letters = suffix.group() if suffix else ""
        if rest.kind is TokenKind.VARIABLE:
            return letters + "$" + rest.text
        return letters + rest.text

    def _float(self, start: int, where: SourcePosition, *, negative: bool) -> Token:
        self.at += 1
        digits = _NUMBER.match(self.text, self.at)
        if digits is None or digits.group().startswith("-"):
            self.fail("expected a digit after the decimal point", "quote the value if it is text")
        self.at = digits.end()
        if self.peek() == "." and not negative:
            rest = _ADDRESS_REST.match(self.text, self.at)
            assert rest is not None
            self.at = rest.end()
            return Token(TokenKind.STRING, self.text[start : self.at], where)
        return Token(TokenKind.FLOAT, self.text[start : self.at], where)
