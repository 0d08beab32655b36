"""The keystore, which holds seeds and credentials.

`keys/U/AB/UAB….nk` holds a seed; `creds/<operator>/<account>/<user>.creds` is a user's credentials file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from .. import files
from ..credentials import read_credentials, write_credentials
from ..decorated import Credentials
from ..errors import DamagedError, ForeignError, NkeyError, NotFoundError
from ..nkey import KeyPair, KeyRole, public_role
from .names import checked

SUFFIX = ".nk"
CREDENTIALS = ".creds"
_IGNORE = "# ignore all nk files\n**/*.nk\n\n# ignore all creds files\n**/*.creds\n"


class Keystore:
    """The folder of secrets.

    git_ignore: whether a new keystore gets a .gitignore that covers its secrets.
    """

    def __init__(self, root: Path, *, git_ignore: bool = True) -> None:
        self.root = root
        self._git_ignore = git_ignore

    def path(self, public_key: str) -> Path:
        """Return the path of a key's seed, stored or not. Raises NkeyError if `key` is not a public key."""
        public_role(public_key)
        return self.root / "keys" / public_key[0] / public_key[1:3] / f"{public_key}{SUFFIX}"

    def has(self, public_key: str) -> bool:
        """Return whether the seed of a key is stored."""
        return self.path(public_key).is_file()

    def get(self, public_key: str) -> KeyPair:
        """Return a stored key.

        Raises NotFoundError, or DamagedError if the file does not hold the seed of that key.
        """
        path = self.path(public_key)
        try:
            key = KeyPair(files.read(path))
        except NotFoundError:
            raise NotFoundError(f"the seed of {public_key} is not in the keystore {self.root}") from None
        except NkeyError as error:
            raise DamagedError(f"{path} is damaged: {error}") from None
        if key.public_key != public_key:
            raise DamagedError(f"{path} holds the seed of another key, {key.public_key}")
        return key

    def add(self, key: KeyPair) -> Path:
        """Store a key and return its path. Raises FolderError if another seed is stored at that path."""
        path = self.path(key.public_key)
        if path.exists():
            self.get(key.public_key)
            return path
        self._prepare()
        files.write(path, key.seed)
        return path

    def remove(self, public_key: str) -> bool:
        """Remove a key; return False if it was not stored. Folders that become empty are removed too."""
        path = self.path(public_key)
        if not files.remove(path):
            return False
        for folder in (path.parent, path.parent.parent):
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()
        return True

    def keys(self, *roles: KeyRole) -> list[str]:
        """Return the public keys whose seeds are stored, according to the file names, sorted.

        roles: only keys of these roles; all if there are none.
        """
        return sorted(key for key in self._stems() if _is(key, roles))

    def credentials_path(self, operator: str, account: str, user: str) -> Path:
        """Return the path of a user's credentials, stored or not.

        Raises FolderError for names that are not file names.
        """
        folder = self.root / "creds" / checked(operator) / checked(account)
        return folder / f"{checked(user)}{CREDENTIALS}"

    def credentials(self, operator: str, account: str, user: str) -> Credentials:
        """Read a user's credentials. Raises NotFoundError, CredentialsError."""
        return read_credentials(self.credentials_path(operator, account, user))

    def write_credentials(self, operator: str, account: str, user: str, token: str, seed: str) -> Path:
        """Write a user's credentials and return their path.

        Raises IdentityError if token and seed do not match.
        """
        path = self.credentials_path(operator, account, user)
        self._prepare()
        write_credentials(path, token, seed)
        return path

    def remove_credentials(self, operator: str, account: str, user: str) -> bool:
        """Remove a user's credentials; return False if there were none."""
        return files.remove(self.credentials_path(operator, account, user))

    def check_layout(self) -> None:
        """Raise ForeignError if there are secrets outside `keys` and `creds`.

        That is the older layout, which must be migrated first.
        """
        for name in files.names(self.root):
            if name in {"keys", "creds"}:
                continue
            place = self.root / name
            stray = [place] if place.is_file() else list(place.rglob("*"))
            for path in stray:
                if path.suffix in {SUFFIX, CREDENTIALS}:
                    raise ForeignError(
                        f"{path} is outside keys/ and creds/: the keystore {self.root} has the older layout"
                    )

    def _prepare(self) -> None:
        if (self.root / "keys").is_dir():
            return
        for name in ("keys", "creds"):
            files.make_folder(self.root / name)
        if self._git_ignore and not (self.root / ".gitignore").exists():
            files.write(self.root / ".gitignore", _IGNORE)

    def _stems(self) -> Iterator[str]:
        base = self.root / "keys"
        for first in files.names(base):
            for second in files.names(base / first):
                for name in files.names(base / first / second):
                    if name.endswith(SUFFIX):
                        yield name.removesuffix(SUFFIX)


def _is(key: str, roles: tuple[KeyRole, ...]) -> bool:
    try:
        public_role(key, *roles)
    except NkeyError:
        return False
    return True
