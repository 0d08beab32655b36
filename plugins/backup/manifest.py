"""The manifest of a backup: what it has, with checksums.

`manifest.json` is written last: where it is missing, a backup is not complete. It says

- which stream it is, when it was created, its configuration and its state at the moment of the backup,
- the files in order: first `stream.tar.s2`, the stream as the server sent it, then what increments added.
  Each has its size and SHA-256, and the SHA-256 of every thousand messages,
- which messages of earlier files the stream has no more (`gone`),
- the names of the streams that were saved with it (`group`), if a whole account was.

Its last line is the SHA-256 of the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from ...protocol.timestamp import parse_exact
from .archive import BackupDamagedError, BlockDigest

VERSION = 1
FILE_NAME = re.compile(r"stream\.tar\.s2|increment-\d{4,}\.s2")
Info = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a backup."""

    file: str
    size: int
    sha256: str
    blocks: tuple[BlockDigest, ...]

    @property
    def messages(self) -> int:
        """How many messages it has."""
        return sum(block.messages for block in self.blocks)


@dataclass(slots=True)
class BackupManifest:
    """What a backup has. created: of the stream, as its server said. taken: when the backup was made."""

    created: str
    taken: str
    config: Info
    state: Info
    segments: list[Segment] = field(default_factory=list)
    gone: list[tuple[int, int]] = field(default_factory=list)  # from, to
    group: list[str] = field(default_factory=list)

    @property
    def stream(self) -> str:
        """The name of the stream."""
        return str(self.config["name"])

    def encode(self) -> bytes:
        """Return it as a file."""
        document = {
            "version": VERSION,
            "stream": self.stream,
            "created": self.created,
            "taken": self.taken,
            "state": self.state,
            "config": self.config,
            "gone": self.gone,
            "group": self.group,
            "segments": [
                {
                    "file": each.file,
                    "size": each.size,
                    "sha256": each.sha256,
                    "blocks": [block.to_json() for block in each.blocks],
                }
                for each in self.segments
            ],
        }
        text = json.dumps(document, indent=1, ensure_ascii=False)
        return f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}\n".encode()

    @classmethod
    def decode(cls, data: bytes) -> BackupManifest:
        """Read a file. Raises DamagedError if it is not what was written, or not a manifest."""
        text, _, checksum = data.decode(errors="replace").rstrip("\n").rpartition("\n")
        if hashlib.sha256(text.encode()).hexdigest() != checksum:
            raise BackupDamagedError("the manifest does not agree with its checksum")
        try:
            document = json.loads(text)
            if document["version"] != VERSION:
                raise BackupDamagedError(
                    f"the manifest has version {document['version']}, which is not known here"
                )
            return cls._of(document)
        except BackupDamagedError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise BackupDamagedError(f"the manifest has another form: {fault_of(error)}") from None

    @classmethod
    def _of(cls, document: Info) -> BackupManifest:
        parse_exact(document["taken"])
        return cls(
            document["created"],
            document["taken"],
            document["config"],
            document["state"],
            [
                Segment(
                    _file_name(each["file"]),
                    each["size"],
                    each["sha256"],
                    tuple(BlockDigest(*row) for row in each["blocks"]),
                )
                for each in document["segments"]
            ],
            [(first, last) for first, last in document["gone"]],
            [_folder_name(each) for each in document["group"]],
        )


def fault_of(error: Exception) -> str:
    """Return what is wrong with a document, from the error that reading it raised."""
    if isinstance(error, json.JSONDecodeError):
        return f"it was cut, or is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return f"a value is not what it should be ({error})" if not isinstance(error, OSError) else str(error)


def _folder_name(name: str) -> str:
    """Return the name of a stream, which is that of its folder. Raises DamagedError for any other path."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\\" in name:
        raise BackupDamagedError(f"{name!r} is not the name of a Stream")
    return name


def _file_name(name: str) -> str:
    """Return the name of a file in the folder of a backup. Raises DamagedError for any other path."""
    if not FILE_NAME.fullmatch(name):
        raise BackupDamagedError(f"{name!r} is not a file of a backup")
    return name
