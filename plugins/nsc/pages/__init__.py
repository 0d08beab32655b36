"""Pages about tokens, drawn as `nsc describe` draws them: a module for each kind of token.

`page(claims, names)` gives the whole text, ending in a line end. `names` turns an account's public key into
what shall be shown for it.
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
    """Draw the page of a token. Raises WorkspaceError for a kind of token that has none."""
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
