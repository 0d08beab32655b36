"""expvarz, ipqueuesz and profilez: the process itself.

nats-server reports here Go's memory, queues between its goroutines, and profiles in the format of pprof. What
Python has of that has the same names, and the rest is left out. An unknown profile is an error.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import sys
import threading
import traceback
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from .request import asked
from .varz import resident
from .view import Monitored

_STACKS = "goroutine"


def expvarz() -> dict[str, Any]:
    """Return memory and collector numbers, and the program without its arguments, which may be secret."""
    memory = resident()
    collections = sum(int(generation["collections"]) for generation in gc.get_stats())
    statistics = {"Alloc": memory, "Sys": memory, "NumGC": collections, "EnableGC": gc.isenabled()}
    return {"memstats": statistics, "cmdline": sys.argv[:1]}


@dataclass(slots=True)
class IpqueueszRequest:
    """all: include empty queues. filter: a part of the name."""

    all: bool = asked(False, "all")
    filter: str = asked("", "queues", "filter")


def ipqueuesz(server: Monitored, request: IpqueueszRequest | None = None) -> dict[str, Any]:
    """Return how many messages wait for their sync, by stream."""
    request = request or IpqueueszRequest()
    found: dict[str, Any] = {}
    engine = server.jetstream
    for name, account in engine.accounts.items() if engine is not None else ():
        for stream in account.streams.values():
            title = f"[ACC:{name}] stream '{stream.name}' messages"
            pending = len(stream.ack_queue.answers)
            if (pending or request.all) and request.filter in title:
                found[title] = {"pending": pending}
    return found


@dataclass(slots=True)
class ProfilezRequest:
    """name: which profile; the only one is "goroutine"."""

    name: str = asked("", "name")


def profilez(request: ProfilezRequest) -> dict[str, Any]:
    """Return the stacks of all tasks and threads, as text in base 64. There are no other profiles."""
    if not request.name:
        return {"profile": None, "error": "Profile name not specified"}
    if request.name != _STACKS:
        return {"profile": None, "error": f'Profile "{request.name}" not found'}
    return {"profile": base64.b64encode(stacks().encode()).decode(), "error": ""}


def stacks() -> str:
    """Return the stacks of all threads and tasks."""
    out = io.StringIO()
    frames = sys._current_frames()
    for thread in threading.enumerate():
        out.write(f"thread {thread.name}:\n")
        traceback.print_stack(frames.get(thread.ident or 0), file=out)
    for task in asyncio.all_tasks():
        task.print_stack(file=out)
    return out.getvalue()
