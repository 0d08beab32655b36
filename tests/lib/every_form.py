"""What a command shows, in every form of `-o`, of one run of it.

A `FormRecorder` stands in for `output.show` and `output.show_page`: what a command gives them is printed in
each form, in the place and with the settings of the run. So a command is parsed and run once, not eight
times.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyjs.cli import output
from pyjs.cli.output.choice import OutputChoice, Shape, chosen

FOR_PEOPLE = ("table", "wide")
FOR_PROGRAMS = ("json", "ndjson", "yaml", "csv", "md", "name")
TEMPLATE, LEGACY = "--template", "--json"


class FormRecorder:
    """Keeps what was shown, by form: the text of each call.

    endless: whether the run is to end when something has been shown, as by Ctrl-C.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.endless = False
        self.printed: dict[str, list[str]] = {}
        self.shape = Shape()
        monkeypatch.setattr(output, "show", self._instead(output.show))
        monkeypatch.setattr(output, "show_page", self._instead(output.show_page))

    def begin(self, *, endless: bool = False) -> None:
        """Forget what was shown before; the next command may be an endless one."""
        self.printed, self.endless, self.shape = {}, endless, Shape()

    def _instead(self, original: Callable[..., None]) -> Callable[..., None]:
        def show(first: Any, *rest: Any, **more: Any) -> None:
            choice = chosen()
            self.shape = choice.shape
            people = output.is_for_people()
            for form in FOR_PEOPLE if people else (*FOR_PROGRAMS, TEMPLATE, LEGACY):
                with _chosen(choice, form, first), contextlib.redirect_stdout(io.StringIO()) as out:
                    original(first, *rest, **more)
                self.printed.setdefault(form, []).append(out.getvalue())
            if self.endless:
                raise asyncio.CancelledError

        return show


@contextlib.contextmanager
def _chosen(choice: OutputChoice, form: str, first: Any) -> Iterator[None]:
    """Have a form be the one that the user chose."""
    kept = choice.format, choice.template, choice.json, choice.screen
    choice.format = "" if form in (TEMPLATE, LEGACY) else form
    choice.template = f"{{{_field_of(first)}}}" if form == TEMPLATE else ""
    choice.json, choice.screen = form == LEGACY, None
    try:
        yield
    finally:
        choice.format, choice.template, choice.json, choice.screen = kept


def _field_of(first: Any) -> str:
    """Return the name of a field of what is shown: of a table, or of a document."""
    return str(next(iter(first), "none")) if isinstance(first, dict) else first.table.columns[0].field
