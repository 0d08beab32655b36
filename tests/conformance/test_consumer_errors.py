"""Every refusal when creating a consumer: the err_code and the text of the reference."""

from __future__ import annotations

from typing import Any

import pytest
from lib.jetstream import SECOND, JetStream
from pyjs.protocol import timestamp


@pytest.fixture
def js(js: JetStream) -> JetStream:
    """An API connection; streams S (limits) and WQ (work queue) exist."""
    js.create("S", subjects=["S.*"])
    js.create("WQ", subjects=["WQ.*"], retention="workqueue")
    return js


# Configuration of consumer C of stream S, err_code (0: it is accepted), description.
CREATE: list[tuple[dict[str, Any], int, str]] = [
    ({"ack_policy": "sometimes"}, 10025, "invalid JSON: "),
    ({"deliver_policy": "whenever"}, 10025, "invalid JSON: "),
    ({"replay_policy": "slow"}, 10025, "invalid JSON: "),
    ({"ack_policy": ""}, 10025, "invalid JSON: "),
    ({"deliver_policy": ""}, 10025, "invalid JSON: "),
    ({"replay_policy": ""}, 10025, "invalid JSON: "),
    ({"priority_policy": ""}, 10025, "invalid JSON: "),
    ({"ack_policy": None}, 10025, "invalid JSON: "),
    ({"opt_start_time": None}, 0, ""),
    ({"description": "x" * 4097}, 10107, "consumer description is too long, maximum allowed is 4096"),
    ({"metadata": {"a": "x" * 140_000}}, 10135, "consumer metadata exceeds maximum size of 128KB"),
    ({"ack_wait": -1}, 10183, "consumer ack wait needs to be positive"),
    (
        {"max_deliver": 2, "backoff": [SECOND, SECOND, SECOND]},
        10116,
        "max deliver is required to be > length of backoff values",
    ),
    ({"backoff": [-1]}, 10184, "consumer backoff needs to be positive"),
    ({"deliver_subject": "d", "backoff": [1], "ack_policy": "none"}, 0, ""),
    ({"filter_subject": "nothing.here"}, 0, ""),
    ({"filter_subject": "S.."}, 10052, "invalid subject"),
    (
        {"filter_subject": "S.a", "filter_subjects": ["S.b"]},
        10136,
        "consumer cannot have both FilterSubject and FilterSubjects specified",
    ),
    ({"filter_subjects": ["S.a", "S.a"]}, 10138, "consumer subject filters cannot overlap"),
    ({"filter_subjects": ["S.*", "S.a"]}, 10138, "consumer subject filters cannot overlap"),
    ({"filter_subjects": ["S.a", ""]}, 10139, "consumer filter in FilterSubjects cannot be empty"),
    ({"filter_subjects": ["S.a", "other"]}, 0, ""),
    (
        {"deliver_policy": "last_per_subject"},
        10094,
        "consumer delivery policy is deliver last per subject, but optional filter subject is not set",
    ),
    (
        {"deliver_policy": "last", "opt_start_seq": 5},
        10094,
        "consumer delivery policy is deliver last, but optional start sequence is also set",
    ),
    (
        {"deliver_policy": "last", "opt_start_time": "2024-01-01T00:00:00Z"},
        10094,
        "consumer delivery policy is deliver last, but optional start time is also set",
    ),
    (
        {"deliver_policy": "all", "opt_start_seq": 5},
        10094,
        "consumer delivery policy is deliver all, but optional start sequence is also set",
    ),
    (
        {"deliver_policy": "new", "opt_start_seq": 5},
        10094,
        "consumer delivery policy is deliver new, but optional start sequence is also set",
    ),
    (
        {"deliver_policy": "by_start_sequence"},
        10094,
        "consumer delivery policy is deliver by start sequence, but optional start sequence is not set",
    ),
    (
        {"deliver_policy": "by_start_time"},
        10094,
        "consumer delivery policy is deliver by start time, but optional start time is not set",
    ),
    (
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 1, "opt_start_time": "2024-01-01T00:00:00Z"},
        10094,
        "consumer delivery policy is deliver by start sequence, but optional start time is also set",
    ),
    (
        {"deliver_policy": "by_start_time", "opt_start_seq": 1, "opt_start_time": "2024-01-01T00:00:00Z"},
        10094,
        "consumer delivery policy is deliver by start time, but optional start start sequence is also set",
    ),
    (
        {"deliver_policy": "last_per_subject", "filter_subject": "S.a", "opt_start_seq": 1},
        10094,
        "consumer delivery policy is deliver last per subject, but optional start sequence is also set",
    ),
    (
        {"sample_freq": "x"},
        10095,
        'failed to parse consumer sampling configuration: strconv.Atoi: parsing "x": invalid syntax',
    ),
    ({"sample_freq": "50%"}, 0, ""),
    ({"sample_freq": "150%"}, 0, ""),
    ({"rate_limit_bps": 100}, 10086, "consumer in pull mode can not have rate limit set"),
    ({"max_waiting": -1}, 0, ""),
    ({"idle_heartbeat": SECOND}, 10088, "consumer idle heartbeat requires a push based consumer"),
    ({"flow_control": True}, 10089, "consumer flow control requires a push based consumer"),
    ({"headers_only": True}, 0, ""),
    ({"max_batch": -1}, 0, ""),
    ({"max_expires": -1}, 0, ""),
    ({"max_expires": 5}, 10115, "consumer max request expires needs to be >= 1ms"),
    ({"max_bytes": -1}, 0, ""),
    ({"inactive_threshold": -1}, 0, ""),
    ({"num_replicas": 3}, 10074, "replicas > 1 not supported in non-clustered mode"),
    ({"num_replicas": -1}, 10133, "replicas count cannot be negative"),
    ({"max_ack_pending": -5}, 0, ""),
    ({"max_ack_pending": 5, "ack_policy": "none"}, 0, ""),
    ({"deliver_group": "g"}, 0, ""),
    ({"direct": True}, 10090, "consumer direct requires a push based consumer"),
    ({"deliver_subject": "d.*"}, 10079, "consumer deliver subject has wildcards"),
    ({"deliver_subject": "d..x"}, 10112, "invalid push consumer deliver subject"),
    ({"deliver_subject": "d x"}, 10112, "invalid push consumer deliver subject"),
    ({"deliver_subject": "S.a"}, 10081, "consumer deliver subject forms a cycle"),
    ({"deliver_subject": "d", "max_waiting": 5}, 10080, "consumer in push mode can not set max waiting"),
    (
        {"deliver_subject": "d", "max_ack_pending": 5, "ack_policy": "none"},
        10082,
        "consumer requires ack policy for max ack pending",
    ),
    ({"deliver_subject": "d", "idle_heartbeat": 1}, 10083, "consumer idle heartbeat needs to be >= 100ms"),
    ({"deliver_subject": "d", "idle_heartbeat": -1}, 0, ""),
    (
        {"deliver_subject": "d", "flow_control": True},
        10108,
        "consumer with flow control also needs heartbeats",
    ),
    ({"deliver_subject": "d", "flow_control": True, "idle_heartbeat": SECOND}, 0, ""),
    ({"deliver_subject": "d", "max_batch": 5}, 0, ""),
    ({"deliver_subject": "d", "direct": True}, 0, ""),
    (
        {"deliver_subject": "d", "priority_policy": "overflow", "priority_groups": ["g"]},
        10178,
        "priority groups can not be used with push consumers",
    ),
    ({"ack_policy": "flow_control"}, 10218, "flow control ack policy requires a push based consumer"),
    (
        {
            "deliver_subject": "d",
            "ack_policy": "flow_control",
            "flow_control": True,
            "idle_heartbeat": SECOND,
            "max_ack_pending": 5,
            "ack_wait": SECOND,
        },
        10221,
        "flow control ack policy requires unset ack wait",
    ),
    (
        {
            "deliver_subject": "d",
            "ack_policy": "flow_control",
            "flow_control": True,
            "idle_heartbeat": SECOND,
            "max_ack_pending": 5,
            "max_deliver": 3,
        },
        10222,
        "flow control ack policy requires unset max deliver",
    ),
    (
        {"priority_policy": "overflow"},
        10159,
        "Setting PriorityPolicy requires at least one PriorityGroup to be set",
    ),
    ({"priority_policy": "odd"}, 10025, "invalid JSON: "),
    ({"priority_groups": ["g"]}, 10196, "consumer can not have priority groups when policy is none"),
    (
        {"priority_policy": "overflow", "priority_groups": ["g g"]},
        10162,
        "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed 16 characters",
    ),
    ({"priority_policy": "overflow", "priority_groups": [""]}, 10161, "Group name cannot be an empty string"),
    (
        {"priority_policy": "overflow", "priority_groups": ["x" * 17]},
        10162,
        "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed 16 characters",
    ),
    ({"priority_timeout": SECOND}, 10197, "PinnedTTL cannot be set when PriorityPolicy is none"),
    ({"nonsense": 1}, 10025, 'invalid JSON: json: unknown field "nonsense"'),
    (
        {"ack_wait": "30s"},
        10025,
        "invalid JSON: ",
    ),
    (
        {"max_deliver": "x"},
        10025,
        "invalid JSON: ",
    ),
    (
        {"opt_start_time": "yesterday"},
        10025,
        "invalid JSON: ",
    ),
    (
        {"pause_until": "yesterday"},
        10025,
        "invalid JSON: ",
    ),
]


