"""Reports about a cluster: where streams are, how healthy it is, what accounts use."""

from __future__ import annotations

from typing import Any

import pytest
from lib.meta_fixture import MetaFixture, server
from pyjs.protocol.api.account import AccountLimits
from pyjs.server.jetstream.meta.health import (
    HOPELESS,
    MetaHealth,
    StreamHealth,
    consumer_problem,
    meta_problem,
    stream_problem,
)
from pyjs.server.jetstream.meta.node_info import NodeStatus
from pyjs.server.jetstream.meta.report import (
    SILENCE,
    GroupView,
    MetaLog,
    PeerView,
    cluster_info,
    meta_cluster,
)
from pyjs.server.jetstream.meta.usage import TierUsage, account_info, total

SECOND = 1_000_000_000


def shown(meta: MetaFixture, view: GroupView | None, me: str, name: str = "S") -> dict[str, Any]:
    stream = meta.state.stream("A", name)
    assert stream is not None
    return cluster_info(meta.state, meta.node_statuses, stream, view, me, "C").to_json()


def test_a_recent_contact_is_shown_and_none_is_not() -> None:
    meta = MetaFixture()
    stream = meta.create()
    me, just_now, never = stream.peers
    found = shown(meta, GroupView(me, SECOND, {just_now: PeerView(True, 0), never: PeerView()}), me)
    active = {replica["peer"]: replica["active"] for replica in found["replicas"]}
    assert active == {just_now[:8]: 1, never[:8]: 0}


def test_a_leader_shows_its_replicas() -> None:
    meta = MetaFixture()
    stream = meta.create()
    me, level, late = stream.peers
    view = GroupView(me, 5 * SECOND, {level: PeerView(True, SECOND), late: PeerView(False, 2 * SECOND, 7)})
    found = shown(meta, view, me)
    replicas = {replica["peer"]: replica for replica in found.pop("replicas")}
    assert found == {
        "name": "C",
        "raft_group": stream.group,
        "leader": meta.state.server_name(me),
        "leader_since": "1970-01-01T00:00:05Z",
        "system_account": True,
    }
    assert replicas == {
        level[:8]: {
            "name": meta.state.server_name(level),
            "current": True,
            "active": SECOND,
            "peer": level[:8],
        },
        late[:8]: {
            "name": meta.state.server_name(late),
            "current": False,
            "active": 2 * SECOND,
            "lag": 7,
            "peer": late[:8],
        },
    }


def test_replicas_are_sorted_and_the_silent_are_not_current() -> None:
    meta = MetaFixture(5)
    stream = meta.create(replicas=5)
    me, *others = stream.peers
    meta.node_statuses[others[1]] = NodeStatus(online=False)
    peers = {others[0]: PeerView(True, 0), others[1]: PeerView(True, SILENCE + 1), others[2]: PeerView()}
    replicas = shown(meta, GroupView(me, 1, peers), me)["replicas"]
    assert [replica["name"] for replica in replicas] == sorted(replica["name"] for replica in replicas)
    by = {replica["peer"]: replica for replica in replicas}
    assert by[others[0][:8]]["current"]
    assert (by[others[1][:8]]["current"], by[others[1][:8]]["offline"]) == (False, True)
    assert "pending" not in by[others[2][:8]] and by[others[3][:8]]["pending"]  # not in the group yet


def test_a_member_without_a_leader_lists_everyone() -> None:
    meta = MetaFixture()
    stream = meta.create()
    found = shown(
        meta, GroupView("", 0, {peer: PeerView(True, SECOND) for peer in stream.peers[1:]}), stream.peers[0]
    )
    assert "leader" not in found and len(found["replicas"]) == 3
    assert not next(one for one in found["replicas"] if one["peer"] == stream.peers[0][:8])["current"]


def test_a_follower_shows_the_leader_and_not_of_itself() -> None:
    meta = MetaFixture()
    me, leader, third = meta.create().peers
    found = shown(meta, GroupView(leader, 1, {leader: PeerView(True, 0), third: PeerView(False, -1)}), me)
    assert found["leader"] == meta.state.server_name(leader)
    assert {one["peer"]: one["current"] for one in found["replicas"]} == {leader[:8]: True, third[:8]: False}


def test_one_copy_leads_itself() -> None:
    meta = MetaFixture()
    stream = meta.create(replicas=1)
    me = stream.peers[0]
    assert shown(meta, None, me) == {"name": "C", "leader": meta.state.server_name(me)}
    away = shown(meta, None, "someone-1")
    assert away["raft_group"] == stream.group and "leader" not in away
    assert [one["peer"] for one in away["replicas"]] == [me[:8]]


def test_who_leaves_is_shown_and_where_it_goes() -> None:
    meta = MetaFixture(4)
    before = meta.create()
    meta.put(meta.planner.remove_peer("A", "S", before.peers[2]))
    me = before.peers[0]
    found = shown(meta, GroupView(me, 1, {before.peers[1]: PeerView(), before.peers[2]: PeerView()}), me)
    after = meta.state.stream("A", "S")
    assert after and len(found["replicas"]) == 3
    assert {one["peer"] for one in found["desired"]["replicas"]} == {peer[:8] for peer in after.peers}


def test_a_members_id_begins_with_its_node() -> None:
    assert server(1).node == "NODE0001"


