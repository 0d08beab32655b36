"""LeaderQueries: what the meta leader asks the leaders of streams, and what those announce unasked.

`$JSC.UP` announces that a new stream or consumer is served, for the request that waits for it. `$JSC.ASK`
asks for infos, which are sent to `$JSC.TELL.<node>` in slices. Delivery is not guaranteed: every wait ends
after a timeout.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ....protocol.errors import ApiError
from ...slices import Slices, Steps, TurnScheduler, paced
from ..meta.responder import DELAY, LEADERLESS_AFTER

if TYPE_CHECKING:
    from ...accounts.subscription import Message
    from ...clock import Clock, Timer
    from ...cluster.transport import PubSub
    from ...task_executor import TaskExecutor
    from .local_info import LocalStreamView

Json = dict[str, Any]
Kind = Literal["SI", "CI"]
Key = tuple[str, str, str]  # account, stream, consumer ("" for the stream itself)
Take = Callable[[str, Json], None]
UP_SUBJECT, INFO_REQUEST, INFO_PREFIX = "$JSC.UP", "$JSC.ASK", "$JSC.TELL."
TIMEOUT = 4_000_000_000  # ns to wait for an answer or an announcement


class LeaderQueries:
    """The questions and announcements of one server.

    local_streams: the streams that this server holds, by (account, stream).
    """

    def __init__(
        self,
        node: str,
        pubsub: PubSub,
        clock: Clock,
        executor: TaskExecutor,
        local_streams: Mapping[tuple[str, str], LocalStreamView],
    ) -> None:
        self._node = node
        self._pubsub = pubsub
        self._clock = clock
        self._executor = executor
        self._turns = TurnScheduler(executor.soon)
        self._local_streams = local_streams
        self._waiting: dict[Key, list[_Wait]] = {}
        self._asked: dict[int, Take] = {}
        self._timers: dict[int, Timer] = {}
        self._number = 0
        self._subscriptions: list[Any] = []

    def start(self) -> None:
        """Subscribe to the other servers' messages."""
        for subject, receive, count in (
            (UP_SUBJECT, self._received_served, 4),
            (INFO_REQUEST, self._answer, 7),
            (INFO_PREFIX + self._node, self._received_info, 3),
        ):
            self._subscriptions.append(self._pubsub.subscribe(subject, _reader(receive, count)))

    def stop(self) -> None:
        """Unsubscribe and cancel all timers; callbacks that still wait are not called any more."""
        for subscription in self._subscriptions:
            self._pubsub.unsubscribe(subscription)
        self._subscriptions.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()
        self._asked.clear()

    # --- a new one is served

    def when_served(self, key: Key, done: Callable[[Json | None], None]) -> Callable[[], None]:
        """Call `done` once: with the info that the leader announces from now on, or with None after TIMEOUT.

        Returns a function that ends the waiting without a call.
        """
        wait = _Wait(done)
        self._waiting.setdefault(key, []).append(wait)

        def cancel() -> bool:
            waiting = self._waiting.get(key, [])
            if wait not in waiting:
                return False
            waiting.remove(wait)
            if not waiting:
                del self._waiting[key]
            return True

        def over() -> None:
            if cancel():
                done(None)

        self._later(TIMEOUT, over)

        def end() -> None:
            cancel()

        return end

    def announce_served(self, key: Key, info: Json) -> None:
        """Announce that a stream or consumer is served by its leader here; `info` is {} if it is gone."""
        body = json.dumps([*key, info], separators=(",", ":")).encode("utf-8", "surrogateescape")
        # It is delivered here in the next turn: the proposer may not have begun to wait yet.
        self._executor.soon(lambda: self._served(key, info))
        self._pubsub.publish(UP_SUBJECT, body)

    def _received_served(self, values: list[Any]) -> None:
        account, stream, consumer, info = values
        self._served((account, stream, consumer), info)

    def _served(self, key: Key, info: Json) -> None:
        account, stream, consumer = key
        if info and not consumer:
            for (where, _), local in self._local_streams.items():
                if where == account and local.stream is not None and local.stream.sourcing is not None:
                    local.stream.sourcing.origin_led(stream)
        for wait in self._waiting.pop(key, ()):
            wait.done(info)

    # --- infos

    def ask(
        self, kind: Kind, account: str, stream: str, consumer: str, take: Take, names: Collection[str] = ()
    ) -> Callable[[], None]:
        """Ask the leaders for the infos of an account's streams ("SI"), or of a stream's consumers ("CI").

        stream, consumer: "" for all.
        names: the only ones wanted; () for all.
        take: is called with (name, info) for each info that comes within TIMEOUT.

        Returns a function that ends the question earlier.
        """
        self._number = number = self._number + 1
        self._asked[number] = take

        def end() -> None:
            self._asked.pop(number, None)
            pending = self._timers.pop(timer, None)
            if pending is not None:
                pending.cancel()

        timer = self._later(TIMEOUT, end)
        self._publish(INFO_REQUEST, [kind, account, stream, consumer, sorted(names), self._node, number])
        return end

    def _answer(self, query: list[Any]) -> None:
        """Answer for streams led here at once; for leaderless groups later, as others may answer, too."""
        kind, account, stream, consumer, names, node, number = query
        wanted = set(names) | ({consumer} if consumer else set())
        here, late = [], []
        for (owner, name), local in list(self._local_streams.items()):
            if owner != account or (stream and name != stream):
                continue
            if kind == "SI" and wanted and name not in wanted:
                continue
            if local.leads():
                here.append(local)
            elif (
                (leader_status := local.leader_status()) is not None
                and not leader_status.leader
                and leader_status.since > LEADERLESS_AFTER
            ):
                late.append(local)

        def reply(local_streams: list[LocalStreamView]) -> None:
            steps = self._sending(local_streams, lambda local: _infos(kind, local, wanted), node, number)
            Slices(self._turns, paced(steps), lambda _: None, _fail)

        reply(here)
        if late:
            self._later(DELAY, lambda: reply(late))

    def _sending(
        self,
        local_streams: list[LocalStreamView],
        infos: Callable[[LocalStreamView], Iterator[tuple[str, Json]]],
        node: str,
        number: int,
    ) -> Steps[None]:
        for local in local_streams:
            for name, info in infos(local):
                self._publish(INFO_PREFIX + node, [number, name, info])
                yield

    def _received_info(self, values: list[Any]) -> None:
        number, name, info = values
        take = self._asked.get(number)
        if take is not None:
            take(name, info)

    def _publish(self, subject: str, values: list[Any]) -> None:
        """Publish to all subscribers, including this server, in the next turn of the loop."""
        body = json.dumps(values, separators=(",", ":")).encode("utf-8", "surrogateescape")

        def publish() -> None:
            self._pubsub.publish(subject, body)

        self._executor.soon(publish)

    # --- time

    def _later(self, delay: int, callback: Callable[[], None]) -> int:
        self._number = number = self._number + 1

        def run() -> None:
            self._timers.pop(number, None)
            callback()

        self._timers[number] = self._clock.call_later(delay, run)
        return number


class _Wait:
    """One waiting callback; an object of its own, so that each can be told from the others."""

    def __init__(self, done: Callable[[Json | None], None]) -> None:
        self.done = done


def _fail(error: Exception) -> None:
    raise error


def _infos(kind: Kind, local: LocalStreamView, names: Collection[str]) -> Iterator[tuple[str, Json]]:
    """Yield the infos that can be had; a consumer that disappears meanwhile is left out."""
    if kind == "SI":
        yield local.assignment.name, local.info().to_json()
        return
    stream = local.stream
    for name in sorted(stream.consumers) if stream is not None else ():
        if names and name not in names:
            continue
        try:
            yield name, local.consumer_info(name).to_json()
        except ApiError:
            continue


def _reader(receive: Callable[[list[Any]], None], count: int) -> Callable[[Message], None]:
    """Return a subscriber that passes on JSON lists of `count` values and ignores all other messages.

    A message that makes no sense must not end the route it came by.
    """

    def read(message: Message) -> None:
        try:
            values = json.loads(message.body)
        except ValueError:
            return
        if isinstance(values, list) and len(values) == count:
            receive(values)

    return read
