"""A stream in block files: append-only, committed in groups, checked when read."""

from .stream import FileStream

__all__ = ["FileStream"]
