"""The servers that must be there before a meta group is bootstrapped: those that `cluster.routes` names.

If gateways join several clusters to one JetStream, the cluster whose name comes first bootstraps the group,
and the servers of the others join it. It waits until it has heard from all others, which may have the group
already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, Protocol

from .bootstrap import BootstrapExpect


class ConfiguredRoute(Protocol):
    """A configured address, as `server/route` keeps it. It drops the address of this server itself."""

    @property
    def explicit(self) -> bool:
        """Whether the configuration names the address."""

    @property
    def server_id(self) -> str:
        """The id of the server that answered there; "" if none has yet."""

    @property
    def target(self) -> object:
        """The address."""


def expected(remotes: Iterable[ConfiguredRoute], *, configured: bool) -> BootstrapExpect:
    """Return what a bootstrap must wait for.

    configured: whether the configuration has any routes. Without them no group is bootstrapped here.
    """
    named = [remote for remote in remotes if remote.explicit]
    return BootstrapExpect(
        servers=frozenset(remote.server_id for remote in named if remote.server_id),
        unreached=tuple(sorted(str(remote.target) for remote in named if not remote.server_id)),
        alone=configured and not named,
    )


class OtherCluster(NamedTuple):
    """A cluster to which the configuration has a gateway.

    addresses: where its servers are.
    server_id: the id of the one to which there is a connection; "" while there is none.
    jetstream: whether that one is a server of pyjs with JetStream.
    """

    name: str
    addresses: tuple[str, ...]
    server_id: str
    jetstream: bool


def among_clusters(own: BootstrapExpect, name: str, others: Iterable[OtherCluster]) -> BootstrapExpect:
    """Return what a bootstrap must wait for in the cluster `name`, beside the others.

    own: what it must wait for within the cluster.
    """
    unreached: list[str] = []
    witnesses: list[str] = []
    for other in others:
        if other.server_id and not other.jetstream:
            continue
        if other.name < name:
            return BootstrapExpect()
        if other.server_id:
            witnesses.append(other.server_id)
        else:
            unreached += other.addresses
    return replace(own, unreached=(*own.unreached, *unreached), witnesses=frozenset(witnesses))
