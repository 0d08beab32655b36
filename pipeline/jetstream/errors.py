"""The errors of reading a stream. API errors of other kinds are protocol's `ApiError`."""

from __future__ import annotations

from ...protocol.errors import ApiError

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014


class UnknownStream(ApiError):  # noqa: N818 - what is wrong
    """There is no stream of this name in the account and domain."""

    def __init__(self, stream: str) -> None:
        Exception.__init__(self, stream)
        self.stream = stream
        self.code, self.err_code, self.description = 404, STREAM_NOT_FOUND, "stream not found"

    def __str__(self) -> str:
        return f"stream {self.stream} not found ({self.err_code}); check its name, and the domain"


class ShortRead(Exception):  # noqa: N818 - what happened
    """Messages `first` to `last` of the stream exist, but could not be read."""

    def __init__(self, stream: str, first: int, last: int, reason: str) -> None:
        super().__init__(stream, first, last, reason)
        self.stream, self.first, self.last, self.reason = stream, first, last, reason

    def __str__(self) -> str:
        return (
            f"stream {self.stream}: sequences {self.first} to {self.last} could not be read: {self.reason}; "
            "nothing was skipped, read them again"
        )


class DataLoss(Exception):  # noqa: N818 - what happened
    """Sequences `first` to `last` should have been read, but the stream no longer has them."""

    def __init__(self, stream: str, first: int, last: int, reason: str = "") -> None:
        super().__init__(stream, first, last, reason)
        self.stream, self.first, self.last, self.reason = stream, first, last, reason

    @property
    def happened(self) -> str:
        """What is gone, without advice what to do about it: for callers that continue."""
        reason = self.reason or "they were removed by its limits or a purge"
        return f"stream {self.stream}: sequences {self.first} to {self.last} are gone: {reason}"

    def __str__(self) -> str:
        return (
            f"{self.happened}; set failOnDataLoss to false to go on with what is left, or, if a DataFrame "
            "or view was used again, load it again (pyjs.pipeline.table): it keeps the sequences of its "
            "first use"
        )


class Interrupted(Exception):  # noqa: N818 - what happened
    """Reading stopped before its end, for a reason that may pass; the messages before it are whole."""


class Behind(Interrupted):
    """The stream ends at `last`, before the range does: its leader is behind, or the stream lost its end."""

    def __init__(self, text: str, last: int) -> None:
        super().__init__(text)
        self.last = last
