"""SourceHeader: where a sourced message came from, as the header `Nats-Stream-Source` says.

The value is `<origin> <sequence> <filter> <destination> <subject> [<identity>]`, separated by blanks. The
origin is the stream's name, followed by `:<hash>` of an external API prefix and `:C=<hash>` of a durable
consumer. Several transforms are joined with form feeds. Older forms are read too: four or five tokens,
`<origin> <sequence>`, and an ack subject.

Promises: the functions only handle text. `read` returns None for what it cannot read, and raises nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from ....protocol import headers
from ....protocol.api.stream import StreamSource
from ....protocol.identifier import name_hash

Label = tuple[bytes, bytes | None, bytes]
HEADER = b"Nats-Stream-Source"
ANY = ">"


class SourceHeader(NamedTuple):
    """The content of a stored header.

    origin: the origin's name, see `origin_name`.
    source: the source's index, "" in forms without filter and destination.
    sequence: the message's sequence in the origin.
    identity: the origin's identity, "" if the header has none.
    """

    origin: str
    source: str
    sequence: int
    identity: str


def origin_name(source: StreamSource) -> str:
    """Return the origin's name, with hashes that tell apart equal stream names in different places."""
    name = source.name
    if source.external is not None:
        name += ":" + name_hash(source.external.api)
    if source.consumer is not None:
        name += ":C=" + name_hash(source.consumer.name)
    return name


def source_index(source: StreamSource) -> str:
    """Return the index of a source: `<origin> <filter> <destination>`."""
    transforms = source.subject_transforms or []
    if transforms:
        pattern = "\f".join(transform.src or ANY for transform in transforms)
        destination = "\f".join(transform.dest or ANY for transform in transforms)
    else:
        pattern, destination = source.filter_subject or ANY, ANY
    return f"{origin_name(source)} {pattern} {destination}"


def consumer_index(source: StreamSource) -> str:
    """Return what must differ between sources that use durable consumers of the same origin."""
    name = source.name
    if source.external is not None:
        name += ":" + name_hash(source.external.api)
    return f"{name} {source.consumer.name if source.consumer is not None else ''}"


def write(index: str, sequence: int, subject: str, identity: str) -> bytes:
    """Return the header's value for the message `sequence` on `subject` of the source `index`.

    An external origin that is copied whole gets the short form that the leaf-node documentation shows, as its
    name with the hash and the sequence are all that a reader needs.
    """
    lead, between, end = _parts(index, identity)
    value = f"{lead}{sequence}" if between is None else f"{lead}{sequence}{between}{subject}"
    return (value + end).encode("utf-8", "surrogateescape")


def label(index: str, identity: str) -> Label:
    """Return what a copy's header line has beside sequence and subject; see `native.take_copies`."""
    lead, between, end = _parts(index, identity)
    raw = between.encode("utf-8", "surrogateescape") if between is not None else None
    name, rest = f"{HEADER.decode()}: {lead}", f"{end}\r\n\r\n"
    return name.encode("utf-8", "surrogateescape"), raw, rest.encode("utf-8", "surrogateescape")


def labelled(header: bytes, index: str, sequence: int, subject: str, identity: str) -> bytes:
    """Return the header that the copy of a message gets, with the value of `write`."""
    return headers.set(header, HEADER, write(index, sequence, subject, identity))


def _parts(index: str, identity: str) -> tuple[str, str | None, str]:
    """Return a value's text before the sequence, between it and the subject (None: no subject), and after."""
    origin, pattern, destination = index.split(" ")
    if pattern == destination == ANY and ":" in origin:
        return f"{origin} ", None, ""
    return f"{origin} ", f" {pattern} {destination} ", f" {identity}" if identity else ""


def read(value: bytes) -> SourceHeader | None:
    """Read a stored header's value; None if it cannot be read."""
    text = value.decode("utf-8", "surrogateescape")
    if text.startswith("$JS.ACK."):
        return _read_ack(text)
    fields = text.split(" ")
    if len(fields) not in {2, 4, 5, 6} or not fields[1].isdigit():
        return None
    index = f"{fields[0]} {fields[2]} {fields[3]}" if len(fields) >= 4 else ""
    return SourceHeader(fields[0], index, int(fields[1]), fields[5] if len(fields) == 6 else "")


def _read_ack(text: str) -> SourceHeader | None:
    tokens = text.split(".")
    if len(tokens) < 9:
        return None
    at = 2 if len(tokens) == 9 else 4
    if not tokens[at + 3].isdigit():
        return None
    return SourceHeader(tokens[at], "", int(tokens[at + 3]), "")
