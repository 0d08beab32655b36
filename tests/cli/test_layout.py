"""A table fits the terminal; output for a program is complete."""

# ruff: noqa: E501 - tables are as wide as they are

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pyjs.cli.errors import UsageError
from pyjs.cli.output import BYTES, FLAG, LIST, NAME, NUMBER, SPAN, TEXT, TIME, WORD, Column, Table, formats
from pyjs.cli.output.cells import clean, shortened, shortened_cells, width_of
from pyjs.cli.output.layout import draw
from pyjs.cli.output.yaml import dump

KINDS = (NAME, TEXT, WORD, NUMBER, BYTES, SPAN, FLAG, LIST, TIME)
WORDS = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
VALUES: dict[int, st.SearchStrategy[Any]] = {
    id(NUMBER): st.integers(0, 10**15),
    id(BYTES): st.integers(0, 10**15),
    id(SPAN): st.integers(-1, 2**63 - 1),
    id(FLAG): st.booleans(),
    id(LIST): st.lists(WORDS, max_size=4),
    id(TIME): st.sampled_from(["", "2026-11-23T07:43:59.060408794Z"]),
}


@st.composite
def tables(make: st.DrawFn) -> Any:
    """A table of any columns, filled with any values."""
    columns = tuple(
        Column(
            f"field_{place}",
            make(WORDS),
            make(st.sampled_from(KINDS)),
            wide=make(st.booleans()),
            optional=make(st.booleans()),
            same=make(st.booleans()),
            main=make(st.booleans()),
        )
        for place in range(make(st.integers(1, 9)))
    )
    records = [
        {column.field: make(VALUES.get(id(column.kind), WORDS)) for column in columns}
        for _ in range(make(st.integers(0, 4)))
    ]
    footer = {column.field: make(WORDS) for column in columns} if make(st.booleans()) else None
    return Table("things", make(WORDS), columns).of(records, footer=footer)


@given(tables(), st.integers(8, 220), st.booleans())
def test_no_line_is_wider_than_the_terminal(rows: Any, width: int, double: bool) -> None:
    grid = rows.texts(wide=False)
    if not grid.columns:
        return
    lines = draw(grid, width, double=double).splitlines()
    assert max(map(width_of, lines)) <= width
    boxed = [line for line in lines if not line.startswith("…")]
    assert len({width_of(line) for line in boxed}) == 1  # the borders are straight


@given(tables())
def test_without_a_width_every_cell_is_whole(rows: Any) -> None:
    drawn = draw(rows.texts(wide=True))
    for record in rows.records:
        for column in rows.table.columns:
            assert clean(column.cell(record)) in drawn


@given(tables())
def test_programs_get_every_column_whatever_is_shown(rows: Any) -> None:
    fields = [column.field for column in rows.table.columns]
    assert all(list(each) == fields for each in json.loads(formats.as_json(rows.values())))
    assert json.loads(formats.as_json(rows.values())) == rows.records
    table = list(csv.DictReader(io.StringIO(formats.as_csv(fields, rows.values()), newline="")))
    assert [list(each) for each in table] == [fields] * len(rows.records)
    assert yaml.safe_load(formats.as_yaml(rows.values())) == rows.records


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_a_parser_reads_the_document_that_was_written_as_yaml(document: Any) -> None:
    assert yaml.safe_load(dump(document)) == document


@pytest.mark.parametrize(
    "text", ["yes", "NO", "null", "~", "1.5", "0x1f", "1e3", "-", "- a", "a: b", "a #b", " a", "a ", "2026-11-23",
             "12:30", "=", "<<", "!x", "*x", "&x", "%x", "@x", "`x", "'x", '"', "a\nb", "é\x85", "\ufeff", "😀", ".inf"]
)  # fmt: skip
def test_a_text_that_reads_as_something_else_is_quoted(text: str) -> None:
    assert yaml.safe_load(dump({text: [text]})) == {text: [text]}


@given(WORDS, st.integers(0, 40), st.sampled_from(["middle", "end"]))
def test_a_shortened_text_says_so(text: str, width: int, where: str) -> None:
    shown = shortened(text, width, where)
    assert width_of(shown) <= width
    assert shown == text or "…" in shown or not width


def test_a_name_keeps_its_beginning_and_its_end() -> None:
    assert shortened("ORDERS-north-west-2026", 13, "middle") == "ORDERS…t-2026"
    assert shortened("what it is for", 8, "end") == "what it…"


