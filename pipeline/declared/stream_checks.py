"""Whether the servers and streams of a document exist, found out without Spark."""

from __future__ import annotations

from dataclasses import dataclass

from ...client import BlockingConnection, ClientError
from ...protocol.errors import ApiError
from ..jetstream import JetStreamRequests, StreamStatus, UnknownStream
from ..options import QuerySettings
from ..options.table import READ, STREAM, WRITE
from . import options
from .document import SourceSection, StreamSink
from .reading import LoadedDocument


@dataclass(frozen=True)
class StreamCheck:
    """A stream that a source reads or a sink writes, as it was found; `error` is empty if all is well."""

    path: str  # sources.orders
    stream: str
    domain: str = ""
    messages: int | None = None
    sequences: str = ""
    error: str = ""
    hint: str = ""


def check(loaded: LoadedDocument) -> list[StreamCheck]:
    """Return what there is for every source and for every sink that is a stream."""
    document = loaded.document
    found: list[StreamCheck] = []
    for name, source in document.sources.items():
        if not isinstance(source, SourceSection):
            continue
        use = STREAM if document.streams(name) else READ
        for each in options.of_source(document, name, loaded.overlay):
            found += _check_stream(f"sources.{name}", QuerySettings.of(each, use))
    for name, sink in document.sinks.items():
        if isinstance(sink, StreamSink):
            given = options.of_sink(document, name, loaded.overlay)
            found += _check_stream(f"sinks.{name}", QuerySettings.of(given, WRITE))
    return found


def _check_stream(path: str, settings: QuerySettings) -> list[StreamCheck]:
    pattern = settings.pattern.pattern if settings.pattern else ""
    named = ", ".join(settings.streams) or pattern or str(settings.values.get("subject") or "")
    try:
        with BlockingConnection.open(settings.address) as connection:
            api = JetStreamRequests(connection, settings.api_prefix)
            names = list(settings.streams) or _matching(api, settings)
            if not names and settings.use == WRITE and "subject" not in settings.values:
                return [StreamCheck(path, "by the column subject", settings.domain)]
            if not names:
                hint = "'pyjs stream ls' shows those there are"
                return [StreamCheck(path, named, settings.domain, error="there is no such stream", hint=hint)]
            return [_found(path, api, name, settings.domain) for name in names]
    except (ClientError, ApiError) as error:
        return [StreamCheck(path, named, settings.domain, error=str(error))]


def _matching(api: JetStreamRequests, settings: QuerySettings) -> list[str]:
    """Return the streams of a pattern, or the streams that store the subject of a sink."""
    if settings.pattern is not None:
        return [name for name in api.streams() if settings.pattern.fullmatch(name)]
    subject = settings.values.get("subject") or ""
    return api.streams(subject) if subject else []


def _found(path: str, api: JetStreamRequests, name: str, domain: str) -> StreamCheck:
    try:
        stream: StreamStatus = api.stream(name)
    except UnknownStream as error:
        return StreamCheck(
            path, name, domain, error=str(error), hint="'pyjs stream ls' shows those there are"
        )
    sequences = f"{stream.first} to {stream.last}" if stream.messages else "none"
    return StreamCheck(path, name, domain, stream.messages, sequences)
