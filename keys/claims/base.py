"""The claims that all tokens have, and the rules for each kind of token."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..nkey import KeyRole
from .issues import Issues
from .model import ClaimsDocument, Int64

SECOND = 1_000_000_000
BASE = ("aud", "exp", "jti", "iat", "iss", "name", "nbf", "sub")
# The class of each kind of token, by the word in `nats.type`. The package imports all of them.
KINDS: dict[str, type[Claims]] = {}


class Claims(ClaimsDocument):
    """The claims of a token. Times are in seconds since the epoch, 0 if unset; a negative `exp` has passed.

    KIND: the word in `nats.type`.
    ISSUERS, SUBJECTS: the roles of the keys that may sign such a token, and of those it may be about.
    """

    KIND: ClassVar[str] = ""
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = ()
    SUBJECTS: ClassVar[tuple[KeyRole, ...]] = ()

    aud: str = ""
    exp: Int64 = 0
    jti: str = ""
    iat: Int64 = 0
    iss: str = ""
    name: str = ""
    nbf: Int64 = 0
    sub: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.KIND:
            KINDS[cls.KIND] = cls

    def issues(self, now: int) -> Issues:
        """Validate the claims at `now` (ns); return errors, failed time checks and warnings."""
        found = Issues()
        self.check_times(now, found)
        self.check_body(found, now)
        return found

    def check_times(self, now: int, issues: Issues) -> None:
        """Note whether the token is expired or not valid yet."""
        seconds = now // SECOND
        if self.exp and self.exp < seconds:
            issues.time("claim is expired")
        if self.nbf > 0 and self.nbf > seconds:
            issues.time("claim is not yet valid")

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the document under `nats`."""

    @property
    def self_signed(self) -> bool:
        """Whether issuer and subject are the same key."""
        return self.iss == self.sub

    @property
    def tags(self) -> list[str]:
        """The tags of the document under `nats`."""
        return list(getattr(getattr(self, "nats", None), "tags", []))

    def base(self) -> dict[str, Any]:
        """Return the base claims alone, in their order, without empty ones."""
        return {name: value for name in BASE if (value := getattr(self, name))}

    def ready(self) -> Self:
        """Return a copy that is ready for signing: type and version set, lists in their order."""
        copy = self.model_copy(deep=True)
        copy.prepare()
        return copy

    def prepare(self) -> None:
        """Set what encoding adds. Raises TokenError for claims that must not be written."""
