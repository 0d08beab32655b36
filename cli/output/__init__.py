"""One way out: what a command lists or shows, in the format that its user asked for.

A command that lists declares its table once and fills it in; `listing` adds the options:

    STREAMS = Table("streams", "Streams", (Column("name", "Name", NAME), Column("bytes", "Size", BYTES)))

    @click.command(cls=Command)
    @output.listing(STREAMS)                # -o, --template, --json; with watch=True also --watch
    async def ls() -> None:
        ...
        output.show(STREAMS.of([{"name": "ORDERS", "bytes": 45}]))

A command that shows one thing has its document, as the API or the server sent it, and the page for people:

    @click.command(cls=Command)
    @output.showing("stream_info")
    async def info() -> None:
        ...
        output.show_page(document, text, name="ORDERS")

`listing` and `showing` stand directly below `click.command`: then they see which short forms are taken. A
report of several tables declares and shows all of them; the first one is what `csv`, `ndjson`, `name` and
templates print. `--json` is the shape that `nats` has, where it has one (`document=`), else as `-o json`.

Promises: only what a format needs is imported. In a pipe nothing is cut off. What is not a result (progress,
warnings) never gets in between.
"""

from __future__ import annotations

from .choice import Shape
from .columns import (
    BYTES,
    DECIMAL,
    FLAG,
    LIST,
    NAME,
    NUMBER,
    SPAN,
    TEXT,
    TIME,
    WORD,
    Column,
    FilledTable,
    Grid,
    Record,
    Table,
)
from .options import formats_before, json_before, listing, shape_of, showing
from .result import drawn, is_asked_for, is_for_people, page_text, show, show_none, show_page

__all__ = (
    "BYTES",
    "DECIMAL",
    "FLAG",
    "LIST",
    "NAME",
    "NUMBER",
    "SPAN",
    "TEXT",
    "TIME",
    "WORD",
    "Column",
    "FilledTable",
    "Grid",
    "Record",
    "Shape",
    "Table",
    "drawn",
    "formats_before",
    "is_asked_for",
    "is_for_people",
    "json_before",
    "listing",
    "page_text",
    "shape_of",
    "show",
    "show_none",
    "show_page",
    "showing",
)
