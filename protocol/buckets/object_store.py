"""Object buckets: the entries of objects, their chunks and digests (ADR-20).

The bucket ``B`` is the stream ``OBJ_B``. The data of an object are messages of the subject ``$O.B.C.<id>``,
its chunks, in order. The entry of the object is the last message of ``$O.B.M.<name in base64>``, a JSON
document (`ObjectInfo`) with the id, the size, the number of chunks and the digest. An object exists once its
entry does, so the entry is written last. A deleted object has an entry that says so.
"""

import base64
import binascii
import hashlib
from typing import Any

from ..api.fields import flag, number, record, text, text_map, time
from ..api.record import Record
from ..lazy_dataclass import dataclass
from .naming import BucketError

STREAM_PREFIX = "OBJ_"
CHUNK_SIZE = 128 * 1024
MAX_CHUNK_SIZE = 2**32 - 1
DIGEST = "SHA-256"
ROLLUP = {"Nats-Rollup": "sub"}  # of an entry: it replaces the one before


def stream_name(bucket: str) -> str:
    """Return the name of the stream of a bucket."""
    return STREAM_PREFIX + bucket


def bucket_name(stream: str) -> str:
    """Return the name of the bucket of a stream."""
    return stream.removeprefix(STREAM_PREFIX)


def chunk_subject(bucket: str, nuid: str) -> str:
    """Return the subject of the chunks of one object; `nuid` is the id in its entry."""
    return f"$O.{bucket}.C.{nuid}"


def entry_subject(bucket: str, name: str) -> str:
    """Return the subject of the entry of an object. Raises BucketError for an empty name."""
    if not name:
        raise BucketError("invalid object name", "it is empty")
    return f"$O.{bucket}.M.{encode_name(name)}"


def entry_subjects(bucket: str) -> str:
    """Return the pattern of the subjects of all entries."""
    return f"$O.{bucket}.M.>"


def encode_name(name: str) -> str:
    """Return a name as the token of a subject: URL-safe base64 with padding."""
    return base64.urlsafe_b64encode(name.encode("utf-8", "surrogateescape")).decode("ascii")


class Digest:
    """The digest of an object's data, computed piece by piece."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, piece: bytes) -> None:
        """Take the next piece of the data."""
        self._hash.update(piece)

    def text(self) -> str:
        """Return the digest of all pieces, in the form that entries have: ``SHA-256=<URL-safe base64>``."""
        return f"{DIGEST}={base64.urlsafe_b64encode(self._hash.digest()).decode('ascii')}"

    def matches(self, written: str) -> bool:
        """Return whether the digest written in an entry is that of the pieces."""
        return parse_digest(written) == self._hash.digest()


def parse_digest(written: str) -> bytes:
    """Return the bytes of a digest in an entry. Raises BucketError if it is no SHA-256 digest."""
    kind, _, encoded = written.partition("=")
    try:
        found = base64.b64decode(
            encoded.rstrip("=") + "=" * (-len(encoded.rstrip("=")) % 4), b"-_", validate=True
        )
    except (binascii.Error, ValueError):
        found = b""
    if kind.upper() != DIGEST or len(found) != hashlib.sha256().digest_size:
        raise BucketError("invalid digest", f"{written!r} is no {DIGEST} digest")
    return found


@dataclass(slots=True)
class ObjectLink(Record):
    """What an entry that is a link points to: an object, or, without a name, a whole bucket."""

    bucket: str = text(keep=True)
    name: str = text()


@dataclass(slots=True)
class ObjectOptions(Record):
    """How the data of an object are stored. max_chunk_size: bytes of every chunk but the last."""

    link: ObjectLink | None = record(ObjectLink)
    max_chunk_size: int = number(go_type="uint64")


@dataclass(slots=True)
class ObjectInfo(Record):
    """The entry of an object.

    headers: a list of values for each name; the document has them as "headers", in `extra`.
    mtime: when the entry was stored. In the document it is the zero time; readers take the message's time.
    """

    name: str = text(keep=True)
    description: str = text()
    metadata: dict[str, str] = text_map()
    options: ObjectOptions | None = record(ObjectOptions)
    bucket: str = text(keep=True)
    nuid: str = text(keep=True)
    size: int = number(keep=True, go_type="uint64")
    mtime: int = time(keep=True)
    chunks: int = number(keep=True, go_type="uint64")
    digest: str = text()
    deleted: bool = flag()

    @property
    def link(self) -> ObjectLink | None:
        """What the entry points to, if it is a link."""
        return self.options.link if self.options is not None else None

    @property
    def headers(self) -> dict[str, list[str]]:
        """The headers of the object: a list of values for each name. Values that are none are left out."""
        found: Any = self.extra.get("headers")
        if not isinstance(found, dict):
            return {}
        return {
            str(name): [str(value) for value in values]
            for name, values in found.items()
            if isinstance(values, list)
        }

    def as_deleted(self) -> "ObjectInfo":
        """Return the entry that says that the object was deleted."""
        return self.replace(deleted=True, size=0, chunks=0, digest="", mtime=0)
