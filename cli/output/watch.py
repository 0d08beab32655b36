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
from ..errors import UsageError
from ..loop import need_loop
from ..proposal import typed_line
from .cells import clean
from .choice import SECOND, OutputChoice, chosen
from .terminal import Screen

ONCE = ("csv", "yaml", "md")  # formats that have a beginning, and so cannot follow each other


async def watched(
    callback: Callable[..., Awaitable[None]], choice: OutputChoice, given: dict[str, Any]
) -> None:
    """Make a report every `choice.watch` ns until Ctrl-C."""
    line = clean(typed_line())
    flags.session().picked = {}
    await repeated(
        lambda: callback(**given), f"Every {words.go_span(choice.watch)}: {line}", choice.watch / SECOND
    )


async def repeated(report: Callable[[], Awaitable[None]], heading: str, seconds: float) -> None:
    """Make a report again and again until Ctrl-C.

    report: shows a result, as without a watch.
    seconds: between two of them.

    Raises UsageError if the format cannot be continued, and what the first report raises.
    """
    need_loop()
    choice = chosen()
    if choice.format in ONCE:
        raise UsageError(
            f"a watch does not go with -o {choice.format}", "-o ndjson has a line for each record"
        )
    choice.screen = Screen(heading)
    shown = False
    try:
        with resized() as changed:
            while True:
                try:
                    await report()
                    shown = True
                except errors.CliError as error:
                    if not shown:
                        raise
                    choice.screen.draw(f"{errors.PROGRAM}: error: {clean(error.message)}")
                changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), seconds)
    except asyncio.CancelledError:
        pass
    finally:
        choice.screen.close()


@contextmanager
def resized() -> Iterator[asyncio.Event]:
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
