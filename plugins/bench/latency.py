"""`pyjs latency`: how long messages take from one server to another.

One process publishes on the first server, another one subscribes on the second. Every message carries the
time at which it was sent; both processes use the system's monotonic clock.
"""

from __future__ import annotations

import contextlib
import struct
import time
from array import array
from dataclasses import replace
from pathlib import Path

import click

from ...cli import flags, output, render, words
from ...cli.blocking import connection_options
from ...cli.command import Command
from ...cli.errors import UnavailableError, UsageError
from ...cli.param import DURATION
from ...cli.profile import Profile, resolve
from ...client import BlockingConnection, ClientError, TimedOut
from ..messaging.rtt import in_words
from .client import ClientPlan, ClientRun, now
from .connection import open_connection
from .core import fits
from .processes import BenchmarkWatch, ProcessSpec, run_clients
from .sample import BenchmarkSample, Latencies
from .settings import SECOND, BenchmarkSettings

LEAST = 8  # bytes: the time of sending
PERCENTILES = (10, 50, 75, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999, 100)
IN_FILE = (10, 25, *PERCENTILES[1:])
PUBLISHER, SUBSCRIBER = 0, 1
SILENCE = 10.0  # seconds after the last message until those that are missing are given up
MILLISECOND = 1_000_000
STAMP = struct.Struct("<q")


@click.command(cls=Command)
@output.showing("latency", named=False)
@click.option("--server-b", required=True, metavar="URL", help="The server to subscribe on.")
@click.option("--size", type=int, default=LEAST, show_default=True, help="Bytes of a message.")
@click.option(
    "--rate", type=click.IntRange(min=1), default=1000, show_default=True, help="Messages per second."
)
@click.option("--duration", type=DURATION, default="5s", show_default=True, help="How long to publish.")
@click.option(
    "--histogram", metavar="FILE", default="", help="Write FILE.histogram and FILE.raw, in milliseconds."
)
def latency(server_b: str, size: int, rate: int, duration: int, histogram: str) -> None:
    """Measure how long messages take from the server in use to another one."""
    if size < LEAST:
        raise UsageError(f"messages must have at least {LEAST} bytes", "see --size")
    messages = round(rate * duration / SECOND)
    if messages <= 0:
        raise UsageError("--rate and --duration together make no message")
    profile = resolve(flags.session())
    other = replace(profile, fields={**profile.fields, "url": server_b})
    measured = _Measurement(profile, other, messages, size, rate)
    document, latencies = measured.run(histogram)
    if histogram:
        Path(f"{histogram}.histogram").write_text(distribution(latencies))
        render.log(f"Saved {histogram}.histogram and {histogram}.raw")
    output.show_page(document, _page(document, latencies))


