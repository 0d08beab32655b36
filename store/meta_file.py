"""The format of a meta file, which makes a stream or a consumer exist.

It has one line with the format, a CRC-32, the name, and `MetaFacts` as JSON (identity, account, stream,
revision), and then a JSON object, which is the caller's and is kept as it is. A file of the previous version
has no identity.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import quote, unquote
from zlib import crc32

from ..protocol.lazy_dataclass import dataclass
from .errors import Damaged

META = "meta.json"
_FORMAT, _OLD_FORMAT = "pyjs-meta-2", "pyjs-meta-1"
_LONGEST = 200  # bytes of a directory name, well below the 255 that file systems allow

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MetaFacts:
    """What a meta file has besides the caller's document. The defaults are those of the previous version.

    identity, since: see `Identity`. account: the name of the account. stream: for a consumer, the identity of
    its stream. revision: how often the file was written.
    """

    identity: int = 0
    since: int = 0
    account: str = ""
    stream: int = 0
    revision: int = 0

    def encode(self) -> bytes:
        """Return the facts as a word of the meta file's first line."""
        facts = {**asdict(self), "identity": f"{self.identity:016x}", "stream": f"{self.stream:016x}"}
        return json.dumps(facts).encode()

    @classmethod
    def decode(cls, word: bytes) -> MetaFacts:
        """Read what `encode` returned."""
        facts = json.loads(word)
        identity, stream = int(facts.pop("identity"), 16), int(facts.pop("stream"), 16)
        return cls(identity=identity, stream=stream, **facts)


@dataclass(frozen=True, slots=True)
class MetaFile:
    """The contents of a meta file: whose it is, the caller's document, and the rest."""

    name: str
    document: Document
    facts: MetaFacts


def directory_name(name: str) -> str:
    """Return a safe directory name for any name, with unsafe characters percent-encoded.

    A very long one is cut and gets a hash. The whole name is in the meta file.
    """
    safe = quote(name, safe="$=")
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if len(safe) > _LONGEST:
        safe = safe[: _LONGEST - 33] + "~" + hashlib.sha256(name.encode()).hexdigest()[:32]
    return safe or "%"


def name_of(folder: str) -> str:
    """Return the name that is encoded in a folder's name. What `directory_name` has cut stays cut."""
    return unquote(folder)


def encode(name: str, facts: MetaFacts, document: Document) -> bytes:
    """Return the bytes of a meta file."""
    text = json.dumps(document, ensure_ascii=False).encode() + b"\n"
    covered = f"{quote(name, safe='$')} ".encode() + facts.encode() + b"\n" + text
    return f"{_FORMAT} {crc32(covered):08x} ".encode() + covered


def decode(data: bytes, path: str, expected: Callable[[MetaFacts], str]) -> MetaFile:
    """Read a meta file, which must belong to the folder that it is in. Raises Damaged.

    expected: returns whose file it is if it belongs elsewhere, "" otherwise.
    """
    first, _, rest = data.partition(b" ")
    checksum, _, covered = rest.partition(b" ")
    if first not in {_FORMAT.encode(), _OLD_FORMAT.encode()}:
        raise Damaged(0, f"{path}: not a meta file of this format")
    if checksum != f"{crc32(covered):08x}".encode():
        raise Damaged(0, f"{path}: checksum mismatch")
    named, _, text = covered.partition(b"\n")
    quoted, _, facts_text = named.partition(b" ")
    name, facts = unquote(quoted.decode()), MetaFacts.decode(facts_text) if facts_text else MetaFacts()
    if directory_name(name) != path.split("/")[-2]:
        raise Damaged(0, f"{path}: belongs to '{name}'")
    if other := expected(facts):
        raise Damaged(0, f"{path}: belongs to {other}")
    return MetaFile(name, json.loads(text), facts)
