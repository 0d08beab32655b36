"""The JetStream API of three servers: one answers for all, and its decisions hold on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lib.backups import load, save
from lib.eventually import eventually
from lib.jetstream import SECOND, ApiFailureError, JetStream
from lib.jetstream_cluster import JetMesh
from pyjs.protocol.timestamp import parse_rfc3339

ANSWER_SECONDS = 5.0  # seconds for an answer: while a stream has no leader the reference gives none
QUIET = 1.0  # seconds in which a second answer would have come


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def mesh(request: pytest.FixtureRequest) -> Iterator[JetMesh]:
    found = JetMesh(request.param)
    yield found
    found.close()


def _api(mesh: JetMesh, name: str) -> JetStream:
    """Return the API at one server; it knows where nats-server answers before the effect."""
    return JetStream(mesh.login(mesh[name]), at_once=mesh.implementation != "reference")


@pytest.fixture
def js(mesh: JetMesh) -> Iterator[JetStream]:
    """The API at s0. A test makes streams of its own, and leaves none."""
    with _api(mesh, "s0") as api:
        api.wire.sock.settimeout(ANSWER_SECONDS)
        yield api
        clear(api)


def clear(js: JetStream) -> None:
    for name in js.call("STREAM.NAMES")["streams"] or ():
        js.call(f"STREAM.DELETE.{name}")


@pytest.fixture
def others(mesh: JetMesh) -> Iterator[list[JetStream]]:
    """The API at s1 and s2."""
    found = [_api(mesh, name) for name in ("s1", "s2")]
    yield found
    for api in found:
        api.wire.close()


@pytest.fixture
def system(mesh: JetMesh) -> Iterator[JetStream]:
    with JetStream(mesh.login(mesh["s1"], "admin")) as api:
        yield api


def led(js: JetStream, name: str, but: str = "") -> str:
    """The leader of a stream ("S") or consumer ("S.C"), once there is one and it is not `but`."""
    found, kind = [""], "CONSUMER" if "." in name else "STREAM"

    def known() -> bool:
        try:
            found[0] = js.call(f"{kind}.INFO.{name}")["cluster"].get("leader", "")
        except (ApiFailureError, TimeoutError):
            return False
        return found[0] not in ("", but)

    eventually(known)
    return found[0]


def servers(info: dict[str, Any]) -> list[str]:
    """The leader and the replicas of an info, sorted."""
    cluster = info["cluster"]
    return sorted([cluster["leader"], *(replica["name"] for replica in cluster.get("replicas") or ())])


def test_a_stream_has_its_replicas_wherever_one_asks(js: JetStream, others: list[JetStream]) -> None:
    made = js.create("S", subjects=["s.>"], num_replicas=3, storage="file")
    assert made["did_create"] and servers(made) == ["s0", "s1", "s2"]
    assert made["cluster"]["name"] == "mesh" and made["cluster"]["raft_group"].startswith("S-R3F-")
    again = js.create("S", subjects=["s.>"], num_replicas=3, storage="file")
    assert "did_create" not in again and again["created"] == made["created"]
    for number, api in enumerate([js, *others], 1):
        assert api.wire.request("s.1", b"x").json() == {"stream": "S", "seq": number}
        info = api.call("STREAM.INFO.S")
        assert (info["cluster"]["leader"], info["state"]["messages"]) == (made["cluster"]["leader"], number)
    one = js.create("ONE")
    assert one["cluster"] == {"name": "mesh", "leader": one["cluster"]["leader"]}


def test_each_request_is_answered_once(js: JetStream) -> None:
    js.create("S", num_replicas=3)
    js.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "C"}})
    wire = js.wire
    subjects = ["INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.S", "STREAM.INFO.NONE"]
    subjects += ["CONSUMER.INFO.S.C", "CONSUMER.LIST.S", "CONSUMER.NAMES.S", "CONSUMER.INFO.S.NONE"]
    replies = {wire.inbox(): subject for subject in subjects}
    for reply, subject in replies.items():
        wire.pub(f"$JS.API.{subject}", b"", reply)
    heard = sorted(replies[message.subject] for message in wire.msgs(len(subjects)))
    assert heard == sorted(subjects)
    wire.sock.settimeout(QUIET)
    with pytest.raises(TimeoutError):
        wire.next()


STREAM = {"name": "T", "subjects": ["t"], "storage": "memory"}
CONSUMER = {"durable_name": "C", "ack_policy": "explicit"}
# request, body, err_code, description
REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    (
        "STREAM.CREATE.S",
        {**STREAM, "name": "S"},
        10058,
        "stream name already in use with a different configuration",
    ),
    ("STREAM.CREATE.T", {**STREAM, "subjects": ["s.*"]}, 10065, "subjects overlap with an existing stream"),
    ("STREAM.CREATE.T", {**STREAM, "num_replicas": 5}, 10005, "no suitable peers for placement"),
    ("STREAM.CREATE.T", {**STREAM, "num_replicas": 6}, 10052, "maximum replicas is 5"),
    (
        "STREAM.CREATE.T",
        {**STREAM, "placement": {"tags": ["x"]}},
        10005,
        "no suitable peers for placement, tags not matched ['x']",
    ),
    ("STREAM.CREATE.T", {**STREAM, "placement": {"cluster": "x"}}, 10005, "no suitable peers for placement"),
    ("STREAM.CREATE.T", {"name": "U"}, 10056, "stream name in subject does not match request"),
    ("STREAM.CREATE.T", {**STREAM, "mirror": {"name": "T"}, "subjects": []}, 10052, "detected cycle"),
    ("STREAM.UPDATE.T", STREAM, 10059, "stream not found"),
    (
        "STREAM.UPDATE.S",
        {**STREAM, "name": "S", "storage": "file"},
        10052,
        "stream configuration update can not change storage type",
    ),
    ("STREAM.UPDATE.S", {**STREAM, "name": "S", "num_replicas": 5}, 10005, "no suitable peers for placement"),
    ("STREAM.DELETE.T", {}, 10059, "stream not found"),
    ("STREAM.INFO.T", {}, 10059, "stream not found"),
    ("STREAM.PURGE.T", {}, 10059, "stream not found"),
    ("STREAM.MSG.GET.T", {"seq": 1}, 10059, "stream not found"),
    ("STREAM.MSG.GET.S", {"seq": 1}, 10037, "no message found"),
    ("STREAM.LEADER.STEPDOWN.T", {}, 10059, "stream not found"),
    (
        "STREAM.LEADER.STEPDOWN.S",
        {"placement": {"preferred": "no"}},
        10005,
        'preferred server "no" not known',
    ),
    ("STREAM.PEER.REMOVE.S", {"peer": "no"}, 10040, "peer not a member"),
    ("STREAM.PEER.REMOVE.S", {}, 10003, "bad request"),
    ("STREAM.PEER.REMOVE.S", {"peer": "s1"}, 10075, "peer remap failed"),
    ("STREAM.PEER.REMOVE.T", {"peer": "s1"}, 10059, "stream not found"),
    ("CONSUMER.CREATE.T.C", {"stream_name": "T", "config": CONSUMER}, 10059, "stream not found"),
    (
        "CONSUMER.CREATE.S.C",
        {"stream_name": "S", "action": "create", "config": {**CONSUMER, "description": "x"}},
        10148,
        "consumer already exists",
    ),
    (
        "CONSUMER.CREATE.S.D",
        {"stream_name": "S", "action": "update", "config": {**CONSUMER, "durable_name": "D"}},
        10149,
        "consumer does not exist",
    ),
    (
        "CONSUMER.CREATE.S.C",
        {"stream_name": "S", "config": {**CONSUMER, "ack_policy": "all"}},
        10012,
        "ack policy can not be updated",
    ),
    (
        "CONSUMER.CREATE.S.D",
        {"stream_name": "S", "config": {"durable_name": "D", "num_replicas": 5}},
        10126,
        "consumer config replica count exceeds parent stream",
    ),
    ("CONSUMER.INFO.S.D", {}, 10014, "consumer not found"),
    ("CONSUMER.INFO.T.D", {}, 10059, "stream not found"),
    ("CONSUMER.NAMES.T", {}, 10059, "stream not found"),
    ("CONSUMER.DELETE.S.D", {}, 10014, "consumer not found"),
    ("CONSUMER.PAUSE.S.D", {"pause_until": "2099-01-01T00:00:00Z"}, 10014, "consumer not found"),
    ("CONSUMER.LEADER.STEPDOWN.S.D", {}, 10014, "consumer not found"),
]


def test_what_cannot_be_is_refused(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], num_replicas=3)
    js.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    for subject, body, err_code, description in REFUSED:
        error = js.raw(subject, body).json().get("error")
        assert error, (subject, body)
        assert (error["err_code"], error["description"]) == (err_code, description), (subject, body)


def test_names_and_lists_are_of_the_whole_cluster(js: JetStream, others: list[JetStream]) -> None:
    for name in ("A", "B", "C"):
        js.create(name, num_replicas=3 if name == "B" else 1)
    js.call("CONSUMER.CREATE.B.x", {"stream_name": "B", "config": {"durable_name": "x"}})
    js.call("CONSUMER.CREATE.B", {"stream_name": "B", "config": {}})
    for api in others:
        assert api.call("STREAM.NAMES")["streams"] == ["A", "B", "C"]
        page = api.call("STREAM.LIST", {"offset": 1})
        assert [one["config"]["name"] for one in page["streams"]] == ["B", "C"]
        assert (page["total"], page["offset"], page.get("missing")) == (3, 1, None)
        consumers = api.call("CONSUMER.LIST.B")["consumers"]
        assert [one["name"] for one in consumers] == api.call("CONSUMER.NAMES.B")["consumers"]
        assert len(consumers) == 2 and all(one["cluster"]["leader"] for one in consumers)


def test_an_update_is_in_force_when_it_is_answered(js: JetStream, others: list[JetStream]) -> None:
    js.create("S", subjects=["s"], num_replicas=3, storage="file")
    for number, api in enumerate([*others, js, *others], 1):
        answer = api.update("S", subjects=["s", f"s{number}"], max_msgs=100 + number)
        assert answer["config"]["max_msgs"] == 100 + number
        assert api.wire.request(f"s{number}", b"x").json() == {"stream": "S", "seq": number}
    assert js.call("STREAM.INFO.S")["config"]["subjects"] == ["s", "s5"]


def test_messages_are_read_and_removed_from_anywhere(js: JetStream, others: list[JetStream]) -> None:
    js.create("S", subjects=["s.*"], num_replicas=3, storage="file")
    for number in range(6):
        js.wire.request(f"s.{number}", b"x")
    for number, api in enumerate([js, *others], 1):
        assert api.call("STREAM.MSG.GET.S", {"seq": number})["message"]["subject"] == f"s.{number - 1}"
        assert api.call("STREAM.MSG.DELETE.S", {"seq": number})["success"]
        assert api.error("STREAM.MSG.DELETE.S", {"seq": number}) == (500, 10057, "no message found")
    assert js.error("STREAM.MSG.DELETE.S", {"seq": 99})[2] == "stream store EOF"
    assert others[0].call("STREAM.PURGE.S", {"filter": "s.4"})["purged"] == 1
    assert others[1].call("STREAM.PURGE.S", {"keep": 1})["purged"] == 1
    state = js.call("STREAM.INFO.S")["state"]
    assert (state["messages"], state["last_seq"]) == (1, 6)


def test_consumers_are_made_paused_and_deleted_from_anywhere(js: JetStream, others: list[JetStream]) -> None:
    js.create("S", num_replicas=3)
    first, second = others
    made = first.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    again = second.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    assert (again["name"], again["created"]) == ("C", made["created"])
    assert servers(made) == ["s0", "s1", "s2"]
    changed = {"stream_name": "S", "action": "update", "config": {**CONSUMER, "description": "d"}}
    assert js.call("CONSUMER.CREATE.S.C", changed)["config"]["description"] == "d"
    assert first.call("CONSUMER.PAUSE.S.C", {"pause_until": "2099-01-01T00:00:00Z"})["paused"]
    eventually(lambda: second.call("CONSUMER.INFO.S.C").get("paused"))
    assert not second.call("CONSUMER.PAUSE.S.C")["paused"]
    eventually(lambda: not second.call("CONSUMER.INFO.S.C").get("paused"))
    js.wire.request("S", b"x")
    [message], _ = second.pull("S", "C")
    assert message.body == b"x"
    assert js.call("CONSUMER.DELETE.S.C")["success"]
    assert first.error("CONSUMER.INFO.S.C")[1] == 10014


def test_a_leader_steps_down_for_whom_it_is_told(mesh: JetMesh, js: JetStream) -> None:
    before = js.create("S", num_replicas=3, storage="file")["cluster"]["leader"]
    js.wire.request("S", b"1")
    wanted = next(name for name in ("s0", "s1", "s2") if name != before)
    error = js.error("STREAM.LEADER.STEPDOWN.S", {"placement": {"preferred": before}})
    assert error[2] == f'preferred server "{before}" is already leader'
    assert js.call("STREAM.LEADER.STEPDOWN.S", {"placement": {"preferred": wanted}})["success"]
    found = led(js, "S", before)
    if mesh.implementation == "reference" and found != wanted:  # under load another one may win there
        assert js.call("STREAM.LEADER.STEPDOWN.S", {"placement": {"preferred": wanted}})["success"]
        found = led(js, "S", found)
    assert found == wanted

    def published() -> bool:
        try:
            return bool(js.wire.request("S", b"2", {"Nats-Msg-Id": "2"}).json().get("seq") == 2)
        except (ValueError, TimeoutError):  # nobody hears the subject while there is no leader
            return False

    eventually(published)


def test_the_account_is_one_over_all_servers(js: JetStream, others: list[JetStream]) -> None:
    js.create("S", num_replicas=3, storage="file")
    js.create("ONE", storage="memory", max_bytes=1000)
    js.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})
    js.wire.request("S", b"x" * 100)
    size = js.call("STREAM.INFO.S")["state"]["bytes"]

    def used(api: JetStream) -> int:
        info = api.call("INFO")
        assert (info["streams"], info["consumers"], info["reserved_memory"]) == (2, 1, 1000)
        return int(info["storage"])

    for api in [js, *others]:
        eventually(lambda api=api: used(api) == 3 * size)  # type: ignore[misc]


def test_the_system_account_moves_the_meta_leader(mesh: JetMesh, js: JetStream, system: JetStream) -> None:
    before = mesh.ready()
    js.wire.pub("$JS.API.META.LEADER.STEPDOWN", b"", js.wire.inbox())
    placement = {"placement": {"preferred": before}}
    assert system.error("META.LEADER.STEPDOWN", placement)[2].endswith("is already leader")
    assert system.error("SERVER.REMOVE", {"peer": "none"})[1] == 10044
    assert system.error("SERVER.REMOVE")[1] == 10003
    wanted = next(name for name in ("s0", "s1", "s2") if name != before)
    assert system.call("META.LEADER.STEPDOWN", {"placement": {"preferred": wanted}})["success"]
    eventually(lambda: mesh.leader() == wanted)
    js.create("S", num_replicas=3)
    js.create("ONE")
    assert system.call("ACCOUNT.PURGE.ACC")["initiated"]
    eventually(lambda: not js.call("STREAM.NAMES")["streams"])


def test_limits_are_of_the_whole_cluster(mesh: JetMesh) -> None:
    """Without tiers each copy counts, wherever it is."""
    with JetStream(mesh.login(mesh["s2"], "small")) as js:
        js.create("S", storage="file", num_replicas=3, max_bytes=30_000)
        assert js.call("INFO")["reserved_storage"] == 30_000
        refused = {"name": "T", "storage": "file", "max_bytes": 20_000}
        assert js.error("STREAM.CREATE.T", refused)[1] == 10047
        assert js.error("STREAM.UPDATE.S", {**refused, "name": "S", "num_replicas": 3, "max_bytes": 40_000})[
            1
        ]
        js.create("T", storage="file", max_bytes=10_000)
        assert js.error("STREAM.CREATE.U", {"name": "U"})[1] == 10027
        for name in ("A", "B"):
            js.consumer("S", name)
        assert (
            js.error("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "C"}})[1] == 10026
        )
        assert js.consumer("S", "B", description="again")["name"] == "B"
        clear(js)
        js.create("S", num_replicas=3)

        def is_full() -> bool:
            return "error" in js.wire.request("S", b"x" * 1000).json()

        eventually(is_full)  # servers tell each other from time to time
        assert js.state("S")["bytes"] < 10_000
        clear(js)


def test_acks_hold_when_the_leader_moves(js: JetStream, others: list[JetStream]) -> None:
    js.create("S", num_replicas=3, storage="file")
    js.fill("S", 20)
    js.consumer("S", "C")
    seen: list[bytes] = []
    for api in [js, *others]:
        got, _ = api.pull("S", "C", batch=5)
        for message in got:
            api.ack(message)
        seen += [message.body for message in got]
        before = js.consumer_info("S", "C")["cluster"]["leader"]
        js.call("CONSUMER.LEADER.STEPDOWN.S.C")
        led(js, "S.C", before)
    assert seen == [str(number).encode() for number in range(1, 16)]

    def converged() -> bool:
        info = js.consumer_info("S", "C")
        return (info["num_ack_pending"], info["ack_floor"]["stream_seq"], info["num_pending"]) == (0, 15, 5)

    eventually(converged)


def test_mirrors_and_sources_follow_leaders_that_move(js: JetStream) -> None:
    js.create("A", subjects=["a"], num_replicas=3)
    js.create("WORK", subjects=["w"], num_replicas=3, retention="workqueue")
    js.create("M", mirror={"name": "A"}, num_replicas=3)
    js.create("B", sources=[{"name": "A"}, {"name": "WORK"}], num_replicas=3)

    def publish(count: int) -> None:
        for number in range(count):
            for subject in ("a", "w"):
                answer = js.wire.request(subject, b"x", {"Nats-Msg-Id": str(number)})
                assert answer.body, "nobody hears it"

    def holds(count: int) -> None:
        for name, wanted in (("M", count), ("B", 2 * count), ("WORK", 0)):
            eventually(lambda name=name, wanted=wanted: js.state(name)["messages"] == wanted, 30)  # type: ignore[misc]

    publish(3)
    holds(3)
    for name in ("A", "WORK", "M", "B"):
        before = led(js, name)
        js.call(f"STREAM.LEADER.STEPDOWN.{name}")
        led(js, name, before)
    publish(6)
    holds(6)


@pytest.mark.parametrize(("replicas", "storage"), [(3, "file"), (1, "memory")])
def test_a_backup_is_restored_with_its_replicas(
    mesh: JetMesh, js: JetStream, others: list[JetStream], replicas: int, storage: str
) -> None:
    """A work queue: without its consumer it would forget everything that it holds."""
    js.create("S", subjects=["s.>"], num_replicas=replicas, storage=storage, retention="workqueue")
    led(js, "S")
    js.consumer("S", "C")
    led(js, "S.C")
    for number in range(20):
        js.publish(f"s.{number}", str(number))
    for message in js.pull("S", "C", 3)[0]:
        js.ack(message)
    eventually(lambda: js.state("S")["messages"] == 17)
    saved = save(others[0], "S")
    js.call("STREAM.DELETE.S")
    load(others[1], "S", saved)

    def has_converged() -> bool:
        led(js, "S")
        info = js.info("S")
        current = all(one["current"] for one in info["cluster"].get("replicas") or ())
        return "leader" in info["cluster"] and len(servers(info)) == replicas and current

    eventually(has_converged, 15)
    state = js.state("S")
    assert (state["messages"], state["first_seq"], state["last_seq"]) == (17, 4, 20)
    if not js.at_once:  # nats-server answers before the meta group has the consumer
        eventually(lambda: js.call("CONSUMER.NAMES.S")["consumers"] == ["C"], 15)
    assert js.call("CONSUMER.NAMES.S")["consumers"] == ["C"]
    eventually(lambda: js.publish("s.next", "next")["seq"] == 21)
    got = [message.body for message in others[0].pull("S", "C", 2)[0]]
    assert got == [b"3", b"4"] or mesh.implementation == "reference"  # which may hold them back for a while
    assert (
        js.error("STREAM.RESTORE.S", {"config": saved[0]["config"], "state": saved[0]["state"]})[1] == 10130
    )


def test_every_asset_has_a_raft_group_name_of_its_own(mesh: JetMesh, js: JetStream) -> None:
    for name, replicas in (("R3", 3), ("R1", 1)):
        js.create(name, num_replicas=replicas)
        led(js, name)
        for consumer in ("C", "D"):
            js.consumer(name, consumer)
            led(js, f"{name}.{consumer}")
    asked = {"streams": True, "consumer": True, "raft": True, "account": "ACC"}
    names: dict[str, set[str]] = {}
    holders: dict[str, int] = {}
    for server in mesh.servers:
        with mesh.login(server, "admin") as wire:
            service = f"$SYS.REQ.SERVER.{wire.info['server_id']}.JSZ"
            details = wire.request(service, asked).json()["data"].get("account_details") or ()
        for stream in (stream for account in details for stream in account.get("stream_detail") or ()):
            holders[stream["name"]] = holders.get(stream["name"], 0) + 1
            names.setdefault(stream["name"], set()).add(stream["stream_raft_group"])
            for consumer in stream["consumer_raft_groups"]:
                title = f"{stream['name']}.{consumer['name']}"
                names.setdefault(title, set()).add(consumer["raft_group"])
    assert holders == {"R3": 3, "R1": 1}
    assert set(names) == {"R1", "R3", "R1.C", "R1.D", "R3.C", "R3.D"}
    assert all(len(each) == 1 for each in names.values()), names
    assert len(set.union(*names.values())) == len(names), names


def test_raft_groups_are_reported(mesh: JetMesh, js: JetStream) -> None:
    js.create("R3", num_replicas=3)
    leader = led(js, "R3")
    js.fill("R3", 3)
    with mesh.login(mesh[leader], "admin") as wire:
        service = f"$SYS.REQ.SERVER.{wire.info['server_id']}.RAFTZ"
        meta = wire.request(service).json()["data"]
        own = wire.request(service, {"account": "ACC"}).json()["data"]["ACC"]
    assert list(meta["SYS"]) == ["_meta_"]
    assert (meta["SYS"]["_meta_"]["size"], meta["SYS"]["_meta_"]["quorum_needed"]) == (3, 2)
    assert meta["SYS"]["_meta_"]["system_account"] is True
    (group,) = [each for each in own.values() if each["size"] == 3]
    assert group["state"] == "LEADER"
    assert group["leader"] == group["id"]
    assert 0 < group["applied"] <= group["committed"] <= group["pindex"]
    assert group["term"] >= group["pterm"] > 0
    others = {f"s{number}" for number in range(3)} - {leader}
    assert {peer["name"] for peer in group["peers"].values()} == others


def test_a_consumer_s_last_activity_is_known_to_its_next_leader(js: JetStream) -> None:
    js.create("S", subjects=["s"], num_replicas=3)
    js.publish("s", "1")
    js.consumer("S", "C")
    (message,), _ = js.pull("S", "C")
    js.ack(message)
    before = js.consumer_info("S", "C")
    leader = before["cluster"]["leader"]
    assert js.call("CONSUMER.LEADER.STEPDOWN.S.C")["success"]
    led(js, "S.C", but=leader)
    after = js.consumer_info("S", "C")
    for place in ("delivered", "ack_floor"):
        assert after[place]["stream_seq"] == 1
        apart = parse_rfc3339(after[place]["last_active"]) - parse_rfc3339(before[place]["last_active"])
        assert abs(apart) < 5 * SECOND
