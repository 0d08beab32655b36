"""What the user of a command chose, and what the command prints.

The options (`options.py`) fill in the `OutputChoice` of a run; whoever shows a result reads it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import click

from ...protocol.lazy_dataclass import dataclass
from .columns import Table

if TYPE_CHECKING:
    from .terminal import Screen

KEY = "pyjs.cli.output"  # where the choice of a run is kept
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Shape:
    """What a command prints: a list or several, or the page of a document.

    alternative: the tables that it prints instead with another argument.
    page: the name of the document in `pyjs schema cli`.
    named: whether the document has a name, for `-o name`.
    legacy: what `--json` prints, where that is the shape of `nats`; empty: as `-o json`.
    """

    tables: tuple[Table, ...] = ()
    alternative: tuple[Table, ...] = ()
    page: str = ""
    legacy: str = ""
    named: bool = True

    @property
    def has_names(self) -> bool:
        """Whether there is anything that `-o name` could print."""
        first = (*self.tables[:1], *self.alternative[:1])
        return any(table.has_names for table in first) if first else self.named


@dataclass()
class OutputChoice:
    """What the user chose: a format or a template, and how a watch goes on.

    wide: the flag that shows every column of a table; empty if the command has none.
    """

    format: str = ""
    template: str = ""
    json: bool = False
    watch: int = 0  # nanoseconds between two looks; 0: look once
    screen: Screen | None = None  # of a watch
    wide: str = ""
    shape: Shape = field(default_factory=Shape)


def chosen() -> OutputChoice:
    """Return what was chosen in the run; outside of a command, a table."""
    context = click.get_current_context(silent=True)
    if context is None:
        return OutputChoice()
    found = context.meta.setdefault(KEY, OutputChoice())
    assert isinstance(found, OutputChoice)
    return found
