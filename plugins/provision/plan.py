"""`pyjs plan`: what `pyjs apply` would do, and whether that is anything."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import ExitCode, UsageError, warn
from ...cli.output.options import FORMATS
from .session import FILES, OWNER, PRUNE, apis, documents, explained, identity, pruned


@click.command(cls=Command)
@output.showing("provision_plan")
@FILES
@OWNER
@PRUNE
@click.option(
    "-o", "--out", "plan_file", type=click.Path(path_type=Path), help="Write the plan to a file, for `apply`."
)
@click.option("--schema", is_flag=True, help="Only print the JSON Schema of documents, for editors.")
async def plan(paths: tuple[Path, ...], owner: str, prune: bool, plan_file: Path | None, schema: bool) -> int:
    """Show what differs between documents and servers; exit 5 if anything does.

    A document leaves out what is a default: it declares the default. Nothing is changed.
    """
    if schema:
        from ...provision.model import schema as schema_of_documents

        click.echo(json.dumps(schema_of_documents(), indent=2))
        return ExitCode.OK
    if plan_file is not None and str(plan_file) in FORMATS:
        raise UsageError(f"-o names the file of the plan here: use --output {plan_file} for that format")
    from ...provision import declared, planfile, planner, servers
    from ...provision.plan import ChangePlan
    from . import page

    found = documents(paths)
    doomed = pruned(prune, owner, found)
    accounts = identity(found)
    if accounts is not None and plan_file is not None:
        raise UsageError("a plan file has no accounts", "plan documents with accounts without -o")
    with explained():
        wanted = declared.declare(found, owner)
    made = ChangePlan()
    if wanted.domains:
        async with connect() as connection:
            with explained():
                observed = await servers.observe(wanted, apis(connection), prune=doomed)
                made = planner.make(wanted, observed, time.time_ns(), prune=doomed)
    if plan_file is not None:
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        _write(plan_file, planfile.of_plan(made, wanted, moment, doomed).text())
    actions: list[page.AnyAction] = [*(accounts[0].actions if accounts is not None else ()), *made.actions]
    differs = any(each.verb != "nothing" for each in actions)
    document = {"differs": differs, "actions": page.document(actions), "warnings": list(made.warnings)}
    output.show_page(document, page.text(actions), name=page.names(actions))
    for each in made.warnings:
        warn(each)
    return ExitCode.DIFFERS if differs else ExitCode.OK


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
