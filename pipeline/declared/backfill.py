"""Backfills: a document run over the messages that its streams stored in a span of time, to an end.

Each span has a checkpoint of its own: a backfill that was stopped goes on where it was, and one that is done
reads nothing again. It runs beside the pipeline itself, whose checkpoint it does not touch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from ...documents.problem import DocumentProblem
from .document import AVAILABLE_NOW, BATCH, FolderSink, PipelineDocument, SourceSection
from .reading import LoadedDocument

FROM, TO = "FROM", "TO"  # the variables of a document that have the span, as it was written
OWN_FOLDER = "a backfill needs a folder of its own: Spark takes its batches for those that are there already"
OWN_HINT = "put the variable into it, such as {path}/${{FROM:-live}}"
ALONE = "--from and --to are for streams of JetStream"
ALONE_HINT = "use ${FROM} and ${TO} in its options, or as: table"


@dataclass(frozen=True)
class BackfillSpan:
    """A span of time, `end` exclusive; first and last are its ends as they were written."""

    start: datetime
    end: datetime
    first: str
    last: str

    @classmethod
    def of(cls, first: str, last: str) -> BackfillSpan:
        """Return the span between two dates or times. Raises ValueError."""
        span = cls(moment(first), moment(last), first, last)
        if span.start >= span.end:
            raise ValueError(f"{first} is not before {last}")
        return span

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that a document has of it."""
        return {FROM: self.first, TO: self.last}

    @property
    def name(self) -> str:
        """A name for a folder."""
        return re.sub(r"[^0-9A-Za-z.-]", "", f"{self.first}_{self.last}".replace("_", "--"))


def moment(text: str) -> datetime:
    """Return a date, whose midnight is that of UTC, or a time with its zone. Raises ValueError."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ValueError(f'"{text}" is no date such as 2026-11-22, nor a time such as 2026-11-22T08:00:00Z')
    return found


def bounded(loaded: LoadedDocument, span: BackfillSpan) -> LoadedDocument:
    """Return the document that reads the messages of the span, and ends."""
    document = loaded.document
    bounds = {
        "startingTimestamp": span.start.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "startingOffsetsByTimestampStrategy": "latest",
        "endingTimestamp": span.end.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
    sources = {
        name: source.model_copy(update=bounds)
        if isinstance(source, SourceSection) and _spans(source)
        else source
        for name, source in document.sources.items()
    }
    trigger = BATCH if document.trigger == BATCH else AVAILABLE_NOW
    return replace(loaded, document=document.model_copy(update={"sources": sources, "trigger": trigger}))


def problems(loaded: LoadedDocument) -> Iterator[DocumentProblem]:
    """Yield what in the document a backfill cannot do."""
    document = loaded.document
    for name, source in document.sources.items():
        if document.streams(name) and not isinstance(source, SourceSection):
            yield loaded.problem(("sources", name), ALONE, ALONE_HINT)
    for name, sink in document.sinks.items():
        path = ("sinks", name, "path")
        own = FROM in loaded.variables.get(path, ())
        if document.trigger != BATCH and isinstance(sink, FolderSink) and sink.format != "delta" and not own:
            yield loaded.problem(path, OWN_FOLDER, OWN_HINT.format(path=sink.path.rstrip("/")))


def checkpoint(document: PipelineDocument, span: BackfillSpan, folder: str) -> str:
    """Return the folder of the span's checkpoints; `folder` is that of the pipeline's own."""
    return f"{folder.rstrip('/')}/.backfills/{document.name}/{span.name}"


def run_name(document: PipelineDocument) -> str:
    """Return the name that backfills are recorded under."""
    return f"{document.name}.backfill"


def _spans(source: SourceSection) -> bool:
    """Return whether a source has messages of a time: not one that is read as it is now."""
    given = {key.lower(): value for key, value in source.options.items()}
    now = str(given.get("lastpersubject", "")).lower() == "true"
    return source.role != "table" and not now
