"""MirrorOrigin: a stream that is the copy of another: same sequences, same times.

Promises: a message has the sequence and time of its origin; what the origin does not have (any more) is a
deleted sequence here too.
"""

from __future__ import annotations

from ....protocol.api.consumer import ConsumerConfig
from .delivery import ReplyInfo
from .origin_consumer import Origin

NEARLY = 10  # messages behind


class MirrorOrigin(Origin):
    """The origin of a mirror."""

    kind = "mirror"
    letter = "M"
    setup_failed = "JSMirrorConsumerSetupFailedErrF"
    first_level = 4

    def start_at(self, config: ConsumerConfig) -> None:
        """Begin after the last sequence; the configured start only counts for an unused stream."""
        store, source = self.stream.store, self.source
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
        """What lies before the consumer's beginning is not there."""
        store = self.stream.store
        self.stream.pass_by(delivered)
        self.copied = max(delivered, store.last_seq)
        self._may_answer(pending)

    def take(self, delivery: ReplyInfo, original: str, subject: str, header: bytes, body: bytes) -> None:
        """Store under the origin's sequence."""
        del original
        self._may_answer(delivery.pending)
        self.stream.mirror(self, delivery.stream_seq, subject, header, body, delivery.time)

    def _may_answer(self, pending: int) -> None:
        """Once nearly caught up, direct gets of the origin may be answered here."""
        if pending < NEARLY:
            self.stream.direct_get.mirror_caught_up()
