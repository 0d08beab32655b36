"""TokenDirectory: a folder of account tokens, `<public key>.jwt`, in nats-server's layout.

Promises:
- What it reports as stored is what the folder contains, whatever write fails.
- A file appears whole or not at all.
- A file that is damaged or does not belong there is named in the log once, and never served, counted or
  removed. If it is in the way of a good token, it is renamed to `.jwt.damaged`.
- Only this server writes to the folder, but a file that somebody changed by hand is noticed when its token is
  asked for.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ....keys import FolderError, KeyRole, NotFoundError, files, is_public
from ....protocol.lazy_dataclass import dataclass
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
# How long a deleted token is not accepted again from servers that still send it.
MOURNING = 60 * SECOND
# The file that remains of a write that was cut off by a crash (see keys.files).
_LEFTOVER = re.compile(r"\.A[A-Z2-7]{55}\.jwt\.\w+")


class Deletion(Enum):
    """What happens to the file of a deleted account."""

    NONE = "refused"
    RENAME = "kept as .jwt.deleted"
    REMOVE = "removed"


@dataclass(frozen=True, slots=True)
class DirectoryRules:
    """Which tokens a directory keeps.

    limit: the maximum number of tokens, 0 for none. At the limit the least recently used one is removed if
        `evict` is set; otherwise a new one is refused.
    ttl: ns after which an unused token is removed; 0 to remove tokens when they expire.
    deletion: what `TokenDirectory.delete` does.
    """

    limit: int = 0
    evict: bool = False
    ttl: int = 0
    deletion: Deletion = Deletion.NONE


class TokenDirectory:
    """The stored tokens by public key.

    deletion: that of its rules.
    digest: the XOR of the SHA-256 of all tokens, which is equal for equal sets of tokens.
    """

    def __init__(
        self,
        path: Path,
        trust: Trust,
        clock: Clock,
        log: Logger,
        rules: DirectoryRules,
    ) -> None:
        self.path = path
        self.deletion = rules.deletion
        self.digest = EMPTY
        self._trust = trust
        self._clock = clock
        self._log = log
        self._limit = rules.limit
        self._evict = rules.evict
        self._ttl = rules.ttl
        self._entries: dict[str, TokenEntry] = {}  # from the least to the most recently used if `evict`
        self._used: dict[str, int] = {}
        self._warned: dict[str, tuple[int, int]] = {}
        self._gone: dict[str, tuple[TokenEntry | None, int]] = {}  # deleted, and until when (ns) that counts

    def __len__(self) -> int:
        return len(self._entries)

    # --- reading

    def open(self) -> None:
        """Create the folder if necessary and read what it contains. Raises ResolverError."""
        try:
            files.make_folder(self.path)
            self._clear_leftovers()
        except (FolderError, OSError) as error:
            raise ResolverError(f"cannot use the resolver's directory {self.path}: {error}") from error
        self.reload()

    def reload(self) -> list[str]:
        """Read the folder again and return the keys whose tokens changed. Raises ResolverError."""
        return at_once(self.reloading())

    def reloading(self) -> Steps[list[str]]:
        """Do the same as `reload`, with one step per file."""
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
            self._refresh(key)
            yield
        self._make_room(0)
        after = {key: entry.digest for key, entry in self._entries.items()}
        return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))

    def load(self, key: str) -> str:
        """Return the token of `key`, "" if there is none that fits."""
        if not is_public(key, KeyRole.ACCOUNT):
            return ""
        token = self._read(key)
        entry = self._entries.get(key)
        if token is None or entry is None or digest_of(token) != entry.digest:
            token = self._refresh(key)
        if token:
            self._touch(key)
        return token

    def known(self, key: str, token: str) -> bool:
        """Whether exactly this token is stored."""
        present = self._entries.get(key)
        return present is not None and present.digest == digest_of(token)

    def issued(self, key: str) -> int:
        """Return when the token stored for `key` was issued, in seconds; 0 if there is none."""
        present = self._entries.get(key)
        return 0 if present is None else present.issued

    def keys(self) -> list[str]:
        """Return the keys of the stored tokens that have not expired, sorted."""
        now = self._clock.now() // SECOND
        return sorted(key for key, entry in self._entries.items() if not 0 < entry.expires < now)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each key with its current token, without those that have expired."""
        for key in self.keys():
            token = self._read(key) or ""
            entry = self._entries.get(key)
            if token and entry is not None and digest_of(token) == entry.digest:
                yield key, token

    # --- changing

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """Store a token; see Resolver.store."""
        if not is_public(key, KeyRole.ACCOUNT):
            raise ResolverError("this is no public key of an account")
        self._refresh(key)
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
            self._refresh(key)  # a write may fail after the new file has its name
            raise ResolverError(str(error)) from error
        self._gone.pop(key, None)
        self._put(key, entry)
        self._make_room(1)
        return True

    def deleted(self, key: str, token: str) -> bool:
        """Whether this token, or a newer one of its account, was deleted here recently."""
        try:
            return key in self._gone and self._is_gone(key, TokenEntry.of(key, token, self._trust))
        except UnfitError:
            return False

    def _is_gone(self, key: str, entry: TokenEntry) -> bool:
        last, until = self._gone.get(key, (None, 0))
        return self._clock.now() < until and (last is None or not entry.newer_than(last))

    def delete(self, key: str) -> None:
        """Delete the account's file, in the configured way. Harmless if there is none.

        Raises ResolverError if deletion is not enabled or fails.
        """
        if self.deletion is Deletion.NONE:
            raise ResolverError("store is not set up for delete")
        file = self._file(key)
        if not self._evict:  # a cache may get again what it removed
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
            self._refresh(key)

    def sweep(self) -> list[str]:
        """Remove tokens that expired or were not used for the ttl, and return their keys."""
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

    def _refresh(self, key: str) -> str:
        """Update what is remembered of `key` from its file, and return the token if it fits."""
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
            self._warn(file, error)
            return ""
        self._put(key, entry)
        return token

    def _put(self, key: str, entry: TokenEntry) -> None:
        present = self._entries.get(key)
        if present is not None:
            self.digest = _xor(self.digest, present.digest)
        self._entries[key] = entry
        self.digest = _xor(self.digest, entry.digest)
        self._warned.pop(key, None)
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
        """Remove the least recently used tokens above the limit, but not the last `keep`."""
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
        """Rename a file that contains no remembered token: its owner may want it back."""
        file = self._file(key)
        if file.exists():
            file.replace(file.with_name(file.name + ".damaged"))

    def _warn(self, file: Path, error: Exception) -> None:
        try:
            status = file.stat()
            seen = (status.st_mtime_ns, status.st_size)
        except OSError:
            seen = (0, 0)
        if self._warned.get(file.name) != seen:
            self._warned[file.name] = seen
            self._log.warning(f"Resolver: the file {file} is not used: {error}")

    def _clear_leftovers(self) -> None:
        for file in self.path.iterdir():
            if _LEFTOVER.fullmatch(file.name):
                file.unlink(missing_ok=True)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
