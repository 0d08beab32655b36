"""Every refusal when creating a stream: the code, the err_code and the text of the reference."""

from __future__ import annotations

from typing import Any

import pytest
from lib.jetstream import SECOND, JetStream


@pytest.fixture
def js(js: JetStream) -> JetStream:
    """An API connection; stream ORIGIN exists."""
    js.create("ORIGIN")
    return js


# Configuration of stream X, err_code (0: it is accepted), description.
CREATE: list[tuple[dict[str, Any], int, str]] = [
    ({"subjects": ["a..b"]}, 10052, "invalid subject"),
    ({"subjects": ["x", "x"]}, 10052, 'subject "x" overlaps with "x"'),
    ({"subjects": ["x.*", "x.b"]}, 10052, 'subject "x.*" overlaps with "x.b"'),
    ({"subjects": ["ORIGIN"]}, 10065, "subjects overlap with an existing stream"),
    ({"subjects": ["ORIGIN.>", "*"]}, 10065, "subjects overlap with an existing stream"),
    ({"subjects": [">"]}, 10052, "capturing all subjects requires no-ack to be true"),
    (
        {"subjects": ["$JS.API.>"]},
        10052,
        "subjects that overlap with jetstream api require no-ack to be true",
    ),
    ({"subjects": ["$JS.>"]}, 10052, "subjects that overlap with jetstream api require no-ack to be true"),
    ({"subjects": ["$SYS.>"]}, 10052, "subjects that overlap with system api require no-ack to be true"),
    ({"subjects": ["$JS.EVENT.ADVISORY.>"]}, 0, ""),
    ({"subjects": ["$SYS.ACCOUNT.>"]}, 0, ""),
    ({"subjects": [""]}, 10052, "invalid subject"),
    ({"subjects": ["x y"]}, 10052, "invalid subject"),
    ({"description": "x" * 4096}, 0, ""),
    ({"description": "x" * 4097}, 10052, "stream description is too long, maximum allowed is 4096"),
    ({"num_replicas": 3}, 10074, "replicas > 1 not supported in non-clustered mode"),
    ({"num_replicas": -1}, 10133, "replicas count cannot be negative"),
    ({"num_replicas": 6}, 10052, "maximum replicas is 5"),
    ({"max_age": 1000}, 10052, "max age needs to be >= 100ms"),
    ({"max_age": -5}, 10052, "max age can not be negative"),
    ({"duplicate_window": 1}, 10052, "duplicates window needs to be >= 100ms"),
    ({"duplicate_window": -1}, 10052, "duplicates window can not be negative"),
    (
        {"max_age": SECOND, "duplicate_window": 2 * SECOND},
        10052,
        "duplicates window can not be larger then max age",
    ),
    (
        {"discard_new_per_subject": True},
        10052,
        "discard new per subject requires discard new policy to be set",
    ),
    (
        {"discard": "new", "discard_new_per_subject": True},
        10052,
        "discard new per subject requires max msgs per subject > 0",
    ),
    ({"mirror": {"name": "ORIGIN"}, "subjects": ["x"]}, 10034, "stream mirrors can not contain subjects"),
    (
        {"mirror": {"name": "ORIGIN"}, "sources": [{"name": "B"}]},
        10031,
        "stream mirrors can not also contain other sources",
    ),
    (
        {"mirror": {"name": "ORIGIN"}, "first_seq": 5},
        10143,
        "stream mirrors can not have first sequence configured",
    ),
    ({"mirror": {"name": "ORIGIN"}, "subject_transform": {"src": "x", "dest": "y"}}, 0, ""),
    ({"mirror": {"name": "NOPE"}}, 0, ""),
    ({"mirror": {"name": "X"}}, 10052, "detected cycle"),
    ({"mirror": {"name": ""}}, 10142, "mirrored stream name is invalid"),
    ({"mirror": {"name": "a.b"}}, 10142, "mirrored stream name is invalid"),
    (
        {"mirror": {"name": "ORIGIN", "filter_subject": "x..y"}},
        10049,
        "subject filter 'x..y' for the mirror invalid subject",
    ),
    (
        {
            "mirror": {
                "name": "ORIGIN",
                "filter_subject": "x",
                "subject_transforms": [{"src": "x", "dest": "y"}],
            }
        },
        10150,
        "mirror with multiple subject transforms cannot also have a single subject filter",
    ),
    (
        {
            "mirror": {
                "name": "ORIGIN",
                "subject_transforms": [{"src": "a.>", "dest": "y.>"}, {"src": "a.b", "dest": "y"}],
            }
        },
        10152,
        "mirror subject filters can not overlap",
    ),
    (
        {"mirror": {"name": "ORIGIN", "subject_transforms": [{"src": "a.*", "dest": "y.$2"}]}},
        10154,
        "mirror transform: invalid mapping destination: wildcard index out of range in $2: [2]",
    ),
    (
        {"mirror": {"name": "ORIGIN", "external": {"api": "$JS.API"}}},
        10021,
        "stream external api prefix $JS.API must not overlap with $JS.API",
    ),
    (
        {"mirror": {"name": "ORIGIN", "external": {"api": "$JS.x.API", "deliver": "a..b"}}},
        10024,
        "stream external delivery prefix a..b must not contain wildcards",
    ),
    (
        {"mirror": {"name": "ORIGIN"}, "allow_msg_counter": True},
        10173,
        "stream mirrors can not also calculate counters",
    ),
    (
        {"mirror": {"name": "ORIGIN"}, "allow_atomic": True},
        10198,
        "stream mirrors can not also use atomic publishing",
    ),
    (
        {"mirror": {"name": "ORIGIN"}, "allow_msg_schedules": True},
        10186,
        "stream mirrors can not also schedule messages",
    ),
    (
        {"mirror": {"name": "ORIGIN"}, "allow_batched": True},
        10209,
        "stream mirrors can not also use batch publishing",
    ),
    (
        {"mirror": {"name": "ORIGIN"}, "subject_delete_marker_ttl": SECOND},
        10052,
        "subject delete markers forbidden on mirrors",
    ),
    ({"sources": [{"name": "ORIGIN"}, {"name": "ORIGIN"}]}, 10140, "duplicate source configuration detected"),
    ({"sources": [{"name": ""}]}, 10141, "sourced stream name is invalid"),
    ({"sources": [{"name": "a.b"}]}, 10141, "sourced stream name is invalid"),
    ({"sources": [{"name": "X"}]}, 10052, "detected cycle"),
    (
        {"sources": [{"name": "ORIGIN", "filter_subject": "x.."}]},
        10049,
        "subject filter 'x..' for the source: invalid subject",
    ),
    (
        {
            "sources": [
                {"name": "ORIGIN", "filter_subject": "x", "subject_transforms": [{"src": "x", "dest": "y"}]}
            ]
        },
        10144,
        "source with multiple subject transforms cannot also have a single subject filter",
    ),
    (
        {
            "sources": [
                {
                    "name": "ORIGIN",
                    "subject_transforms": [{"src": "a.>", "dest": "y.>"}, {"src": "a.b", "dest": "y"}],
                }
            ]
        },
        10147,
        "source filters can not overlap",
    ),
    (
        {"sources": [{"name": "ORIGIN", "subject_transforms": [{"src": "a.*", "dest": "y.$2"}]}]},
        10146,
        "source transform: invalid mapping destination: wildcard index out of range in $2: [2]",
    ),
    (
        {"sources": [{"name": "ORIGIN"}], "allow_msg_schedules": True},
        10187,
        "stream source can not also schedule messages",
    ),
    ({"sealed": True}, 10052, "stream configuration for create can not be sealed"),
    ({"deny_purge": True, "allow_rollup_hdrs": True}, 10052, "roll-ups require the purge permission"),
    (
        {"republish": {"src": ">", "dest": "X"}},
        10052,
        "stream configuration for republish destination forms a cycle",
    ),
    (
        {"republish": {"src": "X", "dest": "X"}},
        10052,
        "stream configuration for republish destination forms a cycle",
    ),
    (
        {"republish": {"src": "a..", "dest": "Y"}},
        10052,
        "stream configuration for republish with transform from 'a..' to 'Y' not valid",
    ),
    (
        {"republish": {"src": "*", "dest": "Y.$2"}},
        10052,
        "stream configuration for republish with transform from '*' to 'Y.$2' not valid",
    ),
    (
        {"subject_transform": {"src": "a..", "dest": "b"}},
        10155,
        "stream transform source: invalid subject a..",
    ),
    (
        {"subject_transform": {"src": "*", "dest": "b.$3"}},
        10156,
        "stream transform: invalid mapping destination: wildcard index out of range in $3: [3]",
    ),
    (
        {"subject_transform": {"src": "*", "dest": "b..c"}},
        10156,
        "stream transform: invalid mapping destination: invalid transform",
    ),
    ({"subject_delete_marker_ttl": 5}, 10052, "subject delete marker TTL must be at least 1 second"),
    ({"allow_msg_counter": True, "discard": "new"}, 10052, "counter stream cannot use discard new"),
    ({"allow_msg_counter": True, "allow_msg_ttl": True}, 10052, "counter stream cannot use message TTLs"),
    (
        {"allow_msg_counter": True, "retention": "interest"},
        10052,
        "counter stream can only use limits retention",
    ),
    (
        {"persist_mode": "async", "storage": "memory"},
        10052,
        "async persist mode is only supported on file storage",
    ),
    (
        {"persist_mode": "async", "allow_atomic": True},
        10052,
        "async persist mode is not supported with atomic batch publish",
    ),
    ({"persist_mode": "wrong"}, 10025, "invalid JSON: "),
    ({"placement": {"preferred": "S"}}, 10052, "preferred server not permitted in placement"),
    ({"metadata": {"a": "x" * 140_000}}, 10052, "stream metadata exceeds maximum size of 131072 bytes"),
    ({"max_bytes": 200_000_000}, 10047, "insufficient storage resources available"),
    ({"max_bytes": 200_000_000, "storage": "memory"}, 10028, "insufficient memory resources available"),
    ({"compression": "zip"}, 10025, "invalid JSON: "),
    ({"retention": "always"}, 10025, "invalid JSON: "),
    ({"storage": "tape"}, 10025, "invalid JSON: "),
    ({"discard": "both"}, 10025, "invalid JSON: "),
    (
        {"max_msgs": "many"},
        10025,
        "invalid JSON: ",
    ),
    (
        {"max_msgs": 1.5},
        10025,
        "invalid JSON: ",
    ),
    (
        {"subjects": "x"},
        10025,
        "invalid JSON: ",
    ),
    (
        {"first_seq": -1},
        10025,
        "invalid JSON: ",
    ),
    ({"nonsense": 1}, 10025, 'invalid JSON: json: unknown field "nonsense"'),
    ({"pedantic": True, "max_msgs": -5}, 10157, "pedantic mode: max_msgs must be set to -1"),
    ({"pedantic": True, "max_bytes": -5}, 10157, "pedantic mode: max_bytes must be set to -1"),
    ({"pedantic": True, "max_msg_size": -5}, 10157, "pedantic mode: max_msg_size must be set to -1"),
    (
        {"pedantic": True, "max_msgs_per_subject": -5},
        10157,
        "pedantic mode: max_msgs_per_subject must be set to -1",
    ),
    ({"pedantic": True, "max_consumers": -5}, 10157, "pedantic mode: max_consumers must be set to -1"),
    (
        {"pedantic": True, "max_age": SECOND},
        10157,
        "pedantic mode: duplicate window cannot be bigger than max age",
    ),
    ({"template_owner": "t"}, 10025, 'invalid JSON: json: unknown field "template_owner"'),
    ({"template_owner": True}, 10025, 'invalid JSON: json: unknown field "template_owner"'),
    ({"retention": ""}, 10025, "invalid JSON: "),
    ({"discard": ""}, 10025, "invalid JSON: "),
    ({"storage": ""}, 10025, "invalid JSON: "),
    ({"storage": None}, 10025, "invalid JSON: "),
    ({"subjects": None, "max_age": None}, 0, ""),
    ({"compression": ""}, 10025, "invalid JSON: "),
    ({"persist_mode": ""}, 0, ""),
]


