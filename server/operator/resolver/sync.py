"""DirectorySync: keeps the token directories of several servers equal, by messages in the system account.

At each interval, and when another server comes into reach, the hash of all tokens is sent to one other server
(queue group `responder`). If the hash is the same there, the answer is one empty message. Otherwise it is
`key|token` for each token, with an empty message at the end. Only newer tokens are taken. A server that was
down catches up in this way.

Long lists are sent and taken in pieces, so that nothing else waits for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from ...accounts import ConnectionKind, MessageEndpoint, Subscription
from ...clock import SECOND
from ...slices import SECONDS
from .peers import REMOTE
from .resolver import ResolverError

if TYPE_CHECKING:
    from ...accounts import Account, InterestChange, InterestWatch, Message, RoutedMessage
    from ...clock import Clock, Timer
    from ...logging import Logger
    from ..token_parser import ParsedToken, TokenParser
    from .folder import FolderResolver

PACK = "$SYS.REQ.CLAIMS.PACK"
QUEUE = "responder"
SOON = SECOND // 4


class _Responder(MessageEndpoint):
    """The sink of this server's member of the queue group. It leaves this server's own requests to others."""

    __slots__ = ("_answer", "_own")

    kind = ConnectionKind.INTERNAL

    def __init__(self, answer: Callable[[str, bytes], None], own: Callable[[str], bool]) -> None:
        self._answer = answer
        self._own = own

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Answer a request. Return False for this server's own one, so that another member gets it."""
        reply = msg.reply.decode("utf-8", "surrogateescape")
        if self._own(reply):
            return False
        subscription.delivered += 1
        if reply:
            self._answer(reply, msg.body)
        return True


class DirectorySync:
    """The exchange of one server. `changed` is called with each token that was taken."""

    def __init__(
        self,
        resolver: FolderResolver,
        system: Account,
        clock: Clock,
        log: Logger,
        changed: Callable[[str], None],
        parser: TokenParser,
    ) -> None:
        self._resolver = resolver
        self._directory = resolver.directory
        self._system = system
        self._clock = clock
        self._log = log
        self._changed = changed
        self._parser = parser
        self._reading = False
        self._inbox = resolver.peers.inbox()
        self._lines: deque[str] = deque()
        self._timers: dict[str, Timer] = {}
        self._refused: set[str] = set()
        self._subscriptions: list[Subscription] = []
        self._watch: InterestWatch | None = None

    def start(self) -> None:
        """Answer requests, and send one at each interval."""
        sink = _Responder(self._answer, self._resolver.peers.own)
        responder = Subscription(PACK, sink, queue=QUEUE)
        self._system.add_subscription(responder)
        self._subscriptions = [responder, self._system.subscribe(self._inbox, self._handle)]
        self._watch = self._system.watch_interest(self._interest, PACK)
        self._later("ask", self._resolver.interval, self._ask)

    def stop(self) -> None:
        """Stop everything."""
        for subscription in self._subscriptions:
            self._system.unsubscribe(subscription)
        if self._watch is not None:
            self._watch.cancel()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._lines.clear()

    def _later(self, name: str, delay: int, work: Callable[[], None]) -> None:
        timer = self._timers.get(name)
        if timer is not None:
            timer.cancel()
        self._timers[name] = self._clock.call_later(delay, work)

    # --- asking

    def _interest(self, change: InterestChange) -> None:
        if change.delta > 0 and change.kind in REMOTE:
            self._later("ask", SOON, self._ask)

    def _ask(self) -> None:
        digest = self._directory.digest
        self._log.debug(f"DirResolver - Checking store state: {digest.hex()}")
        self._system.publish(PACK, digest, reply=self._inbox, own=True)
        self._later("ask", self._resolver.interval, self._ask)

    def _handle(self, message: Message) -> None:
        if not message.body:
            self._lines.append("")
        self._lines.extend(line for line in message.body.decode("utf-8", "replace").split("\n") if line)
        self._take_more()

    def _take(self) -> None:
        """Take lines until one must be read on a thread or the time of this step is over."""
        del self._timers["take"]
        until = perf_counter() + SECONDS
        while self._lines and perf_counter() < until:
            line = self._lines[0]
            key, _, token = line.partition("|")
            if not line:
                self._lines.popleft()
                self._log.debug(
                    f"DirResolver - Merging finished and resulting in: {self._directory.digest.hex()}"
                )
            elif self._directory.known(key, token):
                self._store(key, token)
            else:
                self._reading = True
                self._parser.read(token, lambda reading, key=key: self._have(key, reading))  # type: ignore[misc]
                return
        self._take_more()

    def _take_more(self) -> None:
        if self._lines and not self._reading and "take" not in self._timers:
            self._later("take", 0, self._take)

    def _have(self, key: str, parsed: ParsedToken) -> None:
        self._reading = False
        if self._lines:  # not stopped
            self._store(key, parsed.token)
            self._take_more()

    def _store(self, key: str, token: str) -> None:
        self._lines.popleft()
        try:
            if self._directory.store(key, token, newer_only=True):
                self._changed(token)
        except ResolverError as error:
            self._refuse(key, str(error))

    def _refuse(self, key: str, why: str) -> None:
        """Log each reason once, as the same line comes again with every sync."""
        text = f"DirResolver - another server's token of account {key[:64]!r} is not taken: {why}"
        if text not in self._refused:
            self._refused.add(text)
            self._log.error(text)

    # --- answering

    def _answer(self, reply: str, digest: bytes) -> None:
        own = self._directory.digest
        if digest == own:
            self._log.debug(f"DirResolver - Pack request matches hash {own.hex()}")
            self._system.publish(reply)
            return
        self._log.debug(f"DirResolver - Pack request hash {digest.hex()[:64]} answered from {own.hex()}")
        self._send(reply, self._directory.pairs())

    def _send(self, reply: str, pairs: Iterator[tuple[str, str]]) -> None:
        until = perf_counter() + SECONDS
        while perf_counter() < until:
            pair = next(pairs, None)
            if pair is None:
                self._system.publish(reply)
                self._timers.pop(f"send {reply}", None)
                return
            self._system.publish(reply, f"{pair[0]}|{pair[1]}".encode())
        self._later(f"send {reply}", 0, lambda: self._send(reply, pairs))