REPORT = Table(
    "consumers",
    "Consumer report for ORDERS with 2 consumers",
    (
        Column("name", "Consumer", NAME),
        Column("mode", "Mode", WORD),
        Column("ack_policy", "Ack Policy", WORD),
        Column("ack_pending", "Ack Pending", NUMBER),
        Column("redelivered", "Redelivered", NUMBER, silent=("0",)),
        Column("unprocessed", "Unprocessed", NUMBER),
        Column("cluster", "Cluster", LIST, same=True),
    ),
).of([
    {"name": name, "mode": "Pull", "ack_policy": "Explicit", "ack_pending": 12, "redelivered": 0,
     "unprocessed": 1_234_567, "cluster": ["srv-1*"]}
    for name in ("dispatcher-of-the-north-west", "billing")
])  # fmt: skip
WIDTHS = {
    94: """\
╭────────────────────────────────────────────────────────────────────────────────────────────╮
│                        Consumer report for ORDERS with 2 consumers                         │
├──────────────────────────────┬──────┬────────────┬─────────────┬─────────────┬─────────────┤
│ Consumer                     │ Mode │ Ack Policy │ Ack Pending │ Redelivered │ Unprocessed │
├──────────────────────────────┼──────┼────────────┼─────────────┼─────────────┼─────────────┤
│ dispatcher-of-the-north-west │ Pull │ Explicit   │ 12          │ 0           │ 1,234,567   │
│ billing                      │ Pull │ Explicit   │ 12          │ 0           │ 1,234,567   │
╰──────────────────────────────┴──────┴────────────┴─────────────┴─────────────┴─────────────╯""",
    80: """\
╭──────────────────────────────────────────────────────────────────────────────╮
│                 Consumer report for ORDERS with 2 consumers                  │
├──────────────────────────────┬──────┬────────────┬─────────────┬─────────────┤
│ Consumer                     │ Mode │ Ack Policy │ Ack Pending │ Unprocessed │
├──────────────────────────────┼──────┼────────────┼─────────────┼─────────────┤
│ dispatcher-of-the-north-west │ Pull │ Explicit   │ 12          │ 1,234,567   │
│ billing                      │ Pull │ Explicit   │ 12          │ 1,234,567   │
╰──────────────────────────────┴──────┴────────────┴─────────────┴─────────────╯""",
    70: """\
╭────────────────────────────────────────────────────────────────────╮
│            Consumer report for ORDERS with 2 consumers             │
├──────────────────────────┬──────┬──────────┬─────────┬─────────────┤
│ Consumer                 │ Mode │ Ack      │ Ack     │ Unprocessed │
│                          │      │ Policy   │ Pending │             │
├──────────────────────────┼──────┼──────────┼─────────┼─────────────┤
│ dispatcher-o…-north-west │ Pull │ Explicit │ 12      │ 1,234,567   │
│ billing                  │ Pull │ Explicit │ 12      │ 1,234,567   │
╰──────────────────────────┴──────┴──────────┴─────────┴─────────────╯""",
    62: """\
╭────────────────────────────────────────────────────────────╮
│        Consumer report for ORDERS with 2 consumers         │
├──────────────────────┬──────┬──────────┬───────┬───────────┤
│ Consumer             │ Mode │ Ack      │ Ack   │ Unproc.   │
│                      │      │ Policy   │ Pend. │           │
├──────────────────────┼──────┼──────────┼───────┼───────────┤
│ dispatcher…orth-west │ Pull │ Explicit │ 12    │ 1,234,567 │
│ billing              │ Pull │ Explicit │ 12    │ 1,234,567 │
╰──────────────────────┴──────┴──────────┴───────┴───────────╯""",
    50: """\
╭────────────────────────────────────────────────╮
│  Consumer report for ORDERS with 2 consumers   │
├──────────────────────┬──────┬──────────┬───────┤
│ Consumer             │ Mode │ Ack      │ Ack   │
│                      │      │ Policy   │ Pend. │
├──────────────────────┼──────┼──────────┼───────┤
│ dispatcher…orth-west │ Pull │ Explicit │ 12    │
│ billing              │ Pull │ Explicit │ 12    │
╰──────────────────────┴──────┴──────────┴───────╯
… -o wide also shows Unprocessed""",
    40: """\
╭──────────────────────────────────────╮
│ Consumer report for ORDERS with 2 c… │
├────────────────────┬──────┬──────────┤
│ Consumer           │ Mode │ Ack      │
│                    │      │ Policy   │
├────────────────────┼──────┼──────────┤
│ dispatche…rth-west │ Pull │ Explicit │
│ billing            │ Pull │ Explicit │
╰────────────────────┴──────┴──────────╯
… -o wide also shows Ack Pending, Unpro…""",
}


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_give_way_one_after_the_other(width: int) -> None:
    """First what says nothing, then headings are broken and abbreviated, names shortened, numbers go whole."""
    assert draw(REPORT.texts(wide=False), width, wide="-o wide") == WIDTHS[width]


def test_a_name_from_elsewhere_cannot_move_the_cursor() -> None:
    table = Table("t", "\x1b[2Jtitle", (Column("name", "Name", NAME),)).of(
        [{"name": "a\x1b[31m\nb\x9b5A\u202ec"}]
    )
    drawn = draw(table.texts(wide=False))
    assert all(letter.isprintable() or letter == "\n" for letter in drawn)
    assert len(drawn.splitlines()) == 7
    assert formats.as_json("\x9b") == '"\\u009b"'


