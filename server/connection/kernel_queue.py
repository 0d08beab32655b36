"""What the kernel holds of what was written to a socket, because the peer has not taken it yet."""

from __future__ import annotations

import fcntl
import struct
import termios
from collections.abc import Callable
from typing import Protocol

_INT = struct.Struct("i")


class OpenSocket(Protocol):
    """A socket, such as an asyncio transport shows it."""

    def fileno(self) -> int:
        """Its file descriptor; -1 once it is closed."""


def kernel_queue(sock: OpenSocket) -> Callable[[], int]:
    """Return what tells how many written bytes the peer has not acknowledged; 0 where the system does not."""

    def unacknowledged() -> int:
        try:
            found = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(_INT.size))
        except (OSError, ValueError):
            return 0
        return int(_INT.unpack(found)[0])

    return unacknowledged
