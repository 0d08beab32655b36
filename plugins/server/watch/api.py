"""`pyjs server watch api requests`: what is asked of the JetStream API, by account and asset.

Promises: what was asked is counted for as long as it runs, and the times of the last `--rate` only as counts
of a sixtieth of it; at most 10,000 different requests are told apart.

Source: natscli, cli/server_watch_api_command.go; jsm.go, api/schemas_generated.go (the names of requests).
"""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from ....cli import output, words
from ....cli.command import Command, CommandGroup
from ....cli.output import NAME, NUMBER, WORD, Column, FilledTable, Table
from ....cli.param import DURATION, PATTERN
from . import live
from .live import room

SECOND = 1_000_000_000
MOST = 10_000  # different requests that are told apart
PARTS = 60  # of the interval of a rate: how exactly it is remembered
LONG = 20  # letters of a name that `--compact` leaves as it is
API = "$JS.API."
# The beginning of a request's subject: the words of its type. What follows are the names of its assets.
TYPES = {
    "INFO": "account_info",
    "STREAM.LEADER.STEPDOWN": "stream_leader_stepdown",
    "STREAM.MSG.DELETE": "stream_msg_delete",
    "STREAM.MSG.GET": "stream_msg_get",
    "STREAM.PEER.REMOVE": "stream_remove_peer",
    "CONSUMER.DURABLE.CREATE": "consumer_create",
    "CONSUMER.LEADER.STEPDOWN": "consumer_leader_stepdown",
    "CONSUMER.MSG.NEXT": "consumer_getnext",
    "DIRECT.GET": "stream_direct_get",
    "META.LEADER.STEPDOWN": "meta_leader_stepdown",
    "SERVER.REMOVE": "meta_server_remove",
    "ACCOUNT.PURGE": "account_purge",
}
REQUESTS = Table(
    "requests",
    "JS API activity",
    (
        Column("type", "Type", WORD),
        Column("account", "Account", NAME, silent=("",)),
        Column("count", "Count", NUMBER),
        Column("recent", "Recent", NUMBER),
        Column("asset", "Asset", NAME, show=lambda each: _asset(each["stream"], each["consumer"])),
        Column("stream", "Stream", NAME, wide=True),
        Column("consumer", "Consumer", NAME, wide=True),
    ),
    key="type",
    empty="Waiting for requests to the JetStream API",
    spare=("account", "recent"),
)


@dataclass(frozen=True)
class CountedRequest:
    """What is counted together."""

    type: str
    account: str = ""
    stream: str = ""
    consumer: str = ""


OTHERS = CountedRequest("others")


@dataclass
class Tally:
    """How often something was asked: ever, and in each part of the interval."""

    count: int = 0
    parts: deque[list[int]] = field(default_factory=deque)  # [number of the part, count]

    def add(self, part: int) -> None:
        """Count a request in the part that is now."""
        self.count += 1
        if self.parts and self.parts[-1][0] == part:
            self.parts[-1][1] += 1
        else:
            self.parts.append([part, 1])
            self.forget(part)

    def forget(self, part: int) -> int:
        """Forget what is older than the interval; return the count of the rest."""
        while self.parts and self.parts[0][0] <= part - PARTS:
            self.parts.popleft()
        return sum(count for _, count in self.parts)


class RequestTally:
    """The requests that were heard.

    rate: the interval (ns) in which they are counted as recent ones.
    """

    def __init__(self, rate: int, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._part, self._now = max(1, rate // PARTS), now
        self._found: dict[CountedRequest, Tally] = {}

    def add(self, request: CountedRequest) -> None:
        """Count a request."""
        if request not in self._found and len(self._found) >= MOST:
            request = OTHERS
        self._found.setdefault(request, Tally()).add(self._now() // self._part)

    def records(self) -> list[dict[str, Any]]:
        """Return all, the most frequent first."""
        part = self._now() // self._part
        found = [
            {**vars(each), "count": tally.count, "recent": tally.forget(part)}
            for each, tally in self._found.items()
        ]
        found.sort(key=lambda each: (each["recent"], each["count"], each["stream"], each["consumer"]))
        return found[::-1]


def request_of(subject: str) -> CountedRequest | None:
    """Return what a subject of the API asks for; None if it is another one."""
    if not subject.startswith(API):
        return None
    rest = subject.removeprefix(API)
    tokens = rest.split(".")
    known = next((each for each in TYPES if rest == each or rest.startswith(f"{each}.")), "")
    names = tokens[len(known.split(".")) :] if known else tokens[2:]
    kind = TYPES[known] if known else "_".join(tokens[:2]).lower()
    if tokens[0] in ("META", "SERVER", "ACCOUNT"):
        names = []
    consumer = names[1] if tokens[0] == "CONSUMER" and len(names) > 1 else ""
    return CountedRequest(f"{kind}_request", stream=names[0] if names else "", consumer=consumer)


def _cells(each: dict[str, Any]) -> list[str]:
    """Return the cells of a request with long names shortened."""
    account, consumer = each["account"], each["consumer"]
    account = f"{account[:10]}…{account[-5:]}" if len(account) > LONG else account
    consumer = f"{consumer[:12]}…" if len(consumer) > LONG else consumer
    short = {**each, "account": account, "consumer": consumer}
    return [column.cell(short) for column in REQUESTS.columns]


def _asset(stream: str, consumer: str) -> str:
    return f"{stream} > {consumer}" if consumer else stream


def account_of(message: Any) -> str:
    """Return the account of a request that the system account sees; empty if it is not told."""
    try:
        info = json.loads((message.headers or {}).get("Nats-Request-Info", ""))
    except ValueError:
        return ""
    return str(info.get("acc", "")) if isinstance(info, dict) else ""


@click.group(cls=CommandGroup)
def api() -> None:
    """Watch the JetStream API."""


@api.command(cls=Command)
@output.listing(REQUESTS)
@click.option("--account", "pattern", type=PATTERN, help="Only accounts that it matches.")
@click.option("-n", "--top", "number", type=click.IntRange(min=1), default=10, help="Rows (default: 10).")
@click.option("--rate", type=DURATION, default=60 * SECOND, help="Count requests of this time (default: 1m).")
@click.option("--record-consumer/--no-record-consumer", default=True, help="Tell Consumers apart.")
@click.option("--compact/--no-compact", default=True, help="Shorten long names.")
@click.option("-R", "--reverse", "backwards", is_flag=True, help="Sort in reverse order.")
async def requests(
    pattern: re.Pattern[str] | None,
    number: int,
    rate: int,
    record_consumer: bool,
    compact: bool,
    backwards: bool,
) -> None:
    """Watch requests to the JetStream API, every second until Ctrl-C.

    A user of the system account sees those of all accounts, on servers that take them there; a user of
    another account those of it.
    """
    requests = RequestTally(rate or 60 * SECOND)

    def hear(message: Any) -> None:
        request, account = request_of(message.subject), account_of(message)
        if request is not None and (pattern is None or pattern.search(account)):
            consumer = request.consumer if record_consumer else ""
            requests.add(CountedRequest(request.type, account, request.stream, consumer))

    def rows() -> FilledTable:
        found = requests.records()
        shown = (found[::-1] if backwards else found)[: room(number)]
        title = f"Top {number} JS API activity"
        cells = [_cells(each) for each in shown] if compact else None
        return REQUESTS.of(shown, title=f"{title}, recent: {words.go_span(rate)}", cells=cells)

    await live.follow([f"{API}>"], hear, rows)


api.add_alias("requests", "req")