@pytest.mark.parametrize(("config", "err_code", "description"), CREATE)
def test_create(js: JetStream, config: dict[str, Any], err_code: int, description: str) -> None:
    answer = js.raw("STREAM.CREATE.X", {"name": "X"} | config).json()
    assert answer["type"] == "io.nats.jetstream.api.v1.stream_create_response"
    if err_code == 0:
        assert answer.get("did_create") is True, answer
        js.call("STREAM.DELETE.X")
        return
    error = answer["error"]
    assert error["err_code"] == err_code
    # The decoder's own words about types are an implementation's business; unknown fields are named alike.
    if err_code != 10025 or "unknown field" in description:
        assert error["description"] == description
    else:
        assert error["description"].startswith("invalid JSON: ")


# Suffix, request, err_code: calls other than create, and create's forms.
FORMS: list[tuple[str, Any, int]] = [
    ("STREAM.CREATE.A", {"name": "B"}, 10056),
    ("STREAM.CREATE.A", {}, 10056),
    ("STREAM.CREATE.A", b"", 10056),
    ("STREAM.CREATE.A", b"{", 10025),
    ("STREAM.CREATE.A", b"[]", 10025),
    ("STREAM.CREATE.A", b"\xff\xfe", 10025),
    ("STREAM.CREATE.A", b"null", 10056),
    ("STREAM.MSG.GET.ORIGIN", b"null", 10003),
    ("STREAM.PURGE.ORIGIN", b"null", 0),
    ("STREAM.NAMES", b"true", 0),
    ("STREAM.LIST", b"7", 0),
    ("STREAM.NAMES", b"[]", 10025),
    ("STREAM.LIST", b"{", 10025),
    ("CONSUMER.CREATE.ORIGIN", b" null ", 10056),
    ("STREAM.CREATE.A*B", {"name": "A*B"}, 10052),
    ("STREAM.CREATE.A/B", {"name": "A/B"}, 10128),
    ("STREAM.CREATE.A\\B", {"name": "A\\B"}, 10128),
    ("STREAM.CREATE." + "N" * 256, {"name": "N" * 256}, 10052),
    ("STREAM.CREATE.ORIGIN", {"name": "ORIGIN", "storage": "memory", "max_msgs": 5}, 10058),
    ("STREAM.UPDATE.NOPE", {"name": "NOPE"}, 10059),
    ("STREAM.UPDATE.ORIGIN", {"name": "NOPE"}, 10056),
    ("STREAM.UPDATE.ORIGIN", {"name": ""}, 10052),
    ("STREAM.UPDATE.ORIGIN", {"description": "x"}, 10052),
    ("STREAM.UPDATE.ORIGIN", {"name": "NOPE", "description": "x" * 4097}, 10052),
    ("STREAM.INFO.NOPE", b"", 10059),
    ("STREAM.INFO.ORIGIN", b"{", 10025),
    ("STREAM.INFO.ORIGIN", {"unknown": 1}, 10025),
    ("STREAM.DELETE.NOPE", b"", 10059),
    ("STREAM.DELETE.ORIGIN", b"x", 10038),
    ("STREAM.PURGE.NOPE", b"", 10059),
    ("STREAM.PURGE.ORIGIN", {"seq": 5, "keep": 5}, 10003),
    ("STREAM.PURGE.ORIGIN", {"nonsense": 1}, 10025),
    ("STREAM.MSG.GET.NOPE", {"seq": 1}, 10059),
    ("STREAM.MSG.GET.ORIGIN", b"", 10003),
    ("STREAM.MSG.GET.ORIGIN", {}, 10003),
    ("STREAM.MSG.GET.ORIGIN", {"seq": 1}, 10037),
    ("STREAM.MSG.GET.ORIGIN", {"last_by_subj": "x"}, 10037),
    ("STREAM.MSG.GET.ORIGIN", {"next_by_subj": "x"}, 10037),
    ("STREAM.MSG.GET.ORIGIN", {"seq": 1, "last_by_subj": "x"}, 10003),
    ("STREAM.MSG.GET.ORIGIN", {"last_by_subj": "x", "next_by_subj": "x"}, 10003),
    ("STREAM.MSG.GET.ORIGIN", {"seq": 1, "batch": 2}, 10003),
    ("STREAM.MSG.DELETE.NOPE", {"seq": 1}, 10059),
    ("STREAM.MSG.DELETE.ORIGIN", b"", 10003),
    ("STREAM.MSG.DELETE.ORIGIN", {"seq": 1}, 10043),
    ("STREAM.NAMES", b"{", 10025),
    ("STREAM.LIST", b"{", 10025),
    ("STREAM.LEADER.STEPDOWN.ORIGIN", b"", 10010),
    ("STREAM.PEER.REMOVE.ORIGIN", {"peer": "x"}, 10010),
    ("STREAM.PEER.EVACUATE.ORIGIN", {"peer": "x"}, 10010),
    ("CONSUMER.PEER.REMOVE.ORIGIN.C", {"peer": "x"}, 10010),
    ("CONSUMER.PEER.EVACUATE.ORIGIN.C", {"peer": "x"}, 10010),
    ("STREAM.CANCEL_MOVE.ORIGIN", {}, 10010),
    ("STREAM.CANCEL_MOVE.NOPE", {}, 10010),
    ("STREAM.SNAPSHOT.NOPE", {"deliver_subject": "x"}, 10059),
    ("INFO", b"", 0),
]


