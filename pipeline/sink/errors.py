"""Errors of a write. Their texts name the row and what to do, and never hold its content or a secret."""

from __future__ import annotations


class SinkError(Exception):
    """The write cannot be done as it was requested; raised before anything is published."""


class BadRow(SinkError):  # noqa: N818 - what it is
    """A row that cannot become a message."""

    def __init__(self, row: str, reason: str) -> None:
        super().__init__(row, reason)
        self.row, self.reason = row, reason

    def __str__(self) -> str:
        return f"{self.row} {self.reason}"


class RowRejected(SinkError):  # noqa: N818 - what happened
    """The server answered a row with an error, or stored it in another stream."""

    def __init__(self, row: str, subject: str, reason: str) -> None:
        super().__init__(row, subject, reason)
        self.row, self.subject, self.reason = row, subject, reason

    def __str__(self) -> str:
        return f"{self.row}, subject {self.subject}: {self.reason}"


class Unacknowledged(SinkError):  # noqa: N818 - what happened
    """Rows were sent, and no acknowledgement arrived in time: they may be stored or not."""
