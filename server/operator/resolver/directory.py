"""TokenDirectory: a folder of account tokens, `<public key>.jwt`, as nats-server keeps it.

Promises that what it says it holds is what the folder holds, whatever write fails; that a file appears whole
or not at all; that a file which is damaged or does not belong there is named in the log once, never served,
counted or removed (one that gets in the way of a good token is set aside as `.jwt.damaged`). The folder is
this server's alone, but a file that somebody changes by hand is noticed when it is asked for.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ....keys import FolderError, KeyRole, NotFoundError, files, is_public
from ...clock import SECOND
from ...slices import Steps, at_once
from ..token_parser import digest_of
from .entry import TokenEntry, UnfitError
from .resolver import ResolverError

if TYPE_CHECKING:
    from ....keys import Trust
    from ...clock import Clock
    from ...logging import Logger

SUFFIX = ".jwt"
EMPTY = bytes(32)
# How long a deleted token is not taken back from servers that were still sending it.
MOURNING = 60 * SECOND
# The file that remains of a write that a crash cut off (see keys.files).
_LEFTOVER = re.compile(r"\.A[A-Z2-7]{55}\.jwt\.\w+")


class Deletion(Enum):
    """What becomes of the file of a deleted account."""

    NONE = "refused"
    RENAME = "kept as .jwt.deleted"
    REMOVE = "removed"


class TokenDirectory:
    """Tokens by public key.

    limit: tokens stored, 0 for any number; at the limit the one unused for longest goes if `evict`, else a
    new one is refused. ttl: ns after which an unused token goes; without one tokens go when they expire.
    """

    def __init__(
        self,
        path: Path,
        trust: Trust,
        clock: Clock,
        log: Logger,
        *,
        limit: int = 0,
        evict: bool = False,
        ttl: int = 0,
        deletion: Deletion = Deletion.NONE,
    ) -> None:
        self.path = path
        self.deletion = deletion
        self.digest = EMPTY
        self._trust = trust
        self._clock = clock
        self._log = log
        self._limit = limit
        self._evict = evict
        self._ttl = ttl
        self._entries: dict[str, TokenEntry] = {}  # in the order of use if `evict`
        self._used: dict[str, int] = {}
        self._told: dict[str, tuple[int, int]] = {}
        self._gone: dict[str, tuple[TokenEntry | None, int]] = {}  # what was deleted, until when that counts

    def __len__(self) -> int:
        return len(self._entries)

    # --- reading

    def open(self) -> None:
        """Make the folder if need be and learn what it holds. Raises ResolverError."""
        try:
            files.make_folder(self.path)
            self._clear_leftovers()
        except (FolderError, OSError) as error:
            raise ResolverError(f"cannot use the resolver's directory {self.path}: {error}") from error
        self.reload()

    def reload(self) -> list[str]:
        """Learn anew what the folder holds; gives the keys whose tokens changed. Raises ResolverError."""
        return at_once(self.reloading())

    def reloading(self) -> Steps[list[str]]:
        """As `reload`, in steps of one file."""
        try:
            names = files.names(self.path)
        except FolderError as error:
            raise ResolverError(str(error)) from error
        self._gone.clear()
        before = {key: entry.digest for key, entry in self._entries.items()}
        found = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
        if self._evict:
            ages = {}
            for key in found:
                ages[key] = self._age(key)
                yield
            found.sort(key=ages.__getitem__)
        for key in dict.fromkeys([*before, *found]):
            self._look_at(key)
            yield
        self._make_room(0)
        after = {key: entry.digest for key, entry in self._entries.items()}
        return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))

    def load(self, key: str) -> str:
        """The token of `key`; "" when there is none that fits."""
        if not is_public(key, KeyRole.ACCOUNT):
            return ""
        token = self._read(key)
        entry = self._entries.get(key)
        if token is None or entry is None or digest_of(token) != entry.digest:
            token = self._look_at(key)
        if token:
            self._touch(key)
        return token

    def known(self, key: str, token: str) -> bool:
        """Whether this very token is stored."""
        present = self._entries.get(key)
        return present is not None and present.digest == digest_of(token)

    def issued(self, key: str) -> int:
        """When the token stored for `key` was issued, in seconds; 0 when there is none."""
        present = self._entries.get(key)
        return 0 if present is None else present.issued

    def keys(self) -> list[str]:
        """Whose tokens are stored and have not expired, sorted."""
        now = self._clock.now() // SECOND
        return sorted(key for key, entry in self._entries.items() if not 0 < entry.expires < now)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Keys with their tokens, as they are when it comes to them; those that expired are left out."""
        for key in self.keys():
            token = self._read(key) or ""
            entry = self._entries.get(key)
            if token and entry is not None and digest_of(token) == entry.digest:
                yield key, token

    # --- changing

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """See Resolver.store."""
        if not is_public(key, KeyRole.ACCOUNT):
            raise ResolverError("this is no public key of an account")
        self._look_at(key)
        present = self._entries.get(key)
        if present is not None and present.digest == digest_of(token):
            self._touch(key)
            return False
        try:
            entry = TokenEntry.of(key, token, self._trust)
        except UnfitError as error:
            raise ResolverError(str(error)) from None
        if newer_only and self._is_gone(key, entry):
            return False
        if present is not None:
            self._touch(key)
            if newer_only and not entry.newer_than(present):
                return False
        elif self._limit and len(self._entries) >= self._limit and not self._evict:
            raise ResolverError("jwt store is full")
        try:
            if present is None:
                self._set_aside(key)
            files.write(self._file(key), token)
        except (FolderError, OSError) as error:
            self._look_at(key)  # a write may fail after the new file took its name
            raise ResolverError(str(error)) from error
        self._gone.pop(key, None)
        self._put(key, entry)
        self._make_room(1)
        return True

    def deleted(self, key: str, token: str) -> bool:
        """Whether this token, or a newer one of its account, was deleted here a moment ago."""
        try:
            return key in self._gone and self._is_gone(key, TokenEntry.of(key, token, self._trust))
        except UnfitError:
            return False

    def _is_gone(self, key: str, entry: TokenEntry) -> bool:
        last, until = self._gone.get(key, (None, 0))
        return self._clock.now() < until and (last is None or not entry.newer_than(last))

    def delete(self, key: str) -> None:
        """Delete the account's file, in whichever way is set up; harmless when there is none.

        Raises ResolverError: deleting is not set up, or failed.
        """
        if self.deletion is Deletion.NONE:
            raise ResolverError("store is not set up for delete")
        file = self._file(key)
        if not self._evict:  # a cache may be given again what it lost
            self._gone[key] = (self._entries.get(key), self._clock.now() + MOURNING)
        try:
            if self.deletion is Deletion.REMOVE:
                files.remove(file)
            else:
                with contextlib.suppress(FileNotFoundError):
                    file.replace(file.with_name(file.name + ".deleted"))
            files.sync_folder(self.path)
        except (FolderError, OSError) as error:
            raise ResolverError(f"cannot delete {file}: {error}") from error
        finally:
            self._look_at(key)

    def sweep(self) -> list[str]:
        """Let go of what expired or was not used for the ttl; gives the keys."""
        now = self._clock.now()
        self._gone = {key: past for key, past in self._gone.items() if now < past[1]}
        gone = []
        for key, entry in list(self._entries.items()):
            end = self._used[key] + self._ttl if self._ttl else entry.expires * SECOND
            if 0 < end <= now and self._drop(key):
                gone.append(key)
        return gone

    # --- one file

    def _file(self, key: str) -> Path:
        return self.path / f"{key}{SUFFIX}"

    def _read(self, key: str) -> str | None:
        try:
            return files.read(self._file(key)).strip()
        except FolderError:
            return None

    def _look_at(self, key: str) -> str:
        """Bring what is remembered of `key` in line with its file; gives the token if it fits."""
        file = self._file(key)
        token = ""
        try:
            token = files.read(file).strip()
            present = self._entries.get(key)
            if present is not None and present.digest == digest_of(token):
                return token
            entry = TokenEntry.of(key, token, self._trust)
        except NotFoundError:
            self._forget(key)
            return ""
        except (FolderError, UnfitError) as error:
            self._forget(key)
            self._tell(file, error)
            return ""
        self._put(key, entry)
        return token

    def _put(self, key: str, entry: TokenEntry) -> None:
        present = self._entries.get(key)
        if present is not None:
            self.digest = _xor(self.digest, present.digest)
        self._entries[key] = entry
        self.digest = _xor(self.digest, entry.digest)
        self._told.pop(key, None)
        self._touch(key)

    def _forget(self, key: str) -> None:
        present = self._entries.pop(key, None)
        self._used.pop(key, None)
        if present is not None:
            self.digest = _xor(self.digest, present.digest)

    def _touch(self, key: str) -> None:
        self._used[key] = self._clock.now()
        if self._evict:
            self._entries[key] = self._entries.pop(key)

    def _make_room(self, keep: int) -> None:
        """Let go of what was unused for longest while there is more than the limit; the last `keep` stay."""
        if not self._evict or not self._limit:
            return
        for key in list(self._entries)[: max(0, len(self._entries) - max(self._limit, keep))]:
            self._drop(key)

    def _drop(self, key: str) -> bool:
        try:
            files.remove(self._file(key))
        except FolderError as error:
            self._log.error(f"Resolver: {error}")
            return False
        self._forget(key)
        return True

    def _age(self, key: str) -> int:
        try:
            return self._file(key).stat().st_mtime_ns
        except OSError:
            return 0

    def _set_aside(self, key: str) -> None:
        """Move away a file that no token is remembered of: whoever left it may want it back."""
        file = self._file(key)
        if file.exists():
            file.replace(file.with_name(file.name + ".damaged"))

    def _tell(self, file: Path, error: Exception) -> None:
        try:
            status = file.stat()
            seen = (status.st_mtime_ns, status.st_size)
        except OSError:
            seen = (0, 0)
        if self._told.get(file.name) != seen:
            self._told[file.name] = seen
            self._log.warning(f"Resolver: the file {file} is not used: {error}")

    def _clear_leftovers(self) -> None:
        for file in self.path.iterdir():
            if _LEFTOVER.fullmatch(file.name):
                file.unlink(missing_ok=True)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
