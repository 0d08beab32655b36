"""The demonstration's accounts: its nsc lines as shown, its server, and what the pushed accounts share.

There nine servers answer a push, here one does: server names, their number, URLs and keys are not compared.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import nats
import pytest
from lib import transcript
from lib.cli import Cli
from lib.eventually import found
from lib.process import ServerProcess
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js.api import ExternalStream, StreamSource

SCRIPT = Path(__file__).with_name("video.txt")
CONFIG = """
listen: 127.0.0.1:<client>
server_name: srv-4222
jetstream { store_dir: "<store>", domain: hub }
operator: "@OPERATOR@"
resolver: { type: full, dir: "<store>/jwt", interval: "2m", allow_delete: true }
resolver_preload: { @SYS@ }
"""
UNEQUAL = (
    (re.compile(r"\b[AU][A-Z2-7]{55}\b"), "<key>"),
    (re.compile(r'"nats://[^"]*"'), '"<urls>"'),
    (re.compile(r"to nats-server \S+: jwt"), "to nats-server <server>: jwt"),
    (re.compile(r"total of \d+ nats-server"), "total of <count> nats-server"),
)
# What nsc says today and did not say then.
SINCE_2021 = re.compile(r"\[ OK \] changed global max ")


def normal(lines: list[str]) -> list[str]:
    """Lines without what may differ, each repeated line once."""
    text = "\n".join(line.rstrip() for line in lines)
    for pattern, stand_in in UNEQUAL:
        text = pattern.sub(stand_in, text)
    kept = [line for line in text.splitlines() if line and not SINCE_2021.match(line)]
    return [line for number, line in enumerate(kept) if number == 0 or line != kept[number - 1]]


class Demo:
    """The demonstration's folder, with its operator OP, accounts SYS and TEST, and one of its servers."""

    def __init__(self, home: Path, launch: Callable[[str], ServerProcess]) -> None:
        self.folder = home / "test" / "jetstream-leaf-nodes-demo"
        self.folder.mkdir(parents=True)
        self.variables = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
        self.variables["NKEYS_PATH"] = str(self.folder / "keys")
        self.cli = Cli(self.folder)
        self.nsc(f"env --store {self.folder}/store")
        self.nsc("add operator --name OP")
        for account, user in (("SYS", "sys"), ("TEST", "leaf")):
            self.nsc(f"add account --name {account}")
            self.nsc(f"add user --account {account} --name {user}")
        self.nsc("edit account --name TEST --js-disk-storage -1 --js-streams -1 --js-consumer -1")
        self.nsc("edit operator --system-account SYS")
        self.server = launch(self.config())
        self.nsc(f"edit operator --account-jwt-server-url {self.server.url} --service-url {self.server.url}")
        self.steps: Iterator[transcript.Step] = iter(
            step for step in transcript.read(SCRIPT) if step.command.startswith("pyjs nsc ")
        )

    def nsc(self, line: str) -> list[str]:
        """Run `pyjs nsc line`, which must succeed; what it prints, wherever."""
        step = transcript.Step(f"nsc {line}")
        result = self.cli.run("nsc", *step.words, env=self.variables)
        assert result.code == 0, f"nsc {line}: exit {result.code}\n{result.out}{result.err}"
        return (result.out + result.err).splitlines()

    def config(self) -> str:
        """The server's configuration, with SYS preloaded."""
        store = self.folder / "store" / "OP"
        row = f"{self.key('SYS')}: {(store / 'accounts/SYS/SYS.jwt').read_text()}"
        return CONFIG.replace("@OPERATOR@", str(store / "OP.jwt")).replace("@SYS@", row)

    def key(self, account: str) -> str:
        """An account's public key."""
        shown = "\n".join(self.nsc(f"describe account --name {account} --field sub"))
        return shown.strip().strip('"')

    def until_pushed(self) -> None:
        """Play on to the next push, and compare all that is printed."""
        for step in self.steps:
            line = step.command.removeprefix("pyjs nsc ")
            shown, expected = normal(self.nsc(line)), normal(step.expected)
            if expected and shown != expected:
                difference = "\n".join(difflib.unified_diff(expected, shown, n=1, lineterm=""))
                pytest.fail(f"{step.command}\n{difference}", pytrace=False)
            if line.startswith("push"):
                return

    async def connect(self, account: str, user: str) -> Client:
        """A client with the credentials file that nsc has written."""
        path = self.folder / "keys" / "creds" / "OP" / account / f"{user}.creds"
        return await nats.connect(self.server.url, user_credentials=str(path))


