"""Whether a command runs in an event loop, and how one that runs without gets it after all.

asyncio and nats-py take half of the processor time that a short command costs, so a `RequestCommand`
(`command.py`) runs without an event loop. What it meets only in rare cases may still need one: questions,
subscriptions, `--watch`. `need_loop` then starts the command again with a loop. So such a command must change
nothing before it gets there.
"""

from __future__ import annotations

import sys


class LoopNeeded(Exception):  # noqa: N818 - not a failure
    """The command needs an event loop after all."""


def has_loop() -> bool:
    """Return whether an event loop runs; asyncio is not imported to find out."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def need_loop() -> None:
    """Start the command again with an event loop if it runs without one."""
    if not has_loop():
        raise LoopNeeded


def interruptions() -> tuple[type[BaseException], ...]:
    """Return what Ctrl-C raises in a command, with an event loop or without."""
    asyncio = sys.modules.get("asyncio")
    return (KeyboardInterrupt,) if asyncio is None else (KeyboardInterrupt, asyncio.CancelledError)
