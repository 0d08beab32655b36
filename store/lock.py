"""One server at a time in a store directory. Two would each believe the files to be their own, and lose data.

The lock is the operating system's (`flock`), on a file that stays. It ends with the process, however that
ends, so a kill leaves nothing to clean up. The file contains the owner's process id, only for the error
message.
"""

from __future__ import annotations

import errno
import fcntl
import os

NAME = "lock"


class InUseError(OSError):
    """Another process has this store directory open."""


class DirectoryLock:
    """Holds a directory for this process from its creation until `release`.

    Raises InUseError, naming the owner, if another process (or another server in this one) has the directory,
    and OSError if the file cannot be created.
    """

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{NAME}"
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(self._file, 32, 0).decode(errors="replace").strip()
            os.close(self._file)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            named = f" (process {owner})" if owner else ""
            text = f"the store directory is used by another server{named}"
            raise InUseError(errno.EAGAIN, text, directory) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the directory. A second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