@pytest.fixture
def demo(tmp_path: Path, launch: Callable[[str], ServerProcess]) -> Demo:
    return Demo(tmp_path, launch)


def test_the_accounts_of_the_demonstration(demo: Demo) -> None:
    demo.until_pushed()
    assert asyncio.run(mirrored(demo)) == 70
    demo.until_pushed()
    assert asyncio.run(fetched(demo)) == list(range(1, 71))
    demo.until_pushed()
    demo.until_pushed()
    asyncio.run(connected_through_the_exchange(demo))
    assert list(demo.steps) == []
    for name in ("cross", "through"):
        assert "IMPORTER" in (demo.folder / f"account-component-diagram-{name}.uml").read_text()


async def mirrored(demo: Demo) -> int:
    """TEST's stream copied into IMPORTER's over the imported consumer API; the copy's messages."""
    async with (
        await demo.connect("TEST", "leaf") as test,
        await demo.connect("IMPORTER", "iuser") as importer,
    ):
        origin, copy = test.jetstream(), importer.jetstream()
        await origin.add_stream(name="aggregate", subjects=["test"])
        for _ in range(70):
            await origin.publish("test", b"hello world")
        external = ExternalStream(api="JS.test@hub.API", deliver="deliver.importer.crossacc")
        await copy.add_stream(name="crossacc", mirror=StreamSource(name="aggregate", external=external))
        reader = await copy.subscribe("", stream="crossacc", ordered_consumer=True)
        return len([await reader.next_msg(timeout=20) for _ in range(70)])


async def fetched(demo: Demo) -> list[int]:
    """The stream sequences that IMPORTER pulls and acknowledges from TEST's consumer DUR."""
    async with (
        await demo.connect("TEST", "leaf") as test,
        await demo.connect("IMPORTER", "iuser") as importer,
    ):
        await test.jetstream().pull_subscribe("", durable="DUR", stream="aggregate")
        bound = await importer.jetstream(prefix="from.test.API").pull_subscribe_bind("DUR", "aggregate")
        sequences: list[int] = []
        while len(sequences) < 70:
            for message in await bound.fetch(10, timeout=10):
                await message.ack()
                sequences.append(message.metadata.sequence.stream)
        await importer.flush()
        await found(lambda: acknowledged(test))
        return sequences


async def acknowledged(client: Client) -> bool:
    """Whether the server has heard every acknowledgement."""
    return not (await client.jetstream().consumer_info("aggregate", "DUR")).num_ack_pending


async def there(client: Client) -> None:
    """Return when the server has read all: the client's first PING overtakes what waits to be written."""
    await client.flush()
    await client.flush()


async def asked(client: Client, subject: str) -> bytes:
    """The answer to a request, as soon as the imports lead to somebody: the reference may take a moment."""
    answer = await found(lambda: client.request(subject, timeout=5), NoRespondersError, seconds=10)
    return bytes(answer.data)


async def connected_through_the_exchange(demo: Demo) -> None:
    """HUBACC reaches a service of LEAFACC by the imports and exports of EXCACC; streams go hop by hop.

    In the demonstration the hops of a stream are on two servers, EXCACC's leaf connection between them.
    """

    async def serve(message: Msg) -> None:
        await message.respond(message.subject.encode())

    async with (
        await demo.connect("LEAFACC", "exp") as leaf,
        await demo.connect("EXCACC", "exp") as exchange,
        await demo.connect("HUBACC", "imp") as hub,
    ):
        await leaf.subscribe("$JS.spoke-1.API.>", cb=serve)
        await there(leaf)
        assert await asked(hub, "$JS.leafacc.spoke-1.API.INFO") == b"$JS.spoke-1.API.INFO"
        for speaker, listener in ((leaf, exchange), (exchange, hub)):
            heard = await listener.subscribe("deliver.leafacc.spoke-1.hubacc.hub.>")
            await there(listener)
            await speaker.publish("deliver.leafacc.spoke-1.hubacc.hub.aggregate", b"copied")
            assert (await heard.next_msg(timeout=5)).data == b"copied"
            await heard.unsubscribe()
