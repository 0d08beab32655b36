"""Clustering: whether this server is one of several, by its options, and the API of a server that is.

Promises: a server that stands alone imports nothing of the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.subject import is_subset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..accounts.account import Account
    from ..config.options import Options
    from .account.account import JetStreamAccount
    from .api.cluster.router import ClusterApiRouter
    from .cluster.cluster import JetStreamCluster
    from .host import JetStreamHost

WILL_EXTEND, NO_EXTEND = "will_extend", "no_extend"
RAFT_SUBJECTS = "$NRG.>"
_ROUTES_OR_HUB = "configured routes or solicited leafnode for the system account"


def is_clustered(options: Options, system: Account | None, server_name: str) -> bool:
    """Return whether this server is one of several. Raises ValueError if the options do not suffice."""
    cluster, joins_hub = options.cluster, extends(options, system)
    alone = (cluster is None or cluster.port is None) and options.gateway is None
    if alone and not (joins_hub and options.jetstream.extension_hint == WILL_EXTEND):
        return False
    for given, wanted in (
        (options.server_name, "`server_name` to be set"),
        (cluster_name(options, server_name), "`cluster.name` to be set"),
        ((cluster and cluster.routes) or joins_hub, _ROUTES_OR_HUB),
        (system, "a system account"),
    ):
        if not given:
            raise ValueError(f"Can't start JetStream: JetStream cluster requires {wanted}")
    return True


def extends(options: Options, system: Account | None) -> bool:
    """Return whether this server joins a hub's system account as a leaf node.

    It may belong to the hub's JetStream then.
    """
    if system is None or options.jetstream.extension_hint == NO_EXTEND:
        return False
    return any(
        remote.account == system.name
        and not any(is_subset(RAFT_SUBJECTS, denied) for denied in remote.deny_imports)
        for remote in options.leafnodes.remotes
    )


def cluster_name(options: Options, server_name: str) -> str:
    """Return the configured name; a server that joins others as a leaf node is a cluster of its own name."""
    cluster = options.cluster
    if cluster is not None and cluster.name:
        return cluster.name
    return server_name if options.leafnodes.remotes else ""


def serve_api(
    cluster: JetStreamCluster, host: JetStreamHost, accounts: Mapping[str, JetStreamAccount]
) -> ClusterApiRouter:
    """Give the cluster the system account's API, and return the router of all other requests.

    accounts: those with JetStream, by name.
    """
    from .api.cluster.router import ClusterApiRouter
    from .api.cluster.system_api import ClusterApi

    router = ClusterApiRouter(cluster.context)
    cluster.on_effect = router.decided
    cluster.system_api = ClusterApi(cluster.context, host, accounts)
    return router
