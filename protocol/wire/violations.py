"""What a parser answers to a peer that breaks the protocol: the texts and close reasons of the reference.

A frame whose verb is known but whose arguments are wrong closes the connection without a word, as there.
"""

from ..errors import PeerError

PROTOCOL_VIOLATION = "Protocol Violation"
_SNIPPET = 128

# A peer that has yet to log in sent something other than CONNECT.
NOT_CONNECT = PeerError("Authorization Violation", True, "Authentication Failure")


def unknown_operation(near: bytes) -> PeerError:
    """Return the violation for a verb that the protocol does not have."""
    return PeerError(
        "Unknown Protocol Operation", True, f"{PROTOCOL_VIOLATION}: unknown verb near {_snip(near)}"
    )


def bad_arguments(verb: str, arguments: bytes) -> PeerError:
    """Return the violation for arguments of a wrong number or form. The connection is closed without -ERR."""
    return PeerError("", True, f"{PROTOCOL_VIOLATION}: {verb} with bad arguments {_snip(arguments)}")


def bad_payload_end(verb: str) -> PeerError:
    """Return the violation for a payload that is not followed by CRLF."""
    return PeerError(
        "Unknown Protocol Operation", True, f"{PROTOCOL_VIOLATION}: {verb} payload is not followed by CRLF"
    )


def control_line_exceeded(limit: int) -> PeerError:
    """Return the violation for a control line that is longer than `limit` bytes."""
    return PeerError("maximum control line exceeded", True, f"Maximum Control Line Exceeded ({limit})")


class PayloadExceededError(PeerError):
    """The violation for an announced payload of `size` bytes where `limit` are allowed.

    subject: the subject of the message.
    header: as much of its header as came with the announcement.
    """

    def __init__(self, size: int, limit: int, subject: bytes = b"", header: bytes = b"") -> None:
        super().__init__(
            "Maximum Payload Violation", True, f"Maximum Message Payload Exceeded ({size} vs {limit})"
        )
        self.size = size
        self.subject = subject
        self.header = header


def headers_not_supported() -> PeerError:
    """Return the violation for HPUB from a peer that did not announce headers. It is closed without -ERR."""
    return PeerError("", True, f"{PROTOCOL_VIOLATION}: message headers not supported")


def _snip(data: bytes) -> str:
    return repr(data[:_SNIPPET])[1:]
