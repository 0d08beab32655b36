"""StreamRestore: receives a stream that a client sends, chunk by chunk.

Promises:
- A chunk is acknowledged when its content is on the disk.
- When the last chunk, which is empty, is answered, the stream exists.
- If anything is wrong, or if no chunk comes for `CHUNK_TIMEOUT`, nothing of the stream is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .....protocol.archive.entries import ArchiveEntry, ArchiveReader
from .....protocol.errors import ApiError, api_error
from .....protocol.s2 import Unframer
from .staged import ERRORS, StagedStream

if TYPE_CHECKING:
    from .....protocol.api.stream import StreamConfig
    from ....accounts.subscription import Message, Subscription
    from ....clock import Timer
    from ...consumers.core import Consumer
    from ...streams.core import Stream
    from ..streams import AccountStreams

CHUNK_TIMEOUT = 30_000_000_000  # ns without a chunk after which the restore is given up
_SUBJECT = "$JS.SNAPSHOT.RESTORE."

Json = dict[str, Any]
Answer = Callable[[str, "Stream[Consumer] | ApiError | None"], None]
OnRestored = Callable[["Stream[Consumer] | ApiError"], None]
Complete = Callable[[StagedStream, OnRestored], None]


class StreamRestore:
    """One restore.

    subject: the subject on which the client sends the chunks.
    name: the name of the stream.
    answer: called with (reply, None) for a chunk, (reply, stream) for the last one, and (reply, error) for
        the one that failed.
    ended: called with the number of bytes received when the restore ends in any way.
    """

    def __init__(
        self,
        account: AccountStreams,
        config: StreamConfig,
        answer: Answer,
        ended: Callable[[int], None],
        complete: Complete,
    ) -> None:
        """Stage the stream. Raises OSError and StoreError.

        complete: called with the staged stream at the end; makes it one of the account's, now or later.
        """
        self.subject = f"{_SUBJECT}{config.name}.{account.host.new_id()}"
        self.name = config.name
        self._host = account.host
        self._account = account.account
        self._answer = answer
        self._ended = ended
        self._complete = complete
        self._staged = StagedStream(account, config)
        self._unframer = Unframer()
        self._entries = ArchiveReader()
        self._chunks: deque[tuple[str, bytes]] = deque()
        self._decoded: list[ArchiveEntry] = []
        self._bytes = 0
        self._busy = self._over = False
        self._timer: Timer | None = None
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Subscribe to the chunks that the client sends."""
        self._subscription = self._account.subscribe(self.subject, self._received)
        self._wait()

    def stop(self) -> None:
        """End the restore, and delete what was received, unless it is complete."""
        if not self._over:
            self._end()
            if not self._busy:
                self._staged.drop()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._host.clock.call_later(CHUNK_TIMEOUT, self._stalled)

    def _stalled(self) -> None:
        self._host.log.warning(f"Restore of stream '{self._account.name} > {self.name}' is stalled")
        self.stop()

    def _end(self) -> None:
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._subscription is not None:
            self._account.unsubscribe(self._subscription)
        self._ended(self._bytes)

    def _received(self, message: Message) -> None:
        self._chunks.append((message.reply, message.body))
        self._bytes += len(message.body)
        self._wait()
        self._next()

    # --- one chunk after another

    def _next(self) -> None:
        if self._busy or self._over or not self._chunks:
            return
        reply, body = self._chunks.popleft()
        if not body:
            self._finish(reply)
            return

        def decode() -> None:
            self._decoded = self._entries.feed(self._unframer.feed(body))

        self._busy = True
        self._host.executor.work(decode, lambda error: self._take(reply, error))

    def _take(self, reply: str, error: BaseException | None) -> None:
        """Store the entries of a chunk, and then acknowledge it."""
        if self._is_given_up(reply, error):
            return
        try:
            for entry in self._decoded:
                self._staged.take(entry)
            commit = self._staged.store.begin_commit()
        except ERRORS as failure:
            self._is_given_up(reply, failure)
            return
        if commit is None:
            self._taken(reply, None)
            return

        def done(error: BaseException | None) -> None:
            self._staged.store.finish(commit)
            self._taken(reply, error)

        self._host.executor.work(commit.run, done)

    def _taken(self, reply: str, error: BaseException | None) -> None:
        if not self._is_given_up(reply, error):
            self._busy = False
            self._answer(reply, None)
            self._next()

    def _finish(self, reply: str) -> None:
        try:
            self._unframer.end()
            self._entries.end()
            self._staged.must_be_whole()
            self._busy = True
            self._complete(self._staged, lambda outcome: self._completed(reply, outcome))
        except ERRORS as error:
            self._is_given_up(reply, error)

    def _completed(self, reply: str, outcome: Stream[Consumer] | ApiError) -> None:
        if not self._is_given_up(reply, outcome if isinstance(outcome, ApiError) else None):
            self._end()
            self._answer(reply, outcome)

    def _is_given_up(self, reply: str, error: BaseException | None) -> bool:
        """Return whether the restore is over: it was stopped meanwhile, or there is an error.

        In both cases what was received is deleted. The error is answered, and ends the restore.
        """
        self._busy = self._busy and not (self._over or error is not None)
        if self._over:
            self._staged.drop()
            return True
        if error is None:
            return False
        self._end()
        self._staged.drop()
        known = isinstance(error, ApiError)
        self._answer(reply, error if known else api_error("JSStreamRestoreErrF", err=str(error)))  # type: ignore[arg-type]
        return True