@pytest.mark.parametrize(("suffix", "request_", "err_code"), FORMS)
def test_forms(js: JetStream, suffix: str, request_: Any, err_code: int) -> None:
    answer = js.raw(suffix, request_).json()
    assert answer.get("error", {}).get("err_code", 0) == err_code, answer


# API level, what a stream of that level may have.
LEVELS: list[tuple[int, dict[str, Any]]] = [
    (1, {"allow_msg_ttl": True}),
    (1, {"subject_delete_marker_ttl": SECOND}),
    (2, {"allow_msg_counter": True}),
    (2, {"allow_atomic": True}),
    (2, {"allow_msg_schedules": True}),
    (2, {"storage": "file", "persist_mode": "async"}),
    (4, {"allow_batched": True}),
]


@pytest.mark.parametrize(("level", "feature"), LEVELS)
def test_what_the_api_level_promises_is_served(
    js: JetStream, unique: str, level: int, feature: dict[str, Any]
) -> None:
    received = js.call("INFO")["api"]["level"]
    assert received == js.wire.info["api_lvl"] == 5
    made = js.create(unique, **feature)["config"]
    assert {name: made[name] for name in feature} == feature
    assert (made["metadata"]["_nats.level"], made["metadata"]["_nats.req.level"]) == ("5", str(level))


