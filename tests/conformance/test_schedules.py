"""Scheduled messages, `allow_msg_schedules`: what is refused, what fires, and what it brings."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, ApiFailureError, JetStream
from lib.process import ServerProcess

PAST, FAR = "@at 2020-01-01T00:00:00Z", "@at 2099-01-01T00:00:00Z"


@pytest.fixture(params=["memory", "file"])
def schedules(js: JetStream, unique: str, request: pytest.FixtureRequest) -> str:
    """A stream that takes schedules on <name>.*."""
    more = {"allow_msg_schedules": True, "allow_msg_ttl": True, "storage": request.param}
    js.create(unique, subjects=[f"{unique}.*"], **more)
    return unique


def schedule(
    js: JetStream, stream: str, pattern: str = FAR, body: str = "x", subject: str = "when", **headers: str
) -> Any:
    """Publish a schedule that brings something to <stream>.target; return the answer, or the error's code."""
    given = {"Nats-Schedule": pattern} if pattern else {}
    given["Nats-Schedule-Target"] = f"{stream}.target"
    for name, value in headers.items():
        given[name.replace("_", "-")] = value.format(s=stream)
    try:
        return js.publish(f"{stream}.{subject}", body, {k: v for k, v in given.items() if v != "none"})
    except ApiFailureError as error:
        return error.err_code


def brought(js: JetStream, stream: str, subject: str = "target") -> dict[str, Any]:
    """Wait for what a schedule brings; return its body, and its headers by name."""
    where = {"last_by_subj": f"{stream}.{subject}"}
    eventually(lambda: "message" in js.raw(f"STREAM.MSG.GET.{stream}", where).json())
    message = js.get(stream, **where)
    lines = base64.b64decode(message.get("hdrs", "")).decode().split("\r\n")[1:]
    found = dict(line.split(": ", 1) for line in lines if line)
    return found | {"body": base64.b64decode(message.get("data", "")).decode()}


REFUSED: list[tuple[dict[str, str], int]] = [
    ({"pattern": "@at soon"}, 10189),
    ({"pattern": "@at 2099-01-01"}, 10189),
    ({"pattern": "@every 999ms"}, 10189),
    ({"pattern": "@every x"}, 10189),
    ({"pattern": "@every 1s"}, 0),
    ({"pattern": "@sometimes"}, 10189),
    ({"pattern": "@daily"}, 0),
    ({"pattern": "* * * * *"}, 10189),
    ({"pattern": "0 0 0 1 1 *"}, 0),
    ({"pattern": "0 0 0 30 2 *"}, 10189),
    ({"pattern": "0 0 0 ? * MON-FRI"}, 0),
    ({"pattern": "0 0 0 * * 7"}, 10189),
    ({"pattern": "60 * * * * *"}, 10189),
    ({"pattern": "5-1 * * * * *"}, 10189),
    ({"pattern": "*/0 * * * * *"}, 10189),
    ({"pattern": "1/2/3 * * * * *"}, 10189),
    ({"pattern": ", * * * * *"}, 10189),
    ({"pattern": "0 0 12 * * *", "Nats_Schedule_Time_Zone": "Europe/Berlin"}, 0),
    ({"pattern": "0 0 12 * * *", "Nats_Schedule_Time_Zone": "Europe/Nowhere"}, 10223),
    ({"pattern": "0 0 12 * * *", "Nats_Schedule_Time_Zone": "Europe"}, 10223),
    ({"pattern": "0 0 12 * * *", "Nats_Schedule_Time_Zone": "../UTC"}, 10223),
    ({"pattern": FAR, "Nats_Schedule_Time_Zone": "UTC"}, 10189),
    ({"pattern": "@every 5s", "Nats_Schedule_Time_Zone": "UTC"}, 10189),
    ({"pattern": "", "Nats_Schedule_Time_Zone": "Europe/Nowhere"}, 10223),
    ({"Nats_Schedule_Target": "none"}, 10190),
    ({"Nats_Schedule_Target": "{s}.when"}, 10190),
    ({"Nats_Schedule_Target": "{s}.*"}, 10190),
    ({"Nats_Schedule_Target": "other"}, 10190),
    ({"Nats_Schedule_TTL": "5m"}, 0),
    ({"Nats_Schedule_TTL": "soon"}, 10191),
    ({"Nats_Schedule_Rollup": "sub"}, 0),
    ({"Nats_Schedule_Rollup": "all"}, 10192),
    ({"Nats_Rollup": "sub"}, 0),
    ({"Nats_Rollup": "all"}, 10192),
    ({"Nats_Schedule_Source": "{s}.source"}, 0),
    ({"Nats_Schedule_Source": "{s}.when"}, 10203),
    ({"Nats_Schedule_Source": "{s}.target"}, 10203),
    ({"Nats_Schedule_Source": "{s}.>"}, 10203),
    ({"Nats_Schedule_Source": "other"}, 10203),
    ({"Nats_Scheduler": "{s}.x"}, 10212),
    ({"Nats_Schedule_Next": "purge"}, 10212),
    ({"Nats_Schedule_Next": "purge", "Nats_Scheduler": "{s}.when"}, 10212),
    ({"Nats_Schedule_Next": "2099-01-01T00:00:00Z", "Nats_Scheduler": "{s}.x"}, 10212),
    ({"Nats_Schedule_Next": "purge", "Nats_Scheduler": "{s}.x"}, 0),
    ({"Nats_Schedule_Next": "purge", "Nats_Scheduler": "{s}.plain"}, 10212),
]


