"""The data source options of a document's sources and sinks, and their validation.

A section takes precedence over the command line, and that over `connection`. The environment and the selected
context count only if the document and the command line name no server at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli.errors import close_matches
from ...documents.located_yaml import Path
from ...documents.problem import DocumentProblem
from ..options import OptionError, QuerySettings
from ..options.table import CONNECTION, READ, STREAM, WRITE
from .document import PipelineDocument, SourceSection, StreamSink
from .section import Option, option_text

Options = dict[str, str]
WHERE = ("servers", "context")
CONNECTING = frozenset(option.name.lower() for option in CONNECTION)


@dataclass(frozen=True)
class Overlay:
    """Options from outside of the document.

    given: those of the command line
    ambient: those that apply if no server is named elsewhere
    """

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    ambient: Mapping[str, str] = field(default_factory=dict, repr=False)


NOTHING = Overlay()


def of_source(document: PipelineDocument, name: str, overlay: Overlay) -> list[Options]:
    """Return the options to read a source of streams with, one set for each of its domains."""
    source = document.sources[name]
    assert isinstance(source, SourceSection)
    options = _merged(document, source.options, overlay)
    if not source.domains:
        return [options]
    return [{**options, "domain": domain} for domain in source.domains]


def of_sink(document: PipelineDocument, name: str, overlay: Overlay) -> Options:
    """Return the options to write a stream with."""
    sink = document.sinks[name]
    assert isinstance(sink, StreamSink)
    return _merged(document, sink.options, overlay)


def problems(document: PipelineDocument, overlay: Overlay) -> Iterator[tuple[Path, DocumentProblem]]:
    """Yield every option that is unknown, misplaced or has a wrong value, where it is written, once."""
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
    found = dict.fromkeys(_of_sections(document, overlay))  # shared options are validated for each section
    yield from found


def _of_sections(document: PipelineDocument, overlay: Overlay) -> Iterator[tuple[Path, DocumentProblem]]:
    for name, source in document.sources.items():
        if not isinstance(source, SourceSection):
            continue
        use = STREAM if document.streams(name) else READ
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
    if "context" in overlay.given:  # a context is a whole connection: the document's options are of another
        declared = {}
    base: dict[str, str] = dict(declared)
    if not any(_has(options, word) for options in (declared, section, overlay.given) for word in WHERE):
        base = {**overlay.ambient, **base}
    for options in (overlay.given, section):
        _lay(base, options)
    return base


def _lay(base: dict[str, str], options: Mapping[str, str]) -> None:
    """Put options over others; names are compared without case."""
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
    """Return the error with the path of the option: in the section, in `connection`, or else the section."""
    problem = DocumentProblem("", error.what, hint=error.hint)
    for key in own:
        if key.lower() == error.option.lower():
            return (*section, key), problem
    for key in document.connection:
        if key.lower() == error.option.lower():
            return ("connection", key), problem
    return section, DocumentProblem("", f"option {error.option}: {error.what}", hint=error.hint)
