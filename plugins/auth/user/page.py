"""The page of a user."""

from __future__ import annotations

from ....cli import output
from ....keys import AccountClaims, UserClaims, Workspace
from ....keys.claims import UserPermissionLimits
from ....keys.workspace.operator_backup import user_document
from ..page import Pairs, listed, moment, optional, page, truth, user_limits


def show(here: Workspace, account: str, name: str) -> None:
    """Show a user of the current operator's account."""
    store = here.store()
    owner, claims = store.account(account), store.user(account, name)
    scope = owner.scope(claims.iss)
    limited = limits_of(owner, claims)
    rows: Pairs = [
        ("Account", f"{account} ({owner.sub})"),
        ("Issuer", claims.iss),
        ("Scoped", truth(scope is not None)),
        *optional("Role", scope.role if scope is not None else ""),
        *listed("Tags", claims.nats.tags),
        *optional("Expiry", moment(claims.exp)),
    ]
    fields = UserPermissionLimits.model_fields
    document = {
        "name": name,
        "account": account,
        "scoped": scope is not None,
        "limits": {name: value for name, value in limited.document().items() if name in fields},
        "claims": claims.document(),
    }
    text = page(f"User {name} ({claims.sub})", user_limits(rows, limited, heading="Configuration"))
    output.show_page(document, text, name=name, legacy=user_document(here, account, name))


def limits_of(owner: AccountClaims, claims: UserClaims) -> UserPermissionLimits:
    """Return what a user may do: its own limits, or those of the role of the key that signed it."""
    scope = owner.scope(claims.iss)
    return claims.nats if scope is None else scope.template
