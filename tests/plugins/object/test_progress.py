"""A bar of progress ends full, whatever was estimated before."""

from __future__ import annotations

import io
import re

import pytest
from pyjs.plugins.object.progress import progress


class Terminal(io.StringIO):
    """A terminal that remembers what was drawn."""

    def isatty(self) -> bool:
        return True


def opened(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal in place of stderr. (Set in a fixture, pytest would replace it before the test.)"""
    made = Terminal()
    monkeypatch.setattr("sys.stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return made


def last(terminal: Terminal) -> tuple[str, str]:
    """Return what is done and what there is in all, as they were drawn last."""
    text = re.sub("\x1b[^a-zA-Z]*[a-zA-Z]", "", terminal.getvalue())
    found: list[tuple[str, str]] = re.findall(r"([0-9.?]+)/([0-9.?]+) [KM]?i?[bB]", text)
    return found[-1]


@pytest.mark.parametrize("total", [61_000_000, 50_000_000, None])
def test_it_ends_full(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    terminal = opened(monkeypatch)
    with progress(True, "ORDERS", total) as bar:
        bar(60_000_000)
    done, whole = last(terminal)
    assert done == whole == "57.2"


def test_what_is_expected_may_be_told_later(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = opened(monkeypatch)
    with pytest.raises(OSError, match="cut"), progress(True, "ORDERS", 61_000_000) as bar:
        bar.expect(4_194_304)
        bar(1_048_576)
        raise OSError("cut")
    assert last(terminal) == ("1.0", "4.0")
