"""The positions of the cards and the paths of the ties, such that nothing overlaps.

Exporters are in a column left of their importers. A tie that passes a column has a place of its own among the
cards there. Between two columns is a gutter in which ties run up or down, each export in a lane of its own.
Ties that lead back (accounts that import from each other) run below all columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field

from ....protocol.lazy_dataclass import dataclass
from .cards import Card, Port, Tie
from .scene import Point

GAP, THROUGH, LANE, MARGIN, EDGE = 26.0, 14.0, 9.0, 22.0, 24.0
_SWEEPS = 6
_NEAR, _NUDGES = 5.0, 40
_WIDEST = 2000.0


@dataclass(eq=False, slots=True)
class Passage:
    """The place of an export's ties in a column that they pass."""

    export: Port
    y: float = 0
    height: float = THROUGH


Item = Card | Passage


@dataclass(slots=True)
class Layout:
    """The whole layout.

    ways: the points of each tie, from the exporter's port to the importer's.
    """

    width: float = 0
    height: float = 0
    ways: list[tuple[Tie, tuple[Point, ...]]] = field(default_factory=list)


def arrange(cards: Sequence[Card], ties: Sequence[Tie], top: float) -> Layout:
    """Place the cards below `top` by setting their x and y; return the layout with the paths of the ties."""
    tied = {id(card) for tie in ties for card in (tie.exporter, tie.importer)}
    inside = [card for card in cards if id(card) in tied]
    loose = [card for card in cards if id(card) not in tied]
    result = _Columns(inside, ties, top).place()
    _rest(loose, result, top)
    return result


