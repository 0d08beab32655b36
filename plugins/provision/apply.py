"""`pyjs apply`: servers made to have what documents, or a plan file, declare."""

from __future__ import annotations

import asyncio
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import CliError, InterruptedRunError, RemoteError, UsageError, warn
from .session import FILES, OWNER, PRUNE, apis, documents, explained, identity, no_path, pruned

DOCUMENTS = (".yaml", ".yml")  # endings that no plan file has
AGAIN = "what is done stays; 'apply' goes on from here"

if TYPE_CHECKING:
    from ...keys import Workspace
    from ...provision.applying import Result
    from ...provision.declared import Declared
    from ...provision.identity.planner import IdentityPlan
    from ...provision.planfile import PlanFile
    from . import page

    Accounts = tuple[IdentityPlan, Workspace]


@click.command(cls=Command)
@output.showing("provision_result")
@click.argument("plan_file", required=False, type=click.Path(path_type=Path))
@FILES
@OWNER
@PRUNE
@click.option(
    "--allow-loss",
    multiple=True,
    metavar="NAME",
    help="Let this stream, bucket or consumer of the plan lose messages, or `all`.",
)
async def apply(
    plan_file: Path | None,
    paths: tuple[Path, ...],
    owner: str,
    prune: bool,
    allow_loss: tuple[str, ...],
) -> None:
    """Create and change what documents declare, or do what a plan file says.

    What would lose messages is refused unless --allow-loss names it. The first failure ends it; run it again.
    """
    from ...provision import declared, planfile

    if plan_file is not None:
        if _has_documents(plan_file):
            raise no_path(str(plan_file), f"apply -f {shlex.quote(str(plan_file))}")
        if paths or owner or prune:
            raise UsageError(
                "-f, --owner and --prune cannot be given with a plan file",
                "it has the documents, the owner and what is pruned in it",
            )
        with explained():
            reviewed = planfile.load(plan_file)
        await _apply(reviewed.declarations(), reviewed.prune, allow_loss, reviewed=reviewed)
        return
    found = documents(paths)
    doomed = pruned(prune, owner, found)
    accounts = identity(found)
    with explained():
        wanted = declared.declare(found, owner)
    await _apply(wanted, doomed, allow_loss, accounts=accounts)


def _has_documents(path: Path) -> bool:
    return path.is_dir() or path.suffix in DOCUMENTS


async def _apply(
    wanted: Declared,
    doomed: str,
    allow_loss: tuple[str, ...],
    *,
    reviewed: PlanFile | None = None,
    accounts: Accounts | None = None,
) -> None:
    """Do all that is declared, and show what is done as it is done.

    doomed: the owner whose undeclared things are deleted.
    """
    from ...provision import applying, planfile, planner, servers
    from ...provision.applying import Result

    report = _Report()
    if not wanted.domains:
        _apply_accounts(accounts, report)
        report.show(Result())
        return
    async with connect() as connection:
        with explained():
            observed = await servers.observe(wanted, apis(connection), prune=doomed)
            plan = planner.make(wanted, observed, time.time_ns(), prune=doomed)
            if reviewed is not None:
                planfile.require_unchanged(reviewed, plan)
            applying.refuse_losses(plan, allow_loss)
        for each in plan.warnings:
            warn(each)
        _apply_accounts(accounts, report)
        try:
            result = await applying.apply(plan, apis(connection), allow_loss=allow_loss, on_action=report.add)
        except asyncio.CancelledError:
            raise InterruptedRunError(f"{len(report.done)} actions were done; {AGAIN}") from None
    report.show(result)
    raise_failure(result)


def _apply_accounts(accounts: Accounts | None, report: _Report) -> None:
    if accounts is None:
        return
    from ...provision.applying import Result
    from ...provision.identity import planner

    plan, workspace = accounts
    try:
        with explained():
            planner.apply(plan, workspace, report.add)
    except CliError:
        if not report.lines:
            report.show(Result())
        raise


class _Report:
    """What was done: for people a line as it is done, for programs one document at the end."""

    def __init__(self) -> None:
        self.done: list[page.AnyAction] = []
        self.lines = output.is_for_people()

    def add(self, action: page.AnyAction) -> None:
        """Take down that an action was done."""
        from . import page

        self.done.append(action)
        if self.lines:
            click.echo(f"{page.DONE[action.verb]} {page.label(action)}")

    def show(self, result: Result) -> None:
        """Show what else there is to say of the whole run."""
        from ...provision.identity.planner import IdentityAction
        from . import page

        if self.lines:
            for each in result.not_begun:
                click.echo(f"not begun: {each.verb.value} {page.label(each)}")
            if any(isinstance(each, IdentityAction) for each in self.done):
                click.echo("'pyjs nsc push --all' sends the accounts to the servers")
            if not self.done and result.failed is None:
                click.echo("Everything is as declared.")
            return
        document = {
            "done": page.document(self.done),
            "failed": page.document([result.failed] if result.failed is not None else []),
            "not_begun": page.document(result.not_begun),
        }
        output.show_page(document, "", name=page.names(self.done))


def raise_failure(result: Result) -> None:
    """Raise the error that ended a run, if one did."""
    if result.failed is None or result.error is None:
        return
    from ...provision.errors import ProvisionError
    from . import page

    doing = f"could not {result.failed.verb.value} {page.label(result.failed)}"
    if isinstance(result.error, RemoteError):
        raise result.error.while_doing(doing, AGAIN)
    if isinstance(result.error, CliError):
        raise result.error
    if isinstance(result.error, ProvisionError):
        with explained():
            raise result.error
    raise CliError(f"{doing}: {result.error}", AGAIN) from result.error
