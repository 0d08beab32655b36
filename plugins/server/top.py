"""`pyjs top`: the connections of one server, again and again, with the rates of each.

It asks the server for VARZ and CONNZ through the system account. Keys: q ends it, space shows rates or sums,
s subscriptions, b whole numbers, d names instead of addresses.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import PROGRAM, CliError, NotFoundError, UnavailableError
from ...cli.output import Column, Grid
from ...cli.output.cells import clean
from ...cli.output.terminal import Screen
from ...cli.proposal import in_hint
from .poll import poll

Record = dict[str, Any]
ORDERS = (
    "cid", "start", "subs", "pending", "msgs_to", "msgs_from", "bytes_to", "bytes_from",
    "last", "idle", "uptime", "stop", "reason", "rtt",
)  # fmt: skip
HEADINGS = (
    "Host", "CID", "Name", "Subs", "Pending", "Msgs To", "Msgs From", "Bytes To", "Bytes From",
    "Lang", "Version", "Uptime", "Last Activity",
)  # fmt: skip
COUNTS = ("out_msgs", "in_msgs", "out_bytes", "in_bytes")  # of a connection, in the order of the headings
LOOKUP_SECONDS = 1.0


@dataclass
class TopView:
    """How the figures are shown; keys change it."""

    subscriptions: bool = False
    raw: bool = False
    lookup: bool = False
    rates: bool = False
    ended: bool = False

    def press(self, key: str) -> bool:
        """Act on a key; return whether it means anything."""
        names = {" ": "rates", "s": "subscriptions", "b": "raw", "d": "lookup", "q": "ended"}
        name = names.get(key.lower())
        if name is not None:
            setattr(self, name, not getattr(self, name))
        return name is not None


@dataclass
class VarzSample:
    """What the server said at one moment; `at` is in seconds."""

    at: float
    server: Record
    connections: list[Record]
    total: int
    sums: dict[int, Record] = field(init=False)

    def __post_init__(self) -> None:
        self.sums = {int(each.get("cid", 0)): each for each in self.connections}


def short_number(value: float, *, raw: bool, unit: float = 1000, letters: str = "KMBT") -> str:
    """Return a figure with one decimal and a letter: `12.3K`."""
    for letter in ("", *letters):
        if raw or value < unit or letter == letters[-1]:
            return f"{value:.1f}{letter}" if letter else f"{value:.0f}"
        value /= unit
    return f"{value:.0f}"


def short_size(value: float, *, raw: bool) -> str:
    """Return bytes in the same way, by powers of 1024."""
    return short_number(value, raw=raw, unit=1024, letters="KMG")


async def sample(connection: NatsConnection, name: str, limit: int, order: str, *, subs: bool) -> VarzSample:
    """Ask the server. Raises NotFoundError if no server of this name answers."""
    chosen = {"server_name": name}
    asked = {**chosen, "limit": limit, "sort": order, "subscriptions": subs}
    try:
        (server, *_), (conns, *_) = await asyncio.gather(
            poll(connection, "$SYS.REQ.SERVER.PING.VARZ", chosen, expect=1),
            poll(connection, "$SYS.REQ.SERVER.PING.CONNZ", asked, expect=1),
        )
    except UnavailableError as error:
        raise NotFoundError(
            f"no server {name} answers", f"{in_hint('server list')} shows their names", *error.hints
        ) from None
    data = conns.document.get("data") or {}
    listed = data.get("connections") or []
    now = asyncio.get_running_loop().time()
    return VarzSample(
        now, server.document.get("data") or {}, listed, int(data.get("num_connections", len(listed)))
    )


def rate(now: VarzSample, before: VarzSample | None, cid: int | None, field_name: str) -> float:
    """Return how fast a count grew since the look before; of a connection, or of the whole server."""
    if before is None or now.at <= before.at:
        return 0.0
    later = now.server if cid is None else now.sums.get(cid, {})
    earlier = before.server if cid is None else before.sums.get(cid)
    if earlier is None:
        return 0.0
    grown = int(later.get(field_name, 0)) - int(earlier.get(field_name, 0))
    return max(0.0, grown / (now.at - before.at))


def page(now: VarzSample, before: VarzSample | None, view: TopView, names: dict[str, str]) -> str:
    """Return the figures of the server, and the table of its connections."""
    return f"{head(now, before, view)}\n\n{output.drawn(table(now, before, view, names))}"


def head(now: VarzSample, before: VarzSample | None, view: TopView) -> str:
    """Return the figures of the server."""
    server = now.server

    def flow(title: str, direction: str) -> str:
        messages, size = server.get(f"{direction}_msgs", 0), server.get(f"{direction}_bytes", 0)
        each_second = rate(now, before, None, f"{direction}_msgs")
        return (
            f"  {title:<5}Msgs: {short_number(messages, raw=view.raw)}  "
            f"Bytes: {short_size(size, raw=view.raw)}  Msgs/Sec: {each_second:.1f}  "
            f"Bytes/Sec: {short_size(rate(now, before, None, f'{direction}_bytes'), raw=view.raw)}"
        )

    memory = short_size(server.get("mem", 0), raw=False)
    return "\n".join(
        [
            f"NATS server version {server.get('version')} (uptime: {server.get('uptime')})",
            f"Server: {clean(str(server.get('server_name')))}",
            f"  ID:   {server.get('server_id')}",
            f"  Load: CPU: {server.get('cpu', 0):.1f}%  Memory: {memory}  "
            f"Slow Consumers: {server.get('slow_consumers', 0)}",
            flow("In:", "in"),
            flow("Out:", "out"),
            "",
            f"Connections Polled: {now.total}",
        ]
    )


def table(now: VarzSample, before: VarzSample | None, view: TopView, names: dict[str, str]) -> Grid:
    """Return the connections; counts, or with `view.rates` counts per second."""
    headings = [*HEADINGS, *(["Subscriptions"] if view.subscriptions else [])]
    rows = [_row(each, now, before, view, names) for each in now.connections]
    kinds = [output.NAME if each in {"Host", "Name", "Subscriptions"} else output.WORD for each in headings]
    columns = [Column("", text, kind) for text, kind in zip(headings, kinds, strict=True)]
    return Grid("", columns, headings, rows)


def _row(
    each: Record, now: VarzSample, before: VarzSample | None, view: TopView, names: dict[str, str]
) -> list[str]:
    cid = int(each.get("cid", 0))
    address = str(each.get("ip", ""))
    host = names.get(address, address) if view.lookup else address
    counts = [rate(now, before, cid, name) if view.rates else each.get(name, 0) for name in COUNTS]
    cells = [
        f"{host}:{each.get('port')}" if host == address else host,
        str(cid),
        str(each.get("name") or ""),
        str(each.get("subscriptions", 0)),
        short_number(each.get("pending_bytes", 0), raw=view.raw),
        *(short_number(value, raw=view.raw) for value in counts[:2]),
        *(short_size(value, raw=view.raw) for value in counts[2:]),
        *(str(each.get(name) or "") for name in ("lang", "version", "uptime", "last_activity")),
    ]
    if view.subscriptions:
        cells.append(", ".join(map(str, each.get("subscriptions_list") or ())))
    return [clean(cell) for cell in cells]


async def look_up(found: VarzSample, names: dict[str, str]) -> None:
    """Sample up the names of addresses that are not known yet, for a moment at most."""
    fresh = {str(each.get("ip")) for each in found.connections if each.get("ip")} - names.keys()
    loop = asyncio.get_running_loop()
    tasks = {address: loop.getnameinfo((address, 0), socket.NI_NAMEREQD) for address in fresh}
    answers = await asyncio.wait_for(
        asyncio.gather(*tasks.values(), return_exceptions=True), LOOKUP_SECONDS * max(1, len(tasks))
    )
    for address, answer in zip(tasks, answers, strict=True):
        names[address] = address if isinstance(answer, BaseException) else answer[0]


@contextmanager
def keys(view: TopView, pressed: asyncio.Event) -> Iterator[None]:
    """Act on keys while this is open, if stdin and stdout are a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    import termios
    import tty

    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)

    def read() -> None:
        if view.press(sys.stdin.read(1)):
            pressed.set()

    loop.add_reader(descriptor, read)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@click.command(cls=Command)
