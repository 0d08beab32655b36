"""`nsc select operator|account`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from ....keys import OperationReport, Workspace
from .. import completion
from ..command import NscCommand, finish, open_workspace


@dataclass(frozen=True, slots=True)
class Selected:
    """What is current now; it is reported only with `--json`."""

    operator: str
    account: str
    report: OperationReport


@click.command(cls=NscCommand)
@click.argument("name", shell_complete=completion.operators)
def operator(name: str) -> None:
    """Make an operator of the stores directory the current one."""
    _select(open_workspace().with_operator(name))


@click.command(cls=NscCommand)
@click.argument("name", shell_complete=completion.accounts)
def account(name: str) -> None:
    """Make an account of the current operator the current one, by name or public key."""
    _select(open_workspace().with_account(name))


def _select(chosen: Workspace) -> None:
    chosen.save()
    finish(Selected(chosen.context.operator, chosen.context.account, OperationReport()))
