"""The fields of the server's objects that the compiled loops read and write.

They stand in base classes, so that the loops reach them without the interpreter. Each is documented in the
class of the server that has it: `Subscription`, `OutboundQueue` and `Plan` in `server/accounts`.
"""

from __future__ import annotations

from typing import Any


class SubscriptionFields:
    """Of a subscription."""

    __slots__ = ("delivered",)

    delivered: int


class QueueFields:
    """Of a queue of what is to be written to one destination."""

    __slots__ = ("flush_pending", "headers", "out", "out_bytes")

    flush_pending: bool
    headers: bool
    out: list[bytes]
    out_bytes: int


class PlanFields:
    """Of a plan."""

    __slots__ = (
        "batch_subscription",
        "beyond",
        "callbacks",
        "choices",
        "draw",
        "headers",
        "shares",
        "silent",
        "simple",
        "special",
        "targets",
        "targets_for",
        "wide",
    )

    batch_subscription: Any
    beyond: bool
    callbacks: tuple[Any, ...]
    choices: tuple[Any, ...]
    draw: Any
    headers: bool
    shares: dict[bytes, Any]
    silent: bool
    simple: bool
    special: bool
    targets: tuple[Any, ...]
    targets_for: tuple[Any, ...]
    wide: int