class _Columns:
    def __init__(self, cards: list[Card], ties: Sequence[Tie], top: float) -> None:
        self._ties, self._top = ties, top
        self._layer(cards)
        count = 1 + max((card.layer for card in cards), default=-1)
        self._columns: list[list[Item]] = [[] for _ in range(count)]
        for card in cards:
            self._columns[card.layer].append(card)
        self._ways: dict[tuple[int, int], Passage] = {}
        for tie in ties:
            for layer in range(tie.exporter.layer + 1, tie.importer.layer):
                if (id(tie.export), layer) not in self._ways:
                    way = self._ways[id(tie.export), layer] = Passage(tie.export)
                    self._columns[layer].append(way)

    def place(self) -> Layout:
        if not self._columns:
            return Layout()
        self._order()
        heights = [sum(item.height + GAP for item in column) for column in self._columns]
        for column, height in zip(self._columns, heights, strict=True):
            y = self._top + (max(heights) - height) / 2
            for item in column:
                item.y, y = y, y + item.height + GAP
        for _ in range(_SWEEPS):
            self._pull()
        self._space_items()
        bottom = max(item.y + item.height for column in self._columns for item in column)
        lanes = _Lanes(len(self._columns) + 1)
        runs = [self._run(tie, lanes, bottom) for tie in self._ties]
        starts = self._across(lanes)
        ways = [(tie, _points(tie, run, starts, lanes)) for tie, run in zip(self._ties, runs, strict=True)]
        below = max((y for _, points in ways for _, y in points), default=0)
        return Layout(starts[-1] + lanes.width(len(self._columns)) + EDGE, max(bottom, below), ways)

    def _layer(self, cards: list[Card]) -> None:
        """Give each card a column right of its exporters.

        Ties that would close a cycle are ignored for this.
        """
        sources: dict[int, list[Card]] = defaultdict(list)
        for tie in self._ties:
            if tie.exporter is not tie.importer:
                sources[id(tie.importer)].append(tie.exporter)
        done: dict[int, int] = {}
        for first in cards:
            stack, under_way = [(first, iter(sources[id(first)]))], {id(first)}
            while stack:
                card, rest = stack[-1]
                source = next((s for s in rest if id(s) not in done and id(s) not in under_way), None)
                if source is not None:
                    stack.append((source, iter(sources[id(source)])))
                    under_way.add(id(source))
                    continue
                stack.pop()
                under_way.discard(id(card))
                known = [done[id(s)] for s in sources[id(card)] if id(s) in done and id(s) != id(card)]
                done.setdefault(id(card), 1 + max(known, default=-1))
        for card in cards:
            card.layer = done[id(card)]

    def _order(self) -> None:
        """Sort each column by the positions of the neighbours, some times back and forth."""
        rank = {id(item): float(at) for column in self._columns for at, item in enumerate(column)}
        for sweep in range(_SWEEPS):
            columns = self._columns if sweep % 2 == 0 else self._columns[::-1]
            for column in columns:
                column.sort(key=lambda item: self._middle(item, rank))
                rank.update({id(item): float(at) for at, item in enumerate(column)})

    def _middle(self, item: Item, rank: dict[int, float]) -> float:
        near = [rank[id(other)] for other in self._near(item)]
        return sum(near) / len(near) if near else rank[id(item)]

    def _near(self, item: Item) -> list[Item]:
        found: list[Item] = []
        for tie in self._ties:
            if tie.importer.layer <= tie.exporter.layer:
                continue
            chain = self._chain(tie)
            if item in chain:
                at = chain.index(item)
                found += chain[max(0, at - 1) : at] + chain[at + 1 : at + 2]
        return found

    def _chain(self, tie: Tie) -> list[Item]:
        between = range(tie.exporter.layer + 1, tie.importer.layer)
        return [tie.exporter, *(self._ways[id(tie.export), layer] for layer in between), tie.importer]

    def _pull(self) -> None:
        """Move the items of each column towards their neighbours, as far as their order allows."""
        for column in self._columns:
            for at, item in enumerate(column):
                near = [other.y + other.height / 2 for other in self._near(item)]
                if not near:
                    continue
                wanted = sum(near) / len(near) - item.height / 2
                least = column[at - 1].y + column[at - 1].height + GAP if at else self._top
                most = column[at + 1].y - GAP - item.height if at + 1 < len(column) else wanted
                item.y = max(least, min(wanted, most))

    def _space_items(self) -> None:
        """Move items down a little if lines of two exports would be too near each other in a gutter."""
        taken = {id(tie.taken): id(tie.export) for tie in self._ties}
        leaving: list[tuple[float, int]] = []
        for column in self._columns:
            least = self._top
            for item in column:
                item.y = max(round(item.y), least)
                for _ in range(_NUDGES):
                    if not _too_near(_left_ends(item, taken), leaving):
                        break
                    item.y += _NEAR
                least = item.y + item.height + GAP
            leaving = [end for item in column for end in _right_ends(item)]

    def _run(self, tie: Tie, lanes: _Lanes, bottom: float) -> list[tuple[int, float, float]]:
        """Return (gutter, y from, y to) of a tie; gutter n is left of column n."""
        start, end = tie.exporter.y + tie.export.y, tie.importer.y + tie.taken.y
        if tie.importer.layer > tie.exporter.layer:
            ys = [start, *(item.y + item.height / 2 for item in self._chain(tie)[1:-1]), end]
            gutters = range(tie.exporter.layer + 1, tie.importer.layer + 1)
            run = [(gutter, ys[at], ys[at + 1]) for at, gutter in enumerate(gutters)]
        else:
            under = lanes.under(tie.export, bottom)
            run = [(tie.exporter.layer + 1, start, under), (tie.importer.layer, under, end)]
        for gutter, first, last in run:
            lanes.take(gutter, tie.export, first, last)
        return run

    def _across(self, lanes: _Lanes) -> list[float]:
        """Set x of the cards; return where each gutter begins."""
        x, starts = EDGE, []
        for at, column in enumerate(self._columns):
            starts.append(x)
            x += lanes.width(at)
            wide = max((item.width for item in column if isinstance(item, Card)), default=0)
            for item in column:
                if isinstance(item, Card):
                    item.width, item.x = wide, x
            x += wide
        return [*starts, x]


