"""R1: opens streams with one copy while others are served, and keeps their consumers as decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.errors import ApiError
from ....store.errors import StoreError
from ...slices import Slices, Steps, paced
from ..account import recovery
from ..account.document import read_config
from ..consumers import lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....store.configs import StoredConfig
    from ..consumers.core import Consumer
    from ..meta.assignment import ConsumerAssignment
    from ..streams.core import Stream
    from .local_info import LocalStreamView


class StreamOpening:
    """Opens a stream with one copy from the disk.

    ended: is called with a consumer that has ended.
    opened: is called with the stream when it is served.
    failed: is called with the reason if it cannot be served.

    Either `opened` or `failed` is called, unless the opening is stopped.
    """

    def __init__(
        self,
        local: LocalStreamView,
        stored: StoredConfig,
        ended: Callable[[Consumer], None],
        opened: Callable[[Stream[Consumer]], None],
        failed: Callable[[str], None],
    ) -> None:
        self._environment = local.environment
        self._account = local.account
        self._stored = stored
        self._ended = ended
        self._opened = opened
        self._failed = failed
        self._loaded: recovery.LoadedStream | None = None
        self._stopped: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to read the stream on a worker thread. Raises ApiError, ValueError, KeyError."""
        self._account.expect(read_config(self._stored))
        (self._environment.read_executor or self._environment.executor).work(self._load, self._read)

    def stop(self, done: Callable[[], None]) -> None:
        """Stop the opening; `done` is called when nothing is under way."""
        self._stopped = done

    def _load(self) -> None:
        self._loaded = recovery.load(self._account, self._stored)

    def _read(self, error: BaseException | None) -> None:
        loaded = self._loaded
        if error is not None or loaded is None:
            self._fail(error or StoreError("it was not read"))
        else:
            Slices(
                self._environment.executor,
                paced(self._starting(loaded)),
                lambda _: self._started(loaded),
                self._fail,
            )

    def _starting(self, loaded: recovery.LoadedStream) -> Steps[None]:
        for steps in (recovery.adopt(loaded, self._ended), loaded.stream.beginning()):
            for _ in steps:
                if self._stopped is not None:
                    return
                yield

    def _started(self, loaded: recovery.LoadedStream) -> None:
        if self._stopped is not None:
            self._fail(StoreError("it is stopped"))
            return
        self._account.opened(loaded.stream)
        self._opened(loaded.stream)

    def _fail(self, error: BaseException) -> None:
        if self._loaded is not None:
            recovery.close(self._loaded)
        why = str(error) or type(error).__name__
        if self._stopped is not None:
            self._account.forget_recovering(self._stored.name)
            self._stopped()
        else:
            self._account.mark_offline(self._stored.name, why)
            del self._account.offline[self._stored.name]  # the cluster reports it in its own way
            self._failed(why)


def sync_consumers(
    local: LocalStreamView,
    stream: Stream[Consumer],
    wanted: list[ConsumerAssignment],
    ended: Callable[[Consumer], None],
) -> None:
    """Make the stream's consumers those that are wanted. ended: is called with one that has ended."""
    known = {consumer.name: consumer.created for consumer in wanted}
    for consumer in stream.consumers.public():
        if known.get(consumer.name) != consumer.created:
            consumer.delete()
    for assignment in wanted:
        sync_consumer(local, stream, assignment, ended)


def sync_consumer(
    local: LocalStreamView,
    stream: Stream[Consumer],
    assignment: ConsumerAssignment,
    ended: Callable[[Consumer], None],
) -> None:
    """Create a consumer or change its configuration; one that is already as decided stays as it is."""
    name, config = assignment.name, ConsumerConfig.from_json(assignment.config)
    if name in stream.consumers.offline:
        return  # logged already; a new one would forget what this one confirmed
    there = stream.consumers.get(name)
    try:
        if there is not None and there.created == assignment.created:
            if there.config == config:
                return
            lifecycle.replace(there, config)
        else:
            if there is not None:
                there.delete()
            store = lifecycle.open_store(stream, name, config, assignment.created)
            lifecycle.adopt(stream, name, config, assignment.created, store, ended)
    except ApiError as error:
        local.warn(f"has no consumer '{name}': {error.description}")
        return
    local.announce_served(name)
