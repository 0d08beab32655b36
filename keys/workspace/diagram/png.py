"""A scene as PNG, with Pillow (the extra `diagram`)."""

from __future__ import annotations

import io
import itertools
from typing import Any

from ...errors import WorkspaceError
from .scene import Arrow, Box, Dot, Point, Scene, Text

SCALE = 2  # pixels of the picture for one of the scene
LARGEST = 30_000  # pixels of a side: viewers cannot show more
_SANS = ("DejaVuSans.ttf", "Verdana.ttf", "Arial.ttf", "LiberationSans-Regular.ttf")
_BOLD = ("DejaVuSans-Bold.ttf", "Verdana_Bold.ttf", "Arial_Bold.ttf", "LiberationSans-Bold.ttf")
_SQUARE = ("NotoSansCJK-Regular.ttc", "NotoSansCJKjp-Regular.otf", "msgothic.ttc", "PingFang.ttc")
_MONO = ("DejaVuSansMono.ttf", "Menlo.ttc", "Consolas.ttf", "LiberationMono-Regular.ttf")


def png(scene: Scene) -> bytes:
    """Return the PNG file. Raises WorkspaceError without Pillow, or if the picture would be too large."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise WorkspaceError(
            "a PNG needs the library Pillow: pip install 'pyjs[diagram]'; an SVG needs nothing"
        ) from None
    scale = min(SCALE, LARGEST / max(scene.width, scene.height, 1))
    if scale < 0.5:
        raise WorkspaceError("the picture is too large for a PNG: make an SVG")
    image = Image.new("RGB", (round(scene.width * scale), round(scene.height * scale)), "white")
    brush = _Brush(ImageDraw.Draw(image), scale)
    for shape in scene.shapes:
        match shape:
            case Box():
                brush.box(shape)
            case Text():
                brush.text(shape)
            case Arrow():
                brush.arrow(shape)
            case Dot():
                brush.dot(shape)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


class _Brush:
    def __init__(self, draw: Any, scale: float) -> None:
        self._draw, self._scale = draw, scale
        self._fonts: dict[tuple[tuple[str, ...], float], Any] = {}

    def box(self, box: Box) -> None:
        corners = self._points(((box.x, box.y), (box.x + box.width, box.y + box.height)))
        edge = None if box.dashed else box.edge or None
        self._draw.rounded_rectangle(
            corners, box.round * self._scale, box.fill or None, edge, max(1, round(self._scale))
        )
        if box.dashed:
            (left, top), (right, bottom) = (box.x, box.y), (box.x + box.width, box.y + box.height)
            around = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
            self._dashes(around, box.edge, 1, (5, 4))

    def text(self, text: Text) -> None:
        """Draw a text in at most its width: if the font is wider, it gets a smaller size."""
        names: tuple[str, ...] = _MONO if text.mono else _BOLD if text.bold else _SANS
        if any(ord(char) > 0x2E7F for char in text.text):
            names = _SQUARE + names
        size = text.size * self._scale
        wide = self._font(names, size).getlength(text.text)
        most = text.width * self._scale
        font = self._font(names, size if wide <= most else max(1.0, size * most / wide))
        where = (text.x * self._scale, text.y * self._scale)
        self._draw.text(where, text.text, text.colour, font, anchor="ls")

    def arrow(self, arrow: Arrow) -> None:
        if arrow.dashed:
            self._dashes(arrow.points, arrow.colour, 1.6, (6, 4))
        else:
            wide = max(1, round(1.6 * self._scale))
            self._draw.line(self._points(arrow.points), arrow.colour, wide, joint="curve")
        if arrow.head:
            self._draw.polygon(self._points(arrow.tip()), arrow.colour)

    def dot(self, dot: Dot) -> None:
        far = dot.radius
        corners = self._points(((dot.x - far, dot.y - far), (dot.x + far, dot.y + far)))
        self._draw.ellipse(corners, dot.fill)

    def _dashes(self, points: tuple[Point, ...], colour: str, wide: float, dash: tuple[int, int]) -> None:
        on, off = dash
        for (x, y), (tx, ty) in itertools.pairwise(points):
            far = abs(tx - x) + abs(ty - y)  # all of them are horizontal or vertical
            at = 0.0
            while at < far:
                end = min(at + on, far)
                stretch = tuple((x + (tx - x) * p / far, y + (ty - y) * p / far) for p in (at, end))
                self._draw.line(self._points(stretch), colour, max(1, round(wide * self._scale)))
                at = end + off

    def _points(self, points: tuple[Point, ...]) -> list[Point]:
        return [(x * self._scale, y * self._scale) for x, y in points]

    def _font(self, names: tuple[str, ...], size: float) -> Any:
        from PIL import ImageFont

        size = round(size, 1)
        if (names, size) not in self._fonts:
            self._fonts[names, size] = next(filter(None, (_loaded(name, size) for name in names)), None)
            if self._fonts[names, size] is None:
                self._fonts[names, size] = ImageFont.load_default(size)
        return self._fonts[names, size]


def _loaded(name: str, size: float) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(name, size)
    except OSError:
        return None
