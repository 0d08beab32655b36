"""The publish path of JetStream: acks, expectations and their order, dedupe, limits, discard, roll-up."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import MILLISECOND, SECOND, ApiFailureError, JetStream
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 300MB, max_file: 300MB }
"""
STORAGE = pytest.mark.parametrize("storage", ["file", "memory"])


@pytest.fixture
def js(serve: Callable[[str], ServerProcess]) -> Iterator[JetStream]:
    with JetStream.of(serve(CONFIG)) as api:
        yield api


def refused(js: JetStream, subject: str, body: bytes | str = b"", **headers: str) -> tuple[int, str]:
    """(err_code, description) of a publish that must be refused."""
    with pytest.raises(ApiFailureError) as failure:
        js.publish(subject, body, {k.replace("_", "-"): v for k, v in headers.items()} or None)
    return failure.value.err_code, failure.value.description


def headers(**given: Any) -> dict[str, str]:
    return {k.replace("_", "-"): str(v) for k, v in given.items()}


@STORAGE
def test_an_ack_is_exactly_this(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage)
    assert js.wire.request(unique, "x").body == f'{{"stream":"{unique}", "seq":1}}'.encode().replace(
        b", ", b","
    )
    first = js.wire.request(unique, "x", {"Nats-Msg-Id": "i"}).body
    again = js.wire.request(unique, "y", {"Nats-Msg-Id": "i"}).body
    assert first == f'{{"stream":"{unique}","seq":2}}'.encode()
    assert again == f'{{"stream":"{unique}","seq":2,"duplicate": true}}'.encode()
    assert js.state(unique)["messages"] == 2


def test_a_refusal_is_exactly_this(js: JetStream, unique: str) -> None:
    js.create(unique, max_msg_size=10)
    body = js.wire.request(unique, "x" * 11).body
    assert body == (
        b'{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"},'
        b'"stream":"' + unique.encode() + b'","seq":0}'
    )


@STORAGE
@pytest.mark.parametrize(
    ("given", "ok"),
    [
        ({"Nats_Expected_Stream": "{s}"}, 0),
        ({"Nats_Expected_Stream": "other"}, 10060),
        ({"Nats_Expected_Last_Sequence": 3}, 0),
        ({"Nats_Expected_Last_Sequence": 2}, 10071),
        ({"Nats_Expected_Last_Sequence": 0}, 10071),
        ({"Nats_Expected_Last_Subject_Sequence": 1}, 0),
        ({"Nats_Expected_Last_Subject_Sequence": 3}, 10071),
        ({"Nats_Expected_Last_Subject_Sequence": 0}, 10071),
        ({"Nats_Expected_Last_Msg_Id": "last"}, 0),
        ({"Nats_Expected_Last_Msg_Id": "first"}, 10070),
        (
            {
                "Nats_Expected_Last_Subject_Sequence": 2,
                "Nats_Expected_Last_Subject_Sequence_Subject": "{s}.b",
            },
            0,
        ),
        (
            {
                "Nats_Expected_Last_Subject_Sequence": 3,
                "Nats_Expected_Last_Subject_Sequence_Subject": "{s}.*",
            },
            0,
        ),
        ({"Nats_Expected_Last_Subject_Sequence_Subject": "{s}.b"}, 10193),
        ({"Nats_Rollup": "sub"}, 10111),
        ({"Nats_Rollup": "both"}, 10111),
        ({"Nats_TTL": "1s"}, 10166),
        ({"Nats_Stream_Source": "x 1"}, 10227),
        ({"Nats_Schedule": "@at 2030-01-01T00:00:00Z", "Nats_Schedule_Target": "{s}.b"}, 10188),
        ({"Nats_Incr": "1"}, 10168),
        ({"Nats_Batch_Id": "b", "Nats_Batch_Sequence": "1"}, 10174),
        ({"Nats_Expected_Last_Sequence": "x"}, 10071),
        ({"Other": "x"}, 0),
    ],
)
def test_a_header_decides(js: JetStream, unique: str, storage: str, given: dict[str, Any], ok: int) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage)
    js.publish(f"{unique}.a", "1", {"Nats-Msg-Id": "first"})
    js.publish(f"{unique}.b", "2", {"Nats-Msg-Id": "second"})
    js.publish(f"{unique}.c", "3", {"Nats-Msg-Id": "last"})
    wanted = {k: str(v).replace("{s}", unique) for k, v in headers(**given).items()}
    answer = js.wire.request(f"{unique}.a", "4", wanted).json()
    if ok:
        assert answer["error"]["err_code"] == ok, answer
        assert js.state(unique)["messages"] == 3
    else:
        assert answer == {"stream": unique, "seq": 4}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"Nats_Expected_Last_Sequence": 9}, "wrong last sequence: 1"),
        ({"Nats_Expected_Last_Subject_Sequence": 9}, "wrong last sequence: 1"),
        ({"Nats_Expected_Last_Msg_Id": "x"}, "wrong last msg ID: i"),
        ({"Nats_Expected_Stream": "x"}, "expected stream does not match"),
    ],
)
def test_a_failed_expectation_shows_what_is(
    js: JetStream, unique: str, given: dict[str, Any], words: str
) -> None:
    js.create(unique)
    js.publish(unique, "1", {"Nats-Msg-Id": "i"})
    assert refused(js, unique, "2", **headers(**given))[1] == words


