"""The terminal that stdout is, if it is one: its size, a pager for long texts, and a screen that is redrawn.

Promises: in a pipe there is no width, no pager and no escape sequence. If the pager cannot be
started, the text is printed directly. Whatever ends a watch, the terminal wraps its lines as before.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from .. import flags
from . import folding
from .cells import shortened, width_of
from .extent import size

PAGER = ("PYJS_PAGER", "PAGER")  # the first one that is set decides; empty or `cat`: no pager
UNUSABLE = ("dumb", "")  # values of TERM that say nothing moves the cursor


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def width() -> int | None:
    """Return how wide lines may be; None for a pipe, where nothing is cut off."""
    given = flags.session().columns
    if given:
        return given
    return size().columns if is_terminal() else None


def folded(text: str) -> str:
    """Return a text with its lines broken as the terminal needs it; as it is in a pipe.

    A line with a word that is wider than the terminal stays as it is, so that the word can be copied.
    """
    return folding.output(text, size().columns, whole=True) if is_terminal() else text


def styled(text: str, colour: str, *, bold: bool = False) -> str:
    """Return a text in a colour; as it is in a pipe, or where `NO_COLOR` is set.

    Yellow is not to be read on a light terminal, nor blue on a dark one: only who asks for them gets them.
    """
    if not is_terminal() or os.environ.get("NO_COLOR"):
        return text
    return click.style(text, fg=colour, bold=bold or None)


def write(text: str, *, wide: bool = False) -> None:
    """Write a text and a newline to stdout, through a pager if it is longer than the screen.

    wide: whether lines may be wider than the screen; the pager then scrolls sideways.
    """
    if not is_terminal() or not _is_too_large(text, wide=wide) or not _paged(text, wide=wide):
        click.echo(text)


def _is_too_large(text: str, *, wide: bool) -> bool:
    columns, lines = size()
    if text.count("\n") + 2 > lines:
        return True
    return wide and any(width_of(line) > columns for line in text.split("\n"))


def _pager() -> list[str]:
    """Return the command of the pager; nothing if there is to be none."""
    if flags.session().given.get("no-pager") or os.environ.get("TERM", "") in UNUSABLE:
        return []
    import shlex
    import shutil

    chosen = next((os.environ[name] for name in PAGER if name in os.environ), "less")
    try:
        words = shlex.split(chosen)
    except ValueError:
        return []
    return words if words and words[0] != "cat" and shutil.which(words[0]) else []


def _paged(text: str, *, wide: bool) -> bool:
    command = _pager()
    if not command:
        return False
    import subprocess

    # less: end at once if all fits, keep colours, leave the text on the screen; as git starts it. Lines that
    # are not wrapped (S) always fit for less, so it must not end then.
    settings = {"LESS": "RXS" if wide else "FRX", "LESSCHARSET": "utf-8", **os.environ}
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=settings) as pager, _uninterrupted():
            pager.communicate(f"{text}\n".encode(errors="replace"))
    except OSError:
        return False
    return True


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Leave Ctrl-C to the pager: less stops a search with it."""
    kept = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, kept)


class Screen:
    """The terminal, with one text drawn over the one before. In a pipe the texts follow each other.

    heading: the line above them.
    """

    def __init__(self, heading: str) -> None:
        self.heading = heading
        self.live = is_terminal() and os.environ.get("TERM", "") not in UNUSABLE
        self._drawn = False

    def draw(self, text: str) -> None:
        """Show a text. What is longer than the screen is cut off, and a last line says so."""
        if not self.live:
            click.echo(text)
            return
        columns, height = size()
        lines = [shortened(self.heading, columns), "", *text.splitlines()]
        if len(lines) > height:
            hidden = len(lines) - height + 1
            lines = [*lines[: height - 1], f"… {hidden} more lines"]
        start = "\x1b[H" if self._drawn else "\x1b[2J\x1b[H"
        # Lines are not wrapped meanwhile: one that is too long would move all those below it. What was there
        # is erased before a line is written: behind one that fills its row, the cursor is still on its end.
        erased = "".join(f"\x1b[K{line}\n" for line in lines[:-1]) + f"\x1b[J{lines[-1]}"
        frame = f"\x1b[?7l{start}{erased}\x1b[?7h"
        self._drawn = True
        click.echo(frame, nl=False)

    def close(self) -> None:
        """Leave the last text on the screen, with the cursor below it."""
        if self._drawn:
            click.echo()
