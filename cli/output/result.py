"""Showing a result: the tables or the document of a command, in the format chosen.

`show` and `show_page` are called once by a command, with all that it has to show.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import CliError, warn
from ..flags import session
from . import formats, layout, terminal
from .cells import clean
from .choice import OutputChoice, chosen
from .columns import FilledTable, Grid, Table

DRAWN = {"md": "md", "markdown": "md", "csv": "csv", "tsv": "tsv"}  # values of NATS_TABLE_FORMAT


def is_for_people() -> bool:
    """Return whether the result is drawn, so that texts around it (progress, a hint) are welcome."""
    choice = chosen()
    return not choice.json and not choice.template and choice.format in ("", formats.TABLE, formats.WIDE)


def is_asked_for() -> bool:
    """Return whether the user chose a format, so that a command that prints names otherwise shows a table."""
    choice = chosen()
    return bool(choice.json or choice.template or choice.format)


def show(
    *tables: FilledTable,
    document: object = None,
    before: str = "",
    after: str = "",
    aside: FilledTable | None = None,
    text: str = "",
) -> None:
    """Show tables, the first of which is what the command is named after.

    document: what `--json` prints, where `nats` has a shape of its own.
    before, after: what people read above and below the tables.
    aside: names that are missing in the result. People see them below; in other formats a warning on stderr
        tells them.
    text: what people see in place of tables, such as bars.
    """
    choice = chosen()
    main = tables[0]
    if aside is not None and aside.records and not is_for_people():
        warn(f"{aside.title}: {', '.join(str(each[aside.table.key]) for each in aside.values())}")
    fields = [column.field for column in main.table.columns]
    several = len(tables) > 1
    if choice.json:
        shape = formats.of_tables(tables, several=several) if document is None else document
        _write(formats.as_json(shape))
    elif choice.template:
        _write_lines(formats.templated(choice.template, main.values(), fields))
    elif choice.format == formats.JSON:
        _write(formats.as_json(formats.of_tables(tables, several=several)))
    elif choice.format == formats.YAML:
        _write(formats.as_yaml(formats.of_tables(tables, several=several)))
    elif choice.format == formats.NDJSON:
        _write_lines(formats.as_json(each, indent=None) for each in main.values())
    elif choice.format == formats.CSV:
        _write(formats.as_csv(fields, main.values()))
    elif choice.format == formats.NAME:
        names = (clean(str(each.get(main.table.key, ""))) for each in main.values())
        _write_lines(name for name in names if name)  # a step of an explanation may have none
    elif choice.format == formats.MD:
        full = [formats.as_markdown(each.texts(wide=True)) for each in tables if _is_drawn(each)]
        _write("\n\n".join(full or [main.table.empty or ""]))
    elif text:
        _write(terminal.folded(text))
    else:
        _draw(tables, choice, before, after, aside)


def show_none(table: Table) -> None:
    """Show programs a list with nothing in it; people get the error that says so."""
    if not is_for_people():
        show(table.of([]), document=[])


def _is_drawn(rows: FilledTable) -> bool:
    return bool(rows.records) or rows.table.empty is None


def _draw(
    tables: Sequence[FilledTable], choice: OutputChoice, before: str, after: str, aside: FilledTable | None
) -> None:
    wide = choice.format == formats.WIDE
    parts = [before] if before and choice.screen is None else []
    missing = [aside] if aside is not None and aside.records else []
    for rows in [*tables, *missing]:
        if _is_drawn(rows):
            parts.append(drawn(rows.texts(wide=wide), form=choice.format) + "\n")
        elif rows.table.empty and not missing:
            parts.append(rows.table.empty)
    parts += [after] if after else []
    if parts:
        _write("\n".join(parts), wide=wide)


def show_page(
    document: Mapping[str, Any],
    text: str | None,
    *,
    name: str | Sequence[str] = "",
    legacy: object = None,
) -> None:
    """Show a document: for people as the page `text` (None: not at all), for programs as it is.

    name: what `-o name` prints; several names are a line each.
    legacy: what `--json` prints, where `nats` has a shape of its own.
    """
    found = page_text(document, text, name=name, legacy=legacy)
    if found is not None:
        _write(found, wide=chosen().format == formats.WIDE)


def page_text(
    document: Mapping[str, Any],
    text: str | None,
    *,
    name: str | Sequence[str] = "",
    legacy: object = None,
) -> str | None:
    """Return what `show_page` prints; None for nothing."""
    choice = chosen()
    pairs = [{"field": path, "value": value} for path, value in formats.flattened(dict(document))]
    if choice.json:
        return formats.as_json(document if legacy is None else legacy)
    if choice.template:
        return "\n".join(formats.templated(choice.template, [document]))
    if choice.format == formats.JSON:
        return formats.as_json(document)
    if choice.format == formats.YAML:
        return formats.as_yaml(document)
    if choice.format == formats.NDJSON:
        return formats.as_json(document, indent=None)
    if choice.format == formats.CSV:
        return formats.as_csv(("field", "value"), pairs)
    if choice.format == formats.NAME:
        return "\n".join(clean(each) for each in ([name] if isinstance(name, str) else name) if each) or None
    if choice.format == formats.MD or (not choice.format and os.environ.get("LLMFORMAT") == "1"):
        rows = [[str(each["field"]), formats.as_json(each["value"])] for each in pairs]
        title = name if isinstance(name, str) else ""
        return formats.as_markdown(Grid(title, [], ["Field", "Value"], rows))
    return text


def _write_lines(lines: Iterable[str]) -> None:
    """Write a line for each record; nothing if there are none."""
    found = list(lines)
    if found:
        _write("\n".join(found))


def _write(text: str, *, wide: bool = False) -> None:
    """Write a result; in a watch, over the one before."""
    screen = chosen().screen
    if screen is not None:
        screen.draw(text)
    else:
        terminal.write(text, wide=wide)


def drawn(grid: Grid, *, form: str = "") -> str:
    """Return a table as people see it here, without a final newline.

    form: what was asked for: TABLE or WIDE. If nothing was, `NATS_TABLE_FORMAT` (md, csv or tsv) and
        `LLMFORMAT=1` (md) say how tables look, as for `nats`.
    """
    if not form and os.environ.get("LLMFORMAT") == "1":
        return formats.as_markdown(grid)
    by_default = "" if form else DRAWN.get(os.environ.get("NATS_TABLE_FORMAT", "").lower(), "")
    if by_default == "md":
        return formats.as_markdown(grid)
    if by_default:
        rows = [grid.headings, *grid.rows, *([grid.footer] if grid.footer else [])]
        cells = [[clean(cell) for cell in row] for row in rows]
        text = formats.separated(cells, "\t" if by_default == "tsv" else ",")
        return f"{clean(grid.title)}\n{text}" if grid.title else text
    scheme = _scheme()
    coloured = None
    if scheme not in ("", "double", "rounded"):

        def coloured(text: str) -> str:
            return terminal.styled(text, scheme)

    limit = None if form == formats.WIDE else terminal.width()
    text = layout.draw(grid, limit, coloured, double=scheme == "double", wide=chosen().wide)
    if session().columns and text != (whole := layout.draw(grid, double=scheme == "double")):
        session().fitted.append((text, whole))
    return text


def _scheme() -> str:
    """Return the colour scheme of the run, from the flag, its variable or the context."""
    from ..profile import resolve

    try:
        return resolve(session()).text("color_scheme")
    except CliError:  # a table is not the place to report wrong settings
        return ""
