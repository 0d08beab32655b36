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
    none. private: importers need an activation token, which whoever makes the import has checked.
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
        """Equal for exports that are the same."""
        return self.subject, self.accounts, self.token_position, self.private

    def allows(self, importer: str, subject: str) -> bool:
        """Whether the account named `importer` may import `subject`, all of it, through this export."""
        if not is_subset(subject, self.subject):
            return False
        if self.token_position:
            tokens = subject.split(".")
            return len(tokens) >= self.token_position and tokens[self.token_position - 1] == importer
        if self.private:
            return False
        return self.accounts is None or importer in self.accounts


class StreamExport(Export):
    """Messages that others may receive."""

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
        *,
        private: bool = False,
    ) -> None:
        super().__init__(subject, accounts, token_position, private=private)
        self.response_type = response_type
        self.threshold = threshold or DEFAULT_RESPONSE_THRESHOLD

    @property
    def key(self) -> tuple[object, ...]:
        """As for every export; the way of answering belongs to it."""
        return *super().key, self.response_type, self.threshold
