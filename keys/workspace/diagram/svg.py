"""A scene as SVG. Every text is escaped, and has a width that it keeps in whatever font the viewer uses."""

from __future__ import annotations

from html import escape

from .scene import Arrow, Box, Dot, Scene, Shape, Text

_SANS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
_MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"


def svg(scene: Scene) -> str:
    """Return the SVG document."""
    size = f'width="{_n(scene.width)}" height="{_n(scene.height)}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {_n(scene.width)} {_n(scene.height)}" role="img">',
        f"<title>{_text(scene.title)}</title>",
        *map(_shape, scene.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _shape(shape: Shape) -> str:
    match shape:
        case Box():
            return _box(shape)
        case Text():
            return _line(shape)
        case Dot():
            return (
                f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}" fill="{shape.fill}"/>'
            )
        case Arrow():
            return _arrow(shape)


def _box(box: Box) -> str:
    edge = f' stroke="{box.edge}" stroke-width="1"' if box.edge else ""
    dash = ' stroke-dasharray="5 4"' if box.dashed else ""
    return (
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" '
        f'rx="{_n(box.round)}" fill="{box.fill or "none"}"{edge}{dash}/>'
    )


def _line(text: Text) -> str:
    if not text.text:
        return ""
    weight = ' font-weight="bold"' if text.bold else ""
    return (
        f'<text x="{_n(text.x)}" y="{_n(text.y)}" font-family="{_MONO if text.mono else _SANS}" '
        f'font-size="{_n(text.size)}"{weight} fill="{text.colour}" textLength="{_n(text.width)}" '
        f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{_text(text.text)}</text>'
    )


def _arrow(arrow: Arrow) -> str:
    path = "M" + " L".join(f"{_n(x)} {_n(y)}" for x, y in arrow.points)
    dash = ' stroke-dasharray="6 4"' if arrow.dashed else ""
    line = f'<path d="{path}" fill="none" stroke="{arrow.colour}" stroke-width="1.6"{dash}/>'
    if not arrow.head:
        return line
    corners = " ".join(f"{_n(x)},{_n(y)}" for x, y in arrow.tip())
    return f'{line}\n<polygon points="{corners}" fill="{arrow.colour}"/>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    """Return a text for XML, in which letters that XML forbids are replaced."""
    kept = "".join(c if c in "\t\n" or " " <= c <= "\ud7ff" or c >= "\ue000" else "\ufffd" for c in text)
    return escape(kept.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))
