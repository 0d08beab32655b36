"""Atomic batches: `allow_atomic`, `Nats-Batch-*`: answers, gaps, limits, what is checked at the commit."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.wire import Msg

INCOMPLETE, ADVISORIES = 10176, "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.>"


@pytest.fixture(params=["memory", "file"])
def batches(js: JetStream, unique: str, request: pytest.FixtureRequest) -> str:
    """A stream that takes atomic batches on <name>.*."""
    more = {"allow_rollup_hdrs": True, "allow_msg_ttl": True, "allow_direct": True}
    js.create(unique, subjects=[f"{unique}.*"], allow_atomic=True, storage=request.param, **more)
    return unique


class Batch:
    """One batch of a client."""

    def __init__(self, js: JetStream, stream: str, name: str = "b1") -> None:
        self.js, self.stream, self.name, self.place = js, stream, name, 0

    def send(self, subject: str = "a", body: str = "", *, commit: str = "", **headers: str) -> Any:
        """Send the next message; return None for an empty answer, the error's code, or the answer."""
        self.place += 1
        return self.at(self.place, subject, body, commit=commit, **headers)

    def at(self, place: int, subject: str = "a", body: str = "", *, commit: str = "", **headers: str) -> Any:
        """Send a message as the one at `place`."""
        given = {"Nats-Batch-Id": self.name, "Nats-Batch-Sequence": str(place)}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {"Nats-Batch-Commit": commit} if commit else {}
        answer = self.js.wire.request(f"{self.stream}.{subject}", body or str(place), given)
        if not answer.body:
            return None
        document = answer.json()
        return document["error"]["err_code"] if "error" in document else document


def stored(js: JetStream, stream: str) -> list[tuple[str, str]]:
    """The last token of each subject, and the body."""
    first, last = (js.state(stream)[key] for key in ("first_seq", "last_seq"))
    found = []
    for seq in range(first, last + 1):
        message = js.raw(f"STREAM.MSG.GET.{stream}", {"seq": seq}).json().get("message")
        if message:
            subject = str(message["subject"]).rpartition(".")[2]
            found.append((subject, base64.b64decode(message.get("data", "")).decode()))
    return found