@pytest.mark.parametrize("more", [1, 94])
def test_a_required_api_level_above_what_is_reported_is_refused(
    js: JetStream, unique: str, more: int
) -> None:
    level = js.wire.info["api_lvl"]
    assert js.call("INFO", b"", {"Nats-Required-Api-Level": str(level)})["api"]["level"] == level
    for required in (str(level + more), "x"):
        for suffix, request in (("INFO", b""), (f"STREAM.CREATE.{unique}", {"name": unique})):
            error = js.error(suffix, request, {"Nats-Required-Api-Level": required})
            assert error == (412, 10185, "JetStream minimum api level required")


@pytest.mark.parametrize(("level", "served"), [("4", True), ("5", True), ("6", False)])
def test_consumers_that_mirrors_and_sources_ask_for_are_served(
    js: JetStream, unique: str, level: str, served: bool
) -> None:
    js.create(unique)
    config = {"name": "C", "deliver_subject": f"{unique}.d", "ack_policy": "flow_control"}
    more = {"flow_control": True, "idle_heartbeat": SECOND, "max_ack_pending": 5}
    request = {"stream_name": unique, "config": config | more}
    answer = js.raw(f"CONSUMER.CREATE.{unique}.C", request, {"Nats-Required-Api-Level": level}).json()
    assert answer.get("error", {}).get("err_code", 0) == (0 if served else 10185)


