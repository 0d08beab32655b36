"""The path of a message by a configuration file alone, without a server.

The file is read and checked as the server does it (`server/config`), its accounts, users and imports are the
server's own (`server/accounts`), and so are the rules for leaf connections (`server/leaf`). What only a
running server knows is not there: who subscribes, and which streams exist.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...cli.errors import CliError, NotFoundError, UsageError, close_matches
from ...cli.words import listed
from .acknowledgements import acknowledged
from .message_path import MessagePath, is_answered
from .publisher import Publisher
from .waypoint import ENDS, POSSIBLE, REACHED, UNKNOWN, Waypoint

if TYPE_CHECKING:
    from ...server.accounts.auth import Authenticator
    from ...server.accounts.registry import AccountRegistry
    from ...server.accounts.users import User
    from ...server.config.options import Options
    from ...server.config.options.leafnodes import RemoteOptions

OTHER_DOMAIN = "\0"  # of a hub whose configuration is not at hand; no domain is called so


async def waypoints(file: str, subject: str, name: str) -> list[Waypoint]:
    """Return where a message comes to that the user called `name` publishes; "" for a client without one.

    Raises CliError if the configuration cannot be used, has no such user, or does not say who publishes.
    """
    from ...server.accounts.account_spec import AccountsError
    from ...server.accounts.auth import Authenticator
    from ...server.accounts.registry import AccountRegistry
    from ...server.clock import LoopClock
    from ...server.config.load import load
    from ...server.config.tree import ConfigError
    from ...server.jetstream.domain import map_domain

    try:
        options = load(file)
        registry = AccountRegistry(options, LoopClock(asyncio.get_running_loop()))
    except (ConfigError, AccountsError) as error:
        raise CliError(f"{file} cannot be used: {error}", f"'server check-config {file}' shows all") from None
    if options.operator or options.trusted_keys:
        raise UsageError(
            f"the accounts of {file} are made of tokens, which are not in it",
            "connect to its server, as the user that publishes; or see 'nsc describe'",
        )
    users = Authenticator(options, registry)
    publisher = _publisher(options, users, name)
    if options.jetstream.enabled:
        for account in registry.accounts.values():
            if account.grants is not None or account is registry.global_account:
                map_domain(account, options.jetstream.domain)
    path = MessagePath(registry)
    label = f"user {publisher.label}" if publisher.label else "a client without a user"
    path.publish(publisher.account, subject, Publisher(label, publisher.permissions))
    for waypoint in path.waypoints:
        if not waypoint.gone:
            _hearers(waypoint, options, users)
            _jetstream(waypoint, options, registry)
            _leafs(waypoint, options, registry)
    registry.stop()
    return path.waypoints


def _publisher(options: Options, users: Authenticator, name: str) -> User:
    """Return the user who publishes."""
    names = _names(options)
    if name:
        found = users.find(name)
        if found is None:
            raise NotFoundError(
                f"{options.config_file} has no user {name}",
                close_matches(name, names) or f"there are {listed(names)}",
            )
        return found
    if users.no_auth_user is None:
        raise UsageError("--as has to say who publishes", f"there are {listed(names)}" if names else "")
    return users.no_auth_user


def _names(options: Options) -> list[str]:
    """Return the names, or nkeys, of all users, in the order of the file."""
    every = [*options.authorization.users, *(u for each in options.accounts.values() for u in each.users)]
    return [each.user or each.nkey for each in every]


def _hearers(waypoint: Waypoint, options: Options, users: Authenticator) -> None:
    """Add which users of the account may subscribe to the subject."""
    ack = acknowledged(waypoint.subject)
    if ack is not None:
        text = f"The consumer {ack.name} takes it, if this server's domain has one."
        waypoint.add("acknowledgement", POSSIBLE, text, ack.name)
    if is_answered(waypoint.subject):
        waypoint.add("server", REACHED, "It is a request that the server itself answers.")
        return
    found = [user for name in _names(options) if (user := users.find(name)) is not None]
    if not found and users.no_auth_user is not None:
        found = [users.no_auth_user]
    mine = [user for user in found if user.account.name == waypoint.account]
    may = [
        user.label or "every client" for user in mine
        if user.permissions is None or user.permissions.may_subscribe(waypoint.subject)
    ]  # fmt: skip
    rest = [user.label for user in mine if (user.label or "every client") not in may]
    if may:
        waypoint.add("subscription", POSSIBLE, f"Heard by these users if they subscribe: {listed(may)}.")
    if rest:
        waypoint.add("subscription", ENDS, f"These users may not subscribe to it: {listed(rest)}.")
    if not mine:
        waypoint.add("subscription", ENDS, f"Account {waypoint.account} has no users in the configuration.")


def _jetstream(waypoint: Waypoint, options: Options, registry: AccountRegistry) -> None:
    """Add whether a stream may store it."""
    account = registry.get(waypoint.account)
    on = account is not None and (account.grants is not None or account is registry.global_account)
    stored = not is_answered(waypoint.subject) and acknowledged(waypoint.subject) is None
    if options.jetstream.enabled and on and stored:
        waypoint.add(
            "stream", UNKNOWN,
            f"Account {waypoint.account} has JetStream; which streams store it, only the running server "
            "knows.",
        )  # fmt: skip


def _leafs(waypoint: Waypoint, options: Options, registry: AccountRegistry) -> None:
    """Add which leaf connections the message may cross, in the direction that this server sends."""
    for remote in options.leafnodes.remotes:
        if remote.account == waypoint.account and not remote.disabled:
            _cross(waypoint, remote, options, registry)
    if options.leafnodes.port is not None:
        waypoint.add(
            "leaf", UNKNOWN,
            f"Leaf nodes that join as a user of account {waypoint.account} get it if somebody there "
            "subscribes.",
        )  # fmt: skip
    if options.cluster is not None:
        waypoint.add(
            "route", UNKNOWN, "The other servers of the cluster get it if somebody there subscribes."
        )


def _cross(waypoint: Waypoint, remote: RemoteOptions, options: Options, registry: AccountRegistry) -> None:
    from ...server.leaf.permissions import AllowDeny

    url = remote.urls[0].rpartition("@")[2].removeprefix("nats-leaf://") if remote.urls else "?"
    if not AllowDeny(deny=remote.deny_exports).allows(waypoint.subject):
        waypoint.add("leaf", ENDS, f"It does not cross to the hub {url}: deny_exports has it.", url)
        return
    if not crosses(waypoint, options.jetstream.domain, OTHER_DOMAIN, options, registry):
        text = (
            f"It does not cross to the hub {url} if that has another JetStream domain, which is reached as "
            "$JS.<its domain>.API only."
        )
        waypoint.add("leaf", ENDS, text, url)
        return
    text = f"It crosses to the hub {url} if somebody there subscribes, and the hub lets this leaf publish it."
    waypoint.add("leaf", POSSIBLE, text, url)


def crosses(waypoint: Waypoint, domain: str, peer: str, options: Options, registry: AccountRegistry) -> bool:
    """Return whether the deny lists of JetStream domains let a message over a leaf connection.

    domain, peer: the domains of the two servers.
    """
    from ...server.leaf.domains import DomainView, denials
    from ...server.leaf.permissions import AllowDeny

    side = DomainView(
        domain=domain,
        jetstream=options.jetstream.enabled,
        account=waypoint.account,
        system_account=registry.system.name if registry.system is not None else "",
        default_domains=options.default_js_domain,
        extension_hint=options.jetstream.extension_hint,
    )
    found = denials(side, peer, "")
    return AllowDeny(deny=(*found.both, *found.send)).allows(waypoint.subject)
