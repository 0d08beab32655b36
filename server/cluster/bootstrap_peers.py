"""The servers that must be there before a meta group is bootstrapped: those that `cluster.routes` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

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
