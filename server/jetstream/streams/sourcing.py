"""Sourcing: all that comes into a stream from other streams: its mirror, or its sources.

There may be thousands of sources. They are opened a few at a time, and try one after the other.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from ....protocol.api.stream import StreamSource, StreamSourceInfo
from ...slices import Shared, Slices, Steps, at_once, paced
from .mirror import MirrorOrigin
from .source import SourceOrigin
from .source_header import source_index

if TYPE_CHECKING:
    from .core import Stream


class Sourcing:
    """The origins of one stream. A source that is not opened yet is not in the info."""

    def __init__(self, stream: Stream[Any]) -> None:
        self._stream = stream
        self._mirror: MirrorOrigin | None = None
        self._sources: dict[str, SourceOrigin] = {}
        self._namesakes: Counter[str] = Counter()
        self._attempts = Shared(partial(stream.clock.call_later, 0))
        self._opening: Slices | None = None

    def start(self) -> None:
        """Begin to follow what the configuration names."""
        self.configure()

    def configure(self) -> None:
        """Follow what the configuration names now; what is unchanged goes on undisturbed."""
        config = self._stream.config
        if config.mirror is not None and self._mirror is None:
            self._mirror = MirrorOrigin(self._stream, config.mirror, self._attempts)
            self._mirror.start()
        self._namesakes.clear()
        self._namesakes.update(source.name for source in config.sources)
        wanted = {source_index(source): source for source in config.sources}
        if self._opening is not None:
            self._opening.stop()
        self._opening = Slices(
            self._stream.host.executor, paced(self._levelling(wanted)), lambda _: None, self._failed
        )

    def _levelling(self, wanted: dict[str, StreamSource]) -> Steps[None]:
        """Let there be these sources, bit by bit."""
        for index in set(self._sources) - set(wanted):
            self._sources.pop(index).stop()
            yield
        for index, source in wanted.items():
            if index not in self._sources:
                made = self._sources[index] = SourceOrigin(
                    self._stream, source, attempts=self._attempts, namesakes=self._namesakes
                )
                made.start()
                yield

    def _failed(self, error: Exception) -> None:
        self._stream.log_failure(f"can not open its sources: {type(error).__name__}: {error}")

    def origin_appeared(self, name: str) -> None:
        """A stream of the account was made: who waits for it need not wait longer."""
        origins = [self._mirror] if self._mirror is not None else list(self._sources.values())
        for origin in origins:
            if origin.source.external is None and origin.source.name == name and not origin.following:
                origin.retry_now()

    def origin_led(self, name: str) -> None:
        """A stream of the account has a leader, on this server or another: maybe not the one before."""
        origins = [self._mirror] if self._mirror is not None else list(self._sources.values())
        for origin in origins:
            if origin.source.external is None and origin.source.name == name:
                if origin.following:
                    origin.doubt()
                else:
                    origin.retry_now()

    def stop(self) -> None:
        """Follow nothing more."""
        at_once(self.stopping())

    def stopping(self) -> Steps[None]:
        """As `stop`, bit by bit."""
        if self._opening is not None:
            self._opening.stop()
        if self._mirror is not None:
            self._mirror.stop()
            self._mirror = None
        while self._sources:
            self._sources.popitem()[1].stop()
            yield

    def mirror_info(self) -> StreamSourceInfo | None:
        """Give the mirror's info, if the stream is one."""
        return self._mirror.info() if self._mirror is not None else None

    def source_infos(self) -> Steps[list[StreamSourceInfo]]:
        """Give the sources' infos, in the configuration's order."""
        found = []
        for source in self._stream.config.sources:
            origin = self._sources.get(source_index(source))
            if origin is not None:
                found.append(origin.info())
            yield
        return found
