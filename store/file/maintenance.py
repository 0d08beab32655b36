"""Maintenance: the work that frees space in a stream's files, one piece at a time.

A message that is erased while a piece of work copies its block must not come back with the copy. So the work
is cancelled, or the message is erased again.
"""

from collections.abc import Sequence

from ..fs import FileSystem
from ..handles import Handles
from .block import Block
from .compaction import Compaction, choose_run
from .packing import Packing, choose_packing
from .reader import BlockReader

Erased = tuple[Block, int, int, int, int]  # as `commit.erasure` takes them


class Maintenance:
    """The pieces of work of one stream. compress: whether blocks that are written again are compressed."""

    def __init__(
        self, fs: FileSystem, handles: Handles, directory: str, identity: int, reader: BlockReader
    ) -> None:
        self._fs = fs
        self._handles = handles
        self._directory = directory
        self._identity = identity
        self._reader = reader
        self._erased: list[Erased] = []  # since the work began
        self.work: Compaction | Packing | None = None
        self.compress = False

    def begin(
        self, blocks: list[Block], sealed: Sequence[Block], block_size: int, last_seq: int, *, lossy: bool
    ) -> Compaction | Packing | None:
        """Begin a piece of work, if there is any.

        sealed: blocks that are not synced yet. lossy: whether the stream has lost messages.
        """

        def ready(run: list[Block]) -> bool:
            return bool(run) and not any(block in sealed or block.synced < block.end for block in run)

        run = choose_run(blocks, block_size)
        if ready(run):
            outside = [block for block in blocks if block not in run]
            where = (self._fs.packing(compress=self.compress), self._handles, self._directory, self._identity)
            self.work = Compaction(*where, run, outside, last_seq, lossy=lossy)
        elif (self.compress or self._fs.seals) and ready(run := choose_packing(blocks)):
            self.work = Packing(self._fs, self._handles, run, last_seq, compress=self.compress)
        return self.work

    def erasing(self, erased: Erased) -> None:
        """Note that a message is erased."""
        erased[0].packed = False  # what it leaves may be worth to be cleared away
        if self.work is not None:
            self.work.cancelled = True
            self._erased.append(erased)

    def finish(self, work: Compaction | Packing, blocks: list[Block], bases: list[int]) -> list[Erased]:
        """Take over what the work has written. Return what must be erased again."""
        if work is not self.work:
            raise ValueError("not this stream's maintenance")
        self.work, erased, self._erased = None, self._erased, []
        if isinstance(work, Packing):
            work.finish(blocks)
            for block in work.written:
                self._reader.forget(block)
            return [one for one in erased if one[0] in work.written and one[0] in blocks]
        index = blocks.index(work.run_of[0]) if work.run_of[0] in blocks else -1
        if not work.done or work.cancelled or index < 0:
            work.discard()
            return []
        replacement = work.replacement()
        replacement.packed = True
        count = len(work.run_of)
        for block in work.run_of:
            self._reader.forget(block)
        blocks[index : index + count] = [replacement]
        bases[index : index + count] = [replacement.header.last_seq]
        work.remove_old()
        return []
