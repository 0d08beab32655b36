"""A stream in block files: appended to, committed in groups, checked when read."""

from .stream import FileStream

__all__ = ["FileStream"]
