"""`pyjs events`: listens to advisories, metrics and server events, or reads those that a stream keeps."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from ...cli import complete, render, words
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, UsageError, warn
from ...cli.output.cells import clean
from ...cli.param import DURATION, split_list
from ..server.poll import poll
from .sentences import Event, sentence

PREFIX = "$JS.EVENT"
ADVISORY, METRIC = "ADVISORY", "METRIC"
SERVER_EVENTS = {
    "$SYS.ACCOUNT.*.CONNECT": "connects",
    "$SYS.ACCOUNT.*.DISCONNECT": "disconnects",
    "$SYS.SERVER.*.CLIENT.AUTH.ERR": "refused connections",
}
UNSEEN = (
    "no server answers this user as one of the system account: it will not see who connects, disconnects or "
    "is refused, unless its account imports these events; --no-srv-advisory leaves them out"
)
SECOND = 1_000_000_000


@click.command(cls=Command)
@click.option("-a", "--all", "show_all", is_flag=True, help="All events.")
@click.option("-j", "--json", "as_json", is_flag=True, help="Events as they are: a line of JSON for each.")
@click.option("--cloudevent", is_flag=True, help="Events in the form of CloudEvents 1.0.")
@click.option("--short", is_flag=True, help="A line for each event.")
@click.option("--filter", "pattern", default=".", metavar="REGEX", help="Only events whose text matches.")
@click.option("--js-metric", is_flag=True, help="Metrics of JetStream.")
@click.option("--js-advisory", is_flag=True, help="Advisories of JetStream.")
@click.option(
    "--srv-advisory/--no-srv-advisory",
    default=True,
    show_default=True,
    help="Events of servers, as a system user.",
)
@click.option("--subjects", multiple=True, metavar="SUBJECTS", help="Events on these subjects, too.")
@click.option(
    "--stream", default="", help="Read events from this stream only.", shell_complete=complete.streams
)
@click.option("--since", type=DURATION, default=0, help="With --stream: begin this long ago.")
async def events(
    show_all: bool,
    as_json: bool,
    cloudevent: bool,
    short: bool,
    pattern: str,
    js_metric: bool,
    js_advisory: bool,
    srv_advisory: bool,
    subjects: tuple[str, ...],
    stream: str,
    since: int,
) -> None:
    """Show what happens: advisories and metrics of JetStream, and events of servers, until Ctrl-C."""
    chosen = show_all or js_metric or js_advisory or bool(subjects)
    if not chosen and not srv_advisory and not stream:
        raise UsageError(
            "no events were chosen", "see --all, --js-advisory, --js-metric, --subjects and --stream"
        )
    if chosen and stream:
        raise UsageError("--stream goes with no other choice of events")
    try:
        wanted = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"--filter is not a regular expression: {error}") from None
    show = _Shown(wanted, as_json=as_json, cloudevent=cloudevent, short=short)
    async with connect() as connection:
        if stream:
            await _read(connection, stream, since, show)
            return
        found = {}
        lead = connection.profile.text("jetstream_event_prefix") or PREFIX
        if js_advisory or show_all:
            found[f"{lead}.{ADVISORY}.>"] = "advisories"
        if js_metric or show_all:
            found[f"{lead}.{METRIC}.>"] = "metrics"
        if srv_advisory or show_all:
            found |= SERVER_EVENTS
        found |= dict.fromkeys(split_list(subjects), "events")
        await _listen(connection, found, show)


async def _listen(connection: NatsConnection, subjects: dict[str, str], show: _Shown) -> None:
    """Show what arrives on the subjects, until the run is ended."""

    async def take(message: Any) -> None:
        show.event(message.subject, message.data)

    for subject, what in subjects.items():
        await connection.nc.subscribe(subject, cb=take)
        show.note(f"Listening for {what} on {subject}")
    await connection.nc.flush(connection.timeout)
    if SERVER_EVENTS.keys() <= subjects.keys() and not await _servers_answer(connection):
        warn(UNSEEN)
    await asyncio.Event().wait()


async def _servers_answer(connection: NatsConnection) -> bool:
    """Return whether servers answer this user, as they do only for users of the system account."""
    try:
        return bool(await poll(connection, "$SYS.REQ.SERVER.PING", expect=1))
    except CliError:
        return False


async def _read(connection: NatsConnection, stream: str, since: int, show: _Shown) -> None:
    """Show the events of a stream, from its start or from `since` ns ago, and those that follow."""
    from ...cli.ordered_consumer import OrderedConsumer

    start: dict[str, Any] | None = None
    if since > 0:
        moment = datetime.now(UTC) - timedelta(seconds=since / SECOND)
        start = {"deliver_policy": "by_start_time", "opt_start_time": moment.isoformat()}
    show.note(
        f"Listening for events in stream {stream}" + (f" since {start['opt_start_time']}" if start else "")
    )
    async with OrderedConsumer(connection, stream, start=start, outage_seconds=None) as reader:
        while True:
            message = await reader.next()
            if message is not None:
                show.event(message.subject, message.data)


class _Shown:
    """Shows events in the form that was asked for. What is no event is shown, and said to be none."""

    def __init__(self, wanted: re.Pattern[str], *, as_json: bool, cloudevent: bool, short: bool) -> None:
        self.wanted = wanted
        self.as_json = as_json
        self.cloudevent = cloudevent
        self.short = short

    def note(self, text: str) -> None:
        """Say what is listened to."""
        render.log(text)

    def event(self, subject: str, data: bytes) -> None:
        """Show one event, if it matches."""
        text = data.decode(errors="replace")
        if not self.wanted.search(text):
            return
        if self.as_json and not self.cloudevent:
            render.show(text)
            return
        try:
            event = json.loads(text)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not event.get("type"):
            render.log(f"this is no event, on subject {clean(subject)}: {clean(text)}")
        elif self.cloudevent:
            render.show_json(_cloud_event(event))
        elif self.short:
            render.show(f"{_time(event)} {clean(sentence(event))}")
        else:
            render.show(_page(subject, event))


def _time(event: Event) -> str:
    moment = words.parse_time(str(event.get("timestamp") or "")) if event.get("timestamp") else None
    return f"{moment.astimezone():%H:%M:%S}" if moment else "--:--:--"


def _page(subject: str, event: Event) -> str:
    """Return an event as a sentence, and its fields below."""
    text = clean(sentence(event))
    lines = [f"[{_time(event)}] [{clean(str(event.get('id', '')))}] {text[:1].upper()}{text[1:]}", ""]
    pairs: list[tuple[str, object]] = [("Event", clean(subject)), ("Type", clean(str(event["type"])))]
    for name, value in event.items():
        if name not in {"type", "id", "timestamp"} and not isinstance(value, dict | list):
            pairs.append((name.replace("_", " ").capitalize(), clean(str(value))))
    lines += [render.fields(pairs), ""]
    return "\n".join(lines)


def _cloud_event(event: Event) -> dict[str, Any]:
    kind = str(event["type"])
    return {
        "type": kind,
        "time": event.get("timestamp"),
        "id": event.get("id"),
        "source": "urn:nats:" + (kind.split(".")[2] if kind.count(".") > 2 else "unknown"),
        "dataschema": _schema(kind),
        "specversion": "1.0",
        "subject": "metric" if ".metric." in kind else "advisory",
        "data": event,
    }


def _schema(kind: str) -> str:
    path = kind.removeprefix("io.nats.").replace(".", "/")
    return f"https://raw.githubusercontent.com/nats-io/jsm.go/master/schemas/{path}.json"
