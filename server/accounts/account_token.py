"""AccountToken: what an account made from a token keeps of it, to check it later and to show it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ...protocol.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ...keys import AccountClaims


@dataclass(slots=True)
class AccountToken:
    """The token in force, and which parts of it are not.

    updated: when it was applied, in ns.
    expired: it is past its time or was deleted, so nobody may connect.
    imports: the imports that are not served, each with the reason.
    errors: everything else that is not in force.
    """

    token: str
    claims: AccountClaims
    updated: int
    expired: bool = False
    imports: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything that is in the token is in force."""
        return not self.errors and not self.imports
