"""Positions, as options describe them, resolved to sequences of a stream as it is now."""

from __future__ import annotations

import logging

from ...protocol.timestamp import format_rfc3339
from ..jetstream import DataLoss, StreamStatus
from ..options import OptionError, QuerySettings
from ..options.positions import EARLIEST_WORD, StreamPosition, StreamPositions
from .directory import LIMITS, StreamDirectory
from .loss import BeyondEnd

LOG = logging.getLogger("pyjs.pipeline")


class PositionResolver:
    """Looks up where reading of a stream starts and ends."""

    def __init__(self, settings: QuerySettings, directory: StreamDirectory) -> None:
        self.settings = settings
        self.directory = directory

    def start(self, stream: StreamStatus) -> int:
        """Return the first sequence to read.

        Raises DataLoss if the option names a sequence that is gone, BeyondEnd if it names one that does not
        exist yet, and OptionError if the options have no position for this stream or no message has its time.
        With failOnDataLoss=false the first two are only warnings, and reading starts at the nearest sequence.
        """
        option = self.settings.starting
        position = self._position(option, stream.name)
        if position.kind == "sequence":
            return self._there(position.value, stream, option.option)
        if position.kind == "time":
            found = self.at(stream, position.value)
            if found is None and not self.settings.late_start_is_latest:
                raise OptionError(
                    option.option,
                    f"stream {stream.name} has no message of {format_rfc3339(position.value)} or later",
                    "give an earlier time, or set startingOffsetsByTimestampStrategy to latest",
                )
            return found or stream.last + 1
        return stream.first if position.kind == EARLIEST_WORD else stream.last + 1

    def late_bound(self, stream: str) -> bool:
        """Return whether reading starts at `earliest`: whatever the stream begins with when it is read."""
        return self._position(self.settings.starting, stream).kind == EARLIEST_WORD

    def end(self, stream: StreamStatus) -> int:
        """Return the sequence to stop before. Raises as `start` does for one that does not exist yet."""
        option = self.settings.ending
        position = self._position(option, stream.name)
        if position.kind == "sequence":
            if position.value > stream.last + 1:
                self._lose(BeyondEnd(stream.name, option.option, position.value, stream.last))
            return min(position.value, stream.last + 1)
        if position.kind == "time":
            return self.at(stream, position.value) or stream.last + 1
        return stream.last + 1

    def at(self, stream: StreamStatus, when: int) -> int | None:
        """Return the first sequence stored at or after a time (ns since the epoch), None if there is none."""
        return self.directory.ask(lambda api: api.sequence_at(stream.name, when))

    def _position(self, option: StreamPositions, stream: str) -> StreamPosition:
        found = option.of(stream)
        if found is None:
            raise OptionError(option.option, f"has no position for stream {stream}", "name all that are read")
        return found

    def _there(self, sequence: int, stream: StreamStatus, option: str) -> int:
        if sequence < stream.first and stream.retention == LIMITS and not stream.only_compacted(0):
            self._lose(
                DataLoss(
                    stream.name,
                    sequence,
                    stream.first - 1,
                    f"{option} names {sequence}, and the stream begins at {stream.first}",
                )
            )
        if sequence > stream.last + 1:
            self._lose(BeyondEnd(stream.name, option, sequence, stream.last))
        return min(max(sequence, stream.first), stream.last + 1)

    def _lose(self, loss: DataLoss) -> None:
        if self.settings.fail_on_data_loss:
            raise loss
        LOG.warning("%s", loss.happened)
