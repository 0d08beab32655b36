"""Reading a range through an ephemeral pull consumer: the fastest way, served by the stream's leader.

Promises: the consumer numbers its deliveries. When a number is missing, or nothing arrives, the reading
returns everything whole that came before and then raises Interrupted. Nothing is acknowledged, and the
consumer is deleted when the reading ends. Messages are requested before those requested earlier have all
arrived, so that the server never waits; at most two batches of them, or `WINDOW` bytes, are on their way.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any

from ...client import ClientError, Frames
from ...client.block import HEADERS, PAYLOADS, SUBJECTS, TEXTS, DeliveryBlock
from ...protocol import headers
from .api import JetStreamRequests
from .columns import MessageColumns, MessageRange, text
from .errors import Interrupted

BLOCK_BYTES = 2 << 20  # of a range that is returned: more of them leave the processor's cache on their way
WINDOW = 8 << 20  # bytes requested that have not arrived yet, about
ASKED_BYTES = 4 << 20  # the most of one request
FIRST_ASKED = 500  # messages, while their size is not known
ROOM = 64 << 10  # for what counts besides the payload: subjects
SECOND = 10**9  # ns
EXPIRES = 30 * SECOND
OVERHEAD = 100  # bytes of a message besides header and payload, about
ABANDONED = 30 * SECOND  # after which the server removes the consumer of a reader that is gone
NO_RESPONDERS, HEARTBEAT = 503, 100
_ENDED = (404, 408, 409)
TOO_LARGE = "Message Size Exceeds MaxBytes"
_USED_UP = ("Batch Completed", "Request Timeout")


class ConsumerReader:
    """One reading from `start` on: `create` makes the consumer, and leaving a `with` block deletes it."""

    def __init__(
        self,
        api: JetStreamRequests,
        stream: str,
        start: int | None,
        end: int,
        subjects: tuple[str, ...],
        batch: int,
        *,
        wanted: Collection[str] = TEXTS,
    ) -> None:
        """Prepare a reading.

        start: the first sequence; None: each subject's last message, and what arrives meanwhile
        wanted: which of the texts of a block are read; the columns of the others are None
        """
        self._api, self._connection = api, api.connection
        self._stream = stream
        self._position, self._end = start or 1, end
        self._batch = batch
        self._name = f"spark_{secrets.token_hex(6)}"
        self._inbox = self._connection.new_inbox()
        self._asked = 0  # messages requested that have not arrived yet
        self._requests = 0
        self._number = 0  # of the last delivery
        self._left = 0  # messages that the consumer has left, as its last delivery said
        self._sid = b""
        self._wanted = wanted
        self._block: DeliveryBlock | None = None  # of what was received and not returned yet
        self._needed = 0  # bytes of the next message, if it had no room in the last block
        self._received = self._received_bytes = 0  # that were returned
        self._most_bytes = max(ASKED_BYTES, self._connection.max_payload + ROOM)
        self._stuck_at = 0  # the position when a message was last too large for a request
        where: dict[str, Any] = {"deliver_policy": "last_per_subject"}
        if start is not None:
            where = {"deliver_policy": "by_start_sequence", "opt_start_seq": start}
        self._config = self._configuration(where, subjects)

    def _configuration(self, where: dict[str, Any], subjects: tuple[str, ...]) -> dict[str, Any]:
        config: dict[str, Any] = {
            "name": self._name,
            **where,
            "ack_policy": "none",
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": ABANDONED,
        }
        if len(subjects) == 1:
            config["filter_subject"] = subjects[0]
        elif subjects:
            config["filter_subjects"] = list(subjects)
        return config

    def create(self) -> None:
        """Create the consumer. Raises ApiError or ClientError; in that case there is no consumer."""
        name = f"CONSUMER.CREATE.{self._stream}.{self._name}"
        if "filter_subject" in self._config:
            name += "." + self._config["filter_subject"]
        self._sid = self._connection.subscribe(f"{self._inbox}.*")
        try:
            answer = self._api.call(name, {"stream_name": self._stream, "config": self._config})
        except BaseException:
            with suppress(ClientError):
                self._connection.unsubscribe(self._sid)
            raise
        self._left = int(answer.get("num_pending") or 0)

    def __enter__(self) -> ConsumerReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ClientError):  # the server removes it by itself after a while
            self._connection.unsubscribe(self._sid)
            self._connection.publish(f"{self._api.prefix}.CONSUMER.DELETE.{self._stream}.{self._name}")

    def ranges(self) -> Iterator[MessageRange]:
        """Yield the messages until the range is complete, or nothing is left in the stream.

        Raises Interrupted, ClientError.
        """
        while self._position < self._end and self._left:
            self._ask()
            block = self._block or self._new_block()
            before = len(block)
            try:
                others = self._connection.take_into(block)
            except ClientError:
                yield from self._give()
                raise
            self._note(block, before)
            try:
                quiet = self._read_others(others)
            except Interrupted:
                yield from self._give()
                raise
            if len(block) > before:
                quiet = ""  # what it was about came before these messages
            if block.full or quiet or not self._left or self._position >= self._end:
                yield from self._give()
            if quiet:
                raise Interrupted(quiet)

    def _new_block(self) -> DeliveryBlock:
        """Begin a block; it has room for the next message, however large that is."""
        size = max(BLOCK_BYTES, self._needed)
        self._block = DeliveryBlock(self._sid, self._batch, size, number=self._number, wanted=self._wanted)
        return self._block

    def _note(self, block: DeliveryBlock, before: int) -> None:
        """Note the deliveries that a block has more than before."""
        came = len(block) - before
        self._needed = block.needed if block.full else 0
        if came:
            self._asked -= came
            self._number, self._left = block.number, block.pending
            self._position = block.last_sequence + 1

    def _ask(self) -> None:
        """Request messages so that a window of them is on its way, as far as the range goes."""
        most = self._end - self._position - self._asked
        window = self._window()
        if self._asked > window // 2 or (most <= 0 and self._asked):
            return
        self._requests += 1
        wanted = min(window - self._asked, max(most, 1))
        request = {
            "batch": wanted,
            "max_bytes": self._most_bytes,
            "expires": EXPIRES,
            "idle_heartbeat": max(int(self._connection.address.timeout * SECOND / 2), SECOND // 10),
        }
        self._connection.publish(
            f"{self._api.prefix}.CONSUMER.MSG.NEXT.{self._stream}.{self._name}",
            json.dumps(request).encode(),
            reply=f"{self._inbox}.{self._requests}",
        )
        self._asked += wanted

    def _window(self) -> int:
        """Return how many messages may be on their way."""
        if not self._received:
            return min(FIRST_ASKED, 2 * self._batch)
        size = self._received_bytes // self._received + OVERHEAD
        return max(1, min(2 * self._batch, WINDOW // size))

    def _read_others(self, others: Frames) -> str:
        """Read what is no delivery; return why no more can be expected, "" if more can.

        Raises Interrupted for a message that does not follow the last delivery.
        """
        quiet, own = "", self._inbox.encode()
        for row, head in enumerate(others.heads):
            subject, sid = head.split(b" ")[:2]
            if sid != self._sid:
                continue  # the late answer to a request that has timed out
            if not subject.startswith(own):
                raise Interrupted("a delivery did not arrive, or is none of this consumer")
            quiet = self._status(others.headers.get(row, b"")) or quiet
        return quiet

    def _status(self, block: bytes) -> str:
        """Note a status message; return its words if it means that nothing more arrives, else ""."""
        status, words = headers.status(block)
        if status in _ENDED and (left := headers.get(block, b"Nats-Pending-Messages")) is not None:
            self._asked -= int(left)
            if words.startswith(TOO_LARGE):
                self._make_room()
            return "" if words.startswith((*_USED_UP, TOO_LARGE)) else words
        if status == NO_RESPONDERS:
            return "the consumer is gone"
        return "nothing comes, although the stream has more" if status == HEARTBEAT else words or f"{status}"

    def _make_room(self) -> None:
        """Request four times the bytes if even a whole request could not hold the next message."""
        if self._stuck_at == self._position:
            self._most_bytes *= 4
        self._stuck_at = self._position

    def _give(self) -> Iterator[MessageRange]:
        """Yield the messages received so far."""
        block, self._block = self._block, None
        if block is None or not len(block):
            return
        self._received += len(block)
        self._received_bytes += int(block.sizes.sum())
        subjects = block.texts(SUBJECTS)
        rows = MessageColumns(
            block.sequences,
            block.times,
            block.sizes,
            None if subjects is None else text(subjects),
            block.texts(PAYLOADS),
            block.texts(HEADERS),
        )
        yield MessageRange(rows.below(self._end), min(self._position, self._end))
