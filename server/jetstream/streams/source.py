"""SourceOrigin: one of the streams that a stream takes copies from, with sequences and times of its own.

Promises: each message of the origin is copied once, after restarts and cuts too: the offset is in the
copies' headers and in the stream's source offsets. Message ids are deduplicated as for any publish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....protocol import headers
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamSource, StreamSourceInfo
from ....protocol.identifier import name_hash
from . import source_header
from .delivery import ReplyInfo
from .origin_consumer import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...slices import LoopTurns
    from .core import Stream


class SourceOrigin(Origin):
    """The origin of a source. `index` tells it apart from the stream's other sources.

    namesakes: how many of these have which name.
    """

    kind = "src"
    letter = "S"
    setup_failed = "JSSourceConsumerSetupFailedErrF"
    first_level = 5

    def __init__(
        self, stream: Stream[Any], source: StreamSource, attempts: LoopTurns, namesakes: Mapping[str, int]
    ) -> None:
        super().__init__(stream, source, attempts)
        self._namesakes = namesakes
        self.index = source_header.source_index(source)
        self._again = False
        known = stream.source_offsets.of(self.index)
        if known is not None:
            self.copied, self.identity = known

    def consumer_hash(self) -> str:
        """Tell apart several sources of one stream name."""
        stable = super().consumer_hash()
        return name_hash(f"{stable} {self.index}" if self._namesakes[self.source.name] > 1 else stable)

    def start_at(self, config: ConsumerConfig) -> None:
        """Begin after what was copied; at first where the configuration wants."""
        source, store = self.source, self.stream.store
        if self.copied:
            config.deliver_policy, config.opt_start_seq = "by_start_sequence", self.copied + 1
        elif source.opt_start_seq:
            config.deliver_policy, config.opt_start_seq = "by_start_sequence", source.opt_start_seq
        elif source.opt_start_time is not None:
            start = max(source.opt_start_time, 0 if self._again else store.last_time)
            config.deliver_policy = "by_start_time"
            config.opt_start_time = start if store.last_time else source.opt_start_time
        else:
            config.deliver_policy = "all"

    def accepted(self, delivered: int, pending: int) -> None:
        """Nothing before the consumer's beginning will come."""
        del pending
        self._again = False
        self.copied = max(self.copied, delivered)

    def began_anew(self) -> None:
        """Copy the new stream of the old name from its beginning."""
        self.stream.host.log.warning(
            f"JetStream source stream {self.source.name!r} for stream "
            f"'{self.stream.label}' was recreated, resetting source state"
        )
        self.stream.begin_source_anew(self.index)
        self.copied, self._again = 0, True

    def take(self, delivery: ReplyInfo, original: str, subject: str, header: bytes, body: bytes) -> None:
        """Store as a new message with a header that names its origin."""
        value = source_header.write(self.index, delivery.stream_seq, original, self.identity)
        header = headers.set(header, source_header.HEADER, value)
        self.stream.copy(self, delivery.stream_seq, subject, header, body)

    def agreed(self) -> int:
        """The position that is safe."""
        known = self.stream.source_offsets.of(self.index)
        return known.sequence if known is not None else 0

    def info(self) -> StreamSourceInfo:
        """With the origin's sequence."""
        found = super().info()
        found.seq = self.copied
        return found
