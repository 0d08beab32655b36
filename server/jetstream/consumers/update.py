"""What an update of a consumer may change."""

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.errors import ApiError, api_error

# field -> how the reference calls it; in its order
_FIXED = (
    ("deliver_policy", "deliver policy"),
    ("mem_storage", "storage type"),
    ("direct", "direct"),
    ("sourcing", "sourcing"),
    ("opt_start_seq", "start sequence"),
    ("opt_start_time", "start time"),
    ("ack_policy", "ack policy"),
    ("replay_policy", "replay policy"),
    ("idle_heartbeat", "heart beats"),
    ("flow_control", "flow control"),
)


def check_update(old: ConsumerConfig, new: ConsumerConfig, *, bound: bool) -> None:
    """Check the change of a consumer. `bound`: somebody listens on the old deliver subject.

    Raises ApiError: 10012 with the reason, 10013 for a bound deliver subject.
    """
    for field, words in _FIXED:
        if getattr(old, field) != getattr(new, field):
            raise _refuse(f"{words} can not be updated")
    if old.deliver_subject != new.deliver_subject:
        if not old.deliver_subject:
            raise _refuse("can not update pull consumer to push based")
        if not new.deliver_subject:
            raise _refuse("can not update push consumer to pull based")
        if bound:
            raise api_error("JSConsumerNameExistErr")
    if old.max_waiting != new.max_waiting:
        raise _refuse("max waiting can not be updated")


def _refuse(text: str) -> ApiError:
    return api_error("JSConsumerCreateErrF", err=text)


def same(old: ConsumerConfig, new: ConsumerConfig) -> bool:
    """Whether two configurations are equal, apart from what the server notes in the metadata."""
    return _plain(old) == _plain(new)


def _plain(config: ConsumerConfig) -> dict[str, object]:
    value = config.to_json()
    metadata = {k: v for k, v in config.metadata.items() if not k.startswith("_nats.")}
    value["metadata"] = metadata
    return value