@pytest.mark.parametrize(("given", "err_code"), REFUSED)
def test_what_is_no_schedule_is_refused(
    js: JetStream, unique: str, given: dict[str, str], err_code: int
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_msg_schedules=True, allow_msg_ttl=True)
    js.publish(f"{unique}.plain")
    answer = schedule(js, unique, **given)
    assert (answer if isinstance(answer, int) else 0) == err_code


def test_a_ttl_needs_a_stream_that_has_them(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_msg_schedules=True)
    assert schedule(js, unique, Nats_Schedule_TTL="5m") == 10166


@pytest.mark.parametrize(
    ("given", "err_code"),
    [
        ({}, 10188),
        ({"pattern": "nonsense"}, 10188),
        ({"pattern": "", "Nats_Schedule_Time_Zone": "Nowhere"}, 10188),
        ({"pattern": "", "Nats_Schedule_Next": "purge", "Nats_Scheduler": "{s}.x"}, 10188),
        ({"pattern": "", "Nats_Schedule_Next": "now", "Nats_Scheduler": "{s}.x"}, 10212),
        ({"pattern": ""}, 0),
    ],
)
def test_a_stream_without_schedules_refuses_them(
    js: JetStream, unique: str, given: dict[str, str], err_code: int
) -> None:
    js.create(unique, subjects=[f"{unique}.*"])
    answer = schedule(js, unique, **given)
    assert (answer if isinstance(answer, int) else 0) == err_code


def test_schedules_are_for_the_life_of_a_stream(js: JetStream, schedules: str) -> None:
    config = js.info(schedules)["config"]
    assert (config["allow_rollup_hdrs"], config["metadata"]["_nats.req.level"]) == (True, "2")
    answer = js.raw(f"STREAM.UPDATE.{schedules}", config | {"allow_msg_schedules": False}).json()
    assert "message schedules can not be disabled" in answer["error"]["description"]


def test_a_schedule_is_stored_as_the_only_one_of_its_subject(js: JetStream, schedules: str) -> None:
    for _ in range(3):
        schedule(js, schedules)
    state = js.state(schedules)
    assert (state["messages"], state["last_seq"]) == (1, 3)
    header = base64.b64decode(js.get(schedules, seq=3)["hdrs"]).decode()
    assert header.endswith(f"Nats-Schedule-Target: {schedules}.target\r\nNats-Rollup: sub\r\n\r\n")


def test_what_is_due_once_replaces_its_schedule(js: JetStream, schedules: str) -> None:
    more = {"Nats_Msg_Id": "id", "Nats_Expected_Stream": schedules, "Nats_TTL": "1h", "Own": "kept"}
    schedule(js, schedules, PAST, "content", Nats_Schedule_TTL="30m", **more)
    assert brought(js, schedules) == {
        "Own": "kept",
        "Nats-Scheduler": f"{schedules}.when",
        "Nats-Schedule-Next": "purge",
        "Nats-TTL": "30m",
        "body": "content",
    }
    eventually(lambda: js.state(schedules)["messages"] == 1)
    assert js.state(schedules)["last_seq"] == 2


def test_what_repeats_says_when_it_comes_again(js: JetStream, schedules: str) -> None:
    schedule(js, schedules, "@every 1s", "tick", Nats_Schedule_Rollup="sub")
    first = brought(js, schedules)
    assert (first["body"], first["Nats-Rollup"]) == ("tick", "sub")
    following = datetime.fromisoformat(first["Nats-Schedule-Next"])
    assert first["Nats-Schedule-Next"].endswith("Z")
    eventually(lambda: brought(js, schedules)["Nats-Schedule-Next"] != first["Nats-Schedule-Next"])
    second = datetime.fromisoformat(brought(js, schedules)["Nats-Schedule-Next"])
    assert second - following >= timedelta(seconds=1)
    assert js.state(schedules)["messages"] == 2