# Two faults at once: which one is told. The first of the pair is checked first.
ORDER: list[tuple[dict[str, Any], int]] = [
    ({"Nats_Expected_Stream": "x", "Nats_Expected_Last_Sequence": 9}, 10060),
    ({"Nats_Expected_Stream": "x", "Nats_TTL": "1s"}, 10060),
    ({"Nats_TTL": "1s", "Nats_Expected_Last_Sequence": 9}, 10166),
    ({"Nats_Expected_Last_Sequence": 9, "Nats_Msg_Id": "i"}, 10071),
    ({"Nats_Expected_Last_Subject_Sequence": 9, "Nats_Msg_Id": "i"}, 10071),
    ({"Nats_Msg_Id": "i", "Nats_Expected_Last_Msg_Id": "x"}, 0),
    ({"Nats_Msg_Id": "i", "Nats_Rollup": "nonsense"}, 0),
    ({"Nats_Expected_Last_Msg_Id": "x", "Nats_Rollup": "nonsense"}, 10070),
    ({"Nats_Stream_Source": "x 1", "Nats_Msg_Id": "i"}, 10227),
    ({"Nats_Stream_Source": "x 1", "Nats_Expected_Last_Sequence": 9}, 10071),
]


@pytest.mark.parametrize(("given", "err_code"), ORDER)
def test_the_order_of_checks(js: JetStream, unique: str, given: dict[str, Any], err_code: int) -> None:
    js.create(unique)
    js.publish(unique, "1", {"Nats-Msg-Id": "i"})
    answer = js.wire.request(unique, "2", headers(**given)).json()
    if err_code:
        assert answer["error"]["err_code"] == err_code
    else:
        assert answer == {"stream": unique, "seq": 1, "duplicate": True}


def test_ids_are_forgotten_after_the_window(js: JetStream, unique: str) -> None:
    js.create(unique, duplicate_window=100 * MILLISECOND)
    js.publish(unique, "1", {"Nats-Msg-Id": "i"})
    ack = js.publish(unique, "2", {"Nats-Msg-Id": "i"})
    while "duplicate" in ack:
        assert ack["seq"] == 1
        ack = js.publish(unique, "2", {"Nats-Msg-Id": "i"})
    assert ack["seq"] == 2


