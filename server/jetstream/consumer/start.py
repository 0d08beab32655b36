"""Where a new consumer begins to read: its deliver policy, worked out against what the stream holds now."""

from dataclasses import dataclass

from ....protocol.api.consumer import ConsumerConfig
from ....store.stream import StreamStore


@dataclass(slots=True)
class Start:
    """`next_seq`: the first sequence to look at. `picked`: the only ones to deliver below `resume`."""

    next_seq: int
    picked: list[int]
    resume: int = 0


def choose(config: ConsumerConfig, store: StreamStore, max_msgs_per_subject: int) -> Start:
    """Work out where a consumer of this configuration starts in the stream."""
    first, last = store.first_seq, store.last_seq
    if config.opt_start_seq:
        return Start(max(config.opt_start_seq, first), [])
    if first == 0:
        return Start(1, [])
    policy = config.deliver_policy
    filters = config.filters
    if policy == "last_per_subject" and max_msgs_per_subject != 1:
        picked = store.last_per_subject(filters)
        return Start(picked[0] if picked else max(last, first), picked, last + 1)
    if policy == "last":
        wanted = max((m.seq for one in filters or (">",) if (m := store.last(one))), default=0)
    elif config.opt_start_time is not None:
        wanted = store.seq_at(config.opt_start_time)
    elif policy == "new":
        wanted = last + 1
    else:
        wanted = first
    return Start(max(min(wanted, last + 1), first), [])
