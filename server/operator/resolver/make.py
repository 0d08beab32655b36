"""Makes the resolver that the options ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...config.options import SECOND
from ..token_parser import TokenParser
from .directory import Deletion, DirectoryRules, TokenDirectory
from .folder import FolderOptions, FolderResolver
from .memory import MemoryResolver
from .peers import ResolverPeers
from .resolver import Resolver, ResolverError

if TYPE_CHECKING:
    import ssl

    from ....keys import Trust
    from ...accounts import AccountRegistry
    from ...clock import Clock
    from ...config.options import Options, ResolverOptions
    from ...logging import Logger
    from ...slices import Steps
    from .url import UrlResolver

MINUTE = 60 * SECOND


def make_resolver(
    options: Options,
    *,
    trust: Trust,
    registry: AccountRegistry,
    clock: Clock,
    log: Logger,
    random_bytes: Callable[[int], bytes],
    parser: TokenParser | None = None,
) -> Resolver:
    """Return a resolver that is not started yet.

    Raises ResolverError if none is configured, or if its address or certificates cannot be used.
    """
    given = options.resolver
    if given is None:
        raise ResolverError("operators require an account resolver to be configured")
    if given.kind == "url":
        from .url import UrlResolver

        return UrlResolver(given.url, clock, log, context=_context(options))
    if given.kind == "memory":
        return MemoryResolver(trust, log)
    parser = parser or TokenParser()
    peers = ResolverPeers(registry, clock, random_bytes, parser)
    sweep = min(MINUTE, max(given.ttl // 2, SECOND)) if given.ttl else MINUTE
    used = FolderOptions(given.kind, given.timeout, given.interval, sweep)
    return FolderResolver(used, _directory(given, trust, clock, log), peers, trust, clock, log, parser)


def reloading_resolver(resolver: Resolver, options: Options) -> Steps[list[str]]:
    """Apply `resolver_preload` and `resolver_tls`, in steps. Return the keys whose tokens changed.

    A token that is gone counts as changed. Raises ResolverError, and then changes nothing.
    """
    if resolver.kind == "url":
        cast("UrlResolver", resolver).use(_context(options))
    return (yield from resolver.reloading(options.resolver_preload))


def _context(options: Options) -> ssl.SSLContext | None:
    if options.resolver_tls is None:
        return None
    from ...config.tls import TLSConfigError, client_context

    try:
        return client_context(options.resolver_tls)
    except TLSConfigError as error:
        raise ResolverError(f"resolver_tls: {error}") from error


def _directory(given: ResolverOptions, trust: Trust, clock: Clock, log: Logger) -> TokenDirectory:
    deletion = Deletion.NONE
    if given.kind == "cache":  # a token that is needed again can be fetched again
        deletion = Deletion.REMOVE
    elif given.allow_delete:
        deletion = Deletion.REMOVE if given.hard_delete else Deletion.RENAME
    rules = DirectoryRules(given.limit or 0, evict=given.kind == "cache", ttl=given.ttl, deletion=deletion)
    return TokenDirectory(Path(given.dir), trust, clock, log, rules)
