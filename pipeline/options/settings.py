"""The options of one query, read and judged: typed settings, or an error that names the option."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..jetstream.api import PREFIX, domain_prefix
from ..link import Address
from . import connection
from .errors import OptionError
from .positions import EARLIEST, EARLIEST_WORD, LATEST, Positions
from .table import FOREIGN, OPTIONS, READ, SPARKS, STREAM, WRITE, Option

_BY_NAME = {option.name.lower(): option for option in OPTIONS}
_USE_WORDS = {READ: "a batch read", STREAM: "a stream read", WRITE: "a write"}
_SECRET = frozenset({"password", "token", "nkey", "creds", "user", "servers"})
# In Kafka's order: the first that is given counts.
_STARTING = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDING = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")


@dataclass(frozen=True, repr=False)
class Settings:
    """What the options say. `of` makes them; they can be pickled, and their repr shows no secret."""

    address: Address
    api_prefix: str
    domain: str
    values: Mapping[str, Any]  # of all options that have one, by their names
    given: frozenset[str]  # the names of those that were given
    use: str = ""  # read, stream, write; empty before it is known

    @classmethod
    def of(cls, options: Mapping[str, str], use: str = "") -> Settings:
        """Read `options`, their names in any case; for a use, or for whichever comes later.

        Raises OptionError: an unknown option, one that has no place in this use, a wrong value, two that
        exclude each other, one that is missing.
        """
        given = _given(options)
        values = connection.with_context(
            {name: _value(_BY_NAME[name.lower()], text) for name, text in given.items()}
        )
        for option in OPTIONS:
            if option.default and option.name not in values and option.name not in _STARTING + _ENDING:
                values[option.name] = option.kind(option.default)
        prefix, domain = values.get("jsApiPrefix"), values.get("domain", "")
        if "domain" in given and "jsApiPrefix" in given:
            raise OptionError("jsApiPrefix", "is given besides domain", "give one of the two")
        _judge(values)
        values["starting"] = _positions(values, _STARTING)
        values["ending"] = _positions(values, _ENDING) or Positions(LATEST)
        api = (prefix or PREFIX).rstrip(".") if not domain else domain_prefix(domain)
        found = cls(connection.address(values), api, domain, values, frozenset(given))
        return found.for_use(use) if use else found

    def for_use(self, use: str) -> Settings:
        """The same for one use. Raises OptionError for an option that has no place in it."""
        for name in sorted(self.given):
            uses = _BY_NAME[name.lower()].uses
            if use not in uses:
                places = " and ".join(_USE_WORDS[place] for place in (READ, STREAM, WRITE) if place in uses)
                raise OptionError(name, f"has no place in {_USE_WORDS[use]}", f"it is for {places}")
        if use in {READ, STREAM} and not (self.streams or self.pattern):
            raise OptionError(
                "stream", "is missing", "name a stream, several with streams, or a streamPattern"
            )
        positions: Positions | None = self.values["starting"]
        if use == READ and positions and LATEST in {positions.every, *positions.named.values()}:
            what = "a batch read that starts at the latest message reads nothing"
            raise OptionError(positions.option, what, f"give {EARLIEST_WORD} or a sequence")
        return replace(self, use=use)

    def __repr__(self) -> str:
        return f"Settings({self.address!r}, stream={self.stream!r}, use={self.use!r})"

    # -- which streams

    @property
    def stream(self) -> str:
        """The one stream that is named; empty without."""
        return self.values.get("stream") or ""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that are named; none when there is a pattern."""
        return (self.stream,) if self.stream else tuple(self.values.get("streams") or ())

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """What names of streams must match."""
        text = self.values.get("streamPattern")
        return re.compile(text) if text else None

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects to read; none: all."""
        return self.values.get("subjects") or ()

    # -- where from and where to

    @property
    def starting(self) -> Positions:
        """Where a new query starts."""
        found: Positions | None = self.values["starting"]
        return found or Positions(LATEST if self.use == STREAM else EARLIEST, option="startingOffsets")

    @property
    def ending(self) -> Positions:
        """Where a batch read ends, exclusive."""
        found: Positions = self.values["ending"]
        return found

    @property
    def late_start_is_latest(self) -> bool:
        """What to do with a starting time that no message has: start at the latest, or fail."""
        return bool(self.values["startingOffsetsByTimestampStrategy"] == "latest")

    # -- how much at a time

    @property
    def min_partitions(self) -> int:
        """Tasks at least; 0: as many as there are streams."""
        return self.values.get("minPartitions") or 0

    @property
    def max_records(self) -> int:
        """Sequences of a task at most; 0: no limit."""
        return self.values.get("maxRecordsPerPartition") or 0

    @property
    def max_offsets(self) -> int:
        """Sequences of a batch at most; 0: no limit."""
        return self.values.get("maxOffsetsPerTrigger") or 0

    @property
    def min_offsets(self) -> int:
        """Sequences to wait for before a batch; 0: none."""
        return self.values.get("minOffsetsPerTrigger") or 0

    @property
    def max_trigger_delay(self) -> float:
        """Seconds that a batch may wait for `min_offsets`."""
        return float(self.values["maxTriggerDelay"])

    @property
    def push_filters(self) -> bool:
        """Take the filters of a query, if Spark offers them."""
        return bool(self.values["pushFilters"])

    @property
    def batch_rows(self) -> int:
        """Rows of a record batch at most."""
        return int(self.values["batchRows"])

    # -- how

    @property
    def fail_on_data_loss(self) -> bool:
        """Fail when messages are gone before they were read, or only warn."""
        return bool(self.values["failOnDataLoss"])

    @property
    def include_headers(self) -> bool:
        """Have the column `headers`."""
        return bool(self.values["includeHeaders"])

    @property
    def durable(self) -> str:
        """The durable of a work-queue or interest stream; empty without."""
        return self.values.get("consumerDurable") or ""

    @property
    def retries(self) -> int:
        """How often in a row a lost connection is made anew."""
        return int(self.values["fetchRetries"])

    @property
    def retry_interval(self) -> float:
        """Seconds before a connection is made anew."""
        return float(self.values["fetchRetryInterval"])


def _given(options: Mapping[str, str]) -> dict[str, str]:
    """The options by their proper names; unknown ones raise."""
    found = {}
    for key in options:
        name = key.lower()
        option = _BY_NAME.get(name)
        if option is None:
            if name in SPARKS:
                continue
            raise OptionError(key, "is unknown", _advice(name))
        found[option.name] = options[key]
    return found


def _advice(name: str) -> str:
    known = FOREIGN.get(name)
    if known:
        return known
    if name.startswith("kafka."):
        return "there is no Kafka client here to give it to; leave it out"
    near = difflib.get_close_matches(name.removeprefix("nats."), list(_BY_NAME), n=1, cutoff=0.6)
    return f"did you mean {_BY_NAME[near[0]].name}?" if near else "see the options in docs/pipeline.md"


def _value(option: Option, text: str) -> Any:
    try:
        return option.kind(text)
    except ValueError as error:
        shown = "has no such value" if option.name in _SECRET and text.strip() else str(error)
        raise OptionError(option.name, shown, "") from None


def _positions(values: Mapping[str, Any], names: tuple[str, ...]) -> Positions | None:
    for name in names:
        if name in values:
            found: Positions = values[name]
            return Positions(found.every, found.named, name)
    return None


def _judge(values: Mapping[str, Any]) -> None:
    """What options say of each other."""
    which = [name for name in ("stream", "streams", "streamPattern") if name in values]
    if len(which) > 1:
        raise OptionError(which[1], f"is given besides {which[0]}", "give one of them")
    if "password" in values and "user" not in values:
        raise OptionError("password", "is given without user", "give both, or a token")
    if ("tlsCert" in values) != ("tlsKey" in values):
        given, missing = ("tlsCert", "tlsKey") if "tlsCert" in values else ("tlsKey", "tlsCert")
        raise OptionError(given, f"is given without {missing}", "give both")
    most, least = values.get("maxOffsetsPerTrigger"), values.get("minOffsetsPerTrigger")
    if most and least and least > most:
        raise OptionError("minOffsetsPerTrigger", f"{least} is more than maxOffsetsPerTrigger, {most}")
    _judge_positions(values)


def _judge_positions(values: Mapping[str, Any]) -> None:
    streams = {values["stream"]} if "stream" in values else set(values.get("streams") or ())
    for name in _STARTING + _ENDING:
        found: Positions | None = values.get(name)
        if found is None:
            continue
        if streams and found.named and set(found.named) != streams:
            missing, extra = sorted(streams - set(found.named)), sorted(set(found.named) - streams)
            what = f"has no position for {missing[0]}" if missing else f"names {extra[0]}, which is not read"
            raise OptionError(name, what, f"name these streams: {', '.join(sorted(streams))}")
        if name in _ENDING and EARLIEST in {found.every, *found.named.values()}:
            raise OptionError(name, "nothing can end at the earliest message", "give latest or a sequence")
    _judge_order(values.get("startingOffsets"), values.get("endingOffsets"))


def _judge_order(start: Positions | None, end: Positions | None) -> None:
    for stream, last in (end.named if end else {}).items():
        first = start.of(stream) if start else None
        if first and first.kind == last.kind == "sequence" and first.value > last.value:
            raise OptionError(
                "endingOffsets", f"{stream} ends at {last.value}, before its start at {first.value}"
            )
