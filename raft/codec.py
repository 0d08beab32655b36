"""Encodes the messages of a group as bytes, and decodes them.

Layout, little-endian: one byte for the kind of the message; the strings `group`, `source` and `to`, each with
its length in front; the term; the numbers of the kind; and entries last, each as `term, kind, length, data`.
`group` is the caller's name of the group, so that one subject can carry the messages of many groups.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from .entry import Entry
from .members import Members
from .message import (
    AppendEntries,
    AppendEntriesAccepted,
    AppendEntriesRejected,
    Heartbeat,
    HeartbeatReply,
    InstallSnapshot,
    InstallSnapshotReply,
    RaftMessage,
    RequestVote,
    RequestVoteReply,
    TimeoutNow,
)

_ENTRY = struct.Struct("<QBI")
_LENGTH = struct.Struct("<I")


class CodecError(ValueError):
    """The bytes are not a Raft message."""


# For each message type: its code, a struct of the numbers that follow source, to and term, and their names.
_NUMBERS: dict[type[RaftMessage], tuple[int, struct.Struct, tuple[str, ...]]] = {
    RequestVote: (1, struct.Struct("<?QQ?"), ("pre", "last", "last_term", "transfer")),
    RequestVoteReply: (2, struct.Struct("<??"), ("pre", "granted")),
    AppendEntries: (3, struct.Struct("<QQQQQ"), ("prev", "prev_term", "commit", "last", "echo")),
    AppendEntriesAccepted: (4, struct.Struct("<QQ"), ("index", "boot")),
    AppendEntriesRejected: (5, struct.Struct("<QqQQ"), ("prev", "hint", "hint_term", "boot")),
    Heartbeat: (6, struct.Struct("<QQQ?"), ("commit", "last", "echo", "answer")),
    HeartbeatReply: (7, struct.Struct("<Q"), ("boot",)),
    InstallSnapshot: (
        8,
        struct.Struct("<QQQQQQ"),
        ("index", "index_term", "offset", "size", "last", "echo"),
    ),
    InstallSnapshotReply: (9, struct.Struct("<QQQ"), ("index", "offset", "boot")),
    TimeoutNow: (10, struct.Struct("<"), ()),
}
_KINDS = {code: (kind, numbers, names) for kind, (code, numbers, names) in _NUMBERS.items()}
_TERM = struct.Struct("<Q")


def encode(group: str, message: RaftMessage) -> bytes:
    """Return the bytes of one message of `group`."""
    code, numbers, names = _NUMBERS[type(message)]
    parts = [
        bytes([code]),
        _text(group),
        _text(message.source),
        _text(message.to),
        _TERM.pack(message.term),
        numbers.pack(*[getattr(message, name) for name in names]),
    ]
    if isinstance(message, AppendEntries):
        parts += _entries(message.entries)
    elif isinstance(message, InstallSnapshot):
        members = message.members.encode()
        parts += [_LENGTH.pack(len(members)), members, message.data]
    return b"".join(parts)


def decode(data: bytes) -> tuple[str, RaftMessage]:
    """Return the group and the message. Raises CodecError if the bytes are not a whole message."""
    try:
        return _decode(data)
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise CodecError(f"not a Raft message: {error}") from error


def _decode(data: bytes) -> tuple[str, RaftMessage]:
    kind, numbers, names = _KINDS[data[0]]
    group, at = _read_text(data, 1)
    source, at = _read_text(data, at)
    to, at = _read_text(data, at)
    (term,) = _TERM.unpack_from(data, at)
    at += _TERM.size
    fields: dict[str, Any] = dict(zip(names, numbers.unpack_from(data, at), strict=True))
    at += numbers.size
    if kind is AppendEntries:
        fields["entries"] = _read_entries(data, at)
    elif kind is InstallSnapshot:
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        fields["members"] = Members.decode(data[at : at + length])
        fields["data"] = data[at + length :]
    make: Callable[..., RaftMessage] = kind
    return group, make(source=source, to=to, term=term, **fields)


def _text(text: str) -> bytes:
    raw = text.encode()
    return _LENGTH.pack(len(raw)) + raw


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if at + length > len(data):
        raise CodecError("a name is cut off")
    return data[at : at + length].decode(), at + length


def _entries(entries: Sequence[Entry]) -> list[bytes]:
    parts: list[bytes] = []
    pack = _ENTRY.pack
    for term, kind, data in entries:
        parts.append(pack(term, kind, len(data)))
        parts.append(data)
    return parts


def _read_entries(data: bytes, at: int) -> list[Entry]:
    entries: list[Entry] = []
    unpack, size = _ENTRY.unpack_from, _ENTRY.size
    while at < len(data):
        term, kind, length = unpack(data, at)
        at += size
        if at + length > len(data):
            raise CodecError("an entry is cut off")
        entries.append(Entry(term, kind, data[at : at + length]))
        at += length
    return entries
