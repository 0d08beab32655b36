"""Writing an archive of `audit gather`: the servers' answers in a ZIP file, with a manifest.

The format is that of jsm.go's audit/archive (writer.go, tag.go), which `nats audit analyze` and `nats server
report --archive` read. Promises: until `finish`, the file has another name, so that one that was cut short
does not look whole; only the user may read it; names of servers, accounts and streams stay in its folders.
"""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...cli.errors import CliError
from ..server.archive import MANIFEST, PROFILE, STREAM_INFO, UNCLUSTERED

SPECIAL = "special"
PARTIAL = ".part"


class ArchiveWriter:
    """An archive that is being written to `path`. Raises CliError if that cannot be made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._manifest: dict[str, list[dict[str, str]]] = {}
        self._pages: dict[str, int] = {}
        self._time = datetime.now(UTC).timetuple()[:6]
        try:
            private = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            self._file = os.fdopen(private, "wb")
            self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)
        except OSError as error:
            raise CliError(f"could not write {path}: {error.strerror or error}") from None

    def add(self, data: bytes, kind: str, *, server: str, cluster: str, **tags: str) -> None:
        """Add an answer, or a profile.

        kind: the type of the artifact.
        cluster: empty for a server without one.
        tags: `account`, `stream` or `profile_name`.
        """
        named = {**tags, "server": server, "cluster": cluster or UNCLUSTERED, "artifact_type": kind}
        folder = _folder(named)
        if kind == PROFILE:
            name = f"{folder}.prof"
        else:
            self._pages[folder] = self._pages.get(folder, 0) + 1
            name = f"{folder}/{self._pages[folder]:04d}.json"
        self._write(name, data)
        self._manifest[name] = [{"Name": tag, "Value": value} for tag, value in named.items()]

    def add_special(self, name: str, extension: str, data: bytes) -> None:
        """Add a file about the archive itself."""
        path = f"capture/misc/{name}.{extension}"
        self._write(path, data)
        self._manifest[path] = [{"Name": SPECIAL, "Value": name}]

    def finish(self) -> None:
        """Write the manifest, and give the file its name."""
        self._write(MANIFEST, as_bytes(dict(sorted(self._manifest.items()))))
        self._zip.close()
        self._file.close()
        self._partial.replace(self.path)

    def abandon(self) -> None:
        """Close and remove what was written."""
        self._zip.close()
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _write(self, name: str, data: bytes) -> None:
        year, month, day, hour, minute, second = self._time
        entry = zipfile.ZipInfo(name, (year, month, day, hour, minute, second))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o600 << 16
        try:
            self._zip.writestr(entry, data)
        except OSError as error:
            raise CliError(f"could not write {self.path}: {error.strerror or error}") from None


def as_bytes(document: Any) -> bytes:
    """Return a document as archives have it."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _folder(tags: dict[str, str]) -> str:
    """Return the path of an artifact without page and extension. Source: tag.go, createFilenameFromTags."""
    for name, value in tags.items():
        if not value or value in (".", "..") or {"/", "\\", "\0"} & set(value):
            raise CliError(f"the {name} {value!r} cannot be part of an archive's file names")
    where, kind = f"{tags['cluster']}__{tags['server']}", tags["artifact_type"]
    if kind == STREAM_INFO:
        return f"capture/accounts/{tags['account']}/streams/{tags['stream']}/replicas/{where}/{kind}"
    if "account" in tags:
        return f"capture/accounts/{tags['account']}/servers/{where}/{kind}"
    if kind == PROFILE:
        return f"capture/profiles/{tags['cluster']}/{tags['server']}__{tags['profile_name']}"
    return f"capture/clusters/{tags['cluster']}/{tags['server']}/{kind}"
