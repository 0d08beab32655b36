"""`server stream-check` and `consumer-check`: what replicas disagree on is found, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from pyjs.cli.errors import CliError
from pyjs.plugins.server.replica_check import consumer_check, documents_of
from pyjs.plugins.server.replica_states import consumers_of, drift, is_unsynced, streams_of

SERVERS = ("n1", "n2", "n3")


def reports(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    """What three servers report of a stream with a consumer.

    changes: of a server: fields of its stream's state, `leader`, or the consumer's `delivered` or `floor`.
    """
    return [report(name, **changes.get(name, {})) for name in SERVERS]


def report(
    name: str, *, leader: str = "n1", delivered: int = 7, floor: int = 7, follower: str = "", **state: int
) -> dict[str, Any]:
    peers = (
        [{"name": other, "current": True} for other in SERVERS if other != leader] if name == leader else []
    )
    peers += [{"name": follower, "offline": True}] if follower else []
    cluster = {"name": "C", "leader": leader, "replicas": peers}
    consumer = {
        "name": "DUR",
        "delivered": {"consumer_seq": delivered, "stream_seq": delivered},
        "ack_floor": {"consumer_seq": floor, "stream_seq": floor},
        "cluster": cluster,
    }
    stream = {
        "name": "S",
        "stream_raft_group": "S-R3F-1",
        "consumer_raft_groups": [{"name": "DUR", "raft_group": "C-R3F-1"}],
        "state": {"messages": 9, "bytes": 90, "first_seq": 1, "last_seq": 9} | state,
        "cluster": cluster,
        "consumer_detail": [consumer],
    }
    account = {"name": "APP", "id": "APP", "stream_detail": [stream]}
    return {"server": {"name": name, "id": name}, "data": {"account_details": [account]}}


def statuses(records: list[dict[str, Any]]) -> list[str]:
    assert [each["server"] for each in records] == list(SERVERS)
    return [each["status"] for each in records]


def test_replicas_that_agree_are_in_sync() -> None:
    assert statuses(streams_of(reports())) == ["IN SYNC"] * 3
    assert statuses(consumers_of(reports())) == ["IN SYNC / INTERSECT", "IN SYNC", "IN SYNC"]
    assert not any(map(is_unsynced, [*streams_of(reports()), *consumers_of(reports())]))


@pytest.mark.parametrize(
    ("server", "change", "expected"),
    [
        ("n2", {"messages": 8}, ["UNSYNCED"] * 3),
        ("n3", {"last_seq": 8}, ["UNSYNCED"] * 3),
        ("n3", {"leader": "n3"}, ["MULTILEADER"] * 3),
        ("n3", {"leader": ""}, ["IN SYNC", "IN SYNC", "LEADERLESS"]),
        ("n1", {"follower": "n1"}, ["LEADER_IS_FOLLOWER", "IN SYNC", "IN SYNC"]),
    ],
)
def test_what_replicas_of_a_stream_disagree_on(server: str, change: Any, expected: list[str]) -> None:
    found = streams_of(reports(**{server: change}))
    assert statuses(found) == expected
    assert any(map(is_unsynced, found))


@pytest.mark.parametrize(
    ("server", "change", "words"),
    [
        ("n2", {"delivered": 6}, "UNSYNCED:DELIVERED"),
        ("n2", {"floor": 5}, "UNSYNCED:ACK_FLOOR"),
        ("n2", {"delivered": 12}, "UNSYNCED:DELIVERED_AHEAD_OF_STREAM_SEQ"),
        ("n3", {"leader": "n3"}, "MULTILEADER"),
    ],
)
def test_what_replicas_of_a_consumer_disagree_on(server: str, change: Any, words: str) -> None:
    found = consumers_of(reports(**{server: change}))
    assert words in next(each["status"] for each in found if each["server"] == server)
    assert all(map(is_unsynced, found))


def test_streams_of_the_same_name_elsewhere_are_others() -> None:
    other = report("n9", leader="n9", messages=1)
    other["data"]["account_details"][0]["name"] = "OTHER"
    domain = report("n8", leader="n8", messages=2)
    domain["server"]["domain"] = "leaf"
    found = streams_of([*reports(), other, domain])
    assert {each["status"] for each in found} == {"IN SYNC"}


def test_a_stream_without_a_cluster_agrees_with_itself() -> None:
    alone = report("n1")
    del alone["data"]["account_details"][0]["stream_detail"][0]["cluster"]
    assert [each["status"] for each in streams_of([alone])] == ["IN SYNC"]


def test_a_server_without_jetstream_has_no_replicas() -> None:
    assert streams_of([{"server": {"name": "n1"}, "data": {"disabled": True}}, {"server": {}}]) == []


@pytest.mark.parametrize(
    ("value", "leaders", "text"),
    [
        (5, 5, "5"), (5, 10, "5 (-50%)"), (1501, 1000, "1,501 (+50.1%)"), (3, 0, "3 (+100%)"),
        (999_999, 1_000_000, "999,999 (-0.01%)"), (0, 4, "0 (-100%)"),
    ],
)  # fmt: skip
def test_drift_is_a_share_of_what_the_leader_has(value: int, leaders: int, text: str) -> None:
    assert drift(value, leaders) == text


def test_answers_are_read_from_stdin() -> None:
    text = "\n".join(json.dumps(each, indent=each["server"]["name"] == "n2" or None) for each in reports())
    assert documents_of(text + "\n\n") == reports()
    assert documents_of(" ") == []
    for wrong in ("{", "[]", "{} x", "[" * 100_000):
        with pytest.raises(CliError):
            documents_of(wrong)


def test_what_is_no_answer_is_an_error() -> None:
    for wrong in ('{"data": 1}', '{"data": {"account_details": [1]}}', "x"):
        ended = CliRunner().invoke(consumer_check, ["--stdin"], input=wrong)
        assert isinstance(ended.exception, CliError), wrong


def test_only_what_differs_is_shown_with_how_much() -> None:
    lagging = "\n".join(map(json.dumps, reports(n2={"delivered": 6})))
    shown = CliRunner().invoke(consumer_check, ["--stdin", "--unsynced"], input=lagging).output
    assert "6 (-14.29%)" in shown and "n1*" in shown
    agreed = "\n".join(map(json.dumps, reports()))
    shown = CliRunner().invoke(consumer_check, ["--stdin", "--unsynced"], input=agreed).output
    assert shown == "All replicas agree\n"
