"""Subjects in order, so that those that match a pattern are found without looking at all others.

This is a sorted list in pieces of at most PIECE names. It needs 8 bytes per subject besides the names
themselves. Adding or removing a name is a binary search and the move of a few kilobytes.

Subjects with the same first tokens are neighbours, so a walk skips those that cannot match. `a.7.*` looks
only at what is under `a.7.`; `*.b` makes one binary search for each first token. A walk goes in pages and
remembers only a name between two of them, so names may come and go in the meantime.

When very many names come at once (`expect`, `extend`), they are only distributed to their pieces, as in a
sample sort. A piece is sorted when it is first needed.
"""

import gc
from bisect import bisect_left, insort
from collections.abc import Iterable

from ..protocol.subject import ANY_REST, ANY_TOKEN

PIECE = 1024  # names in one piece, at most; half of it after a split
UNSORTED = 4 * PIECE  # the same for an unsorted piece, until a name is added to it later
_AFTER_DOT = chr(ord(".") + 1)  # `x` + this is greater than everything that begins with `x.`


class _Unsorted(list[str]):
    """A piece of distributed names. Until it is sorted, the entry in `_lasts` is only an upper bound for
    them.

    It stays the same object when it is sorted: Python's cycle collector would look through a new list, which
    takes 70 ms for a million names.
    """

    __slots__ = ("sorted",)

    def __init__(self) -> None:
        super().__init__()
        self.sorted = False


def _is_unsorted(piece: list[str]) -> bool:
    """Whether a piece has yet to be sorted."""
    return type(piece) is _Unsorted and not piece.sorted


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
        """Prepare an empty set for very many names: each name of `sample` becomes the bound of a piece."""
        self._lasts = sorted(set(sample))
        self._pieces = [_Unsorted() for _ in self._lasts]
        gc.collect(1)  # moves the pieces to the oldest generation while they are small

    def extend(self, names: Iterable[str]) -> None:
        """Add names that are not in the set."""
        pieces, lasts = self._pieces, self._lasts
        for name in names:
            at = bisect_left(lasts, name)
            if at < len(lasts) and _is_unsorted(piece := pieces[at]) and len(piece) < UNSORTED:
                piece.append(name)
                self.count += 1
            else:
                self.add(name)

    def _sort(self, at: int) -> None:
        """Sort a piece. If it has no names, it is removed."""
        piece = self._pieces[at]
        assert isinstance(piece, _Unsorted)
        if piece:
            piece.sort()
            piece.sorted = True
            self._lasts[at] = piece[-1]
        else:
            del self._pieces[at], self._lasts[at]

    def _sorted_at(self, name: str) -> int:
        """Return the position of the piece for this name, which is sorted then.

        The position is past the end if the name is greater than all in the set.
        """
        while True:
            at = bisect_left(self._lasts, name)
            if at == len(self._pieces) or not _is_unsorted(self._pieces[at]):
                return at
            self._sort(at)

    def add(self, name: str) -> None:
        """Add a name that is not in the set."""
        self.count += 1
        at = self._sorted_at(name)
        while at and at == len(self._pieces) and _is_unsorted(self._pieces[-1]):
            self._sort(at - 1)  # a greater name goes to the last piece, which must be sorted, too
            at = self._sorted_at(name)
        if not self._pieces:
            self._pieces.append([name])
            self._lasts.append(name)
            return
        if at == len(self._pieces):
            at -= 1
            self._pieces[at].append(name)
            self._lasts[at] = name
        else:
            insort(self._pieces[at], name)
        if len(self._pieces[at]) > PIECE:
            self._split(at, name)

    def _split(self, at: int, added: str) -> None:
        """Divide a piece in which `added` no longer fits into two.

        If `added` is its last name, that one alone is the second: names that come in order leave full pieces.
        """
        piece = self._pieces[at]
        cut = len(piece) - 1 if piece[-1] == added else len(piece) // 2
        self._pieces[at : at + 1] = [piece[:cut], piece[cut:]]
        self._lasts[at : at + 1] = [piece[cut - 1], piece[-1]]

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
        """Return the names from `begin` on that match a pattern, and the name to continue from, "" at the
        end.

        most: how many names to look at.
        """
        walk = _Walk(pattern)
        if walk.takes_rest:
            return self._page_of_prefix(walk.prefix, begin, most)
        found: list[str] = []
        target = max(begin, walk.prefix)
        while most > 0:
            at = self._sorted_at(target)
            if at == len(self._pieces):
                return found, ""
            target, looked_at = walk.visit(self._pieces[at], target, most, found)
            if not target:
                return found, ""
            most -= looked_at
        return found, target

    def _page_of_prefix(self, prefix: str, begin: str, most: int) -> tuple[list[str], str]:
        """Do the same as `page` where all names with a prefix match: they are taken as slices of the
        pieces."""
        found: list[str] = []
        target, bound = max(begin, prefix), prefix[:-1] + _AFTER_DOT
        while most > 0:
            at = self._sorted_at(target)
            if at == len(self._pieces):
                return found, ""
            piece = self._pieces[at]
            first = bisect_left(piece, target)
            end = bisect_left(piece, bound, first) if prefix else len(piece)
            until = min(end, first + most)
            found += piece[first:until]
            most -= until - first
            if until < end:
                return found, piece[until]
            if end < len(piece):
                return found, ""
            target = _just_after(piece[-1])
        return found, target


