"""Pytest fixtures that come with `pip install pyjs`: a JetStream server for each test, in the test's process.

`jetstream_server`  one server with JetStream and an empty store of its own.
`hub_and_leaf`      two servers joined by a leaf connection, with the domains `hub` and `leaf`.

Both are ready when the test starts, and leave nothing behind when it ends. docs/testing.md shows their use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .threaded import ThreadedServer

JOIN_SECONDS = 10.0

HUB = """
listen: "127.0.0.1:-1"
server_name: hub
jetstream {{ store_dir: {store}, domain: hub }}
leafnodes {{ listen: "127.0.0.1:-1" }}
"""

LEAF = """
listen: "127.0.0.1:-1"
server_name: leaf
jetstream {{ store_dir: {store}, domain: leaf }}
leafnodes {{ remotes: [ {{ url: "{hub}" }} ] }}
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
def hub_and_leaf(tmp_path: Path) -> Iterator[HubAndLeaf]:
    """A hub and a leaf of this test's own, joined."""
    from ..config import load_text
    from .threaded import ThreadedServer

    def start(text: str, name: str, **facts: str) -> ThreadedServer:
        return ThreadedServer(load_text(text.format(store=f'"{tmp_path / name}"', **facts)))

    with start(HUB, "hub") as hub, start(LEAF, "leaf", hub=hub.leaf_url) as leaf:
        leaf.await_leafs(1, JOIN_SECONDS)
        hub.await_leafs(1, JOIN_SECONDS)
        yield HubAndLeaf(hub, leaf)