@pytest.mark.parametrize(("config", "err_code", "description"), CREATE)
def test_create(js: JetStream, config: dict[str, Any], err_code: int, description: str) -> None:
    request = {"stream_name": "S", "config": {"name": "C"} | config}
    answer = js.raw("CONSUMER.CREATE.S.C", request).json()
    assert answer["type"] == "io.nats.jetstream.api.v1.consumer_create_response"
    if err_code == 0:
        assert answer["name"] == "C", answer
        js.call("CONSUMER.DELETE.S.C")
        return
    error = answer["error"]
    assert error["err_code"] == err_code
    # The decoder's own words about types are an implementation's business; unknown fields are named alike.
    if err_code != 10025 or "unknown field" in description:
        assert error["description"] == description
    else:
        assert error["description"].startswith("invalid JSON: ")


EXPLICIT: dict[str, Any] = {"durable_name": "C", "ack_policy": "explicit"}
# Suffix, request, err_code: the forms of the call rather than the configuration.
FORMS: list[tuple[str, Any, int]] = [
    ("CONSUMER.CREATE.NOPE.C", {"stream_name": "NOPE", "config": {"name": "C"}}, 10059),
    ("CONSUMER.CREATE.S.C", {"stream_name": "OTHER", "config": {"name": "C"}}, 10056),
    ("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"name": "D", "durable_name": "D"}}, 10017),
    ("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "D"}}, 10017),
    (
        "CONSUMER.CREATE.S.C.S.a",
        {"stream_name": "S", "config": {"name": "C", "filter_subject": "S.b"}},
        10131,
    ),
    ("CONSUMER.CREATE.S.C.S.a", {"stream_name": "S", "config": {"name": "C"}}, 10131),
    (
        "CONSUMER.CREATE.S.C.S.a",
        {"stream_name": "S", "config": {"name": "C", "filter_subjects": ["S.a"]}},
        10137,
    ),
    ("CONSUMER.CREATE.S.C", b"", 10056),
    ("CONSUMER.CREATE.S.C", b"{", 10025),
    ("CONSUMER.CREATE.S.C", b"[]", 10025),
    ("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": EXPLICIT, "action": "update"}, 10149),
    ("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": EXPLICIT, "action": "wrong"}, 10025),
    ("CONSUMER.CREATE.S", {"stream_name": "S", "config": {"durable_name": "C"}}, 10020),
    ("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": {}}, 10018),
    ("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "D"}}, 10017),
    ("CONSUMER.DURABLE.CREATE.NOPE.C", {"stream_name": "NOPE", "config": EXPLICIT}, 10059),
    ("CONSUMER.INFO.S.NOPE", b"", 10014),
    ("CONSUMER.INFO.NOPE.C", b"", 10059),
    ("CONSUMER.INFO.S.C", b"x", 10038),
    ("CONSUMER.DELETE.S.NOPE", b"", 10014),
    ("CONSUMER.DELETE.NOPE.C", b"", 10059),
    ("CONSUMER.DELETE.S.C", b"x", 10038),
    ("CONSUMER.LIST.NOPE", b"", 10059),
    ("CONSUMER.NAMES.NOPE", b"", 10059),
    ("CONSUMER.NAMES.S", b"{", 10025),
    ("CONSUMER.PAUSE.S.NOPE", b"", 10014),
]