def test_an_unknown_api_subject_is_not_answered(js: JetStream) -> None:
    js.wire.pub("$JS.API.NONSENSE", b"", js.wire.inbox())
    js.wire.pub("$JS.API.STREAM.CREATE.A.B", b"", js.wire.inbox())
    js.wire.pub("$JS.API.META.LEADER.STEPDOWN", b"", js.wire.inbox())
    js.call("INFO")
    assert js.wire.sync() == []


# Start, change, err_code.
UPDATES: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {"max_msgs": 5}, 0),
    ({}, {"subjects": ["u.a", "u.b"]}, 0),
    ({}, {"subjects": ["ORIGIN"]}, 10065),
    ({}, {"description": "d", "metadata": {"a": "b"}}, 0),
    ({}, {"storage": "file"}, 10052),
    ({}, {"retention": "workqueue"}, 10052),
    ({"retention": "workqueue"}, {"retention": "limits"}, 10052),
    ({}, {"retention": "interest"}, 0),
    ({"retention": "interest"}, {"retention": "limits"}, 0),
    ({}, {"max_consumers": 5}, 0),
    ({}, {"mirror": {"name": "ORIGIN"}}, 10034),
    ({}, {"sources": [{"name": "ORIGIN"}]}, 0),
    ({}, {"num_replicas": 3}, 10074),
    ({}, {"discard": "new"}, 0),
    ({}, {"sealed": True}, 0),
    ({}, {"deny_delete": True, "deny_purge": True}, 0),
    ({"deny_delete": True}, {"deny_delete": False}, 10052),
    ({"deny_purge": True}, {"deny_purge": False}, 10052),
    ({"allow_msg_ttl": True}, {"allow_msg_ttl": False}, 10052),
    ({}, {"allow_msg_ttl": True}, 0),
    ({}, {"allow_msg_counter": True}, 10052),
    ({}, {"persist_mode": "async"}, 10052),
    ({}, {"max_age": SECOND}, 10052),
    ({}, {"max_age": SECOND, "duplicate_window": SECOND}, 0),
    ({}, {"max_age": SECOND, "duplicate_window": 2 * SECOND}, 10052),
    ({}, {"first_seq": 10}, 0),
    ({}, {"no_ack": True}, 0),
    ({}, {"allow_direct": True}, 0),
    ({}, {"republish": {"src": ">", "dest": "rep.>"}}, 0),
]


