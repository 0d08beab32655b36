"""AccountToken: what an account that was made from a token keeps of it, for whoever must check or show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...keys import AccountClaims


@dataclass(slots=True)
class AccountToken:
    """The token in force and what became of it.

    updated: ns, when it was applied. expired: its time is over or it was deleted, nobody may connect.
    imports: those that are not served, each with the reason; errors: whatever else is not in force.
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
