"""Pytest fixtures that come with `pip install pyjs`: a JetStream server for each test, in the test's process.

`jetstream_server`  one server with JetStream and an empty store of its own.
`hub_and_leaf`      two servers joined by a leaf connection, with the domains `hub` and `leaf`.
`domain_servers`    a function that starts servers with the domains that it is given, joined likewise.

They are ready when the test starts, and leave nothing behind when it ends. docs/testing.md shows their use.
One more, `provisioned`, is in `pyjs.provision.pytest_plugin`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .threaded import ThreadedServer

pytest_plugins = ("pyjs.provision.pytest_plugin",)  # by name: a room below the server knows none of it

JOIN_SECONDS = 10.0

CONFIGURATION = """
listen: "127.0.0.1:-1"
server_name: "{domain}"
jetstream {{ store_dir: "{store}", domain: "{domain}" }}
leafnodes {{ {leafnodes} }}
"""


class HubAndLeaf(NamedTuple):
    """Two joined servers. Clients of the hub reach `$JS.leaf.API`, and clients of the leaf `$JS.hub.API`."""

    hub: ThreadedServer
    leaf: ThreadedServer


@pytest.fixture
def jetstream_server(tmp_path: Path) -> Iterator[ThreadedServer]:
    """A JetStream server of this test's own; connect to `jetstream_server.url`."""
    from .threaded import serve

    with serve(jetstream=True, store_dir=tmp_path / "jetstream") as server:
        yield server


@pytest.fixture
def hub_and_leaf(domain_servers: Callable[..., dict[str, ThreadedServer]]) -> HubAndLeaf:
    """A hub and a leaf of this test's own, joined."""
    return HubAndLeaf(**domain_servers("hub", "leaf"))


@pytest.fixture
def domain_servers(tmp_path: Path) -> Iterator[Callable[..., dict[str, ThreadedServer]]]:
    """domain_servers(*domains): the servers by their domains; those that are missing are started.

    The first of all is the hub, and the others are its leafs.
    """
    from ..config import load_text
    from .threaded import ThreadedServer

    servers: dict[str, ThreadedServer] = {}
    with ExitStack() as running:

        def start(*domains: str) -> dict[str, ThreadedServer]:
            for domain in domains:
                if domain in servers:
                    continue
                hub = next(iter(servers.values()), None)
                joins = (
                    'listen: "127.0.0.1:-1"' if hub is None else f'remotes: [ {{ url: "{hub.leaf_url}" }} ]'
                )
                text = CONFIGURATION.format(domain=domain, store=tmp_path / domain, leafnodes=joins)
                server = running.enter_context(ThreadedServer(load_text(text)))
                if hub is not None:
                    server.await_leafs(1, JOIN_SECONDS)
                    hub.await_leafs(len(servers), JOIN_SECONDS)
                servers[domain] = server
            return dict(servers)

        yield start
