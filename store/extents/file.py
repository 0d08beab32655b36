"""ExtentFile: one open file of extents, read and written as if it had its content only.

Promises: what was written before stays in its place until what replaces it is synced, so a write that is cut
short loses no other content. Bytes that cannot be read are returned as bytes that no record consists of. One
thread at a time writes; others may read what is synced.
"""

from __future__ import annotations

from threading import Lock

from ..fs import FileSystem
from .cache import DiskCaches
from .compression import compress
from .extent_map import UNREADABLE, ExtentMap, Span
from .keys import ExtentSealer
from .layout import DATA, EXTENT_HEADER, FILE_HEADER, LONGEST, SIZE, ZEROS, Extent, FileHeader, proven
from .loading import LoadedExtents, content_of, fill_of, load

CHUNK = 8 << 10  # bytes of content in one extent: what is decrypted to read one message
COMPRESSED_CHUNK = 32 << 10
_WORTH = 64  # bytes below which compression gains nothing


class ExtentFile:
    """A file that is open as `file`. Every method raises OSError as the disk does.

    caches: those of the disk.
    header, sealer: those of the file. readable: whether its own header can be read. If not, nothing of its
        content can, and the first write begins the file again, with this header.
    compress: whether what is written is compressed.
    """

    def __init__(
        self,
        fs: FileSystem,
        file: int,
        header: FileHeader,
        sealer: ExtentSealer,
        caches: DiskCaches,
        *,
        readable: bool = True,
        compress: bool = False,
    ) -> None:
        self._fs = fs
        self._file = file
        self._header = header
        self._sealer = sealer
        self._compress = compress or bool(header.compressed)
        self._chunk = COMPRESSED_CHUNK if self._compress else CHUNK
        self._lock = Lock()
        self._stale: list[Span] = []  # extents that are replaced, and not erased yet
        self._before = (0, True)  # the tail before they were replaced, and `appended_only` of the map
        self._closed = caches.closed
        self._cache = caches.extents
        self._owner = self._cache.owner()
        size = fs.size(file)
        if readable and size >= FILE_HEADER:
            found = self._closed.take(header, size) or load(fs, file, size, sealer)
        elif readable and not size:
            found = LoadedExtents(ExtentMap(), 0)
        else:
            found = LoadedExtents(ExtentMap(), 0, junk=True)
            found.map.append_unreadable(max(size - FILE_HEADER - EXTENT_HEADER - sealer.tag, 0), UNREADABLE)
        self._replaced = 0  # how often content was replaced
        self._map, self._tail, self._zeros, self._junk = found.map, found.tail, found.zeros, found.junk

    @property
    def compressed(self) -> bool:
        """Whether it was written as a whole by a disk that compresses."""
        return bool(self._header.compressed)

    @property
    def extents(self) -> int:
        """How many extents it has."""
        return len(self._map)

    def close(self) -> None:
        """Leave what is known of the file for its next opening."""
        if self._header.cipher and not self._stale:
            found = LoadedExtents(self._map, self._tail, self._zeros, junk=self._junk)
            self._closed.keep(self._header, found)

    @property
    def waste(self) -> int:
        """How many bytes of the file nobody needs: extents that were replaced."""
        return max(self._tail - FILE_HEADER - self._map.stored, 0)

    # -- reading

    def size(self) -> int:
        """Return the length of the content, with the zeros written ahead."""
        return self._map.end + self._zeros

    def read(self, size: int, offset: int) -> bytes:
        """Read `size` bytes of the content, fewer only at its end."""
        stop = min(offset + size, self.size())
        if offset >= stop:
            return b""
        while True:
            with self._lock:
                spans, replaced = self._map.covering(offset, stop), self._replaced
            parts = self._contents(spans)
            if replaced == self._replaced:  # otherwise what was read may have been erased meanwhile
                break
        if spans:
            first = spans[0]
            parts[0] = parts[0][offset - first.start :] if offset > first.start else parts[0]
        data = b"".join(parts)
        return (
            data[: stop - offset] if len(data) >= stop - offset else data + bytes(stop - offset - len(data))
        )

    def _contents(self, spans: list[Span]) -> list[bytes]:
        """Return the content of each span. Neighbours in the file are read together."""
        contents: list[bytes] = []
        index, owner = 0, self._owner
        while index < len(spans):
            first = spans[index]
            stop, end = index + 1, first.place + first.size
            while first.size and stop < len(spans) and spans[stop].size and spans[stop].place == end:
                end += spans[stop].size
                stop += 1
            if not first.size:
                contents.append(bytes([first.place]) * (first.stop - first.start))
            elif (kept := self._cache.get((self._owner, first.place))) is not None:
                contents.append(kept[: first.stop - first.start])
                stop = index + 1
            else:
                data = self._fs.read(self._file, end - first.place, first.place)
                contents += [self._content(data, first.place, one, owner) for one in spans[index:stop]]
            index = stop
        return contents

    def _content(self, data: bytes, start: int, span: Span, owner: int) -> bytes:
        """Return the content of a span from `data`, which begins at `start` of the file."""
        at, length = span.place - start, span.stop - span.start
        extent = Extent.decode(data, at)
        content = None
        if extent is not None and extent.length == span.length:
            content = content_of(data, at, span.place, extent, self._sealer)
        if content is None:
            return fill_of(data[at : at + span.size], span.place) * length
        self._cache.keep((owner, span.place), content)
        return content[:length]

    # -- writing

    def write(self, data: bytes, offset: int) -> None:
        """Write all of `data` at `offset` of the content."""
        end = self._map.end
        if not data:
            return
        if offset >= end and self._writes_zeros(data, offset - end):
            return
        self._begin_writing()
        end = self._map.end
        if offset > end:
            self._append_zeros(offset - end)
        elif offset < end:
            self._replace(data[: end - offset], offset)
            data = data[end - offset :]
        if data:
            chunk = self._chunk
            self._append([(DATA, data[at : at + chunk]) for at in range(0, len(data), chunk)])

    def _begin_writing(self) -> None:
        """Cut off what follows the last extent, and is none."""
        if self._junk:
            self._fs.truncate(self._file, self._tail)
            with self._lock:
                self._map.drop_unreadable_end()
            self._owner = self._cache.owner()
            self._junk, self._zeros = False, 0

    def _writes_zeros(self, data: bytes, after: int) -> bool:
        """Write zeros ahead of the end. Return False if `data` are none, or something is in the way."""
        if data[0] or data[-1] or self._junk or not self._tail or data.count(0) < len(data):
            return False
        self._fs.write(self._file, data, self._tail + after)
        self._zeros = max(self._zeros, after + len(data))
        return True

    def _append_zeros(self, count: int) -> None:
        self._append([(ZEROS, bytes(min(LONGEST, count - at))) for at in range(0, count, LONGEST)])

    def _append(self, parts: list[tuple[int, bytes]]) -> None:
        """Write extents of (kind, content) at the end of the content."""
        self._before = (0, False)
        out = [] if self._tail else [self._header.encode()]
        place, offset = self._tail or FILE_HEADER, self._map.end
        written: list[tuple[int, int, int]] = []
        for kind, content in parts:
            extent = self._encode(kind, content, offset, place)
            out.append(extent)
            written.append((place, len(extent), len(content)))
            place, offset = place + len(extent), offset + len(content)
        self._put(b"".join(out), self._tail, place)
        with self._lock:
            for one in written:
                self._map.append(*one)

    def _put(self, data: bytes, place: int, tail: int) -> None:
        """Write bytes at the end of the file, which is then `tail`."""
        self._junk = True  # until they are there
        self._fs.write(self._file, data, place)
        self._junk = False
        self._zeros = max(self._zeros - (tail - self._tail), 0)
        self._tail = tail

    def _encode(self, kind: int, content: bytes, offset: int, place: int, room: int = 0) -> bytes:
        """Return an extent. room: how many bytes it must take, if it can be compressed to no more."""
        stored, compressed = b"" if kind == ZEROS else content, 0
        if self._compress and len(stored) >= _WORTH:
            packed = compress(stored, room - EXTENT_HEADER - self._sealer.tag)
            if len(packed) < len(stored):
                stored, compressed = packed, 1
        nonce = self._sealer.nonce()
        header = Extent(kind, compressed, len(stored), len(content), offset, nonce).encode()
        return header + self._sealer.seal(nonce, stored, proven(header, place))

    def _replace(self, data: bytes, offset: int) -> None:
        """Write extents at the end of the file that replace those of the content from `offset` on."""
        spans = self._map.covering(offset, offset + len(data))
        if not self._stale:
            self._before = (self._tail, self._map.appended_only)
        written: list[tuple[Span, int, int]] = []
        out, place = [], self._tail
        for span, content in zip(spans, self._contents(spans), strict=True):
            start, stop = max(offset, span.start), min(offset + len(data), span.stop)
            part = data[start - offset : stop - offset]
            changed = content[: start - span.start] + part + content[stop - span.start :]
            extent = self._encode(DATA, changed, span.start, place)
            out.append(extent)
            written.append((span, place, len(extent)))
            place += len(extent)
        self._put(b"".join(out), self._tail, place)
        with self._lock:
            for span, at, size in written:
                self._map.put(span.start, at, size, span.stop - span.start)
            self._replaced += 1
        self._stale += [span for span in spans if span.size]

    def overwrite(self, data: bytes, offset: int) -> None:
        """Write in the place of the same bytes, which a write that is cut short may lose."""
        spans = self._map.covering(offset, offset + len(data))
        size = EXTENT_HEADER + len(data) + self._sealer.tag
        if len(spans) != 1 or (spans[0].start, spans[0].size, spans[0].length) != (
            offset,
            size,
            len(data),
        ):
            self.write(data, offset)
            return
        place = spans[0].place
        self._owner = self._cache.owner()
        self._fs.write(self._file, self._encode(DATA, data, offset, place), place)

    def rewrite(self, offset: int) -> None:
        """Write everything from `offset` on again as it is."""
        spans = self._map.covering(offset, self._map.end)
        if places := [span.place for span in spans if span.size]:
            first = min(places)
            self._fs.write(self._file, self._fs.read(self._file, self._tail - first, first), first)

    def truncate(self, size: int) -> None:
        """Cut the content to `size` bytes, or add zeros."""
        end = self._map.end
        if size >= end and self._tail and not self._junk and size - end <= self._zeros:
            self._fs.truncate(self._file, self._tail + size - end)
            self._zeros = size - end
            return
        self._begin_writing()
        end = self._map.end
        if size > end:
            self._fs.truncate(self._file, self._tail)
            self._zeros = 0
            self._append_zeros(size - end)
        elif size < end or self._zeros:
            self._cut(size)

    def _cut(self, size: int) -> None:
        with self._lock:
            place, more = self._map.cut(size)
        self._tail = max(place, FILE_HEADER) if self._tail else 0
        self._stale, self._before = [span for span in self._stale if span.place < self._tail], (0, False)
        self._zeros, self._owner = 0, self._cache.owner()
        self._fs.truncate(self._file, self._tail)
        if more:
            nonce = self._sealer.nonce()
            header = Extent(SIZE, 0, 0, 0, size, nonce).encode()
            extent = header + self._sealer.seal(nonce, b"", proven(header, self._tail))
            self._put(extent, self._tail, self._tail + len(extent))

    def sync(self, fs: FileSystem) -> None:
        """Sync the file by `fs`. What was replaced is then erased, or written again in its former place."""
        if not self._stale:
            fs.sync(self._file)
            return
        fs.sync_now(self._file)
        stale, self._stale = self._stale, []
        extents = [self._fitting(span) for span in stale] if self._before[0] else [b""]
        back = all(extents)
        for span, extent in zip(stale, extents if back else [b""] * len(stale), strict=True):
            data = extent or bytes(span.size - EXTENT_HEADER)
            self._fs.write(self._file, data, span.place + span.size - len(data))
        fs.sync_now(self._file)
        if back:
            self._move_back(stale)

    def _fitting(self, span: Span) -> bytes:
        """Return an extent that has the present content of a span, for its former place.

        b"" if it does not fit there.
        """
        present = self._map.covering(span.start, span.stop)
        content = b"".join(self._contents(present)).ljust(span.length, b"\0")
        extent = self._encode(DATA, content, span.start, span.place, span.size)
        return extent if len(extent) == span.size else b""

    def _move_back(self, spans: list[Span]) -> None:
        """Read from their former places again what is there now, and cut off the copies at the end."""
        tail, appended_only = self._before
        with self._lock:
            moved = [self._map.move(*span) for span in spans]
            self._map.appended_only = appended_only
            self._owner = self._cache.owner()
            self._replaced += 1
        assert all(moved)
        self._fs.truncate(self._file, tail)
        self._tail, self._zeros = tail, 0
