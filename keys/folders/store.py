"""Stores: a folder for each operator, with the tokens that it has made.

`<root>/<operator>/.nsc` marks a store. `<operator>.jwt`, `accounts/<account>/<account>.jwt` and
`accounts/<account>/users/<user>.jwt` are bare tokens. A folder is a store only with its mark, and an account
only with its token. Signatures are verified on every read; `folders.check` checks whether the chain is valid.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TypeVar

from ...protocol import gojson
from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims, Claims, OperatorClaims, UserClaims
from ..decorated import undecorate_jwt
from ..errors import DamagedError, FolderError, ForeignError, NotFoundError, TokenError, TokenFault
from ..token import decode, header_of
from .names import checked

MARK = ".nsc"
VERSION = "1"
_JWT = ".jwt"
C = TypeVar("C", bound=Claims)


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The content of `.nsc`.

    managed: whether another party has the operator's key.
    """

    name: str
    managed: bool = False
    kind: str = "operator"
    version: str = VERSION

    @classmethod
    def read(cls, path: Path) -> StoreInfo:
        """Read a mark.

        Raises NotFoundError, DamagedError, or ForeignError for a store of another kind or version.
        """
        try:
            value = gojson.decode(files.read(path).encode())
        except gojson.JsonError:
            raise DamagedError(f"{path} is damaged: it is no JSON") from None
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise DamagedError(f"{path} is damaged: it names no store")
        kind, version = value.get("kind"), value.get("version")
        if kind != "operator" or version != VERSION:
            raise ForeignError(
                f"{path} is of kind {kind!r}, version {version!r}: not a store that is known here"
            )
        return cls(value["name"], bool(value.get("managed")))

    def write(self, path: Path) -> None:
        """Write the mark."""
        value = {"managed": self.managed, "name": self.name, "kind": self.kind, "version": self.version}
        files.write(path, gojson.encode(value).decode())


def is_store(folder: Path) -> bool:
    """Return whether a folder is an operator's store. A folder that may not be read is none."""
    try:
        return (folder / MARK).is_file()
    except OSError:
        return False


class Stores:
    """The stores root, with one store for each operator."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Return the names of the stores, sorted."""
        return [name for name in files.names(self.root) if is_store(self.root / name)]

    def open(self, name: str) -> OperatorStore:
        """Open an operator's store. Raises NotFoundError, DamagedError, ForeignError."""
        return OperatorStore(self.root / checked(name))

    def create(self, name: str, *, managed: bool = False, token: str = "") -> OperatorStore:
        """Make a new store, with the operator's token if it is given.

        Raises TokenError, or FolderError if a folder of that name exists and is not empty.
        """
        folder = self.root / checked(name)
        if token:
            decode(token, OperatorClaims)
        files.make_folder(self.root)
        try:
            folder.mkdir(mode=files.PRIVATE_FOLDER)  # if two run at once, only one succeeds
        except FileExistsError:
            if not folder.is_dir() or any(folder.iterdir()):
                raise FolderError(f"{folder} exists already") from None
        except OSError as error:
            raise FolderError(f"cannot create the directory {folder}: {error.strerror}") from error
        if token:
            files.write(folder / f"{checked(name)}{_JWT}", token)
        files.make_folder(folder / "accounts")
        StoreInfo(checked(name), managed).write(folder / MARK)  # last: it makes the folder a store
        return OperatorStore(folder)

    def remove(self, name: str) -> None:
        """Remove an operator's store with all its tokens. Raises FolderError."""
        _remove_tree(self.open(name).folder)


