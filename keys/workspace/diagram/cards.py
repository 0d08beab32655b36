"""Accounts as cards: a title, exports with ports on the right, imports with ports on the left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from ....protocol.lazy_dataclass import dataclass
from ...claims import Export
from ...nkey import is_public
from ..relations import Relation, Relations
from .scene import width

ROW, LINE, PAD, HEADER, CAPTION = 10.0, 15.0, 14.0, 46.0, 20.0
TITLE_SIZE, KEY_SIZE, TEXT_SIZE, SMALL = 15.0, 10.0, 12.0, 10.0
NARROWEST = 190.0
_LONGEST = 46  # letters in a line


@dataclass(eq=False, slots=True)
class Port:
    """One export or import.

    y: its middle, from the top of the card.
    errors: what is wrong with it.
    """

    kind: str
    lines: list[str]
    private: bool = False
    errors: list[str] = field(default_factory=list)
    y: float = 0

    @property
    def all_lines(self) -> list[str]:
        """Its lines, with the errors last."""
        return self.lines + self.errors


@dataclass(eq=False, slots=True)
class Card:
    """One account.

    known: whether it is in the store.
    layer: its column.
    """

    key: str
    titles: list[str]
    known: bool = True
    system: bool = False
    exports: list[Port] = field(default_factory=list)
    imports: list[Port] = field(default_factory=list)
    layer: int = 0
    x: float = 0
    y: float = 0
    width: float = NARROWEST
    height: float = HEADER

    @property
    def header(self) -> float:
        """The height of the title."""
        return HEADER + (len(self.titles) - 1) * LINE

    @property
    def subtitle(self) -> str:
        """The text below the title: the key, and whether it is the system account."""
        return f"{'system account  ' if self.system else ''}{short(self.key)}"

    def measure(self) -> None:
        """Set the size of the card and the positions of its ports."""
        below = self.header
        widest = max(NARROWEST, width(self.subtitle, KEY_SIZE, mono=True) + 2 * PAD)
        for title in self.titles:
            widest = max(widest, width(title, TITLE_SIZE, bold=True) + 2 * PAD)
        for ports in (self.exports, self.imports):
            below += CAPTION if ports else 0
            for port in ports:
                high = len(port.all_lines) * LINE + ROW
                port.y, below = below + high / 2, below + high
                for line in port.all_lines:
                    widest = max(widest, width(line, TEXT_SIZE, mono=True) + 2 * PAD + ROW)
        self.width, self.height = widest, below + (ROW if self.exports or self.imports else 0)


@dataclass(frozen=True, slots=True)
class Tie:
    """An import, as a line from the exporter's port to the importer's."""

    exporter: Card
    export: Port
    importer: Card
    taken: Port

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the import."""
        return not self.taken.errors


def cards(relations: Relations, system: str) -> tuple[list[Card], list[Tie]]:
    """Return the cards of all accounts, and of exporters that are not in the store.

    system: the key of the system account.
    """
    made: dict[str, Card] = {}
    offers: dict[tuple[str, str, str], Port] = {}
    for key, claims in relations.accounts.items():
        made[key] = Card(key, wrapped(claims.name, 30), system=key == system)
        for export in claims.nats.exports:
            port = _offered(export)
            offers[key, export.type, export.subject] = port
            made[key].exports.append(port)
    ties = [_tie(relation, made, offers) for relation in relations.imports]
    for card in made.values():
        card.measure()
    return list(made.values()), ties


def _offered(export: Export) -> Port:
    name = [export.name] if export.name and export.name != export.subject else []
    lines = [line for text in (*name, export.subject) for line in wrapped(text, _LONGEST)]
    return Port(export.type or "unknown", lines, export.token_req)


def _tie(relation: Relation, made: dict[str, Card], offers: dict[tuple[str, str, str], Port]) -> Tie:
    item, exporter = relation.item, relation.item.account
    if exporter not in made:
        made[exporter] = Card(exporter, ["not in this store"], known=False)
    subject = relation.export.subject if relation.export is not None else item.remote
    where = (exporter, item.type, subject)
    if where not in offers:
        missing = ["no such export"] if made[exporter].known else []
        offers[where] = Port(item.type or "unknown", wrapped(item.remote, _LONGEST), errors=missing)
        made[exporter].exports.append(offers[where])
    texts = [item.name] if item.name and item.name not in {item.subject, item.remote} else []
    texts += [item.local_subject or item.local]
    if item.remote != texts[-1]:
        texts.append(f"from {item.remote}")
    issues = list(relation.issues)
    if relation.export is None and relation.exporter is not None:
        issues.append("The account has no such export")
    if relation.refusal is not None and not issues:
        issues.append(str(relation.refusal))
    lines = [line for text in texts for line in wrapped(text, _LONGEST)]
    port = Port(item.type or "unknown", lines, bool(item.token), [f"! {line}" for line in _words(issues)])
    importer = made[relation.importer.sub]
    importer.imports.append(port)
    return Tie(made[exporter], offers[where], importer, port)


def _words(texts: Iterable[str]) -> list[str]:
    """Return sentences in lines, broken at blanks."""
    lines: list[str] = []
    for text in texts:
        line = ""
        for word in (short(word) if is_public(word) else word for word in text.split()):
            if line and len(line) + len(word) >= _LONGEST:
                lines.append(line)
                line = ""
            line = f"{line} {word}" if line else word
        lines += wrapped(line, _LONGEST)
    return lines


def wrapped(text: str, longest: int) -> list[str]:
    """Return a name or subject in lines, broken after dots and blanks if possible."""
    lines: list[str] = []
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    while len(text) > longest:
        at = max(text.rfind(mark, longest // 2, longest) for mark in ". -_") + 1 or longest
        lines.append(text[:at])
        text = text[at:]
    return [*lines, text]


def short(key: str) -> str:
    """Return a key in short form: its beginning and end."""
    return f"{key[:8]}…{key[-6:]}" if len(key) > 20 else key
