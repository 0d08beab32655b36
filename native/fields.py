"""The fields of the server's objects that the compiled loops read and write.

They stand in base classes, so that the loops reach them without the interpreter. Each is documented in the
class that has it: `Subscription`, `OutboundQueue`, `Plan` and the buckets of a `Sublist` in
`server/accounts`, and the nodes of a `SubjectTree` in `protocol`.
"""

from __future__ import annotations

from typing import Any


class SubscriptionFields:
    """Of a subscription."""

    __slots__ = ("delivered", "direct", "sid")

    delivered: int
    direct: QueueFields | None
    sid: bytes


class BucketFields:
    """Of the subscriptions of one subject or pattern."""

    __slots__ = ("groups", "plain")

    groups: dict[str, Any]
    plain: dict[Any, None]


class NodeFields:
    """Of a node of a subject tree."""

    __slots__ = ("children", "here", "rest")

    children: dict[str, Any]
    here: Any
    rest: Any


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
