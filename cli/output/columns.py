"""What a list is made of: its columns, declared once, and the rows that a command fills in.

A `Table` is declared by a module, beside the command that shows it: the field names that scripts see, the
headings that people see, and the kind of each value. `Table.of` makes a `FilledTable` of records. A record is
a dict by field name, with values as JSON has them: a size is a number of bytes, a span of time a number of
nanoseconds, a moment an RFC 3339 text. How a value reads in a table follows from its kind.

Promises: nothing here looks at the terminal, and nothing is imported that a page of help does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from .. import words

Record = Mapping[str, Any]

# Where a cell is shortened when there is no room; EACH: each of the names that it lists, in its middle.
MIDDLE, END, EACH, WHOLE = "middle", "end", "each", "whole"


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    schema: its JSON Schema.
    text: the value as a cell.
    clip: where a cell is shortened when there is no room; WHOLE: nowhere, since half a number is a wrong one.
    """

    schema: Mapping[str, Any]
    text: Callable[[Any], str]
    clip: str = WHOLE


def _moment(value: str) -> str:
    """Return an RFC 3339 time as lists show it: local, to the second."""
    found = words.parse_time(value)
    return f"{found.astimezone():%Y-%m-%d %H:%M:%S}" if found else ""


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values or ()))


def _yes(value: object) -> str:
    return "yes" if value else "no"


NAME = Kind({"type": "string"}, str, MIDDLE)
TEXT = Kind({"type": "string"}, str, END)
WORD = Kind({"type": "string"}, str)
NUMBER = Kind({"type": "integer"}, words.number)
DECIMAL = Kind({"type": "number"}, lambda value: f"{value:g}")
BYTES = Kind({"type": "integer", "description": "bytes"}, words.size)
SPAN = Kind({"type": "integer", "description": "nanoseconds; -1 is never"}, words.span)
TIME = Kind({"type": "string", "description": "RFC 3339; empty is never"}, _moment)
FLAG = Kind({"type": "boolean"}, _yes)
LIST = Kind({"type": "array", "items": {"type": "string"}}, _listed, EACH)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    field: its name in JSON, CSV and templates; it never changes.
    title: its heading.
    show: makes the cell from the whole record, if the value alone does not say it.
    wide: only `-o wide` and the formats for programs have it.
    optional: a table without any such value does not have the column.
    silent: cells that say nothing: a column with nothing else gives way first when there is no room.
    nullable: whether a record may have no value, which is null in JSON.
    same: a column with the same cell in each row says nothing either, as the cluster of all servers.
        A list of several does.
    main: what the table is looked at for: it is shortened after all others.
    """

    field: str
    title: str
    kind: Kind = TEXT
    show: Callable[[Any], str] | None = None
    wide: bool = False
    optional: bool = False
    silent: tuple[str, ...] = ("",)
    same: bool = False
    nullable: bool = False
    main: bool = False

    def cell(self, record: Record, *, raw: bool = False) -> str:
        """Return the value of a record as people read it; empty if it has none.

        raw: whether numbers and sizes are digits, and spans are written as servers write them.
        """
        if raw and self.kind in (NUMBER, BYTES):
            return str(record.get(self.field, ""))
        if raw and self.kind is SPAN:
            return words.go_span(record[self.field])
        if self.show is not None:
            return self.show(record)
        value = record.get(self.field)
        return "" if value is None else self.kind.text(value)


@dataclass(frozen=True)
class Table:
    """The declaration of a list.

    name: its key where a report has several lists, and its name in `pyjs schema cli`.
    title: what stands above it; `Table.of` may say it more exactly.
    key: the field that `-o name` prints.
    empty: what is said instead of a table without rows; None: the table is drawn without them.
    spare: the fields that people need least, in the order in which they go when there is no room. The others
        go after these, from the right.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    key: str = "name"
    empty: str | None = None
    spare: tuple[str, ...] = ()

    @property
    def has_names(self) -> bool:
        """Whether `-o name` can print anything."""
        return any(column.field == self.key for column in self.columns)

    def of(
        self,
        records: Iterable[Record],
        *,
        title: str | None = None,
        footer: Mapping[str, object] | None = None,
        cells: Sequence[Sequence[str]] | None = None,
        drawn: FilledTable | None = None,
        raw: bool = False,
    ) -> FilledTable:
        """Return the table filled with records.

        footer: texts below the columns, by field.
        cells: the rows as people see them, a cell for each column, if they are not those of the records.
        drawn: what people see in place of this table, if it is laid out quite otherwise.
        raw: whether people see numbers and sizes as digits, and spans as servers write them.
        """
        return FilledTable(
            self,
            list(records),
            self.title if title is None else title,
            footer={} if footer is None else {name: str(value) for name, value in footer.items()},
            cells=cells,
            drawn=drawn,
            raw=raw,
        )


@dataclass(frozen=True)
class FilledTable:
    """A table with its rows, ready to be shown."""

    table: Table
    records: list[Record]
    title: str
    footer: Mapping[str, str] = field(default_factory=dict)
    cells: Sequence[Sequence[str]] | None = None
    drawn: FilledTable | None = None
    raw: bool = False

    def values(self) -> list[dict[str, Any]]:
        """Return the records with the fields of the columns, in their order."""
        return [
            {each.field: record.get(each.field) for each in self.table.columns} for record in self.records
        ]

    def texts(self, *, wide: bool) -> Grid:
        """Return what people see: headings and cells."""
        if self.drawn is not None:
            return self.drawn.texts(wide=wide)
        columns = self.table.columns
        body = self.cells
        if body is None:
            body = [[column.cell(record, raw=self.raw) for column in columns] for record in self.records]
        last = [self.footer.get(column.field, "") for column in columns] if self.footer else []
        headings = [column.title for column in columns]
        grid = Grid(self.title, list(columns), headings, [list(row) for row in body], last, self.table.spare)
        shown = [
            index
            for index, column in enumerate(columns)
            if wide or not (column.wide or (column.optional and grid.is_empty(index)))
        ]
        return grid.only(shown)


@dataclass(frozen=True)
class Grid:
    """The texts of a table: a heading for each column, rows of cells, and a last row that is set off.

    spare: the fields of the columns that go first when there is no room.
    """

    title: str
    columns: list[Column]
    headings: list[str]
    rows: list[list[str]]
    footer: list[str] = field(default_factory=list)
    spare: tuple[str, ...] = ()

    def only(self, indexes: Sequence[int]) -> Grid:
        """Return the same with these columns only."""
        return replace(
            self,
            columns=[self.columns[index] for index in indexes],
            headings=[self.headings[index] for index in indexes],
            rows=[[row[index] for index in indexes] for row in self.rows],
            footer=[self.footer[index] for index in indexes] if self.footer else [],
        )

    def says_nothing(self, index: int) -> bool:
        """Return whether a column has nothing to say in any row."""
        cells = {row[index] for row in self.rows}
        same = self.columns[index].same and len(cells) == 1 and ", " not in min(cells)
        return same or self.is_empty(index)

    def is_empty(self, index: int) -> bool:
        """Return whether no row of a column has a value other than its silent ones."""
        return {row[index] for row in self.rows} <= {"", *self.columns[index].silent}


def plain(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], footer: Sequence[object] | None
) -> Grid:
    """Return a grid of texts that nobody declared: the first column is one of names."""
    columns = [Column("", text, TEXT if index else NAME) for index, text in enumerate(headings)]
    body = [[str(cell) for cell in row] for row in rows]
    return Grid(title, columns, list(headings), body, [str(cell) for cell in footer] if footer else [])
