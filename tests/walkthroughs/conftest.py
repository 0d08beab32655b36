"""The servers of the walkthroughs: the documentation's hub and leaf, by pyjs and by the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.leaf_pair import heard, login
from lib.pool import START
from lib.process import ServerProcess
from pyjs.plugins.demo.configuration import ACCOUNTS, ACCOUNTS_WITH_IMPORTS

HUB = """
listen: "127.0.0.1:<client>"
server_name: hub-server
jetstream { store_dir="./store_server", domain=hub }
leafnodes { listen: "127.0.0.1:<leaf>" }
"""
LEAF = """
listen: "127.0.0.1:<client>"
server_name: leaf-server
jetstream { store_dir="./store_leaf", domain=leaf }
leafnodes { remotes = [
    { urls: ["nats-leaf://admin:admin@127.0.0.1:HUB"], account: "SYS" },
    { urls: ["nats-leaf://acc:acc@127.0.0.1:HUB"], account: "ACC" }
] }
"""


# Where the reference of today differs from that of the documentation: a longer header on sourced messages.
SINCE_2021 = {
    "98 B ": "116 B",
    "Nats-Stream-Source: test:mSx7q4yJ 1": "Nats-Stream-Source: test:mSx7q4yJ 1 > > test mSx7q4yJ",
}


@dataclass
class Pair:
    """The hub and the leaf of the documentation, and a command line at home in a directory of its own."""

    hub: ServerProcess
    leaf: ServerProcess
    cli: Cli

    @property
    def replaced(self) -> dict[str, str]:
        """What stands in for words of the documentation: ports, and what today's reference does otherwise."""
        ports = {
            "localhost:4222": f"127.0.0.1:{self.hub.port}",
            "localhost:4111": f"127.0.0.1:{self.leaf.port}",
        }
        return {**ports, **(SINCE_2021 if self.hub.name == "reference" else {})}

    def share_across_accounts(self) -> None:
        """The page's second half: accounts.conf with exports and imports, both servers restarted."""
        self.hub.configure(HUB + ACCOUNTS_WITH_IMPORTS)
        self.leaf.configure(_leaf(self.hub) + ACCOUNTS_WITH_IMPORTS)
        self.hub.restart()
        self.leaf.restart()
        self.wait()

    def wait(self) -> None:
        """Until both leaf connections carry messages. No API call is made: the page shows their number."""
        for user in ("admin", "acc"):
            with login(self.hub, user) as hub, login(self.leaf, user) as leaf:
                heard(hub, leaf, "is.the.link.up")
                heard(leaf, hub, "is.the.link.up")


def _leaf(hub: ServerProcess) -> str:
    return LEAF.replace("HUB", str(hub.ports["leaf"]))


@pytest.fixture
def pair(implementation: str, tmp_path: Path) -> Iterator[Pair]:
    """A hub and a leaf, connected."""
    start = START[implementation]
    hub = start(HUB + ACCOUNTS)
    try:
        leaf = start(_leaf(hub) + ACCOUNTS)
        try:
            found = Pair(hub, leaf, Cli(tmp_path))
            found.wait()
            yield found
        finally:
            leaf.stop()
    finally:
        hub.stop()
