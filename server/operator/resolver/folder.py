"""FolderResolver: stores tokens in a directory, and asks other servers for those that are missing there.

This is what `full` and `cache` have in common. A token that another server has is used even if it cannot be
written. The log says so, and the next lookup asks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....protocol.lazy_dataclass import dataclass
from ...clock import SECOND
from ..token_parser import TokenParser
from .entry import TokenEntry, UnfitError
from .preload import checked
from .resolver import AccountAbsentError, ResolverError

if TYPE_CHECKING:
    from ....keys import Trust
    from ...clock import Clock, Timer
    from ...logging import Logger
    from ...slices import Steps
    from .directory import TokenDirectory
    from .peers import ResolverPeers

MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """What the configuration says of a resolver with a directory.

    kind: "full" or "cache".
    timeout: ns for a lookup.
    interval: ns between syncs with other servers.
    sweep: ns between searches for tokens to remove.
    """

    kind: str
    timeout: int
    interval: int = 0
    sweep: int = MINUTE


class FolderResolver:
    """A directory in use. kind, interval: those of its options."""

    def __init__(
        self,
        options: FolderOptions,
        directory: TokenDirectory,
        peers: ResolverPeers,
        trust: Trust,
        clock: Clock,
        log: Logger,
        parser: TokenParser | None = None,
    ) -> None:
        self.kind = options.kind
        self.directory = directory
        self.interval = options.interval
        self.peers = peers
        self._parser = parser or TokenParser()
        self._trust = trust
        self._clock = clock
        self._log = log
        self._timeout = options.timeout
        self._sweep_every = options.sweep
        self._timer: Timer | None = None

    async def start(self, preload: Mapping[str, str]) -> None:
        """See Resolver.start."""
        fit = checked(preload, self._trust, self._log)
        self.directory.open()
        self._preload(fit)
        self._sweep()
        what = "all" if self.kind == "full" else "some"
        self._log.info(f"Managing {what} jwt in exclusive directory {self.directory.path}")

    async def stop(self) -> None:
        """See Resolver.stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.peers.stop()

    async def fetch(self, key: str) -> str:
        """See Resolver.fetch."""
        token = self.known(key) or await self.peers.lookup(key, self._timeout, self._fits)
        if not token or self.directory.deleted(key, token):
            raise AccountAbsentError(f"account jwt not found: {key}")
        parsed = await self._parser.reading(token)
        try:
            self.store(key, parsed.token, newer_only=True)
        except ResolverError as error:
            self._log.error(f"Resolver: the token of account {key} is used but not kept: {error}")
        return self.known(key) or token

    def known(self, key: str) -> str:
        """See Resolver.known."""
        return self.directory.load(key)

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """See Resolver.store."""
        return self.directory.store(key, token, newer_only=newer_only)

    def keys(self) -> list[str]:
        """See Resolver.keys."""
        return self.directory.keys()

    def reloading(self, preload: Mapping[str, str]) -> Steps[list[str]]:
        """Apply a reloaded configuration, and what somebody changed in the folder; see Resolver.reloading."""
        fit = checked(preload, self._trust, self._log)
        changed = yield from self.directory.reloading()
        return sorted({*changed, *self._preload(fit)})

    def _preload(self, fit: Mapping[str, str]) -> list[str]:
        changed = []
        for key, token in fit.items():
            try:
                if self.store(key, token, newer_only=True):
                    changed.append(key)
            except ResolverError as error:
                self._log.error(f"Resolver: the preloaded token of account {key} cannot be kept: {error}")
        return changed

    def _fits(self, key: str, token: str) -> bool:
        try:
            TokenEntry.of(key, token, self._trust)
        except UnfitError as error:
            self._log.warning(f"Resolver: another server's token of account {key} is not used: {error}")
            return False
        return True

    def _sweep(self) -> None:
        gone = self.directory.sweep()
        if gone:
            self._log.debug(f"Resolver: let go of {', '.join(gone)}")
        self._timer = self._clock.call_later(self._sweep_every, self._sweep)
