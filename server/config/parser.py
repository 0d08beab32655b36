"""Parses the text of a configuration into a tree of nodes, with includes read and variables looked up.

`parse_file` reads a file and all files that it includes; `parse_text` parses a text that is in no file. For
bad input both raise ConfigError and nothing else. The environment is an argument. Which keys exist is not
known here.

Scopes: a variable is looked up in the enclosing maps from the inside out (only keys that were parsed
already), then in the environment, whose text is itself parsed as a value. An included file sees no variables
of the files that include it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from .files import Files, FileStamp
from .lexer import BOOLS, Lexer, Token, TokenKind
from .tree import ConfigError, ConfigNode, SourcePosition, Value

MAX_DEPTH = 100
"""Nested maps and lists; each costs a few frames of Python's stack."""

INT64 = 2**63
_LETTERS = "kmgtpe"
SUFFIXES = {"": 1}
for _power, _letter in enumerate(_LETTERS, 1):
    SUFFIXES[_letter] = 1000**_power
    for _more in ("b", "i", "ib"):
        SUFFIXES[_letter + _more] = 1024**_power


def parse_file(
    path: str, environment: Mapping[str, str], stamps: Files | None = None
) -> dict[str, ConfigNode]:
    """Return the entries of a configuration file.

    Paths in errors are as given here, with includes joined to them.

    stamps: receives the state of each file from before it was read.
    """
    return _parse_file(path, environment, (), None, {} if stamps is None else stamps)


def parse_text(text: str, environment: Mapping[str, str], file: str = "") -> dict[str, ConfigNode]:
    """Return the entries of a text. Its includes are relative to the directory of `file`."""
    return _Parser(text, file, environment, (str(Path(file).resolve()),) if file else (), {}).parse()


def _parse_file(
    path: str,
    environment: Mapping[str, str],
    parents: tuple[str, ...],
    where: SourcePosition | None,
    stamps: Files,
) -> dict[str, ConfigNode]:
    real = str(Path(path).resolve())
    if real in parents:
        chain = " -> ".join([*(Path(p).name for p in parents[parents.index(real) :]), Path(path).name])
        raise ConfigError.at(where, f"include cycle: {chain}")
    try:
        stamps[path] = FileStamp.of(path)
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        what = "included file" if where else "configuration file"
        raise ConfigError.at(where, f"cannot open {what} {path}: {error.strerror or error}") from None
    return _Parser(text, path, environment, (*parents, real), stamps).parse()


