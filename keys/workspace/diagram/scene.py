"""A drawing as shapes, before it becomes SVG or PNG. Units are pixels, y grows downwards.

Fonts are not measured here. A text gets the width that it may take, from a rough rule for the width of
letters, and the code that draws it makes it fit.
"""

from __future__ import annotations

from dataclasses import field

from ....protocol.lazy_dataclass import dataclass

Point = tuple[float, float]
_HEAD = 10.0  # pixels
_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[]{}-/ "), frozenset("mwMW@%&")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle.

    fill, edge: colours as `#rrggbb`, "" for none.
    round: the radius of its corners.
    """

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    edge: str = ""
    round: float = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text whose baseline starts at (x, y).

    mono: whether all letters have the same width.
    """

    x: float
    y: float
    text: str
    size: float
    colour: str
    bold: bool = False
    mono: bool = False

    @property
    def width(self) -> float:
        """The width that the text may take."""
        return width(self.text, self.size, bold=self.bold, mono=self.mono)


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line through points, with an arrowhead at its end if `head` is set."""

    points: tuple[Point, ...]
    colour: str
    head: bool = True
    dashed: bool = False

    def tip(self) -> tuple[Point, Point, Point]:
        """The three corners of the arrowhead; the last segment must be horizontal or vertical."""
        (fx, fy), (x, y) = self.points[-2:]
        if fy == y:
            back = x - _HEAD if x > fx else x + _HEAD
            return (x, y), (back, y - _HEAD / 2), (back, y + _HEAD / 2)
        back = y - _HEAD if y > fy else y + _HEAD
        return (x, y), (x - _HEAD / 2, back), (x + _HEAD / 2, back)


@dataclass(frozen=True, slots=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str


Shape = Box | Text | Arrow | Dot


@dataclass(slots=True)
class Scene:
    """A drawing: its size, a title for those who cannot see it, and its shapes, the lowest first."""

    title: str
    width: float = 0
    height: float = 0
    shapes: list[Shape] = field(default_factory=list)


def width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Return the width that a text of this size (pixels) needs."""
    if mono:
        return sum(1.2 if ord(char) > 0x2E7F else 0.61 for char in text) * size
    return sum(map(_em, text)) * size * (1.06 if bold else 1)


def _em(char: str) -> float:
    if char in _NARROW:
        return 0.36
    if char in _WIDE:
        return 0.95
    if ord(char) > 0x2E7F:  # Chinese, Japanese, Korean and similar letters are square
        return 1.1
    return 0.74 if char.isupper() else 0.62
