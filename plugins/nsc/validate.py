"""`nsc validate`: validates what is stored, with exit code 1 if something blocks."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ...cli.errors import ExitCode, tell
from ...keys.folders.check import TokenIssues
from ...keys.workspace.validation import Validation, validate_file
from ...keys.workspace.validation import validate as validated
from . import completion, current_entities
from .command import NscCommand, open_workspace, run, switch
from .table import TextTable


@click.command(cls=NscCommand)
@switch("-A", "--all-accounts", "everything", text="All accounts of the current operator.")
@click.option(
    "-a",
    "--account",
    default="",
    help="This account, by name or public key.",
    shell_complete=completion.accounts,
)
@click.option("-f", "--file", default="", metavar="FILE", help="A file of tokens, one on each line.")
async def validate(everything: bool, account: str, file: str) -> None:
    """Validate the operator and an account with its users, all accounts, or a file of tokens."""
    if sum(map(bool, (everything, account, file))) > 1:
        raise click.UsageError("specify only one of --account or --all-accounts or --file")
    found = await _validated(everything, account, file)
    if run().json:
        click.echo(json.dumps(_document(found), indent=2, ensure_ascii=False))
    else:
        for finding in found.findings:
            click.echo(_table(finding))
    if found.failed:
        tell("Error: validation found errors")
        raise click.exceptions.Exit(ExitCode.FAILED)


async def _validated(everything: bool, account: str, file: str) -> Validation:
    workspace = open_workspace()
    if file:
        return validate_file(Path(file), workspace.now())
    if everything:
        return validated(workspace)
    if not account and not run().interactive and not workspace.context.account:
        return validated(workspace, [])
    return validated(workspace, [await current_entities.account(workspace, account)])


def _table(finding: TokenIssues) -> str:
    table = TextTable(f'{finding.kind.title()} "{finding.name}"')
    if not len(finding.issues):
        table.row("No issues found")
        return table.render()
    table.headers = ("#", " ", "Description")
    for number, issue in enumerate(finding.issues, 1):
        table.row(number, "!" if issue.blocking else "", issue.text)
    return table.render()


def _document(found: Validation) -> dict[str, object]:
    def issues(finding: TokenIssues) -> list[dict[str, object]]:
        return [{"level": i.level, "blocking": i.blocking, "text": i.text} for i in finding.issues]

    return {
        "valid": not found.failed,
        "findings": [{"kind": f.kind, "name": f.name, "issues": issues(f)} for f in found.findings],
    }
