"""An operator as one document: saving it with its accounts, users and seeds, and making its store again.

The document is that of `nats auth operator backup` (`OperatorData.MarshalJSON` in `types.go` of
jwt-auth-builder.go): name, key, token and signing keys of the operator, its accounts with theirs, and their
users. A key is its seed, or "" if that is not stored. Of a signing key without a seed nothing is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...protocol import gojson
from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, OperatorClaims, UserClaims
from ..decorated import undecorate_jwt
from ..errors import DamagedError, FolderError, IdentityError, WorkspaceError
from ..nkey import KeyPair, KeyRole
from ..token import decode
from .naming import chosen
from .operators import OperatorResult, found
from .report import OperationReport, place, quote
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class OperatorBackup:
    """An operator with everything that belongs to it.

    document: the content of the backup file.
    missing: the public keys whose seeds are not stored, so that they are not in the document either.
    """

    name: str
    document: dict[str, Any] = field(repr=False)
    missing: list[str]


class _Keys:
    """Writes keys as the document has them: by their seeds, or by their public keys."""

    def __init__(self, workspace: Workspace, *, seeds: bool) -> None:
        self._keystore, self._seeds = workspace.keystore, seeds
        self.missing: list[str] = []

    def one(self, key: str) -> dict[str, str]:
        if not self._seeds:
            return {"key": key}
        if self._keystore.has(key):
            return {"key": self._keystore.get(key).seed}
        self.missing.append(key)
        return {"key": ""}

    def all(self, keys: Iterable[str]) -> list[dict[str, str]] | None:
        return [written for key in keys if (written := self.one(key))["key"]] or None


def backup_operator(workspace: Workspace) -> OperatorBackup:
    """Return the current operator with all its secrets. Raises FolderError if something cannot be read."""
    keys = _Keys(workspace, seeds=True)
    document = _operator(workspace, keys)
    return OperatorBackup(workspace.store().name, document, keys.missing)


def operator_document(workspace: Workspace) -> dict[str, Any]:
    """Return the document of the current operator with public keys in place of seeds."""
    return _operator(workspace, _Keys(workspace, seeds=False))


def account_document(workspace: Workspace, account: str) -> dict[str, Any]:
    """Return the part of an account, with public keys in place of seeds."""
    return _account(workspace, account, _Keys(workspace, seeds=False))


def user_document(workspace: Workspace, account: str, user: str) -> dict[str, Any]:
    """Return the part of a user, with its public key in place of its seed."""
    return _user(workspace, account, user, _Keys(workspace, seeds=False))


def _operator(workspace: Workspace, keys: _Keys) -> dict[str, Any]:
    store = workspace.store()
    claims = store.operator()
    return {
        "name": store.name,
        "key": keys.one(claims.sub),
        "token": store.operator_token(),
        "signingKeys": keys.all(claims.nats.signing_keys),
        "accounts": [_account(workspace, name, keys) for name in store.accounts()] or None,
    }


def _account(workspace: Workspace, name: str, keys: _Keys) -> dict[str, Any]:
    store = workspace.store()
    claims = store.account(name)
    return {
        "name": name,
        "key": keys.one(claims.sub),
        "token": store.account_token(name),
        "signingKeys": keys.all(sorted(claims.nats.signing_keys)),
        "users": [_user(workspace, name, user, keys) for user in store.users(name)] or None,
    }


def _user(workspace: Workspace, account: str, name: str, keys: _Keys) -> dict[str, Any]:
    store = workspace.store()
    key = keys.one(store.user(account, name).sub)
    return {"name": name, "key": key, "token": store.user_token(account, name)}


class _Read(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)


class _Key(_Read):
    key: str = ""


class _UserPart(_Read):
    name: str
    key: _Key
    token: str


class _AccountPart(_UserPart):
    signing_keys: list[_Key] | None = Field(None, alias="signingKeys")
    users: list[_UserPart] | None = None


class _OperatorPart(_UserPart):
    signing_keys: list[_Key] | None = Field(None, alias="signingKeys")
    accounts: list[_AccountPart] | None = None


def restore_operator(workspace: Workspace, name: str, document: bytes) -> OperatorResult:
    """Make the store of an operator from a backup, completely or not at all, and make it the current one.

    name: the name of its store, which may differ from the one that it had. Without any key of the operator
        the store is a managed one.

    Raises WorkspaceError if that operator exists, DamagedError for a document that is no backup, TokenError,
    NkeyError or ForeignError for content that does not belong together.
    """
    name = chosen(name, "operator")
    try:
        whole = _OperatorPart.model_validate(gojson.decode(document))
    except (gojson.JsonError, ValidationError):
        raise DamagedError("this is no backup of an operator, or it is damaged or encrypted") from None
    claims = decode(whole.token, OperatorClaims)
    _must_be_new(workspace, name, claims)
    pairs = [*_pairs(whole, (claims.sub, *claims.nats.signing_keys), KeyRole.OPERATOR)]
    managed = not pairs
    content = _Restored()
    for part in whole.accounts or ():
        account = decode(part.token, AccountClaims)
        pairs += _pairs(part, (account.sub, *account.nats.signing_keys), KeyRole.ACCOUNT)
        content.accounts.append(part.token)
        for each in part.users or ():
            user = decode(each.token, UserClaims)
            own = [*_pairs(each, (user.sub,), KeyRole.USER)]
            pairs += own
            content.users.append((account, user, each.token, own[0] if own else None))
    report = OperationReport()
    report.ok(f"restored operator {quote(name)}")
    workspace = found(workspace, name, whole.token, pairs, content, report, managed=managed).save()
    return OperatorResult(report, name, claims.sub, claims, workspace)


def import_operator_with_keys(workspace: Workspace, text: str, pairs: Sequence[KeyPair]) -> OperatorResult:
    """Make the store of an operator from its token and all its keys, and make it the current one.

    Raises TokenError for a text that is no operator's token, WorkspaceError if it exists, or unless `pairs`
    are exactly its identity and its signing keys.
    """
    token = undecorate_jwt(text)
    claims = decode(token, OperatorClaims)
    name = chosen(claims.name, "operator")
    _must_be_new(workspace, name, claims)
    needed, given = [claims.sub, *claims.nats.signing_keys], [pair.public_key for pair in pairs]
    if strange := [key for key in given if key not in needed]:
        raise WorkspaceError(f"not a key of operator {quote(name)}: {', '.join(strange)}")
    if absent := [key for key in needed if key not in given]:
        raise WorkspaceError(f"not all keys of operator {quote(name)} are given: {', '.join(absent)} missing")
    report = OperationReport()
    report.ok(f"imported operator {quote(name)}")
    workspace = found(workspace, name, token, pairs, None, report).save()
    return OperatorResult(report, name, claims.sub, claims, workspace)


@dataclass(slots=True)
class _Restored:
    """The accounts and users of a backup.

    accounts: their tokens.
    users: (account, user, token, key if its seed is there).
    """

    accounts: list[str] = field(default_factory=list)
    users: list[tuple[AccountClaims, UserClaims, str, KeyPair | None]] = field(default_factory=list)

    def write(self, workspace: Workspace, report: OperationReport) -> None:
        """Store tokens and credentials, and report how many; credentials are removed again on an error."""
        store, keystore = workspace.store(), workspace.keystore
        for token in self.accounts:
            store.write_account(token)
        for account, user, token, _ in self.users:
            if not account.did_sign(user):
                raise WorkspaceError(
                    f"user {quote(user.name)} is not signed by account {quote(account.name)}"
                )
            store.write_user(token)
        try:
            for account, user, token, pair in self.users:
                if pair is not None:
                    keystore.write_credentials(store.name, account.name, user.name, token, pair.seed)
        except IdentityError:
            for account, user, _, _ in self.users:
                with contextlib.suppress(FolderError):
                    keystore.remove_credentials(store.name, account.name, user.name)
            raise
        report.ok(f"restored {len(self.accounts)} accounts and {len(self.users)} users")


def _pairs(
    part: _AccountPart | _OperatorPart | _UserPart, keys: Sequence[str], role: KeyRole
) -> Iterator[KeyPair]:
    """Yield the keys of a part whose seeds are there; `keys` are those that it may have, its own first."""
    signing = part.signing_keys or () if isinstance(part, _AccountPart | _OperatorPart) else ()
    for at, written in enumerate((part.key, *signing)):
        if not written.key:
            continue
        pair = KeyPair(written.key, role)
        if pair.public_key not in (keys[1:] if at else keys[:1]):
            raise DamagedError(
                f"the backup has the seed of {pair.public_key}, which is no key of {part.name}"
            )
        yield pair


def _must_be_new(workspace: Workspace, name: str, claims: OperatorClaims) -> None:
    stores = workspace.stores
    for other in stores.names():
        if other == name:
            raise WorkspaceError(f"operator named {name} exists already in {place(stores.root)}")
        with contextlib.suppress(FolderError):  # another operator's damage is not in the way
            if stores.open(other).operator().sub == claims.sub:
                raise WorkspaceError(f"operator {claims.sub} is stored already, as {quote(other)}")
