"""The tokens of `resolver_preload`: which of them may be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....keys import Refusal
from ..token_parser import read
from .entry import TokenEntry, UnfitError
from .resolver import ResolverError

if TYPE_CHECKING:
    from ....keys import Trust
    from ...logging import Logger


def checked(preload: Mapping[str, str], trust: Trust, log: Logger) -> dict[str, str]:
    """Those that fit; of the others the log tells.

    Raises ResolverError for what is no account's token, or another account's: the configuration is wrong.
    """
    fit = {}
    for key, text in preload.items():
        token = text.strip()
        parsed = read(token)
        claims = parsed.claims
        if isinstance(claims, Refusal):
            raise ResolverError(f'preload account error for "{key}": {claims.detail}')
        if claims.sub != key:
            raise ResolverError(f'preload account error for "{key}": it is the token of {claims.sub}')
        try:
            TokenEntry.of(key, token, trust)
        except UnfitError as error:
            log.warning(f"Account [{key}] is preloaded but not used: {error}")
            continue
        fit[key] = token
    return fit
