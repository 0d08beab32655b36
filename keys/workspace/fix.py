"""Rebuilding stores and a keystore from loose files: tokens, seeds and credentials, wherever they are.

Of several tokens of one operator, account or user the one issued last counts. What belongs to none of them is
reported and left out. The result is a new folder: `operators` with the stores, and `keys`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims, Claims, OperatorClaims, UserClaims
from ..decorated import undecorate_jwt, undecorate_seed
from ..errors import FolderError, IdentityError, WorkspaceError
from ..folders.keystore import Keystore
from ..folders.store import OperatorStore, Stores
from ..nkey import KeyPair
from ..token import decode
from .import_entities import read_seed_file
from .naming import chosen
from .report import OperationReport, quote


@dataclass(frozen=True, slots=True)
class Fixed:
    """How many of each were stored, and in which folder."""

    report: OperationReport
    folder: Path
    operators: int = 0
    accounts: int = 0
    users: int = 0
    nkeys: int = 0


@dataclass(slots=True)
class _Counts:
    operators: int = 0
    accounts: int = 0
    users: int = 0
    nkeys: int = 0


@dataclass(slots=True)
class _Finds:
    """The contents of the files: claims and token by public key, and seeds by public key."""

    tokens: dict[str, tuple[Claims, str]] = field(default_factory=dict)
    seeds: dict[str, KeyPair] = field(default_factory=dict, repr=False)

    def all(self, kind: type[Claims]) -> list[tuple[Claims, str]]:
        """Return the tokens of a kind by name; for one name the latest first."""
        return sorted(
            (pair for pair in self.tokens.values() if isinstance(pair[0], kind)),
            key=lambda pair: (pair[0].name, -pair[0].iat, pair[0].sub),
        )


def fix(folders: list[Path], target: Path, *, credentials: bool = False) -> Fixed:
    """Rebuild from all `.jwt` and `.nk` files below `folders`, and with `credentials` the `.creds` files.

    `target` must not exist, or be empty. Raises WorkspaceError if no operator is found, FolderError.
    """
    target = target.expanduser().absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FolderError(f"{target} exists already and is not empty")
    report = OperationReport()
    finds = _Finds()
    found = report.ok("Find files")
    endings = {".jwt", ".nk", *([".creds"] if credentials else [])}
    for folder in folders:
        if not folder.expanduser().is_dir():
            raise FolderError(f"{folder} is not a directory")
        for path in _walk(folder.expanduser(), endings):
            try:
                _read(path, finds, found)
            except IdentityError as error:
                found.warn(f"error loading {path}: {error}")
    if not finds.all(OperatorClaims):
        raise WorkspaceError("no operator found", report)
    counts = _Counts()
    keystore = Keystore(target / "keys")
    generated = report.ok("Generate")
    for operator, token in finds.all(OperatorClaims):
        _operator(operator, token, target, finds, keystore, generated, counts)
    _strays(finds, generated)
    return Fixed(report, target, counts.operators, counts.accounts, counts.users, counts.nkeys)


def _walk(folder: Path, endings: set[str]) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(base) / name for name in sorted(names) if Path(name).suffix in endings)


def _read(path: Path, finds: _Finds, report: OperationReport) -> None:
    """Add the contents of one file. Raises IdentityError."""
    if path.suffix == ".nk":
        pair = read_seed_file(path)
        finds.seeds[pair.public_key] = pair
        return
    text = files.read(path)
    token = undecorate_jwt(text)
    claims = decode(token)
    if path.suffix == ".creds":
        pair = undecorate_seed(text)
        finds.seeds[pair.public_key] = pair
    if not isinstance(claims, OperatorClaims | AccountClaims | UserClaims):
        return
    said = report.ok(f"{claims.KIND} {claims.sub}")
    known = finds.tokens.get(claims.sub)
    if known is not None and known[0].iat >= claims.iat:
        said.ok(f"ignoring older config {path}")
        return
    said.ok(f"{'loaded' if known is None else 'updated'} from {path}")
    finds.tokens[claims.sub] = claims, token


def _operator(
    claims: Claims,
    token: str,
    target: Path,
    finds: _Finds,
    keystore: Keystore,
    report: OperationReport,
    counts: _Counts,
) -> None:
    assert isinstance(claims, OperatorClaims)
    outcome = report.ok(f"operator {claims.name} [{claims.sub}]")
    keys = [claims.sub, *claims.nats.signing_keys]
    managed = not any(key in finds.seeds for key in keys)
    try:
        store = Stores(target / "operators").create(
            chosen(claims.name, "operator"), managed=managed, token=token
        )
    except IdentityError as error:
        outcome.error(f"error creating store: {error}")
        return
    counts.operators += 1
    _keys(keys, finds, keystore, outcome, counts)
    outcome.ok("stored operator")
    for account, entity_claims in finds.all(AccountClaims):
        assert isinstance(account, AccountClaims)
        if account.iss in keys:
            _account(store, account, entity_claims, finds, keystore, outcome, counts)


def _account(
    store: OperatorStore,
    claims: AccountClaims,
    token: str,
    finds: _Finds,
    keystore: Keystore,
    report: OperationReport,
    counts: _Counts,
) -> None:
    outcome = report.ok(f"account {claims.name} [{claims.sub}]")
    try:
        store.write_account(token)
    except IdentityError as error:
        outcome.error(f"error storing: {error}")
        return
    counts.accounts += 1
    outcome.ok("stored account")
    _keys([claims.sub, *sorted(claims.nats.signing_keys)], finds, keystore, outcome, counts)
    for user, entity_claims in finds.all(UserClaims):
        assert isinstance(user, UserClaims)
        if not claims.did_sign(user):
            continue
        said = outcome.ok(f"user {user.name} [{user.sub}]")
        if user.name in store.users(claims.name):
            said.error("error storing user: a later user of that name is stored already")
            continue
        try:
            store.write_user(entity_claims)
            counts.users += 1
            if user.sub in finds.seeds:
                _keys([user.sub], finds, keystore, said, counts)
                seed = finds.seeds[user.sub].seed
                path = keystore.write_credentials(store.name, claims.name, user.name, entity_claims, seed)
                said.ok(f"stored creds file {path}")
        except IdentityError as error:
            said.error(f"error storing user: {error}")


def _keys(
    keys: list[str], finds: _Finds, keystore: Keystore, report: OperationReport, counts: _Counts
) -> None:
    for key in keys:
        if key in finds.seeds:
            keystore.add(finds.seeds[key])
            counts.nkeys += 1
            report.ok(f"stored key {key}")


def _strays(finds: _Finds, report: OperationReport) -> None:
    """Report accounts and users whose issuers were not found."""
    operators = {
        key
        for claims, _ in finds.all(OperatorClaims)
        if isinstance(claims, OperatorClaims)
        for key in (claims.sub, *claims.nats.signing_keys)
    }
    accounts = [c for c, _ in finds.all(AccountClaims) if isinstance(c, AccountClaims)]
    for claims in accounts:
        if claims.iss not in operators:
            report.warn(f"operator {claims.iss} was not found - ignoring account {quote(claims.name)}")
    for user, _ in finds.all(UserClaims):
        if not any(account.did_sign(user) for account in accounts):
            report.warn(f"account {user.iss} was not found - ignoring user {quote(user.name)}")
