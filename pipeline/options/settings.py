"""The options of one query, read and validated: typed settings, or an error that names the option."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...client import ConnectionOptions
from ..jetstream.api import PREFIX, domain_prefix
from . import connection, errors_found
from .errors import OptionError
from .errors_found import BY_NAME, ENDING, STARTING, bucket_stream
from .positions import EARLIEST, LATEST, StreamPositions
from .table import OPTIONS, STREAM


@dataclass(frozen=True, repr=False)
class QuerySettings:
    """The settings of a query, made by `of`. They can be pickled, and their repr shows no secret."""

    address: ConnectionOptions
    api_prefix: str
    domain: str
    values: Mapping[str, Any]  # of all options that have one, by their names
    given: frozenset[str]  # the names of those that were given
    use: str = ""  # read, stream, write; empty before it is known

    @classmethod
    def of(cls, options: Mapping[str, str], use: str = "") -> QuerySettings:
        """Read `options`, whose names may be in any case, for one use or for a use that is known later.

        Raises OptionError for an unknown option, one that this use does not allow, a wrong value, two options
        that exclude each other, and a missing one.
        """
        found, wrong = cls.validated(options, use)
        if wrong:
            raise wrong[0]
        return found

    @classmethod
    def validated(cls, options: Mapping[str, str], use: str = "") -> tuple[QuerySettings, list[OptionError]]:
        """Return the settings as `of` does, and all errors; the settings are valid only if there are none."""
        given, named, wrong = _given(options)
        values = {}
        for name, text in given.items():
            option = BY_NAME[name.lower()]
            try:
                values[name] = option.kind(text)
            except ValueError as error:
                wrong.append(errors_found.value(option, error, text))
        try:
            values = connection.with_context(values)
        except OptionError as error:
            wrong.append(error)
            named.add("servers")  # the context may have them
        for option in OPTIONS:
            if option.default and option.name not in values and option.name not in STARTING + ENDING:
                values[option.name] = option.kind(option.default)
        wrong += errors_found.together(values, named)
        values["starting"] = _positions(values, STARTING)
        values["ending"] = _positions(values, ENDING) or StreamPositions(LATEST)
        if use:
            wrong += errors_found.in_use(values, given.keys(), named, use)
        address = ConnectionOptions(())
        try:
            address = connection.address(values)
        except OptionError as error:
            wrong += [error] if error.option not in named else []
        prefix, domain = values.get("jsApiPrefix"), values.get("domain", "")
        api = (prefix or PREFIX).rstrip(".") if not domain else domain_prefix(domain)
        return cls(address, api, domain, values, frozenset(given), use), wrong

    def for_use(self, use: str) -> QuerySettings:
        """Return the settings for one use. Raises OptionError for an option that it does not allow."""
        for error in errors_found.in_use(self.values, self.given, self.given, use):
            raise error
        return replace(self, use=use)

    def __repr__(self) -> str:
        return f"Settings({self.address!r}, stream={self.stream!r}, use={self.use!r})"

    # -- which streams

    @property
    def stream(self) -> str:
        """The one stream that is named, also that of a bucket; empty if none is."""
        return self.values.get("stream") or (bucket_stream(self.bucket) if self.bucket else "")

    @property
    def bucket(self) -> str:
        """The bucket that is named; empty if none is."""
        return self.values.get("bucket") or ""

    @property
    def last_per_subject(self) -> bool:
        """Whether only the last message of each subject is read."""
        return bool(self.values["lastPerSubject"])

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that are named; none when there is a pattern."""
        return (self.stream,) if self.stream else tuple(self.values.get("streams") or ())

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern that names of streams must match."""
        text = self.values.get("streamPattern")
        return re.compile(text) if text else None

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects to read; none: all."""
        return self.values.get("subjects") or ()

    # -- where from and where to

    @property
    def starting(self) -> StreamPositions:
        """Where a new query starts."""
        found: StreamPositions | None = self.values["starting"]
        return found or StreamPositions(LATEST if self.use == STREAM else EARLIEST, option="startingOffsets")

    @property
    def ending(self) -> StreamPositions:
        """Where a batch read ends, exclusive."""
        found: StreamPositions = self.values["ending"]
        return found

    @property
    def late_start_is_latest(self) -> bool:
        """Whether a starting time that no message has means the latest position, instead of an error."""
        return bool(self.values["startingOffsetsByTimestampStrategy"] == "latest")

    # -- how much at a time

    @property
    def min_partitions(self) -> int:
        """The least number of tasks; 0: as the sizes of the streams suggest."""
        return self.values.get("minPartitions") or 0

    @property
    def max_records(self) -> int:
        """The most sequences of a task; 0: no limit."""
        return self.values.get("maxRecordsPerPartition") or 0

    @property
    def max_offsets(self) -> int:
        """The most sequences of a batch; 0: no limit."""
        return self.values.get("maxOffsetsPerTrigger") or 0

    @property
    def min_offsets(self) -> int:
        """The sequences to wait for before a batch; 0: none."""
        return self.values.get("minOffsetsPerTrigger") or 0

    @property
    def max_trigger_delay(self) -> float:
        """The seconds that a batch may wait for `min_offsets`."""
        return float(self.values["maxTriggerDelay"])

    @property
    def batch_rows(self) -> int:
        """The most rows of a record batch."""
        return int(self.values["batchRows"])

    # -- how

    @property
    def fail_on_data_loss(self) -> bool:
        """Whether to fail when messages were removed before they were read, instead of a warning."""
        return bool(self.values["failOnDataLoss"])

    @property
    def include_headers(self) -> bool:
        """Whether there is a column `headers`."""
        return bool(self.values["includeHeaders"])

    @property
    def durable(self) -> str:
        """The durable of a work-queue or interest stream; empty if there is none."""
        return self.values.get("consumerDurable") or ""

    @property
    def retries(self) -> int:
        """How many times in a row a failure that may pass is tried again."""
        return int(self.values["fetchRetries"])

    @property
    def retry_interval(self) -> float:
        """The seconds before each new attempt."""
        return float(self.values["fetchRetryInterval"])


def _given(options: Mapping[str, str]) -> tuple[dict[str, str], set[str], list[OptionError]]:
    """Return the options by their proper names, the names given or perhaps meant, and the errors."""
    found = {BY_NAME[key.lower()].name: text for key, text in options.items() if key.lower() in BY_NAME}
    strangers = list(errors_found.unknown(options))
    meant = {name for _, names in strangers for name in names}
    return found, found.keys() | meant, [error for error, _ in strangers]


def _positions(values: Mapping[str, Any], names: tuple[str, ...]) -> StreamPositions | None:
    for name in names:
        if name in values:
            found: StreamPositions = values[name]
            return StreamPositions(found.every, found.named, name)
    return None
