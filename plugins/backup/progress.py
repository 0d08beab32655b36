"""How far a backup of an account came: the streams that it has saved, which one that was cut keeps.

Promises: a stream is noted when its own backup is complete, and counts only as long as that can be read and
is of the stream that is there.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from .archive import BackupDamagedError
from .encryption import EncryptionError
from .folder import BackupFolder

NAME = "begun.json"  # in the account's folder, until the backup has ended


class AccountProgress:
    """The streams that a backup has saved. restart: what was noted before does not count."""

    def __init__(self, path: Path, *, restart: bool) -> None:
        self._file = path / NAME
        self._saved: set[str] = set()
        if not restart:
            with suppress(OSError, ValueError, KeyError, TypeError):
                self._saved = set(map(str, json.loads(self._file.read_bytes())["saved"]))

    def taken(self, folder: BackupFolder, info: dict[str, Any]) -> str:
        """Return when a stream was saved; "" if it has to be saved yet."""
        if folder.path.name not in self._saved or folder.why_closed():
            return ""
        try:
            manifest = folder.manifest()
        except (OSError, BackupDamagedError, EncryptionError):
            return ""
        return manifest.taken if manifest.created == info.get("created") else ""

    def add(self, name: str) -> None:
        """Note that a stream was saved."""
        self._saved.add(name)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps({"saved": sorted(self._saved)}))
        part.replace(self._file)

    def end(self) -> None:
        """Note that all streams were saved."""
        self._file.unlink(missing_ok=True)
