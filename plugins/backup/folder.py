"""The folder of one stream's backup.

| file | what it is |
|---|---|
| `stream.tar.s2` | the stream as the server sent it; `nats stream restore` reads it |
| `backup.json` | the configuration and state of that file, as `nats stream backup` writes it |
| `increment-0001.s2`, … | what `--incremental` added |
| `manifest.json` | see `manifest.py` |
| `unfinished.json`, `*.part` | a backup that was cut, and can go on |

With a key, `.enc` is added to the names, and `backup.json` is missing: `nats` could not read the rest.

Promises: a file appears under its name when it is whole and on the disk; the manifest appears last. A backup
that is made again in the same folder replaces the old one only when it is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...protocol.archive.entries import CONSUMERS, ArchiveEntry
from .archive import BackupDamagedError, FileWriter, entries, is_head, is_readable, pieces
from .encryption import BackupKey, EncryptionError
from .manifest import BackupManifest, Info, fault_of

DATA, DOCUMENT, MANIFEST, UNFINISHED = "stream.tar.s2", "backup.json", "manifest.json", "unfinished.json"
TAR_FILE = "a tar file of a server before 2.15"  # which pyjs keeps and sends, and does not read
PART, ENCRYPTED = ".part", ".enc"


class BackupFolder:
    """A folder with the backup of a stream. key: of an encrypted backup."""

    def __init__(self, path: Path, key: BackupKey | None = None) -> None:
        self.path = path
        self.key = key

    def named(self, name: str) -> Path:
        """Return the path of a file of the backup."""
        return self.path / (name + ENCRYPTED if self.key else name)

    def part(self, name: str) -> Path:
        """Return the path of a file that is not complete yet."""
        return self.path / (name + PART + (ENCRYPTED if self.key else ""))

    @property
    def encrypted(self) -> bool:
        """Whether there is an encrypted backup."""
        return (self.path / (MANIFEST + ENCRYPTED)).exists()

    @property
    def complete(self) -> bool:
        """Whether there is a complete backup, of any kind."""
        return self.encrypted or (self.path / MANIFEST).exists() or self.of_nats

    @property
    def of_nats(self) -> bool:
        """Whether there is a backup without a manifest, as `nats` makes it."""
        whole = (self.path / DOCUMENT).exists() and (self.path / DATA).exists()
        return whole and not (self.path / MANIFEST).exists()

    @property
    def begun(self) -> bool:
        """Whether there are files of a backup, complete or not."""
        return any(any(self.path.glob(each)) for each in (f"{DATA}*", "increment-*", f"{UNFINISHED}*"))

    def why_closed(self) -> str:
        """Return why the key, or none, does not fit the backup that is there; "" if it does."""
        if self.encrypted and not self.key:
            return "it is encrypted, and no key was given"
        if self.complete and self.key and not self.encrypted:
            return "it is not encrypted, and a key was given"
        return ""

    def manifest(self) -> BackupManifest:
        """Read the manifest. Raises DamagedError, EncryptionError, and FileNotFoundError if there is none."""
        if self.of_nats:
            return self._of_nats()
        return BackupManifest.decode(self.read(MANIFEST))

    def _of_nats(self) -> BackupManifest:
        """Return what a backup without a manifest says of itself."""
        if added := sorted(path.name for path in self.path.glob("increment-*")):
            raise BackupDamagedError(f"{MANIFEST} is missing, without which {added[0]} cannot be restored")
        try:
            saved = json.loads((self.path / DOCUMENT).read_bytes())
            return BackupManifest("", "", dict(saved["config"]), dict(saved["state"]))
        except (ValueError, KeyError, TypeError) as error:
            raise BackupDamagedError(f"{DOCUMENT} cannot be read: {fault_of(error)}") from None

    def read(self, name: str) -> bytes:
        """Return the content of a small file."""
        return b"".join(pieces(self.named(name), self.key))

    def write(self, name: str, data: bytes) -> None:
        """Write a small file, whole or not at all."""
        with FileWriter(self.part(name), self.key) as file:
            file.write(data)
            file.close()
        self.appear(name)

    def appear(self, name: str) -> None:
        """Let a file that is complete have its name."""
        self.part(name).replace(self.named(name))
        self.sync()

    def sync(self) -> None:
        """Wait until the names in the folder are on the disk."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def unfinished(self) -> Info | None:
        """Return the document of a backup that was cut; None if there is none that this key opens."""
        try:
            found = json.loads(self.read(UNFINISHED))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def publish(self, manifest: BackupManifest, name: str) -> None:
        """Make a backup complete whose newest file `name` is whole. Nothing half done looks complete."""
        if name == DATA:  # what is there belongs to an older backup
            for old in (DOCUMENT, MANIFEST, MANIFEST + ENCRYPTED):
                (self.path / old).unlink(missing_ok=True)
            self.sync()
            for pattern in ("increment-*", DATA, DATA + ENCRYPTED):
                for path in self.path.glob(pattern):
                    path.unlink()
        self.appear(name)
        self.write(MANIFEST, manifest.encode())
        if name == DATA and not self.key:
            saved = {"config": manifest.config, "state": manifest.state}
            self.write(DOCUMENT, json.dumps(saved, indent=2).encode())
        for path in [*self.path.glob("*" + PART), *self.path.glob("*" + PART + ENCRYPTED)]:
            path.unlink()
        self.named(UNFINISHED).unlink(missing_ok=True)
        self.sync()

    def entries(self, name: str, total: Any = None) -> Iterator[ArchiveEntry]:
        """Yield the entries of a file. Raises DamagedError where it is damaged."""
        return entries(pieces(self.named(name), self.key, total))

    def so_far(self, name: str) -> Iterator[ArchiveEntry]:
        """Yield the whole entries of a file that was cut."""
        try:
            yield from entries(pieces(self.part(name), self.key))
        except (BackupDamagedError, FileNotFoundError):
            return

    def cut_off(self, name: str) -> Iterator[bytes]:
        """Yield what can be read of a file that was cut, decrypted if need be."""
        try:
            yield from pieces(self.part(name), self.key)
        except (EncryptionError, FileNotFoundError):
            return

    def files(self, manifest: BackupManifest) -> list[str]:
        """Return the names of the files with messages, in order."""
        return [each.file for each in manifest.segments] or [DATA]

    def is_tar(self, manifest: BackupManifest) -> bool:
        """Return whether the messages are in a tar file, which only a server can read."""
        return not is_readable(pieces(self.named(self.files(manifest)[0]), self.key))

    def head(self, manifest: BackupManifest) -> list[ArchiveEntry]:
        """Return the consumers, as the newest file has them."""
        found = []
        for entry in self.entries(self.files(manifest)[-1]):
            if not is_head(entry):
                break
            if entry.name.startswith(CONSUMERS):
                found.append(entry)
        return found

    def messages(self, manifest: BackupManifest) -> Iterator[ArchiveEntry]:
        """Yield the messages that the stream had, of all files. Raises DamagedError where one is damaged."""
        gone, at = sorted(manifest.gone), 0
        first = int(manifest.state.get("first_seq", 0))
        for name in self.files(manifest):
            for entry in self.entries(name):
                while at < len(gone) and gone[at][1] < entry.seq:
                    at += 1
                if entry.seq >= max(first, 1) and not (at < len(gone) and gone[at][0] <= entry.seq):
                    yield entry
