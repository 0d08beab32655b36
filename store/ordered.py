"""Subjects in order, so that those that match a pattern are found without looking at all others.

This is a sorted list in pieces, with 8 bytes per subject besides the names themselves. Subjects with the same
first tokens are neighbours, so a walk jumps over those that cannot match: `a.7.*` costs what is under `a.7.`,
and `*.b` one search for each first token. Adding and removing cost O(log n) and the move of a few kilobytes.
A walk costs O(log n) for each name that it looks at. Walks go in pages and remember only a name, so that
subjects may come and go between two pages.

Very many names at once (`expect`) are only distributed to their pieces, as in a sample sort. A piece is
sorted when it is first looked into.
"""

import gc
from bisect import bisect_left, insort
from collections.abc import Iterable

from ..protocol.subject import ANY_REST, ANY_TOKEN

PIECE = 1024  # names in one piece, at most; half of it after a split
UNSORTED = 4 * PIECE  # the same for an unsorted piece, until a name is added to it later
_AFTER_DOT = chr(ord(".") + 1)  # `x` + this is greater than everything that begins with `x.`


class _Dealt(list[str]):
    """A piece of distributed names. Until it is sorted, its last name is at most the one in `_lasts`.

    It stays the same object when it is sorted. Python's cycle collector would look through a new one, which
    takes 70 ms for a million names.
    """

    __slots__ = ("sorted",)

    def __init__(self) -> None:
        super().__init__()
        self.sorted = False


def _is_open(piece: list[str]) -> bool:
    """Return whether it is not sorted yet."""
    return type(piece) is _Dealt and not piece.sorted


class OrderedNames:
    """A sorted set of literal subjects."""

    __slots__ = ("_lasts", "_pieces", "count")

    def __init__(self) -> None:
        self._pieces: list[list[str]] = []
        self._lasts: list[str] = []  # the last name of each piece
        self.count = 0

    def remains(self) -> list[list[str]]:
        """Return all pieces, for a caller that frees them one by one. The set must not be used afterwards."""
        return self._pieces

    def expect(self, sample: Iterable[str]) -> None:
        """Prepare for very many names, with `sample` as an example of them. Only while the set is empty."""
        self._lasts = sorted(set(sample))
        self._pieces = [_Dealt() for _ in self._lasts]
        gc.collect(1)  # moves the pieces to the oldest generation while they are small

    def extend(self, names: Iterable[str]) -> None:
        """Add names that are not in the set."""
        pieces, lasts = self._pieces, self._lasts
        for name in names:
            at = bisect_left(lasts, name)
            if at < len(lasts) and _is_open(piece := pieces[at]) and len(piece) < UNSORTED:
                piece.append(name)
                self.count += 1
            else:
                self.add(name)

    def _sort(self, at: int) -> None:
        """Sort a piece. If it has no names, it is removed."""
        piece = self._pieces[at]
        assert isinstance(piece, _Dealt)
        if piece:
            piece.sort()
            piece.sorted = True
            self._lasts[at] = piece[-1]
        else:
            del self._pieces[at], self._lasts[at]

    def _sorted_at(self, name: str) -> int:
        """Return the position of the piece for this name, and sort it.

        It is past the end if all names are before.
        """
        while True:
            at = bisect_left(self._lasts, name)
            if at == len(self._pieces) or not _is_open(self._pieces[at]):
                return at
            self._sort(at)

    def add(self, name: str) -> None:
        """Add a name that is not in the set."""
        self.count += 1
        at = self._sorted_at(name)
        while at and at == len(self._pieces) and _is_open(self._pieces[-1]):
            self._sort(at - 1)
            at = self._sorted_at(name)
        lasts = self._lasts
        if not lasts:
            self._pieces.append([name])
            lasts.append(name)
            return
        if at == len(lasts):
            at -= 1
            piece = self._pieces[at]
            piece.append(name)
            lasts[at] = name
        else:
            piece = self._pieces[at]
            insort(piece, name)
        if len(piece) > PIECE:
            # Names that come in order leave full pieces behind.
            cut = len(piece) - 1 if piece[-1] == name else len(piece) // 2
            self._pieces[at : at + 1] = [piece[:cut], piece[cut:]]
            lasts[at : at + 1] = [piece[cut - 1], piece[-1]]

    def remove(self, name: str) -> None:
        """Remove a name that is in the set."""
        self.count -= 1
        at = self._sorted_at(name)
        piece = self._pieces[at]
        del piece[bisect_left(piece, name)]
        if not piece:
            del self._pieces[at], self._lasts[at]
        elif self._lasts[at] == name:
            self._lasts[at] = piece[-1]

    def page(self, pattern: str, begin: str, most: int) -> tuple[list[str], str]:
        """Return names from `begin` on that match the pattern, and where to continue, "" at the end.

        At most about `most` names are looked at.
        """
        walk = _Walk(pattern)
        target = max(begin, walk.prefix)
        found: list[str] = []
        pieces, prefix = self._pieces, walk.prefix
        while most > 0:
            at = self._sorted_at(target)
            if at == len(pieces):
                return found, ""
            piece = pieces[at]
            place = bisect_left(piece, target)
            if walk.takes_rest and piece[-1].startswith(prefix):
                found += piece[place : place + most]
                place += most
                most -= min(most, len(piece))
                target = piece[place] if place < len(piece) else _just_after(piece[-1])
                continue
            while most > 0:
                if place == len(piece):
                    target = _just_after(piece[-1])
                    break
                name = piece[place]
                most -= 1
                if not name.startswith(prefix):
                    return found, ""
                jump = walk.skip_to(name)
                if jump is None:
                    found.append(name)
                    place += 1
                    target = _just_after(name)
                elif not jump:
                    return found, ""
                elif jump > piece[-1]:
                    target = jump
                    break
                else:
                    place = bisect_left(piece, jump, place + 1)
                    target = jump
        return found, target


def _just_after(name: str) -> str:
    return name + "\0"


class _Walk:
    """The path of a walk for one pattern.

    prefix: the start of all names; takes_rest: whether it is enough.
    """

    __slots__ = ("_stars", "_tokens", "prefix", "takes_rest")

    def __init__(self, pattern: str) -> None:
        tokens = pattern.split(".")
        wild = [place for place, token in enumerate(tokens) if token == ANY_TOKEN]
        rest = tokens[-1] == ANY_REST
        known = min([*wild, len(tokens) - 1 if rest else len(tokens)])
        self._tokens = tokens
        self._stars = wild
        self.prefix = ".".join(tokens[:known]) + ("." if 0 < known < len(tokens) else "")
        self.takes_rest = rest and not wild

    def skip_to(self, name: str) -> str | None:
        """Return None if the name matches. Otherwise return the next place to look, "" if there is none.

        The name must begin with `prefix`.
        """
        tokens, given = self._tokens, name.split(".")
        for place, token in enumerate(tokens):
            if token == ANY_REST:
                return None if len(given) > place else _just_after(name)
            if place >= len(given):
                return _just_after(name)
            if token in (ANY_TOKEN, given[place]):
                continue
            wanted = ".".join([*given[:place], token])
            if name < wanted:
                return wanted
            if name < wanted + ".":
                return wanted + "."
            return self._advance(given, place)
        if len(given) == len(tokens):
            return None
        return self._advance(given, len(tokens))

    def _advance(self, given: list[str], before: int) -> str:
        """Return the place after the names with the same tokens up to the last wildcard below `before`."""
        for star in reversed(self._stars):
            if star < before:
                return ".".join(given[: star + 1]) + _AFTER_DOT
        return ""
