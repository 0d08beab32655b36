"""One message on its way: `RoutedMessage` as the router carries it, `Message` as an internal subscriber sees
it.

A message keeps the wire form (`tail`) so that handing it to a client or a leaf copies nothing. It never
changes while it is being delivered: a rewrite makes a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.wire.encode import tail as tail_of

if TYPE_CHECKING:
    from .account import Account
    from .imports import ServiceImport
    from .source import MessageSource
    from .subscription import Publish


class RoutedMessage:
    """A message being routed.

    subject: what is matched; shown: what a client is shown instead, or b"" for the same. header_size and
    size are bytes, size including the header. `chain` lists the service imports it came through, oldest
    first. answer: the server sends it because it was asked, so that it is no request itself.
    """

    __slots__ = (
        "account",
        "answer",
        "chain",
        "header_size",
        "reply",
        "shown",
        "size",
        "source",
        "subject",
        "tail",
    )

    def __init__(
        self,
        account: Account,
        source: MessageSource,
        subject: bytes,
        reply: bytes,
        header_size: int,
        size: int,
        tail: bytes,
        shown: bytes = b"",
        chain: tuple[ServiceImport, ...] = (),
        *,
        answer: bool = False,
    ) -> None:
        self.account = account
        self.answer = answer
        self.source = source
        self.subject = subject
        self.reply = reply
        self.header_size = header_size
        self.size = size
        self.tail = tail
        self.shown = shown
        self.chain = chain

    @property
    def header(self) -> bytes:
        """The header block, or b""."""
        if not self.header_size:
            return b""
        start = len(self.tail) - self.size - 2
        return self.tail[start : start + self.header_size]

    @property
    def body(self) -> bytes:
        """The payload after the header block."""
        end = len(self.tail) - 2
        return self.tail[end - self.size + self.header_size : end]

    def renamed(self, subject: bytes) -> RoutedMessage:
        """The same message under another subject."""
        return RoutedMessage(
            self.account,
            self.source,
            subject,
            self.reply,
            self.header_size,
            self.size,
            self.tail,
            self.shown,
            self.chain,
            answer=self.answer,
        )

    def rewritten(
        self,
        account: Account,
        subject: bytes,
        reply: bytes,
        header: bytes,
        chain: tuple[ServiceImport, ...],
        *,
        answer: bool = False,
    ) -> RoutedMessage:
        """The same payload under another subject, reply and header, in `account`; an answer stays one."""
        body = self.body
        return RoutedMessage(
            account,
            self.source,
            subject,
            reply,
            len(header),
            len(header) + len(body),
            tail_of(reply, header, body),
            self.shown,
            chain,
            answer=answer or self.answer,
        )


class Message:
    """What an internal subscriber's callback gets. Sizes in bytes; `header` is the whole block or b""."""

    __slots__ = ("account", "body", "header", "reply", "source", "subject")

    def __init__(
        self,
        subject: str,
        reply: str,
        header: bytes,
        body: bytes,
        account: Account,
        source: MessageSource | None,
    ) -> None:
        self.subject = subject
        self.reply = reply
        self.header = header
        self.body = body
        self.account = account
        self.source = source

    def __repr__(self) -> str:
        return f"Message({self.subject!r}, reply={self.reply!r}, {len(self.header)}+{len(self.body)} bytes)"


def message_of(publish: Publish, account: Account) -> Message:
    """What a callback would have got, for a reader that wants a message by itself; its source is not told."""
    subject, reply, header_size, size, tail = publish
    start = len(tail) - 2 - size
    body_at = start + header_size
    return Message(
        subject.decode("utf-8", "surrogateescape"),
        reply.decode("utf-8", "surrogateescape"),
        tail[start:body_at],
        tail[body_at:-2],
        account,
        None,
    )