@click.argument("name")
@click.option(
    "-n", "--conns", type=click.IntRange(min=1), default=1024, show_default=True, help="Connections."
)
@click.option(
    "-d",
    "--interval",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Seconds between looks.",
)
@click.option(
    "--sort", type=click.Choice(ORDERS), default="cid", show_default=True, help="Order of the connections."
)
@click.option("--lookup", is_flag=True, help="Show the names of addresses.")
@click.option("-o", "--output", "file", metavar="FILE", default="", help="Save one look in a file.")
@click.option(
    "--delimiter", default="", help="With --output: separate the fields by this, instead of a table."
)
@click.option("-b", "--raw", is_flag=True, help="Show whole numbers.")
@click.option(
    "-r", "--max-refresh", type=int, default=-1, show_default=True, help="End after this many looks."
)
@click.option("--subs", is_flag=True, help="Show the subscriptions.")
async def top(
    name: str,
    conns: int,
    interval: int,
    sort: str,
    lookup: bool,
    file: str,
    delimiter: str,
    raw: bool,
    max_refresh: int,
    subs: bool,
) -> None:
    """Show the connections of a server, again and again, until Ctrl-C or q.

    Keys: space shows rates instead of sums, s subscriptions, b whole numbers, d names of addresses.
    """
    view = TopView(subscriptions=subs, raw=raw, lookup=lookup)
    names: dict[str, str] = {}
    async with connect() as connection:
        if file:
            found = await sample(connection, name, conns, sort, subs=subs)
            if lookup:
                await look_up(found, names)
            await asyncio.to_thread(Path(file).write_text, saved(found, view, names, delimiter), "utf-8")
            return
        await _follow(connection, (name, conns, sort), view, names, interval, max_refresh)


