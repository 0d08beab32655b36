"""Random documents that any server accepts, and the APIs of servers as `pyjs.provision` asks them.

The names are few, so that two random documents have much in common and differ in much. Subjects come from a
pool: streams of one document never overlap, those of two may.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from lib.jetstream import JetStream
from pyjs.provision import DomainDocument

STREAMS = ("A", "B", "C", "D")
SUBJECTS = ("one.*", "two.>", "three", "four.x", "five.*.y", "six")
Json = dict[str, Any]

SPANS = st.sampled_from(["1m", "90s", "1h", "2d", 5_000_000_000, "1h0m0.5s"])
AGES = st.sampled_from(["1m", "1h", "2d"])
METADATA = st.dictionaries(st.sampled_from(["team", "a.b"]), st.sampled_from(["x", "ü"]), max_size=2)
CONSUMER = st.fixed_dictionaries(
    {"ack_policy": st.sampled_from(["explicit", "all"])},
    optional={
        "description": st.sampled_from(["first", "second"]),
        "deliver_policy": st.sampled_from(["all", "new", "last"]),
        "ack_wait": SPANS,
        "max_deliver": st.sampled_from([-1, 5]),
        "backoff": st.just(["1s", "1m"]),
        "replay_policy": st.sampled_from(["instant", "original"]),
        "sample_freq": st.just("30"),
        "max_waiting": st.sampled_from([7, 512]),
        "max_ack_pending": st.sampled_from([-1, 20, 1000]),
        "headers_only": st.booleans(),
        "max_batch": st.just(10),
        "max_expires": SPANS,
        "max_bytes": st.just("1MiB"),
        "inactive_threshold": SPANS,
        "num_replicas": st.just(1),
        "mem_storage": st.booleans(),
        "metadata": METADATA,
    },
)
STREAM = st.fixed_dictionaries(
    {},
    optional={
        "description": st.sampled_from(["first", "second"]),
        "retention": st.sampled_from(["limits", "interest"]),
        "max_consumers": st.just(5),
        "max_msgs": st.sampled_from([-1, 100]),
        "max_bytes": st.sampled_from(["1MiB", 1000]),
        "max_age": AGES,
        "max_msgs_per_subject": st.sampled_from([1, 9]),
        "max_msg_size": st.just("8KiB"),
        "discard": st.sampled_from(["old", "new"]),
        "storage": st.sampled_from(["file", "memory"]),
        "no_ack": st.booleans(),
        "duplicate_window": st.sampled_from(["30s", "1m"]),
        "allow_direct": st.booleans(),
        "deny_delete": st.booleans(),
        "allow_rollup_hdrs": st.booleans(),
        "allow_msg_ttl": st.booleans(),
        "republish": st.just({"dest": "again.>"}),
        "metadata": METADATA,
    },
)
BUCKET = st.fixed_dictionaries(
    {},
    optional={
        "description": st.just("a bucket"),
        "ttl": SPANS,
        "max_bytes": st.just("1MiB"),
        "storage": st.sampled_from(["file", "memory"]),
        "metadata": METADATA,
    },
)
KEY_VALUE = st.builds(
    lambda bucket, more: bucket | more,
    BUCKET,
    st.fixed_dictionaries(
        {},
        optional={
            "history": st.sampled_from([1, 5]),
            "marker_ttl": st.just("1m"),
            "max_value_size": st.just(100),
        },
    ),
)


@st.composite
def documents(draw: st.DrawFn) -> DomainDocument:
    """Return a document with up to four streams, their consumers, a copy of one of them, and buckets."""
    free = list(draw(st.permutations(SUBJECTS)))
    streams: dict[str, Json] = {}
    for name in draw(st.lists(st.sampled_from(STREAMS), unique=True, max_size=len(STREAMS))):
        stream: Json = {
            **draw(STREAM),
            "subjects": [free.pop() for _ in range(draw(st.integers(1, 2))) if free],
        }
        if not stream["subjects"]:
            break
        stream["consumers"] = draw(st.dictionaries(st.sampled_from(["c1", "c2"]), CONSUMER, max_size=2))
        streams[name] = stream
    if streams:
        origins = st.sampled_from(sorted(streams))
        copy = draw(st.sampled_from([None, "mirror", "sources"]))
        if copy == "mirror":
            streams["COPY"] = {"mirror": draw(origins)}
        elif copy == "sources":
            streams["COPY"] = {"sources": draw(st.lists(origins, min_size=1, max_size=2, unique=True))}
    kv = draw(st.dictionaries(st.just("settings"), KEY_VALUE, max_size=1))
    objects = draw(st.dictionaries(st.just("files"), BUCKET, max_size=1))
    return DomainDocument.model_validate({"streams": streams, "kv": kv, "objects": objects})


class WireApi:
    """The JetStream API of a server by a blocking connection.

    left: how many requests that change something it takes before it fails; None for any number
    """

    def __init__(self, js: JetStream, left: int | None = None) -> None:
        self.js = js
        self.left = left

    async def request(self, name: str, payload: object = None) -> Json:
        """Ask, and return the answer. Raises ApiFailureError, or ConnectionError once nothing is left."""
        changes = any(verb in name for verb in (".CREATE.", ".UPDATE.", ".DELETE."))
        if changes and self.left is not None:
            if not self.left:
                raise ConnectionError("cut")
            self.left -= 1
        return self.js.call(name, b"" if payload is None else payload)


def clear(js: JetStream) -> None:
    """Delete all streams."""
    for name in js.call("STREAM.NAMES").get("streams") or ():
        js.call(f"STREAM.DELETE.{name}")
