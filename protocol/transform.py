"""Subject transforms: from a source pattern to a destination made of its wildcards.

The destination may use ``$1`` or ``{{wildcard(1)}}``, and ``{{partition(n,1,2)}}``,
``{{split(i,delimiter)}}``, ``{{splitFromLeft(i,n)}}``, ``{{splitFromRight(i,n)}}``,
``{{sliceFromLeft(i,n)}}``, ``{{sliceFromRight(i,n)}}``, ``{{left(i,n)}}``, ``{{right(i,n)}}`` and
``{{random(n)}}``. The words of a function's name may begin with a capital or a small letter.

A transform is parsed once, into one function for each destination token. It never changes and has no clock.
Randomness is an argument. The texts of errors are the reference's.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

from .subject import ANY_REST, ANY_TOKEN, tokens_match

_Part = Callable[[list[str]], str]
RandomBelow = Callable[[int], int]

_INVALID = "invalid mapping destination"
_NAMES = {
    "wildcard": "[wW]ildcard",
    "partition": "[pP]artition",
    "split_from_left": "[sS]plit[fF]rom[lL]eft",
    "split_from_right": "[sS]plit[fF]rom[rR]ight",
    "slice_from_left": "[sS]lice[fF]rom[lL]eft",
    "slice_from_right": "[sS]lice[fF]rom[rR]ight",
    "split": "[sS]plit",
    "left": "[lL]eft",
    "right": "[rR]ight",
    "random": "[rR]andom",
}
_SEPARATOR = re.compile(r",\s*")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_INT32 = (1 << 31) - 1


@cache
def _function() -> re.Pattern[str]:
    """Return what a token with a function looks like. It takes 1 ms, and few servers have mappings."""
    names = "|".join(f"(?P<{name}>{word})" for name, word in _NAMES.items())
    return re.compile(rf"\{{\{{\s*(?:{names})\s*\((?P<args>.*)\)\s*\}}\}}")


class TransformError(ValueError):
    """Source and destination do not make a transform."""


def fnv1a_32(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


class Placeholder:
    """One function of a destination token: its name, the wildcards it reads (from 1), and its argument."""

    __slots__ = ("delimiter", "indexes", "name", "number")

    def __init__(self, name: str, indexes: Sequence[int] = (), number: int = -1, delimiter: str = "") -> None:
        self.name = name
        self.indexes = tuple(indexes)
        self.number = number
        self.delimiter = delimiter


def parse_placeholder(token: str) -> Placeholder | None:
    """Read one destination token. Return None if it is plain text. Raises TransformError."""
    if len(token) > 1 and token[0] == "$":
        if _INTEGER.fullmatch(token, 1):
            return Placeholder("wildcard", (int(token[1:]),))
        return None
    if len(token) <= 4 or not token.startswith("{{") or not token.endswith("}}"):
        return None
    found = _function().fullmatch(token)
    if found is None:
        raise _error("unknown function", token)
    name = next(name for name in _NAMES if found[name])
    args = _SEPARATOR.split(found["args"])
    if name == "wildcard":
        if args == [""]:
            raise _error("not enough arguments passed to the function", token)
        if len(args) > 1:
            raise _error("too many arguments passed to the function", token)
        return Placeholder(name, (_integer(args[0], token),))
    if name == "partition":
        return Placeholder(name, [_integer(arg, token) for arg in args[1:]], _integer(args[0], token))
    if name == "random":
        if len(args) != 1:
            raise _error("not enough arguments passed to the function", token)
        return Placeholder(name, (), _integer(args[0], token))
    if len(args) < 2:
        raise _error("not enough arguments passed to the function", token)
    if len(args) > 2:
        raise _error("too many arguments passed to the function", token)
    index = _integer(args[0], token)
    if name == "split":
        if " " in args[1] or "." in args[1]:
            raise _error("function argument is invalid or in the wrong format", token)
        return Placeholder(name, (index,), delimiter=args[1])
    return Placeholder(name, (index,), _integer(args[1], token))


def _integer(text: str, token: str) -> int:
    text = text.strip(" ")
    if not _INTEGER.fullmatch(text) or abs(int(text)) > _INT32:
        raise _error("function argument is invalid or in the wrong format", token)
    return int(text)


def _error(what: str, where: str) -> TransformError:
    return TransformError(f"{_INVALID}: {what} in {where}")


def _split_from_left(token: str, at: int) -> str:
    return f"{token[:at]}.{token[at:]}" if 0 < at < len(token) else token


def _split_from_right(token: str, at: int) -> str:
    return _split_from_left(token, len(token) - at)


def _slice_from_left(token: str, size: int) -> str:
    if not 0 < size < len(token):
        return token
    return ".".join(token[i : i + size] for i in range(0, len(token), size))


def _slice_from_right(token: str, size: int) -> str:
    if not 0 < size < len(token):
        return token
    first = len(token) % size
    pieces = [token[:first]] if first else []
    pieces.extend(token[i : i + size] for i in range(first, len(token), size))
    return ".".join(pieces)


def _left(token: str, size: int) -> str:
    return token[:size] if 0 < size < len(token) else token


def _right(token: str, size: int) -> str:
    return token[-size:] if 0 < size < len(token) else token


_CUTS: dict[str, Callable[[str, int], str]] = {
    "split_from_left": _split_from_left,
    "split_from_right": _split_from_right,
    "slice_from_left": _slice_from_left,
    "slice_from_right": _slice_from_right,
    "left": _left,
    "right": _right,
}


def _split(token: str, delimiter: str) -> str:
    pieces = token.split(delimiter) if delimiter else list(token)
    return ".".join(piece for piece in pieces if piece)


def _no_random(below: int) -> int:
    raise TransformError("this transform uses random and was given no source of randomness")


class SubjectTransform:
    """A transform from `source` to `destination`.

    An empty source is ``>``. With `strict`, as imports need it, only wildcards may be used, and all of them
    must be, so that `reverse` exists. `random_below(n)` returns an int in [0, n). Raises TransformError.
    """

    __slots__ = ("_keep_from", "_parts", "_placeholders", "_random_below", "_tokens", "destination", "source")

    def __init__(
        self, source: str, destination: str, *, strict: bool = False, random_below: RandomBelow = _no_random
    ) -> None:
        self.source = source or ANY_REST
        self.destination = destination
        self._random_below = random_below
        self._tokens = _pattern(self.source)
        dest_tokens = _pattern(destination)
        if ANY_TOKEN in dest_tokens or (self._tokens[-1] == ANY_REST) != (dest_tokens[-1] == ANY_REST):
            raise TransformError("invalid subject")
        wildcards = [i for i, token in enumerate(self._tokens) if token == ANY_TOKEN]
        self._keep_from = -1
        if dest_tokens[-1] == ANY_REST:
            self._keep_from = len(self._tokens) - 1
            dest_tokens.pop()
        self._placeholders = [parse_placeholder(token) for token in dest_tokens]
        self._parts = [
            _constant(token) if found is None else self._compile(token, found, wildcards, strict)
            for token, found in zip(dest_tokens, self._placeholders, strict=True)
        ]
        if strict:
            used = sum(len(found.indexes) for found in self._placeholders if found)
            if used < len(wildcards):
                raise _error("not using all of the token wildcard(s)", destination)

    def _compile(self, token: str, found: Placeholder, wildcards: list[int], strict: bool) -> _Part:
        """Return the function of a destination token; `wildcards` are positions of the source's wildcards."""
        if strict and found.name != "wildcard":
            raise _error("the only mapping function allowed for import transforms is {{Wildcard()}}", token)
        if not wildcards and ANY_REST not in self._tokens:
            if found.name not in {"partition", "random"}:
                raise _error("wildcard index out of range", token)
            found.indexes = ()
        for index in found.indexes:
            if not 1 <= index <= len(wildcards):
                raise _error("wildcard index out of range", f"{token}: [{index}]")
        positions = [wildcards[index - 1] for index in found.indexes]
        number = found.number
        if found.name == "partition":
            return _partition(positions, number)
        if found.name == "random":
            return lambda tokens: str(self._random_below(number)) if number > 0 else "0"
        position = positions[0]
        if found.name == "wildcard":
            return lambda tokens: tokens[position]
        if found.name == "split":
            return lambda tokens: _split(tokens[position], found.delimiter)
        cut = _CUTS[found.name]
        return lambda tokens: cut(tokens[position], number)

    def apply(self, subject: str) -> str | None:
        """Return the transformed literal subject, or None if `source` does not match it."""
        tokens = subject.split(".")
        if not tokens_match(self._tokens, tokens):
            return None
        out = [part(tokens) for part in self._parts]
        if self._keep_from >= 0:
            out.extend(tokens[self._keep_from :])
        return ".".join(out)

    def reverse(self) -> "SubjectTransform":
        """Return the transform from destination to source. Raises TransformError if there is none."""
        used = [found.indexes[0] for found in self._placeholders if found and found.name == "wildcard"]
        back = {index: f"${at}" for at, index in enumerate(used, 1)}
        tokens, count = [], 0
        for token in self._tokens:
            if token == ANY_TOKEN:
                count += 1
                if count not in back:
                    raise _error("not using all of the token wildcard(s)", self.destination)
                tokens.append(back[count])
            else:
                tokens.append(token)
        return SubjectTransform(without_placeholders(self.destination), ".".join(tokens))

    def __repr__(self) -> str:
        return f"SubjectTransform({self.source!r}, {self.destination!r})"


