"""What the rules of a stream go by: time, dice, room and readers, so that a log can stand in for a server.

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

    readers: those whose wishes keep messages, under retention by interest and in work queues.
    """

    clock: Clock
    age_clock: Clock
    ttl_clock: Clock
    random_below: Callable[[int], int]
    quota: Quota
    readers: Readers[Any]
