"""The options of the data source that the sources and sinks of a document are given, and their judgement.

What a section says goes before the command line, the command line before `connection`, and that before what
holds where a document names no server at all: the environment and the selected context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...cli.errors import close_matches
from ..options import OptionError, Settings
from ..options.table import CONNECTION, READ, STREAM, WRITE
from .document import BATCH, Document, Option, StreamSink, option_text
from .positions import Path
from .problem import Problem

Options = dict[str, str]
WHERE = ("servers", "context")


@dataclass(frozen=True)
class Overlay:
    """Options from outside of the document: `given` on the line, `ambient` where nothing else is said."""

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    ambient: Mapping[str, str] = field(default_factory=dict, repr=False)


NOTHING = Overlay()


def of_source(document: Document, name: str, overlay: Overlay) -> list[Options]:
    """What a source is read with; one set of options for each of its domains."""
    source = document.sources[name]
    options = _merged(document, source.options, overlay)
    if not source.domains:
        return [options]
    return [{**options, "domain": domain} for domain in source.domains]


def of_sink(document: Document, name: str, overlay: Overlay) -> Options:
    """What a stream is written with."""
    sink = document.sinks[name]
    assert isinstance(sink, StreamSink)
    return _merged(document, sink.options, overlay)


def problems(document: Document, overlay: Overlay) -> Iterator[tuple[Path, Problem]]:
    """Every option that is unknown, misplaced or has a wrong value; the first of each section."""
    names = {option.name.lower(): option.name for option in CONNECTION}
    wrong = [key for key in document.connection if key.lower() not in names]
    for key in wrong:
        hint = (
            close_matches(key, names.values())
            or "what is not about the connection belongs to a source or sink"
        )
        yield ("connection", key), Problem("", "is no option of a connection", hint=hint)
    if wrong:
        return
    use = READ if document.trigger == BATCH else STREAM
    for name, source in document.sources.items():
        if source.domains and "domain" in source.options:
            yield ("sources", name, "domain"), Problem("", "is given besides domains")
            continue
        for options in of_source(document, name, overlay):
            found = _judged(options, use)
            if found:
                yield _found(found, ("sources", name), source.options, document)
                break
    for name, sink in document.sinks.items():
        if isinstance(sink, StreamSink):
            found = _judged(of_sink(document, name, overlay), WRITE)
            if found:
                yield _found(found, ("sinks", name), sink.options, document)


def _merged(document: Document, own: Mapping[str, Option], overlay: Overlay) -> Options:
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


def _has(options: Mapping[str, str], name: str) -> bool:
    return any(key.lower() == name for key in options)


def _judged(options: Options, use: str) -> OptionError | None:
    try:
        Settings.of(options, use)
    except OptionError as error:
        return error
    return None


def _found(
    error: OptionError, section: Path, own: Mapping[str, Option], document: Document
) -> tuple[Path, Problem]:
    """The error where the option stands: in the section, in `connection`, or nowhere."""
    problem = Problem("", error.what, hint=error.hint)
    for key in own:
        if key.lower() == error.option.lower():
            return (*section, key), problem
    for key in document.connection:
        if key.lower() == error.option.lower():
            return ("connection", key), problem
    return section, Problem("", f"option {error.option}: {error.what}", hint=error.hint)
