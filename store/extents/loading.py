"""Finding the extents of a file that is opened.

Only headers are read. An extent that is damaged is found when its content is read. Where a header is damaged,
the next extent is sought that proves itself.
"""

from __future__ import annotations

from ...protocol.lazy_dataclass import dataclass
from ..fs import FileSystem
from .compression import expand
from .extent_map import LACKING, UNREADABLE, ExtentMap
from .keys import ExtentSealer
from .layout import EXTENT_HEADER, FILE_HEADER, SIZE, ZEROS, Extent, candidates, proven

_SECTOR = 512  # the least that a disk writes as a whole
_WINDOW = 4096


@dataclass(slots=True)
class LoadedExtents:
    """What was found.

    tail: where the next extent is written. zeros: how many zeros are there, written ahead.
    junk: whether something else is there, such as a write that was cut short.
    """

    map: ExtentMap
    tail: int
    zeros: int = 0
    junk: bool = False


class _Window:
    """The file in pieces, for headers that may be close to each other or far apart."""

    def __init__(self, fs: FileSystem, file: int) -> None:
        self._fs, self._file = fs, file
        self._start, self._data = 0, b""

    def header(self, place: int) -> Extent | None:
        at = place - self._start
        if not 0 <= at <= len(self._data) - EXTENT_HEADER:
            self._start, self._data, at = place, self._fs.read(self._file, _WINDOW, place), 0
        return Extent.decode(self._data, at)


def load(fs: FileSystem, file: int, size: int, sealer: ExtentSealer) -> LoadedExtents:
    """Find the extents of a file of `size` bytes. Raises OSError."""
    window, content = _Window(fs, file), ExtentMap()
    place, tag = FILE_HEADER, sealer.tag
    while place < size:
        extent = window.header(place)
        taken = 0 if extent is None else EXTENT_HEADER + extent.stored + tag
        if extent is not None and place + taken <= size and _counts(fs, file, extent, place, sealer):
            _add(content, extent, place, taken)
            place += taken
            continue
        rest = fs.read(file, size - place, place)
        following = _resync(rest, place, sealer)
        if following is None:
            return _end(content, place, rest, EXTENT_HEADER + tag)
        at, extent = following
        if extent.offset > content.end:
            content.append_unreadable(extent.offset - content.end, fill_of(rest[:at], place))
        place += at
    return LoadedExtents(content, place)


def _counts(fs: FileSystem, file: int, extent: Extent, place: int, sealer: ExtentSealer) -> bool:
    """Return whether an extent counts. One without content must prove it, others do when read."""
    if extent.kind != SIZE:
        return True
    data = fs.read(file, EXTENT_HEADER + extent.stored + sealer.tag, place)
    return content_of(data, 0, place, extent, sealer) is not None


def _add(content: ExtentMap, extent: Extent, place: int, taken: int) -> None:
    if extent.kind == SIZE:
        content.end_at(extent.offset)
    elif extent.offset == content.end:
        content.append(place, taken, extent.length)
    else:
        content.put(extent.offset, place, taken, extent.length)


def _resync(rest: bytes, place: int, sealer: ExtentSealer) -> tuple[int, Extent] | None:
    """Find the next extent in `rest`, which is at `place`. Return where it begins, and its header."""
    for at in candidates(rest):
        extent = Extent.decode(rest, at)
        if extent is not None and content_of(rest, at, place + at, extent, sealer) is not None:
            return at, extent
    return None


def _end(content: ExtentMap, place: int, rest: bytes, overhead: int) -> LoadedExtents:
    used = len(rest.rstrip(b"\0"))
    if used:
        content.append_unreadable(max(used - overhead, 1), UNREADABLE)
    return LoadedExtents(content, place, 0 if used else len(rest), junk=used > 0)


def content_of(data: bytes, at: int, place: int, extent: Extent, sealer: ExtentSealer) -> bytes | None:
    """Return the content of an extent.

    None if it is damaged, or not all of it is there.

    data, at: bytes of the file, and where in them the extent begins. place: where it is in the file.
    """
    start = at + EXTENT_HEADER
    stop = start + extent.stored + sealer.tag
    if stop > len(data):
        return None
    header = data[at:start]
    stored = sealer.unseal(extent.nonce, data[start:stop], proven(header, place))
    if stored is None:
        return None
    if extent.kind == ZEROS:
        return bytes(extent.length)
    if extent.compressed:
        return expand(stored, extent.length)
    return stored if len(stored) == extent.length or extent.kind == SIZE else None


def fill_of(data: bytes, place: int) -> bytes:
    """Return what is read in place of unreadable bytes that are at `place` in the file.

    Zeros if whole sectors of them are zeros, so that a write that a power cut tore looks like one.
    """
    first = -place % _SECTOR
    sectors = range(first, len(data) - _SECTOR + 1, _SECTOR)
    torn = any(not any(data[at : at + _SECTOR]) for at in sectors)
    return LACKING if torn else UNREADABLE
