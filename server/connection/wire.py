"""Wire: what a connection writes to, which is an asyncio transport, or TLS on top of one."""

from __future__ import annotations

from typing import Final, Protocol


class Wire(Protocol):
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
        """See Wire."""

    def close(self) -> None:
        """See Wire."""

    def abort(self) -> None:
        """See Wire."""

    def get_write_buffer_size(self) -> int:
        """See Wire."""
        return 0

    def pause_reading(self) -> None:
        """See Wire."""

    def resume_reading(self) -> None:
        """See Wire."""


GONE: Final = ClosedWire()
