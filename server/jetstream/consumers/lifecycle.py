"""The life of consumers on one server: they are created, changed, recovered and removed, with their files.

Promises:
- A consumer of a file stream is on the disk before its creation is answered, unless it is internal or in
  memory.
- Internal (direct) consumers are neither counted nor stored.
- What cannot be read at a start is reported and left on the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.errors import ApiError, api_error
from ....protocol.lazy_dataclass import dataclass
from ....protocol.timestamp import format_rfc3339, parse_rfc3339
from ....store.errors import StoreError
from .config import (
    INACTIVE,
    MAX_NAME,
    ConsumerBounds,
    FilterCheck,
    check,
    check_update,
    check_work_queue,
    is_asset_name,
    same,
)
from .info import stamped

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ....store.configs import StoredConfig
    from ....store.consumer import ConsumerStore
    from ....store.consumer_state import ConsumerState
    from ...accounts.account import Account
    from ...config.options import AccountJetStream
    from ..host import JetStreamHost
    from ..streams.core import Stream
    from .core import Consumer
    from .start import Picks

NAME_LENGTH = 8
UNLIMITED = -1


def _log_error(stream: Stream[Consumer], text: str) -> None:
    stream.host.log.error(text)


def bounds(host: JetStreamHost, share: AccountJetStream | None) -> ConsumerBounds:
    """Return the limits that the server and the account set for consumers.

    share: the account's limits for streams of this kind; None if it has none.
    """
    account_most = UNLIMITED if share is None else share.max_ack_pending
    return ConsumerBounds(host.max_ack_pending, account_most, host.max_request_batch)


def create(
    stream: Stream[Consumer],
    asked: ConsumerConfig,
    action: str = "",
    *,
    pedantic: bool = False,
    picks: Picks | None = None,
    filter_check: FilterCheck | None = None,
) -> Consumer:
    """Create or change a consumer. Raises ApiError.

    action: "create", "update", or "" for whichever fits.
    pedantic: refuse values that would be adjusted.
    picks: see `start.choose`.
    filter_check: the result of `checking_filters`, if it was called before.
    """
    within = bounds(stream.host, stream.context.limits.required(stream.config.num_replicas))
    config = check(stamped(asked), stream.config, within, pedantic=pedantic, filter_check=filter_check)
    name = config.durable_name or config.name
    stream.consumers.must_be_readable(name)
    existing = stream.consumers.get(name) if name else None
    if existing is not None:
        if action == "create":
            # The request must name even a default inactive threshold, as in addConsumerWithAssignment of the
            # reference.
            must_be_same(existing.config, config)
        return _update(stream, existing, config)
    if action == "update":
        raise api_error("JSConsumerDoesNotExist")
    _check_count(stream)
    check_new(stream.config, config, name, lambda: _siblings(stream, name))
    if not name:
        name = _new_name(stream)
    config = with_inactive_threshold(config)
    created = stream.clock.now()
    consumer = adopt(stream, name, config, created, open_store(stream, name, config, created), picks=picks)
    if not config.direct:
        consumer.advisories.created()
        if consumer.pause.at(created):
            consumer.advisories.paused(True, config.pause_until)
    return consumer


def adopt(
    stream: Stream[Consumer],
    name: str,
    config: ConsumerConfig,
    created: int,
    store: ConsumerStore | None,
    ended: Callable[[Consumer], None] | None = None,
    state: ConsumerState | None = None,
    picks: Picks | None = None,
) -> Consumer:
    """Start a consumer, with the state in its store if there is one.

    state: the state, if it was already loaded from the store.
    ended: called instead of `remove` when the consumer has ended.

    Raises StoreError and OSError.
    """
    from . import core

    if state is None and store is not None:
        state = store.load()
    consumer = core.Consumer(stream, name, config, created, store)
    stream.consumers[name] = consumer
    consumer.start(ended or (lambda one: remove(stream, one)), state, picks)
    return consumer


def must_be_same(old: ConsumerConfig, config: ConsumerConfig) -> None:
    """Raise ApiError 10148 if the consumer to create exists with another configuration."""
    if not same(old, config):
        raise api_error("JSConsumerAlreadyExists")


def check_new(
    stream: StreamConfig,
    config: ConsumerConfig,
    name: str,
    siblings: Callable[[], list[ConsumerConfig]],
) -> None:
    """Check a new consumer: its name, if it has one, and that it fits beside the others. Raises ApiError.

    siblings: returns the configurations of the stream's other consumers.
    """
    if stream.retention == "workqueue" and not config.direct and not config.sourcing:
        check_work_queue(config, siblings(), update=False)
    if len(name) > MAX_NAME:
        raise api_error("JSConsumerNameTooLongErrF", max=MAX_NAME)
    if name and not is_asset_name(name):
        raise api_error("JSConsumerBadDurableNameErr")


def check_change(
    stream: StreamConfig,
    old: ConsumerConfig,
    config: ConsumerConfig,
    siblings: Callable[[], list[ConsumerConfig]],
    account: Account,
) -> None:
    """Check a new configuration of an existing consumer. Raises ApiError."""
    if stream.retention == "workqueue":
        check_work_queue(config, siblings(), update=True)
    bound = bool(old.deliver_subject) and account.has_interest(old.deliver_subject)
    check_update(old, config, bound=bound)


def with_inactive_threshold(config: ConsumerConfig) -> ConsumerConfig:
    """Fill in the default inactive threshold of a consumer that is not durable; return `config` itself."""
    if not config.durable_name and config.inactive_threshold <= 0:
        config.inactive_threshold = INACTIVE
    return config


def _new_name(stream: Stream[Consumer]) -> str:
    while (name := stream.host.new_id(NAME_LENGTH)) in stream.consumers:
        continue
    return name


def _siblings(stream: Stream[Consumer], name: str) -> list[ConsumerConfig]:
    return [one.config for one in stream.consumers.values() if one.name != name and not one.config.direct]


def _check_count(stream: Stream[Consumer]) -> None:
    share = stream.context.limits.required(stream.config.num_replicas)
    most, account_most = stream.config.max_consumers, share.max_consumers
    if most <= 0 or 0 < account_most < most:
        most = account_most if account_most > 0 else stream.host.default_max_consumers
    if 0 < most <= len(stream.consumers.public()):
        raise api_error("JSMaximumConsumersLimitErr")


def _update(stream: Stream[Consumer], consumer: Consumer, config: ConsumerConfig) -> Consumer:
    old = consumer.config
    check_change(stream.config, old, config, lambda: _siblings(stream, consumer.name), stream.account)
    config = with_inactive_threshold(config)
    if config == old:
        return consumer
    replace(consumer, config)
    return consumer


def replace(consumer: Consumer, config: ConsumerConfig) -> None:
    """Change the configuration of a consumer, on the disk first. Raises ApiError 10104 if that fails."""
    if _is_stored(consumer.stream, config):
        _write(consumer.stream, consumer.name, config, consumer.created)
    consumer.update(config)


def pause(consumer: Consumer, until: int) -> None:
    """Pause a consumer until the time `until`, ns; resume it if that is 0 or past. Raises ApiError 10104."""
    replace(consumer, stamped(consumer.config.replace(pause_until=until)))


def _is_stored(stream: Stream[Consumer], config: ConsumerConfig) -> bool:
    return stream.config.storage == "file" and not config.direct and not config.mem_storage


def _write(stream: Stream[Consumer], name: str, config: ConsumerConfig, created: int) -> None:
    document = {"config": config.to_json(), "created": format_rfc3339(created)}
    try:
        stream.context.files.write(name, document)
    except (OSError, StoreError) as error:
        _log_error(stream, f"Consumer '{stream.name} > {name}' can not be written: {error}")
        raise api_error("JSConsumerStoreFailedErrF", err=str(error)) from error


def open_store(
    stream: Stream[Consumer], name: str, config: ConsumerConfig, created: int
) -> ConsumerStore | None:
    """Write a consumer to disk, if it belongs there, and open its state; None if it does not.

    Raises ApiError 10104 if that fails.
    """
    if not _is_stored(stream, config):
        return None
    _write(stream, name, config, created)
    try:
        return stream.context.files.open(name)
    except (OSError, StoreError) as error:
        raise api_error("JSConsumerStoreFailedErrF", err=str(error)) from error


def remove(stream: Stream[Consumer], consumer: Consumer) -> None:
    """Remove a consumer that has ended from its stream, and delete its files. Disk errors are logged."""
    if stream.consumers.get(consumer.name) is consumer:
        del stream.consumers[consumer.name]
    if stream.stopped or stream.deleting:
        return  # the stream's folder is removed as a whole
    if _is_stored(stream, consumer.config):
        try:
            stream.context.files.remove(consumer.name)
        except OSError as error:
            _log_error(stream, f"{consumer.label}: its files can not be removed: {error}")
    stream.removal.consumer_changed()


def remove_offline(stream: Stream[Consumer], name: str) -> None:
    """Remove a consumer that cannot be read, and delete its files. Raises ApiError 10104."""
    try:
        stream.context.files.remove(name)
    except OSError as error:
        raise api_error("JSConsumerStoreFailedErrF", err=str(error)) from error
    del stream.consumers.offline[name]
    stream.removal.consumer_changed()


@dataclass(frozen=True, slots=True)
class RecoveredConsumer:
    """A consumer as read from the disk.

    created: the time of its creation, ns.
    store: keeps its state.
    state: the state; None if none was saved yet.
    """

    name: str
    config: ConsumerConfig
    created: int
    store: ConsumerStore
    state: ConsumerState | None


def read(stream: Stream[Consumer]) -> list[RecoveredConsumer]:
    """Read the consumers of a stream that is being opened. Blocks; may run in any thread.

    Consumers that cannot be read are logged and noted in `ServedConsumers.offline`. If consumers were given
    messages past the end of the stream, those messages are lost, and the stream logs that.
    """
    found = [one for stored in stream.context.files.all() if (one := _read(stream, stored))]
    states = [one.state for one in found if one.state is not None and one.state.delivered[0]]
    known, last = max((state.delivered[1] for state in states), default=0), stream.store.last_seq
    if known > last:
        stream.output.log_failure(
            f"ends at {last}, and its consumers were given messages up to {known}: they are lost"
        )
    stream.store.mark_used(known)
    return found


def _read(stream: Stream[Consumer], stored: StoredConfig) -> RecoveredConsumer | None:
    """Read one consumer; None if it is offline now."""
    what = f"Consumer '{stream.label} > {stored.name}'"
    if stored.repaired:
        stream.host.log.warning(f"{what}: {stored.repaired}: rewritten from the other file")
    if stored.document is None:
        _mark_offline(stream, stored.name, f"it cannot be read: {stored.damage}")
        return None
    try:
        config = ConsumerConfig.from_json(stored.document["config"])
        limits = bounds(stream.host, stream.context.limits.of(stream.config.num_replicas))
        config = check(config, stream.config, limits, recovering=True)
        created = parse_rfc3339(stored.document["created"])
        store = stream.context.files.open(stored.name)
        state = store.load()
    except (ApiError, StoreError, OSError, ValueError, KeyError) as error:
        _mark_offline(stream, stored.name, f"it cannot be recovered: {error}")
        return None
    if store.repaired:
        stream.host.log.warning(f"{what}: {store.repaired}")
    if store.damage:
        _log_error(stream, f"{what}: {store.damage}")
    return RecoveredConsumer(stored.name, config, created, store, state)


def _mark_offline(stream: Stream[Consumer], name: str, reason: str) -> None:
    stream.consumers.offline[name] = reason
    _log_error(stream, f"Consumer '{stream.label} > {name}' is offline: {reason}")
