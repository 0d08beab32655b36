"""Information pages of tokens, drawn as `nsc describe` draws them: a module for each kind of token.

`page(claims, names)` returns the whole text, which ends in a newline. `names` converts an account's public
key to what is shown for it.
"""

from __future__ import annotations

from ....keys import (
    AccountClaims,
    ActivationClaims,
    Claims,
    OperatorClaims,
    UserClaims,
    WorkspaceError,
)
from .parts import Names


def page(claims: Claims, names: Names = str) -> str:
    """Return the page of a token. Raises WorkspaceError for a kind of token that has no page."""
    from . import account, activation, operator, user

    match claims:
        case AccountClaims():
            return account.page(claims, names)
        case OperatorClaims():
            return operator.page(claims, names)
        case UserClaims():
            return user.page(claims)
        case ActivationClaims():
            return activation.page(claims)
    kind = claims.KIND or "generic"
    raise WorkspaceError(f"there is no page for a token of {kind!r}: show it with --json or --raw")
