"""TracedPublishes: what a stream does with publishes that are traced.

The trace says what becomes of a message: under which subject it is stored, that no consumer wants it, or why
it is refused. A message that is only to be traced is judged like any other, and changes nothing. One that is
stored is traced no more: it would be again whenever it is delivered.

A replica that leads judges a message before it is proposed, by what was applied so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....native.ingest import MAX_HEADER
from ....protocol import tracing
from ....protocol.errors import ApiError, api_error
from ....protocol.transform import SubjectTransform
from ...accounts.subscription import Message
from .batch_check import MAX_RECORD
from .batch_headers import IN_HEADER
from .counter import counted, stored
from .dedupe import Duplicate
from .fast_batches import SUFFIX
from .publish_headers import check_duplicate, validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...accounts.server_trace import ServerTrace
    from ...accounts.traced_message import TracedMessage
    from .contents import StreamContents


class TracedPublishes:
    """The traced publishes of one stream. receive: takes a publish that is not only to be traced."""

    def __init__(self, contents: StreamContents, receive: Callable[[Message], None]) -> None:
        self._contents = contents
        self._receive = receive

    def take(self, msg: TracedMessage, trace: ServerTrace) -> bool:
        """Note what becomes of a message, and take it unless it is only to be traced."""
        subject = msg.subject.decode("utf-8", "surrogateescape")
        entry = trace.stored(self._contents.name)
        if not (IN_HEADER in msg.header or msg.reply.endswith(SUFFIX)):  # a batch is judged at its end
            try:
                entry["subject"], unheard = self._judge(subject, msg.header, msg.body)
                entry |= {"nointerest": True} if unheard else {}
            except Duplicate:
                entry["error"] = "msgid is duplicate"
            except ApiError as error:
                entry["error"] = error.description
        if not trace.only:
            reply = msg.reply.decode("utf-8", "surrogateescape")
            self._receive(Message(subject, reply, tracing.disabled(msg.header), msg.body, msg.source))
        return True

    def _judge(self, subject: str, header: bytes, body: bytes) -> tuple[str, bool]:
        """Return the subject of a message in the stream, and whether it is not stored for lack of interest.

        Makes the checks of `Ingest.store`, in their order. Raises Duplicate and ApiError.
        """
        contents = self._contents
        config, deps, store = contents.config, contents.deps, contents.store
        if config.subject_transform is not None and config.subject_transform.dest:
            source, dest = config.subject_transform.src, config.subject_transform.dest
            transform = SubjectTransform(source, dest, random_below=deps.random_below)
            subject = transform.apply(subject) or subject
        if config.sealed:
            raise api_error("JSStreamSealedErr")
        if 0 <= config.max_msg_size < len(header) + len(body):
            raise api_error("JSStreamMessageExceedsMaximumErr")
        if config.storage == "file" and len(header) + len(body) > MAX_RECORD:
            raise api_error("JSStreamStoreFailedF", err="message to large")
        if contents.ack_queue.error is not None:
            raise api_error("JSStreamStoreFailedF", err=f"stream store failed: {contents.ack_queue.error}")
        rolls_up = False
        if header:
            publish_headers = validate(contents, subject, header, body, sourced=False)
            header, rolls_up = publish_headers.header, bool(publish_headers.rollup)
            check_duplicate(contents.dedupe, publish_headers, deps.clock.now())
        if config.allow_msg_counter:
            header, body = counted(stored(store, subject), subject, header, body)
        if len(header) > MAX_HEADER:
            raise api_error("JSStreamHeaderExceedsMaximumErr")
        if contents.retention.by_interest and contents.retention.nobody_listens(subject):
            return subject, True
        size = store.size_of(subject, len(header), len(body))
        refusal = deps.quota.refusal(size)
        if refusal is None and config.discard == "new":
            refusal = contents.limits.check_room(subject, size, rolls_up=rolls_up)
        if refusal is not None:
            raise refusal
        return subject, False
