"""Shell completion of names in the folders of nsc: operators, accounts, users.

Promises: it writes nothing, prints nothing and raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import click

from ...keys.errors import IdentityError
from ...keys.folders.context import NscContext
from .command import directories_of, run_of

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def operators(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of operators that start so."""

    def names() -> list[str]:
        return _here(context).stores.names()

    return _starting(incomplete, names)


def accounts(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the current operator's accounts that start so."""
    return _starting(incomplete, lambda: _here(context).store().accounts())


def users(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of users that start so, of the account in --account or of the current one."""

    def names() -> list[str]:
        here = _here(context)
        given = context.params.get("account") or here.account
        return here.store().users(here.store().account_named(str(given))) if given else []

    return _starting(incomplete, names)


def _here(context: click.Context) -> NscContext:
    return NscContext.load(directories_of(run_of(context)))


def _starting(incomplete: str, names: Callable[[], list[str]]) -> list[str]:
    try:
        return [name for name in names() if name.startswith(incomplete)]
    except IdentityError:
        return []