class _Measurement:
    """One measurement.

    profile, other: the settings for the server to publish on, and for the one to subscribe on.
    """

    def __init__(self, profile: Profile, other: Profile, messages: int, size: int, rate: int) -> None:
        self.profile = profile
        self.other = other
        self.options = connection_options(profile, " bench")
        self.other_options = connection_options(other, " bench")
        self.messages = messages
        self.size = size
        self.rate = rate

    def run(self, histogram: str) -> tuple[dict[str, object], Latencies]:
        """Measure; return the results as a document, and the latencies."""
        with (
            open_connection(self.profile, self.options) as first,
            open_connection(self.other, self.other_options) as second,
        ):
            fits(self.size, min(first.max_payload, second.max_payload))
            trips = [_round_trip(first), _round_trip(second)]
            subject = second.new_inbox()
        settings = BenchmarkSettings(subject=subject, messages=self.messages, size=self.size)

        def work(client: ClientRun) -> BenchmarkSample:
            return (
                self._publish(client) if client.plan.number == PUBLISHER else self._receive(client, histogram)
            )

        plans = [ClientPlan(number, self.messages, 0) for number in (PUBLISHER, SUBSCRIBER)]
        watch = BenchmarkWatch(
            lambda _number: None, lambda _number, _messages: None, on_start=self._await_interest
        )
        render.log(f"Publishing {words.number(self.messages)} messages, {words.number(self.rate)} per second")
        sent, received = run_clients(ProcessSpec(settings, self.profile, self.options, work), plans, watch)
        latencies = received.latencies
        document: dict[str, object] = {
            "messages": self.messages,
            "size": self.size,
            "rate": self.rate,
            "publish_rtt": trips[0],
            "subscribe_rtt": trips[1],
            "achieved_rate": sent.rate,
            "sent_after": sent.ended - sent.begun,
            "received_after": received.ended - sent.begun,
            "min": latencies.least,
            "median": latencies.percentile(50),
            "max": latencies.most,
            "percentiles": {str(percent): latencies.percentile(percent) for percent in PERCENTILES},
        }
        return document, latencies

    def _await_interest(self) -> None:
        """Return when the first server knows what is subscribed to on the second.

        Servers tell each other of subscriptions in their order, so that a later one comes last.
        """
        with (
            open_connection(self.profile, self.options) as first,
            open_connection(self.other, self.other_options) as second,
        ):
            probe = second.new_inbox()
            second.subscribe(probe)
            second.flush()
            ends = time.monotonic() + self.options.timeout
            while time.monotonic() < ends:
                first.publish(probe)
                with contextlib.suppress(TimedOut):
                    second.receive(0.1)
                    return
        raise UnavailableError(
            "no message comes from the first server to the second",
            "they have to belong to one cluster, or be connected as leaf nodes, with the same account",
        )

    def _publish(self, client: ClientRun) -> BenchmarkSample:
        connection = client.connection
        subject = client.settings.subject
        filling = bytes(self.size - LEAST)
        gap = SECOND / self.rate
        client.ready()
        began = now()
        for number in range(self.messages):
            wait = (began + number * gap - now()) / SECOND
            if wait > 0:
                time.sleep(wait)
            connection.publish(subject, STAMP.pack(now()) + filling)
            if not number % self.rate:
                connection.poll()
        sample = client.sample(self.messages * self.size)
        connection.flush()
        return sample

    def _receive(self, client: ClientRun, histogram: str) -> BenchmarkSample:
        raw = array("q")
        with open_connection(self.other, self.other_options) as connection:
            connection.subscribe(client.settings.subject)
            connection.flush()
            client.ready()
            while len(raw) < self.messages:
                try:
                    frames = connection.take(SILENCE)
                except TimedOut:
                    raise UnavailableError(
                        f"{self.messages - len(raw)} of {self.messages} messages did not arrive"
                    ) from None
                arrived = now()
                raw.extend([arrived - STAMP.unpack_from(payload)[0] for payload in frames.payloads])
        for each in raw:
            client.latencies.add(max(0, each))
        if histogram:
            Path(f"{histogram}.raw").write_text("".join(f"{each / MILLISECOND:f}\n" for each in raw))
        return client.sample(len(raw) * self.size)


def _round_trip(connection: BlockingConnection) -> int:
    """Return how long the server takes to answer a PING, in ns."""
    try:
        before = now()
        connection.flush()
        return now() - before
    except ClientError as error:
        raise UnavailableError(str(error)) from None


def distribution(latencies: Latencies) -> str:
    """Return the percentiles as HdrHistogram's tools write and plot them, in milliseconds."""
    lines = ["Value\tPercentile\tTotalCount\t1/(1-Percentile)\n"]
    for percent in IN_FILE:
        share = percent / 100
        inverse = f"{1 / (1 - share):f}" if share < 1 else "inf"
        value = latencies.percentile(percent) / MILLISECOND
        lines.append(f"{value:f}\t{share:.7f}\t{round(share * latencies.count)}\t{inverse}\n")
    return "".join(lines)


def _page(document: dict[str, object], latencies: Latencies) -> str:
    def span(name: str) -> str:
        return in_words(int(str(document[name])))

    pairs: list[tuple[str, object]] = [
        ("Messages", f"{words.number(latencies.count)} of {words.size(int(str(document['size'])))}"),
        ("Messages/s", f"{float(str(document['achieved_rate'])):,.0f} of {document['rate']:,}"),
        ("Publish RTT", span("publish_rtt")),
        ("Subscribe RTT", span("subscribe_rtt")),
        ("Minimum", span("min")),
        ("Median", span("median")),
        ("Maximum", span("max")),
        ("Last sent after", span("sent_after")),
        ("Last received after", span("received_after")),
    ]
    rows = [(str(percent), in_words(latencies.percentile(percent))) for percent in PERCENTILES]
    return f"{render.fields(pairs)}\n\n{render.table('Latency', ['Percentile', 'Time'], rows)}"
