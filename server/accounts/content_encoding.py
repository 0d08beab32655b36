"""Content encoding: compresses what was asked for with `Accept-Encoding`.

Promises: nothing is compressed that would keep others waiting; it is sent as it is then, with the encoding
`identity`.

Source: nats-server's server/events.go: getAcceptEncoding.
"""

from __future__ import annotations

import gzip

from ...protocol import headers, s2

ACCEPT = b"Accept-Encoding"
_MOST_FRAMED = 32 << 10  # bytes; the checksums of more would keep everybody waiting
_MOST_ZIPPED = 256 << 10  # bytes, in some milliseconds


def encoded(wanted: str, body: bytes) -> tuple[bytes, bytes]:
    """Return the header block and the body to send. wanted: the value of `Accept-Encoding`, "" for none."""
    wanted = wanted.lower()
    if not wanted:
        return b"", body
    encoding = "identity"
    if "snappy" in wanted or "s2" in wanted:
        if len(body) <= _MOST_FRAMED:
            encoding, body = "snappy", s2.begin() + s2.snappy_chunk(body)
    elif "gzip" in wanted and len(body) <= _MOST_ZIPPED:
        encoding, body = "gzip", gzip.compress(body, 1)
    return headers.encode({"Content-Encoding": encoding}), body
