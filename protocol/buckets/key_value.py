"""Key-value buckets: the subjects of keys, and what a message says about its key (ADR-8).

The bucket ``B`` is the stream ``KV_B`` with the subjects ``$KV.B.>``; a key is the rest of the subject, and
its revision the sequence of the message. A message with an operation in its headers is a marker: the key is
deleted. A server that removes a key by itself (its time to live) writes such a marker, too.
"""

import enum
from collections.abc import Mapping
from typing import Any

from .. import duration
from ..lazy_dataclass import dataclass
from .naming import BucketError, check_span

STREAM_PREFIX = "KV_"
MAX_HISTORY = 64
OPERATION_HEADER = "KV-Operation"
MARKER_REASON_HEADER = "Nats-Marker-Reason"
ROLLUP_HEADER = "Nats-Rollup"
EXPECTED_REVISION_HEADER = "Nats-Expected-Last-Subject-Sequence"
TTL_HEADER = "Nats-TTL"
DEFAULT_API_PREFIX = "$JS.API"


class Operation(enum.Enum):
    """What a message does to its key."""

    PUT = "PUT"
    DELETE = "DELETE"
    PURGE = "PURGE"


_BY_HEADER = {"DEL": Operation.DELETE, "PURGE": Operation.PURGE}
_BY_REASON = {"MaxAge": Operation.PURGE, "Purge": Operation.PURGE, "Remove": Operation.DELETE}


def operation(headers: Mapping[str, str]) -> Operation:
    """Return what a message with these headers does."""
    if headers.get(OPERATION_HEADER):
        return _BY_HEADER.get(headers[OPERATION_HEADER], Operation.PUT)
    return _BY_REASON.get(headers.get(MARKER_REASON_HEADER, ""), Operation.PUT)


def delete_headers() -> dict[str, str]:
    """Return the headers of the message that deletes a key and keeps its history."""
    return {OPERATION_HEADER: "DEL"}


def purge_headers(ttl: int = 0) -> dict[str, str]:
    """Return the headers of the message that deletes a key with its history.

    ttl: nanoseconds until the marker itself goes, 0 for never.
    """
    return {OPERATION_HEADER: "PURGE", ROLLUP_HEADER: "sub", **ttl_header(ttl)}


def update_headers(revision: int, ttl: int = 0) -> dict[str, str]:
    """Return the headers of a value that is stored only if `revision` is its key's last one.

    revision: 0 if the key must not exist.
    ttl: nanoseconds until the value expires, 0 for never.
    """
    return {EXPECTED_REVISION_HEADER: str(revision), **ttl_header(ttl)}


def ttl_header(ttl: int) -> dict[str, str]:
    """Return the header with a time to live in nanoseconds; none for 0. Raises BucketError."""
    check_span(ttl, "TTL")
    return {TTL_HEADER: duration.format_go(ttl)} if ttl else {}


def stream_name(bucket: str) -> str:
    """Return the name of the stream of a bucket. A name that begins with ``KV_`` is such a name already."""
    return bucket if bucket.startswith(STREAM_PREFIX) else STREAM_PREFIX + bucket


def bucket_name(stream: str) -> str:
    """Return the name of the bucket of a stream."""
    return stream.removeprefix(STREAM_PREFIX)


def subjects(bucket: str) -> str:
    """Return the pattern of all subjects of a bucket."""
    return f"$KV.{bucket}.>"


@dataclass(frozen=True)
class KeySubjects:
    """The subjects of a bucket's keys: each prefix with a key behind it.

    read: of the messages in the stream.
    write: to publish to.
    """

    read: str
    write: str

    @classmethod
    def of(cls, stream: Mapping[str, Any], api_prefix: str = DEFAULT_API_PREFIX) -> "KeySubjects":
        """Return those of a bucket whose stream has this configuration, as the API writes it.

        api_prefix: the one that the client uses.

        A mirror has the messages of its origin under the origin's subjects, and writes go to the origin.
        """
        bucket = bucket_name(stream["name"])
        prefix = "" if api_prefix == DEFAULT_API_PREFIX else f"{api_prefix}."
        mirror = stream.get("mirror")
        if not mirror:
            return cls(f"$KV.{bucket}.", f"{prefix}$KV.{bucket}.")
        origin = bucket_name(mirror["name"])
        elsewhere = (mirror.get("external") or {}).get("api")
        if elsewhere:
            prefix = f"{elsewhere}."
        return cls(f"$KV.{origin}.", f"{prefix}$KV.{origin}.")


def check_stream(stream: Mapping[str, Any]) -> None:
    """Raise BucketError if a stream with this configuration, as the API writes it, is no bucket."""
    if not str(stream["name"]).startswith(STREAM_PREFIX) or stream.get("max_msgs_per_subject", 0) < 1:
        raise BucketError("bucket not valid key-value store", f"{stream['name']} is another kind of stream")