def test_a_template_reaches_fields_and_nothing_else() -> None:
    record = {"name": "A", "state": {"bytes": 2048, "ts": ""}, "subjects": ["a.>", "b"], "on": True}
    fill = formats.templated
    assert fill(r"{name}\t{state.bytes:size}", [record]) == ["A\t2.0 KiB"]
    assert fill("{subjects.1} {subjects} {on} {name:>3}|{state.ts}", [record]) == ["b a.>,b true   A|"]
    assert fill("{state}", [record]) == ['{"bytes":2048,"ts":""}']
    for wrong in ("{name.__class__}", "{", "{state.bytes:zz}"):
        with pytest.raises(UsageError):
            fill(wrong, [record])
    with pytest.raises(UsageError, match='no field "nam"'):
        fill("{nam}", [record], ["name", "state"])


def test_markdown_keeps_its_columns() -> None:
    table = Table("t", "T", (Column("name", "Name"), Column("note", "Note"))).of(
        [{"name": "a|b", "note": "x\ny"}]
    )
    assert (
        formats.as_markdown(table.texts(wide=True))
        == "# T\n\n| Name | Note |\n| --- | --- |\n| a\\|b | x y |"
    )


def test_the_main_column_is_shortened_last() -> None:
    table = Table(
        "results",
        "",
        (
            Column("name", "Name", NAME),
            Column("folder", "Folder", NAME),
            Column("size", "Size", BYTES),
            Column("result", "Result", TEXT, main=True),
        ),
    )
    result = "58,000 messages as in the Stream"
    grid = table.of([{"name": "N" * 30, "folder": "f" * 40, "size": 5, "result": result}]).texts(wide=False)
    for width in (55, 60, 80, 100, 140):
        assert f"│ {result} │" in draw(grid, width), width
    assert "… no room for Folder, Size" in draw(grid, 55)
    assert "│ NNNNNNNN…NNNNNNN │ 58,000 messages as in the … │" in draw(grid, 50)
    assert "│ 58,000 messages as in … │" in draw(grid, 36)


def test_a_table_says_which_columns_people_need_least() -> None:
    columns = tuple(Column(name, name.title(), NAME) for name in ("first", "second", "third", "fourth"))
    record = {column.field: f"{column.field}-{'x' * 20}" for column in columns}
    grid = Table("t", "", columns, spare=("second", "fourth")).of([record]).texts(wide=False)
    gone = {
        width: draw(grid, width, wide="-o wide").partition("also shows ")[2] for width in (77, 76, 58, 57, 39)
    }
    assert gone == {
        77: "", 76: "Second", 58: "Second", 57: "Second, Fourth", 39: "Second, Fourth"
    }  # fmt: skip


def test_a_column_that_fits_in_the_end_comes_back() -> None:
    columns = (Column("name", "Name", NAME), Column("n", "N", NUMBER), Column("when", "When", TIME))
    record = {"name": "x" * 12, "n": 1, "when": "2026-11-23T07:43:59Z"}
    shown = draw(Table("t", "", columns, spare=("n", "when")).of([record]).texts(wide=False), 30)
    assert "│ 1 │" in shown
    assert shown.endswith("… no room for When")


NAMES = ("nats-prod-01.eu.example.net", "nats-prod-02.eu.example.net", "nats-prod-03.eu.example.net")


@pytest.mark.parametrize("width", range(24, 90))
def test_servers_of_a_list_can_be_told_apart(width: int) -> None:
    texts = [", ".join(name + "*" * (name == leader) for name in NAMES) for leader in NAMES]
    shown = shortened_cells(texts, width, "each")
    assert max(map(width_of, shown)) <= width
    if width >= 31:  # of each name there is room for the digit that makes the difference
        assert len(set(shown)) == 3
        for text, number in zip(shown, (0, 1, 2), strict=True):
            names = text.split(", ")
            assert [name.endswith("*") for name in names] == [place == number for place in range(3)]
            assert len({name.rstrip("*") for name in names}) == 3


@pytest.mark.parametrize("width", range(16, 28))
def test_names_that_differ_are_shortened_so_that_they_still_do(width: int) -> None:
    assert len(set(shortened_cells(NAMES, width, "middle"))) == 3


@pytest.mark.parametrize("width", range(16, 44))
def test_names_that_differ_in_their_middle_are_shortened_so_that_they_still_do(width: int) -> None:
    names = [f"orders-of-the-{side}ern-warehouse-in-2026" for side in ("north", "south")]
    shown = shortened_cells(["TELEMETRY", *names], width, "middle")
    assert max(map(width_of, shown)) <= width
    assert len(set(shown)) == 3


def test_a_number_is_whole_or_not_there() -> None:
    grid = Table("t", "", (Column("name", "Name", NAME), Column("n", "N", NUMBER))).of(
        [{"name": "x" * 40, "n": 123_456_789}]
    )
    for width in range(24, 60):
        shown = draw(grid.texts(wide=False), width)
        assert "123,456,789" in shown or "no room for N" in shown
