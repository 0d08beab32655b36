"""User claims: a user's permissions and limits."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..nkey import KeyRole, is_public
from .base import Claims
from .issues import Issues
from .model import UNLIMITED, VERSION, Body
from .parts import UserPermissionLimits

CONNECTION_TYPES = ("STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS")


class User(UserPermissionLimits, Body):
    """The document under `nats` in a user's token.

    issuer_account: the account's public key if a signing key signed the token, else "".
    """

    LAST: ClassVar[tuple[str, ...]] = ("issuer_account", "tags", "type", "version")

    issuer_account: str = ""


class UserClaims(Claims):
    """A user's token, signed by its account or one of the account's signing keys."""

    KIND: ClassVar[str] = "user"
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.ACCOUNT,)
    SUBJECTS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.USER,)

    nats: User = Field(default_factory=User)

    @classmethod
    def new(
        cls, subject: str, name: str = "", *, issuer_account: str = "", scoped: bool = False
    ) -> UserClaims:
        """Return new claims for a user's public key.

        They are unlimited, or have nothing set for a scoped signing key.
        """
        limit = 0 if scoped else UNLIMITED
        body = User(subs=limit, data=limit, payload=limit, issuer_account=issuer_account)
        return cls(sub=subject, name=name, nats=body)

    @property
    def account(self) -> str:
        """The public key of the account that the user belongs to."""
        return self.nats.issuer_account or self.iss

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the permissions, the limits and the issuer account."""
        self.nats.check_permissions(issues)
        self.nats.check_limits(issues)
        if self.nats.issuer_account and not is_public(self.nats.issuer_account, KeyRole.ACCOUNT):
            issues.error("account_id is not an account public key")

    def prepare(self) -> None:
        """Set type and version."""
        self.nats.type, self.nats.version = self.KIND, VERSION
