"""Which consumer takes an acknowledgement, by its subject: `$JS.ACK.<stream>.<consumer>.…`.

The subject does not say in which domain the consumer is. So it counts in every domain that it comes to where
a consumer has these names: also in the wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RemoteError
from ...cli.jetstream import CONSUMER_NOT_FOUND, STREAM_NOT_FOUND, JsApi
from .domains import SECONDS
from .waypoint import ENDS, REACHED, UNKNOWN, Waypoint

PREFIX = "$JS.ACK."
WITH_DOMAIN = 11  # tokens of a subject that has a domain and an account in front of the stream


class Acknowledged(NamedTuple):
    """The consumer that a subject acknowledges a message of."""

    stream: str
    consumer: str

    @property
    def name(self) -> str:
        """It in a sentence."""
        return f"{self.stream} > {self.consumer}"


def acknowledged(subject: str) -> Acknowledged | None:
    """Return what a subject acknowledges; None if it is not the subject of an acknowledgement."""
    tokens = subject.split(".")
    if not subject.startswith(PREFIX) or len(tokens) < 4:
        return None
    start = 4 if len(tokens) >= WITH_DOMAIN else 2
    return Acknowledged(tokens[start], tokens[start + 1])


async def add_takers(
    waypoint: Waypoint, ack: Acknowledged, connection: NatsConnection, own: str, domains: Iterable[str]
) -> None:
    """Add who takes an acknowledgement that a user of the account publishes.

    own: the domain of the server that it is published to.
    domains: the others that it comes to.
    """
    found = [await _taken(waypoint, ack, connection, "$JS.API", own)]
    found += [await _taken(waypoint, ack, connection, f"$JS.{each}.API", each) for each in domains]
    if sum(found) > 1:
        waypoint.add(
            "acknowledgement", UNKNOWN,
            f"Several domains have a consumer {ack.name}: each takes it for its own, whichever is meant.",
            ack.name,
        )  # fmt: skip


async def _taken(
    waypoint: Waypoint, ack: Acknowledged, connection: NatsConnection, prefix: str, domain: str
) -> bool:
    """Add whether a consumer of one domain takes it, and return that."""
    where = f" of domain {domain}" if domain else ""
    js = JsApi(connection.nc, prefix, SECONDS, trace=connection.js.trace)
    try:
        await js.request(f"CONSUMER.INFO.{ack.stream}.{ack.consumer}")
    except CliError as error:
        missing = isinstance(error, RemoteError) and error.err_code in (STREAM_NOT_FOUND, CONSUMER_NOT_FOUND)
        text = (
            f"There is no consumer {ack.name}{where}."
            if missing
            else f"Whether a consumer {ack.name}{where} takes it, is not known: {error.message}."
        )
        waypoint.add("acknowledgement", ENDS if missing else UNKNOWN, text, ack.name)
        return False
    waypoint.add("acknowledgement", REACHED, f"The consumer {ack.name}{where} takes it.", ack.name)
    return True