@pytest.mark.parametrize(("suffix", "request_", "err_code"), FORMS)
def test_forms(js: JetStream, suffix: str, request_: Any, err_code: int) -> None:
    assert js.error(suffix, request_)[1] == err_code


# First consumer, second consumer (name D), err_code of the second on a work queue.
WORKQUEUE: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {}, 10099),
    ({"filter_subject": "WQ.a"}, {}, 10099),
    ({"filter_subject": "WQ.a"}, {"filter_subject": "WQ.*"}, 10100),
    ({"filter_subject": "WQ.a"}, {"filter_subject": "WQ.a"}, 10100),
    ({"filter_subject": "WQ.a"}, {"filter_subject": "WQ.b"}, 0),
    ({"filter_subject": "WQ.a"}, {"filter_subjects": ["WQ.b", "WQ.c"]}, 0),
    ({"filter_subject": "WQ.a"}, {"filter_subjects": ["WQ.b", "WQ.a"]}, 10100),
    ({"filter_subject": "WQ.a"}, {"filter_subject": "WQ.b", "ack_policy": "none"}, 10084),
    ({"filter_subject": "WQ.a"}, {"filter_subject": "WQ.b", "ack_policy": "all"}, 10098),
    ({"filter_subject": "WQ.a"}, {"filter_subject": "WQ.b", "deliver_policy": "new"}, 10101),
    (
        {"filter_subject": "WQ.a"},
        {"filter_subject": "WQ.b", "deliver_subject": "d", "ack_policy": "none"},
        10098,
    ),
]


