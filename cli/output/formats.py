"""The formats of `-o`: each writes the same records, or the same document, for a program or a person.

`table` and `wide` are drawn, `md` is for documents and language models; they have the texts that people read.
`json`, `ndjson`, `yaml`, `csv`, `name` and templates have the values under their field names. A report of
several tables is an object of lists in `json` and `yaml`; the formats that have lines print the first one.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import words
from ..errors import UsageError
from .cells import clean
from .columns import FilledTable, Grid

TABLE, WIDE, JSON, NDJSON, YAML, CSV, MD, NAME = (
    "table",
    "wide",
    "json",
    "ndjson",
    "yaml",
    "csv",
    "md",
    "name",
)
FORMATS = (TABLE, WIDE, JSON, NDJSON, YAML, CSV, MD, NAME)

SHOWN: dict[str, Callable[[Any], str]] = {
    "size": words.size,
    "number": words.number,
    "span": words.span,
    "time": words.when,
}

# The control characters that terminals obey and json.dumps leaves as they are.
_CONTROL = re.compile("[\x7f-\x9f]")


def as_json(document: object, *, indent: int | None = 2) -> str:
    """Return a document as JSON, in its own order; with no indent, on one line."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, indent=indent, ensure_ascii=False, separators=separators)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_yaml(document: object) -> str:
    """Return a document as YAML."""
    from .yaml import dump

    return dump(document)


def as_csv(fields: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV, with a line of field names first."""
    return separated([fields, *([_csv_value(record.get(name)) for name in fields] for record in records)])


def separated(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """Return rows as CSV or, with a tab, as TSV; without a final newline."""
    lines = (delimiter.join(_quoted(str(cell), delimiter) for cell in row) for row in rows)
    return "\n".join(line or '""' for line in lines)  # an empty line is no row


def _quoted(cell: str, delimiter: str) -> str:
    """Return a cell in quotes where it needs them (RFC 4180); Python's csv leaves a lone return without."""
    if any(mark in cell for mark in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _csv_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return as_json(value, indent=None) if isinstance(value, dict | list) else str(value)


def as_markdown(grid: Grid) -> str:
    """Return a table as Markdown, with its title as a heading."""
    rows = [grid.headings, ["---"] * len(grid.headings), *grid.rows, *([grid.footer] if grid.footer else [])]
    lines = [f"| {' | '.join(_markdown_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join([*([f"# {clean(grid.title)}", ""] if grid.title else []), *lines])


def _markdown_cell(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("|", "\\|")


def flattened(document: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield every value of a document with its path: `state.messages`, `config.subjects.0`."""
    if isinstance(document, dict) and document:
        for key, value in document.items():
            yield from flattened(value, f"{path}.{key}" if path else str(key))
    elif isinstance(document, list) and document:
        for index, value in enumerate(document):
            yield from flattened(value, f"{path}.{index}" if path else str(index))
    else:
        yield path, document


def of_tables(tables: Sequence[FilledTable], *, several: bool) -> Any:
    """Return tables as one document: a list of records, or an object of such lists."""
    if not several:
        return tables[0].values()
    return {each.table.name: each.values() for each in tables}


class _Template(string.Formatter):
    """A template such as `{config.name}: {state.bytes:size}`, filled in from a document.

    A field is a path through dicts and lists: keys and positions, joined by dots (`state.messages`,
    `subjects.0`). It never reads an attribute of a Python object, as `str.format` would, and calls nothing.
    The text after a colon is a format of `str.format`, or one of these: `size`, `number`, `span` and `time`
    show a value as tables do, `json` shows it as JSON.
    """

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        found: Any = kwargs["record"]
        for step in field_name.split(".") if field_name else ():
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, dict):
                return "", field_name  # servers leave out what is not set
            else:
                raise UsageError(f'--template: there is no field "{field_name}"')
        return found, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None or value == "":
            return ""
        if format_spec == "json" or (not format_spec and isinstance(value, dict)):
            return as_json(value, indent=None)
        if isinstance(value, list):
            value = _csv_value(value)
        if format_spec in SHOWN:
            return SHOWN[format_spec](value)
        if isinstance(value, bool):
            value = "true" if value else "false"
        return str(super().format_field(value, format_spec))


def templated(template: str, records: Iterable[Mapping[str, Any]], known: Sequence[str] = ()) -> list[str]:
    """Return a line for each record: the template with its fields filled in.

    known: the fields of a list; others are an error.

    Raises UsageError for a template that cannot be filled in.
    """
    text = template.replace("\\n", "\n").replace("\\t", "\t")
    form = _Template()
    try:
        names = [name.partition(".")[0] for _, name, _, _ in form.parse(text) if name]
        for name in names:
            if known and name not in known:
                raise UsageError(f'--template: there is no field "{name}"', f"there are {', '.join(known)}")
        return [form.vformat(text, (), {"record": record}) for record in records]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UsageError(f"--template: {error}", "an example: '{name} {bytes:size}'") from None
