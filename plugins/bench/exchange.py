"""What the clients of JetStream share: one request at a time, acknowledgements, and refusals in words."""

from __future__ import annotations

from ...cli.errors import UnavailableError
from ...client import BlockingConnection, Frames, TimedOut
from ...protocol import headers
from .connection import checked

NO_RESPONDERS = 503
STORED = b'{"stream":'  # what every acknowledgement of a stored message begins with


def ask(connection: BlockingConnection, frame: bytes, subject: str) -> tuple[bytes, bytes]:
    """Send a frame that has a reply subject; return header and payload of the one answer.

    The caller has subscribed to the reply subject, and nothing else arrives. Raises UnavailableError.
    """
    connection.send(frame)
    try:
        frames = connection.take()
    except TimedOut:
        raise UnavailableError(f"nats: timeout: no answer on {subject}", "--timeout waits longer") from None
    header = frames.headers.get(0, b"")
    if header:
        refuse_silence(header, subject)
    return header, frames.payloads[0]


def refuse_silence(header: bytes, subject: str) -> None:
    """Raise UnavailableError if the header says that nobody listens."""
    if headers.status(header)[0] == NO_RESPONDERS:
        raise UnavailableError(
            "nats: no responders available for request",
            f"nobody listens on {subject}: no stream has it, and no service answers",
        )


def acknowledged(frames: Frames, subject: str) -> None:
    """Check that all messages are acknowledgements of stored messages. Raises RemoteError, CliError."""
    for payload in frames.payloads:
        if not payload.startswith(STORED):
            if not payload:
                for header in frames.headers.values():
                    refuse_silence(header, subject)
            checked(payload)
