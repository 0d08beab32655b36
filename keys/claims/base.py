"""Claims common to all tokens, and what each kind of token must be."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..nkey import KeyRole
from .issues import Issues
from .model import Document, Int64

SECOND = 1_000_000_000
BASE = ("aud", "exp", "jti", "iat", "iss", "name", "nbf", "sub")
# The class of each kind of token, by the word in `nats.type`. The package imports all of them.
KINDS: dict[str, type[Claims]] = {}


class Claims(Document):
    """The claims of a token; times are seconds since the epoch, 0 when unset. An `exp` before that is over.

    `KIND`: the word in `nats.type`; `ISSUERS` and `SUBJECTS`: roles of the keys that may sign and be named.
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
        """Validate the claims at `now` (nanoseconds): errors, time checks, warnings."""
        found = Issues()
        self.check_times(now, found)
        self.check_body(found, now)
        return found

    def check_times(self, now: int, issues: Issues) -> None:
        """Note a token that is expired, or not valid yet."""
        seconds = now // SECOND
        if self.exp and self.exp < seconds:
            issues.time("claim is expired")
        if self.nbf > 0 and self.nbf > seconds:
            issues.time("claim is not yet valid")

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate what stands under `nats`."""

    @property
    def self_signed(self) -> bool:
        """Whether issuer and subject are the same key."""
        return self.iss == self.sub

    @property
    def tags(self) -> list[str]:
        """The tags under `nats`."""
        return list(getattr(getattr(self, "nats", None), "tags", []))

    def base(self) -> dict[str, Any]:
        """Give the base claims alone, in order, empty ones left out."""
        return {name: value for name in BASE if (value := getattr(self, name))}

    def ready(self) -> Self:
        """Give a copy as it is to be signed: type and version set, lists in their order."""
        copy = self.model_copy(deep=True)
        copy.prepare()
        return copy

    def prepare(self) -> None:
        """Set what encoding sets. Raises TokenError for what must not be written."""
