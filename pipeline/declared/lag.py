"""How far each sink is behind each of its streams: the checkpoint's offsets beside the streams of now.

It needs no Spark and works the same while a pipeline runs, after it has stopped and after it has crashed. A
position is that of the newest batch that was completed, as a consumer's ack floor is: what a batch reads now
is still behind. A sink has a checkpoint of its own, and so a line of its own for each of its streams.

A stream is told from a later one of its name, and from one of its name in another domain, by when it was
created.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...client import ClientError
from ...protocol.errors import ApiError
from ..jetstream import JetStreamRequests, StreamStatus, UnknownStream
from ..options import QuerySettings
from ..options.table import STREAM
from ..source.directory import StreamDirectory
from . import checkpoint_log, options, plan
from .document import BATCH, DEAD_LETTERS, PipelineDocument, SourceSection
from .reading import LoadedDocument

RECREATED = "the stream was created again since"
GONE = "there is no such stream any more"
NOT_READ = "nothing was read yet"


@dataclass(frozen=True)
class SourceLag:
    """How far a sink is behind one stream of one of its sources.

    next: the sequence that the sink's next batch begins with; None before its first batch is done
    last: the last sequence of the stream; None if there is no such stream
    behind: the messages from `next` on that the source reads, None if that is not known
    exact: whether `behind` counts messages; else it counts sequences, and so at least as many
    oldest: when the first of these messages was stored, RFC 3339; empty if there is none
    """

    sink: str
    source: str
    stream: str
    domain: str = ""
    next: int | None = None
    last: int | None = None
    behind: int | None = None
    exact: bool = True
    oldest: str = ""
    error: str = ""


def report(loaded: LoadedDocument, checkpoint: str) -> list[SourceLag]:
    """Return the lag of every sink behind each of the streams that it reads.

    checkpoint: the folder of the pipeline's checkpoints, one in it for each sink

    What cannot be asked or read is in `error` of its lines. A document with `trigger: batch` has no lag.
    """
    if loaded.document.trigger == BATCH:
        return []
    found: dict[str, list[SourceLag]] = {}
    wanted = _sources_of_sinks(loaded.document, loaded.folder)
    positions = {sink: _marks(f"{checkpoint}/{sink}") for sink in wanted}
    for source, section in loaded.document.sources.items():
        if not isinstance(section, SourceSection) or not loaded.document.streams(source):
            continue  # it is read as a whole, or has no stream of JetStream behind it
        for each in options.of_source(loaded.document, source, loaded.overlay):
            # Who asks for the lag waits for it: a server that is away is told at once, not after retries.
            once = {key: value for key, value in each.items() if key.lower() != "fetchretries"}
            settings = QuerySettings.of({**once, "fetchRetries": "0"}, STREAM)
            readers = {sink: positions[sink] for sink, sources in wanted.items() if source in sources}
            for line in _of_streams(source, settings, readers):
                found.setdefault(line.sink, []).append(line)
    return [line for sink in wanted for line in found.get(sink, ())]


Offsets = list[dict[str, dict[str, object]]]  # of a sink's sources
Marks = Offsets | str  # or why they are not known


def _marks(checkpoint: str) -> Marks:
    try:
        return [each for each in checkpoint_log.position(checkpoint).offsets if isinstance(each, dict)]
    except (OSError, ValueError) as error:
        return f"its checkpoint cannot be read: {error}"


def _sources_of_sinks(document: PipelineDocument, folder: Path) -> dict[str, set[str]]:
    """Return the sources that each sink reads, through whatever transforms."""
    reads = plan.reads(document, folder)
    made = {**document.sources, **document.transforms}
    found = {}
    for name, sink in document.sinks.items():
        dropping = [table for table, section in made.items() if section.drops]
        tables, waiting = set(), dropping if sink.origin == DEAD_LETTERS else [sink.origin]
        while waiting:
            table = waiting.pop()
            if table not in tables:
                tables.add(table)
                waiting += reads.get(table, ())
        found[name] = tables & set(document.sources)
    return found


def _of_streams(source: str, settings: QuerySettings, readers: dict[str, Marks]) -> Iterator[SourceLag]:
    """Yield the lines of one connection: of its streams, for each sink that reads them."""
    directory = StreamDirectory(settings)
    named = ", ".join(settings.streams) or (settings.pattern.pattern if settings.pattern else "")
    try:
        there = directory.stream_statuses(missing_ok=True)
        for sink, marks in readers.items():
            if isinstance(marks, str):
                yield SourceLag(sink, source, named, settings.domain, error=marks)
                continue
            for name in sorted({*there, *settings.streams}):
                status = there.get(name)
                if status is None:
                    yield SourceLag(sink, source, name, settings.domain, error=GONE)
                else:
                    yield _line(SourceLag(sink, source, name, settings.domain), status, marks, directory)
    except (ClientError, ApiError, UnknownStream) as error:
        for sink in readers:
            yield SourceLag(sink, source, named, settings.domain, error=str(error))
    finally:
        directory.close()


def _line(line: SourceLag, status: StreamStatus, marks: Offsets, directory: StreamDirectory) -> SourceLag:
    line = replace(line, last=status.last)
    known = [mark[status.name] for mark in marks if isinstance(mark.get(status.name), dict)]
    own = [mark for mark in known if mark.get("created") == status.created]
    if not own:
        return replace(line, error=RECREATED if known and not line.domain else NOT_READ)
    following = int(str(own[0]["next"]))
    behind, exact = _behind(status, following, directory)
    oldest = _oldest(status, following, directory) if behind else ""
    return replace(line, next=following, behind=behind, exact=exact, oldest=oldest)


def _behind(status: StreamStatus, following: int, directory: StreamDirectory) -> tuple[int, bool]:
    """Return what is left from a sequence on, and whether that counts messages."""
    if following > status.last or not status.messages:
        return 0, True
    filters = directory.settings.subjects
    if following <= status.first and not filters:
        return status.messages, True
    if status.allow_direct and len(filters) <= 1:
        subject = filters[0] if filters else ""
        try:
            return directory.ask(lambda api: api.left(status.name, following, subject)), True
        except (ApiError, ClientError):
            pass  # not permitted, say: sequences tell something, too
    return status.last + 1 - max(following, status.first), not (status.deleted or filters)


def _oldest(status: StreamStatus, following: int, directory: StreamDirectory) -> str:
    """Return when the first message from a sequence on was stored; empty if none is left."""
    filters = directory.settings.subjects or (">",)

    def ask(api: JetStreamRequests) -> str:
        times = [api.stored_from(status.name, following, subject) for subject in filters]
        return min((time for time in times if time), default="")

    return directory.ask(ask)
