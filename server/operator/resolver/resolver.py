"""Resolver: what every resolver promises, and the errors it raises.

A resolver hands out and takes only tokens that fit (see `entry`): the account's own, signed by a key that the
server trusts. A token that does not fit is logged once, and treated as if it did not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...slices import Steps


class ResolverError(OSError):
    """Tokens cannot be fetched or stored. The text says why and names the file or address."""


class AccountAbsentError(ResolverError):
    """Nobody has a token of this account, or nobody who has it answered in time."""


class TokenStore(Protocol):
    """The tokens that are stored on this server, by the public key of their account."""

    def known(self, key: str) -> str:
        """Return the token that is stored here, without asking anyone; "" if there is none."""

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """Store a token. Return False if it is stored already, or if `newer_only` is set and a newer one is.

        Raises ResolverError, and keeps what is stored, if the token does not fit or the store or disk is
        full.
        """

    def keys(self) -> list[str]:
        """Return the accounts whose tokens are stored here, sorted."""


class Resolver(TokenStore, Protocol):
    """Finds the tokens of accounts by public key. `kind` is "memory", "url", "full" or "cache"."""

    kind: str

    async def start(self, preload: Mapping[str, str]) -> None:
        """Start, and store these tokens where no newer ones are stored already.

        Raises ResolverError if a directory cannot be used, an address does not answer, or a preloaded token
        is not one of its account.
        """

    async def stop(self) -> None:
        """Stop, and leave no timer, thread or lookup running."""

    async def fetch(self, key: str) -> str:
        """Return the token of an account, from here or from elsewhere.

        Raises AccountAbsentError if there is none, or ResolverError if asking failed.
        """

    def reloading(self, preload: Mapping[str, str]) -> Steps[list[str]]:
        """Apply a reloaded configuration, in steps. Return the accounts whose tokens changed or are gone.

        Raises ResolverError, and then changes nothing, if a preloaded token is not one of its account.
        """
