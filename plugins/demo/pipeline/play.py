"""The chapters: the Spark program, three servers, orders, counting, the hub away, counting again.

Spark takes seconds to start: the program is started first, and is ready when there is something to count.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..leaf_nodes import ask, messages
from ..stage import Stage, wait_until
from . import network, program, results, shops
from .network import LEAFS, Network

ORDERS = 600  # of one shop in one round
PROGRAM = "orders.py"
DONE = "messages read: "  # what its last line begins with
HEADER = re.compile(r"Nats-Stream-Source: orders:\w+ \d+")


@dataclass
class Play:
    """The stage, the addresses of the servers, and what was ordered so far."""

    stage: Stage
    net: Network
    totals: shops.OrderTotals = field(default_factory=shops.OrderTotals)
    read: int = 0  # orders that earlier runs of the program have read


def play(stage: Stage) -> bool:
    """Play all chapters; return whether every claim held. Raises DemoError if it cannot continue."""
    began = time.monotonic()
    scene = Play(stage, Network.choose())
    prepare(scene)
    with program.started(stage, PROGRAM, scene.net.address("hub")) as counter:
        servers(scene)
        streams(scene)
        first_round(scene)
        counting(scene, counter)
        hub_away(scene)
        again(scene, counter)
    holds = stage.show_results()
    stage.console.print(f"Played in {time.monotonic() - began:.0f} s.", highlight=False)
    if stage.keep:
        farewell(scene)
    return holds


def servers(scene: Play) -> None:
    """Start three servers with three domains."""
    stage, net = scene.stage, scene.net
    stage.chapter(
        "A hub and two shops",
        """Each shop has a server of its own, a leaf of the hub, and takes orders whether the hub is there or
        not. Each of the three has a JetStream domain.""",
    )
    stage.write("accounts.conf", network.ACCOUNTS)
    stage.write("hub.conf", network.hub(net))
    for name in LEAFS:
        stage.write(f"{name}.conf", network.leaf(net, name), show=name == LEAFS[0])
    for name in ("hub", *LEAFS):
        stage.start(name, stage.directory / f"{name}.conf")
    stage.console.print()


def streams(scene: Play) -> None:
    """Create one stream at each shop and two in the hub."""
    stage, hub = scene.stage, scene.net.url("hub")
    stage.chapter(
        "The streams",
        """`orders` at each shop, under the same name; `aggregate` in the hub, sourced from both; `stats` in
        the hub for the results. Everything is made from the hub, which reaches each domain by its name.""",
    )
    reached = wait_until(
        lambda: all("error" not in (ask(hub, f"$JS.{n}.API.INFO") or {"error": 1}) for n in LEAFS)
    )
    for name in LEAFS:
        stage.run(
            f"pyjs --server {hub} stream add orders --subjects 'orders.>' --defaults --js-domain {name}"
        )
    origins = " ".join(
        f'--source \'{{"name":"orders","external":{{"api":"$JS.{name}.API","deliver":""}}}}\''
        for name in LEAFS
    )
    stage.run(f"pyjs --server {hub} stream add aggregate {origins} --defaults")
    stage.run(f"pyjs --server {hub} stream add stats --subjects 'stats.>' --dupe-window 1h --defaults")
    made = all(messages(hub, name, "orders") == 0 for name in LEAFS)
    stage.claim(
        "The hub makes a stream `orders` in each shop's domain, and gathers both",
        reached and made and messages(hub, "hub", "aggregate") == 0,
        "orders in north and south, aggregate in hub",
    )


def first_round(scene: Play) -> None:
    """Have both shops take orders, and wait until the hub has them."""
    stage, hub = scene.stage, scene.net.url("hub")
    stage.chapter(
        "Orders",
        f"Each shop takes {ORDERS} orders. One counts when the shop's own stream has acknowledged it.",
    )
    _take(scene, 0)
    stage.run(f"pyjs --server {hub} stream report")
    text = stage.run(f"pyjs --server {hub} stream get aggregate 1")
    stage.notice("The header Nats-Stream-Source says which stream an order was copied from.")
    stage.claim(
        "Each shop's stream has its own orders only, and the hub's has all of them",
        gathered(scene) and HEADER.search(text) is not None,
        _counts(scene),
    )


def prepare(scene: Play) -> None:
    """Show the Spark program, which is started then."""
    stage = scene.stage
    stage.chapter(
        "The Spark program",
        """A streaming query: it reads what is new in `aggregate`, counts orders and turnover by minute, shop
        and kind of goods, and writes the rows that have changed to the stream `stats` and to Parquet. Its
        place in the stream is in the checkpoint. The password is read from a file by those who connect.
        Spark needs some seconds to start, so it starts now.""",
    )
    stage.write("password", "shop", show=False).chmod(0o600)
    stage.write(PROGRAM, Path(__file__).with_name("job.py").read_text(encoding="utf-8"))


def counting(scene: Play, counter: program.Program) -> None:
    """Have Spark read `aggregate` and write what it has counted."""
    stage = scene.stage
    stage.chapter("Counting", "The program is told to count what has come.")
    _count(scene, counter)
    verify(scene)
    hub = scene.net.url("hub")
    stage.run(f"pyjs --server {hub} stream report")
    stage.run(f"pyjs --server {hub} stream get stats --last-for stats.north.orders.books")


def hub_away(scene: Play) -> None:
    """Stop the hub, let the shops continue without it, and check that the hub catches up."""
    stage = scene.stage
    stage.chapter(
        "The hub is away",
        """The hub is killed. The shops take as many orders again; when the hub is back, its stream catches
        up.""",
    )
    stage.kill("hub")
    _take(scene, 1)
    taken = {name: messages(scene.net.url(name), name, "orders") for name in LEAFS}
    stage.claim(
        "Without the hub each shop goes on taking orders",
        taken == {name: scene.totals.of(name) for name in LEAFS},
        ", ".join(f"{name} {count}" for name, count in taken.items()),
    )
    stage.start("hub", stage.directory / "hub.conf")
    complete = gathered(scene)
    stage.run(f"pyjs --server {scene.net.url('hub')} stream report")
    stage.claim("Back again, the hub has every order of both shops, each once", complete, _counts(scene))


def again(scene: Play, counter: program.Program) -> None:
    """Have it count again: a new query, which continues where the first one stopped."""
    scene.stage.chapter(
        "Counting again",
        """A new query: it goes on where the checkpoint says, with what was counted before.""",
    )
    _count(scene, counter)
    verify(scene)


def _take(scene: Play, round_: int) -> None:
    for name in LEAFS:
        shops.take(scene.net.url(name), name, ORDERS, round_, scene.totals)
        scene.stage.console.print(f"{name}: {ORDERS} orders published and acknowledged", highlight=False)
    scene.stage.console.print()


def gathered(scene: Play) -> bool:
    """Wait until the hub's stream has all that was ordered; return whether the shops' streams have it too."""
    hub, total = scene.net.url("hub"), sum(scene.totals.orders.values())
    if not wait_until(lambda: messages(hub, "hub", "aggregate") == total):
        return False
    return all(messages(scene.net.url(name), name, "orders") == scene.totals.of(name) for name in LEAFS)


def _counts(scene: Play) -> str:
    parts = [f"{name} {messages(scene.net.url(name), name, 'orders')}" for name in LEAFS]
    return f"{', '.join(parts)}, hub {messages(scene.net.url('hub'), 'hub', 'aggregate')}"


def _count(scene: Play, counter: program.Program) -> None:
    """Have the Spark program count, and claim that it has read exactly what is new."""
    stage, total = scene.stage, sum(scene.totals.orders.values())
    said = counter.ask(DONE)
    found = re.search(rf"{DONE}(\d+)", said)
    read = int(found.group(1)) if found else -1
    scene.read, new = total, total - scene.read
    stage.claim(f"Spark reads just what is new in `aggregate`: {new} messages", read == new, f"{read} read")


def verify(scene: Play) -> None:
    """Compare what was ordered with the stream and with Parquet."""
    expected = scene.totals.rows
    in_stream, count = results.from_stream(scene.net.url("hub"))
    in_parquet = results.from_parquet(scene.stage.directory / "stats.parquet")
    for place, rows in ((f"the stream `stats` ({count} messages)", in_stream), ("Parquet", in_parquet)):
        orders, cents = (sum(row[i] for row in rows.values()) for i in (0, 1))
        scene.stage.claim(
            f"In {place}, each minute, shop and kind of goods has its number and turnover",
            rows == expected,
            f"{len(rows)} rows, {orders} orders, {cents / 100:,.2f} in all",
        )


def farewell(scene: Play) -> None:
    """Say what is left running, and how to use and stop it."""
    stage = scene.stage
    stage.console.print()
    stage.say("The servers keep running. Count again when there are new orders:")
    for line in (
        f"cd {stage.directory}",
        f"pyjs --server {scene.net.url('north')} pub orders.toys "
        '\'{"number":"mine","cents":4200,"placed":"2026-03-14T09:05:30Z"}\'',
        f"python {PROGRAM} {scene.net.address('hub')}  # Enter counts, Ctrl-D ends",
        f"kill {' '.join(str(pid) for pid in stage.processes().values())}",
    ):
        stage.console.print(f"  {line}", highlight=False, soft_wrap=True)
