"""An API request in a cluster: which server answers, what is proposed, and when the answer is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lib.api_fixture import ACCOUNT, ApiFixture, codes
from lib.meta_fixture import server
from lib.streams import Spy
from pyjs.protocol.api.cluster import ClusterInfo
from pyjs.protocol.api.stream import StreamInfo
from pyjs.server.accounts.subscription import Message
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.api.cluster.propose import GATHERING
from pyjs.server.jetstream.api.cluster.waiting import LONGEST_WAIT, MOST_WAITING, PAUSE
from pyjs.server.jetstream.api.table import TABLE, needs_cluster
from pyjs.server.jetstream.cluster.served_requests import SUBJECT
from pyjs.server.jetstream.meta.command import UpdateStream
from pyjs.server.jetstream.meta.effect import StreamCreated, StreamDeleted
from pyjs.server.jetstream.meta.responder import (
    DELAY,
    LEADERLESS_AFTER,
    LeaderStatus,
    MetaRole,
    StreamRole,
)
from pyjs.server.jetstream.meta.responder_rule import ResponderRule


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[ApiFixture]:
    made = ApiFixture(str(tmp_path))
    yield made
    made.close()


# --- who answers


def test_what_the_meta_leader_answers_is_made_from_what_all_servers_have(fixture: ApiFixture) -> None:
    together = fixture.api_router.handlers.keys()
    assert together <= TABLE.keys()
    for pattern, endpoint in TABLE.items():
        if endpoint.rule is ResponderRule.META or endpoint.handler is needs_cluster:
            assert pattern in together


def test_who_does_not_lead_answers_and_counts_nothing(fixture: ApiFixture) -> None:
    audit = Spy(fixture.account, "$JS.EVENT.ADVISORY.API")
    fixture.cluster.meta = MetaRole.FOLLOWER
    assert fixture.ask("STREAM.NAMES").bodies == fixture.ask("STREAM.INFO.S").bodies == []
    assert (fixture.js.api_total, audit.bodies) == (0, [])
    fixture.cluster.meta = MetaRole.LEADER
    assert fixture.answer("STREAM.NAMES")["total"] == 0
    assert (fixture.js.api_total, len(audit.bodies)) == (1, 1)


def test_who_only_suspects_that_nobody_leads_waits_and_looks_again(fixture: ApiFixture) -> None:
    fixture.cluster.meta = MetaRole.LEADERLESS
    first, now = fixture.ask("STREAM.INFO.S"), fixture.ask("STREAM.NAMES")
    assert (first.bodies, codes(now)) == ([], [10008])
    fixture.clock.advance(DELAY)
    assert codes(first) == [10008]
    second = fixture.ask("STREAM.INFO.S")
    fixture.cluster.meta = MetaRole.FOLLOWER
    fixture.clock.advance(DELAY)
    assert second.bodies == []


def test_between_two_leaders_requests_are_held_for_the_next_one(fixture: ApiFixture) -> None:
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    first, second = fixture.ask("STREAM.NAMES"), fixture.ask("STREAM.DELETE.S")
    fixture.clock.advance(SECOND)
    assert first.bodies == second.bodies == []
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert (codes(first), codes(second)) == ([0], [10059])
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    third, fourth = fixture.ask("STREAM.NAMES"), fixture.ask("STREAM.NAMES")
    fixture.cluster.leader = "n3"  # another one leads, and has held them, too
    fixture.clock.advance(SECOND)
    fixture.cluster.meta = MetaRole.LEADER
    fixture.clock.advance(LONGEST_WAIT)
    assert third.bodies == fourth.bodies == []


def test_what_the_former_leader_has_served_is_not_served_again(fixture: ApiFixture) -> None:
    fixture.make()
    stream = fixture.cluster.state.stream(ACCOUNT, "S")
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    waiting, beside = fixture.ask("STREAM.DELETE.S"), fixture.ask("STREAM.CREATE.NEW", {"name": "NEW"})
    fixture.clock.advance(PAUSE)
    fixture.api_router.decided(StreamDeleted(stream))  # by the former leader
    fixture.api_router.decided(StreamCreated(stream))
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert codes(waiting) == [10008] and fixture.cluster.state.stream(ACCOUNT, "S") is not None
    assert codes(beside) == [0]


def test_what_is_repeated_between_two_leaders_is_answered_each_time(fixture: ApiFixture) -> None:
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    made = [fixture.ask("STREAM.CREATE.S", {"name": "S"}) for _ in range(2)]
    gone = [fixture.ask("STREAM.DELETE.S") for _ in range(2)]
    fixture.clock.advance(PAUSE)
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert [codes(each) for each in (*made, *gone)] == [[0], [0], [0], [10059]]


def test_what_a_leader_that_hands_over_has_served_is_served_by_no_other(fixture: ApiFixture) -> None:
    cluster, reported = fixture.cluster, Spy(fixture.account, SUBJECT)
    old = fixture.ask("STREAM.NAMES")
    fixture.clock.advance(3 * SECOND)
    now = fixture.ask("STREAM.NAMES")
    assert codes(old) == codes(now) == [0]
    cluster.served.tell()
    assert [len(body) for body in reported.bodies] == [8]  # what nobody holds any more is not reported
    cluster.served.tell()
    assert len(reported.bodies) == 1

    def asked(reply: str) -> Spy:
        spy = Spy(fixture.account, reply)
        fixture.account.publish("$JS.API.STREAM.NAMES", b"", reply=reply, own=True)
        return spy

    cluster.meta = MetaRole.FOLLOWER
    waiting, other = asked("reply.1"), asked("reply.2")
    cluster.served.note(
        ACCOUNT, Message("$JS.API.STREAM.NAMES", "_GR_.aaaaaa.bbbbbb.reply.1", b"", b"", None)
    )
    cluster.served.tell()
    cluster.meta, cluster.leader = MetaRole.LEADER, cluster.me
    fixture.clock.advance(SECOND)
    assert (waiting.bodies, codes(other)) == ([], [0])
    assert codes(asked("reply.1")) == [0]  # the same once more, later


def test_requests_are_held_while_the_leader_is_believed_in_and_silent(fixture: ApiFixture) -> None:
    fixture.cluster.meta = MetaRole.FOLLOWER
    dropped = fixture.ask("STREAM.NAMES")
    fixture.clock.advance(SECOND)  # contact with the leader
    fixture.cluster.silent = 1000
    waiting = fixture.ask("STREAM.NAMES")
    fixture.clock.advance(2 * SECOND)
    fixture.cluster.leader = ""
    fixture.clock.advance(2 * SECOND)
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert (dropped.bodies, codes(waiting)) == ([], [0])


def test_what_is_held_is_refused_when_there_is_no_leader_for_long(fixture: ApiFixture) -> None:
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    waiting = fixture.ask("STREAM.NAMES")
    fixture.clock.advance(LEADERLESS_AFTER)
    assert waiting.bodies == []
    fixture.cluster.meta = MetaRole.LEADERLESS
    fixture.clock.advance(PAUSE)
    assert codes(waiting) == [10008]


def test_only_so_many_requests_are_held(fixture: ApiFixture) -> None:
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    waiting = [fixture.ask("STREAM.NAMES") for _ in range(MOST_WAITING + 5)]
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert [codes(each) for each in waiting] == [[0]] * MOST_WAITING + [[]] * 5
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    again = fixture.ask("STREAM.NAMES")
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert codes(again) == [0]


def test_members_hold_what_is_about_a_stream_that_nobody_leads(fixture: ApiFixture) -> None:
    fixture.make()
    leader = [""]
    local = SimpleNamespace(
        stream=fixture.stream("S"), leader_status=lambda: LeaderStatus(leader[0]), membership=None
    )
    fixture.cluster.local_streams[ACCOUNT, "S"] = local
    fixture.cluster.where = StreamRole.MEMBER
    get, purge, step_down = (
        fixture.ask("STREAM.MSG.GET.S", {"seq": 1}),
        fixture.ask("STREAM.PURGE.S"),
        fixture.ask("STREAM.LEADER.STEPDOWN.S"),
    )
    fixture.clock.advance(SECOND)
    assert get.bodies == []
    fixture.cluster.where, leader[0] = StreamRole.LEADER, fixture.cluster.me
    fixture.clock.advance(SECOND)
    assert codes(get) == [10037]
    assert purge.bodies == step_down.bodies == []  # whoever led may have done it already
    fixture.cluster.where, leader[0] = StreamRole.MEMBER, "n2"
    elsewhere = fixture.ask("STREAM.MSG.GET.S", {"seq": 1})
    fixture.cluster.where, leader[0] = StreamRole.LEADER, fixture.cluster.me
    fixture.clock.advance(LONGEST_WAIT)
    assert elsewhere.bodies == []


def test_a_mirrors_consumer_is_its_streams_matter_unless_that_waits_for_acks(fixture: ApiFixture) -> None:
    fixture.make("LIMITS")
    fixture.make("WORK", retention="workqueue")
    config = {"name": "m", "direct": True, "sourcing": True, "deliver_subject": "d", "ack_policy": "none"}
    config |= {"flow_control": True, "idle_heartbeat": SECOND}
    fixture.cluster.meta, fixture.cluster.where = MetaRole.FOLLOWER, StreamRole.LEADER
    asked = fixture.ask("CONSUMER.CREATE.LIMITS.m", {"stream_name": "LIMITS", "config": config})
    fixture.clock.advance(LONGEST_WAIT)
    assert codes(asked) == [10059]  # it was asked here, where no stream runs
    assert fixture.ask("CONSUMER.CREATE.WORK.m", {"stream_name": "WORK", "config": config}).bodies == []
    fixture.cluster.meta, fixture.cluster.where = MetaRole.LEADER, StreamRole.ELSEWHERE
    assert fixture.ask("CONSUMER.CREATE.LIMITS.m", {"stream_name": "LIMITS", "config": config}).bodies == []
    fixture.ask("CONSUMER.CREATE.WORK.m", {"stream_name": "WORK", "config": config})
    made = fixture.cluster.state.consumer(ACCOUNT, "WORK", "m")
    assert made is not None and made.config["ack_policy"] == "flow_control" and made.durable


# --- streams


def test_a_stream_is_answered_when_its_leader_serves_it_and_by_way_of_that(fixture: ApiFixture) -> None:
    fixture.cluster.serves = False
    asked = fixture.ask("STREAM.CREATE.S", {"name": "S", "num_replicas": 3})
    assert asked.bodies == []
    fixture.cluster.up(
        "S", info={**fixture.cluster.info("S"), "created": "2020-01-01T00:00:00Z"}
    )  # a former one
    assert asked.bodies == []
    fixture.cluster.up("S")
    [answer] = map(json.loads, asked.bodies)
    assert (answer["did_create"], answer["cluster"]["leader"], fixture.cluster.ways) == (True, "n2", ["n2"])


def test_a_new_leader_waits_for_the_others_before_it_refuses_for_too_few(fixture: ApiFixture) -> None:
    other = server(3)
    known = fixture.cluster.node_statuses.pop(other.id)
    request = {"name": "S", "subjects": ["S"], "num_replicas": 3}
    assert codes(fixture.ask("STREAM.CREATE.S", request)) == [10005]
    fixture.cluster.gathering = True
    first, second = (
        fixture.ask("STREAM.CREATE.S", request),
        fixture.ask("STREAM.CREATE.T", {**request, "name": "T"}),
    )
    fixture.clock.advance(SECOND)
    assert first.bodies == second.bodies == []
    fixture.cluster.node_statuses[other.id] = known
    fixture.clock.advance(GATHERING)
    assert codes(first) == [0] and codes(second) == [10065]
    del fixture.cluster.node_statuses[other.id]
    third = fixture.ask("STREAM.CREATE.U", {"name": "U", "subjects": ["U"], "num_replicas": 3})
    fixture.cluster.gathering = False
    fixture.clock.advance(GATHERING)
    assert codes(third) == [10005]


def test_without_its_leader_it_is_answered_with_what_was_decided(fixture: ApiFixture) -> None:
    fixture.cluster.serves = False
    asked = fixture.ask("STREAM.CREATE.S", {"name": "S", "num_replicas": 3})
    fixture.clock.advance(4 * SECOND)
    [answer] = map(json.loads, asked.bodies)
    assert answer["did_create"] and answer["config"]["num_replicas"] == 3
    assert len(answer["cluster"]["replicas"]) == 3 and "leader" not in answer["cluster"]
    assert ("SI", "S", "") in fixture.cluster.questions  # its leader was asked, too


def test_an_equal_request_is_answered_with_the_info_of_the_leader(fixture: ApiFixture) -> None:
    made = fixture.make()
    fixture.cluster.serves = False
    fixture.cluster.infos = lambda kind, stream, consumer: {stream: fixture.cluster.info(stream)}
    asked = fixture.ask("STREAM.CREATE.S", {"name": "S", "subjects": ["S"], "num_replicas": 3})
    fixture.clock.advance(0)
    [answer] = map(json.loads, asked.bodies)
    assert "did_create" not in answer and answer["created"] == made["created"]


def test_what_is_stale_is_proposed_again_and_not_for_ever(fixture: ApiFixture) -> None:
    fixture.make()
    number = iter(range(100))

    def interfere() -> None:
        """Somebody else changes the stream between thought and deed."""
        stream = fixture.cluster.state.stream(ACCOUNT, "S")
        assert stream is not None
        fixture.cluster.meta_fixture.put(
            UpdateStream(ACCOUNT, {**stream.config, "max_msgs": 100 + next(number)})
        )
        if once:
            fixture.cluster.before = lambda: None

    once = [True]
    fixture.cluster.before = interfere
    request = {"name": "S", "subjects": ["S"], "num_replicas": 3, "max_age": SECOND}
    assert fixture.answer("STREAM.UPDATE.S", request)["config"]["max_age"] == SECOND
    once.clear()
    fixture.cluster.before, before = interfere, len(fixture.cluster.proposed)
    assert codes(fixture.ask("STREAM.UPDATE.S", {**request, "max_age": 2 * SECOND})) == [10008]
    assert len(fixture.cluster.proposed) == before + 5


def test_a_proposal_that_is_lost_is_no_answer_of_success(fixture: ApiFixture) -> None:
    fixture.cluster.lost = True
    assert codes(fixture.ask("STREAM.CREATE.S", {"name": "S"})) == [10008]
    fixture.clock.advance(10 * SECOND)
    assert fixture.js.api_total == 1


def test_nonsense_of_a_leader_is_passed_by_and_an_internal_error_is_answered(fixture: ApiFixture) -> None:
    def fail() -> None:
        raise RuntimeError("oops")

    fixture.cluster.serves = False
    asked = fixture.ask("STREAM.CREATE.S", {"name": "S"})
    fixture.cluster.up("S", info={**fixture.cluster.info("S"), "config": 7})
    assert asked.bodies == []  # nonsense is passed by
    fixture.cluster.before = fail
    assert codes(fixture.ask("STREAM.CREATE.T", {"name": "T"})) == [10051]


def test_a_deletion_is_answered_when_the_leader_serves_no_more(fixture: ApiFixture) -> None:
    fixture.make()
    fixture.cluster.serves = False
    asked = fixture.ask("STREAM.DELETE.S")
    assert asked.bodies == [] and fixture.cluster.state.stream(ACCOUNT, "S") is None
    fixture.cluster.up("S", info={})
    assert json.loads(asked.bodies[0])["success"]
    assert codes(fixture.ask("STREAM.DELETE.S")) == [10059]


def test_an_info_waits_for_a_stream_that_changes_its_form(fixture: ApiFixture) -> None:
    fixture.make()
    stream = fixture.stream("S")
    local = SimpleNamespace(stream=None, info=lambda: StreamInfo(cluster=ClusterInfo(leader="n1")))
    fixture.cluster.local_streams[ACCOUNT, "S"] = local
    fixture.cluster.where = StreamRole.LEADER
    asked = fixture.ask("STREAM.INFO.S")
    fixture.clock.advance(SECOND)
    assert asked.bodies == []
    local.stream = stream
    fixture.clock.advance(SECOND)
    assert json.loads(asked.bodies[0])["cluster"] == {"leader": "n1"}
    local.stream = None
    never = fixture.ask("STREAM.INFO.S")
    fixture.clock.advance(LONGEST_WAIT)
    assert codes(never) == [10008]


# --- consumers


def test_a_consumer_without_a_name_is_given_one(fixture: ApiFixture) -> None:
    fixture.make()
    answer = fixture.answer("CONSUMER.CREATE.S", {"stream_name": "S", "config": {}})
    assert len(answer["name"]) == 8 and answer["config"]["inactive_threshold"] == 5 * SECOND
    assert fixture.cluster.state.consumer(ACCOUNT, "S", answer["name"]) is not None


def test_a_pause_keeps_what_else_was_decided(fixture: ApiFixture) -> None:
    fixture.make()
    request: dict[str, Any] = {"stream_name": "S", "config": {"durable_name": "C", "description": "d"}}
    fixture.answer("CONSUMER.CREATE.S.C", request)
    until = "2099-01-01T00:00:00Z"
    assert fixture.answer("CONSUMER.PAUSE.S.C", {"pause_until": until})["paused"]
    made = fixture.cluster.state.consumer(ACCOUNT, "S", "C")
    assert made is not None and (made.config["pause_until"], made.config["description"]) == (until, "d")
    again = fixture.answer("CONSUMER.CREATE.S.C", request)  # another request for it does not end the pause
    assert again["config"]["pause_until"] == until


def test_a_sources_consumer_starts_again_once_there_is_a_leader(fixture: ApiFixture) -> None:
    fixture.make("WORK", retention="workqueue")
    config = {"name": "s", "direct": True, "sourcing": True, "deliver_subject": "d", "ack_policy": "none"}
    config |= {"flow_control": True, "idle_heartbeat": SECOND}
    fixture.cluster.where = StreamRole.ELSEWHERE
    asked = fixture.ask("CONSUMER.CREATE.WORK.s", {"stream_name": "WORK", "config": config})
    fixture.clock.advance(SECOND)
    assert asked.bodies == []  # nobody leads who could reset it
    leader = Spy(fixture.account, "$JS.API.CONSUMER.RESET.WORK.s")
    fixture.clock.advance(SECOND)
    assert leader.messages
    fixture.account.publish(leader.messages[-1].reply, json.dumps({"name": "s", "reset_seq": 3}).encode())
    [answer] = map(json.loads, asked.bodies)
    assert (answer["type"].rpartition(".")[2], answer["reset_seq"]) == ("consumer_create_response", 3)
    assert asked.messages[0].header.startswith(b"NATS/1.0\r\nNats-Stream-Identity: ")


# --- lists


def test_a_list_names_what_did_not_come(fixture: ApiFixture) -> None:
    for name in ("A", "B"):
        fixture.make(name)
    answered = {"A"}
    fixture.cluster.infos = lambda kind, stream, consumer: {
        name: fixture.cluster.info(name) for name in answered
    }
    first, second = fixture.ask("STREAM.LIST"), fixture.ask("STREAM.LIST")
    assert first.bodies == []
    fixture.clock.advance(4 * SECOND)
    for spy in (first, second):
        [answer] = map(json.loads, spy.bodies)
        assert ([one["config"]["name"] for one in answer["streams"]], answer["missing"]) == (["A"], ["B"])
    third = fixture.ask("STREAM.LIST")
    answered.add("B")  # a leader was elected meanwhile, and is asked again
    fixture.clock.advance(SECOND)
    [answer] = map(json.loads, third.bodies)
    assert len(answer["streams"]) == 2 and "missing" not in answer
