"""Where a new consumer begins to read: its deliver policy, applied to what the stream holds now."""

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.errors import api_error
from ....store.sequences import Sequences
from ....store.stream import StreamStore
from .message_selector import StartPosition

Picks = tuple[int, Sequences]  # the last sequence looked at, the sequences of each subject's last message


def picks_last(config: ConsumerConfig, max_msgs_per_subject: int) -> bool:
    """Return whether a new consumer begins with the last message of each subject, and skips all others."""
    return config.deliver_policy == "last_per_subject" and max_msgs_per_subject != 1


def choose(
    config: ConsumerConfig, store: StreamStore, max_msgs_per_subject: int, picks: Picks | None = None
) -> StartPosition:
    """Return where a consumer with this configuration starts in the stream.

    picks: what `StreamStore.picking` has found; without it, that is looked up now, which may take long.
    """
    first, last = store.first_seq, store.last_seq
    if config.opt_start_seq:
        return StartPosition(max(config.opt_start_seq, first), [])
    if first == 0:
        return StartPosition(1, [])
    policy = config.deliver_policy
    filters = config.filters
    if picks_last(config, max_msgs_per_subject):
        if picks is not None:
            bound, found = picks
            return StartPosition(found.first or max(bound, first), found, bound + 1)
        picked = store.last_per_subject(filters)
        return StartPosition(picked[0] if picked else max(last, first), picked, last + 1)
    if policy == "last":
        wanted = max((m.seq for one in filters or (">",) if (m := store.last(one))), default=0)
    elif config.opt_start_time is not None:
        wanted = store.seq_at(config.opt_start_time)
    elif policy == "new":
        wanted = last + 1
    else:
        wanted = first
    return StartPosition(max(min(wanted, last + 1), first), [])


def check_reset(config: ConsumerConfig, store: StreamStore, seq: int) -> None:
    """Raise ApiError 10204 if the deliver policy does not allow the consumer to start over at `seq`."""
    policy = config.deliver_policy
    reason = ""
    if policy == "by_start_sequence":
        reason = "below start seq" if seq < config.opt_start_seq else ""
    elif config.opt_start_time is not None:
        first = store.seq_at(config.opt_start_time)
        reason = "below start time" if seq < first else ""
    elif policy != "all":
        reason = "not allowed"
    if reason:
        raise api_error("JSConsumerInvalidResetErr", err=reason)
