"""`pyjs plan`: what `pyjs apply` would do, and whether that is anything."""

from __future__ import annotations

import json
import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import ExitCode, UsageError, warn
from ...cli.output.choice import chosen
from ...cli.output.options import FORMATS, HELP
from ...cli.proposal import in_hint
from .session import FILES, OWNER, PRUNE, apis, documents, explained, identity, no_path, pruned

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _FormOrFile(click.Path):
    """A form of `-o`, which stays a str, or the path of a file: it has a dot or a slash in it."""

    name = "form or file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | Path:
        """Return the form or the path. Any other word is a usage error, so that none is taken for a file."""
        text = str(value)
        if text in FORMATS:
            return text
        if not re.search(r"[./\\]", text):
            self.fail(
                f"'{text}' is neither a form ({', '.join(FORMATS)}) nor a path: "
                f"a file has a dot or a slash in its name, as in ./{text}; --out takes any name",
                param,
                ctx,
            )
        return Path(text)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the forms that start so, and files."""
        from click.shell_completion import CompletionItem

        forms = [CompletionItem(each) for each in FORMATS if each.startswith(incomplete)]
        return forms or super().shell_complete(ctx, param, incomplete)


@click.command(cls=Command, context_settings={"allow_extra_args": True})
@output.showing("provision_plan")
@FILES
@OWNER
@PRUNE
@click.option(
    "-o", "--output", "form", type=_FormOrFile(), metavar="FORMAT|FILE",
    help=f"{HELP} Or a file for `apply`: a name with a dot or a slash.",
)  # fmt: skip
@click.option(
    "--out", "plan_file", type=click.Path(path_type=Path), help="Write the plan to this file, for `apply`."
)
@click.option("--schema", is_flag=True, help="Only print the JSON Schema of documents, for editors.")
async def plan(
    paths: tuple[Path, ...],
    owner: str,
    prune: bool,
    form: str | Path | None,
    plan_file: Path | None,
    schema: bool,
) -> int:
    """Show what differs between documents and servers; exit 5 if anything does.

    A document leaves out what is a default: it declares the default. Nothing is changed.
    """
    stray = click.get_current_context().args
    if stray:
        raise no_path(stray[0], f"plan -f {shlex.quote(stray[0])}")
    if schema:
        from ...provision.model import schema as schema_of_documents

        click.echo(json.dumps(schema_of_documents(), indent=2))
        return ExitCode.OK
    if isinstance(form, Path):
        if plan_file is not None:
            raise UsageError("-o and --out both name a file", "-o json --out FILE prints a form, too")
        plan_file = form
    elif form:
        chosen().format = form
    from ...provision import declared, planfile, planner, servers
    from ...provision.plan import ChangePlan
    from . import page

    found = documents(paths)
    doomed = pruned(prune, owner, found)
    accounts = identity(found)
    if accounts is not None and plan_file is not None:
        raise UsageError("a plan file has no accounts", "plan documents with accounts without a file")
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
    if plan_file is not None:
        line = f"apply {shlex.quote(str(plan_file))}"
        click.echo(f"The plan is in {plan_file}: {in_hint(line)} does it", err=True)
    for each in made.warnings:
        warn(each)
    return ExitCode.DIFFERS if differs else ExitCode.OK


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
