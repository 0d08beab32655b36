"""A pytest fixture: a server that has what documents declare.

`provisioned` makes `jetstream_server` have it, or the servers of `domain_servers`, where documents name
domains; docs/provision.md shows its use. Nothing heavy is imported before a test uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from .model import DomainDocument


@pytest.fixture
def provisioned(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """provisioned(*documents): the test's server, with all that files, folders or dicts declare.

    A path that is not there is looked for in the folder of the test.

    If documents name JetStream domains, each has a server, joined by leaf connections. The one returned is
    the hub: that of `domain_servers` if the test has started some, else that of the first document.

    Raises AssertionError with the server's words if it refuses something, DocumentError for mistakes in
    documents, and ConflictError if some of them name a domain and others none.
    """

    def provision(*documents: str | PathLike[str] | Mapping[str, Any]) -> Any:
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        found = _documents(documents, request.path.parent)
        server = _server(request, [each.domain or "" for each in found])
        # In a thread of its own, so that a test with a running event loop may call it, too.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(_apply(server.url, found))).result()
        return server

    return provision


def _server(request: pytest.FixtureRequest, domains: list[str]) -> Any:
    """Return the server to which a client connects. domains: of the documents, empty for none."""
    from .errors import ConflictError

    named = [domain for domain in dict.fromkeys(domains) if domain]
    if not named:
        return request.getfixturevalue("jetstream_server")
    if "" in domains:
        raise ConflictError(
            f"some documents name the domain {named[0]} and others none", ["name the domain in all of them"]
        )
    return next(iter(request.getfixturevalue("domain_servers")(*named).values()))


def _documents(
    given: tuple[str | PathLike[str] | Mapping[str, Any], ...], beside: Path
) -> list[DomainDocument]:
    """Return the documents. beside: the folder of the test, for paths that are not in the working folder."""
    from pathlib import Path

    from .files import load, of_value

    found: list[DomainDocument] = []
    for place, each in enumerate(given, 1):
        if isinstance(each, Mapping):
            found.append(of_value(each, f"document {place}"))
        else:
            path = Path(each)
            found += load([path if path.exists() else beside / path])
    return found


async def _apply(url: str, documents: list[DomainDocument]) -> None:
    import time

    import nats

    from .applying import apply
    from .declared import declare
    from .planner import make
    from .servers import client_api, observe

    client = await nats.connect(url)
    try:
        declared, api_of = declare(documents), client_api(client)
        plan = make(declared, await observe(declared, api_of), time.time_ns())
        result = await apply(plan, api_of)
    finally:
        await client.close()
    if result.failed is not None:
        raise AssertionError(f"{result.failed.id} was not made: {result.error}") from result.error
