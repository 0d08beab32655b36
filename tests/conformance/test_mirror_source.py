"""Mirrors and sources inside one server: what they copy, its numbers and headers, and the stream info."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess


@pytest.fixture
def origin(js: JetStream, unique: str) -> str:
    """A stream with five messages on <name>.a and <name>.b in turn."""
    js.create(unique, subjects=[f"{unique}.*"])
    for i in range(1, 6):
        js.publish(f"{unique}.{'ba'[i % 2]}", str(i), {"I": str(i)})
    return unique


def holds(js: JetStream, stream: str, count: int) -> None:
    eventually(lambda: js.state(stream)["messages"] == count)


def header(message: dict[str, Any]) -> str:
    return base64.b64decode(message.get("hdrs", "")).decode()


def test_a_mirror_keeps_sequences_times_and_subjects(js: JetStream, origin: str) -> None:
    js.call(f"STREAM.MSG.DELETE.{origin}", {"seq": 3})
    mirror = f"{origin}M"
    js.create(mirror, mirror={"name": origin})
    holds(js, mirror, 4)
    state = js.state(mirror)
    assert (state["first_seq"], state["last_seq"]) == (1, 5)
    for seq in (1, 2, 4, 5):
        assert js.get(mirror, seq=seq) == js.get(origin, seq=seq)
    assert js.error(f"STREAM.MSG.GET.{mirror}", {"seq": 3})[1] == 10037


def test_a_mirror_follows(js: JetStream, origin: str) -> None:
    mirror = f"{origin}M"
    js.create(mirror, mirror={"name": origin})
    holds(js, mirror, 5)
    js.publish(f"{origin}.a", "6")
    holds(js, mirror, 6)
    assert js.get(mirror, seq=6) == js.get(origin, seq=6)


def test_a_mirror_does_not_listen(js: JetStream, origin: str) -> None:
    mirror = f"{origin}M"
    config = js.create(mirror, mirror={"name": origin})["config"]
    assert "subjects" not in config
    assert config["mirror"] == {"name": origin}
    assert "duplicate_window" not in config
    assert js.wire.request(mirror).status == "503"


def test_a_mirrors_info_shows_its_origin(js: JetStream, origin: str) -> None:
    mirror = f"{origin}M"
    js.create(mirror, mirror={"name": origin})
    holds(js, mirror, 5)
    eventually(lambda: js.info(mirror)["mirror"]["active"] >= 0)
    info = js.info(mirror)["mirror"]
    assert (info["name"], info["lag"]) == (origin, 0)
    assert info["active"] >= 0
    assert "error" not in info


@pytest.mark.parametrize(
    ("options", "seqs"),
    [
        ({"opt_start_seq": 4}, [4, 5]),
        ({"filter_subject": "{s}.a"}, [1, 3, 5]),
        ({"filter_subject": "{s}.none"}, []),
        ({"opt_start_time": "2020-01-01T00:00:00Z"}, [1, 2, 3, 4, 5]),
        ({"opt_start_time": "2099-01-01T00:00:00Z"}, []),
    ],
)
def test_a_mirror_may_start_later_and_filter(
    js: JetStream, origin: str, options: dict[str, Any], seqs: list[int]
) -> None:
    mirror = f"{origin}M"
    given = {k: v.replace("{s}", origin) if isinstance(v, str) else v for k, v in options.items()}
    js.create(mirror, mirror={"name": origin} | given)
    holds(js, mirror, len(seqs))
    for seq in seqs:
        assert js.get(mirror, seq=seq)["seq"] == seq
    if seqs:
        js.publish(f"{origin}.a", "more")
        holds(js, mirror, len(seqs) + 1)


def test_a_mirror_renames_with_a_transform(js: JetStream, origin: str) -> None:
    mirror = f"{origin}M"
    transforms = [{"src": f"{origin}.a", "dest": f"copy.{origin}"}]
    js.create(mirror, mirror={"name": origin, "subject_transforms": transforms})
    holds(js, mirror, 3)
    assert js.get(mirror, seq=3)["subject"] == f"copy.{origin}"


def test_a_mirror_may_be_deleted_from_and_limited(js: JetStream, origin: str) -> None:
    mirror = f"{origin}M"
    js.create(mirror, mirror={"name": origin}, max_msgs=2)
    eventually(lambda: js.state(mirror)["last_seq"] == 5)
    assert js.state(mirror)["first_seq"] == 4


def test_a_mirror_of_what_comes_later_catches_up(js: JetStream, unique: str) -> None:
    js.create(f"{unique}M", mirror={"name": unique})
    assert js.info(f"{unique}M")["mirror"]["name"] == unique
    js.create(unique)
    js.fill(unique, 3)
    holds(js, f"{unique}M", 3)


def test_consumers_work_on_a_mirror(js: JetStream, origin: str) -> None:
    mirror = f"{origin}M"
    js.create(mirror, mirror={"name": origin})
    js.consumer(mirror, "C")
    messages, _ = js.pull(mirror, "C", 5)
    assert [m.body for m in messages] == [b"1", b"2", b"3", b"4", b"5"]
    assert messages[0].subject == f"{origin}.a"


def test_the_internal_consumer_is_not_listed(js: JetStream, origin: str) -> None:
    js.create(f"{origin}M", mirror={"name": origin})
    holds(js, f"{origin}M", 5)
    assert js.call(f"CONSUMER.NAMES.{origin}")["total"] == 0


def test_a_source_is_marked_with_where_it_came_from(js: JetStream, origin: str) -> None:
    copy = f"{origin}C"
    js.create(copy, sources=[{"name": origin}])
    holds(js, copy, 5)
    message = js.get(copy, seq=1)
    assert message["subject"] == f"{origin}.a"
    lines = header(message).split("\r\n")
    assert "I: 1" in lines
    (source,) = [line.removeprefix("Nats-Stream-Source: ") for line in lines if "Nats-Stream-Source" in line]
    assert source.split(" ")[:5] == [origin, "1", ">", ">", f"{origin}.a"]


def test_the_size_of_a_sourced_copy_counts_its_mark(js: JetStream, unique: str) -> None:
    js.create(unique, storage="file")
    js.publish(unique, "hello world")
    js.create(f"{unique}C", storage="file", sources=[{"name": unique}])
    holds(js, f"{unique}C", 1)
    message = js.get(f"{unique}C", seq=1)
    wanted = 22 + len(unique) + 4 + len(header(message)) + 11 + 8
    assert js.state(f"{unique}C")["bytes"] == wanted


def test_sources_are_joined_with_own_subjects(js: JetStream, origin: str) -> None:
    other, copy = f"{origin}O", f"{origin}C"
    js.create(other)
    js.fill(other, 3)
    js.create(copy, subjects=[f"own.{origin}"], sources=[{"name": origin}, {"name": other}])
    holds(js, copy, 8)
    assert js.publish(f"own.{origin}")["seq"] == 9
    subjects = js.info(copy, subjects_filter=">")["state"]["subjects"]
    assert subjects == {f"{origin}.a": 3, f"{origin}.b": 2, other: 3, f"own.{origin}": 1}


def test_a_sources_info_shows_each_origin(js: JetStream, origin: str) -> None:
    copy = f"{origin}C"
    js.create(copy, sources=[{"name": origin, "filter_subject": f"{origin}.a"}])
    holds(js, copy, 3)
    eventually(lambda: js.info(copy)["sources"][0]["active"] >= 0)
    (info,) = js.info(copy)["sources"]
    assert (info["name"], info["lag"], info["filter_subject"]) == (origin, 0, f"{origin}.a")


@pytest.mark.parametrize(
    ("options", "bodies"),
    [
        ({"opt_start_seq": 4}, ["4", "5"]),
        ({"filter_subject": "{s}.b"}, ["2", "4"]),
        ({"subject_transforms": [{"src": "{s}.b", "dest": "only.{s}"}]}, ["2", "4"]),
        (
            {
                "subject_transforms": [
                    {"src": "{s}.b", "dest": "one.{s}"},
                    {"src": "{s}.a", "dest": "two.{s}"},
                ]
            },
            ["1", "2", "3", "4", "5"],
        ),
    ],
)
def test_a_source_may_start_later_filter_and_rename(
    js: JetStream, origin: str, options: dict[str, Any], bodies: list[str]
) -> None:
    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(v) for v in value]
        if isinstance(value, dict):
            return {k: named(v) for k, v in value.items()}
        return value.replace("{s}", origin) if isinstance(value, str) else value

    copy = f"{origin}C"
    js.create(copy, sources=[{"name": origin} | named(options)])
    holds(js, copy, len(bodies))
    got = [js.get(copy, seq=i + 1) for i in range(len(bodies))]
    assert [base64.b64decode(m["data"]).decode() for m in got] == bodies
    if "subject_transforms" in options:
        assert all(m["subject"].split(".")[0] in {"only", "one", "two"} for m in got)


def test_a_source_of_a_source_is_marked_again(js: JetStream, origin: str) -> None:
    js.create(f"{origin}C", sources=[{"name": origin}])
    js.create(f"{origin}D", sources=[{"name": f"{origin}C"}])
    holds(js, f"{origin}D", 5)
    assert header(js.get(f"{origin}D", seq=2)).count("Nats-Stream-Source") == 1
    assert f"Nats-Stream-Source: {origin}C 2 " in header(js.get(f"{origin}D", seq=2))


def test_ids_are_deduplicated_by_a_source_and_expectations_dropped(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.publish(unique, "1", {"Nats-Msg-Id": "same", "Nats-Expected-Last-Sequence": "0"})
    js.create(f"{unique}O")
    js.publish(f"{unique}O", "1", {"Nats-Msg-Id": "same"})
    js.create(
        f"{unique}C",
        sources=[{"name": unique}, {"name": f"{unique}O"}],
        duplicate_window=60 * SECOND,
    )
    eventually(lambda: js.state(f"{unique}C")["messages"] >= 1)
    eventually(lambda: all(s["active"] >= 0 for s in js.info(f"{unique}C")["sources"]))
    assert js.state(f"{unique}C")["messages"] == 1
    assert "Expected" not in header(js.get(f"{unique}C", seq=1))


def test_an_added_source_is_copied_and_a_removed_one_is_not(js: JetStream, origin: str) -> None:
    copy = f"{origin}C"
    js.create(copy, subjects=[f"own.{origin}"])
    js.update(copy, sources=[{"name": origin}])
    holds(js, copy, 5)
    js.update(copy, sources=[])
    js.publish(f"{origin}.a", "6")
    js.publish(f"own.{origin}", "own")
    assert js.state(copy)["messages"] == 6


def test_a_copy_goes_on_after_a_restart_without_gap_or_duplicate(
    launch: Callable[[str], ServerProcess], unique: str
) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, storage="file")
        js.create(f"{unique}M", storage="file", mirror={"name": unique})
        js.create(f"{unique}C", storage="file", sources=[{"name": unique}])
        js.fill(unique, 10)
        holds(js, f"{unique}M", 10)
        holds(js, f"{unique}C", 10)
    server.restart()
    with JetStream.of(server) as js:
        js.fill(unique, 10)
        holds(js, f"{unique}M", 20)
        holds(js, f"{unique}C", 20)
        assert js.state(f"{unique}M")["last_seq"] == 20
        assert js.state(f"{unique}C")["last_seq"] == 20
