"""Reading a range through an ephemeral pull consumer: the fastest way, served by the stream's leader.

Promises: the consumer numbers its deliveries. When a number is missing, or nothing arrives, the reading
returns everything whole that came before and then raises Interrupted. Nothing is acknowledged, and the
consumer is deleted when the reading ends. At most one batch beyond the one being received is requested, so
that a server never has more than two batches to send.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ...client import ClientError
from ...client.block import ArrowMessages
from ...protocol import headers
from . import deliveries
from .api import JetStreamRequests
from .columns import MessageColumns, MessageRange
from .errors import Interrupted

ASKED_BYTES = 4 << 20  # of one request
ROOM = 64 << 10  # for what counts besides the payload: subjects
SECOND = 10**9  # ns
EXPIRES = 30 * SECOND
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
        start: int,
        end: int,
        subjects: tuple[str, ...],
        batch: int,
        *,
        last: bool = False,
    ) -> None:
        """Prepare a reading; with `last`, of each subject's last message and of what arrives meanwhile."""
        self._api, self._connection = api, api.connection
        self._stream = stream
        self._position, self._end = start, end
        self._batch = batch
        self._name = f"spark_{secrets.token_hex(6)}"
        self._inbox = self._connection.new_inbox()
        self._asked = 0  # messages requested that have not arrived yet
        self._requests = 0
        self._number = 0  # of the last delivery
        self._left = 0  # messages that the consumer has left, as its last delivery said
        self._sid = b""
        self._blocks: list[ArrowMessages] = []  # received, not returned yet
        self._most_bytes = max(ASKED_BYTES, self._connection.max_payload + ROOM)
        self._stuck_at = 0  # the position when a message was last too large for a request
        where = {"deliver_policy": "by_start_sequence", "opt_start_seq": start}
        self._config = self._configuration(
            {"deliver_policy": "last_per_subject"} if last else where, subjects
        )

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
            try:
                block = self._connection.take_block()
            except ClientError:
                yield from self._give()
                raise
            quiet = self._keep(block)
            full = (
                sum(len(block) for block in self._blocks) >= self._batch
                or sum(block.size for block in self._blocks) >= 2 * ASKED_BYTES
            )
            if full or quiet or not self._left or self._position >= self._end:
                yield from self._give()
            if quiet:
                raise Interrupted(quiet)

    def _ask(self) -> None:
        """Request messages so that at least a batch is on its way, as far as the range goes."""
        most = self._end - self._position - self._asked
        if self._asked >= self._batch or (most <= 0 and self._asked):
            return
        self._requests += 1
        wanted = min(self._batch, max(most, 1))
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

    def _keep(self, block: ArrowMessages) -> str:
        """Keep the messages of `block`; return why no more can be expected, "" if more can."""
        quiet = ""
        if block.headers is not None and (own := pc.starts_with(block.heads, self._inbox)).true_count:
            for status in block.headers.filter(own).to_pylist():
                quiet = self._status(status) or quiet
            block = block.only(pc.invert(own))
        if not len(block):
            return quiet
        self._blocks.append(block)
        self._asked -= len(block)
        last = deliveries.one(block.heads[-1].as_py())
        self._position, self._left = last.sequence + 1, last.pending
        return ""

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
        """Yield the messages kept so far, up to the first missing number; raise Interrupted for that one."""
        if not self._blocks:
            return
        block = ArrowMessages.join(self._blocks)
        self._blocks = []
        subjects, figures = deliveries.read(block.heads)
        sequences, numbers = figures[:, 0], figures[:, 1]
        rows = MessageColumns(subjects, sequences, figures[:, 2], block.payloads, block.headers)
        due = np.arange(self._number + 1, self._number + 1 + len(rows))
        wrong = np.flatnonzero(numbers != due)
        if len(wrong):
            rows = rows.first(int(wrong[0]))
        self._number += len(rows)
        if len(rows):
            until = int(rows.sequences[-1]) + 1
            yield MessageRange(rows.below(self._end), min(until, self._end))
        if len(wrong):
            raise Interrupted("a delivery did not arrive")
