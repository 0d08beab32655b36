"""Which failed attempts to reach another server are errors in the log, and which are only for debugging."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config.options import Options

_FIRST, _AGAIN = 3600, 1  # what 0 means, as in nats-server


def is_reported(options: Options, attempts: int, *, connected_before: bool) -> bool:
    """Return whether attempt number `attempts` is logged: the first one, then every so many.

    connected_before: whether the other server has been reached since this one started.
    """
    if connected_before:
        every = options.reconnect_error_reports or _AGAIN
    else:
        every = options.connect_error_reports or _FIRST
    return attempts == 1 or attempts % every == 0
