"""The form of results: tables, information pages, log lines, JSON, and values in words.

Promises: tables are drawn as in the NATS documentation (a rounded box, the title in a row of its own,
everything left-aligned); pages have `label: value` with right-aligned labels. All of it goes to stdout
through `show`; log lines go to stderr. Nothing here asks or connects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime

import click

from .words import (
    NEVER_NS,
    cluster_servers,
    clustered,
    counted,
    go_span,
    limit,
    number,
    parse_time,
    since,
    size,
    size_limit,
    span,
    when,
)

__all__ = (
    "NEVER_NS",
    "cluster_servers",
    "clustered",
    "columns",
    "counted",
    "field",
    "fields",
    "fitting",
    "go_span",
    "limit",
    "log",
    "number",
    "page",
    "parse_time",
    "show",
    "show_json",
    "since",
    "size",
    "size_limit",
    "span",
    "table",
    "when",
)

PAGE_WIDTH = 21  # the column of the colon on a stream's page; consumers' pages use 20 and 25


def show(text: str = "") -> None:
    """Write text and a newline to stdout."""
    click.echo(text)


def show_json(document: object) -> None:
    """Write a document as JSON, indented by two spaces, in its own order."""
    from .output.formats import as_json

    show(as_json(document))


def log(text: str) -> None:
    """Write a line with the time of day to stderr, as `pub` and `--trace` do; on a terminal it fits."""
    line = f"{datetime.now().astimezone():%H:%M:%S} {text}"
    if sys.stderr.isatty():
        from .output import folding

        line = folding.said(line)
    click.echo(line, err=True)


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    footer: Sequence[object] | None = None,
) -> str:
    """Return a table as text, without a final newline; on a terminal it fits its width.

    Cells are converted with `str`; the first column is one of names. A footer is set off by a line. Commands
    that list or show something declare their columns instead (`cli.output`), so that programs can read them.
    """
    from .output import drawn
    from .output.columns import plain

    return drawn(plain(title, columns, rows, footer))


def field(label: str, value: object, width: int = PAGE_WIDTH) -> str:
    """Return one line of a page: the label right-aligned to `width`, a colon, the value."""
    return f"{label:>{width}}: {value}"


def fields(pairs: Iterable[tuple[str, object]], width: int = PAGE_WIDTH) -> str:
    """Return lines of a page, on a terminal broken to fit it. An empty label continues the value above."""
    return fitting(_fields(pairs, width))


def _fields(pairs: Iterable[tuple[str, object]], width: int) -> str:
    return "\n".join(
        field(name, value, width) if name else " " * (width + 2) + str(value) for name, value in pairs
    )


def fitting(text: str) -> str:
    """Return lines of a page, on a terminal broken to fit it; as they are in a pipe."""
    if not sys.stdout.isatty():
        return text
    from .output.terminal import folded

    return folded(text)


def page(title: str, sections: Sequence[tuple[str, Sequence[tuple[str, object]]]]) -> str:
    """Return a page: a title, and sections with a heading, "" for none, and (label, value) pairs.

    Labels are aligned with each other. Blanks before a heading indent its section.
    """
    width = 2 + max(len(label) for _, pairs in sections for label, _ in pairs)
    lines = [title, ""]
    for heading, pairs in sections:
        lines += [f"{heading}:", ""] if heading else []
        indent = " " * (len(heading) - len(heading.lstrip()))
        if pairs:
            lines += [*(indent + line for line in _fields(pairs, width).split("\n")), ""]
    return fitting("\n".join(lines[:-1]))


def columns(items: Sequence[str], width: int = 80) -> str:
    """Return names laid out in as many columns as fit."""
    if not items:
        return ""
    wide = max(len(item) for item in items) + 2
    per_line = max(1, width // wide)
    lines = (items[start : start + per_line] for start in range(0, len(items), per_line))
    return "\n".join("".join(f"{item:<{wide}}" for item in line).rstrip() for line in lines)