def saved(found: VarzSample, view: TopView, names: dict[str, str], delimiter: str) -> str:
    """Return one look as the text of a file."""
    if not delimiter:
        return page(found, None, view, names) + "\n"
    grid = table(found, None, view, names)
    lines = [delimiter.join(line.split()) for line in head(found, None, view).splitlines()]
    return "\n".join([*lines, *(delimiter.join(row) for row in [grid.headings, *grid.rows])]) + "\n"


async def _follow(
    connection: NatsConnection,
    asked: tuple[str, int, str],
    view: TopView,
    names: dict[str, str],
    interval: int,
    most: int,
) -> None:
    """Sample again and again; a key is obeyed at once."""
    screen, pressed = Screen(f"Every {interval}s: {asked[0]}"), asyncio.Event()
    before: VarzSample | None = None
    looks = 0
    try:
        with keys(view, pressed):
            while not view.ended and looks != most:
                pressed.clear()
                looks += 1
                try:
                    now = await sample(connection, *asked, subs=view.subscriptions)
                except CliError as error:
                    if before is None:
                        raise
                    screen.draw(f"{PROGRAM}: error: {clean(error.message)}")  # it may come back
                else:
                    if view.lookup:
                        await look_up(now, names)
                    screen.draw(page(now, before, view, names))
                    before = now
                if looks != most:
                    await _wait(pressed, interval)
    except asyncio.CancelledError:
        return
    finally:
        screen.close()


async def _wait(pressed: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(pressed.wait(), seconds)
    except TimeoutError:
        return
