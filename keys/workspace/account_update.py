"""The change of one account: it is read, altered, compared with what it was, signed and stored.

Nothing is written before `store`, so that an error before it leaves everything unchanged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims
from ..errors import IdentityError, WorkspaceError
from ..nkey import KeyPair
from .report import OperationReport
from .signing import account_signer
from .workspace import Workspace


@contextlib.contextmanager
def editing(workspace: Workspace, account: str = "") -> Iterator[AccountUpdate]:
    """Open an update while no other run may change this operator's store.

    Raises as `AccountUpdate.open` does.
    """
    with workspace.locked():
        yield AccountUpdate.open(workspace, account)


@dataclass(slots=True)
class AccountUpdate:
    """An account's claims, to be altered in place.

    name: its name in the store.
    errors: the errors that it had when it was read. They do not prevent a change; new ones do.
    """

    workspace: Workspace
    name: str
    claims: AccountClaims
    errors: frozenset[str]

    @classmethod
    def open(cls, workspace: Workspace, account: str = "") -> AccountUpdate:
        """Read an account, by name or public key; "" is the current one.

        Raises WorkspaceError if there is no such account, FolderError if its token is damaged.
        """
        name = workspace.account_name(account)
        claims = workspace.store().account(name)
        return cls(workspace, name, claims, frozenset(_errors(claims, workspace.now())))

    @property
    def seconds(self) -> int:
        """The time in seconds, the unit of tokens."""
        return self.workspace.now() // 1_000_000_000

    def check(self) -> None:
        """Raise WorkspaceError for the first error that the account did not have before."""
        for text in _errors(self.claims, self.workspace.now()):
            if text not in self.errors:
                raise WorkspaceError(text)

    def store(self, *keys: KeyPair) -> OperationReport:
        """Check, sign and store the account; return the report, to which the caller adds its lines.

        keys: secrets to be stored with it. New ones are removed again if the account cannot be stored.

        Raises WorkspaceError for a new error in the claims or if no key may sign, FolderError if the store
        cannot be written.
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
