"""Recovery: opens the streams on the disk in the background, while the server serves its clients.

First the configurations of all streams are read. From then on the taken names and subjects are known, and
publishes to these subjects wait (`pending_publishes`). Then the streams are opened, several in parallel.

Promises:
- What reads the disk, or costs by what is stored, runs in worker threads. The loop takes over their results
  in slices of a few milliseconds.
- A stream serves as soon as it is open, whatever happens to the others.
- A stream that cannot be opened is reported, and left unchanged on the disk.
- If the disk does not even show which streams an account has, no stream is taken for absent: the account
  stays temporarily unavailable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError
from ....protocol.lazy_dataclass import dataclass
from ....protocol.timestamp import parse_rfc3339
from ....store.errors import StoreError
from ...slices import Slices, Steps, at_once, paced
from ..consumers import lifecycle
from .document import read_config
from .pending_publishes import PendingLimit, PendingPublishes

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.configs import StoredConfig
    from ....store.file import FileStream
    from ...logging import Logger
    from ...task_executor import TaskExecutor
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from .streams import AccountStreams

SIDE_BY_SIDE = 4  # streams of an account that are read at the same time
_ERRORS = (ApiError, StoreError, OSError, ValueError, KeyError)


@dataclass(slots=True)
class LoadedStream:
    """A stream that was read from the disk and is not started.

    stream: the stream.
    store: its messages.
    consumers: its consumers, as read from the disk.
    """

    stream: Stream[Consumer]
    store: FileStream
    consumers: list[lifecycle.RecoveredConsumer]


def load(account: AccountStreams, stored: StoredConfig) -> LoadedStream:
    """Read a stream with its consumers. Blocks; may run in any thread, as nobody has the stream yet.

    Raises ApiError, StoreError, OSError, ValueError or KeyError if the stream cannot be opened.
    """
    from ..streams import core

    config = read_config(stored)
    assert stored.document is not None
    created = parse_rfc3339(stored.document["created"])
    if stored.repaired:
        warn = account.host.log.warning
        warn(f"Stream '{account.name} > {config.name}': {stored.repaired}: rewritten from the other file")
    store = account.open_store(config.name, lazily=config.persist_mode == "async")
    try:
        stream: Stream[Consumer] = core.Stream(config, store, account.context(config.name), created)
        stream.recover(stored.document.get("sources", {}))
        consumers = lifecycle.read(stream)
        for consumer in consumers:
            store.count(consumer.config.filters, 1)  # so that the index has the answer when the consumer asks
    except BaseException:
        store.abandon()
        raise
    return LoadedStream(stream, store, consumers)


def adopt(loaded: LoadedStream, ended: Callable[[Consumer], None] | None = None) -> Steps[None]:
    """Start the consumers of a stream, in steps, and log what was found on the disk.

    ended: called with a consumer that has ended, see `lifecycle.adopt`.
    """
    stream, store = loaded.stream, loaded.store
    for one in loaded.consumers:
        lifecycle.adopt(stream, one.name, one.config, one.created, one.store, ended, one.state)
        yield
    log, name = stream.host.log, f"'{stream.label}'"
    log.info(f"  Restored {store.messages} messages for stream {name}")
    log_repairs(log, f"Stream {name}", store)
    for error in store.faults:
        log.error(f"Stream {name}: {error}")
    lost = store.damaged()
    if lost:
        log.error(f"Stream {name} lost {len(lost)} messages to damage: {lost[:20]}")


def log_repairs(log: Logger, name: str, store: FileStream) -> None:
    """Log what a store repaired when it was opened: damage as a warning, traces of a kill as information."""
    for repaired in store.repaired:
        log.warning(f"{name}: {repaired}")
    for missing in store.missing:
        log.info(f"{name}: {missing}")


def bring_back(
    account: AccountStreams, stored: StoredConfig, ended: Callable[[Consumer], None] | None = None
) -> Stream[Consumer] | None:
    """Read a stream and add it to the account, not started yet. Blocks.

    Returns None if the stream cannot be opened; it is in the account's `offline` then. ended: see `adopt`.
    """
    try:
        loaded = load(account, stored)
        for _ in adopt(loaded, ended):
            pass
    except _ERRORS as error:
        account.mark_offline(stored.name, _text(error))
        return None
    stream = account.streams[stored.name] = loaded.stream
    account.reserve(stream.config, 1)
    return stream


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__


class Recovery:
    """The recovery of a server's accounts.

    executor: runs the work; its workers may be busy for long.
    pending_limit: limits the publishes that wait for streams.
    """

    def __init__(self, executor: TaskExecutor) -> None:
        self.executor = executor
        self.pending_limit = PendingLimit()
        self._accounts: dict[str, _Account] = {}
        self._holds: dict[str, int] = {}  # how many reasons there are not to read an account yet
        self._jetstream_accounts: dict[str, AccountStreams] = {}
        self._unlisted: dict[str, str] = {}  # accounts whose streams cannot be listed, and why
        self._waiting: list[Callable[[], None]] = []

    def add(self, account: AccountStreams) -> None:
        """Begin to open the streams of an account. They are in its `recovering` until they are open.

        An account without files is ready at once.
        """
        if account.directory.is_new():
            if account.templates is not None:
                at_once(account.templates.begin())
            return
        account.surveyed = False
        if account.name in self._holds:
            self._jetstream_accounts[account.name] = account
        else:
            self._begin(account)

    def _begin(self, account: AccountStreams) -> None:
        one = self._accounts[account.name] = _Account(self, account)
        one.start()

    def remove(self, name: str) -> None:
        """Stop opening the streams of an account. Open ones stay open."""
        self._jetstream_accounts.pop(name, None)
        self._unlisted.pop(name, None)
        one = self._accounts.pop(name, None)
        if one is not None and one.stop():
            self.hold(name)  # until the work in progress ends, so that nothing else reads the same files
        self._call_waiting()

    def hold(self, name: str) -> None:
        """Read nothing of an account before `release`, because its files are in use."""
        self._holds[name] = self._holds.get(name, 0) + 1

    def release(self, name: str) -> None:
        """Take back one `hold`. After the last one, an account that was added meanwhile is read."""
        self._holds[name] -= 1
        if not self._holds[name]:
            del self._holds[name]
            account = self._jetstream_accounts.pop(name, None)
            if account is not None:
                self._begin(account)

    def surveyed(self) -> None:
        """Take note that the streams of another account are known; open all streams once every account's are.

        If one were opened earlier, messages that it publishes could miss a stream that is not known yet.
        """
        if all(one.known for one in self._accounts.values()):
            for one in list(self._accounts.values()):
                one.open()

    def unlisted(self, name: str, reason: str) -> None:
        """Take note that the disk does not show which streams an account has."""
        self._unlisted[name] = reason

    def opened(self, name: str) -> None:
        """Take note that each stream of an account is open or offline."""
        self._accounts.pop(name, None)
        self._call_waiting()

    @property
    def done(self) -> bool:
        """Whether no account has streams left to open."""
        return not self._accounts and not self._jetstream_accounts

    def when_done(self, done: Callable[[], None]) -> None:
        """Call `done` once `done` is true, which may be at once."""
        self._waiting.append(done)
        self._call_waiting()

    def _call_waiting(self) -> None:
        if self.done:
            waiting, self._waiting = self._waiting, []
            for done in waiting:
                done()

    def progress(self) -> str:
        """Return the progress as healthz shows it, or what prevents the recovery; "" when it is complete."""
        for name, reason in self._unlisted.items():
            return f"JetStream cannot list the streams of account '{name}': {reason}"
        if self.done:
            return ""
        if self._jetstream_accounts or not all(one.known for one in self._accounts.values()):
            return "JetStream is recovering: it reads which streams there are"
        left = sum(len(one.account.recovering) for one in self._accounts.values())
        total = sum(one.total for one in self._accounts.values())
        return f"JetStream is recovering {left} of {total} streams"


class _Account:
    """The recovery of one account.

    known: whether it is known which streams there are.
    total: how many streams there are.
    """

    def __init__(self, owner: Recovery, account: AccountStreams) -> None:
        self.account = account
        self.known = False
        self.total = 0
        self._owner = owner
        self._executor = owner.executor
        self._found: list[tuple[StoredConfig, StreamConfig | str]] = []
        self._queue: deque[StoredConfig] = deque()
        self._waits: dict[str, PendingPublishes] = {}
        self._busy = 0
        self._stopped = self._opening = False

    def start(self) -> None:
        """Begin to read which streams there are."""
        self._busy = 1
        self._executor.work(self._survey, self._surveyed)

    def stop(self) -> bool:
        """Stop opening streams; return whether some work is still in progress."""
        self._stopped = True
        for pending in self._waits.values():
            pending.refuse(None)
        self._waits.clear()
        self.account.forget_recovering()
        return self._busy > 0

    def _survey(self) -> None:
        """Read all configurations. Runs on a worker thread."""
        if self.account.templates is not None:
            self.account.templates.read()
        self.account.directory.unstage()
        for stored in self.account.directory.streams():
            try:
                self._found.append((stored, read_config(stored)))
            except _ERRORS as error:
                self._found.append((stored, _text(error)))

    def _surveyed(self, error: BaseException | None) -> None:
        Slices(self._executor, paced(self._expecting()), lambda _: self._expected(error), self._expected)

    def _expecting(self) -> Steps[None]:
        """Register the streams that were found, in steps, and subscribe to their subjects."""
        account = self.account
        for stored, config in self._found:
            if self._stopped:
                return
            if isinstance(config, str):
                account.mark_offline(stored.name, config)
                continue
            self.total += 1
            account.expect(config)
            self._queue.append(stored)
            self._waits[config.name] = pending = PendingPublishes(
                account.account, config, self._owner.pending_limit, account.log_error
            )
            for _ in pending.starting():
                yield
                if self._stopped:
                    return
        if account.templates is not None:
            yield from account.templates.begin()

    def _expected(self, error: BaseException | None) -> None:
        """Take note that all streams are known. With an error, there may be more that cannot be listed."""
        self._busy -= 1
        self._found.clear()
        if self._stopped:
            self._leave()
            return
        if error is not None:
            self.account.log_error(
                f"Streams of account '{self.account.name}' cannot be listed: {_text(error)}"
            )
            self._owner.unlisted(self.account.name, _text(error))
        self.account.surveyed, self.known = error is None, True
        self._owner.surveyed()

    def open(self) -> None:
        """Begin to open the streams."""
        if self._opening:
            return
        self._opening = True
        for _ in range(max(1, min(SIDE_BY_SIDE, len(self._queue)))):
            self._next()

    def _next(self) -> None:
        """Read another stream, if there is one, on a worker thread; then start it on the loop."""
        if self._stopped:
            self._leave()
        elif self._queue:
            self._busy += 1
            stored, found = self._queue.popleft(), _Found()
            self._executor.work(
                lambda: found.load(self.account, stored), lambda error: self._loaded(stored, found, error)
            )
        elif not self._busy and not self.account.recovering:
            self._owner.opened(self.account.name)

    def _leave(self) -> None:
        if not self._busy:
            self._owner.release(self.account.name)

    def _loaded(self, stored: StoredConfig, found: _Found, error: BaseException | None) -> None:
        loaded = found.loaded
        if error is not None or loaded is None:
            self._failed(stored.name, None, error or StoreError("it was not read"))
        else:  # whatever goes wrong, the other streams must be opened
            Slices(
                self._executor,
                paced(self._starting(loaded)),
                lambda _: self._started(loaded),
                lambda error: self._failed(stored.name, loaded, error),
            )

    def _starting(self, loaded: LoadedStream) -> Steps[None]:
        """Start a stream that was read, and store the messages that waited for it."""
        stream = loaded.stream
        for steps in (adopt(loaded), stream.starting()):
            for _ in steps:
                if self._stopped:
                    return
                yield
        if not self._stopped:
            yield from self._waits[stream.name].drain(stream.ingest.receive)

    def _started(self, loaded: LoadedStream) -> None:
        self._busy -= 1
        if self._stopped:
            close(loaded)
        else:
            loaded.stream.subscriptions.take(self._waits.pop(loaded.stream.name).hand_over())
            at_once(loaded.stream.serving())
            self.account.opened(loaded.stream)
        self._next()

    def _failed(self, name: str, loaded: LoadedStream | None, error: BaseException) -> None:
        self._busy -= 1
        if loaded is not None:
            close(loaded)
        if not self._stopped:
            self.account.mark_offline(name, _text(error))
            self._waits.pop(name).refuse(self.account.offline[name])
        self._next()


class _Found:
    """Passes a stream from the worker thread that reads it to the loop."""

    __slots__ = ("loaded",)

    def __init__(self) -> None:
        self.loaded: LoadedStream | None = None

    def load(self, account: AccountStreams, stored: StoredConfig) -> None:
        """Read the stream. Runs on a worker thread; raises what the function `load` raises."""
        self.loaded = load(account, stored)


def close(loaded: LoadedStream) -> None:
    """Close a stream that will not be served. Errors are logged."""
    try:
        loaded.stream.stop()
    except (OSError, StoreError) as error:
        loaded.stream.output.log_failure(f"was not closed well: {error}")
