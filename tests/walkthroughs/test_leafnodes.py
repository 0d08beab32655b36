"""The leaf-node documentation runs as printed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from lib import transcript
from lib.cli import Cli
from lib.leaf_pair import heard, login
from lib.pool import START
from lib.process import ServerProcess
from pyjs.plugins.demo.configuration import ACCOUNTS, ACCOUNTS_WITH_IMPORTS

HERE = Path(__file__).parent
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


def test_every_command_of_the_page_prints_what_the_page_prints(pair: Pair) -> None:
    for step in transcript.read(HERE / "leafnodes-one-account.txt", pair.replaced):
        transcript.play(pair.cli, step)
    pair.share_across_accounts()
    for step in transcript.read(HERE / "leafnodes-across-accounts.txt", pair.replaced):
        transcript.play(pair.cli, step)
    assert asyncio.run(fetched(pair.leaf.port)) == (b"hello world 2", 2)


async def fetched(leaf: int) -> tuple[bytes, int]:
    """What the page's program gets: body and stream sequence of a message fetched through the import."""
    client = await nats.connect(f"nats://import_client:import_client@127.0.0.1:{leaf}")
    try:
        stream = client.jetstream(prefix="JS.acc@hub.API")
        bound = await stream.pull_subscribe_bind("dur", "aggregate-test-leaf")
        (message,) = await bound.fetch(1, timeout=30)
        await message.ack()
        await client.flush()
        return message.data, message.metadata.sequence.stream
    finally:
        await client.close()
