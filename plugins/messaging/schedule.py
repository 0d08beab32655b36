"""The `--schedule-…` flags of `pyjs publish`: when, where and how the server publishes a message later.

Source: ADR-51. A stream with `allow_msg_schedules` keeps the message as its schedule, under the subject it is
published to. When it is due, the server stores a copy under the target subject.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from ...cli.errors import UsageError
from ...cli.param import DURATION
from ...protocol.duration import format_go
from ...protocol.subject import is_literal
from ...protocol.timestamp import TimestampError, format_exact, parse_rfc3339

LEVEL, RELEASE = 2, "2.12"  # of the JetStream API, and of the first nats-server, that have schedules
SECOND = 1_000_000_000
PREFIX = "schedule_"
WHEN = ("at", "after", "every", "cron")
_OPTIONS = (
    click.option("--schedule-after", type=DURATION, default=0, help="Store it after this time."),
    click.option("--schedule-at", metavar="TIME", default="", help="Store it at this RFC 3339 time."),
    click.option("--schedule-cron", metavar="CRON", default="", help="Store it whenever this matches."),
    click.option("--schedule-dest", metavar="SUBJECT", default="", help="The subject to store it under."),
    click.option("--schedule-every", type=DURATION, default=0, help="Store it again and again."),
    click.option(
        "--schedule-source", metavar="SUBJECT", default="", help="Store the last message of this subject."
    ),
    click.option("--schedule-ttl", type=DURATION, default=0, help="How long what is stored lives."),
)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def schedule_headers(given: dict[str, Any], now: int | None = None) -> dict[str, str]:
    """Return the headers that schedule a message; {} if no flag was given.

    given: the values of the flags, by parameter name.
    now: nanoseconds since the epoch.

    Raises UsageError if the flags do not make a schedule.
    """
    chosen = {
        name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX) and value
    }
    if not chosen:
        return {}
    if not is_literal(chosen.get("dest", "")):
        raise UsageError(
            "schedule destination is required when setting schedule properties",
            "--schedule-dest names the subject that the message is stored under, one without wildcards",
        )
    times = [name for name in WHEN if name in chosen]
    if len(times) != 1:
        named = ", ".join(f"--schedule-{name}" for name in times or WHEN)
        raise UsageError(f"a schedule has one time: give one of {named}")
    negative = [name for name in ("after", "every", "ttl") if chosen.get(name, 0) < 0]
    if negative:
        raise UsageError(f"--schedule-{negative[0]} must be greater than 0")
    headers = {
        "Nats-Schedule": _pattern(times[0], chosen[times[0]], now or time.time_ns()),
        "Nats-Schedule-Target": str(chosen["dest"]),
    }
    if "ttl" in chosen:
        headers["Nats-Schedule-TTL"] = format_go(chosen["ttl"])
    if "source" in chosen:
        headers["Nats-Schedule-Source"] = str(chosen["source"])
    return headers


def _pattern(kind: str, value: Any, now: int) -> str:
    """Return a time as the server reads it. `nats` leaves out the `@at` of --schedule-after."""
    if kind == "after":
        return f"@at {format_exact(now + value)}"
    if kind == "every":
        if value < SECOND:
            raise UsageError("--schedule-every must be at least 1s")
        return f"@every {format_go(value)}"
    if kind == "cron":
        return str(value)
    try:
        return f"@at {format_exact(parse_rfc3339(value))}"
    except TimestampError:
        raise UsageError(
            f'"{value}" is no time', "--schedule-at takes one such as 2026-12-01T08:00:00Z"
        ) from None
