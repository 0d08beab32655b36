"""Shell completion of names in the folders of nsc, for commands of `pyjs auth`.

Promises: it writes nothing, prints nothing and raises nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from ...keys.errors import IdentityError
from ...keys.folders.context import NscContext
from ...keys.folders.locations import NscDirectories
from ...keys.folders.store import OperatorStore


def operators(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of operators that start so."""
    return _starting(incomplete, _operators)


def accounts(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the operator's accounts that start so."""
    return _starting(incomplete, lambda: _store(context).accounts())


def users(context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of users that start so, of all accounts: the account stands behind the user."""

    def names() -> list[str]:
        store = _store(context)
        return sorted({user for account in store.accounts() for user in store.users(account)})

    return _starting(incomplete, names)


def _here() -> NscContext:
    return NscContext.load(NscDirectories.locate(os.environ, Path.cwd()))


def _store(context: click.Context) -> OperatorStore:
    given = context.params.get("operator")
    return _here().with_operator(str(given)).store() if given else _here().store()


def _operators() -> list[str]:
    return _here().stores.names()


def _starting(incomplete: str, names: Callable[[], list[str]]) -> list[str]:
    try:
        return [name for name in names() if name.startswith(incomplete)]
    except IdentityError:
        return []
