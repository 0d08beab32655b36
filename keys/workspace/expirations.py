"""The expiry of tokens: those of the operator, its accounts and users, and those in credentials files."""

from __future__ import annotations

from collections.abc import Iterator

from ...protocol.lazy_dataclass import dataclass
from ..claims import Claims, UserClaims
from ..claims.base import SECOND
from ..errors import IdentityError, NotFoundError
from ..token import decode
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class TokenExpiry:
    """The expiry of one token.

    resource: `operator/account/user`, or the path of a credentials file.
    expires: seconds, 0 for never.
    error: why the token cannot be read; the other fields are then meaningless.
    """

    resource: str
    public_key: str = ""
    expires: int = 0
    expired: bool = False
    soon: bool = False
    error: str = ""

    @property
    def pressing(self) -> bool:
        """Whether something must be done: the token has expired, expires soon, or cannot be read."""
        return self.expired or self.soon or bool(self.error)


def expirations(workspace: Workspace, threshold: int) -> list[TokenExpiry]:
    """Return the expiry of all tokens of the current operator.

    threshold: seconds; a token that expires before it expires soon.

    Raises WorkspaceError without an operator. A token that cannot be read is reported in its own entry.
    """
    now = workspace.now() // SECOND
    found = []
    for resource, claims in _tokens(workspace):
        if isinstance(claims, str):
            found.append(TokenExpiry(resource, error=claims))
            continue
        ends = claims.exp
        soon = bool(ends) and ends < threshold
        found.append(TokenExpiry(resource, claims.sub, ends, bool(ends) and now > ends, soon))
    return found


def _tokens(workspace: Workspace) -> Iterator[tuple[str, Claims | str]]:
    """Yield (resource, its claims, or why they cannot be read)."""
    store = workspace.store()
    operator = store.operator()
    yield operator.name, operator
    for account in store.accounts():
        try:
            claims = store.account(account)
        except IdentityError as error:
            yield f"{operator.name}/{account}", str(error)
            continue
        yield f"{operator.name}/{claims.name}", claims
        for user in store.users(account):
            where = f"{operator.name}/{claims.name}/{user}"
            try:
                held = store.user(account, user)
            except IdentityError as error:
                yield where, str(error)
                continue
            yield f"{operator.name}/{claims.name}/{held.name}", held
            yield from _credentials(workspace, account, user)


def _credentials(workspace: Workspace, account: str, user: str) -> Iterator[tuple[str, Claims | str]]:
    name = workspace.store().name
    path = str(workspace.keystore.credentials_path(name, account, user))
    try:
        yield path, decode(workspace.keystore.credentials(name, account, user).jwt, UserClaims)
    except NotFoundError:
        return
    except IdentityError as error:
        yield path, str(error)