def test_a_batch_is_stored_with_its_commit(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    js.publish(f"{batches}.x", "before")
    assert [batch.send("a"), batch.send("b")] == [None, None]
    js.publish(f"{batches}.x", "between")
    assert js.state(batches)["messages"] == 2
    answer = batch.send("c", commit="1")
    assert answer == {"stream": batches, "seq": 5, "batch": "b1", "count": 3}
    assert stored(js, batches) == [("x", "before"), ("x", "between"), ("a", "1"), ("b", "2"), ("c", "3")]
    header = base64.b64decode(js.get(batches, seq=5)["hdrs"])
    assert (
        header == b"NATS/1.0\r\nNats-Batch-Id: b1\r\nNats-Batch-Sequence: 3\r\nNats-Batch-Commit: 1\r\n\r\n"
    )


def test_the_answer_reads_byte_for_byte(js: JetStream, batches: str) -> None:
    headers = {"Nats-Batch-Id": 'q"x', "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"}
    answer = js.wire.request(f"{batches}.a", b"", headers).body
    assert answer == b'{"stream":"%b","seq":1,"batch":"q\\"x","count":1}' % batches.encode()


def test_a_marker_ends_a_batch_without_being_stored(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    batch.send("a")
    batch.send("b", Other="x")
    answer = batch.send("c", commit="eob")
    assert answer == {"stream": batches, "seq": 2, "batch": "b1", "count": 2}
    assert stored(js, batches) == [("a", "1"), ("b", "2")]
    assert base64.b64decode(js.get(batches, seq=2)["hdrs"]).endswith(
        b"Other: x\r\nNats-Batch-Commit: 1\r\n\r\n"
    )
    assert Batch(js, batches, "b2").send(commit="eob") == INCOMPLETE


def test_two_batches_do_not_mix(js: JetStream, batches: str) -> None:
    one, two = Batch(js, batches, "one"), Batch(js, batches, "two")
    one.send("a", "1a")
    two.send("b", "2a")
    one.send("a", "1b")
    assert two.send("b", "2b", commit="1")["seq"] == 2
    assert one.send("a", "1c", commit="1")["seq"] == 5
    assert [body for _, body in stored(js, batches)] == ["2a", "2b", "1a", "1b", "1c"]


def test_a_batch_without_a_reply_is_stored_too(js: JetStream, batches: str) -> None:
    for place, commit in ((1, {}), (2, {"Nats-Batch-Commit": "1"})):
        headers = {"Nats-Batch-Id": "q", "Nats-Batch-Sequence": str(place)} | commit
        js.wire.pub(f"{batches}.a", str(place).encode(), headers=headers)
    js.wire.sync()
    assert js.publish(f"{batches}.a", "3")["seq"] == 3


@pytest.mark.parametrize("places", [[2], [1, 3], [1, 1], [1, 2, 2], [1, 2, 4, 3]])
def test_a_gap_ends_the_batch(js: JetStream, batches: str, places: list[int]) -> None:
    batch = Batch(js, batches)
    answers = [batch.at(place) for place in places]
    first = next(at for at, place in enumerate(places) if place != at + 1)
    assert answers[: first + 1] == [None] * first + [INCOMPLETE]
    assert batch.at(len(places) + 1, commit="1") == INCOMPLETE
    assert js.state(batches)["messages"] == 0


@pytest.mark.parametrize(
    ("name", "headers", "err_code"),
    [
        ("x" * 64, {}, 0),
        ("x" * 65, {}, 10179),
        ("b", {"Nats_Batch_Sequence": ""}, 10175),
        ("b", {"Nats_Batch_Sequence": "x"}, 10175),
        ("b", {"Nats_Batch_Sequence": "0"}, INCOMPLETE),
        ("b", {"Nats_Batch_Commit": "2"}, 10200),
        ("b", {"Nats_Required_Api_Level": "99"}, 10185),
        ("b", {"Nats_Required_Api_Level": "1"}, 0),
    ],
)
def test_a_message_that_belongs_to_no_batch(
    js: JetStream, batches: str, name: str, headers: dict[str, str], err_code: int
) -> None:
    assert (Batch(js, batches, name).send(**headers) or 0) == err_code
    assert js.state(batches)["messages"] == 0


def test_a_batch_begins_again_after_its_end(js: JetStream, batches: str) -> None:
    for number in range(3):
        batch = Batch(js, batches)
        batch.send()
        assert batch.send(commit="2" if number == 1 else "1") == (
            10200 if number == 1 else {"stream": batches, "seq": number + 2, "batch": "b1", "count": 2}
        )


# What the messages of a batch have besides, and how the commit is answered.
Headers = dict[str, str]
CHECKED: list[tuple[str, list[tuple[str, Headers]], int]] = [
    ("an id twice", [("a", {"Nats_Msg_Id": "1"}), ("a", {"Nats_Msg_Id": "1"})], 10201),
    ("a known id", [("a", {}), ("a", {"Nats_Msg_Id": "known"})], 10201),
    ("ids", [("a", {"Nats_Msg_Id": "1"}), ("a", {"Nats_Msg_Id": "2"})], 0),
    ("the last id", [("a", {"Nats_Expected_Last_Msg_Id": "known"})], 10177),
    ("another stream", [("a", {}), ("a", {"Nats_Expected_Stream": "OTHER"})], 10060),
    ("a sequence", [("a", {"Nats_Expected_Last_Sequence": "2"}), ("a", {})], 0),
    ("a wrong sequence", [("a", {"Nats_Expected_Last_Sequence": "1"}), ("a", {})], 10071),
    ("a late sequence", [("a", {}), ("a", {"Nats_Expected_Last_Sequence": "3"})], 10164),
    ("a late wrong sequence", [("a", {}), ("a", {"Nats_Expected_Last_Sequence": "2"})], 10071),
    ("a subject's", [("a", {}), ("x", {"Nats_Expected_Last_Subject_Sequence": "2"})], 0),
    ("a wrong one", [("a", {}), ("x", {"Nats_Expected_Last_Subject_Sequence": "1"})], 10071),
    ("none", [("a", {"Nats_Expected_Last_Subject_Sequence": "0"})], 0),
    ("a subject of the batch", [("x", {}), ("x", {"Nats_Expected_Last_Subject_Sequence": "2"})], 10164),
    ("twice", [("x", {"Nats_Expected_Last_Subject_Sequence": "2"})] * 2, 10164),
    ("about nothing", [("a", {"Nats_Expected_Last_Subject_Sequence_Subject": "x"})], 10193),
    ("a rollup", [("a", {}), ("x", {"Nats_Rollup": "sub"})], 0),
    ("a late rollup", [("x", {}), ("x", {"Nats_Rollup": "sub"})], 10111),
    ("a rollup of all", [("x", {"Nats_Rollup": "all"}), ("a", {})], 0),
    ("a late rollup of all", [("a", {}), ("x", {"Nats_Rollup": "all"})], 10111),
    ("no rollup", [("x", {"Nats_Rollup": "some"})], 10111),
    ("a TTL", [("x", {"Nats_TTL": "1h"})], 0),
    ("no TTL", [("x", {"Nats_TTL": "soon"})], 10165),
    ("an increment", [("x", {"Nats_Incr": "1"})], 10168),
    ("a source", [("x", {"Nats_Stream_Source": "S 1"})], 10227),
]


@pytest.mark.parametrize(("sent", "err_code"), [row[1:] for row in CHECKED], ids=[row[0] for row in CHECKED])
def test_what_is_checked_at_the_commit(
    js: JetStream, batches: str, sent: list[tuple[str, Headers]], err_code: int
) -> None:
    js.publish(f"{batches}.y", "0")
    js.publish(f"{batches}.x", "0", {"Nats-Msg-Id": "known"})
    batch = Batch(js, batches)
    for subject, headers in sent[:-1]:
        assert batch.send(subject, **headers) is None
    subject, headers = sent[-1]
    answer = batch.send(subject, commit="1", **headers)
    rolls_up = "sub" if any(h.get("Nats_Rollup") == "sub" for _, h in sent) else ""
    rolls_up = "all" if any(h.get("Nats_Rollup") == "all" for _, h in sent) else rolls_up
    if err_code:
        assert answer == err_code
        assert js.state(batches)["messages"] == js.state(batches)["last_seq"] == 2
    else:
        assert (answer["seq"], answer["count"]) == (2 + len(sent), len(sent))
        gone = {"": 0, "sub": 1, "all": 2}[rolls_up]
        assert js.state(batches)["messages"] == 2 + len(sent) - gone


def test_ids_of_a_batch_are_known_after_it(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    batch.send("a", Nats_Msg_Id="one")
    batch.send("a", Nats_Msg_Id="two", commit="1")
    assert js.publish(f"{batches}.a", "x", {"Nats-Msg-Id": "one"})["duplicate"]
    assert js.publish(f"{batches}.a", "x", {"Nats-Expected-Last-Msg-Id": "two"})["seq"] == 3


@pytest.mark.parametrize(
    ("config", "sent", "err_code"),
    [
        ({"max_msgs": 2, "discard": "new"}, 2, 0),
        ({"max_msgs": 2, "discard": "new"}, 3, 10077),
        ({"max_bytes": 150, "discard": "new"}, 3, 10077),
        ({"max_msgs_per_subject": 2, "discard": "new", "discard_new_per_subject": True}, 3, 10077),
        ({"max_msgs": 2}, 3, 0),
        ({"max_msgs_per_subject": 1}, 3, 0),
        ({"max_msg_size": 10}, 1, 10054),
        ({"sealed": True}, 1, 10109),
    ],
)
def test_limits_hold_for_the_whole_batch(
    js: JetStream, unique: str, config: dict[str, Any], sent: int, err_code: int
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_atomic=True)
    js.update(unique, **config)
    batch = Batch(js, unique)
    for _ in range(sent - 1):
        batch.send()
    answer = batch.send(commit="1")
    assert (answer if err_code else answer["count"]) == (err_code or sent)
    most = max(config.get("max_msgs", 0), config.get("max_msgs_per_subject", 0)) or sent
    assert js.state(unique)["messages"] == (0 if err_code else min(sent, most))


def test_counters_add_up_within_a_batch(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_atomic=True, allow_msg_counter=True)
    js.wire.request(f"{unique}.a", b"", {"Nats-Incr": "5"})
    given = {"Nats-Batch-Id": "b"}
    for place, subject, number in ((1, "a", "1"), (2, "b", "7"), (3, "a", "-9")):
        headers = given | {"Nats-Batch-Sequence": str(place), "Nats-Incr": number}
        more = {"Nats-Batch-Commit": "1"} if place == 3 else {}
        answer = js.wire.request(f"{unique}.{subject}", b"", headers | more)
    assert answer.json() == {"stream": unique, "seq": 4, "batch": "b", "count": 3}
    values = [json.loads(body)["val"] for _, body in stored(js, unique)]
    assert values == ["5", "6", "7", "-3"]


def test_a_stream_without_batches_refuses_them(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"])
    assert Batch(js, unique).send() == 10174
    js.update(unique, allow_atomic=True)
    batch = Batch(js, unique)
    assert batch.send() is None
    assert js.info(unique)["config"]["metadata"]["_nats.req.level"] == "2"
    js.update(unique, allow_atomic=False)
    assert batch.send(commit="1") == 10174
    js.update(unique, allow_atomic=True)
    assert batch.send(commit="1") == INCOMPLETE


def test_subjects_are_transformed_before_they_are_checked(js: JetStream, unique: str) -> None:
    transform = {"src": f"{unique}.*", "dest": f"{unique}.to.$1"}
    js.create(unique, subjects=[f"{unique}.>"], allow_atomic=True, subject_transform=transform)
    batch = Batch(js, unique)
    batch.send("a")
    batch.send("b", commit="1", Nats_Expected_Last_Subject_Sequence="0")
    assert [js.get(unique, seq=seq)["subject"] for seq in (1, 2)] == [f"{unique}.to.a", f"{unique}.to.b"]


def test_mirrors_and_sources_copy_without_the_batch(js: JetStream, batches: str, unique: str) -> None:
    batch = Batch(js, batches)
    batch.send()
    batch.send(commit="1")
    js.create(f"{unique}M", mirror={"name": batches})
    js.create(f"{unique}S", sources=[{"name": batches}], allow_atomic=True)
    from lib.eventually import eventually

    for name in (f"{unique}M", f"{unique}S"):
        eventually(lambda name=name: js.state(name)["messages"] == 2)  # type: ignore[misc]
        message = js.get(name, seq=2)
        assert b"Nats-Batch" not in base64.b64decode(message.get("hdrs", ""))


def test_consumers_get_a_batch_in_order(js: JetStream, batches: str) -> None:
    js.consumer(batches, "C")
    batch = Batch(js, batches)
    for _ in range(3):
        batch.send()
    batch.send(commit="1")
    got, _ = js.pull(batches, "C", 4)
    assert [message.body for message in got] == [b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_interest_streams_keep_what_somebody_wants(js: JetStream, unique: str, storage: str) -> None:
    more = {"retention": "interest", "allow_atomic": True, "storage": storage}
    js.create(unique, subjects=[f"{unique}.*"], **more)
    js.consumer(unique, "C", filter_subject=f"{unique}.a")
    batch = Batch(js, unique)
    batch.send("a")
    batch.send("b")
    answer = batch.send("b", commit="1")
    assert (answer["seq"], answer["count"]) == (3, 3)
    assert stored(js, unique) == [("a", "1")]
    assert js.state(unique)["last_seq"] == 3


LIMITED = ALONE.replace(
    "max_file: 100MB",
    "max_file: 100MB, limits: { batch: "
    '{ max_inflight_per_stream: 2, max_inflight_total: 3, max_msgs: 3, timeout: "500ms" } }',
)


@pytest.fixture
def limited(launch: Callable[[str], ServerProcess]) -> Iterator[JetStream]:
    with JetStream.of(launch(LIMITED)) as js:
        for name in ("S", "T"):
            js.create(name, subjects=[f"{name}.*"], allow_atomic=True)
        js.wire.sub(ADVISORIES, "adv")
        yield js


def advised(js: JetStream) -> tuple[str, str, str]:
    """The next advisory: stream, batch, reason."""
    while True:
        message = js.wire.msg()
        assert isinstance(message, Msg)
        if message.sid == "adv":
            break
    event = message.json()
    assert event["type"] == "io.nats.jetstream.advisory.v1.stream_batch_abandoned"
    assert message.subject == f"{ADVISORIES[:-1]}{event['stream']}"
    assert set(event) == {"type", "id", "timestamp", "stream", "batch", "reason"}
    return event["stream"], event["batch"], event["reason"]


def test_open_batches_are_limited(limited: JetStream) -> None:
    answers = [
        Batch(limited, stream, name).send()
        for stream, name in (("S", "1"), ("S", "2"), ("S", "3"), ("T", "4"))
    ]
    assert answers == [None, None, 10210, None]
    assert Batch(limited, "T", "5").send() == 10210
    assert {advised(limited)[1:] for _ in range(3)} == {(name, "timeout") for name in "124"}
    assert Batch(limited, "S", "1").at(2) == INCOMPLETE


def test_a_batch_has_so_many_messages(limited: JetStream) -> None:
    batch = Batch(limited, "S")
    for _ in range(3):
        assert batch.send() is None
    assert batch.at(4, commit="eob")["count"] == 3
    batch = Batch(limited, "S")
    answers = [batch.send() for _ in range(4)]
    assert answers == [None, None, None, 10199]
    assert advised(limited) == ("S", "b1", "large")
    assert batch.at(9) == 10199
    assert batch.at(4, commit="eob") == INCOMPLETE


def test_abandoned_batches_are_told_of(limited: JetStream) -> None:
    Batch(limited, "S", "gap").send()
    assert Batch(limited, "S", "gap").at(3) == INCOMPLETE
    assert advised(limited) == ("S", "gap", "incomplete")
    assert Batch(limited, "S", "level").send(Nats_Required_Api_Level="99") == 10185
    assert advised(limited) == ("S", "level", "unsupported")
    Batch(limited, "S", "slow").send()
    assert advised(limited) == ("S", "slow", "timeout")
    assert limited.state("S")["messages"] == 0