class OperatorStore:
    """The tokens of one operator."""

    def __init__(self, folder: Path) -> None:
        """Open the store in `folder`. Raises NotFoundError if it is none, DamagedError, ForeignError."""
        self.folder = folder
        if not (folder / MARK).is_file():
            raise NotFoundError(f"{folder} is not the store of an operator: it has no {MARK} file")
        self.info = StoreInfo.read(folder / MARK)

    @property
    def name(self) -> str:
        """The store's name, which can differ from the name in the operator's claims."""
        return self.info.name

    @property
    def managed(self) -> bool:
        """Whether another party has the operator's key."""
        return self.info.managed

    @property
    def operator_path(self) -> Path:
        """The path of the operator's token."""
        return self.folder / f"{checked(self.name)}{_JWT}"

    def account_path(self, account: str) -> Path:
        """Return the path of an account's token, stored or not.

        Raises FolderError if the name is not a file name.
        """
        name = checked(account)
        return self.folder / "accounts" / name / f"{name}{_JWT}"

    def user_path(self, account: str, user: str) -> Path:
        """Return the path of a user's token, stored or not.

        Raises FolderError if a name is not a file name.
        """
        return self.account_path(account).parent / "users" / f"{checked(user)}{_JWT}"

    def operator_token(self) -> str:
        """Return the operator's token as it is stored. Raises FolderError."""
        return undecorate_jwt(files.read(self.operator_path))

    def account_token(self, account: str) -> str:
        """Return an account's token as it is stored. Raises FolderError."""
        return self._token(self.account_path(account), f"account {account}")

    def user_token(self, account: str, user: str) -> str:
        """Return a user's token as it is stored. Raises FolderError."""
        return self._token(self.user_path(account, user), f"user {user} of account {account}")

    def operator(self) -> OperatorClaims:
        """Read the operator's claims. Raises FolderError."""
        return _claims(self.operator_token(), OperatorClaims, self.operator_path)

    def account(self, account: str) -> AccountClaims:
        """Read an account's claims, by its name in the store. Raises NotFoundError, DamagedError."""
        return _claims(self.account_token(account), AccountClaims, self.account_path(account))

    def user(self, account: str, user: str) -> UserClaims:
        """Read a user's claims, by its names in the store. Raises NotFoundError, DamagedError."""
        return _claims(self.user_token(account, user), UserClaims, self.user_path(account, user))

    def accounts(self) -> list[str]:
        """Return the names of the accounts, sorted."""
        return [name for name in files.names(self.folder / "accounts") if self.account_path(name).is_file()]

    def users(self, account: str) -> list[str]:
        """Return the names of an account's users, sorted. Raises FolderError."""
        found = files.names(self.account_path(account).parent / "users")
        return [name.removesuffix(_JWT) for name in found if name.endswith(_JWT)]

    def account_named(self, name_or_key: str) -> str:
        """Return the name of an account in the store, from that name or its public key.

        Raises NotFoundError.
        """
        names = self.accounts()
        if name_or_key in names:
            return name_or_key
        for name in names:
            if self.account(name).sub == name_or_key:
                return name
        raise NotFoundError(f"operator {self.name} has no account {name_or_key}")

    def write_operator(self, token: str, *, reissued: bool = False) -> OperatorClaims:
        """Store the operator's token.

        reissued: whether its identity may be a new one.

        Raises TokenError, or ForeignError for the token of another operator.
        """
        claims = decode(token, OperatorClaims)
        if not reissued and self.operator_path.exists() and (stored := self.operator()).sub != claims.sub:
            raise ForeignError(f"{self.folder} is the store of operator {stored.sub}, not of {claims.sub}")
        files.write(self.operator_path, token)
        return claims

    def write_account(self, token: str) -> AccountClaims:
        """Store an account's token under the name in its claims. Raises TokenError, FolderError.

        Raises ForeignError if another operator signed it, or if an account of that name with another key is
        stored.
        """
        claims = self.check_account(token)
        files.write(self.account_path(claims.name), token)
        return claims

    def check_account(self, token: str) -> AccountClaims:
        """Return the claims of an account's token that can be stored. Raises as `write_account`."""
        claims = decode(token, AccountClaims)
        if not claims.self_signed and not self.operator().did_sign(claims):
            raise ForeignError(
                f"account {claims.name!r} is signed by {claims.iss}, no key of operator {self.name}"
            )
        path = self.account_path(claims.name)
        if path.exists() and (stored := self.account(claims.name)).sub != claims.sub:
            raise ForeignError(f"account {claims.name!r} is stored with another key, {stored.sub}")
        return claims

    def write_user(self, token: str) -> tuple[str, UserClaims]:
        """Store a user's token with the account that signed it; return the account's name and the claims.

        Raises TokenError, FolderError, or ForeignError if no account of this store signed it.
        """
        claims = decode(token, UserClaims)
        for name in self.accounts():
            if self.account(name).did_sign(claims):
                files.write(self.user_path(name, claims.name), token)
                return name, claims
        raise ForeignError(f"user {claims.name!r} is signed by {claims.iss}, no key of an account here")

    def remove_user(self, account: str, user: str) -> bool:
        """Remove a user's token; return False if there was none."""
        path = self.user_path(account, user)
        removed = files.remove(path)
        with contextlib.suppress(OSError):  # the folder still has other users
            path.parent.rmdir()
        return removed

    def remove_account(self, account: str) -> bool:
        """Remove an account's token and those of its users; return False if there was none.

        Raises FolderError.
        """
        path = self.account_path(account)
        if not files.remove(path):
            return False
        _remove_tree(path.parent)
        return True

    def _token(self, path: Path, what: str) -> str:
        try:
            return undecorate_jwt(files.read(path))
        except NotFoundError:
            raise NotFoundError(f"operator {self.name} has no {what}") from None


def _claims(token: str, kind: type[C], path: Path) -> C:
    try:
        return decode(token, kind)
    except TokenError as error:
        if error.fault is TokenFault.ALGORITHM and _is_v1(token):
            raise ForeignError(f"{path} is a token of version 1: upgrade the store first") from None
        raise DamagedError(f"{path} is damaged: {error}") from None


def _is_v1(token: str) -> bool:
    try:
        return header_of(token).get("alg") == "ed25519"
    except TokenError:
        return False


def _remove_tree(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise FolderError(f"cannot remove {folder}: {error.strerror}") from error
