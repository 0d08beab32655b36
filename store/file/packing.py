"""Packing: writing sealed blocks again with the same content, compressed or in larger pieces.

A block that grew by small commits takes less room, and opens sooner, when it is written as a whole. The new
file has the old one's name and content, so whichever of both a crash leaves is right, and indexes and
manifests stay valid. A block that nothing is to gain from is only looked at.
"""

from collections.abc import Sequence
from contextlib import suppress

from ..fs import FileSystem, read_file, write_new
from ..handles import Handles
from .block import Block
from .commit import remove_block

MOST = 4  # blocks in one piece of work


def choose_packing(blocks: Sequence[Block]) -> list[Block]:
    """Return sealed blocks that were not packed or looked at yet."""
    sealed = (one for one in blocks[:-1] if one.created and not (one.damaged or one.packed))
    return [block for block, _ in zip(sealed, range(MOST), strict=False)]


class Packing:
    """One piece of maintenance of a `FileStream`, with the protocol of a commit.

    compress: whether the blocks are compressed.
    """

    little = prompt = False

    def __init__(
        self, fs: FileSystem, handles: Handles, blocks: list[Block], last_seq: int, *, compress: bool
    ) -> None:
        self._fs = fs
        self._handles = handles
        self._compress = compress
        self.run_of = blocks
        self.last_seq = last_seq
        self.cancelled = False
        self.error: OSError | None = None
        self.written: list[Block] = []  # those that have new files

    def run(self) -> None:
        """Write the new files. Called once, in any thread. A failure here (kept in `error`) loses nothing."""
        try:
            for block in self.run_of:
                if self.cancelled:
                    return
                if not self._fs.gains(block.path, compress=self._compress):
                    block.packed = True
                elif self._write(block.path):
                    self.written.append(block)
        except OSError as error:
            self.error = error

    def _write(self, path: str) -> bool:
        """Write a block again. Return whether it has its new file."""
        fs, temporary = self._fs, path + ".tmp"
        try:
            write_new(fs.packing(compress=self._compress), temporary, read_file(fs, path))
            if not self.cancelled:
                fs.rename(temporary, path)
                fs.sync_directory(path.rpartition("/")[0])
                return True
        except OSError:
            with suppress(OSError):
                fs.remove(temporary)
            raise
        fs.remove(temporary)
        return False

    def finish(self, blocks: Sequence[Block]) -> None:
        """Have the new files read from now on, and remove those of blocks that the stream no longer has."""
        for block in self.written:
            block.packed = True
            self._handles.forget(block.path)
            if block not in blocks:
                remove_block(self._fs, self._handles, block.path)
