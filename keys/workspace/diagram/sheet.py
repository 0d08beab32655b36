"""Operator, accounts and users of a store as a picture: cards, each right of the card that signed it."""

from __future__ import annotations

from dataclasses import field

from ....protocol.lazy_dataclass import dataclass
from ...folders.keystore import Keystore
from ...folders.store import OperatorStore
from ...nkey import is_public
from .cards import HEADER, KEY_SIZE, LINE, NARROWEST, PAD, TEXT_SIZE, TITLE_SIZE, short, wrapped
from .layout import EDGE
from .object import DiagramOptions, draw_objects
from .picture import BAD, FAINT, FRAME, HEAD, HEAD_SYSTEM, INK, PANEL, PAPER
from .scene import Arrow, Box, Scene, Text, width

_TOP, _TITLE = 84.0, 18.0
_GAP, _GUTTER, _LONGEST = 22.0, 64.0, 46
_COLUMNS = ("operator", "account", "user")


def object_picture(store: OperatorStore, keystore: Keystore, now: int, shown: DiagramOptions) -> Scene:
    """Return a picture of operator, accounts and users, with what is `shown`. `now`: ns.

    Raises FolderError.
    """
    sheet = Sheet()
    draw_objects(sheet, store, keystore, now, shown)
    scene = Scene(f"Operator {store.operator().name}, who signed whom")
    for at, line in enumerate(wrapped(scene.title, 70)):
        scene.shapes.append(Text(EDGE, 34 + at * 22, line, _TITLE, INK, bold=True))
    sheet.draw(scene)
    return scene


@dataclass(eq=False, slots=True)
class SheetCard:
    """One card: a title, and lines as (text, colour)."""

    name: str
    kind: str
    key: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    signed: list[SheetCard] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    x: float = 0
    y: float = 0

    @property
    def header(self) -> float:
        """The height of the title."""
        return HEADER + (len(self.titles) - 1) * LINE

    @property
    def height(self) -> float:
        """The height of the card."""
        return self.header + len(self.lines) * LINE + (PAD if self.lines else 0)

    @property
    def width(self) -> float:
        """The width that the texts need."""
        titles = [width(title, TITLE_SIZE, bold=True) for title in self.titles]
        lines = [width(text, TEXT_SIZE) for text, _ in self.lines]
        subtitle = width(self.subtitle, KEY_SIZE, mono=True)
        return max(NARROWEST, subtitle + 2 * PAD, *(wide + 2 * PAD for wide in titles + lines))

    @property
    def subtitle(self) -> str:
        """The kind of the card, and its key."""
        return f"{self.kind}  {short(self.key)}"


class Sheet:
    """The canvas; what is a part of another card becomes lines of that card."""

    def __init__(self) -> None:
        self._leaves: dict[str, SheetCard] = {}
        self._columns: dict[str, list[SheetCard]] = {column: [] for column in _COLUMNS}
        self._open: SheetCard | None = None

    def open(self, shape: str, name: str, key: str, kind: str) -> None:
        """Begin a card, or a section of one."""
        owner = self._leaves.get(key.partition("_")[0])
        if owner is None:
            owner = SheetCard(name, kind, key, titles=wrapped(name, 28))
            self._leaves[key] = owner
            self._columns[kind.rpartition(" ")[2]].append(owner)
        else:
            owner.lines.append((kind, FAINT))
        self._open = owner

    def close(self) -> None:
        """End the card or section."""
        self._open = None

    def line(self, text: str) -> None:
        """Add a line, in the syntax of PlantUML, to what is open."""
        assert self._open is not None
        if text.startswith("--- "):
            self._write(text.strip("- "), FAINT)
        elif text.startswith("=="):
            self._write("Validation", BAD)
        elif text != "key => stored":
            key, arrow, stored = text.partition(" => ")
            plain = f"{short(key)}  {'' if stored == 'true' else 'not '}stored" if arrow else text
            bad = text.startswith(("Errors = ", "Warnings = ")) and not text.endswith("= ")
            self._write(plain.replace('""', ""), BAD if bad else INK)

    def tie(self, one: str, mark: str, other: str, text: str = "") -> None:
        """Connect a card to those that it signed; parts need no line."""
        if mark == "--" and text.startswith("signed"):
            key = one.partition("::")[0].partition("_")[0]
            self._leaves[key].signed.append(self._leaves[other])

    def note(self, of: str, description: str, url: str) -> None:
        """Add a note to a card."""
        self._open = self._leaves[of]
        for text in (*description.splitlines(), url):
            if text:
                self._write(text, FAINT)
        self._open = None

    def draw(self, scene: Scene) -> None:
        """Put the cards and ties into a scene, and set its size."""
        x = EDGE
        for cards in self._columns.values():
            for card in cards:
                card.x = x
            x += max((card.width for card in cards), default=-_GUTTER) + _GUTTER
        y = _TOP
        for card in self._roots():
            y = self._place(card, y)
        for card in self._leaves.values():
            for signed in card.signed:
                _tie(scene, card, signed)
        for card in self._leaves.values():
            _draw(scene, card)
        heads = [text.x + text.width for text in scene.shapes if isinstance(text, Text)]
        scene.width, scene.height = max([x - _GUTTER, *heads]) + EDGE, y + EDGE - _GAP
        scene.shapes.insert(0, Box(0, 0, scene.width, scene.height, PAPER))

    def _roots(self) -> list[SheetCard]:
        """Return the cards that no other card here signed."""
        signed = {id(leaf) for card in self._leaves.values() for leaf in card.signed}
        return [card for card in self._leaves.values() if id(card) not in signed]

    def _place(self, card: SheetCard, y: float) -> float:
        """Place a card and those that it signed from `y` on; return where the next one begins."""
        card.y, beside = y, y
        for signed in card.signed:
            beside = self._place(signed, beside)
        return max(beside, y + card.height + _GAP)

    def _write(self, text: str, colour: str) -> None:
        assert self._open is not None
        words = " ".join(short(word) if is_public(word) else word for word in text.split())
        self._open.lines += [(line, colour) for line in wrapped(words, _LONGEST)]


def _tie(scene: Scene, card: SheetCard, signed: SheetCard) -> None:
    start, end = card.x + card.width, signed.x
    y, to, turn = card.y + HEADER / 2, signed.y + HEADER / 2, signed.x - _GUTTER / 2
    points = ((start, y), (end, to)) if y == to else ((start, y), (turn, y), (turn, to), (end, to))
    scene.shapes.append(Arrow(points, FRAME))


def _draw(scene: Scene, card: SheetCard) -> None:
    draw = scene.shapes.append
    head = HEAD_SYSTEM if card.kind.startswith("system") else HEAD
    draw(Box(card.x, card.y, card.width, card.height, PANEL, FRAME, 6))
    draw(Box(card.x, card.y, card.width, card.header, head, "", 6))
    for at, title in enumerate(card.titles):
        draw(Text(card.x + PAD, card.y + 21 + at * LINE, title, TITLE_SIZE, PAPER, bold=True))
    draw(Text(card.x + PAD, card.y + card.header - 9, card.subtitle, KEY_SIZE, "#cbd5e1", mono=True))
    for at, (text, colour) in enumerate(card.lines):
        y = card.y + card.header + (at + 1) * LINE
        draw(Text(card.x + PAD, y, text, TEXT_SIZE, colour))
