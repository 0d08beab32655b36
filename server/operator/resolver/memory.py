"""MemoryResolver: keeps the preloaded account tokens, and those pushed later, in memory only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...slices import Steps, at_once
from .entry import TokenEntry, UnfitError
from .preload import checked
from .resolver import AccountAbsentError, ResolverError

if TYPE_CHECKING:
    from ....keys import Trust
    from ...logging import Logger


class MemoryResolver:
    """The tokens that this server knows until it ends."""

    kind = "memory"

    def __init__(self, trust: Trust, log: Logger) -> None:
        self._trust = trust
        self._log = log
        self._preload: dict[str, str] = {}
        self._tokens: dict[str, tuple[str, TokenEntry]] = {}

    async def start(self, preload: Mapping[str, str]) -> None:
        """See Resolver.start."""
        at_once(self.reloading(preload))

    async def stop(self) -> None:
        """Do nothing, as nothing runs."""

    async def fetch(self, key: str) -> str:
        """See Resolver.fetch."""
        token = self.known(key)
        if not token:
            raise AccountAbsentError(f"account {key} is not preloaded")
        return token

    def known(self, key: str) -> str:
        """See Resolver.known."""
        known = self._tokens.get(key)
        return "" if known is None else known[0]

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """See Resolver.store."""
        try:
            entry = TokenEntry.of(key, token, self._trust)
        except UnfitError as error:
            raise ResolverError(str(error)) from None
        known = self._tokens.get(key)
        if known is not None and (token == known[0] or (newer_only and not entry.newer_than(known[1]))):
            return False
        self._tokens[key] = (token, entry)
        return True

    def keys(self) -> list[str]:
        """See Resolver.keys."""
        return sorted(self._tokens)

    def reloading(self, preload: Mapping[str, str]) -> Steps[list[str]]:
        """Apply what changed in the configuration. Tokens that were pushed for other accounts stay."""
        fit = checked(preload, self._trust, self._log)
        before = {key: token for key, (token, _) in self._tokens.items()}
        for key in self._preload.keys() - fit.keys():
            self._tokens.pop(key, None)
        for key, token in fit.items():
            if self._preload.get(key) != token:
                self.store(key, token, newer_only=False)
            yield
        self._preload = fit
        after = {key: token for key, (token, _) in self._tokens.items()}
        return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
