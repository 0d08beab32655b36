"""The options of the data source that the sources and sinks of a document are given, and their validation.

What a section says goes before the command line, the command line before `connection`, and that before what
holds where a document names no server at all: the environment and the selected context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli.errors import close_matches
from ..options import OptionError, QuerySettings
from ..options.table import CONNECTION, READ, STREAM, WRITE
from .document import BATCH, Option, PipelineDocument, StreamSink, option_text
from .located_yaml import Path
from .problem import DocumentProblem

Options = dict[str, str]
WHERE = ("servers", "context")


@dataclass(frozen=True)
class Overlay:
    """Options from outside of the document: `given` on the line, `ambient` where nothing else is said."""

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    ambient: Mapping[str, str] = field(default_factory=dict, repr=False)


NOTHING = Overlay()


def of_source(document: PipelineDocument, name: str, overlay: Overlay) -> list[Options]:
    """What a source is read with; one set of options for each of its domains."""
    source = document.sources[name]
    options = _merged(document, source.options, overlay)
    if not source.domains:
        return [options]
    return [{**options, "domain": domain} for domain in source.domains]


def of_sink(document: PipelineDocument, name: str, overlay: Overlay) -> Options:
    """What a stream is written with."""
    sink = document.sinks[name]
    assert isinstance(sink, StreamSink)
    return _merged(document, sink.options, overlay)


def problems(document: PipelineDocument, overlay: Overlay) -> Iterator[tuple[Path, DocumentProblem]]:
    """Every option that is unknown, misplaced or has a wrong value, where it stands, once."""
    names = {option.name.lower(): option.name for option in CONNECTION}
    for key in document.connection:
        if key.lower() not in names:
            hint = (
                close_matches(key, names.values())
                or "what is not about the connection belongs to a source or sink"
            )
            yield ("connection", key), DocumentProblem("", "is no option of a connection", hint=hint)
    connection = {key: value for key, value in document.connection.items() if key.lower() in names}
    document = document.model_copy(update={"connection": connection})
    found = dict.fromkeys(_of_sections(document, overlay))  # what is shared is validated for each
    yield from found


def _of_sections(document: PipelineDocument, overlay: Overlay) -> Iterator[tuple[Path, DocumentProblem]]:
    use = READ if document.trigger == BATCH else STREAM
    for name, source in document.sources.items():
        if source.domains and _has(source.options, "domain"):
            yield ("sources", name, "domain"), DocumentProblem("", "is given besides domains")
        for options in of_source(document, name, overlay):
            for error in QuerySettings.validated(options, use)[1]:
                yield _found(error, ("sources", name), source.options, document)
    for name, sink in document.sinks.items():
        if isinstance(sink, StreamSink):
            for error in QuerySettings.validated(of_sink(document, name, overlay), WRITE)[1]:
                yield _found(error, ("sinks", name), sink.options, document)


def _merged(document: PipelineDocument, own: Mapping[str, Option], overlay: Overlay) -> Options:
    declared = _texts(document.connection)
    section = _texts(own)
    if "context" in overlay.given:  # a whole connection: what the document says of another one does not count
        declared = {}
    base: dict[str, str] = dict(declared)
    if not any(_has(options, word) for options in (declared, section, overlay.given) for word in WHERE):
        base = {**overlay.ambient, **base}
    for options in (overlay.given, section):
        _lay(base, options)
    return base


def _lay(base: dict[str, str], options: Mapping[str, str]) -> None:
    """Put options over others; names do not tell case."""
    for key, value in options.items():
        for other in [other for other in base if other.lower() == key.lower()]:
            del base[other]
        base[key] = value


def _texts(options: Mapping[str, Option]) -> dict[str, str]:
    return {key: option_text(value) for key, value in options.items()}


def _has(options: Mapping[str, Any], name: str) -> bool:
    return any(key.lower() == name for key in options)


def _found(
    error: OptionError, section: Path, own: Mapping[str, Option], document: PipelineDocument
) -> tuple[Path, DocumentProblem]:
    """The error where the option stands: in the section, in `connection`, or nowhere."""
    problem = DocumentProblem("", error.what, hint=error.hint)
    for key in own:
        if key.lower() == error.option.lower():
            return (*section, key), problem
    for key in document.connection:
        if key.lower() == error.option.lower():
            return ("connection", key), problem
    return section, DocumentProblem("", f"option {error.option}: {error.what}", hint=error.hint)
