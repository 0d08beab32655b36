"""What a parser answers to a peer that breaks the protocol: texts and close reasons of the reference.

A frame whose verb is known but whose arguments are wrong closes the connection without a word, as there.
"""

from ..errors import PeerError

PROTOCOL_VIOLATION = "Protocol Violation"
_SNIPPET = 128

# Something else than CONNECT from a peer that has yet to log in.
NOT_CONNECT = PeerError("Authorization Violation", True, "Authentication Failure")


def unknown_operation(near: bytes) -> PeerError:
    """The verb is not one of the protocol's."""
    return PeerError(
        "Unknown Protocol Operation", True, f"{PROTOCOL_VIOLATION}: unknown verb near {_snip(near)}"
    )


def bad_arguments(verb: str, arguments: bytes) -> PeerError:
    """Number or form of the arguments is wrong: closed without -ERR."""
    return PeerError("", True, f"{PROTOCOL_VIOLATION}: {verb} with bad arguments {_snip(arguments)}")


def bad_payload_end(verb: str) -> PeerError:
    """The payload is not followed by CRLF."""
    return PeerError(
        "Unknown Protocol Operation", True, f"{PROTOCOL_VIOLATION}: {verb} payload is not followed by CRLF"
    )


def control_line_exceeded(limit: int) -> PeerError:
    """The control line is longer than `limit` bytes."""
    return PeerError("maximum control line exceeded", True, f"Maximum Control Line Exceeded ({limit})")


def payload_exceeded(size: int, limit: int) -> PeerError:
    """The announced payload is larger than allowed."""
    return PeerError(
        "Maximum Payload Violation", True, f"Maximum Message Payload Exceeded ({size} vs {limit})"
    )


def headers_not_supported() -> PeerError:
    """HPUB from a peer that did not say that it has headers: closed without -ERR."""
    return PeerError("", True, f"{PROTOCOL_VIOLATION}: message headers not supported")


def _snip(data: bytes) -> str:
    return repr(data[:_SNIPPET])[1:]
