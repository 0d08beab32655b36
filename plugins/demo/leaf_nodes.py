"""`pyjs demo leaf-nodes`: the documentation page "JetStream on Leaf Nodes", run and checked.

It uses two real servers, a hub and a leaf, in a temporary directory. It shows every command of the page with
its output, and a result for each claim of the page. The configurations are the page's own; only the ports
differ if the page's ports are taken.
"""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import dataclass
from typing import Any

from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from . import configuration
from .client import connected
from .stage import Stage, port, wait_until

REQUEST_SECONDS = 2.0


@dataclass(frozen=True)
class Ports:
    """The ports of the two servers: the page's 4222, 4111 and 7422 if they are free."""

    hub: int
    leaf: int
    leafnodes: int

    @classmethod
    def choose(cls) -> Ports:
        """Return the page's ports, or free ones."""
        return cls(port(4222), port(4111), port(7422))

    def url(self, user: str, where: str = "hub") -> str:
        """Return the URL with which `user` connects; the password is the same word."""
        return f"nats://{user}:{user}@localhost:{self.hub if where == 'hub' else self.leaf}"


async def _request(url: str, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    connection = await connected(url, connect_timeout=2)
    try:
        answer = await connection.request(
            subject, json.dumps(body).encode() if body else b"", REQUEST_SECONDS
        )
        document: dict[str, Any] = json.loads(answer.data)
        return document
    finally:
        await connection.close()


def ask(url: str, subject: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the answer to one JetStream API request; {} if nobody answers."""
    try:
        return asyncio.run(_request(url, subject, body or {}))
    except (NoRespondersError, NatsError, OSError):
        return {}


async def _linked(hub: str, leaf: str) -> bool:
    hearer, speaks = [await connected(url, connect_timeout=2) for url in (hub, leaf)]
    try:
        answers = await hearer.subscribe("demo.is.the.link.up")
        await hearer.flush()
        await speaks.publish("demo.is.the.link.up")
        await answers.next_msg(timeout=0.5)
        return True
    finally:
        await hearer.close()
        await speaks.close()


def linked(ports: Ports, user: str) -> bool:
    """Return whether what `user` publishes at the leaf is received by the same user at the hub."""
    try:
        return asyncio.run(_linked(ports.url(user), ports.url(user, "leaf")))
    except (NatsError, OSError):
        return False


def messages(url: str, domain: str, stream: str) -> int:
    """Return the number of messages in a stream, -1 if it cannot be asked."""
    state = ask(url, f"$JS.{domain}.API.STREAM.INFO.{stream}").get("state", {})
    return int(state.get("messages", -1))


def size(url: str, domain: str, stream: str) -> int:
    """Return the number of bytes in a stream, -1 if it cannot be asked."""
    state = ask(url, f"$JS.{domain}.API.STREAM.INFO.{stream}").get("state", {})
    return int(state.get("bytes", -1))


def play(stage: Stage) -> bool:
    """Play the page from top to bottom; return whether every claim held.

    Raises DemoError if it cannot continue.
    """
    ports = Ports.choose()
    open_the_stage(stage, ports)
    domains(stage, ports)
    copies(stage, ports)
    cut(stage, ports)
    accounts(stage, ports)
    pull(stage, ports)
    holds = stage.show_results()
    if stage.keep:
        farewell(stage, ports)
    return holds


def open_the_stage(stage: Stage, ports: Ports) -> None:
    """Write the configurations, start the two servers, and show the report that sees both."""
    stage.chapter(
        "Two servers, one hub and one leaf",
        """Every JetStream needs a name of its own when several can be reached over one connection: the
        domain.
        The leaf connects to the hub twice, once for the system account, once for ACC.""",
    )
    stage.write("accounts.conf", configuration.ACCOUNTS)
    hub = stage.write("hub.conf", configuration.hub(ports.hub, ports.leafnodes))
    leaf = stage.write("leaf.conf", configuration.leaf(ports.leaf, ports.leafnodes))
    stage.start("hub", hub)
    stage.start("leaf", leaf)
    # Asked with plain messages, because a call of the JetStream API would count in the report.
    connected = wait_until(lambda: linked(ports, "admin") and linked(ports, "acc"))
    stage.console.print()
    report = stage.run(f"pyjs --server {ports.url('admin')} server report jetstream")
    stage.notice("Both servers answer, each with its domain: the system accounts are connected.")
    other = stage.run(f"pyjs --server {ports.url('admin', 'leaf')} server report jetstream")
    both = all(name in text for name in ("hub-server", "leaf-server") for text in (report, other))
    stage.claim(
        "With connected system accounts the JetStream report can be had from both servers",
        connected and both,
        "hub-server and leaf-server in both reports" if both else "a server is missing",
    )


def domains(stage: Stage, ports: Ports) -> None:
    """Show one stream name in two domains, and a message that is stored in both."""
    acc = ports.url("acc")
    stage.chapter(
        "The same stream name in two domains",
        """Without more words a command speaks to the JetStream of the server it is connected to. With
        --js-domain it
        speaks to another one over the same connection. Left to itself `stream add` asks; flags answer
        here.""",
    )
    stage.run(f"pyjs --server {acc} stream add test --subjects test --defaults")
    stage.run(f"pyjs --server {acc} stream add test --subjects test --defaults --js-domain leaf")
    names = {d: ask(acc, f"$JS.{d}.API.STREAM.NAMES").get("streams") or [] for d in ("hub", "leaf")}
    stage.claim(
        "Each domain is a name space of its own: both hold a stream `test` of the same account",
        names == {"hub": ["test"], "leaf": ["test"]},
        f"hub: {', '.join(names['hub'])}; leaf: {', '.join(names['leaf'])}",
    )
    local = {where: ask(ports.url("acc", where), "$JS.API.INFO").get("domain") for where in ("hub", "leaf")}
    stage.claim(
        "Plain $JS.API stays with the local JetStream",
        local == {"hub": "hub", "leaf": "leaf"},
        f"asked at the hub: {local['hub']}; asked at the leaf: {local['leaf']}",
    )
    stage.run(f'pyjs --server {acc} pub test "hello world"')
    stored = wait_until(lambda: messages(acc, "hub", "test") == messages(acc, "leaf", "test") == 1)
    stage.run(f"pyjs --server {acc} stream report --js-domain leaf")
    stage.run(f"pyjs --server {acc} stream report --js-domain hub")
    stage.notice(
        "One publish, two streams: ordinary messages cross the leaf connection, so both domains stored it."
    )
    sizes = {d: size(acc, d, "test") for d in ("hub", "leaf")}
    stage.claim(
        "Regular message flow is not restricted: one publish is stored in each domain, 45 B each",
        stored and sizes == {"hub": 45, "leaf": 45},
        f"hub {sizes['hub']} B, leaf {sizes['leaf']} B",
    )


def copies(stage: Stage, ports: Ports) -> None:
    """Show a mirror and a source in the hub of the leaf's stream."""
    acc = ports.url("acc")
    stage.chapter(
        "Copying across domains",
        """A mirror is an exact copy with the same sequences; a source gathers several streams into one. The
        JSON is
        what the questions of an interactive `stream add --mirror test` come to.""",
    )
    origin = '{"name":"test","external":{"api":"$JS.leaf.API","deliver":""}}'
    stage.run(
        f"pyjs --server {acc} stream add backup-test-leaf --js-domain hub --mirror '{origin}' --defaults"
    )
    stage.run(
        f"pyjs --server {acc} stream add aggregate-test-leaf --js-domain hub --source '{origin}' --defaults"
    )
    copied = wait_until(
        lambda: messages(acc, "hub", "backup-test-leaf") == messages(acc, "hub", "aggregate-test-leaf") == 1
    )
    stage.run(f"pyjs --server {acc} stream report --js-domain hub")
    stage.notice(
        "98 B: a sourced message carries the header Nats-Stream-Source, which says where it came from."
    )
    sizes = {name: size(acc, "hub", name) for name in ("backup-test-leaf", "aggregate-test-leaf")}
    stage.claim(
        "Mirror and source in the hub copy the leaf's stream: 45 B mirrored, 98 B sourced",
        copied and sizes == {"backup-test-leaf": 45, "aggregate-test-leaf": 98},
        ", ".join(f"{name} {n} B" for name, n in sizes.items()),
    )


def cut(stage: Stage, ports: Ports) -> None:
    """Stop the leaf and start it again."""
    acc, acc_leaf = ports.url("acc"), ports.url("acc", "leaf")
    stage.chapter(
        "The leaf goes offline",
        """Once copied, the data does not depend on the leaf connection. The leaf is stopped, the hub still
        has the
        message, and what happens in the meantime is caught up with.""",
    )
    stage.stop("leaf")
    found = stage.run(f"pyjs --server {acc} stream get backup-test-leaf 1 --js-domain hub", check=False)
    stage.claim(
        "Copied data is there while the leaf is offline",
        "hello world" in found,
        "message 1 read from the mirror",
    )
    stage.start("leaf", stage.directory / "leaf.conf")
    back = wait_until(lambda: messages(acc_leaf, "leaf", "test") == 1)
    stage.claim(
        "The leaf kept its stream over the restart", back, f"{messages(acc_leaf, 'leaf', 'test')} message"
    )
    wait_until(lambda: messages(acc, "leaf", "test") == 1)


def accounts(stage: Stage, ports: Ports) -> None:
    """Show exports, imports, and a mirror in another account."""
    importer = ports.url("import_mirror")
    stage.chapter(
        "Across accounts",
        """ACC exports the least that a mirror elsewhere needs: creating a consumer, its deliveries, flow
        control. The
        importer sees the foreign API under a name of its own, JS.acc@hub.API. Both servers reload their
        configuration.""",
    )
    stage.write("accounts.conf", configuration.ACCOUNTS_WITH_IMPORTS)
    for name in ("hub", "leaf"):
        stage.signal(name, signal.SIGHUP)
    reloaded = wait_until(lambda: "streams" in ask(importer, "$JS.hub.API.INFO"))
    stage.claim(
        "A reload adds accounts, exports and imports", reloaded, "import_mirror can log in and use JetStream"
    )
    deliver = "deliver.acc.hub.import_mirror.hub.aggregate-test-leaf-from-acc"
    origin = f'{{"name":"aggregate-test-leaf","external":{{"api":"JS.acc@hub.API","deliver":"{deliver}"}}}}'
    mirror = "aggregate-test-leaf-from-acc"
    stage.run(f"pyjs --server {importer} stream add {mirror} --js-domain hub --mirror '{origin}' --defaults")
    copied = wait_until(lambda: messages(importer, "hub", mirror) == 1)
    stage.run(f"pyjs --server {importer} stream report --js-domain hub")
    stage.claim(
        "A mirror in another account copies through the import",
        copied and size(importer, "hub", mirror) == 98,
        f"{messages(importer, 'hub', mirror)} message, {size(importer, 'hub', mirror)} B",
    )


async def _fetch(url: str) -> tuple[bytes, int, int]:
    """Do what the page's Go program does.

    It binds to the consumer through the import, fetches one message and acknowledges it.
    """
    connection = await connected(url)
    try:
        bound = await connection.jetstream(prefix="JS.acc@hub.API").pull_subscribe_bind(
            "dur", "aggregate-test-leaf"
        )
        (message,) = await bound.fetch(1, timeout=5)
        await message.ack_sync(timeout=5)
        return message.data, message.metadata.sequence.consumer, message.metadata.sequence.stream
    finally:
        await connection.close()


def pull(stage: Stage, ports: Ports) -> None:
    """Show a durable pull consumer that another account uses from the leaf."""
    acc, client = ports.url("acc"), ports.url("import_client", "leaf")
    consumer = "$JS.hub.API.CONSUMER.INFO.aggregate-test-leaf.dur"
    stage.chapter(
        "A pull consumer through an import",
        """The consumer `dur` lives in the hub, in ACC. The client is another account's and is connected to
        the leaf; it
        may fetch and acknowledge, nothing else.""",
    )
    stage.run(f"pyjs --server {acc} consumer add aggregate-test-leaf dur --pull --defaults --js-domain hub")
    stage.run(f"pyjs --server {acc} consumer report aggregate-test-leaf --js-domain hub")
    text = stage.run(
        f"pyjs --server {client} consumer next aggregate-test-leaf dur --js-api-prefix JS.acc@hub.API"
    )
    acknowledged = wait_until(lambda: ask(acc, consumer).get("ack_floor", {}).get("stream_seq") == 1)
    stage.run(f"pyjs --server {acc} consumer report aggregate-test-leaf --js-domain hub")
    info = ask(acc, consumer)
    stage.claim(
        "A durable pull consumer is usable across account and domain, acknowledgement included",
        "hello world" in text and acknowledged and info.get("num_pending") == 0,
        f"unprocessed {info.get('num_pending')}, ack floor {info.get('ack_floor', {}).get('stream_seq')}",
    )
    stage.say(
        "The same from a program: a nats-py client with the prefix JS.acc@hub.API, bound to the consumer."
    )
    stage.run(f'pyjs --server {acc} pub test "hello world 2"')
    data, in_consumer, in_stream = asyncio.run(_fetch(client))
    stage.console.print(f"consumer sequence {in_consumer}, stream sequence {in_stream}: {data.decode()}\n")
    stage.claim(
        "Your own client, connected to the leaf, receives the message just sent",
        data == b"hello world 2",
        f"stream sequence {in_stream}",
    )


def farewell(stage: Stage, ports: Ports) -> None:
    """Say what is left running, and how to use and stop it."""
    pids = " ".join(str(pid) for pid in stage.processes().values())
    stage.say(f"The servers keep running in {stage.directory}. Contexts to use them with:")
    for name, user, where in (
        ("demo-hub", "acc", "hub"),
        ("demo-leaf", "acc", "leaf"),
        ("demo-system", "admin", "hub"),
        ("demo-import", "import_client", "leaf"),
    ):
        stage.console.print(
            f"  pyjs context save {name} --server {ports.url(user, where)}", highlight=False, soft_wrap=True
        )
    stage.console.print(f"\nEnd them with: kill {pids}", highlight=False)
