"""`pyjs schema cli`: the JSON Schema of what each command prints with `-o json`.

It is made of the columns that commands declare, so it cannot differ from them. Documents of the API and of
servers have fields of their own, which their servers may add to: their schemas name those that are always
there.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from ...cli import output
from ...cli.command import Command
from ...cli.errors import NotFoundError, close_matches
from ...cli.output import Column, Shape, Table, shape_of
from .documents import DOCUMENTS, OBJECT, Schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command("cli", cls=Command)
@output.showing("output_schema")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
def cli(words: tuple[str, ...]) -> None:
    """Show what COMMAND prints with -o json as a JSON Schema; without one, an object of all of them."""
    root = click.get_current_context().find_root()
    found = dict(outputs(root.command, root))
    path = " ".join(words)
    if words and path not in found:
        known = [name for name in found if name.startswith(words[0])]
        hint = close_matches(path, found) or f"there are {', '.join(known or found)}"
        raise NotFoundError(f'no command "{path}" lists or shows something', hint)
    chosen = found[path] if words else {"commands": found}
    document = {"$schema": DIALECT, **chosen}
    from ...cli.output.formats import as_json

    output.show_page(document, as_json(document), name=path)


def outputs(command: click.Command, context: click.Context, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield every command that lists or shows something, by its words, with the schema of its output."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                inner = click.Context(found, parent=context, info_name=name)
                yield from outputs(found, inner, f"{path} {name}".strip())
        return
    shape = shape_of(command)
    if shape is not None:
        yield path, of_shape(shape)


def of_shape(shape: Shape) -> Schema:
    """Return the schema of what a command prints with `-o json`."""
    if shape.page:
        fields = DOCUMENTS.get(shape.page, {})
        return {"title": shape.page, **OBJECT, "properties": fields, "required": list(fields)}
    first = _of_tables(shape.tables)
    if not shape.alternative:
        return first
    return {"anyOf": [first, _of_tables(shape.alternative)]}


def _of_tables(tables: tuple[Table, ...]) -> Schema:
    if len(tables) == 1:
        return _of_table(tables[0])
    return {
        "type": "object",
        "properties": {table.name: _of_table(table) for table in tables},
        "required": [table.name for table in tables],
        "additionalProperties": False,
    }


def _of_value(column: Column) -> Schema:
    schema = dict(column.kind.schema)
    return {**schema, "type": [schema["type"], "null"]} if column.nullable else schema


def _of_table(table: Table) -> Schema:
    columns = {column.field: {"title": column.title, **_of_value(column)} for column in table.columns}
    record = {
        "type": "object",
        "properties": columns,
        "required": list(columns),
        "additionalProperties": False,
    }
    return {"title": table.name, "type": "array", "items": record}