class _Parser:
    """Parses one text.

    file: its path as errors show it; includes are relative to its directory.
    files: the real paths that are being parsed, from the first to this one.
    stamps: receives the state of each included file from before it was read.
    references: the variables of the environment that are being looked up, from the first to this one.
    """

    def __init__(
        self,
        text: str,
        file: str,
        environment: Mapping[str, str],
        files: tuple[str, ...],
        stamps: Files,
        references: tuple[str, ...] = (),
    ) -> None:
        self.lexer = Lexer(text, file)
        self.environment = environment
        self.files = files
        self.stamps = stamps
        self.references = references
        self.scopes: list[dict[str, ConfigNode]] = []
        self.depth = 0

    def parse(self) -> dict[str, ConfigNode]:
        top: dict[str, ConfigNode] = {}
        self.scopes.append(top)
        braces: list[SourcePosition] = []
        lexer = self.lexer
        while True:
            lexer.skip(" \t\r\n\v\f,;" if braces else " \t\r\n\v\f")
            if lexer.peek() == "{":
                braces.append(lexer.position())
                lexer.at += 1
                continue
            token = lexer.entry()
            if token.kind is TokenKind.END and token.text == "":
                break
            if token.kind is TokenKind.END:
                lexer.at += 1
                if braces:
                    braces.pop()
                    continue
                lexer.skip(" \t\r\n\v\f")
                if lexer.peek():
                    raise ConfigError.syntax(token.position, "unexpected }: no map is open here")
                break  # nats-server allows one extra brace at the very end
            self._entry(token, top, in_map=False)
        if braces:
            raise ConfigError.syntax(braces[-1], "the { round the configuration is not closed")
        return top

    def _entry(self, token: Token, into: dict[str, ConfigNode], *, in_map: bool) -> None:
        lexer = self.lexer
        if token.kind is TokenKind.INCLUDE:
            into.update(self._include(token))
        else:
            if not lexer.separator(in_map=in_map):
                raise ConfigError.syntax(token.position, f"the key {token.text!r} has no value")
            if in_map and lexer.peek() in (",", "}", ""):
                raise ConfigError.syntax(token.position, f"the key {token.text!r} has no value")
            node = self._value()
            node.position = token.position
            into[token.text] = node
        lexer.end_of_entry(closable=in_map)

    def _include(self, token: Token) -> dict[str, ConfigNode]:
        directory = Path(token.position.file).parent
        path = directory / token.text.lstrip("/")
        try:
            return _parse_file(str(path), self.environment, self.files, token.position, self.stamps)
        except ConfigError as error:
            if token.text.startswith("/") and not path.exists():
                problem = error.problems[0]
                raise ConfigError.at(
                    problem.position, problem.message, "paths of includes are relative to the including file"
                ) from None
            raise

    def _value(self) -> ConfigNode:
        token = self.lexer.value()
        if token.kind is TokenKind.VARIABLE:
            return self._variable(token)
        if token.kind in (TokenKind.LIST, TokenKind.MAP):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise ConfigError.syntax(token.position, f"maps and lists are nested deeper than {MAX_DEPTH}")
            value: Value = self._list() if token.kind is TokenKind.LIST else self._map(token.position)
            self.depth -= 1
            return ConfigNode(value, token.position)
        return ConfigNode(_scalar(token), token.position)

    def _list(self) -> list[ConfigNode]:
        items: list[ConfigNode] = []
        while self.lexer.element_or_end():
            items.append(self._value())
            if not self.lexer.end_of_element():
                break
        return items

    def _map(self, start: SourcePosition) -> dict[str, ConfigNode]:
        entries: dict[str, ConfigNode] = {}
        self.scopes.append(entries)
        while True:
            token = self.lexer.entry()
            if token.kind is TokenKind.END:
                if token.text == "":
                    raise ConfigError.syntax(start, "the map that starts here is not closed")
                self.lexer.at += 1
                break
            if token.text.startswith("]") and token.kind is TokenKind.KEY:
                raise ConfigError.syntax(token.position, "unexpected ] in a map")
            self._entry(token, entries, in_map=True)
        self.scopes.pop()
        return entries

    def _variable(self, token: Token) -> ConfigNode:
        name = token.text
        if name.startswith("2a$"):  # no variable, but a bcrypt hash: the lexer took its first $ for the mark
            return ConfigNode("$" + name, token.position)
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name].used = True
                return ConfigNode(scope[name].value, token.position)
        if name in self.references:
            raise ConfigError.at(token.position, f"variable reference cycle for '{name}'")
        text = self.environment.get(name)
        if text is None:
            hint = "quote the value if it is text"
            if not name.startswith("2"):  # else it may be a bcrypt hash of another version, such as $2b$
                hint = f"set {name} before this line or in the environment, or quote the value if it is text"
            raise ConfigError.at(token.position, f"variable reference for '{name}' can not be found", hint)
        inner = _Parser(f"pk={text}", "", self.environment, self.files, self.stamps, (*self.references, name))
        try:
            found = inner.parse().get("pk")
        except ConfigError as error:
            raise ConfigError.at(
                token.position,
                f"variable reference for '{name}' could not be parsed: {error.problems[0].message}",
                "a value with blanks or special characters needs quotes inside the variable",
            ) from None
        if found is None:
            raise ConfigError.at(token.position, f"variable reference for '{name}' can not be found")
        return ConfigNode(found.value, token.position)


def _scalar(token: Token) -> Value:
    text = token.text
    if token.kind is TokenKind.BOOL:
        return BOOLS[text]
    if token.kind is TokenKind.FLOAT:
        return float(text)
    if token.kind is TokenKind.DATE:
        try:
            return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            raise ConfigError.at(
                token.position, f"expected a date as YYYY-MM-DDTHH:MM:SSZ, but got {text}"
            ) from None
    if token.kind is TokenKind.INTEGER:
        digits = text.rstrip("kKmMgGtTpPeEbBiI")
        if len(digits) > 20:
            raise ConfigError.at(token.position, f"integer '{text}' is out of the range")
        suffix = text[len(digits) :].lower()
        if suffix not in SUFFIXES:
            raise ConfigError.at(token.position, f"unknown suffix {suffix!r} of the number {text}")
        number = int(digits) * SUFFIXES[suffix]
        if not -INT64 <= number < INT64:
            raise ConfigError.at(token.position, f"integer '{text}' is out of the range")
        return number
    return text
