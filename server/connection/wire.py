"""ConnectionTransport: what a connection writes to, which is an asyncio transport, or TLS on top of one."""

from __future__ import annotations

from typing import Final, Protocol


class ConnectionTransport(Protocol):
    """The part of an asyncio transport that connections use."""

    def write(self, data: bytes) -> None:
        """Send `data`, or keep it until the peer reads."""

    def close(self) -> None:
        """Close after sending what is kept."""

    def abort(self) -> None:
        """Close now."""

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are kept."""

    def pause_reading(self) -> None:
        """Stop reading."""

    def resume_reading(self) -> None:
        """Read again."""


class ClosedWire:
    """The wire of a connection whose socket is closed: it accepts everything and does nothing."""

    def write(self, data: bytes) -> None:
        """See `ConnectionTransport`."""

    def close(self) -> None:
        """See `ConnectionTransport`."""

    def abort(self) -> None:
        """See `ConnectionTransport`."""

    def get_write_buffer_size(self) -> int:
        """See `ConnectionTransport`."""
        return 0

    def pause_reading(self) -> None:
        """See `ConnectionTransport`."""

    def resume_reading(self) -> None:
        """See `ConnectionTransport`."""


GONE: Final = ClosedWire()