def test_unknown_servers_have_a_name_to_that_effect() -> None:
    meta = MetaFixture()
    stream = meta.create(replicas=1)
    meta.put(meta.planner.remove_server(peer=stream.peers[0]))
    [replica] = shown(meta, None, "x-1")["replicas"]
    assert replica["name"] == f"Server name unknown at this time (peerID: {stream.peers[0][:8]})"
    assert replica["offline"]


def test_the_meta_cluster() -> None:
    meta = MetaFixture()
    first, second, third = meta.state.servers
    view = GroupView(first, 1, {second: PeerView(True, SECOND), third: PeerView(False, 3 * SECOND, 4)})
    log = MetaLog(3, entries=5, bytes=600, snapshot_at=SECOND, snapshot_duration=70)
    found = meta_cluster(meta.state, meta.node_statuses, meta.state.servers, view, first, "C", log, pending=2)
    replicas = found.pop("replicas")
    assert [(one["name"], one["current"], one.get("lag")) for one in replicas] == [
        ("n2", True, None),
        ("n3", False, 4),
    ]
    assert found == {
        "name": "C",
        "leader": "n1",
        "peer": first[:8],
        "cluster_size": 3,
        "quorum_needed": 2,
        "pending": 2,
        "pending_requests": 2,
        "pending_infos": 0,
        "snapshot": {
            "pending_entries": 5,
            "pending_size": 600,
            "last_time": "1970-01-01T00:00:01Z",
            "last_duration": 70,
        },
    }
    leaderless = meta_cluster(
        meta.state, meta.node_statuses, meta.state.servers, GroupView(), first, "", MetaLog(3)
    )
    assert not {"leader", "peer", "name"} & set(leaderless) and len(leaderless["replicas"]) == 3


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (MetaHealth(leader="a"), ""),
        (MetaHealth(failure="EIO", leader=""), "JetStream meta layer write error: EIO"),
        (MetaHealth(leader="a", apply_failure="x"), "JetStream meta layer apply error: x"),
        (MetaHealth(leader="a", running=False), "JetStream meta layer is not running"),
        (MetaHealth(recovering=True), "JetStream is still recovering meta layer"),
        (MetaHealth(), "JetStream has not established contact with a meta leader"),
        (MetaHealth(leader="a", member=False), "JetStream has not established contact with a meta leader"),
        (MetaHealth(leader="a", current=False), "JetStream is not current with the meta leader"),
    ],
)
def test_what_is_wrong_with_the_meta_group(facts: MetaHealth, wanted: str) -> None:
    assert meta_problem(facts) == wanted


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (StreamHealth(), ""),
        (StreamHealth(replicated=True), ""),
        (StreamHealth(healthy=False), ""),  # one copy has no group
        (StreamHealth(found=False), "stream not found"),
        (StreamHealth(error="no room"), "stream assignment error: no room"),
        (StreamHealth(store_failure="EIO"), "stream write error: EIO"),
        (StreamHealth(replicated=True, running=False), "group node missing"),
        (StreamHealth(replicated=True, failure="EIO"), "node write error: EIO"),
        (StreamHealth(replicated=True, store_failure="EIO"), "stream write error: EIO"),
        (
            StreamHealth(replicated=True, damage="block 1", catching_up=True),
            "stream damaged, fetched from the other servers: block 1",
        ),
        (StreamHealth(replicated=True, damage="block 1", hopeless=True), f"{HOPELESS} (here: block 1)"),
        (StreamHealth(replicated=True, quorum_diagnosis="why", healthy=False), "stream has no leader: why"),
        (StreamHealth(replicated=True, catching_up=True), "stream catching up"),
        (StreamHealth(replicated=True, healthy=False), "group node unhealthy"),
    ],
)
def test_what_is_wrong_with_a_stream(facts: StreamHealth, wanted: str) -> None:
    text = f"JetStream stream 'A > S' is not current: {wanted}" if wanted else ""
    assert stream_problem("A", "S", facts) == text


def test_what_is_wrong_with_a_consumer() -> None:
    assert consumer_problem("A", "S", "c", found=True, age=0) == ""
    assert consumer_problem("A", "S", "c", found=False, age=SECOND) == ""
    late = consumer_problem("A", "S", "c", found=False, age=5 * SECOND)
    assert late == "JetStream consumer 'A > S > c' is not current: consumer not found"


# --- usage


def test_an_account_uses_what_all_servers_report_together() -> None:
    meta = MetaFixture()
    meta.create(max_bytes=100)
    meta.create(name="T", replicas=1, storage="memory", max_bytes=10)
    meta.create("B", max_bytes=1000)
    meta.consume()
    meta.consume(name="source", sourcing=True)
    reports = {"a": {"R3": TierUsage(0, 35)}, "b": {"R3": TierUsage(0, 35), "R1": TierUsage(7, 0)}}
    flat = account_info(meta.state, "A", {"": AccountLimits(max_storage=500)}, reports, "hub")
    assert (flat.memory, flat.storage, flat.streams, flat.consumers) == (7, 70, 2, 1)
    assert (flat.reserved_memory, flat.reserved_storage) == (10, 100)
    assert (flat.limits.max_storage, flat.domain, flat.tiers) == (500, "hub", {})
    limits = {"R3": AccountLimits(max_storage=9), "R5": AccountLimits()}
    tiered = account_info(meta.state, "A", limits, reports, "")
    assert list(tiered.tiers) == ["R1", "R3", "R5"]
    three = tiered.tiers["R3"]
    assert (three.storage, three.reserved_storage, three.streams, three.consumers) == (70, 100, 1, 1)
    assert three.limits.max_storage == 9
    assert total(reports.values()) == TierUsage(7, 70)
