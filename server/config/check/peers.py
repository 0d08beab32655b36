"""Checks of the blocks for leaf nodes, routes and gateways."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..options import ClusterOptions, LeafOptions, Options, PeerAuthorization, RemoteOptions
from ..read.context import ReadContext, suggestion
from ..read.keys import is_public_key, is_user_seed


def check(options: Options, context: ReadContext) -> None:
    """Check every block for listeners and connections other than those of NATS clients.

    Routes and gateways always verify certificates, whatever `verify` says.
    """
    for block in (options.cluster, options.gateway):
        if block is not None and block.tls is not None:
            block.tls.verify = True
    _leaf_listener(options, context)
    for index, remote in enumerate(options.leafnodes.remotes):
        _remote(options, context, remote, f"leafnodes.remotes.{index}")
    _duplicate_remotes(options.leafnodes, context)
    _cluster(options, context)
    _gateway(options, context)


def _known(options: Options, name: str) -> bool:
    if options.operator or options.trusted_keys or options.resolver:
        return True
    return name in options.accounts or name in ("$G", "$SYS", options.system_account)


def _leaf_listener(options: Options, context: ReadContext) -> None:
    authorization = options.leafnodes.authorization
    if authorization is None:
        return
    where = context.positions
    path = "leafnodes.authorization"
    if authorization.nkey and not is_public_key(authorization.nkey, "U"):
        context.error(where.get(f"{path}.nkey"), "Not a valid public nkey for leafnode authorization")
    if authorization.users and (authorization.user or authorization.nkey):
        what = "a single user/pass" if authorization.user else "an nkey"
        context.error(where.get(path), f"can not have {what} and a users array")
    names: set[str] = set()
    for index, user in enumerate(authorization.users):
        if user.user in names:
            context.error(
                where.get(f"{path}.users.{index}"),
                f'duplicate user "{user.user}" found in leafnode authorization',
            )
        names.add(user.user)
    accounts = [("account", authorization.account)]
    accounts += [(f"users.{i}.account", user.account) for i, user in enumerate(authorization.users)]
    for key, name in accounts:
        if name and not _known(options, name):
            context.error(
                where.get(f"{path}.{key}"),
                f'cannot find account "{name}" of leafnode authorization',
                suggestion(name, options.accounts),
            )


def _remote(options: Options, context: ReadContext, remote: RemoteOptions, path: str) -> None:
    where = context.positions
    at = where.get(path)
    if not remote.urls:
        if f"{path}.urls" not in where:
            context.error(at, "a leafnode remote needs a url or urls")
        return
    if remote.credentials and remote.nkey:
        context.error(at, "Remote leafnode can not have both creds and nkey defined")
    if remote.nkey and not is_user_seed(remote.nkey):
        context.error(
            where.get(f"{path}.nkey"), "Remote leafnode nkey is not a valid seed", "it starts with SU"
        )
    if remote.account and not _known(options, remote.account):
        context.error(
            where.get(f"{path}.account", at),
            f'cannot find local account "{remote.account}" specified in leafnode remote',
            suggestion(remote.account, options.accounts),
        )
    remote.account = remote.account or "$G"
    proxy = remote.proxy
    if proxy is None:
        return
    if not remote.urls[0].startswith(("ws://", "wss://")):
        context.warn(
            where.get(f"{path}.proxy"), "proxy configuration will be ignored: proxies are for websocket urls"
        )
    if (
        not proxy.url
        or urlsplit(proxy.url).scheme not in ("http", "https")
        or not urlsplit(proxy.url).hostname
    ):
        context.error(where.get(f"{path}.proxy"), "proxy url must be http:// or https:// with a host")
    if bool(proxy.username) != bool(proxy.password):
        context.error(
            where.get(f"{path}.proxy"), "proxy username and password must both be specified or both be empty"
        )


def _duplicate_remotes(leaf: LeafOptions, context: ReadContext) -> None:
    seen: set[tuple[object, ...]] = set()
    for index, remote in enumerate(leaf.remotes):
        name = (tuple(sorted(remote.urls)), remote.account, remote.credentials, remote.nkey)
        if remote.urls and name in seen:
            at = context.positions.get(f"leafnodes.remotes.{index}")
            context.error(
                at, f'duplicate remote for account "{remote.account}"', "same urls, account and credentials"
            )
        seen.add(name)


def _peer_authorization(context: ReadContext, authorization: PeerAuthorization | None, path: str) -> None:
    if authorization is not None and authorization.permissions is not None:
        context.warn(
            context.positions.get(f"{path}.permissions"),
            'setting "permissions" within cluster authorization block is deprecated',
        )


def _cluster(options: Options, context: ReadContext) -> None:
    _name_by_gateway(options)
    cluster = options.cluster
    if cluster is None:
        return
    where = context.positions
    if " " in cluster.name:
        context.error(where.get("cluster.name"), "cluster name cannot contain spaces")
    _peer_authorization(context, cluster.authorization, "cluster.authorization")
    if (
        options.gateway is not None
        and options.gateway.name
        and cluster.name not in ("", options.gateway.name)
    ):
        context.error(
            where.get("cluster.name"),
            f'cluster name "{cluster.name}" conflicts with gateway name "{options.gateway.name}"',
        )
    if cluster.accounts and cluster.pool_size < 0:
        context.error(
            where.get("cluster.accounts"), "pool_size cannot be negative if pinned accounts are specified"
        )
    for name in {name for name in cluster.accounts if cluster.accounts.count(name) > 1}:
        context.error(
            where.get("cluster.accounts"), f'found duplicate account name "{name}" in pinned accounts'
        )
    if cluster.compression.mode == "s2_auto" and cluster.pool_size == 0:
        context.error(where.get("cluster.pool_size"), "pool_size must not be 0", "-1 disables pooling")


def _name_by_gateway(options: Options) -> None:
    """Have the cluster the name that the gateway block gives it, if it has none of its own."""
    if options.gateway is None:
        return
    if options.cluster is None:
        options.cluster = ClusterOptions()
    options.cluster.name = options.cluster.name or options.gateway.name


def _gateway(options: Options, context: ReadContext) -> None:
    gateway = options.gateway
    if gateway is None:
        return
    where = context.positions
    at = where.get("gateway")
    if not gateway.name:
        context.error(at, "gateway has no name")
    if " " in gateway.name:
        context.error(where.get("gateway.name"), "gateway name cannot contain spaces")
    if gateway.port is None:
        context.error(at, f'gateway "{gateway.name}" has no port specified (select -1 for random port)')
    for index, remote in enumerate(gateway.gateways):
        position = where.get(f"gateway.gateways.{index}")
        if not remote.name:
            context.error(position, "gateway in the list of gateways has no name")
        if not remote.urls:
            context.error(position, f'gateway "{remote.name}" has no URL')
    leaf = options.leafnodes
    if (leaf.port is not None or leaf.remotes) and not options.system_account and not options.operator:
        context.error(
            at, "leaf nodes and gateways (both being defined) require a system account to also be configured"
        )
