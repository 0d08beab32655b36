"""`pyjs auth account keys`: signing keys with a role, which says what their users may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ....cli import output, prompt, render
from ....cli.command import FORCE, CommandGroup, LocalCommand
from ....cli.errors import NotFoundError, UsageError, close_matches, warn
from ....cli.output import NAME, NUMBER, TEXT, Column, Table
from ....cli.param import SIZE
from ....keys import AccountClaims, UserScope, Workspace
from ....keys.workspace.accounts import AccountEdits, edit_account
from ....keys.workspace.edits import SigningKeys
from ....keys.workspace.permissions import PermissionEdits, UserEdits
from ....keys.workspace.scopes import edit_signing_key
from ....keys.workspace.signing import GENERATE
from .. import folders
from ..outcome import checked
from ..page import Pairs, limit, optional, page, user_limits
from .settings import COUNT

CONNECTIONS = {
    "nats": "STANDARD",
    "ws": "WEBSOCKET",
    "leaf": "LEAFNODE",
    "wsleaf": "LEAFNODE_WS",
    "mqtt": "MQTT",
}
KEYS = Table(
    "auth_account_keys",
    "Scoped Signing Keys",
    (
        Column("role", "Role", NAME),
        Column("key", "Key", NAME),
        Column("description", "Description", TEXT),
        Column("subscriptions", "Max Subscriptions", NUMBER, show=lambda each: limit(each["subscriptions"])),
        Column("publish", "Pub Perms", NUMBER),
        Column("subscribe", "Sub Perms", NUMBER),
    ),
    key="key",
    empty="No Scoped Signing Keys or Roles defined",
    spare=("description", "subscriptions"),
)

keys = CommandGroup(name="keys", help="Manage signing keys with a role, which says what their users may do.")


def permission_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for subjects that may be used, or may not, to a command."""
    for name, text in (
        ("--sub-deny", "Subjects that may not be subscribed to."),
        ("--sub-allow", "Subjects that may be subscribed to."),
        ("--pub-deny", "Subjects that may not be published to."),
        ("--pub-allow", "Subjects that may be published to."),
    ):
        function = click.option(name, multiple=True, help=text)(function)
    return function


@keys.command(cls=LocalCommand)
@output.showing("auth_signing_key")
@folders.ACCOUNT
@click.argument("role", required=False, default="")
@folders.OPERATOR
@click.option("--description", default=None, help="A description of the key.")
@click.option("--subscriptions", type=COUNT, default=None, help="Maximum subscriptions (-1: unlimited).")
@click.option("--payload", type=SIZE, default=None, metavar="BYTES", help="Maximum bytes of a message.")
@click.option("--bearer/--no-bearer", default=None, help="Let users log in by their token alone.")
@click.option("--locale", default=None, help="The time zone of the users' hours.")
@click.option(
    "--connection", multiple=True, type=click.Choice(tuple(CONNECTIONS)), help="Kinds of connections."
)
@permission_flags
async def add(account: str, role: str, operator: str, description: str | None, **given: Any) -> None:
    """Make a signing key with a ROLE; 'auth user add --key ROLE' makes users with it."""
    here, name = await folders.in_account(operator, account)
    role = role or await prompt.text(
        "Role Name", flag="<ROLE>", required=True, explain="the role to associate with this key"
    )
    edits = UserEdits(
        permissions=permissions(given),
        payload=given["payload"],
        subs=given["subscriptions"],
        bearer=given["bearer"],
        conn_types=tuple(CONNECTIONS[kind] for kind in given["connection"]),
        locale=given["locale"],
    )
    made = checked(
        edit_signing_key(here, GENERATE, role=role, description=description, edits=edits, account=name)
    )
    show(made.scope)


def permissions(given: dict[str, Any], *, replace: bool = False) -> PermissionEdits:
    """Return the permissions that the flags give; they are added, or `replace` those of their list."""
    return PermissionEdits(
        replace=replace,
        allow_pub=given["pub_allow"],
        deny_pub=given["pub_deny"],
        allow_sub=given["sub_allow"],
        deny_sub=given["sub_deny"],
    )


@keys.command(cls=LocalCommand)
@output.showing("auth_signing_key")
@folders.ACCOUNT
@click.argument("key", required=False, default="")
@folders.OPERATOR
async def info(account: str, key: str, operator: str) -> None:
    """Show a signing key, by role or public key."""
    here, name = await folders.in_account(operator, account)
    show(await _chosen(here, name, key, "<KEY>"))


@keys.command(cls=LocalCommand)
@output.listing(KEYS)
@folders.ACCOUNT
@folders.OPERATOR
async def ls(account: str, operator: str) -> None:
    """List the signing keys with a role."""
    here, name = await folders.in_account(operator, account)
    output.show(KEYS.of(_record(scope) for scope in _scopes(here.store().account(name))))


def _record(scope: UserScope) -> dict[str, Any]:
    template = scope.template
    return {
        "role": scope.role,
        "key": scope.key,
        "description": scope.description,
        "subscriptions": template.subs,
        "publish": len(template.pub.allow) + len(template.pub.deny),
        "subscribe": len(template.sub.allow) + len(template.sub.deny),
    }


@keys.command("rm", cls=LocalCommand)
@folders.ACCOUNT
@click.option("--key", default="", help="The key to remove, by role or public key.")
@folders.OPERATOR
@FORCE
async def remove(account: str, key: str, operator: str, force: bool) -> None:
    """Remove a signing key, and its seed from the keystore; servers then refuse the users that it signed."""
    here, name = await folders.in_account(operator, account)
    scope = await _chosen(here, name, key, "--key")
    store = here.store()
    if users := [user for user in store.users(name) if store.user(name, user).iss == scope.key]:
        warn(f"it signed the users {', '.join(users)}: servers will refuse them")
    question = f"Really remove the Scoped Signing Key {scope.key} with role {scope.role}"
    if await prompt.sure(question, forced=force):
        edits = AccountEdits(signing_keys=SigningKeys(remove=(scope.key,), forget=True))
        checked(edit_account(here, name, edits))
        render.show(f'key "{scope.key}" removed')


keys.add_alias("add", "new", "a", "n")
keys.add_alias("info", "i", "show", "view")
keys.add_alias("ls", "list")


def show(scope: UserScope) -> None:
    """Show a signing key with a role."""
    rows: Pairs = [*optional("Description", scope.description), ("Key", scope.key), ("Role", scope.role)]
    text = page(f"Scoped Signing Key {scope.key}", user_limits(rows, scope.template, heading="Config"))
    output.show_page(scope.document(), text, name=scope.key)


def _scopes(claims: AccountClaims) -> list[UserScope]:
    found = [scope for scope in claims.nats.signing_keys.values() if scope is not None]
    return sorted(found, key=lambda scope: (scope.role, scope.key))


async def _chosen(here: Workspace, account: str, given: str, argument: str) -> UserScope:
    """Return the signing key with a role or public key, or the answer."""
    found = _scopes(here.store().account(account))
    if not given:
        if not found:
            raise NotFoundError("no signing keys found", f"'auth account keys add {account} ROLE' makes one")
        given = await prompt.pick("Signing Key", [scope.key for scope in found], argument=argument)
    matching = [scope for scope in found if given in (scope.role, scope.key)]
    if not matching:
        near = close_matches(given, [scope.role for scope in found])
        raise NotFoundError(f'account {account} has no signing key "{given}"', near)
    if len(matching) > 1:
        several = ", ".join(scope.key for scope in matching)
        raise UsageError(f'several signing keys have the role "{given}"', f"name one of {several}")
    return matching[0]
