"""Whether a backup that was cut goes on, or begins again: what takes less time.

What is there of it is read and kept, and the other messages are fetched by their sequences, which takes
several times as long for each as a stream that is sent as a whole.
"""

from __future__ import annotations

from .manifest import Info

# Microseconds for a message, and for each KiB of it. Measured on two cores with pyjs-server and nats-server,
# messages of 50 B to 32 KB; only their proportions matter.
WHOLE, KEPT, SINGLE = (50, 40), (30, 30), (300, 45)
OVERHEAD = 15  # bytes of a message in a stream's size that an archive does not have
MOST_TIMES = 2  # so often at most it begins: then what is there is kept, however long the rest takes


def goes_on(kept: int, state: Info, times: int) -> bool:
    """Return whether a backup goes on.

    kept: the bytes of data that are there.
    state: of the stream when the backup began.
    times: how often it began so far.
    """
    messages = int(state["messages"])
    size = int(state["bytes"]) - messages * OVERHEAD
    if times >= MOST_TIMES or not messages or size <= 0:
        return True
    share = min(1.0, kept / size)

    def cost(of: tuple[int, int]) -> float:
        return messages * of[0] + size / 1024 * of[1]

    return share * cost(KEPT) + (1 - share) * cost(SINGLE) <= cost(WHOLE)
