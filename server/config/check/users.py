"""Checks of users: no duplicates, no mixture of one user and many, default permissions, no_auth_user."""

from __future__ import annotations

from ..options import Options, PermissionsOptions, UserOptions
from ..read.context import ReadContext
from ..read.keys import is_public_key
from ..tree import SourcePosition


def all_users(options: Options) -> list[UserOptions]:
    """Return the users of the authorization block and of every account."""
    users = list(options.authorization.users)
    for account in options.accounts.values():
        users.extend(account.users)
    return users


def check(options: Options, context: ReadContext) -> None:
    """Check the authorization block and every user, and set default permissions."""
    where = context.positions
    authorization = options.authorization
    if (authorization.user or authorization.password) and authorization.token:
        context.error(where.get("authorization"), "Cannot have a user/pass and a token")
    in_accounts = any(account.users for account in options.accounts.values())
    if "authorization.users" in where or in_accounts:
        what = "a users array" if "authorization.users" in where else "accounts"
        if authorization.user:
            context.error(where.get("authorization.user"), f"Can not have a single user/pass and {what}")
        if authorization.token:
            context.error(where.get("authorization.token"), f"Can not have a token and {what}")
    _duplicates(options, context)
    _defaults(authorization.users, authorization.default_permissions)
    for account in options.accounts.values():
        _defaults(account.users, account.default_permissions)
    check_no_auth_user(options, options.no_auth_user, "no_auth_user", context)
    _callout(options, context)


def _defaults(users: list[UserOptions], permissions: PermissionsOptions | None) -> None:
    for user in users:
        if user.permissions is None:
            user.permissions = permissions


def _duplicates(options: Options, context: ReadContext) -> None:
    seen: dict[str, SourcePosition | None] = {}
    groups = [("authorization", options.authorization.users)]
    groups += [(f"accounts.{name}", account.users) for name, account in options.accounts.items()]
    for path, users in groups:
        for index, user in enumerate(users):
            name = user.nkey or user.user
            at = context.positions.get(f"{path}.users.{index}")
            if name in seen:
                kind = "nkey" if user.nkey else "user"
                context.error(at, f'Duplicate {kind} "{name}" detected', f"first at {seen[name]}")
            else:
                seen[name] = at


def check_no_auth_user(options: Options, name: str, path: str, context: ReadContext) -> None:
    """Check that the user whom a listener takes for those without credentials exists. Operators name none."""
    if not name or options.operator or options.trusted_keys:
        return
    at = context.positions.get(path)
    users = all_users(options)
    if not users:
        context.error(at, f'no_auth_user: "{name}" present, but users/nkeys are not defined')
    elif all(name not in (user.user, user.nkey) for user in users):
        context.error(
            at,
            f'no_auth_user: "{name}" not present as user or nkey in authorization block '
            "or account configuration",
        )


def _callout(options: Options, context: ReadContext) -> None:
    callout = options.authorization.auth_callout
    if callout is None:
        return
    where = context.positions
    path = "authorization.auth_callout"
    at = where.get(path)
    if not callout.issuer:
        context.error(at, "Authorization callouts require an issuer to be specified")
    elif not is_public_key(callout.issuer, "A"):
        context.error(
            where.get(f"{path}.issuer"),
            f'Expected callout user to be a valid public account nkey, got "{callout.issuer}"',
        )
    if not callout.auth_users:
        context.error(at, "Authorization callouts require authorized users to be specified")
    if callout.xkey and not is_public_key(callout.xkey, "X"):
        context.error(
            where.get(f"{path}.xkey"),
            f'Expected callout xkey to be a valid public xkey, got "{callout.xkey}"',
        )
    for name in callout.allowed_accounts:
        if name not in options.accounts:
            context.error(
                where.get(f"{path}.allowed_accounts"),
                f'auth_callout allowed account "{name}" not found in configured accounts',
            )
