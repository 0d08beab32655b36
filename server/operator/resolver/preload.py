"""Checks which tokens of `resolver_preload` can be used."""

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
    """Return the tokens that fit, and log the others.

    Raises ResolverError, because the configuration is wrong, if one is not a token of the account it is for.
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
