"""Sourcing: follows the origins of a stream, which is a mirror or has sources.

There may be thousands of sources. They are opened a few at a time, and their attempts run one after another.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamSource, StreamSourceInfo
from ....protocol.identifier import name_hash
from ...slices import Slices, Steps, TurnScheduler, at_once, paced
from . import source_header
from .origin_consumer import Origin, OriginTarget
from .source_header import source_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....store.message import StoredMessage
    from ...slices import LoopTurns
    from .contents import StreamContents
    from .context import StreamContext

NEARLY = 10  # a mirror with fewer messages to get has caught up


class MirrorOrigin(Origin):
    """The origin of a mirror: the stream stores its messages under the origin's sequences and times.

    A sequence without a message in the origin is a deleted sequence here too.
    """

    kind = "mirror"
    letter = "M"
    setup_failed = "JSMirrorConsumerSetupFailedErrF"
    first_level = 4

    def __init__(
        self,
        contents: StreamContents,
        context: StreamContext,
        target: OriginTarget,
        source: StreamSource,
        attempts: LoopTurns,
        caught_up: Callable[[], None],
    ) -> None:
        """Make the origin of a mirror. caught_up: called once the mirror has (nearly) all of its messages."""
        super().__init__(contents, context, target, source, attempts)
        self._caught_up = caught_up
        self._behind = True

    def start_at(self, config: ConsumerConfig) -> None:
        """Begin after the last stored sequence. The configured start only counts for an unused stream."""
        store, source = self.contents.store, self.source
        start = store.last_seq + 1 if store.last_seq else 0
        if not start and source.opt_start_seq:
            start = source.opt_start_seq
        if start:
            config.deliver_policy, config.opt_start_seq = "by_start_sequence", start
        elif source.opt_start_time is not None:
            config.deliver_policy, config.opt_start_time = "by_start_time", source.opt_start_time
        else:
            config.deliver_policy = "all"

    def accepted(self, delivered: int, pending: int) -> None:
        """Skip what lies before the consumer's beginning, as the origin does not have it."""
        self.target.skip_to(delivered)
        self.copied = max(delivered, self.contents.store.last_seq)
        self._see_how_far(pending)

    def take(self, messages: Sequence[StoredMessage], originals: Sequence[str], pending: int) -> None:
        """Store messages under the origin's sequences. Raises ApiError."""
        del originals
        self._see_how_far(pending)
        self.target.mirror(self, messages)

    def _see_how_far(self, pending: int) -> None:
        if self._behind and pending < NEARLY:
            self._behind = False
            self._caught_up()


class SourceOrigin(Origin):
    """The origin of a source: the stream stores copies under new sequences and times.

    Each message of the origin is copied once, even after restarts and lost connections: the offset is in the
    copies' headers and in the stream's source offsets. Message ids are deduplicated as for any publish.
    """

    kind = "src"
    letter = "S"
    setup_failed = "JSSourceConsumerSetupFailedErrF"
    first_level = 5

    def __init__(
        self,
        contents: StreamContents,
        context: StreamContext,
        target: OriginTarget,
        source: StreamSource,
        attempts: LoopTurns,
        namesakes: Mapping[str, int],
    ) -> None:
        """Continue at the known offset. namesakes: how many of the stream's sources have each stream name."""
        super().__init__(contents, context, target, source, attempts)
        self._namesakes = namesakes
        self.index = source_header.source_index(source)
        self._again = False
        known = contents.source_offsets.of(self.index)
        if known is not None:
            self.copied, self.identity = known

    def consumer_hash(self) -> str:
        """Return the stable part of the consumer's name; it differs between sources of one stream name."""
        stable = super().consumer_hash()
        return name_hash(f"{stable} {self.index}" if self._namesakes[self.source.name] > 1 else stable)

    def start_at(self, config: ConsumerConfig) -> None:
        """Begin after the last copied message, or where the configuration says if there is none."""
        source, store = self.source, self.contents.store
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
        """Take note that nothing before the consumer's beginning will come."""
        del pending
        self._again = False
        self.copied = max(self.copied, delivered)

    def origin_recreated(self) -> None:
        """Copy the new stream of the same name from its beginning."""
        self._host.log.warning(
            f"JetStream source stream {self.source.name!r} for stream "
            f"'{self._account.name} > {self.contents.name}' was recreated, resetting source state"
        )
        self.target.reset_source(self.index)
        self.copied, self._again = 0, True

    def take(self, messages: Sequence[StoredMessage], originals: Sequence[str], pending: int) -> None:
        """Store messages as new ones, with headers that name their origin. Raises ApiError."""
        del pending
        self.target.copy(self, messages, originals)

    def stored_up_to(self) -> int:
        """Return the origin's sequence of the newest copy stored here."""
        known = self.contents.source_offsets.of(self.index)
        return known.sequence if known is not None else 0

    def info(self) -> StreamSourceInfo:
        """Return its state as StreamInfo shows it, with the origin's sequence that was copied last."""
        found = super().info()
        found.seq = self.copied
        return found


