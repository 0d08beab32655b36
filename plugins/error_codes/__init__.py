"""`pyjs errors`: the error codes of JetStream. Each command is imported when it is called."""

from __future__ import annotations

import click

from ...cli.command import CommandGroup, table_rows
from ...cli.param import ExistingPath

_ROWS = (
    ("edit", "edit:edit", "Change or add an error of a file, in your editor", ("vi", "add", "new")),
    ("lookup", "show:lookup", "Show one error", ("find", "get", "l", "view", "show")),
    ("ls", "show:ls", "List the errors", ("list",)),
    ("validate", "show:validate", "Check a file of errors", ()),
)


@click.group(cls=CommandGroup, rows=table_rows("pyjs.plugins.error_codes", _ROWS))
@click.option("--errors", metavar="FILE", type=ExistingPath(dir_okay=False), help="Errors to use.")
def errors(errors: str | None) -> None:
    """Explain the error codes of JetStream."""
    click.get_current_context().meta[__name__] = errors