@pytest.mark.parametrize(("start", "change", "err_code"), UPDATES)
def test_update(
    js: JetStream, unique: str, start: dict[str, Any], change: dict[str, Any], err_code: int
) -> None:
    config = js.create(unique, **start)["config"]
    answer = js.raw(f"STREAM.UPDATE.{unique}", config | change).json()
    js.call(f"STREAM.DELETE.{unique}")
    assert answer["type"] == "io.nats.jetstream.api.v1.stream_update_response"
    assert answer.get("error", {}).get("err_code", 0) == err_code, answer


def test_a_mirror_does_not_change_but_may_be_detached(js: JetStream, unique: str) -> None:
    config = js.create(unique, mirror={"name": "ORIGIN"})["config"]
    changed = config | {"mirror": {"name": "OTHER"}}
    assert js.error(f"STREAM.UPDATE.{unique}", changed)[1] == 10055
    del config["mirror"]
    assert "mirror" not in js.call(f"STREAM.UPDATE.{unique}", config)["config"]


def test_a_circle_of_sources_is_refused(js: JetStream, unique: str) -> None:
    js.create(f"{unique}A", sources=[{"name": "ORIGIN"}])
    js.create(f"{unique}B", sources=[{"name": f"{unique}A"}])
    config = js.info(f"{unique}A")["config"] | {"sources": [{"name": f"{unique}B"}]}
    assert js.error(f"STREAM.UPDATE.{unique}A", config) == (500, 10052, "detected cycle")