def test_a_cron_pattern_counts_in_its_time_zone(js: JetStream, schedules: str) -> None:
    schedule(js, schedules, "* * * * * *", Nats_Schedule_Time_Zone="Asia/Kolkata")
    following = brought(js, schedules)["Nats-Schedule-Next"]
    assert following.endswith("+05:30")
    assert abs(datetime.fromisoformat(following) - datetime.now(UTC)) < timedelta(seconds=10)


def test_a_source_gives_the_content(js: JetStream, schedules: str) -> None:
    js.publish(f"{schedules}.data", "old", {"Kind": "old"})
    js.publish(f"{schedules}.data", "new", {"Kind": "new", "Nats-Msg-Id": "id"})
    schedule(js, schedules, PAST, "own", Nats_Schedule_Source="{s}.data", Own="left out")
    found = brought(js, schedules)
    assert (found["body"], found["Kind"], "Own" in found, "Nats-Msg-Id" in found) == (
        "new",
        "new",
        False,
        False,
    )


def test_a_source_without_messages_leaves_the_schedules_own(js: JetStream, schedules: str) -> None:
    schedule(js, schedules, PAST, "own", Nats_Schedule_Source="{s}.data", Own="kept")
    found = brought(js, schedules)
    assert (found["body"], found["Own"]) == ("own", "kept")


def soon(seconds: float) -> str:
    """A schedule for a moment from now."""
    return f"@at {(datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()}"


def test_what_was_removed_or_replaced_never_comes(js: JetStream, schedules: str) -> None:
    for subject in ("plain", "purged", "ended", "later"):
        schedule(js, schedules, soon(1), subject, subject)
    js.publish(f"{schedules}.plain", "")
    js.call(f"STREAM.PURGE.{schedules}", {"filter": f"{schedules}.purged"})
    end = {"Nats-Schedule-Next": "purge", "Nats-Scheduler": f"{schedules}.ended"}
    js.publish(f"{schedules}.x", "", end)
    schedule(js, schedules, FAR, "later", "later")
    schedule(js, schedules, soon(1.2), "kept", "kept")
    assert brought(js, schedules)["body"] == "kept"
    came = js.info(schedules, subjects_filter=">")["state"]["subjects"][f"{schedules}.target"]
    assert came == 1


def test_a_schedule_may_be_the_target_of_another(js: JetStream, schedules: str) -> None:
    schedule(js, schedules, soon(2), "second", "second")
    schedule(js, schedules, PAST, "first", "first", Nats_Schedule_Target="{s}.second")
    eventually(lambda: js.state(schedules)["last_seq"] == 3)
    assert brought(js, schedules)["body"] == "second"


def test_a_batch_may_have_schedules(js: JetStream, schedules: str) -> None:
    js.update(schedules, allow_atomic=True)
    for place in (1, 2):
        commit = {"Nats_Batch_Commit": "1"} if place == 2 else {}
        batch = {"Nats_Batch_Id": "b", "Nats_Batch_Sequence": str(place)} | commit
        if place == 1:
            given = {"Nats-Schedule": PAST, "Nats-Schedule-Target": f"{schedules}.target"}
            given |= {name.replace("_", "-"): value for name, value in batch.items()}
            js.wire.request(f"{schedules}.when", b"batched", given)
        else:
            assert schedule(js, schedules, subject="other", **batch)["count"] == 2
    assert brought(js, schedules)["body"] == "batched"


@pytest.mark.parametrize("end", ["restart", "crash"])
def test_schedules_outlive_the_server(launch: Callable[[str], ServerProcess], unique: str, end: str) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, subjects=[f"{unique}.*"], allow_msg_schedules=True, storage="file")
        schedule(js, unique, soon(1), "once")
        schedule(js, unique, "@every 1s", "tick", "every", Nats_Schedule_Target="{s}.ticks")
        brought(js, unique, "ticks")
    if end == "crash":
        server.crash()
        server.launch()
    else:
        server.restart()
    with JetStream.of(server) as js:
        assert brought(js, unique)["body"] == "once"
        last = js.state(unique)["last_seq"]
        eventually(lambda: js.state(unique)["last_seq"] > last)
        assert brought(js, unique, "ticks")["body"] == "tick"
