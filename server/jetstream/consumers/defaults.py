"""What a consumer's configuration becomes before it is validated: defaults filled in, nonsense set to none.

Promises the reference's defaults; a pedantic request gets error 10157 wherever a value it gave would change.
"""

from dataclasses import dataclass

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ....protocol.errors import api_error

SECOND = 1_000_000_000
ACK_WAIT = 30 * SECOND
INACTIVE = 5 * SECOND
PINNED = 120 * SECOND
MAX_ACK_PENDING = 1000
MAX_WAITING = 512
# Sourcing consumers, and with them all with the flow control ack policy, beat once a second.
SOURCING_HEARTBEAT = SECOND


@dataclass(frozen=True, slots=True)
class ConsumerBounds:
    """Limits from outside the stream; 0 or less is none.

    `max_ack_pending`: the server's, `account_max_ack_pending`: the account's, `max_request_batch`: the
    server's.
    """

    max_ack_pending: int = 0
    account_max_ack_pending: int = 0
    max_request_batch: int = 0


_NEGATIVE_TO_ZERO = (
    "max_waiting",
    "max_batch",
    "max_expires",
    "max_bytes",
    "idle_heartbeat",
    "inactive_threshold",
    "priority_timeout",
)


def fill_in(config: ConsumerConfig, stream: StreamConfig, bounds: ConsumerBounds, *, pedantic: bool) -> None:
    """Fill `config` in place. Raises ApiError 10157 if `pedantic` and a given value would change."""
    _tame(config, pedantic=pedantic)
    pull = not config.deliver_subject
    if pull and config.max_waiting == 0:
        config.max_waiting = MAX_WAITING
    if config.ack_wait == 0 and config.ack_policy in ("explicit", "all"):
        config.ack_wait = ACK_WAIT
    if config.backoff:
        if pedantic and config.ack_wait != config.backoff[0]:
            raise _pedantic("first backoff value has to equal batch AckWait")
        config.ack_wait = config.backoff[0]
    _from_stream(config, stream, pedantic=pedantic)
    if config.max_ack_pending == 0 and config.ack_policy != "none":
        limits = [n for n in (bounds.max_ack_pending, bounds.account_max_ack_pending) if n > 0]
        config.max_ack_pending = min([MAX_ACK_PENDING, *limits])
    if pull and config.max_batch == 0 and bounds.max_request_batch > 0:
        if pedantic:
            raise _pedantic("max_request_batch must be set if it's JetStream limits are set")
        config.max_batch = bounds.max_request_batch
    if config.priority_policy == "pinned_client" and config.priority_timeout == 0:
        config.priority_timeout = PINNED
    if config.ack_policy == "flow_control" and not pedantic:
        config.flow_control = True
        config.idle_heartbeat = SOURCING_HEARTBEAT


def _tame(config: ConsumerConfig, *, pedantic: bool) -> None:
    if config.max_deliver < -1 and pedantic:
        raise _pedantic("max_deliver must be set to -1")
    if config.max_deliver <= 0:
        config.max_deliver = -1
    if config.max_waiting < 0 and pedantic:
        raise _pedantic("max_waiting must not be negative")
    if config.max_ack_pending < -1:
        if pedantic:
            raise _pedantic("max_ack_pending must be set to -1")
        config.max_ack_pending = -1
    for name in _NEGATIVE_TO_ZERO:
        if getattr(config, name) < 0:
            if pedantic:
                raise _pedantic(f"{name} must not be negative")
            setattr(config, name, 0)


def _from_stream(config: ConsumerConfig, stream: StreamConfig, *, pedantic: bool) -> None:
    limits = stream.consumer_limits
    for name in ("max_ack_pending", "inactive_threshold"):
        if getattr(config, name) == 0:
            if pedantic and getattr(limits, name) > 0:
                raise _pedantic(f"{name} must be set if it's configured in stream limits")
            setattr(config, name, getattr(limits, name))


def _pedantic(text: str) -> Exception:
    return api_error("JSPedanticErrF", err=text)
