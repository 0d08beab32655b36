"""StreamOutput: what a stream publishes in its account, and what it logs of its failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...accounts.account import Account, HeadedAnswer
    from ..host import JetStreamHost
    from .commit import Answer


class StreamOutput(Protocol):
    """Publishes and logs for one stream."""

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        """Publish in the stream's account; own: see Account.publish."""

    def send_each(self, messages: list[Answer]) -> None:
        """Publish many (subject, body) in the stream's account."""

    def send_answers(self, answers: list[HeadedAnswer]) -> None:
        """Publish many (subject, header, body) in the stream's account."""

    def store_failed(self, error: Exception) -> None:
        """Log that a valid message could not be stored."""

    def log_failure(self, text: str) -> None:
        """Log that something is wrong with the stream."""


class AccountOutput:
    """The `StreamOutput` of a stream that this server serves. label: names the stream in the log."""

    def __init__(self, account: Account, host: JetStreamHost, label: str) -> None:
        self._account = account
        self._host = host
        self._label = label
        self.send_each = account.publish_each
        self.send_answers = account.publish_answers

    def send(self, subject: str, header: bytes, body: bytes, *, own: bool = False) -> None:
        """Publish in the stream's account; own: see Account.publish."""
        self._account.publish(subject, body, header=header, own=own)

    def store_failed(self, error: Exception) -> None:
        """Log that a valid message could not be stored."""
        self.log_failure(f"can not store a message: {type(error).__name__}: {error}")

    def log_failure(self, text: str) -> None:
        """Log that something is wrong with the stream."""
        self._host.log.error(f"JetStream stream '{self._label}' {text}")
