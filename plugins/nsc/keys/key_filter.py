"""The flags of `list keys` and `export keys` that select keys."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ....keys import KeyRole
from ....keys.workspace.keyring import KeyFilter
from .. import completion
from ..command import switch

ALL = frozenset({KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER, KeyRole.CURVE})


_OPTIONS = (
    switch("-o", "--operator", text="Operator keys."),
    switch("-a", "--accounts", text="Account keys."),
    switch("-u", "--users", text="User keys."),
    switch("-A", "--all", "everything", text="Keys of operator, accounts and users."),
    click.option(
        "--account", default="", help="Keys of this account only.", shell_complete=completion.accounts
    ),
    click.option("--user", default="", help="Keys of this user only.", shell_complete=completion.users),
    click.option("-f", "--filter", "part", default="", metavar="TEXT", help="Keys that contain the text."),
    switch("--not-referenced", "unreferenced", text="Keys in the keystore that the operator does not know."),
)


def wanted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add these flags to a command, which gets them together as its argument `chosen`."""

    @functools.wraps(function)
    def with_flags(
        *,
        operator: bool,
        accounts: bool,
        users: bool,
        everything: bool,
        account: str,
        user: str,
        part: str,
        unreferenced: bool,
        **more: Any,
    ) -> Any:
        flags = ((operator, KeyRole.OPERATOR), (accounts, KeyRole.ACCOUNT), (users, KeyRole.USER))
        roles = ALL if everything else frozenset(role for given, role in flags if given)
        return function(chosen=KeyFilter(roles, account, user, part, unreferenced), **more)

    result: Callable[..., Any] = with_flags
    for option in reversed(_OPTIONS):
        result = option(result)
    return result
