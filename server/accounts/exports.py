"""Exports: what an account offers to others, and who may import it."""

from __future__ import annotations

import enum
from typing import NamedTuple

from ...protocol.subject import is_subset

DEFAULT_RESPONSE_THRESHOLD = 120_000_000_000  # ns: a response that takes longer is not delivered


class ResponseType(enum.Enum):
    """How many messages answer one request of a service."""

    SINGLETON = "singleton"
    STREAM = "stream"
    CHUNKED = "chunked"


class Export:
    """A stream or service under `subject` that other accounts may import.

    accounts: the names of the accounts that may import it; None means every account (a public export).
    token_position: the 1-based token of the subject that must be the importer's name; 0 means none.
    private: importers need an activation token. It is checked before the import is made.
    """

    __slots__ = ("accounts", "private", "subject", "token_position")

    def __init__(
        self,
        subject: str,
        accounts: frozenset[str] | None = None,
        token_position: int = 0,
        *,
        private: bool = False,
    ) -> None:
        self.subject = subject
        self.accounts = accounts
        self.token_position = token_position
        self.private = private

    @property
    def key(self) -> tuple[object, ...]:
        """A value that is equal for equal exports."""
        return self.subject, self.accounts, self.token_position, self.private

    def allows(self, importer: str, subject: str) -> bool:
        """Return whether the account named `importer` may import all of `subject` through this export."""
        if not is_subset(subject, self.subject):
            return False
        if self.token_position:
            tokens = subject.split(".")
            return len(tokens) >= self.token_position and tokens[self.token_position - 1] == importer
        if self.private:
            return False
        return self.accounts is None or importer in self.accounts


class StreamExport(Export):
    """An export of messages that other accounts may receive."""

    __slots__ = ()


class LatencyTarget(NamedTuple):
    """Where the latency of a service is published.

    sampling: percent of the requests; 0 for only those whose headers ask for it.
    """

    subject: str
    sampling: int


class ServiceExport(Export):
    """An export of a service that other accounts may send requests to.

    response_type: how many messages answer one request.
    threshold: how long a response may take, in ns; 0 stands for `DEFAULT_RESPONSE_THRESHOLD`.
    latency: where the latency of requests is published; None for nowhere.
    allow_trace: whether traces may show where requests go in the exporter's account.
    """

    __slots__ = ("allow_trace", "latency", "response_type", "threshold")

    def __init__(
        self,
        subject: str,
        accounts: frozenset[str] | None = None,
        token_position: int = 0,
        response_type: ResponseType = ResponseType.SINGLETON,
        threshold: int = 0,
        *,
        private: bool = False,
        latency: LatencyTarget | None = None,
    ) -> None:
        super().__init__(subject, accounts, token_position, private=private)
        self.allow_trace = False
        self.latency = latency
        self.response_type = response_type
        self.threshold = threshold or DEFAULT_RESPONSE_THRESHOLD

    @property
    def key(self) -> tuple[object, ...]:
        """A value that is equal for equal exports, with what only services have."""
        return *super().key, self.response_type, self.threshold, self.latency, self.allow_trace
