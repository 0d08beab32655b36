"""Streams through the API, field by field: create, info, get, delete, purge, list, names, direct get."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import SECOND, JetStream

STORAGE = pytest.mark.parametrize("storage", ["file", "memory"])
ZERO = "0001-01-01T00:00:00Z"


def seqs(js: JetStream, stream: str) -> list[int]:
    """The sequences that are stored."""
    state = js.info(stream, deleted_details=True)["state"]
    gone = set(state.get("deleted", []))
    return [s for s in range(max(state["first_seq"], 1), state["last_seq"] + 1) if s not in gone]


def test_a_created_stream_shows_its_defaults(js: JetStream, unique: str) -> None:
    answer = js.call(f"STREAM.CREATE.{unique}", {"name": unique})
    assert list(answer) == ["type", "config", "created", "state", "ts", "did_create"]
    assert answer["did_create"] is True
    config = answer["config"]
    level, version, required = (
        config["metadata"].pop(k) for k in ("_nats.level", "_nats.ver", "_nats.req.level")
    )
    assert int(level) >= 0
    assert version
    assert required == "0"
    assert config == {
        "name": unique,
        "subjects": [unique],
        "retention": "limits",
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "discard": "old",
        "storage": "file",
        "num_replicas": 1,
        "duplicate_window": 120 * SECOND,
        "compression": "none",
        "allow_direct": False,
        "mirror_direct": False,
        "sealed": False,
        "deny_delete": False,
        "deny_purge": False,
        "allow_rollup_hdrs": False,
        "consumer_limits": {},
        "allow_msg_ttl": False,
        "metadata": {},
    }
    assert list(config)[:11] == [
        "name",
        "subjects",
        "retention",
        "max_consumers",
        "max_msgs",
        "max_bytes",
        "max_age",
        "max_msgs_per_subject",
        "max_msg_size",
        "discard",
        "storage",
    ]
    assert answer["state"] == {
        "messages": 0,
        "bytes": 0,
        "first_seq": 0,
        "first_ts": ZERO,
        "last_seq": 0,
        "last_ts": ZERO,
        "consumer_count": 0,
    }


def test_creating_alike_again_is_no_error(js: JetStream, unique: str) -> None:
    first = js.create(unique)
    again = js.create(unique)
    assert again["created"] == first["created"]


@pytest.mark.parametrize(
    "config",
    [
        {"description": "words", "metadata": {"a": "b"}},
        {"retention": "workqueue", "max_msgs": 5, "max_bytes": 5000, "max_age": SECOND, "max_msg_size": 50},
        {"discard": "new", "max_msgs_per_subject": 3, "discard_new_per_subject": True},
        {"subjects": ["{s}.a", "{s}.b.>"], "allow_direct": True, "deny_delete": True, "deny_purge": True},
        {"storage": "file", "first_seq": 100},
        {"allow_rollup_hdrs": True, "allow_msg_ttl": True, "no_ack": True},
        {"consumer_limits": {"inactive_threshold": SECOND, "max_ack_pending": 5}},
        {"subject_transform": {"src": ">", "dest": "t.>"}, "republish": {"src": ">", "dest": "r.>"}},
        {"duplicate_window": 30 * SECOND, "max_consumers": 7},
        {"subject_delete_marker_ttl": SECOND},
    ],
)
def test_what_was_set_is_shown(js: JetStream, unique: str, config: dict[str, Any]) -> None:
    wanted = {k: [i.replace("{s}", unique) for i in v] if k == "subjects" else v for k, v in config.items()}
    created = js.create(unique, **wanted)["config"]
    created["metadata"] = {k: v for k, v in created["metadata"].items() if not k.startswith("_nats.")}
    assert {k: created[k] for k in wanted} == wanted
    assert js.info(unique)["config"]["name"] == unique


def test_a_marker_ttl_turns_on_what_it_needs(js: JetStream, unique: str) -> None:
    config = js.create(unique, subject_delete_marker_ttl=SECOND)["config"]
    assert (config["allow_msg_ttl"], config["allow_rollup_hdrs"]) == (True, True)
    assert config["metadata"]["_nats.req.level"] == "1"


def test_first_seq_starts_there(js: JetStream, unique: str) -> None:
    js.create(unique, first_seq=100)
    assert js.publish(unique)["seq"] == 100
    assert js.state(unique)["first_seq"] == 100


@STORAGE
def test_info_shows_the_state(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage)
    js.publish(f"{unique}.a", "x")
    js.publish(f"{unique}.b", "x")
    js.consumer(unique, "C")
    info = js.info(unique)
    state = info["state"]
    assert info["type"] == "io.nats.jetstream.api.v1.stream_info_response"
    assert info["cluster"] == {"leader": "S"}
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (2, 1, 2)
    assert (state["num_subjects"], state["consumer_count"]) == (2, 1)
    assert state["first_ts"] < state["last_ts"] < info["ts"]
    assert "subjects" not in state
    assert "deleted" not in state
    assert "num_deleted" not in state


def test_info_lists_subjects_when_asked(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    for subject in ("a", "a", "b.c"):
        js.publish(f"{unique}.{subject}")
    info = js.info(unique, subjects_filter=f"{unique}.>")
    assert info["state"]["subjects"] == {f"{unique}.a": 2, f"{unique}.b.c": 1}
    assert (info["total"], info["offset"], info["limit"]) == (2, 0, 100_000)
    info = js.info(unique, subjects_filter=f"{unique}.*")
    assert info["state"]["subjects"] == {f"{unique}.a": 2}
    info = js.info(unique, subjects_filter=">", offset=1)
    assert len(info["state"]["subjects"]) == 1
    assert "subjects" not in js.info(unique, subjects_filter="nothing")["state"]


@STORAGE
def test_deleting_messages(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage)
    js.fill(unique, 5)
    assert js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": 3})["success"] is True
    assert js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": 2, "no_erase": True})["success"] is True
    state = js.info(unique, deleted_details=True)["state"]
    assert (state["messages"], state["num_deleted"], state["deleted"]) == (3, 2, [2, 3])
    assert js.error(f"STREAM.MSG.DELETE.{unique}", {"seq": 3}) == (400, 10043, "sequence 3 not found")
    assert js.error(f"STREAM.MSG.GET.{unique}", {"seq": 3}) == (404, 10037, "no message found")
    js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": 1})
    state = js.state(unique)
    assert (state["first_seq"], state["messages"]) == (4, 2)
    assert "num_deleted" not in state


@STORAGE
def test_deleting_all_and_going_on(js: JetStream, unique: str, storage: str) -> None:
    js.create(unique, storage=storage)
    js.fill(unique, 2)
    for seq in (2, 1):
        js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": seq})
    state = js.state(unique)
    assert (state["messages"], state["bytes"], state["first_seq"], state["last_seq"]) == (0, 0, 3, 2)
    assert js.publish(unique)["seq"] == 3


@STORAGE
@pytest.mark.parametrize(
    ("request_", "purged", "left"),
    [
        (b"", 6, []),
        ({}, 6, []),
        ({"seq": 4}, 3, [4, 5, 6]),
        ({"seq": 1}, 0, [1, 2, 3, 4, 5, 6]),
        ({"seq": 100}, 6, []),
        ({"keep": 2}, 4, [5, 6]),
        ({"keep": 10}, 0, [1, 2, 3, 4, 5, 6]),
        ({"filter": "{s}.a"}, 3, [2, 4, 6]),
        ({"filter": "{s}.*"}, 6, []),
        ({"filter": "{s}.none"}, 0, [1, 2, 3, 4, 5, 6]),
        ({"filter": "{s}.a", "seq": 4}, 2, [2, 4, 5, 6]),
        ({"filter": "{s}.a", "keep": 1}, 2, [2, 4, 5, 6]),
    ],
)
def test_purge(js: JetStream, unique: str, storage: str, request_: Any, purged: int, left: list[int]) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage)
    for i in range(6):
        js.publish(f"{unique}.{'ab'[i % 2]}")
    if isinstance(request_, dict):
        request_ = {k: v.replace("{s}", unique) if k == "filter" else v for k, v in request_.items()}
    answer = js.call(f"STREAM.PURGE.{unique}", request_)
    assert (answer["success"], answer["purged"]) == (True, purged)
    assert seqs(js, unique) == left
    state = js.state(unique)
    assert state["messages"] == len(left)
    if not left:
        expected = max(7, request_.get("seq", 0) if isinstance(request_, dict) else 0)
        assert state["first_seq"] == expected
        assert js.publish(f"{unique}.a")["seq"] == expected


@STORAGE
@pytest.mark.parametrize(
    ("request_", "seq"),
    [
        ({"seq": 2}, 2),
        ({"last_by_subj": "{s}.a"}, 5),
        ({"last_by_subj": "{s}.*"}, 6),
        ({"last_by_subj": ">"}, 6),
        ({"next_by_subj": "{s}.a"}, 1),
        ({"next_by_subj": "{s}.a", "seq": 2}, 3),
        ({"next_by_subj": "{s}.b", "seq": 6}, 6),
        ({"next_by_subj": "{s}.b", "seq": 7}, 0),
        ({"next_by_subj": "{s}.*", "seq": 4}, 4),
        ({"start_time": "2020-01-01T00:00:00Z"}, 1),
        ({"last_by_subj": "{s}.none"}, 0),
        ({"seq": 7}, 0),
    ],
)
def test_get(js: JetStream, unique: str, storage: str, request_: dict[str, Any], seq: int) -> None:
    js.create(unique, subjects=[f"{unique}.*"], storage=storage)
    for i in range(6):
        js.publish(f"{unique}.{'ab'[i % 2]}", str(i + 1), {"I": str(i + 1)})
    wanted = {k: v.replace("{s}", unique) if isinstance(v, str) else v for k, v in request_.items()}
    if seq == 0:
        assert js.error(f"STREAM.MSG.GET.{unique}", wanted) == (404, 10037, "no message found")
        return
    message = js.get(unique, **wanted)
    assert list(message) == ["subject", "seq", "hdrs", "data", "time"]
    assert message["seq"] == seq
    assert base64.b64decode(message["data"]) == str(seq).encode()
    assert base64.b64decode(message["hdrs"]) == f"NATS/1.0\r\nI: {seq}\r\n\r\n".encode()


def test_get_of_an_empty_message_without_headers(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.publish(unique)
    assert set(js.get(unique, seq=1)) == {"subject", "seq", "time"}


def test_names_and_list_filter_by_subject(js: JetStream, unique: str) -> None:
    for name in ("B", "A", "C"):
        js.create(f"{unique}{name}", subjects=[f"{unique}.{name}.*"])
    answer = js.call("STREAM.NAMES", {"subject": f"{unique}.>"})
    assert answer["streams"] == [f"{unique}{n}" for n in "ABC"]
    assert (answer["total"], answer["offset"], answer["limit"]) == (3, 0, 1024)
    assert js.call("STREAM.NAMES", {"subject": f"{unique}.B.x"})["streams"] == [f"{unique}B"]
    assert js.call("STREAM.NAMES", {"subject": f"{unique}.*.x"})["total"] == 3
    assert js.call("STREAM.NAMES", {"subject": "nothing.like.it"})["streams"] is None
    listed = js.call("STREAM.LIST", {"subject": f"{unique}.>"})
    assert [s["config"]["name"] for s in listed["streams"]] == [f"{unique}{n}" for n in "ABC"]
    assert (listed["total"], listed["limit"]) == (3, 256)
    assert listed["streams"][0]["state"]["messages"] == 0
    assert "cluster" not in listed["streams"][0]


def test_who_wants_no_answer_is_served(js: JetStream, unique: str) -> None:
    js.wire.pub(f"$JS.API.STREAM.CREATE.{unique}", json.dumps({"name": unique, "storage": "memory"}))
    eventually(lambda: js.call("STREAM.NAMES", {"subject": unique})["streams"] == [unique])
    js.wire.pub(f"$JS.API.STREAM.DELETE.{unique}")
    eventually(lambda: js.call("STREAM.NAMES", {"subject": unique})["streams"] is None)


def test_paging_beyond_the_end_is_empty(js: JetStream, unique: str) -> None:
    js.create(unique)
    assert js.call("STREAM.NAMES", {"offset": 100_000})["streams"] in (None, [])
    assert js.call("STREAM.LIST", {"offset": 100_000})["streams"] in (None, [])
    names = js.call("STREAM.NAMES")
    rest = js.call("STREAM.NAMES", {"offset": names["total"] - 1})
    assert rest["streams"] == names["streams"][-1:]


def test_consumers_are_listed(js: JetStream, unique: str) -> None:
    js.create(unique)
    for name in ("B", "A"):
        js.consumer(unique, name)
    names = js.call(f"CONSUMER.NAMES.{unique}")
    assert (names["consumers"], names["total"], names["limit"]) == (["A", "B"], 2, 1024)
    listed = js.call(f"CONSUMER.LIST.{unique}")
    assert [c["name"] for c in listed["consumers"]] == ["A", "B"]
    assert (listed["total"], listed["offset"], listed["limit"]) == (2, 0, 256)
    assert js.call(f"CONSUMER.LIST.{unique}", {"offset": 1})["consumers"][0]["name"] == "B"


def test_a_created_consumer_shows_its_defaults(js: JetStream, unique: str) -> None:
    js.create(unique)
    answer = js.consumer(unique, "C")
    # pyjs tells the consumer's leader too (the documents' reports show it); the reference when clustered.
    assert [key for key in answer if key != "cluster"] == [
        "type",
        "stream_name",
        "name",
        "created",
        "config",
        "delivered",
        "ack_floor",
        "num_ack_pending",
        "num_redelivered",
        "num_waiting",
        "num_pending",
        "ts",
    ]
    config = answer["config"]
    del config["metadata"]
    assert config == {
        "durable_name": "C",
        "name": "C",
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": 30 * SECOND,
        "max_deliver": -1,
        "replay_policy": "instant",
        "max_waiting": 512,
        "max_ack_pending": 1000,
        "num_replicas": 0,
    }
    assert js.consumer_info(unique, "C")["config"]["name"] == "C"


@pytest.mark.parametrize(
    ("suffix", "config"),
    [
        ("CONSUMER.CREATE.{s}", {"deliver_subject": "d"}),
        ("CONSUMER.CREATE.{s}.C", {"name": "C", "ack_policy": "all"}),
        ("CONSUMER.CREATE.{s}.C.{s}", {"name": "C", "filter_subject": "{s}"}),
        ("CONSUMER.DURABLE.CREATE.{s}.C", {"durable_name": "C"}),
    ],
)
def test_old_and_new_forms_of_create(js: JetStream, unique: str, suffix: str, config: dict[str, str]) -> None:
    js.create(unique)
    wanted = {k: v.replace("{s}", unique) for k, v in config.items()}
    request = {"stream_name": unique, "config": wanted}
    answer = js.call(suffix.replace("{s}", unique), request)
    assert answer["stream_name"] == unique
    assert wanted.items() <= answer["config"].items()
    assert js.call(f"CONSUMER.DELETE.{unique}.{answer['name']}")["success"] is True


def test_deleting_a_stream_deletes_what_is_in_it(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.fill(unique, 2)
    js.consumer(unique, "C")
    assert js.call(f"STREAM.DELETE.{unique}")["success"] is True
    assert js.error(f"STREAM.INFO.{unique}") == (404, 10059, "stream not found")
    assert js.wire.request(unique).status == "503"
    js.create(unique)
    assert js.state(unique)["messages"] == 0
    assert js.call(f"CONSUMER.NAMES.{unique}")["consumers"] == []


def test_an_update_changes_the_subjects_at_once(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.a"])
    js.update(unique, subjects=[f"{unique}.b"])
    assert js.wire.request(f"{unique}.a").status == "503"
    assert js.publish(f"{unique}.b")["seq"] == 1


def test_an_update_applies_limits_at_once(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.fill(unique, 10)
    js.update(unique, max_msgs=3)
    assert seqs(js, unique) == [8, 9, 10]


DIRECT: list[tuple[Any, str, str, dict[str, str]]] = [
    ({"seq": 2}, "2", "", {"Nats-Sequence": "2", "Nats-Subject": "{s}.b"}),
    ({"last_by_subj": "{s}.a"}, "3", "", {"Nats-Sequence": "3"}),
    ({"next_by_subj": "{s}.b", "seq": 3}, "4", "", {"Nats-Sequence": "4"}),
    ({"seq": 9}, "", "404 Message Not Found", {}),
    ({"last_by_subj": "{s}.none"}, "", "404 Message Not Found", {}),
    (b"", "", "408 Empty Request", {}),
    (b"{", "", "408 Malformed Request", {}),
    ({}, "", "408 Empty Request", {}),
    ({"seq": 1, "last_by_subj": "x"}, "", "408 Bad Request", {}),
]


@STORAGE
@pytest.mark.parametrize(("request_", "body", "status", "headers"), DIRECT)
def test_direct_get(
    js: JetStream, unique: str, storage: str, request_: Any, body: str, status: str, headers: dict[str, str]
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_direct=True, storage=storage)
    for i in range(1, 5):
        js.publish(f"{unique}.{'ba'[i % 2]}", str(i), {"Mine": "y"})
    if isinstance(request_, dict):
        request_ = {k: v.replace("{s}", unique) if isinstance(v, str) else v for k, v in request_.items()}
    answer = js.raw(f"DIRECT.GET.{unique}", request_)
    assert answer.body == body.encode()
    if status:
        assert answer.header == f"NATS/1.0 {status}\r\n\r\n".encode()
        return
    received = answer.headers
    assert {k: received[k] for k in headers} == {k: v.replace("{s}", unique) for k, v in headers.items()}
    assert (received["Mine"], received["Nats-Stream"]) == ("y", unique)
    assert "Nats-Time-Stamp" in received


def test_direct_get_of_the_last_by_subject_in_the_subject(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"], allow_direct=True)
    js.publish(f"{unique}.a.b", "1")
    js.publish(f"{unique}.a.b", "2")
    answer = js.raw(f"DIRECT.GET.{unique}.{unique}.a.b")
    assert (answer.body, answer.headers["Nats-Sequence"]) == (b"2", "2")
    assert js.raw(f"DIRECT.GET.{unique}.{unique}.none").status == "404 Message Not Found"


def test_direct_get_without_leave_has_no_responders(js: JetStream, unique: str) -> None:
    js.create(unique)
    assert js.raw(f"DIRECT.GET.{unique}", {"seq": 1}).status == "503"


def test_direct_get_of_a_batch(js: JetStream, unique: str) -> None:
    js.create(unique, allow_direct=True)
    js.fill(unique, 5)
    js.wire.pub(f"$JS.API.DIRECT.GET.{unique}", '{"seq":2,"batch":3}', js.wire.inbox())
    *messages, end = js.wire.msgs(4)
    assert [m.body for m in messages] == [b"2", b"3", b"4"]
    assert [m.headers["Nats-Num-Pending"] for m in messages] == ["3", "2", "1"]
    assert [m.headers["Nats-Last-Sequence"] for m in messages] == ["0", "2", "3"]
    assert end.status == "204 EOB"
    assert (end.headers["Nats-Num-Pending"], end.headers["Nats-Last-Sequence"]) == ("1", "4")


def test_direct_get_of_the_last_of_many_subjects(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_direct=True)
    for i in range(1, 7):
        js.publish(f"{unique}.{'abc'[i % 3]}", str(i))
    request = f'{{"multi_last":["{unique}.a","{unique}.b"],"batch":10}}'
    js.wire.pub(f"$JS.API.DIRECT.GET.{unique}", request, js.wire.inbox())
    one, two, end = js.wire.msgs(3)
    assert {one.body, two.body} == {b"4", b"6"}
    assert end.status == "204 EOB"
    assert js.raw(f"DIRECT.GET.{unique}", {"multi_last": ["none.here"]}).status == "404 No Results"


def test_a_stream_that_is_created_again_alike_is_answered_as_created(js: JetStream, unique: str) -> None:
    first = js.create(unique)
    again = js.create(unique)
    assert again["did_create"] is True
    assert again["created"] == first["created"]
