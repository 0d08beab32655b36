"""Generic claims: any document under `nats`, such as the request to delete accounts."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .base import Claims
from .model import VERSION


class GenericClaims(Claims):
    """A token of any other kind, signed by any key."""

    nats: dict[str, Any] = Field(default_factory=dict)

    @property
    def tags(self) -> list[str]:
        """The tags, if the document has a list of them as other kinds do."""
        tags = self.nats.get("tags")
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    def prepare(self) -> None:
        """Set the version."""
        self.nats = {**self.nats, "version": VERSION}

    def _written(self, name: str, value: Any) -> Any:
        return deep(value) if name == "nats" else super()._written(name, value)


def deep(value: Any) -> Any:
    """Sort the keys of maps at every depth, and turn whole floats into integers."""
    if isinstance(value, dict):
        return {key: deep(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [deep(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value