def _left_ends(item: Item, taken: dict[int, int]) -> list[tuple[float, int]]:
    """Return (y, whose export) of the lines that reach an item from the left."""
    if isinstance(item, Passage):
        return [(item.y + item.height / 2, id(item.export))]
    return [(item.y + port.y, taken[id(port)]) for port in item.imports if id(port) in taken]


def _right_ends(item: Item) -> list[tuple[float, int]]:
    if isinstance(item, Passage):
        return [(item.y + item.height / 2, id(item.export))]
    return [(item.y + port.y, id(port)) for port in item.exports]


def _too_near(some: Sequence[tuple[float, int]], others: Sequence[tuple[float, int]]) -> bool:
    return any(abs(y - other) < _NEAR and whose != theirs for y, whose in some for other, theirs in others)


class _Lanes:
    """The lanes of the gutters: each export's ties have their own if others pass there."""

    def __init__(self, gutters: int) -> None:
        self._spans: list[dict[int, tuple[float, float]]] = [{} for _ in range(gutters)]
        self._under: dict[int, float] = {}
        self._made: list[dict[int, int]] | None = None

    def take(self, gutter: int, export: Port, first: float, last: float) -> None:
        low, high = sorted((first, last))
        old = self._spans[gutter].get(id(export), (low, high))
        self._spans[gutter][id(export)] = (min(low, old[0]), max(high, old[1]))

    def under(self, export: Port, bottom: float) -> float:
        """Return the height below the columns at which an export's ties lead back."""
        return self._under.setdefault(id(export), bottom + GAP + LANE * len(self._under))

    def width(self, gutter: int) -> float:
        spans = self._spans[gutter]
        if not spans:
            return 0.0 if gutter in {0, len(self._spans) - 1} else 2 * MARGIN
        return 2 * MARGIN + LANE * max(self._numbers(gutter).values())

    def x(self, gutter: int, export: Port) -> float:
        """Return the position of the lane, from the gutter's left."""
        return MARGIN + LANE * self._numbers(gutter)[id(export)]

    def _numbers(self, gutter: int) -> dict[int, int]:
        if self._made is None:
            self._made = [_coloured(spans) for spans in self._spans]
        return self._made[gutter]


def _coloured(spans: dict[int, tuple[float, float]]) -> dict[int, int]:
    """Give each span the first lane in which it touches no other one."""
    lanes: list[float] = []
    result: dict[int, int] = {}
    for key, (low, high) in sorted(spans.items(), key=lambda item: item[1]):
        free = next((at for at, end in enumerate(lanes) if end + LANE < low), len(lanes))
        lanes[free:] = [high, *lanes[free + 1 :]]
        result[key] = free
    return result


def _points(
    tie: Tie,
    run: Iterable[tuple[int, float, float]],
    starts: Sequence[float],
    lanes: _Lanes,
) -> tuple[Point, ...]:
    points: list[Point] = [(tie.exporter.x + tie.exporter.width, tie.exporter.y + tie.export.y)]
    for gutter, first, last in run:
        x = starts[gutter] + lanes.x(gutter, tie.export)
        points += [(x, first), (x, last)]
    points.append((tie.importer.x, tie.importer.y + tie.taken.y))
    return tuple(points)


def _rest(cards: Sequence[Card], result: Layout, top: float) -> None:
    """Place cards without ties below the others, in rows."""
    widest = max(result.width, min(_WIDEST, sum(card.width + GAP for card in cards) + EDGE))
    x, y, high = EDGE, (result.height + 2 * GAP if result.ways else top), 0.0
    for card in cards:
        if x > EDGE and x + card.width + EDGE > widest:
            x, y, high = EDGE, y + high + GAP, 0.0
        card.x, card.y = x, y
        x, high = x + card.width + GAP, max(high, card.height)
        result.width = max(result.width, x - GAP + EDGE)
        result.height = max(result.height, card.y + card.height)
