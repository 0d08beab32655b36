"""From positions as options tell them to sequences of a stream as it is now."""

from __future__ import annotations

import logging

from ...protocol.timestamp import format_rfc3339
from ..jetstream import DataLoss, Facts
from ..options import OptionError, Settings
from ..options.positions import Position, Positions
from .directory import LIMITS, Directory
from .loss import Beyond

LOG = logging.getLogger("pyjs.pipeline")


class Bounds:
    """Looks up where reading of a stream starts and ends."""

    def __init__(self, settings: Settings, directory: Directory) -> None:
        self.settings = settings
        self.directory = directory

    def start(self, facts: Facts) -> int:
        """The first sequence to read.

        Raises DataLoss when it is named and no longer there, Beyond when not yet (with failOnDataLoss=false
        it warns, and reading starts at what is nearest), OptionError when the options have no position for
        this stream or no message has its time.
        """
        option = self.settings.starting
        position = self._position(option, facts.name)
        if position.kind == "sequence":
            return self._there(position.value, facts, option.option)
        if position.kind == "time":
            found = self.at(facts, position.value)
            if found is None and not self.settings.late_start_is_latest:
                raise OptionError(
                    option.option,
                    f"stream {facts.name} has no message of {format_rfc3339(position.value)} or later",
                    "give an earlier time, or set startingOffsetsByTimestampStrategy to latest",
                )
            return found or facts.last + 1
        return facts.first if position.kind == "earliest" else facts.last + 1

    def end(self, facts: Facts) -> int:
        """The sequence to stop before. Raises as `start` does for one that is not yet there."""
        option = self.settings.ending
        position = self._position(option, facts.name)
        if position.kind == "sequence":
            if position.value > facts.last + 1:
                self._lose(Beyond(facts.name, option.option, position.value, facts.last))
            return min(position.value, facts.last + 1)
        if position.kind == "time":
            return self.at(facts, position.value) or facts.last + 1
        return facts.last + 1

    def at(self, facts: Facts, when: int) -> int | None:
        """The first message stored at a time (ns since the epoch) or later, None if there is none."""
        return self.directory.ask(lambda api: api.sequence_at(facts.name, when))

    def _position(self, option: Positions, stream: str) -> Position:
        found = option.of(stream)
        if found is None:
            raise OptionError(option.option, f"has no position for stream {stream}", "name all that are read")
        return found

    def _there(self, sequence: int, facts: Facts, option: str) -> int:
        if sequence < facts.first and facts.retention == LIMITS:
            self._lose(
                DataLoss(
                    facts.name,
                    sequence,
                    facts.first - 1,
                    f"{option} names {sequence}, and the stream begins at {facts.first}",
                )
            )
        if sequence > facts.last + 1:
            self._lose(Beyond(facts.name, option, sequence, facts.last))
        return min(max(sequence, facts.first), facts.last + 1)

    def _lose(self, loss: DataLoss) -> None:
        if self.settings.fail_on_data_loss:
            raise loss
        LOG.warning("%s", loss.happened)
