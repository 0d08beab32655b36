"""StreamDeps: what a stream depends on: time, random numbers, quota and readers; a log can replace a server.

Promises: whatever decides about a message asks here and nowhere else; two streams that are given the same
answers and the same operations hold the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ....clock import Clock
    from ...quota import Quota
    from ..readers import Readers


@dataclass(frozen=True, slots=True)
class StreamDeps:
    """`age_clock` and `ttl_clock` tell the time of `clock`; their timers are for max_age and for lifetimes.

    readers: those for whom messages are kept, under retention by interest and in work queues.
    """

    clock: Clock
    age_clock: Clock
    ttl_clock: Clock
    random_below: Callable[[int], int]
    quota: Quota
    readers: Readers[Any]
