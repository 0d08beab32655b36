"""What an account offers to others, and who may take it."""

from __future__ import annotations

import enum

from ...protocol.subject import is_subset

DEFAULT_RESPONSE_THRESHOLD = 120_000_000_000  # ns: a response that took longer finds no way back


class ResponseType(enum.Enum):
    """How many messages answer one request of a service."""

    SINGLETON = "singleton"
    STREAM = "stream"
    CHUNKED = "chunked"


class Export:
    """A stream or service under `subject`, for everyone or for the accounts named.

    accounts None: public. token_position: 1-based token of the subject that must be the importer's name; 0:
    none.
    """

    __slots__ = ("accounts", "subject", "token_position")

    def __init__(self, subject: str, accounts: frozenset[str] | None = None, token_position: int = 0) -> None:
        self.subject = subject
        self.accounts = accounts
        self.token_position = token_position

    def allows(self, importer: str, subject: str) -> bool:
        """Whether the account named `importer` may import `subject`, all of it, through this export."""
        if not is_subset(subject, self.subject):
            return False
        if self.token_position:
            tokens = subject.split(".")
            return len(tokens) >= self.token_position and tokens[self.token_position - 1] == importer
        return self.accounts is None or importer in self.accounts


class StreamExport(Export):
    """Messages others may hear."""

    __slots__ = ()


class ServiceExport(Export):
    """Requests others may make. threshold: ns a response may take."""

    __slots__ = ("response_type", "threshold")

    def __init__(
        self,
        subject: str,
        accounts: frozenset[str] | None = None,
        token_position: int = 0,
        response_type: ResponseType = ResponseType.SINGLETON,
        threshold: int = 0,
    ) -> None:
        super().__init__(subject, accounts, token_position)
        self.response_type = response_type
        self.threshold = threshold or DEFAULT_RESPONSE_THRESHOLD
