"""`--watch`: a report that is made again and again, on a terminal in the same place.

Promises: Ctrl-C ends it and is no error. A new size of the terminal is drawn at once. If a look fails after
the first one succeeded, the error is shown in place of the report, and the next look follows.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .. import errors, flags, words
from .choice import SECOND, Choice
from .layout import clean
from .terminal import Screen


async def watched(callback: Callable[..., Awaitable[None]], choice: Choice, given: dict[str, Any]) -> None:
    """Make a report every `choice.watch` ns until Ctrl-C."""
    line = clean(" ".join([errors.PROGRAM, *flags.session().argv]))
    choice.screen = Screen(f"Every {words.go_span(choice.watch)}: {line}")
    shown = False
    try:
        with _resized() as resized:
            while True:
                try:
                    await callback(**given)
                    shown = True
                except errors.CliError as error:
                    if not shown:
                        raise
                    choice.screen.draw(f"{errors.PROGRAM}: error: {clean(error.message)}")
                resized.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(resized.wait(), choice.watch / SECOND)
    except asyncio.CancelledError:
        pass
    finally:
        choice.screen.close()


@contextmanager
def _resized() -> Iterator[asyncio.Event]:
    """Give an event that is set when the terminal gets another size."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    number = getattr(signal, "SIGWINCH", None)  # Windows has none
    if number is not None:
        loop.add_signal_handler(number, event.set)
    try:
        yield event
    finally:
        if number is not None:
            loop.remove_signal_handler(number)
