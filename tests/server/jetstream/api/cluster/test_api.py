"""The way of an API request through a cluster: who answers, what is proposed, and when it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lib.api_fixture import ACCOUNT, ApiSite, codes
from lib.meta_fixture import server
from lib.streams import Spy
from pyjs.protocol.api.cluster import ClusterInfo
from pyjs.protocol.api.stream import StreamInfo
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.api.cluster.propose import GATHERING
from pyjs.server.jetstream.api.cluster.router import HOLD, MOST_HELD, PAUSE
from pyjs.server.jetstream.api.cluster.system_api import ClusterApi
from pyjs.server.jetstream.api.table import TABLE, needs_cluster
from pyjs.server.jetstream.meta.command import UpdateStream
from pyjs.server.jetstream.meta.effect import StreamCreated, StreamDeleted
from pyjs.server.jetstream.meta.responder import (
    DELAY,
    PATIENCE,
    LeaderStatus,
    MetaRole,
    ResponderRule,
    ResponderState,
    StreamRole,
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ApiSite]:
    made = ApiSite(str(tmp_path))
    yield made
    made.close()


# --- who answers


def test_what_the_meta_leader_answers_is_made_from_what_all_servers_have(site: ApiSite) -> None:
    together = site.api_router.handlers.keys()
    assert together <= TABLE.keys()
    for pattern, endpoint in TABLE.items():
        if endpoint.rule is ResponderRule.META or endpoint.handler is needs_cluster:
            assert pattern in together


def test_who_does_not_lead_answers_and_counts_nothing(site: ApiSite) -> None:
    audit = Spy(site.account, "$JS.EVENT.ADVISORY.API")
    site.cluster.meta = MetaRole.FOLLOWER
    assert site.ask("STREAM.NAMES").bodies == site.ask("STREAM.INFO.S").bodies == []
    assert (site.js.api_total, audit.bodies) == (0, [])
    site.cluster.meta = MetaRole.LEADER
    assert site.answer("STREAM.NAMES")["total"] == 0
    assert (site.js.api_total, len(audit.bodies)) == (1, 1)


def test_who_only_suspects_that_nobody_leads_waits_and_looks_again(site: ApiSite) -> None:
    site.cluster.meta = MetaRole.LEADERLESS
    first, now = site.ask("STREAM.INFO.S"), site.ask("STREAM.NAMES")
    assert (first.bodies, codes(now)) == ([], [10008])
    site.clock.advance(DELAY)
    assert codes(first) == [10008]
    second = site.ask("STREAM.INFO.S")
    site.cluster.meta = MetaRole.FOLLOWER
    site.clock.advance(DELAY)
    assert second.bodies == []


def test_between_two_leaders_requests_are_held_for_the_next_one(site: ApiSite) -> None:
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    first, second = site.ask("STREAM.NAMES"), site.ask("STREAM.DELETE.S")
    site.clock.advance(SECOND)
    assert first.bodies == second.bodies == []
    site.cluster.meta, site.cluster.leader = MetaRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert (codes(first), codes(second)) == ([0], [10059])
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    third, fourth = site.ask("STREAM.NAMES"), site.ask("STREAM.NAMES")
    site.cluster.leader = "n3"  # another one leads, and has held them, too
    site.clock.advance(SECOND)
    site.cluster.meta = MetaRole.LEADER
    site.clock.advance(HOLD)
    assert third.bodies == fourth.bodies == []


def test_what_the_former_leader_has_served_is_not_served_again(site: ApiSite) -> None:
    site.make()
    stream = site.cluster.state.stream(ACCOUNT, "S")
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    held, beside = site.ask("STREAM.DELETE.S"), site.ask("STREAM.CREATE.NEW", {"name": "NEW"})
    site.clock.advance(PAUSE)
    site.api_router.decided(StreamDeleted(stream))  # by the former leader
    site.api_router.decided(StreamCreated(stream))
    site.cluster.meta, site.cluster.leader = MetaRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert codes(held) == [10008] and site.cluster.state.stream(ACCOUNT, "S") is not None
    assert codes(beside) == [0]


def test_what_is_repeated_between_two_leaders_is_answered_each_time(site: ApiSite) -> None:
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    made = [site.ask("STREAM.CREATE.S", {"name": "S"}) for _ in range(2)]
    gone = [site.ask("STREAM.DELETE.S") for _ in range(2)]
    site.clock.advance(PAUSE)
    site.cluster.meta, site.cluster.leader = MetaRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert [codes(each) for each in (*made, *gone)] == [[0], [0], [0], [10059]]


def test_requests_are_held_while_the_leader_is_believed_in_and_silent(site: ApiSite) -> None:
    site.cluster.meta = MetaRole.FOLLOWER
    dropped = site.ask("STREAM.NAMES")
    site.clock.advance(SECOND)  # contact with the leader
    site.cluster.silent = 1000
    held = site.ask("STREAM.NAMES")
    site.clock.advance(2 * SECOND)
    site.cluster.leader = ""
    site.clock.advance(2 * SECOND)
    site.cluster.meta, site.cluster.leader = MetaRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert (dropped.bodies, codes(held)) == ([], [0])


def test_what_is_held_is_refused_when_there_is_no_leader_for_long(site: ApiSite) -> None:
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    held = site.ask("STREAM.NAMES")
    site.clock.advance(PATIENCE)
    assert held.bodies == []
    site.cluster.meta = MetaRole.LEADERLESS
    site.clock.advance(PAUSE)
    assert codes(held) == [10008]


def test_only_so_many_requests_are_held(site: ApiSite) -> None:
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    held = [site.ask("STREAM.NAMES") for _ in range(MOST_HELD + 5)]
    site.cluster.meta, site.cluster.leader = MetaRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert [codes(each) for each in held] == [[0]] * MOST_HELD + [[]] * 5
    site.cluster.meta, site.cluster.leader = MetaRole.FOLLOWER, ""
    again = site.ask("STREAM.NAMES")
    site.cluster.meta, site.cluster.leader = MetaRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert codes(again) == [0]


def test_members_hold_what_is_about_a_stream_that_nobody_leads(site: ApiSite) -> None:
    site.make()
    leader = [""]
    local = SimpleNamespace(
        stream=site.stream("S"), leader_status=lambda: LeaderStatus(leader[0]), membership=None
    )
    site.cluster.local_streams[ACCOUNT, "S"] = local
    site.cluster.where = StreamRole.MEMBER
    get, purge, step_down = (
        site.ask("STREAM.MSG.GET.S", {"seq": 1}),
        site.ask("STREAM.PURGE.S"),
        site.ask("STREAM.LEADER.STEPDOWN.S"),
    )
    site.clock.advance(SECOND)
    assert get.bodies == []
    site.cluster.where, leader[0] = StreamRole.LEADER, site.cluster.me
    site.clock.advance(SECOND)
    assert codes(get) == [10037]
    assert purge.bodies == step_down.bodies == []  # whoever led may have done it already
    site.cluster.where, leader[0] = StreamRole.MEMBER, "n2"
    elsewhere = site.ask("STREAM.MSG.GET.S", {"seq": 1})
    site.cluster.where, leader[0] = StreamRole.LEADER, site.cluster.me
    site.clock.advance(HOLD)
    assert elsewhere.bodies == []


def test_a_mirrors_consumer_is_its_streams_matter_unless_that_waits_for_acks(site: ApiSite) -> None:
    site.make("LIMITS")
    site.make("WORK", retention="workqueue")
    config = {"name": "m", "direct": True, "sourcing": True, "deliver_subject": "d", "ack_policy": "none"}
    config |= {"flow_control": True, "idle_heartbeat": SECOND}
    site.cluster.meta, site.cluster.where = MetaRole.FOLLOWER, StreamRole.LEADER
    asked = site.ask("CONSUMER.CREATE.LIMITS.m", {"stream_name": "LIMITS", "config": config})
    site.clock.advance(HOLD)
    assert codes(asked) == [10059]  # it was asked here, where no stream runs
    assert site.ask("CONSUMER.CREATE.WORK.m", {"stream_name": "WORK", "config": config}).bodies == []
    site.cluster.meta, site.cluster.where = MetaRole.LEADER, StreamRole.ELSEWHERE
    assert site.ask("CONSUMER.CREATE.LIMITS.m", {"stream_name": "LIMITS", "config": config}).bodies == []
    site.ask("CONSUMER.CREATE.WORK.m", {"stream_name": "WORK", "config": config})
    made = site.cluster.state.consumer(ACCOUNT, "WORK", "m")
    assert made is not None and made.config["ack_policy"] == "flow_control" and made.durable


# --- streams


def test_a_stream_is_answered_when_its_leader_serves_it_and_by_way_of_that(site: ApiSite) -> None:
    site.cluster.serves = False
    asked = site.ask("STREAM.CREATE.S", {"name": "S", "num_replicas": 3})
    assert asked.bodies == []
    site.cluster.up("S", info={**site.cluster.info("S"), "created": "2020-01-01T00:00:00Z"})  # a former one
    assert asked.bodies == []
    site.cluster.up("S")
    [answer] = map(json.loads, asked.bodies)
    assert (answer["did_create"], answer["cluster"]["leader"], site.cluster.ways) == (True, "n2", ["n2"])


def test_a_new_leader_waits_for_the_others_before_it_refuses_for_too_few(site: ApiSite) -> None:
    other = server(3)
    known = site.cluster.node_statuses.pop(other.id)
    request = {"name": "S", "subjects": ["S"], "num_replicas": 3}
    assert codes(site.ask("STREAM.CREATE.S", request)) == [10005]
    site.cluster.gathering = True
    first, second = (
        site.ask("STREAM.CREATE.S", request),
        site.ask("STREAM.CREATE.T", {**request, "name": "T"}),
    )
    site.clock.advance(SECOND)
    assert first.bodies == second.bodies == []
    site.cluster.node_statuses[other.id] = known
    site.clock.advance(GATHERING)
    assert codes(first) == [0] and codes(second) == [10065]
    del site.cluster.node_statuses[other.id]
    third = site.ask("STREAM.CREATE.U", {"name": "U", "subjects": ["U"], "num_replicas": 3})
    site.cluster.gathering = False
    site.clock.advance(GATHERING)
    assert codes(third) == [10005]


def test_without_its_leader_it_is_answered_with_what_was_decided(site: ApiSite) -> None:
    site.cluster.serves = False
    asked = site.ask("STREAM.CREATE.S", {"name": "S", "num_replicas": 3})
    site.clock.advance(4 * SECOND)
    [answer] = map(json.loads, asked.bodies)
    assert answer["did_create"] and answer["config"]["num_replicas"] == 3
    assert len(answer["cluster"]["replicas"]) == 3 and "leader" not in answer["cluster"]
    assert ("SI", "S", "") in site.cluster.questions  # its leader was asked, too


def test_an_equal_request_is_answered_with_the_info_of_the_leader(site: ApiSite) -> None:
    made = site.make()
    site.cluster.serves = False
    site.cluster.infos = lambda kind, stream, consumer: {stream: site.cluster.info(stream)}
    asked = site.ask("STREAM.CREATE.S", {"name": "S", "subjects": ["S"], "num_replicas": 3})
    site.clock.advance(0)
    [answer] = map(json.loads, asked.bodies)
    assert "did_create" not in answer and answer["created"] == made["created"]


def test_what_is_stale_is_proposed_anew_and_not_for_ever(site: ApiSite) -> None:
    site.make()
    number = iter(range(100))

    def interfere() -> None:
        """Somebody else changes the stream between thought and deed."""
        stream = site.cluster.state.stream(ACCOUNT, "S")
        assert stream is not None
        site.cluster.site.put(UpdateStream(ACCOUNT, {**stream.config, "max_msgs": 100 + next(number)}))
        if once:
            site.cluster.before = lambda: None

    once = [True]
    site.cluster.before = interfere
    request = {"name": "S", "subjects": ["S"], "num_replicas": 3, "max_age": SECOND}
    assert site.answer("STREAM.UPDATE.S", request)["config"]["max_age"] == SECOND
    once.clear()
    site.cluster.before, before = interfere, len(site.cluster.proposed)
    assert codes(site.ask("STREAM.UPDATE.S", {**request, "max_age": 2 * SECOND})) == [10008]
    assert len(site.cluster.proposed) == before + 5


def test_a_proposal_that_is_lost_is_no_answer_of_success(site: ApiSite) -> None:
    site.cluster.lost = True
    assert codes(site.ask("STREAM.CREATE.S", {"name": "S"})) == [10008]
    site.clock.advance(10 * SECOND)
    assert site.js.api_total == 1


def test_nonsense_of_a_leader_is_passed_by_and_an_internal_error_is_answered(site: ApiSite) -> None:
    def fail() -> None:
        raise RuntimeError("oops")

    site.cluster.serves = False
    asked = site.ask("STREAM.CREATE.S", {"name": "S"})
    site.cluster.up("S", info={**site.cluster.info("S"), "config": 7})
    assert asked.bodies == []  # nonsense is passed by
    site.cluster.before = fail
    assert codes(site.ask("STREAM.CREATE.T", {"name": "T"})) == [10051]


def test_a_deletion_is_answered_when_the_leader_serves_no_more(site: ApiSite) -> None:
    site.make()
    site.cluster.serves = False
    asked = site.ask("STREAM.DELETE.S")
    assert asked.bodies == [] and site.cluster.state.stream(ACCOUNT, "S") is None
    site.cluster.up("S", info={})
    assert json.loads(asked.bodies[0])["success"]
    assert codes(site.ask("STREAM.DELETE.S")) == [10059]


def test_an_info_waits_for_a_stream_that_changes_its_form(site: ApiSite) -> None:
    site.make()
    stream = site.stream("S")
    local = SimpleNamespace(stream=None, info=lambda: StreamInfo(cluster=ClusterInfo(leader="n1")))
    site.cluster.local_streams[ACCOUNT, "S"] = local
    site.cluster.where = StreamRole.LEADER
    asked = site.ask("STREAM.INFO.S")
    site.clock.advance(SECOND)
    assert asked.bodies == []
    local.stream = stream
    site.clock.advance(SECOND)
    assert json.loads(asked.bodies[0])["cluster"] == {"leader": "n1"}
    local.stream = None
    never = site.ask("STREAM.INFO.S")
    site.clock.advance(HOLD)
    assert codes(never) == [10008]


# --- consumers


def test_a_consumer_without_a_name_is_given_one(site: ApiSite) -> None:
    site.make()
    answer = site.answer("CONSUMER.CREATE.S", {"stream_name": "S", "config": {}})
    assert len(answer["name"]) == 8 and answer["config"]["inactive_threshold"] == 5 * SECOND
    assert site.cluster.state.consumer(ACCOUNT, "S", answer["name"]) is not None


def test_a_pause_keeps_what_else_was_decided(site: ApiSite) -> None:
    site.make()
    request: dict[str, Any] = {"stream_name": "S", "config": {"durable_name": "C", "description": "d"}}
    site.answer("CONSUMER.CREATE.S.C", request)
    until = "2099-01-01T00:00:00Z"
    assert site.answer("CONSUMER.PAUSE.S.C", {"pause_until": until})["paused"]
    made = site.cluster.state.consumer(ACCOUNT, "S", "C")
    assert made is not None and (made.config["pause_until"], made.config["description"]) == (until, "d")
    again = site.answer("CONSUMER.CREATE.S.C", request)  # another request for it does not end the pause
    assert again["config"]["pause_until"] == until


def test_a_sources_consumer_begins_anew_once_there_is_a_leader(site: ApiSite) -> None:
    site.make("WORK", retention="workqueue")
    config = {"name": "s", "direct": True, "sourcing": True, "deliver_subject": "d", "ack_policy": "none"}
    config |= {"flow_control": True, "idle_heartbeat": SECOND}
    site.cluster.where = StreamRole.ELSEWHERE
    asked = site.ask("CONSUMER.CREATE.WORK.s", {"stream_name": "WORK", "config": config})
    site.clock.advance(SECOND)
    assert asked.bodies == []  # nobody leads who could reset it
    leader = Spy(site.account, "$JS.API.CONSUMER.RESET.WORK.s")
    site.clock.advance(SECOND)
    assert leader.messages
    site.account.publish(leader.messages[-1].reply, json.dumps({"name": "s", "reset_seq": 3}).encode())
    [answer] = map(json.loads, asked.bodies)
    assert (answer["type"].rpartition(".")[2], answer["reset_seq"]) == ("consumer_create_response", 3)
    assert asked.messages[0].header.startswith(b"NATS/1.0\r\nNats-Stream-Identity: ")


# --- lists


def test_a_list_names_what_did_not_come(site: ApiSite) -> None:
    for name in ("A", "B"):
        site.make(name)
    answered = {"A"}
    site.cluster.infos = lambda kind, stream, consumer: {name: site.cluster.info(name) for name in answered}
    first, second = site.ask("STREAM.LIST"), site.ask("STREAM.LIST")
    assert first.bodies == []
    site.clock.advance(4 * SECOND)
    for spy in (first, second):
        [answer] = map(json.loads, spy.bodies)
        assert ([one["config"]["name"] for one in answer["streams"]], answer["missing"]) == (["A"], ["B"])
    third = site.ask("STREAM.LIST")
    answered.add("B")  # a leader was elected meanwhile, and is asked again
    site.clock.advance(SECOND)
    [answer] = map(json.loads, third.bodies)
    assert len(answer["streams"]) == 2 and "missing" not in answer


# --- what is not done


def test_what_is_not_done_is_refused_with_what_to_do_instead(site: ApiSite) -> None:
    site.make()
    for subject, kind, instead in (
        ("STREAM.PEER.EVACUATE", "stream_evacuate_peer", "by STREAM.PEER.REMOVE"),
        ("STREAM.CANCEL_MOVE", "stream_cancel_move", "by STREAM.UPDATE"),
    ):
        assert codes(site.ask(f"{subject}.NONE")) == [10059]
        answer = site.answer(f"{subject}.S")
        assert answer["error"]["description"].endswith(instead)
        assert answer["type"].endswith(f".{kind}_response")


def test_the_system_account_is_refused_too(site: ApiSite) -> None:
    site.api.stop()
    cluster: Any = site.cluster
    cluster.responder_state = lambda *_: ResponderState(MetaRole.LEADER, system=True)
    system = ClusterApi(site.cluster.context, site.host)
    system.start()
    for subject, instead in (
        ("META.RESCUE", "put back the directory of a server that is missing"),
        ("SERVER.EVACUATE", "move streams by STREAM.PEER.REMOVE"),
        ("ACCOUNT.STREAM.MOVE.A.S", "STREAM.UPDATE with a placement"),
        ("ACCOUNT.STREAM.CANCEL_MOVE.A.S", "by STREAM.UPDATE"),
    ):
        assert instead in site.answer(subject)["error"]["description"]
    system.stop()
