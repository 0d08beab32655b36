"""The page about the dead letters of a stream, and the counts that lists show as well."""

from __future__ import annotations

from typing import Any

from ...cli import output, render
from ...cli.connection import NatsConnection
from ...cli.errors import RemoteError
from ...cli.jetstream import stream_is_gone
from ...protocol import dead_letters
from ...protocol.dead_letters import COPY_PREFIX, EVERY, SUBJECT_PREFIX

Info = dict[str, Any]
ALL_CONSUMERS = "all"


def show(info: Info, stream: str, *, copied: bool) -> None:
    """Show the queue; `info` is its STREAM.INFO. copied: whether a mirror keeps the messages."""
    record = record_of(info, stream)
    config = info["config"]
    rows: list[tuple[str, object]] = [
        ("Consumers", ", ".join(record["consumers"]) or "none"),
        ("Kept In", record["queue"]),
        ("Messages Copied To", COPY_PREFIX + stream if copied else "none"),
        ("Maximum Age", render.go_span(config["max_age"]) if config.get("max_age") else "unlimited"),
        ("Maximum Messages", render.limit(config.get("max_msgs", -1))),
        ("Maximum Bytes", render.size_limit(config.get("max_bytes", -1))),
        ("Storage", config["storage"].title()),
        ("Replicas", config.get("num_replicas", 1)),
    ]
    title = (
        f"Dead letters of {stream} are kept"
        if record["consumers"]
        else f"No more dead letters of {stream} are kept; those in {record['queue']} stay"
    )
    text = f"{title}\n\n" + render.fields(rows, 2 + max(len(row[0]) for row in rows))
    output.show_page({**record, "copied": copied}, text + "\n", name=stream)


def record_of(info: Info, stream: str) -> Info:
    """Return a queue as a record of the list of queues."""
    config, state = info["config"], info["state"]
    return {
        "stream": stream,
        "queue": config["name"],
        "consumers": consumers_of(config.get("subjects") or [], stream),
        "bytes": state["bytes"],
        "last_letter": render.since(state["last_ts"], info.get("ts", "")),
    }


def consumers_of(subjects: list[str], stream: str) -> list[str]:
    """Return the consumers whose dead letters the subjects take."""
    prefix = f"{SUBJECT_PREFIX}{stream}."
    stopped = dead_letters.stopped_subject(stream)
    tokens = [
        subject.removeprefix(prefix).partition(".")[0]
        for subject in subjects
        if subject.startswith(prefix) and subject != stopped
    ]
    return [ALL_CONSUMERS] if EVERY in tokens or ">" in tokens else sorted(tokens)


def counted(number: int) -> str:
    """Return a number of letters in words: `1 dead letter`, `2 dead letters`."""
    return f"{render.number(number)} dead letter{'' if number == 1 else 's'}"


async def count(connection: NatsConnection, queue: str) -> int:
    """Return how many letters a queue has.

    Each has one advisory. pyjs-server stores the message as well, and its advisory may be a moment late.
    """
    advisories = await _messages(connection, queue, dead_letters.ADVISORY_PREFIX + ">")
    return max(advisories, await _messages(connection, queue, SUBJECT_PREFIX + ">"))


async def _messages(connection: NatsConnection, stream: str, subject: str) -> int:
    """Return how many messages of a subject a stream has."""
    offset, found = 0, 0
    while True:
        query = {"subjects_filter": subject, "offset": offset}
        info = await connection.js.request(f"STREAM.INFO.{stream}", query)
        subjects = info["state"].get("subjects") or {}
        found += sum(map(int, subjects.values()))
        offset += len(subjects)
        if not subjects or offset >= int(info.get("total", 0)):
            return found


async def has_copy(connection: NatsConnection, stream: str) -> bool:
    """Return whether a mirror keeps the messages of a stream."""
    try:
        info = await connection.js.request(f"STREAM.INFO.{COPY_PREFIX}{stream}")
    except RemoteError as error:
        if stream_is_gone(error):
            return False
        raise
    return bool((info["config"].get("mirror") or {}).get("name") == stream)
