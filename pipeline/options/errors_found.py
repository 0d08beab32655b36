"""The checks of options: each error is its own, so that all of them can be reported at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from .errors import OptionError
from .positions import EARLIEST, EARLIEST_WORD, LATEST, StreamPositions
from .table import FOREIGN, OPTIONS, READ, SPARKS, STREAM, WRITE, Option

BY_NAME = {option.name.lower(): option for option in OPTIONS}
# In Kafka's order: the first that is given counts.
STARTING = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
ENDING = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_USE_WORDS = {READ: "a batch read", STREAM: "a stream read", WRITE: "a write"}
_SECRET = frozenset({"password", "token", "nkey", "creds", "user", "servers"})


def bucket_stream(bucket: str) -> str:
    """Return the name of a bucket's stream."""
    return f"KV_{bucket}"


def unknown(options: Mapping[str, str]) -> Iterator[tuple[OptionError, set[str]]]:
    """Yield an error for each unknown option, with the names of options that may be meant."""
    for key in options:
        name = key.lower()
        if name not in BY_NAME and name not in SPARKS:
            advice = _advice(name)
            meant = {BY_NAME[word].name for word in re.findall(r"\w+", advice.lower()) if word in BY_NAME}
            yield OptionError(key, "is unknown", advice), meant


def _advice(name: str) -> str:
    known = FOREIGN.get(name)
    if known:
        return known
    if name.startswith("kafka."):
        return "there is no Kafka client here to give it to; leave it out"
    near = difflib.get_close_matches(name.removeprefix("nats."), list(BY_NAME), n=1, cutoff=0.6)
    return f"did you mean {BY_NAME[near[0]].name}?" if near else "see the options in docs/pipeline.md"


def value(option: Option, error: ValueError, text: str) -> OptionError:
    """Return the error of a value that its option's kind refused; it repeats no secret."""
    shown = "has no such value" if option.name in _SECRET and text.strip() else str(error)
    return OptionError(option.name, shown)


def together(values: Mapping[str, Any], named: Set[str]) -> Iterator[OptionError]:
    """Yield the errors of options that contradict each other.

    `named` are the options that were given, with a right or wrong value.
    """
    if {"domain", "jsApiPrefix"} <= named:
        yield OptionError("jsApiPrefix", "is given besides domain", "give one of the two")
    which = [name for name in ("stream", "streams", "streamPattern", "bucket") if name in values]
    for other in which[1:]:
        yield OptionError(other, f"is given besides {which[0]}", "give one of them")
    if "password" in values and not {"user"} & (named | values.keys()):
        yield OptionError("password", "is given without user", "give both, or a token")
    for given, missing in (("tlsCert", "tlsKey"), ("tlsKey", "tlsCert")):
        if given in values and missing not in values and missing not in named:
            yield OptionError(given, f"is given without {missing}", "give both")
    most, least = values.get("maxOffsetsPerTrigger"), values.get("minOffsetsPerTrigger")
    if most and least and least > most:
        yield OptionError("minOffsetsPerTrigger", f"{least} is more than maxOffsetsPerTrigger, {most}")
    if len(which) < 2:
        yield from _positions(values)
    if values.get("lastPerSubject"):
        for name in (*STARTING, *ENDING, "minPartitions", "maxRecordsPerPartition"):
            if name in values:
                yield OptionError(name, "is given besides lastPerSubject", "give one of the two")
    yield from _order(values.get("startingOffsets"), values.get("endingOffsets"))


def _positions(values: Mapping[str, Any]) -> Iterator[OptionError]:
    streams = {values["stream"]} if "stream" in values else set(values.get("streams") or ())
    if "bucket" in values:
        streams = {bucket_stream(values["bucket"])}
    for name in STARTING + ENDING:
        found: StreamPositions | None = values.get(name)
        if found is None:
            continue
        if found.named and (streams or "streamPattern" in values):
            yield from _names(name, set(found.named), streams, values.get("streamPattern", ""))
        if name in ENDING and EARLIEST in {found.every, *found.named.values()}:
            yield OptionError(name, "nothing can end at the earliest message", "give latest or a sequence")


def _names(option: str, named: set[str], streams: set[str], pattern: str) -> Iterator[OptionError]:
    """Return whether the streams that positions are given for are those that are read."""
    if pattern:
        extra = [name for name in sorted(named) if not re.fullmatch(pattern, name)]
        if extra:
            read = f'streamPattern "{pattern}" matches no such name'
            yield OptionError(option, f"names {', '.join(extra)}, which {_is(extra)} not read", read)
        return
    extra, missing = sorted(named - streams), sorted(streams - named)
    read = f"streams read: {', '.join(sorted(streams))}; give a position for each of them and no other"
    if extra:
        yield OptionError(option, f"names {', '.join(extra)}, which {_is(extra)} not read", read)
    elif missing:
        yield OptionError(option, f"has no position for {', '.join(missing)}", read)


def _is(names: list[str]) -> str:
    return "are" if names[1:] else "is"


def _order(start: StreamPositions | None, end: StreamPositions | None) -> Iterator[OptionError]:
    for stream, last in (end.named if end else {}).items():
        first = start.of(stream) if start else None
        if first and first.kind == last.kind == "sequence" and first.value > last.value:
            what = f"{stream} ends at {last.value}, before its start at {first.value}"
            yield OptionError("endingOffsets", what)


def in_use(values: Mapping[str, Any], given: Set[str], named: Set[str], use: str) -> Iterator[OptionError]:
    """Yield an error for each option of `given` that one use does not allow, and for each that it lacks.

    An option is missing if it is neither given nor in `named`.
    """
    for name in sorted(given):
        uses = BY_NAME[name.lower()].uses
        if use not in uses:
            places = " and ".join(_USE_WORDS[place] for place in (READ, STREAM, WRITE) if place in uses)
            yield OptionError(name, f"has no place in {_USE_WORDS[use]}", f"it is for {places}")
    streams = {"stream", "streams", "streamPattern", "bucket"}
    if use in {READ, STREAM} and not streams & (named | {name for name in values if values[name]}):
        yield OptionError("stream", "is missing", "name a stream, several with streams, or a streamPattern")
    positions: StreamPositions | None = values.get("starting")
    if use == READ and positions and LATEST in {positions.every, *positions.named.values()}:
        what = "a batch read that starts at the latest message reads nothing"
        yield OptionError(positions.option, what, f"give {EARLIEST_WORD} or a sequence")