@pytest.mark.parametrize(("first", "second", "err_code"), WORKQUEUE)
def test_work_queue_consumers_do_not_overlap(
    js: JetStream, first: dict[str, Any], second: dict[str, Any], err_code: int
) -> None:
    js.consumer("WQ", "C", **first)
    config = EXPLICIT | {"durable_name": "D"} | second
    answer = js.raw("CONSUMER.CREATE.WQ.D", {"stream_name": "WQ", "config": config}).json()
    js.call("CONSUMER.DELETE.WQ.C")
    if err_code == 0:
        assert answer["name"] == "D"
        js.call("CONSUMER.DELETE.WQ.D")
    else:
        assert answer["error"]["err_code"] == err_code


# What may change in a consumer (0) and what may not. The first is pull, the second push.
PULL_UPDATES: list[tuple[dict[str, Any], int]] = [
    ({}, 0),
    ({"description": "new"}, 0),
    ({"ack_wait": 5 * SECOND}, 0),
    ({"max_deliver": 7}, 0),
    ({"max_ack_pending": 7}, 0),
    ({"filter_subject": "S.a"}, 0),
    ({"sample_freq": "10%"}, 0),
    ({"headers_only": True}, 0),
    ({"max_batch": 7}, 0),
    ({"metadata": {"a": "b"}}, 0),
    ({"inactive_threshold": 60 * SECOND}, 0),
    ({"backoff": [SECOND]}, 0),
    ({"deliver_policy": "new"}, 10012),
    ({"ack_policy": "all"}, 10012),
    ({"replay_policy": "original"}, 10012),
    ({"max_waiting": 7}, 10012),
    ({"mem_storage": True}, 10012),
    ({"deliver_subject": "d"}, 10012),
    ({"deliver_policy": "by_start_sequence", "opt_start_seq": 5}, 10012),
]


@pytest.mark.parametrize(("change", "err_code"), PULL_UPDATES)
def test_update_of_a_pull_consumer(js: JetStream, unique: str, change: dict[str, Any], err_code: int) -> None:
    js.consumer("S", unique)
    base = EXPLICIT | {"durable_name": unique, "name": unique}
    answer = js.raw(f"CONSUMER.CREATE.S.{unique}", {"stream_name": "S", "config": base | change}).json()
    js.call(f"CONSUMER.DELETE.S.{unique}")
    if err_code == 0:
        assert "error" not in answer, answer
        metadata = change.get("metadata", {})
        assert change | {"metadata": answer["config"]["metadata"] | metadata} == {
            key: answer["config"][key] for key in change | {"metadata": {}}
        }
    else:
        assert answer["error"]["err_code"] == err_code


PUSH_UPDATES: list[tuple[dict[str, Any], int]] = [
    ({"deliver_subject": "other"}, 0),
    ({"rate_limit_bps": 1000}, 0),
    ({"flow_control": True, "idle_heartbeat": SECOND}, 10012),
    ({"idle_heartbeat": SECOND}, 10012),
    ({"deliver_group": "g"}, 0),
]


@pytest.mark.parametrize(("change", "err_code"), PUSH_UPDATES)
def test_update_of_a_push_consumer(js: JetStream, unique: str, change: dict[str, Any], err_code: int) -> None:
    base = EXPLICIT | {"durable_name": unique, "name": unique, "deliver_subject": f"to.{unique}"}
    js.call(f"CONSUMER.CREATE.S.{unique}", {"stream_name": "S", "config": base})
    answer = js.raw(f"CONSUMER.CREATE.S.{unique}", {"stream_name": "S", "config": base | change}).json()
    js.call(f"CONSUMER.DELETE.S.{unique}")
    assert answer.get("error", {}).get("err_code", 0) == err_code


