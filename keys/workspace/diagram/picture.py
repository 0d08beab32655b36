"""Exports and imports of a store's accounts as a picture: cards, and arrows along which messages go."""

from __future__ import annotations

from ...folders.store import OperatorStore
from ..relations import Relations
from .cards import (
    CAPTION,
    KEY_SIZE,
    LINE,
    PAD,
    ROW,
    SMALL,
    TEXT_SIZE,
    TITLE_SIZE,
    Card,
    Port,
    Tie,
    cards,
    wrapped,
)
from .layout import EDGE, arrange
from .scene import Arrow, Box, Dot, Point, Scene, Text, width

INK, FAINT, PAPER, PANEL = "#1f2937", "#6b7280", "#ffffff", "#f8fafc"
HEAD, HEAD_SYSTEM, HEAD_UNKNOWN, FRAME = "#334155", "#0f766e", "#b91c1c", "#94a3b8"
STREAM, SERVICE, BAD = "#2563eb", "#c2410c", "#dc2626"
_COLOURS = {"stream": STREAM, "service": SERVICE}
_TOP, _TITLE = 84.0, 18.0
_LEGEND = (
    (STREAM, "stream: messages go from the exporter to the importer"),
    (SERVICE, "service: requests go from the importer to the exporter"),
    (BAD, "does not work as it is: see the remark in the importing account"),
)


def component_picture(store: OperatorStore, now: int) -> Scene:
    """Return a picture of the accounts of a store. `now`: ns, for what has expired. Raises FolderError."""
    operator = store.operator()
    made, ties = cards(Relations.read(store, now), operator.nats.system_account)
    title = f"Accounts of operator {operator.name}"
    scene = Scene(title)
    place = arrange(made, ties, _TOP)
    lines = wrapped(title, 70)
    for at, line in enumerate(lines):
        scene.shapes.append(Text(EDGE, 34 + at * 22, line, _TITLE, INK, bold=True))
    count = f"{sum(card.known for card in made)} accounts, {len(ties)} imports"
    scene.shapes.append(Text(EDGE, 34 + len(lines) * 22, count, TEXT_SIZE, FAINT))
    for tie, points in place.ways:
        scene.shapes.append(_arrow(tie, points))
    for card in made:
        _draw(scene, card)
    _legend(scene, place.height + 40)
    widest = [place.width, *(s.x + s.width + EDGE for s in scene.shapes if isinstance(s, Text))]
    scene.width, scene.height = max(widest), place.height + 40 + LINE * 1.4 * (len(_LEGEND) + 1) + EDGE
    scene.shapes.insert(0, Box(0, 0, scene.width, scene.height, PAPER))
    return scene


def _arrow(tie: Tie, points: tuple[Point, ...]) -> Arrow:
    colour = _COLOURS.get(tie.taken.kind, FAINT) if tie.sound else BAD
    along = points[::-1] if tie.taken.kind == "service" else points
    return Arrow(along, colour, dashed=not tie.sound)


def _draw(scene: Scene, card: Card) -> None:
    draw = scene.shapes.append
    head = HEAD_SYSTEM if card.system else HEAD if card.known else HEAD_UNKNOWN
    draw(Box(card.x, card.y, card.width, card.height, PANEL, FRAME, 6, dashed=not card.known))
    draw(Box(card.x, card.y, card.width, card.header, head, "", 6))
    for at, title in enumerate(card.titles):
        draw(Text(card.x + PAD, card.y + 21 + at * LINE, title, TITLE_SIZE, PAPER, bold=True))
    draw(Text(card.x + PAD, card.y + card.header - 9, card.subtitle, KEY_SIZE, "#cbd5e1", mono=True))
    for word, ports, right in (("exports", card.exports, True), ("imports", card.imports, False)):
        if ports:
            first = ports[0]
            above = card.y + first.y - (len(first.all_lines) * LINE + ROW) / 2
            x = card.x + (card.width - PAD - width(word, SMALL) if right else PAD)
            draw(Text(x, above - CAPTION + 14, word, SMALL, FAINT))
        for port in ports:
            _row(scene, card, port, right=right)


def _row(scene: Scene, card: Card, port: Port, *, right: bool) -> None:
    colour = _COLOURS.get(port.kind, FAINT)
    lines = port.all_lines
    middle, high = card.y + port.y, len(lines) * LINE + ROW
    wide = max(width(line, TEXT_SIZE, mono=True) for line in lines) + 2 * PAD
    x = card.x + (card.width - wide - 4 if right else 4)
    fill = "#fef2f2" if port.errors else "#ffffff"
    scene.shapes.append(
        Box(x, middle - high / 2 + 1, wide, high - 2, fill, colour if port.private else "#e2e8f0", 4)
    )
    for at, line in enumerate(lines):
        inside = x + (wide - PAD - width(line, TEXT_SIZE, mono=True) if right else PAD)
        ink = BAD if at >= len(port.lines) else INK
        y = middle - high / 2 + ROW / 2 + (at + 0.75) * LINE
        scene.shapes.append(Text(inside, y, line, TEXT_SIZE, ink, mono=True))
    scene.shapes.append(Dot(card.x + (card.width if right else 0), middle, 4, colour))


def _legend(scene: Scene, y: float) -> None:
    for at, (colour, text) in enumerate(_LEGEND):
        line = y + at * LINE * 1.4
        scene.shapes.append(Arrow(((EDGE, line - 4), (EDGE + 40, line - 4)), colour, dashed=colour == BAD))
        scene.shapes.append(Text(EDGE + 52, line, text, TEXT_SIZE, FAINT))
    note = "a coloured frame: private, needs an activation token"
    scene.shapes.append(Text(EDGE + 52, y + len(_LEGEND) * LINE * 1.4, note, TEXT_SIZE, FAINT))
