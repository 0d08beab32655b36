"""Who must be there before the first meta group is bootstrapped: all servers that `cluster.routes` names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from .bootstrap import BootstrapExpect


class ConfiguredRoute(Protocol):
    """A configured address, as `server/route` keeps it; that of this server itself is dropped there."""

    @property
    def explicit(self) -> bool:
        """Whether the configuration names it."""

    @property
    def server_id(self) -> str:
        """Who answered there, "" for nobody yet."""

    @property
    def target(self) -> object:
        """The address."""


def expected(remotes: Iterable[ConfiguredRoute], *, configured: bool) -> BootstrapExpect:
    """configured: whether the configuration has any routes; without them no group is bootstrapped here."""
    named = [remote for remote in remotes if remote.explicit]
    return BootstrapExpect(
        servers=frozenset(remote.server_id for remote in named if remote.server_id),
        unreached=tuple(sorted(str(remote.target) for remote in named if not remote.server_id)),
        alone=configured and not named,
    )