class Sourcing:
    """The origins of one stream. Sources are opened in steps; one that is not open yet was never active.

    contents, context: those of the stream.
    target: the stream, which stores what the origins send.
    caught_up: called when a mirror has (nearly) all messages of its origin.
    failed: called with a text for the log when something went wrong.
    """

    def __init__(
        self,
        contents: StreamContents,
        context: StreamContext,
        target: OriginTarget,
        caught_up: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._contents = contents
        self._place = contents, context, target
        self._executor = context.host.executor
        self._caught_up = caught_up
        self._failed = failed
        self._mirror: MirrorOrigin | None = None
        self._sources: dict[str, SourceOrigin] = {}
        self._namesakes: Counter[str] = Counter()
        self._attempts = TurnScheduler(context.host.clock.soon)
        self._opening: Slices | None = None

    def start(self) -> None:
        """Begin to follow the origins that the configuration names."""
        self.configure()

    def configure(self) -> None:
        """Follow the origins that the configuration names now. Unchanged ones are not disturbed."""
        config = self._contents.config
        if config.mirror is not None and self._mirror is None:
            self._mirror = MirrorOrigin(*self._place, config.mirror, self._attempts, self._caught_up)
            self._mirror.start()
        self._namesakes.clear()
        self._namesakes.update(source.name for source in config.sources)
        wanted = {source_index(source): source for source in config.sources}
        if self._opening is not None:
            self._opening.stop()
        self._opening = Slices(
            self._executor, paced(self._levelling(wanted)), lambda _: None, self._not_opened
        )

    def _levelling(self, wanted: dict[str, StreamSource]) -> Steps[None]:
        """Open the missing ones of these sources and stop all others, in steps."""
        for index in set(self._sources) - set(wanted):
            self._sources.pop(index).stop()
            yield
        for index, source in wanted.items():
            if index not in self._sources:
                made = self._sources[index] = SourceOrigin(
                    *self._place, source, self._attempts, self._namesakes
                )
                made.start()
                yield

    def _not_opened(self, error: Exception) -> None:
        self._failed(f"can not open its sources: {type(error).__name__}: {error}")

    def origin_appeared(self, name: str) -> None:
        """Let the origins that wait for a stream try at once, because the account has it now."""
        origins = [self._mirror] if self._mirror is not None else list(self._sources.values())
        for origin in origins:
            if origin.source.external is None and origin.source.name == name and not origin.following:
                origin.retry_now()

    def origin_led(self, name: str) -> None:
        """Take note that a stream of the account has a leader, on any server, and perhaps a new one.

        Its followers doubt their consumers, and origins that wait try at once.
        """
        origins = [self._mirror] if self._mirror is not None else list(self._sources.values())
        for origin in origins:
            if origin.source.external is None and origin.source.name == name:
                if origin.following:
                    origin.check_liveness()
                else:
                    origin.retry_now()

    def stop(self) -> None:
        """Stop following all origins."""
        at_once(self.stopping())

    def stopping(self) -> Steps[None]:
        """Do what `stop` does, in steps."""
        if self._opening is not None:
            self._opening.stop()
        if self._mirror is not None:
            self._mirror.stop()
            self._mirror = None
        while self._sources:
            self._sources.popitem()[1].stop()
            yield

    def mirror_info(self) -> StreamSourceInfo | None:
        """Return the mirror's info; None if the stream is no mirror."""
        return self._mirror.info() if self._mirror is not None else None

    def source_infos(self) -> Steps[list[StreamSourceInfo]]:
        """Return the infos of the sources, in the configuration's order."""
        found = []
        for source in self._contents.config.sources:
            origin = self._sources.get(source_index(source))
            found.append(origin.info() if origin is not None else _not_open_yet(source))
            yield
        return found


def _not_open_yet(source: StreamSource) -> StreamSourceInfo:
    """Return what the info shows of a source that waits for its turn to be opened."""
    return StreamSourceInfo(
        name=source.name,
        external=source.external,
        active=-1,
        filter_subject=source.filter_subject,
        subject_transforms=list(source.subject_transforms),
    )