def _constant(token: str) -> _Part:
    return lambda tokens: token


def _partition(indexes: list[int], count: int) -> _Part:
    def part(tokens: list[str]) -> str:
        key = "".join([tokens[index] for index in indexes]) if indexes else ".".join(tokens)
        return str(fnv1a_32(key.encode()) % (count & 0xFFFFFFFF))

    return part if count else _constant("0")


def _pattern(subject: str) -> list[str]:
    """Split source or destination. Blanks are allowed here inside ``{{ }}``. Raises TransformError."""
    tokens = subject.split(".")
    if "" in tokens or ANY_REST in tokens[:-1]:
        raise TransformError("invalid subject")
    return tokens


def with_placeholders(subject: str) -> str:
    """Number the wildcards of a pattern: ``a.*.*`` becomes ``a.$1.$2``."""
    count = 0
    tokens = subject.split(".")
    for i, token in enumerate(tokens):
        if token == ANY_TOKEN:
            count += 1
            tokens[i] = f"${count}"
    return ".".join(tokens)


def without_placeholders(destination: str) -> str:
    """Turn wildcard references back into wildcards: ``a.$2.{{wildcard(1)}}`` becomes ``a.*.*``."""
    tokens = destination.split(".")
    for i, token in enumerate(tokens):
        found = parse_placeholder(token)
        if found is not None and found.name == "wildcard":
            tokens[i] = ANY_TOKEN
    return ".".join(tokens)
