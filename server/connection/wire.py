"""Wire: what a connection writes to. A transport of asyncio is one, so is TLS on top of another."""

from __future__ import annotations

from typing import Final, Protocol


class Wire(Protocol):
    """The part of an asyncio transport that connections use."""

    def write(self, data: bytes) -> None:
        """Send, or keep until the peer reads."""

    def close(self) -> None:
        """Close after what is kept was sent."""

    def abort(self) -> None:
        """Close now."""

    def get_write_buffer_size(self) -> int:
        """Bytes kept."""

    def pause_reading(self) -> None:
        """Read no more."""

    def resume_reading(self) -> None:
        """Read on."""


class ClosedWire:
    """The wire of a connection whose socket is closed: takes everything and does nothing."""

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
