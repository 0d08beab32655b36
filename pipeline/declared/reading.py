"""From a file to a document that can be run: YAML, sections, checks across sections, options.

`load` finds all mistakes at once and reports each with its place. A section with mistakes is validated
without its wrong parts. The checks across sections run only if no table was lost that way.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...cli.errors import close_matches
from ...documents.located_yaml import LocatedYaml, Path, Place, dotted, read
from ...documents.problem import DocumentError, DocumentProblem
from . import cross_checks, options
from .document import (
    KNOWN,
    STREAM,
    TAGS,
    PipelineDocument,
    SourceSection,
    Spark,
    SparkSource,
    TransformSection,
    sink_section,
)
from .options import NOTHING, Overlay
from .secrets import masked
from .section import PipelineSection
from .table_steps import Decoding, Expectation, Masking, Watermark
from .variables import NONE, Uses, Variables, filled

ROUNDS = 8  # of leaving out what is wrong: as deep as a document goes
# Replaces required parts that were left out: validated, but not reported.
FILLING: dict[str, Any] = {
    "name": "name",
    "sources": {"_": {}},
    "sinks": {"x": {"from": "_", "format": "console"}},
}


@dataclass(frozen=True)
class LoadedDocument:
    """A document that was read without a mistake. `text` is the file's, without secrets.

    written: its values with the variables replaced, and their places in the file
    variables: the names of those that each value has
    literal: the values that are written line by line, after `|`
    """

    file: File
    document: PipelineDocument
    text: str
    written: LocatedYaml
    overlay: Overlay
    variables: Uses = field(default_factory=dict)
    literal: frozenset[Path] = frozenset()

    @property
    def folder(self) -> File:
        """The folder that relative paths in the document start from."""
        return self.file.resolve().parent

    def place(self, *path: str | int) -> Place | None:
        """Return the place of the value at `path`, or of what is around it."""
        return self.written.near(path)

    def in_lines(self, *path: str | int) -> bool:
        """Return whether the text at `path` is written line by line, after `|`."""
        return path in self.literal

    def problem(self, path: Path, message: str, hint: str = "") -> DocumentProblem:
        """Return a mistake at `path`, with its place."""
        return _placed(DocumentProblem("", message, hint=hint), path, self.written)


def load(
    file: File, *, trigger: str = "", overlay: Overlay = NOTHING, variables: Variables = NONE
) -> LoadedDocument:
    """Return the document in `file`.

    trigger: replaces the document's trigger if it is given
    overlay: options of the connection from outside of the document
    variables: values for the document's variables

    Raises DocumentError, OSError.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DocumentError(str(file), [DocumentProblem("", "is not UTF-8 text")]) from None
    return parse(text, file, trigger=trigger, overlay=overlay, variables=variables)


def parse(
    text: str, file: File, *, trigger: str = "", overlay: Overlay = NOTHING, variables: Variables = NONE
) -> LoadedDocument:
    """Do what `load` does for the text of `file`, whose folder is where relative paths start."""
    name = str(file)
    original = read(text, name)
    if not isinstance(original.value, dict):
        raise DocumentError(
            name, [DocumentProblem("", "holds no pipeline: keys such as name, sources, sinks", 1, 1)]
        )
    written, uses, unset = filled(original, variables)
    document, mistakes = _validated(written.value)
    found: dict[Path, DocumentProblem] = dict(unset)
    for path, detail in mistakes:  # a value that may be of several kinds has a mistake for each
        message, hint = _worded(detail, path, written.value)
        found.setdefault(path, DocumentProblem("", message, hint=hint))
    problems = [_placed(problem, path, written) for path, problem in found.items()]
    if document is not None:
        if trigger:
            document = document.model_copy(update={"trigger": trigger})
        loaded = LoadedDocument(
            file, document, masked(text, original), written, overlay, uses, _literal(text, original)
        )
        more = list(options.problems(document, overlay))
        if not found or _tables(document.sources, document.transforms) == _tables(
            written.value.get("sources"), written.value.get("transforms", {})
        ):
            more += cross_checks.problems(document, loaded.folder)
        problems += [_placed(problem, path, written) for path, problem in more if _new(path, found, written)]
    if problems or document is None:
        raise DocumentError(name, problems)
    return loaded


def _literal(text: str, written: LocatedYaml) -> frozenset[Path]:
    return frozenset(
        path for path, place in written.places.items() if text[place.start : place.start + 1] == "|"
    )


def _validated(value: Mapping[str, Any]) -> tuple[PipelineDocument | None, list[tuple[Path, ErrorDetails]]]:
    """Return the document, if need be without its wrong parts, and its mistakes.

    The document is None if the rest is not one.
    """
    try:
        return PipelineDocument.model_validate(value), []
    except ValidationError as error:
        mistakes = list(_mistakes(error, value))
    rest: dict[str, Any] = copy.deepcopy(dict(value))
    # What a section of an unknown format may have is not known either.
    wrong = [path[:-1] if detail["type"] == "union_tag_invalid" else path for path, detail in mistakes]
    for _ in range(ROUNDS):
        for path in wrong:
            _drop(rest, path)
        try:
            return PipelineDocument.model_validate(FILLING | rest), mistakes
        except ValidationError as error:
            # A section that lacks something is left out as a whole.
            wrong = [
                path[:-1] if detail["type"] == "missing" else path for path, detail in _mistakes(error, rest)
            ]
    return None, mistakes


