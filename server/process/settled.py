"""Reads a configuration that somebody may be writing at the same time.

Many editors and scripts empty a file before they write it, or write it in pieces. A signal may come in
between. Promises: what is applied is what the files have contained for PAUSE, as far as the file system
shows. A file that is empty now and was not before is read again for some time and then refused, as it would
disconnect everybody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..config.files import Files, emptied
from ..config.tree import ConfigError

if TYPE_CHECKING:
    from ..config import Options

PAUSE = 50_000_000  # ns for which the files must stay the same
MOST_READS = 20


class ReadConfiguration(Protocol):
    """What was read.

    files: the files after they were read. `options.config_files` has them as they were before.
    """

    @property
    def options(self) -> Options:
        """The configuration."""

    @property
    def files(self) -> Files:
        """The files of the configuration after they were read."""


R = TypeVar("R", bound=ReadConfiguration)


async def read_settled(read: Callable[[], Awaitable[R]], before: Options) -> R:
    """Read until nothing changes any more. Raises ConfigError, and what `read` raises.

    before: the options in force.
    """
    error = ""  # the error of the last read
    files: Files = {}
    for _ in range(MOST_READS):
        try:
            found = await read()
        except ConfigError as wrong:
            if str(wrong) == error:
                raise
            error = str(wrong)
        else:
            empty = emptied(before.config_files, found.files)
            if not empty and _is_settled(found, files):
                return found
            error = "".join(f"{path}: the file is empty, and was not before" for path in empty[:1])
            files = found.files
        await asyncio.sleep(PAUSE / 1e9)
    raise ConfigError.at(None, error or f"{before.config_file}: the configuration changes all the time")


def _is_settled(found: ReadConfiguration, files: Files) -> bool:
    """Whether the files did not change during the read, nor for PAUSE before it.

    files: those of the read before.
    """
    if found.options.config_files != found.files:
        return False
    newest = max((stamp.modified for stamp in found.files.values()), default=0)
    return found.files == files or newest + PAUSE < time.time_ns()
