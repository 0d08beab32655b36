"""Upgrade: what the HTTP request told that a WebSocket connection began with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Upgrade(NamedTuple):
    """What a connection keeps of the request.

    cookies: their values by name.
    forwarded_for: the client's address as a proxy in front of this server gives it (X-Forwarded-For), or "".
    """

    cookies: Mapping[str, str] = {}
    forwarded_for: str = ""

    def prefix(self) -> str:
        """Return what stands before the address of the socket in the log."""
        if not self.forwarded_for:
            return ""
        return f"[{self.forwarded_for}]/" if ":" in self.forwarded_for else f"{self.forwarded_for}/"