def _just_after(name: str) -> str:
    return name + "\0"


class _Walk:
    """The path of a walk through the names for one pattern.

    prefix: how all names that match begin: the tokens before the first wildcard, with a dot after them.
    takes_rest: whether all names that begin so do match.
    """

    __slots__ = ("_stars", "_tokens", "prefix", "takes_rest")

    def __init__(self, pattern: str) -> None:
        tokens = pattern.split(".")
        wild = [index for index, token in enumerate(tokens) if token == ANY_TOKEN]
        rest = tokens[-1] == ANY_REST
        known = min([*wild, len(tokens) - 1 if rest else len(tokens)])
        self._tokens = tokens
        self._stars = wild
        self.prefix = ".".join(tokens[:known]) + ("." if 0 < known < len(tokens) else "")
        self.takes_rest = rest and not wild

    def visit(self, piece: list[str], begin: str, most: int, found: list[str]) -> tuple[str, int]:
        """Append to `found` which names of a sorted piece match, from `begin` on.

        most: how many names to look at.
        Return the name to continue from, "" if no later name can match, and how many names were looked at.
        """
        index, target = bisect_left(piece, begin), begin
        for looked_at in range(1, most + 1):
            name = piece[index]
            if not name.startswith(self.prefix):
                return "", looked_at
            jump = self.skip_to(name)
            if jump is None:
                found.append(name)
                index, target = index + 1, _just_after(name)
            elif not jump:
                return "", looked_at
            else:
                index, target = bisect_left(piece, jump, index + 1), jump
            if index == len(piece):
                return target, looked_at
        return target, most

    def skip_to(self, name: str) -> str | None:
        """Return None if the name matches. Otherwise return the next place to look, "" if there is none.

        The name must begin with `prefix`.
        """
        tokens, given = self._tokens, name.split(".")
        for index, token in enumerate(tokens):
            if token == ANY_REST:
                return None if len(given) > index else _just_after(name)
            if index >= len(given):
                return _just_after(name)
            if token in (ANY_TOKEN, given[index]):
                continue
            wanted = ".".join([*given[:index], token])
            if name < wanted:
                return wanted
            if name < wanted + ".":
                return wanted + "."
            return self._advance(given, index)
        if len(given) == len(tokens):
            return None
        return self._advance(given, len(tokens))

    def _advance(self, given: list[str], before: int) -> str:
        """Return the place after the names with the same tokens up to the last wildcard below `before`."""
        for star in reversed(self._stars):
            if star < before:
                return ".".join(given[: star + 1]) + _AFTER_DOT
        return ""