def _tables(*sections: Any) -> set[str]:
    """Return the names of tables in sections, ignoring what is not a section."""
    return {name for section in sections if isinstance(section, dict) for name in section}


def _mistakes(error: ValidationError, value: Any) -> Iterator[tuple[Path, ErrorDetails]]:
    for detail in error.errors(include_url=False, include_input=False):
        path = _path(detail["loc"], value)
        yield (*path, "format") if detail["type"] == "union_tag_invalid" else path, detail


def _drop(value: Any, path: Path) -> None:
    """Remove what is at `path` from the document, if it is there."""
    for part in path[:-1]:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return  # left out already, with what is around it
    if path and isinstance(value, dict):
        value.pop(path[-1], None)
    elif path and isinstance(value, list):
        value.clear()  # the indexes of its other items would change


def _new(path: Path, found: Mapping[Path, DocumentProblem], written: LocatedYaml) -> bool:
    """Return whether a mistake is in the file and does not only follow from what was left out."""
    about = path[:2] in written.places
    return about and not any(path[: len(other)] == other[: len(path)] for other in found)


def _path(location: tuple[str | int, ...], value: Any) -> Path:
    """Return a location of pydantic's as a path of the document: without the names of models in it."""
    path: list[str | int] = []
    for part in location:
        inside = (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        )
        if inside:
            path.append(part)
            value = value[part]
        elif part == location[-1] and isinstance(value, dict) and part not in TAGS:
            path.append(part)
    return tuple(path)


def _placed(problem: DocumentProblem, path: Path, written: LocatedYaml) -> DocumentProblem:
    place = written.near(path)
    line, column = (place.line, place.column) if place else (1, 1)
    return replace(problem, path=dotted(path), line=line, column=column)


def _worded(detail: ErrorDetails, path: Path, document: Any) -> tuple[str, str]:
    """Return a mistake in our words, and a hint."""
    kind, context = detail["type"], detail.get("ctx") or {}
    if kind == "extra_forbidden":
        return "unknown key", close_matches(str(path[-1]), _keys(path[:-1], document))
    if kind == "missing":
        return "is missing", ""
    if kind == "union_tag_not_found":
        return "has no format", f"format is one of {', '.join(KNOWN)}, or another one of Spark's"
    if kind == "union_tag_invalid":
        tag = str(context.get("tag", ""))
        return f'unknown format "{tag}"', close_matches(tag, KNOWN)
    if kind == "literal_error":
        return f"is one of {context['expected']}", ""
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(
            str(path[-1]), "is a name of letters, digits and underscores that begins with a letter"
        ), ""
    if kind in {"model_type", "dict_type", "model_attributes_type"}:
        return "is a section of keys and values", ""
    if kind in _KINDS:
        return _KINDS[kind], "in quotes: YAML makes a date of it" if _is_date(path, document) else ""
    return detail["msg"].removeprefix("Value error, "), ""


def _is_date(path: Path, value: Any) -> bool:
    with contextlib.suppress(LookupError, TypeError):
        for part in path:
            value = value[part]
    return isinstance(value, datetime.date)


_PATTERNS = {
    "url": "begins with jdbc:, such as jdbc:postgresql://HOST/DATABASE",
    "remote": "begins with sc://, such as sc://HOST:15002",
    "name": "is a name of letters, digits, - and _ that begins with a letter",
    "metrics": "is PORT or HOST:PORT, such as 9464 or 0.0.0.0:9464",
    "table": "is catalog.namespace.name, such as lake.shop.orders",
}
_KINDS = {
    "string_type": "is text",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "list_type": "is a list",
    "int_type": "is a whole number",
    "int_parsing": "is a whole number",
    "bool_type": "is true or false",
}


def _keys(path: Path, document: Mapping[str, Any]) -> list[str]:
    """Return the keys that the section at `path` may have."""
    return _section(path, document).keys()


def _section(path: Path, document: Mapping[str, Any]) -> type[PipelineSection]:
    if not path:
        return PipelineDocument
    if path[-1] == "watermark":
        return Watermark
    if path[0] in {"sources", "transforms"} and len(path) > 2:
        steps: dict[str | int, type[PipelineSection]] = {
            "decode": Decoding,
            "expect": Expectation,
            "mask": Masking,
        }
        return steps[path[2]]
    if path[0] == "sinks":
        return sink_section(document["sinks"][path[1]]["format"])
    if path[0] == "sources" and document["sources"][path[1]].get("format", STREAM) != STREAM:
        return SparkSource
    sections: dict[str, type[PipelineSection]] = {
        "sources": SourceSection,
        "transforms": TransformSection,
        "spark": Spark,
    }
    return sections[str(path[0])]