def test_creating_twice_alike_is_one_consumer_and_differently_a_conflict(js: JetStream, unique: str) -> None:
    first = js.consumer("S", unique, "create")
    assert js.consumer("S", unique, "create")["created"] == first["created"]
    config = {
        "stream_name": "S",
        "action": "create",
        "config": EXPLICIT | {"durable_name": unique, "max_deliver": 5},
    }
    assert js.error(f"CONSUMER.CREATE.S.{unique}", config)[1] == 10148


def test_a_bound_push_consumer_cannot_be_taken_over(js: JetStream, unique: str) -> None:
    js.wire.sub(f"to.{unique}", "to")
    config = {"durable_name": unique, "deliver_subject": f"to.{unique}"}
    js.call(f"CONSUMER.DURABLE.CREATE.S.{unique}", {"stream_name": "S", "config": config})
    assert js.consumer_info("S", unique)["push_bound"] is True
    moved = config | {"deliver_subject": f"elsewhere.{unique}"}
    request = {"stream_name": "S", "config": moved}
    assert js.error(f"CONSUMER.DURABLE.CREATE.S.{unique}", request)[1] == 10013


def test_the_number_of_consumers_is_limited(js: JetStream, unique: str) -> None:
    js.create(unique, max_consumers=1)
    js.consumer(unique, "A")
    request = {"stream_name": unique, "config": EXPLICIT}
    assert js.error(f"CONSUMER.CREATE.{unique}.C", request) == (400, 10026, "maximum consumers limit reached")


def test_a_streams_consumer_limits_bind(js: JetStream, unique: str) -> None:
    js.create(unique, consumer_limits={"max_ack_pending": 5, "inactive_threshold": 10 * SECOND})
    assert js.consumer(unique, "A", inactive_threshold=SECOND)["config"]["max_ack_pending"] == 5
    over = {"stream_name": unique, "config": EXPLICIT | {"max_ack_pending": 6}}
    assert js.error(f"CONSUMER.CREATE.{unique}.C", over)[1] == 10121
    idle = {"stream_name": unique, "config": EXPLICIT | {"inactive_threshold": 11 * SECOND}}
    assert js.error(f"CONSUMER.CREATE.{unique}.C", idle)[1] == 10153


def test_the_name_in_the_subject_is_the_name(js: JetStream, unique: str) -> None:
    answer = js.call(f"CONSUMER.CREATE.S.{unique}", {"stream_name": "S"})
    assert answer["name"] == unique
    assert answer["config"]["name"] == unique
    assert answer["config"]["inactive_threshold"] == 5 * SECOND


@pytest.mark.parametrize("created", [{"name": "C"}, {"name": "C", "inactive_threshold": 7 * SECOND}])
def test_a_name_that_is_taken_may_only_be_created_again_with_all_that_was_filled_in(
    js: JetStream, unique: str, created: dict[str, Any]
) -> None:
    js.create(unique)
    request = {"stream_name": unique, "config": created, "action": "create"}
    first = js.call(f"CONSUMER.CREATE.{unique}.C", request)
    if "inactive_threshold" in created:
        assert js.call(f"CONSUMER.CREATE.{unique}.C", request)["created"] == first["created"]
    else:
        assert js.error(f"CONSUMER.CREATE.{unique}.C", request)[1] == 10148
    request["config"] = first["config"]
    assert js.call(f"CONSUMER.CREATE.{unique}.C", request)["created"] == first["created"]


@pytest.mark.parametrize("start", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_any_start_time_that_is_given_is_one(js: JetStream, unique: str, start: str) -> None:
    js.create(unique)
    js.fill(unique, 2)
    made = js.consumer(unique, "C", deliver_policy="by_start_time", opt_start_time=start)
    assert made["config"]["opt_start_time"] == start
    assert js.consumer_info(unique, "C")["num_pending"] == 2
    request = {"stream_name": unique, "config": {"name": "D", "opt_start_time": start}}
    assert js.error(f"CONSUMER.CREATE.{unique}.D", request)[1] == 10094


@pytest.mark.parametrize(
    "start",
    [
        "0001-01-01T00:00:00+14:00",
        "0000-01-01T00:00:00Z",
        "0000-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_a_start_time_at_the_ends_of_what_can_be_written(js: JetStream, unique: str, start: str) -> None:
    js.create(unique)
    js.fill(unique, 2)
    made = js.consumer(unique, "C", deliver_policy="by_start_time", opt_start_time=start, pause_until=start)
    assert timestamp.parse_exact(made["config"]["opt_start_time"]) == timestamp.parse_exact(start)
    assert js.consumer_info(unique, "C")["num_pending"] == 2 or start > "2000"
