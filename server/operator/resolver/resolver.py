"""What every resolver promises, and how it says that it cannot.

A resolver hands out and takes only tokens that fit (see `entry`): the account's own, signed by a key that the
server trusts. What does not fit is told in the log once and is as if it were not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...slices import Steps


class ResolverError(OSError):
    """Tokens cannot be had, or cannot be kept; the text says why and names the file or address."""


class AccountAbsentError(ResolverError):
    """Nobody has a token of this account, or nobody who has it answered in time."""


class Resolver(Protocol):
    """Tokens of accounts by public key. `kind`: "memory", "url", "full" or "cache"."""

    kind: str

    async def start(self, preload: Mapping[str, str]) -> None:
        """Begin, with these tokens where newer ones are not kept already.

        Raises ResolverError: a directory that cannot be used, an address that does not answer, a preloaded
        token that is none.
        """

    async def stop(self) -> None:
        """End; leaves no timer, thread or lookup running."""

    async def fetch(self, key: str) -> str:
        """The token of an account, from whoever has it.

        Raises AccountAbsentError, or ResolverError when asking failed.
        """

    def known(self, key: str) -> str:
        """The token that is stored here, without asking anyone; "" for none."""

    def store(self, key: str, token: str, *, newer_only: bool) -> bool:
        """Keep a token; False when it is stored already, or `newer_only` and a newer one is.

        Raises ResolverError, and then keeps what it has: a token that does not fit, a full store or disk.
        """

    def keys(self) -> list[str]:
        """The accounts whose tokens are stored here, sorted."""

    def reloading(self, preload: Mapping[str, str]) -> Steps[list[str]]:
        """Follow a reloaded configuration, in steps; gives the accounts whose tokens changed or are gone.

        Raises ResolverError, unchanged, for a preloaded token that is none.
        """
