"""Validation of a store: the rules of the claims, and that each token is signed by the right key."""

from __future__ import annotations

from collections.abc import Iterable

from ...protocol.lazy_dataclass import dataclass
from ..claims import Issues
from ..errors import FolderError
from .store import OperatorStore


@dataclass(frozen=True, slots=True)
class TokenIssues:
    """The issues of one operator or account. Those of the account's users begin with `user "name":`."""

    kind: str
    name: str
    issues: Issues


def check_store(store: OperatorStore, now: int, accounts: Iterable[str] | None = None) -> list[TokenIssues]:
    """Validate a store at `now` (ns): the operator, and the named accounts (all, if None) with their users.

    A token that cannot be read is an error in its own entry; nothing is raised for it.
    """
    findings = [_operator(store, now)]
    names = store.accounts() if accounts is None else accounts
    return [*findings, *(_account(store, name, now) for name in names)]


def _operator(store: OperatorStore, now: int) -> TokenIssues:
    issues = Issues()
    finding = TokenIssues("operator", store.name, issues)
    try:
        claims = store.operator()
    except FolderError as error:
        issues.error(str(error))
        return finding
    issues.all += claims.issues(now).all
    if not claims.did_sign(claims):
        issues.error("operator is not issued by operator or operator signing key")
    return finding


def _account(store: OperatorStore, name: str, now: int) -> TokenIssues:
    issues = Issues()
    finding = TokenIssues("account", name, issues)
    try:
        operator, claims = store.operator(), store.account(name)
    except FolderError as error:
        issues.error(str(error))
        return finding
    issues.all += claims.issues(now).all
    if not operator.did_sign(claims):
        issues.error("Account is not issued by operator or operator signing keys")
    if claims.sub == operator.nats.system_account and claims.nats.limits.jetstream_enabled:
        issues.error("JetStream should not be enabled for system account")
    for user in store.users(name):
        own, issuer = Issues(), ""
        try:
            user_claims = store.user(name, user)
            own.all += user_claims.issues(now).all
            if not claims.did_sign(user_claims):
                issuer = "is not issued by account or account signing keys"
            elif operator.nats.strict_signing_key_usage and user_claims.iss == claims.sub:
                issuer = "is issued by account key but operator is in strict mode"
            scope = claims.scope(user_claims.iss)
            if scope is not None and not user_claims.nats.empty:
                own.error("scoped users require no permissions or limits set")
        except FolderError as error:
            own.error(str(error))
        issues.all += [type(i)(i.level, f'user "{user}": {i.text}') for i in own]
        if issuer:
            issues.error(f'user "{user}" {issuer}')
    return finding
