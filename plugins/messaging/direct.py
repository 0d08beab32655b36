"""`pyjs subscribe --direct`: the messages of a stream by batched direct gets, without a consumer.

Source: ADR-31; natscli's cli/sub_command.go, directSubscribe. Promises: at most BATCH messages are on their
way at any time; each message is yielded once, in the order of its sequence.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ...cli.connection import NatsConnection
from ...cli.errors import CliError, RefusedError, UnavailableError, UsageError
from ...cli.proposal import in_hint
from ...protocol.timestamp import parse_rfc3339

LEVEL, RELEASE = (
    1,
    "2.11",
)  # of the JetStream API and nats-server: the first that have them
BATCH = 100  # messages of one request
PAUSE = 0.25  # seconds between the looks for new messages
END_OF_BATCH, NOT_FOUND, NO_RESPONDERS = "204", "404", "503"
OWN = frozenset(("Nats-Stream", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Subject", "Nats-Num-Pending",
                 "Nats-Last-Sequence", "Nats-UpTo-Sequence"))  # fmt: skip


class DirectMessage:
    """A message as a direct get returns it, in the shape of a received one.

    time: nanoseconds since the epoch.
    """

    reply = ""

    def __init__(self, answer: Any) -> None:
        found: Mapping[str, str] = answer.headers or {}
        try:
            self.stream, self.subject = found["Nats-Stream"], found["Nats-Subject"]
            self.sequence = int(found["Nats-Sequence"])
            self.time = parse_rfc3339(found["Nats-Time-Stamp"])
        except (KeyError, ValueError):
            raise CliError(f"this is no answer to a direct get: {answer.data[:100]!r}") from None
        self.data: bytes = answer.data
        self.headers = {name: value for name, value in found.items() if name not in OWN}


def is_direct(info: dict[str, Any], given: dict[str, Any]) -> bool:
    """Return whether a stream is to be read by direct gets: as told, or since a consumer would take messages.

    Raises UsageError or RefusedError if that is not possible.
    """
    config = info["config"]
    if given["direct"] and given["durable"]:
        raise UsageError("cannot use direct get when a durable name is supplied")
    taking = config.get("retention", "limits") != "limits" and not given["durable"]
    if not (given["direct"] or taking):
        return False
    if not config.get("allow_direct"):
        name = config["name"]
        raise RefusedError(
            f"cannot enable direct gets: allow_direct is not set to true for stream {name}",
            f"{in_hint(f'stream edit {name} --allow-direct')} sets it",
            "" if given["direct"] else f"{name} removes messages that are read by a consumer",
        )
    return True


class DirectGetReader:
    """Reads a stream by direct gets.

    pattern: the subjects to read.
    start: where to begin, as fields of a consumer.
    """

    def __init__(
        self, connection: NatsConnection, info: dict[str, Any], pattern: str, start: dict[str, Any]
    ) -> None:
        self._connection = connection
        self._stream = str(info["config"]["name"])
        self._pattern = pattern
        self._first, self._next = _queries(info["state"], pattern, start)

    async def messages(self, *, to_end: bool, wait: float) -> AsyncIterator[DirectMessage]:
        """Yield the messages that are there, and then new ones.

        to_end: whether to end with the last message that is there.
        wait: seconds without a message after which to end; 0 for none.
        """
        await self._connection.js.require_level(LEVEL, "batched direct gets", RELEASE)
        received: asyncio.Queue[Any] = asyncio.Queue()
        inbox = self._connection.nc.new_inbox()
        await self._connection.nc.subscribe(inbox, cb=received.put)
        loop = asyncio.get_running_loop()
        last = loop.time()
        query: dict[str, Any] | None = self._first
        while True:
            if query is None:
                query = {"seq": self._next, "batch": BATCH, "next_by_subj": self._pattern}
            found = 0
            async for message in self._answers(received, inbox, query):
                found += 1
                self._next = max(self._next, message.sequence + 1)
                yield message
                last = loop.time()
            query = None
            if found < BATCH and to_end:
                return
            if not found:
                if wait and loop.time() - last >= wait:
                    return
                await asyncio.sleep(min(PAUSE, wait) if wait else PAUSE)

    async def _answers(
        self, received: asyncio.Queue[Any], inbox: str, query: dict[str, Any]
    ) -> AsyncIterator[DirectMessage]:
        """Send a request and yield the messages of its batch."""
        connection = self._connection
        subject = connection.js.subject(f"DIRECT.GET.{self._stream}")
        await connection.nc.publish(subject, json.dumps(query).encode(), inbox)
        while True:
            try:
                answer = await asyncio.wait_for(received.get(), connection.timeout)
            except TimeoutError:
                raise UnavailableError(f"no answer on {subject} within {connection.timeout:g}s") from None
            status = (answer.headers or {}).get("Status")
            if status in (END_OF_BATCH, NOT_FOUND):
                return
            if status == NO_RESPONDERS:
                raise UnavailableError(f"nobody answers on {subject}: {self._stream} may have no leader")
            if status:
                text = f"{status} {answer.headers.get('Description', '')}".rstrip()
                raise CliError(f"the messages could not be read: {text}")
            yield DirectMessage(answer)


def _queries(state: dict[str, Any], pattern: str, start: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """Return the first request, if it is a special one, and the sequence that the next ones begin with."""
    policy = start.get("deliver_policy", "all")
    last = int(state["last_seq"])
    if policy == "last_per_subject":
        return {"multi_last": [pattern], "batch": BATCH, "up_to_seq": last}, last + 1
    if policy == "by_start_time":
        moment = start["opt_start_time"]
        return {"start_time": moment, "batch": BATCH, "next_by_subj": pattern}, last + 1
    first = {"all": 1, "last": max(last, 1), "new": last + 1}
    return None, int(start["opt_start_seq"]) if policy == "by_start_sequence" else first[policy]
