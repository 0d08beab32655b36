"""Importing what others made: an account's token, a user's token or credentials, files of seeds.

Everything is checked before the first write. If something prevents the import, the report says what, and
nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims, Claims, UserClaims
from ..decorated import undecorate_jwt, undecorate_seed
from ..errors import FolderError, IdentityError, NotFoundError, WorkspaceError
from ..nkey import KeyPair, KeyRole
from ..token import decode, encode
from .report import OperationReport, place, quote
from .signing import account_signer
from .workspace import Workspace

_OTHER = (
    "existing {} has a name collision only and does not reference the same entity (Subject is {} and differs "
    "from {}). This problem needs to be resolved manually."
)


@dataclass(frozen=True, slots=True)
class ImportedEntity:
    """What was imported: its name and public key, "" if nothing was."""

    report: OperationReport
    name: str = ""
    public_key: str = ""


@dataclass(frozen=True, slots=True)
class ImportedKeys:
    """The public keys whose seeds are now in the keystore."""

    report: OperationReport
    public_keys: list[str] = field(default_factory=list)


def import_account(
    workspace: Workspace, path: Path, *, skip: bool = False, overwrite: bool = False, force: bool = False
) -> ImportedEntity:
    """Import an account's token; one that the account signed itself is signed by the operator.

    skip: whether to import in spite of issues.
    overwrite: whether to replace an account with that name and key.
    force: whether to import a token that another operator signed; this operator signs it.

    Raises FolderError, TokenError.
    """
    report = OperationReport(summary=True)
    claims, token = _account(path)
    with workspace.locked():
        store = workspace.store()
        signed = store.operator().did_sign(claims)
        if _blocked(claims, skip, workspace.now(), report):
            return ImportedEntity(report)
        if claims.name in store.accounts():
            if not overwrite:
                report.error("account already exists, overwrite with --overwrite")
                return ImportedEntity(report)
            if (old := store.account(claims.name)).sub != claims.sub:
                report.error(_OTHER.format("Account", old.sub, claims.sub))
                return ImportedEntity(report)
        for name in store.accounts():
            if name != claims.name and store.account(name).sub == claims.sub:
                report.error(f"account {claims.sub} is stored already, as {quote(name)}")
                return ImportedEntity(report)
        if store.managed and claims.self_signed:
            report.error("only a non managed store can import a self signed account")
            return ImportedEntity(report)
        if not store.managed and (claims.self_signed or (not signed and force)):
            token, signed = encode(claims, account_signer(workspace, claims), now=workspace.now()), True
        if not signed:
            report.error("can only import account signed by same operator. Possibly update your operator")
            return ImportedEntity(report)
        report.add(workspace.store_account(token))
    report.ok(f"account {claims.name} was successfully imported")
    return ImportedEntity(report, claims.name, claims.sub)


def import_user(
    workspace: Workspace, path: Path, *, skip: bool = False, overwrite: bool = False
) -> ImportedEntity:
    """Import a user's token, or its credentials, whose seed then goes to the keystore.

    skip, overwrite: as for accounts.

    Raises FolderError, TokenError, NkeyError.
    """
    report = OperationReport(summary=True)
    claims, token, pair = _user(path, report)
    with workspace.locked():
        store = workspace.store()
        if _blocked(claims, skip, workspace.now(), report):
            return ImportedEntity(report)
        owner = next((name for name in store.accounts() if store.account(name).sub == claims.account), "")
        if not owner:
            report.error(f"referenced Account {claims.account} not found, import first")
            return ImportedEntity(report)
        if claims.name in store.users(owner):
            if not overwrite:
                report.error("user already exists, overwrite with --overwrite")
                return ImportedEntity(report)
            if (old := store.user(owner, claims.name)).sub != claims.sub:
                report.error(_OTHER.format("User", old.sub, claims.sub))
                return ImportedEntity(report)
        if not store.account(owner).did_sign(claims):
            report.error("can only import user signed by exiting account. Possibly update your account")
            return ImportedEntity(report)
        if pair is not None:
            report.ok(f"key stored {workspace.keystore.add(pair)}")
        store.write_user(token)
    report.ok(f"user {claims.name} was successfully imported")
    return ImportedEntity(report, claims.name, claims.sub)


def import_keys(workspace: Workspace, folder: Path, *, recurse: bool = False) -> ImportedKeys:
    """Import every seed in the `.nk` files of a folder, and with `recurse` of those below it.

    Files without a seed are reported by name. Raises NotFoundError, or WorkspaceError if there are no files.
    """
    folder = folder.expanduser()
    if not folder.is_dir():
        raise NotFoundError(f"{place(folder)} is not a directory")
    found = list(seed_files(folder, recurse=recurse))
    if not found:
        raise WorkspaceError("no nkey (.nk) files found")
    report, taken = OperationReport(summary=True), []
    for path in found:
        try:
            pair = read_seed_file(path)
            workspace.keystore.add(pair)
        except IdentityError as error:
            report.error(f"failed to import {place(path)}: {error}")
            continue
        report.ok(f"{pair.public_key} was added to the keystore")
        taken.append(pair.public_key)
    return ImportedKeys(report, taken)


def seed_files(folder: Path, *, recurse: bool) -> Iterator[Path]:
    """Yield the `.nk` files of a folder, sorted; links to folders are not followed. Raises FolderError."""
    for name in files.names(folder):
        path = folder / name
        if path.is_dir():
            if recurse and not path.is_symlink():
                yield from seed_files(path, recurse=True)
        elif path.suffix == ".nk":
            yield path


def read_seed_file(path: Path) -> KeyPair:
    """Read a seed, bare or between dashed lines. Raises FolderError, NkeyError, CredentialsError."""
    text = files.read(path)
    if "-----" in text:
        return undecorate_seed(text)
    return KeyPair(text)


def _account(path: Path) -> tuple[AccountClaims, str]:
    token = undecorate_jwt(_text(path, ".jwt"))
    try:
        return decode(token, AccountClaims), token
    except IdentityError as error:
        raise WorkspaceError(f"failed to decode {place(path)}: {error}") from None


def _user(path: Path, report: OperationReport) -> tuple[UserClaims, str, KeyPair | None]:
    """Return the claims, the token, and the key if the file has it. Credentials without one: a warning."""
    text = _text(path, ".jwt", ".creds")
    token = undecorate_jwt(text)
    try:
        claims = decode(token, UserClaims)
    except IdentityError as error:
        raise WorkspaceError(f"failed to decode {place(path)}: {error}") from None
    if "NKEY SEED" not in text:
        if "-----" in text:
            report.warn(f"failed to parse decorated key in {place(path)}: no nkey seed found")
        return claims, token, None
    pair = undecorate_seed(text, KeyRole.USER)
    if pair.public_key != claims.sub:
        raise WorkspaceError(f"the seed in {place(path)} is not that of the token's user")
    return claims, token, pair


def _text(path: Path, *endings: str) -> str:
    path = path.expanduser()
    if path.is_dir():
        raise FolderError(f"{place(path)} is a directory")
    if not path.name.endswith(endings):
        raise WorkspaceError(f"{place(path)}: expected these file endings: {' '.join(endings)}")
    return files.read(path)


def _blocked(claims: Claims, skip: bool, now: int, report: OperationReport) -> bool:
    """Report what validation finds; return whether it prevents the import."""
    issues = claims.issues(now)
    blocking = bool(issues.blocking())
    for issue in issues:
        outcome = report.error if issue.blocking and not skip else report.warn
        outcome(f"validation resulted in: {issue.text}")
    if blocking and not skip:
        report.error("validation is blocking, skip with --skip")
    return blocking and not skip
