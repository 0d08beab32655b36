"""Whether the next messages to read still exist. Messages deleted inside a stream are no loss."""

from __future__ import annotations

from ..jetstream import DataLoss, StreamStatus
from .offsets import StreamOffset


class Recreated(DataLoss):
    """The stream was deleted and another one of its name created since it was last read."""

    def __init__(self, stream: str, sequence: int, before: str, now: str) -> None:
        super().__init__(stream, sequence, sequence)
        self.args = (stream, sequence, before, now)
        self.before, self.now = before, now

    @property
    def happened(self) -> str:
        """What is gone, without advice what to do about it."""
        return (
            f"stream {self.stream} was recreated on {self.now}: the one of {self.before}, read up to "
            f"sequence {self.first - 1}, is gone with everything after it"
        )

    def __str__(self) -> str:
        advice = "set failOnDataLoss to false to continue with the new one from its first message"
        return f"{self.happened}; {advice}"


class BeyondEnd(DataLoss):
    """An option names a sequence that the stream has not reached: no message is gone, and none is there."""

    def __init__(self, stream: str, option: str, sequence: int, last: int) -> None:
        super().__init__(stream, last + 1, sequence - 1)
        self.args = (stream, option, sequence, last)
        self.option, self.sequence = option, sequence

    @property
    def happened(self) -> str:
        """What the option names, and what there is."""
        last = self.first - 1
        ends = f"ends at sequence {last}" if last else "has had no message yet"
        return f"option {self.option}: {self.sequence} lies beyond stream {self.stream}, which {ends}"

    def __str__(self) -> str:
        return f"{self.happened}; name {self.first} or latest for its end, or set failOnDataLoss to false"


def lost(mark: StreamOffset, stream: StreamStatus) -> DataLoss | None:
    """Return what a reader at `mark` has lost of the stream that `stream` describes, None if nothing.

    A work queue and a stream kept by interest lose acknowledged messages: that is their purpose. What left
    the front before a query that starts at `earliest` read anything is no loss either, nor what newer
    messages of the same subjects have replaced, as in a key-value bucket.
    """
    if stream.created != mark.created:
        return Recreated(stream.name, mark.next, mark.created, stream.created)
    if stream.last + 1 < mark.next:
        return DataLoss(
            stream.name,
            stream.last + 1,
            mark.next - 1,
            f"the stream ends at sequence {stream.last}, before {mark.next}, where reading stands",
        )
    if stream.retention == "limits" and stream.first > mark.next and not mark.earliest:
        return (
            None if stream.only_compacted(mark.after) else DataLoss(stream.name, mark.next, stream.first - 1)
        )
    return None


def resumed(mark: StreamOffset, stream: StreamStatus) -> StreamOffset:
    """Return where a reader that tolerates loss continues."""
    if stream.created != mark.created:
        return StreamOffset(stream.first, stream.created, stream.first)
    return StreamOffset(min(mark.next, stream.last + 1), mark.created, mark.since, after=mark.after)
