"""Clusters of three servers of both implementations: a message on one reaches subscribers on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from lib.core_cluster import COMBINATIONS, Mesh
from lib.eventually import eventually
from lib.servers import reaches
from lib.wire import Msg, Wire


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def mesh(request: pytest.FixtureRequest) -> Iterator[Mesh]:
    found = Mesh(*request.param)
    yield found
    found.close()


@pytest.fixture
def wires(mesh: Mesh) -> Iterator[list[Wire]]:
    with mesh.clients() as found:
        yield found


@pytest.mark.parametrize(("publisher", "subscriber"), [(0, 1), (1, 0)])
def test_what_is_to_be_traced_only_is_heard_nowhere(
    wires: list[Wire], unique: str, publisher: int, subscriber: int
) -> None:
    sender, listener = wires[publisher], wires[subscriber]
    listener.sub(f"{unique}.*", "7")
    reaches(sender, listener, f"{unique}.a", "7")
    sender.pub(f"{unique}.a", "x", headers={"Nats-Trace-Dest": "t.x", "Nats-Trace-Only": "true"})
    sender.pub(f"{unique}.a", "y", headers={"Nats-Trace-Dest": "t.x"})
    assert listener.msg().body == b"y"


@pytest.mark.parametrize(("publisher", "subscriber"), [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)])
def test_messages_cross_every_route(wires: list[Wire], unique: str, publisher: int, subscriber: int) -> None:
    sender, listener = wires[publisher], wires[subscriber]
    listener.sub(f"{unique}.*.>", "7")
    reaches(sender, listener, f"{unique}.a.b", "7")
    sender.pub(f"{unique}.x.y", "one", reply="back", headers={"A": "1"})
    sender.pub(f"{unique}.x.y.z", "two")
    first, second = listener.msgs(2)
    assert (first.subject, first.reply, first.body, first.headers) == (
        f"{unique}.x.y",
        "back",
        b"one",
        {"A": "1"},
    )
    assert (second.subject, second.reply, second.body) == (f"{unique}.x.y.z", "", b"two")


def test_each_message_comes_once(wires: list[Wire], unique: str) -> None:
    for number, wire in enumerate(wires):
        wire.sub(f"{unique}.>", "1")
        wire.sub(f"{unique}.*", "2")
        wire.sub(f"ready.{unique}.{number}", "3")
        wire.sync()
    for number in (1, 2):
        reaches(wires[0], wires[number], f"ready.{unique}.{number}", "3")
    for number in range(5):
        wires[0].pub(f"{unique}.{number}", "x")
    for wire in wires:
        got = Counter(message.subject for message in wire.msgs(10))
        assert got == {f"{unique}.{number}": 2 for number in range(5)}


def test_a_queue_group_over_servers_gets_each_message_once(wires: list[Wire], unique: str) -> None:
    for number, wire in enumerate(wires[1:]):
        wire.sub(unique, "5", queue="workers")
        wire.sub(f"{unique}.ready.{number}", "6")
    for number, wire in enumerate(wires[1:]):
        reaches(wires[0], wire, f"{unique}.ready.{number}", "6")
    for number in range(60):
        wires[0].pub(unique, str(number))
    for number in range(2):
        wires[0].pub(f"{unique}.ready.{number}", "last")
    got: list[bytes] = []
    shares = []
    for wire in wires[1:]:
        mine = []
        while (message := wire.msg()).body != b"last":
            mine.append(message.body)
        shares.append(len(mine))
        got += mine
    assert sorted(map(int, got)) == list(range(60))
    assert all(shares), shares


def test_members_here_and_there_share(wires: list[Wire], unique: str) -> None:
    wires[1].sub(unique, "5", queue="workers")
    reaches(wires[0], wires[1], unique, "5")
    wires[0].sub(unique, "5", queue="workers")
    wires[0].sync()
    for _ in range(60):
        wires[0].pub(unique, "x")
    here = len(wires[0].sync())
    assert 0 < here < 60
    assert len(wires[1].msgs(60 - here)) == 60 - here


def test_a_request_is_answered_from_another_server(wires: list[Wire], unique: str) -> None:
    wires[2].sub(unique, "3")
    reaches(wires[0], wires[2], unique, "3")
    reply = wires[0].inbox()
    wires[0].pub(unique, "question", reply=reply)
    question = wires[2].msg()
    wires[2].pub(question.reply, "answer")
    assert wires[0].answer(reply).body == b"answer"


def test_nobody_hears_after_the_last_has_left(wires: list[Wire], unique: str) -> None:
    wires[1].sub(unique, "3")
    wires[1].sub(unique, "4")
    reaches(wires[0], wires[1], unique, "3")
    wires[1].send("UNSUB 3\r\n")
    wires[1].sync()
    reaches(wires[0], wires[1], unique, "4")
    wires[1].send("UNSUB 4\r\n")
    wires[1].sync()

    def silent() -> bool:
        wires[0].pub(unique, "x", reply=wires[0].inbox())
        return any(isinstance(frame, Msg) and frame.status == "503" for frame in wires[0].sync())

    eventually(silent)


def test_services_and_streams_of_another_account(mesh: Mesh, wires: list[Wire], unique: str) -> None:
    with mesh.login(mesh.servers[2], "other") as other:
        wires[1].sub(f"help.{unique}", "2")
        wires[1].sync()

        def answered() -> bool:
            reply = other.inbox()
            other.pub(f"ask.{unique}", "question", reply=reply)
            frames = [frame for frame in wires[1].sync() if isinstance(frame, Msg)]
            for frame in frames:
                wires[1].pub(frame.reply, "answer")
            return any(isinstance(frame, Msg) and frame.body == b"answer" for frame in other.sync())

        eventually(answered)
        other.sub(f"from.news.{unique}", "8")

        def arrived() -> bool:
            wires[0].pub(f"news.{unique}", "extra")
            return any(isinstance(f, Msg) and f.subject == f"from.news.{unique}" for f in other.sync())

        eventually(arrived)


def test_clients_learn_of_all_servers(mesh: Mesh) -> None:
    urls = {f"127.0.0.1:{server.port}" for server in mesh.servers}
    for server in mesh.servers:
        with mesh.login(server) as wire:
            eventually(
                lambda wire=wire: wire.sync() == [] and set(wire.infos[-1].get("connect_urls", [])) == urls  # type: ignore[misc]
            )
            assert wire.infos[-1]["cluster"] == "mesh"


def test_a_server_that_comes_back_is_joined_again(mesh: Mesh, unique: str) -> None:
    mesh.servers[1].kill()
    mesh.servers[1].launch()
    mesh.joined()
    with mesh.login(mesh.servers[1]) as listener, mesh.login(mesh.servers[2]) as sender:
        listener.sub(unique, "3")
        reaches(sender, listener, unique, "3")


def test_a_stranger_is_refused(mesh: Mesh) -> None:
    for server in mesh.servers:
        with Wire(server.ports["route"]) as wire:
            wire.send('CONNECT {"name":"N","cluster":"mesh","user":"router","pass":"wrong"}\r\n')
            assert b"-ERR 'Authorization Violation'" in wire.ends()
