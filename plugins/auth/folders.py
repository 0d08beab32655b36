"""The operator, account and user that a command of `pyjs auth` works on: named, current, or asked for.

The folders are those of `pyjs nsc`, found by the same variables of the environment. The current operator is
that of nsc, too: `auth operator select` chooses it. An account and a user are always named or asked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from ...cli import prompt
from ...keys import Claims, FolderError, NscDirectories, Workspace, is_public
from . import completion

OPERATOR = click.option(
    "--operator",
    default="",
    metavar="NAME",
    help="Operator, by name or key; else the current one.",
    shell_complete=completion.operators,
)
ACCOUNT = click.argument("account", required=False, default="", shell_complete=completion.accounts)
USER = click.argument("name", required=False, default="", shell_complete=completion.users)


def opened() -> Workspace:
    """Open the folders that environment and defaults name. Raises FolderError."""
    return Workspace.open(NscDirectories.locate(os.environ, Path.cwd()), now=time.time_ns)


async def in_operator(given: str = "", *, argument: str = "--operator") -> Workspace:
    """Return a workspace in which an operator is current: the given one, the current one, or the answer.

    given: name or public key.
    argument: what names it on the line.
    """
    here = opened()
    known = here.stores.names()
    if given:
        return here.with_operator(
            _named("Operator", given, known, lambda name: here.stores.open(name).operator())
        )
    name = here.context.operator or await prompt.pick("Operator", known, argument=argument)
    return here.with_operator(name)


async def in_account(
    operator: str, given: str, *, argument: str = "<ACCOUNT>", noted: bool = True
) -> tuple[Workspace, str]:
    """Return (a workspace in which the operator is current, the name of an account of it).

    given: name or public key; "" asks.
    noted: whether the line that asks nothing gets the answer.
    """
    here = await in_operator(operator)
    return here, await account_of(here, given, argument=argument, noted=noted)


async def account_of(
    here: Workspace, given: str, *, argument: str = "<ACCOUNT>", title: str = "Account", noted: bool = True
) -> str:
    """Return the name of an account of the current operator, by name or public key; "" asks."""
    store = here.store()
    known = store.accounts()
    if given:
        return _named("Account", given, known, store.account)
    return await _picked(title, known, argument, noted=noted)


async def in_user(operator: str, account: str, given: str) -> tuple[Workspace, str, str]:
    """Return (a workspace in which the operator is current, the account's name, the user's name)."""
    here, owner = await in_account(operator, account, noted=False)
    store = here.store()
    known = store.users(owner)
    if given:
        name = _named("User", given, known, lambda user: store.user(owner, user))
    else:
        name = await _picked("User", known, "<NAME>")
    if not account:  # behind the user's name, where the line has it
        prompt.note("", owner)
    return here, owner, name


def signing_with(here: Workspace, key: str) -> Workspace:
    """Return a workspace in which a key signs: a role, a public key, a seed, or a file with one of them."""
    return replace(here, private_key=key)


def _named(kind: str, given: str, known: Sequence[str], read: Callable[[str], Claims]) -> str:
    """Return the name in the folders that is given, or whose public key is. Raises NotFoundError."""
    if given in known:
        return given
    for name in known if is_public(given) else ():
        with suppress(FolderError):  # one that is damaged has no key
            if read(name).sub == given:
                return name
    raise prompt.no_match(kind, given, known)


async def _picked(kind: str, known: Sequence[str], argument: str, *, noted: bool = True) -> str:
    if noted or not known or not prompt.interactive():
        return await prompt.pick(kind, known, argument=argument)
    choices = [(name, name) for name in known]
    return await prompt.choose(f"Select {prompt.one(kind)}", choices, flag="", default=known[0])
