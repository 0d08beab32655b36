"""Mirrors and sources of streams that are not there: servers accept them, and copy nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..protocol.api.stream import StreamSource
from .declared import Declared, DeclaredStream, Id, external_domain, origin_of, origins
from .observed_state import ObservedState


def missing_origins(declared: Declared, observed: ObservedState, gone: Collection[Id]) -> Iterator[str]:
    """Yield a warning for each origin that neither is there nor is declared.

    gone: the streams that will not be there any more.

    An origin may come later, so this is no mistake. Nothing is said of one that cannot be looked for: behind
    the prefix of another account, or in a domain that does not answer.
    """
    for stream in declared.streams.values():
        for origin in origins(stream.config):
            if _is_missing(origin, stream, declared, observed, gone):
                yield _words(stream, origin)


def _is_missing(
    origin: StreamSource,
    stream: DeclaredStream,
    declared: Declared,
    observed: ObservedState,
    gone: Collection[Id],
) -> bool:
    if origin.external is not None and not external_domain(origin):
        return False
    source = origin_of(origin, stream.id.domain)
    here = observed.domains.get("")
    same = [source]
    if here is not None and here.name and here.name == source.domain:
        same.append(source._replace(domain=""))
    if any(each in declared.streams for each in same):
        return False
    names = observed.names(source.domain)
    return names is not None and (source.stream not in names or any(each in gone for each in same))


def _words(stream: DeclaredStream, origin: StreamSource) -> str:
    kind = "mirror" if stream.config.mirror is not None else "source"
    domain = external_domain(origin)
    name = f"{origin.name} in {domain}" if domain else origin.name
    return (
        f"{stream.id} has the {kind} {name}, which is not there and not declared: "
        "nothing is copied before it exists"
    )
