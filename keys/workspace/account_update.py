"""One account under change: read, altered, checked against what it was, signed and stored, or left alone.

Nothing is written before `store`, so that whatever is refused on the way has changed nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from ..claims import AccountClaims
from ..errors import IdentityError, WorkspaceError
from ..nkey import KeyPair
from .report import OperationReport
from .signing import account_signer
from .workspace import Workspace


@contextlib.contextmanager
def editing(workspace: Workspace, account: str = "") -> Iterator[AccountUpdate]:
    """Open an update while no other run may change this operator's store. Raises as `AccountUpdate.open`."""
    with workspace.locked():
        yield AccountUpdate.open(workspace, account)


@dataclass(slots=True)
class AccountUpdate:
    """An account's claims, to be altered in place; `name` is its name in the store.

    `errors`: the errors it had when it was read. They do not stop a change, new ones do.
    """

    workspace: Workspace
    name: str
    claims: AccountClaims
    errors: frozenset[str]

    @classmethod
    def open(cls, workspace: Workspace, account: str = "") -> AccountUpdate:
        """Read an account, by name or public key; "" is the current one.

        Raises WorkspaceError when there is no such account, FolderError when its token is damaged.
        """
        name = workspace.account_name(account)
        claims = workspace.store().account(name)
        return cls(workspace, name, claims, frozenset(_errors(claims, workspace.now())))

    @property
    def seconds(self) -> int:
        """The time, in the seconds that tokens have."""
        return self.workspace.now() // 1_000_000_000

    def check(self) -> None:
        """Raise WorkspaceError for the first error that the account did not have before."""
        for text in _errors(self.claims, self.workspace.now()):
            if text not in self.errors:
                raise WorkspaceError(text)

    def store(self, *keys: KeyPair) -> OperationReport:
        """Check, sign and store the account, and give the report to which the caller adds its lines.

        `keys`: secrets to be stored with it; those that were not there before are gone again when the account
        cannot be stored. Raises WorkspaceError for a new error in the claims or without a key that may sign,
        FolderError when the store cannot be written.
        """
        self.check()
        signer = account_signer(self.workspace, self.claims)
        keystore = self.workspace.keystore
        new = [key for key in keys if not keystore.has(key.public_key)]
        report = OperationReport()
        try:
            for key in new:
                keystore.add(key)
            report.add(self.workspace.write_account(self.claims, signer))
        except IdentityError:
            for key in new:
                keystore.remove(key.public_key)
            raise
        return report


def _errors(claims: AccountClaims, now: int) -> list[str]:
    return [issue.text for issue in claims.issues(now).blocking(time=False)]