def test_an_id_survives_the_removal_of_its_message(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.publish(unique, "1", {"Nats-Msg-Id": "i"})
    js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": 1})
    assert js.publish(unique, "2", {"Nats-Msg-Id": "i"})["duplicate"] is True


def test_without_a_reply_a_message_is_stored_and_not_acknowledged(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.wire.pub(unique, "x")
    eventually(lambda: js.state(unique)["messages"] == 1)
    assert js.wire.sync() == []


def test_no_ack_streams_store_silently(js: JetStream, unique: str) -> None:
    js.create(unique, no_ack=True)
    js.wire.pub(unique, "x", js.wire.inbox())
    eventually(lambda: js.state(unique)["messages"] == 1)
    assert js.wire.sync() == []


def test_a_header_block_has_its_limit(js: JetStream, unique: str) -> None:
    js.create(unique)
    assert refused(js, unique, "", A="x" * 65535) == (10097, "header size exceeds maximum allowed of 64k")
    assert js.publish(unique, "", {"A": "x" * 65000})["seq"] == 1


@pytest.mark.parametrize(("size", "ok"), [(10, True), (11, False)])
def test_message_size_counts_header_and_body(js: JetStream, unique: str, size: int, ok: bool) -> None:
    js.create(unique, max_msg_size=10)
    if ok:
        assert js.publish(unique, "x" * size)["seq"] == 1
    else:
        assert refused(js, unique, "x" * size)[0] == 10054
    assert refused(js, unique, "", A="b")[0] == 10054


@STORAGE
def test_discard_old_keeps_the_newest(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage, max_msgs=3)
    js.fill(unique, 5)
    state = js.state(unique)
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (3, 3, 5)


@STORAGE
@pytest.mark.parametrize(
    ("limit", "words"),
    [({"max_msgs": 2}, "maximum messages exceeded"), ({"max_bytes": 100}, "maximum bytes exceeded")],
)
def test_discard_new_refuses(
    js: JetStream, unique: str, storage: str, limit: dict[str, int], words: str
) -> None:
    js.create(unique, subjects=[f"{unique}.>"], storage=storage, discard="new", **limit)
    subject = f"{unique}.a"
    body = "x" * (35 - len(subject))
    js.publish(subject, body)
    if "max_msgs" in limit:
        js.publish(subject, body)
    assert refused(js, subject, body * 2) == (10077, words)
    js.call(f"STREAM.PURGE.{unique}")
    assert js.publish(subject, body)["seq"] >= 2


@STORAGE
def test_discard_new_per_subject(js: JetStream, unique: str, storage: str) -> None:
    js.create(
        unique,
        subjects=[f"{unique}.*"],
        storage=storage,
        discard="new",
        discard_new_per_subject=True,
        max_msgs_per_subject=1,
    )
    js.publish(f"{unique}.a")
    assert refused(js, f"{unique}.a") == (10077, "maximum messages per subject exceeded")
    assert js.publish(f"{unique}.b")["seq"] == 2


@STORAGE
def test_messages_per_subject(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage, max_msgs_per_subject=2)
    for _ in range(3):
        js.publish(f"{unique}.a")
        js.publish(f"{unique}.b")
    state = js.info(unique, subjects_filter=">")["state"]
    assert state["subjects"] == {f"{unique}.a": 2, f"{unique}.b": 2}
    assert (state["messages"], state["first_seq"], state["num_subjects"]) == (4, 3, 2)


@STORAGE
def test_max_bytes_evicts_the_oldest(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage, max_bytes=1000)
    for _ in range(20):
        js.publish(unique, "x" * 100)
    state = js.state(unique)
    one = 100 + len(unique) + (30 if storage == "file" else 16)
    assert state["messages"] == 1000 // one
    assert state["bytes"] == one * state["messages"]


@STORAGE
def test_max_age_removes(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage, max_age=100 * MILLISECOND, duplicate_window=100 * MILLISECOND)
    assert js.publish(unique)["seq"] == 1
    eventually(lambda: js.state(unique)["messages"] == 0)
    state = js.state(unique)
    assert (state["first_seq"], state["last_seq"]) == (2, 1)


@STORAGE
@pytest.mark.parametrize(
    ("body", "header", "size_file", "size_memory"),
    [
        (b"hello", {}, 38, 24),
        (b"", {}, 33, 19),
        (b"world", {"A": "b"}, 60, 42),
    ],
)
def test_bytes_are_counted_as_the_reference_does(
    js: JetStream,
    unique: str,
    storage: str,
    body: bytes,
    header: dict[str, str],
    size_file: int,
    size_memory: int,
) -> None:
    js.create(unique, subjects=[f"{unique}.x"], storage=storage)
    js.publish(f"{unique}.x", body, header or None)
    surplus = len(unique) + 2 - 3
    wanted = size_file if storage == "file" else size_memory
    assert js.state(unique)["bytes"] == wanted + surplus


@STORAGE
def test_roll_up(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage, allow_rollup_hdrs=True)
    for _ in range(3):
        js.publish(f"{unique}.a")
        js.publish(f"{unique}.b")
    js.publish(f"{unique}.a", "sum", {"Nats-Rollup": "sub"})
    assert js.info(unique, subjects_filter=">")["state"]["subjects"] == {f"{unique}.a": 1, f"{unique}.b": 3}
    js.publish(f"{unique}.b", "all", {"Nats-Rollup": "all"})
    state = js.state(unique)
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (1, 8, 8)
    assert refused(js, f"{unique}.a", "", Nats_Rollup="wrong") == (10111, 'rollup value invalid: "wrong"')


def test_a_message_with_a_ttl_goes(js: JetStream, unique: str) -> None:
    names = {storage: f"{unique}{storage}" for storage in ("file", "memory")}
    for storage, name in names.items():
        js.create(name, storage=storage, allow_msg_ttl=True)
        js.publish(name, "stays", {"Nats-TTL": "never"})
        js.publish(name, "goes", {"Nats-TTL": "1"})
        assert refused(js, name, "", Nats_TTL="10ms")[0] == 10165
        assert refused(js, name, "", Nats_TTL="x")[0] == 10165
        assert refused(js, name, "", Nats_TTL="-1")[0] == 10165
    for name in names.values():
        eventually(lambda name=name: js.state(name)["messages"] == 1)  # type: ignore[misc]
        assert base64.b64decode(js.get(name, seq=1)["data"]) == b"stays"


@STORAGE
def test_a_sealed_stream_is_closed_to_all_writing(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage)
    js.fill(unique, 2)
    config = js.update(unique, sealed=True)["config"]
    assert (config["discard"], config["deny_delete"], config["deny_purge"]) == ("new", True, True)
    assert refused(js, unique) == (10109, "invalid operation on sealed stream")
    assert js.error(f"STREAM.MSG.DELETE.{unique}", {"seq": 1})[1] == 10109
    assert js.error(f"STREAM.PURGE.{unique}")[1] == 10109
    assert js.error(f"STREAM.UPDATE.{unique}", config | {"sealed": False})[1] == 10052
    assert js.state(unique)["messages"] == 2


def test_denied_deletes_and_purges(js: JetStream, unique: str) -> None:
    js.create(unique, deny_delete=True, deny_purge=True)
    js.fill(unique, 2)
    assert js.error(f"STREAM.MSG.DELETE.{unique}", {"seq": 1}) == (
        500,
        10057,
        "message delete not permitted",
    )
    assert js.error(f"STREAM.PURGE.{unique}") == (500, 10110, "stream purge not permitted")


def test_a_subject_transform_renames_before_storing(js: JetStream, unique: str) -> None:
    transform = {"src": f"{unique}.*", "dest": f"stored.{unique}.$1"}
    js.create(unique, subjects=[f"{unique}.*"], subject_transform=transform)
    js.publish(f"{unique}.a", "x")
    assert js.get(unique, seq=1)["subject"] == f"stored.{unique}.a"


@pytest.mark.parametrize("only", [False, True])
def test_republish_reaches_others(js: JetStream, unique: str, only: bool) -> None:
    republish = {"src": f"{unique}.>", "dest": f"again.{unique}.>", "headers_only": only}
    js.create(unique, subjects=[f"{unique}.*"], republish=republish)
    js.wire.sub(f"again.{unique}.>", "again")
    js.publish(f"{unique}.a", "one", {"Mine": "1"})
    js.publish(f"{unique}.a", "two")
    one, two = js.wire.msgs(2)
    assert one.subject == f"again.{unique}.a"
    assert one.headers["Mine"] == "1"
    assert one.headers["Nats-Stream"] == unique
    assert one.headers["Nats-Subject"] == f"{unique}.a"
    assert (one.headers["Nats-Sequence"], one.headers["Nats-Last-Sequence"]) == ("1", "0")
    assert (two.headers["Nats-Sequence"], two.headers["Nats-Last-Sequence"]) == ("2", "1")
    assert "Nats-Time-Stamp" in one.headers
    assert one.body == (b"" if only else b"one")
    assert one.headers.get("Nats-Msg-Size") == ("3" if only else None)


@STORAGE
def test_interest_retention_keeps_only_what_somebody_wants(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage, retention="interest")
    assert js.publish(f"{unique}.a")["seq"] == 1
    assert js.state(unique)["messages"] == 0
    js.consumer(unique, "C", filter_subject=f"{unique}.a")
    js.consumer(unique, "D", filter_subject=f"{unique}.a")
    assert js.publish(f"{unique}.a")["seq"] == 2
    assert js.publish(f"{unique}.b")["seq"] == 3
    state = js.state(unique)
    assert (state["messages"], state["last_seq"]) == (1, 3)
    (message,), _ = js.pull(unique, "C")
    js.ack(message)
    assert js.state(unique)["messages"] == 1
    (message,), _ = js.pull(unique, "D")
    js.ack(message)
    js.left(unique, 0)


@STORAGE
def test_a_consumer_that_goes_lets_go_what_only_it_wanted(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage, retention="interest")
    js.consumer(unique, "C")
    js.consumer(unique, "D")
    js.fill(unique, 3)
    messages, _ = js.pull(unique, "C", 2)
    for message in messages:
        js.ack(message)
    assert js.state(unique)["messages"] == 3
    js.call(f"CONSUMER.DELETE.{unique}.D")
    eventually(lambda: js.state(unique)["messages"] == 1)
    assert js.state(unique)["first_seq"] == 3


@STORAGE
def test_a_work_queue_forgets_what_is_done(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage, retention="workqueue")
    js.fill(unique, 3)
    js.consumer(unique, "C")
    messages, _ = js.pull(unique, "C", 3)
    assert js.state(unique)["messages"] == 3
    js.ack(messages[1])
    js.left(unique, 2)
    js.ack(messages[0], "+TERM")
    js.ack(messages[2])
    js.left(unique, 0)
    state = js.state(unique)
    assert (state["first_seq"], state["last_seq"]) == (4, 3)


def test_server_limits_refuse_what_has_no_room(serve: Callable[[str], ServerProcess], unique: str) -> None:
    config = CONFIG.replace("max_mem: 300MB", "max_mem: 10KB")
    with JetStream.of(serve(config)) as js:
        js.create(unique, storage="memory")
        answers = [js.wire.request(unique, "x" * 1000).json() for _ in range(12)]
        js.call(f"STREAM.DELETE.{unique}")
    errors = [a["error"]["err_code"] for a in answers if "error" in a]
    assert 1 <= len(errors) <= 4
    assert set(errors) <= {10023, 10028, 10002}


def test_time_to_live_of_a_stream_with_a_second_age(js: JetStream, unique: str) -> None:
    config = js.create(unique, max_age=SECOND)["config"]
    assert config["duplicate_window"] == SECOND


@pytest.mark.parametrize(
    ("ttl", "accepted"), [("0", False), ("0s", False), ("-0", False), ("00", True), ("1", True)]
)
def test_a_lifetime_of_nothing_is_none(js: JetStream, unique: str, ttl: str, accepted: bool) -> None:
    js.create(unique, allow_msg_ttl=True)
    if accepted:
        assert js.publish(unique, "", {"Nats-TTL": ttl})["seq"] == 1
    else:
        assert refused(js, unique, "", Nats_TTL=ttl) == (10165, "invalid per-message TTL")
    assert js.state(unique)["messages"] == accepted


@pytest.mark.parametrize("ttl", ["x", "-1", "0.1s"])
def test_an_invalid_lifetime_is_refused_where_there_are_none(js: JetStream, unique: str, ttl: str) -> None:
    js.create(unique)
    assert refused(js, unique, "", Nats_TTL=ttl) == (10165, "invalid per-message TTL")
    assert refused(js, unique, "", Nats_TTL=ttl, Nats_Expected_Last_Sequence="9")[0] == 10071
    assert refused(js, unique, "", Nats_TTL="5s", Nats_Expected_Last_Sequence="9")[0] == 10166
    assert js.state(unique)["messages"] == 0


@STORAGE
def test_a_rollup_on_a_subject_with_wildcards_takes_all_it_matches(
    js: JetStream, unique: str, storage: str
) -> None:
    js.create(unique, subjects=[f"{unique}.>"], storage=storage, allow_rollup_hdrs=True)
    for subject in ("a.x", "a.y", "b.x"):
        js.publish(f"{unique}.{subject}")
    js.publish(f"{unique}.a.*", "", {"Nats-Rollup": "sub", "KV-Operation": "PURGE"})
    subjects = js.info(unique, subjects_filter=">")["state"]["subjects"]
    assert subjects == {f"{unique}.a.*": 1, f"{unique}.b.x": 1}


def test_a_purge_marker_of_a_bucket_that_expires_leaves_no_other_marker(js: JetStream, unique: str) -> None:
    purge = {"KV-Operation": "PURGE", "Nats-Rollup": "sub"}
    last = {}  # by stream: all wait for the same second
    for storage in ("file", "memory"):
        for headers, expected in ((purge, 1), ({}, 2)):
            name = f"{unique}{storage}{expected}"
            js.create(name, storage=storage, allow_direct=True, subject_delete_marker_ttl=SECOND)
            js.publish(name, "", {"Nats-TTL": "1s", **headers})
            last[name] = expected
    for name, expected in last.items():
        eventually(lambda name=name: js.state(name)["first_seq"] == 2)  # type: ignore[misc]
        assert js.state(name)["last_seq"] == expected
