"""System services and events: what the system account can request and receives."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg, Wire
from pyjs.protocol.s2 import Unframer

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB }
accounts {
  SYS { users: [{ user: sys, password: p }] }
  A { users: [{ user: a, password: p }], jetstream: enabled }
  L { jetstream { max_mem: 3000, max_file: 4000 } }
}
system_account: SYS
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def system(server: ServerProcess) -> Iterator[Wire]:
    with server.connect(**{"user": "sys", "pass": "p"}) as wire:
        yield wire


@pytest.fixture
def user(server: ServerProcess) -> Iterator[Wire]:
    with server.connect(**{"user": "a", "pass": "p"}) as wire:
        yield wire


def check_server(received: dict[str, Any], system: Wire) -> None:
    assert received["name"] == "S"
    assert received["id"] == system.info["server_id"]
    assert received["ver"] == system.info["version"]
    assert received["jetstream"] is True
    assert received["seq"] > 0
    assert received["time"].startswith("20")
    assert received["host"] == "127.0.0.1"


def test_ping_shows_statistics(system: Wire, user: Wire) -> None:
    answer = system.request("$SYS.REQ.SERVER.PING").json()
    check_server(answer["server"], system)
    stats = answer["statsz"]
    assert {"start", "mem", "cores", "cpu", "connections", "subscriptions", "sent", "received"} <= set(stats)
    assert stats["connections"] >= 2
    assert {"msgs", "bytes"} <= set(stats["sent"])
    assert stats["active_accounts"] >= 1
    assert stats["slow_consumers"] == 0
    assert "slow_consumer_stats" not in stats


def test_an_account_with_a_stream_is_active_without_a_client(
    system: Wire, server: ServerProcess, unique: str
) -> None:
    with JetStream.of(server, **{"user": "a", "pass": "p"}) as js:
        js.create(unique)
    eventually(lambda: len(connections(system)) == 1)
    eventually(lambda: system.request("$SYS.REQ.SERVER.PING").json()["statsz"]["active_accounts"] == 2)


def connections(system: Wire) -> list[Any]:
    found: list[Any] = system.request("$SYS.REQ.SERVER.PING.CONNZ").json()["data"]["connections"]
    return found


def test_health_says_its_status_where_no_http_status_does(system: Wire) -> None:
    data = system.request("$SYS.REQ.SERVER.PING.HEALTHZ").json()["data"]
    assert data == {"status": "ok", "status_code": 200}
    asked = {"account": "NOBODY"}
    assert system.request("$SYS.REQ.SERVER.PING.HEALTHZ", asked).json()["data"]["status_code"] == 404


@pytest.mark.parametrize("how", ["PING", "{id}"])
@pytest.mark.parametrize(
    ("service", "fields"),
    [
        (
            "VARZ",
            {"server_id", "server_name", "version", "max_payload", "connections", "uptime", "jetstream"},
        ),
        ("CONNZ", {"server_id", "num_connections", "total", "offset", "limit", "connections"}),
        ("SUBSZ", {"num_subscriptions", "num_cache", "num_inserts", "num_matches", "total", "limit"}),
        ("ROUTEZ", {"server_id", "num_routes"}),
        ("LEAFZ", {"server_id", "leafnodes"}),
        ("ACCOUNTZ", {"server_id", "system_account", "accounts"}),
        (
            "JSZ",
            {"server_id", "memory", "storage", "streams", "consumers", "messages", "bytes", "api", "config"},
        ),
        ("HEALTHZ", {"status", "status_code"}),
    ],
)
def test_services(system: Wire, how: str, service: str, fields: set[str]) -> None:
    subject = f"$SYS.REQ.SERVER.{how.replace('{id}', system.info['server_id'])}.{service}"
    answer = system.request(subject).json()
    check_server(answer["server"], system)
    assert fields <= set(answer["data"]), answer["data"]


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip", "gzip"), ("s2, gzip", "snappy"), ("Snappy", "snappy")]
)
def test_answers_are_compressed_on_demand(system: Wire, accepted: str, encoding: str) -> None:
    answer = system.request("$SYS.REQ.SERVER.PING.SUBSZ", b"", {"Accept-Encoding": accepted})
    assert answer.headers["Content-Encoding"] == encoding
    body = gzip.decompress(answer.body) if encoding == "gzip" else Unframer().feed(answer.body)
    assert json.loads(body)["server"]["name"] == "S"


def test_idz_is_bare(system: Wire) -> None:
    answer = system.request("$SYS.REQ.SERVER.PING.IDZ").json()
    assert answer["name"] == "S"
    assert answer["id"] == system.info["server_id"]


@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ({"server_name": "S"}, True),
        ({"server_name": "OTHER"}, False),
        ({"host": "127.0.0"}, True),
        ({"host": "127.0.0", "exact_match": True}, False),
        ({"domain": "X"}, False),
        ({"tags": ["none"]}, False),
    ],
)
def test_a_filter_decides_who_answers(system: Wire, options: dict[str, Any], answers: bool) -> None:
    system.pub("$SYS.REQ.SERVER.PING.VARZ", json.dumps(options), system.inbox())
    system.request("$SYS.REQ.SERVER.PING.VARZ")
    got = [f for f in system.sync() if isinstance(f, Msg)]
    assert len(got) == int(answers)


def test_connz_lists_who_is_here(system: Wire, user: Wire) -> None:
    user.sub("some.subject")
    user.sync()
    answer = system.request("$SYS.REQ.SERVER.PING.CONNZ", {"auth": True, "subscriptions": True}).json()
    mine = [c for c in answer["data"]["connections"] if c["cid"] == user.info["client_id"]]
    (connection,) = mine
    assert connection["account"] == "A"
    assert connection["authorized_user"] == "a"
    assert connection["subscriptions_list"] == ["some.subject"]
    assert connection["ip"] == "127.0.0.1"


def test_jsz_counts_streams(system: Wire, server: ServerProcess, unique: str) -> None:
    with JetStream.of(server, **{"user": "a", "pass": "p"}) as js:
        js.create(unique)
        js.fill(unique, 3)
        request = {"accounts": True, "streams": True, "config": True}
        data = system.request("$SYS.REQ.SERVER.PING.JSZ", request).json()["data"]
        js.call(f"STREAM.DELETE.{unique}")
    assert data["streams"] >= 1
    assert data["messages"] >= 3
    (account,) = [a for a in data["account_details"] if a["name"] == "A"]
    (stream,) = [s for s in account["stream_detail"] if s["name"] == unique]
    assert stream["state"]["messages"] == 3
    assert stream["config"]["name"] == unique


@pytest.mark.parametrize("service", ["CONNZ", "SUBSZ", "LEAFZ", "JSZ", "INFO", "STATZ"])
def test_services_of_an_account(system: Wire, user: Wire, service: str) -> None:
    answer = system.request(f"$SYS.REQ.ACCOUNT.A.{service}").json()
    check_server(answer["server"], system)
    assert answer["data"]


def test_an_unknown_account_is_an_error(system: Wire) -> None:
    answer = system.request("$SYS.REQ.ACCOUNT.NOPE.INFO").json()
    assert answer["error"]["code"] > 0


def test_jsz_of_an_account_is_the_account(system: Wire, server: ServerProcess, unique: str) -> None:
    with JetStream.of(server, **{"user": "a", "pass": "p"}) as js:
        js.create(unique)
        bare = system.request("$SYS.REQ.ACCOUNT.A.JSZ").json()["data"]
        full = system.request("$SYS.REQ.ACCOUNT.A.JSZ", {"streams": True, "config": True}).json()["data"]
        js.call(f"STREAM.DELETE.{unique}")
    assert (bare["name"], bare["id"]) == ("A", "A")
    assert {"memory", "storage", "reserved_memory", "api"} <= set(bare)
    assert not bare.get("stream_detail")
    (stream,) = [each for each in full["stream_detail"] if each["name"] == unique]
    assert stream["config"]["name"] == unique


def test_jsz_shows_the_limits_of_an_account_as_reserved(system: Wire) -> None:
    for account, reserved in (("A", (2**64 - 1, 2**64 - 1)), ("L", (3000, 4000))):
        data = system.request(f"$SYS.REQ.ACCOUNT.{account}.JSZ").json()["data"]
        assert (data["reserved_memory"], data["reserved_storage"]) == reserved


@pytest.mark.parametrize(("account", "why"), [("NOPE", "not found"), ("SYS", "not jetstream enabled")])
def test_jsz_of_an_account_without_jetstream_is_an_error(system: Wire, account: str, why: str) -> None:
    error = system.request(f"$SYS.REQ.ACCOUNT.{account}.JSZ").json()["error"]
    assert error["code"] in (404, 500)
    assert "exist" in error["description"] or why in error["description"]


SHARED = """
listen: 127.0.0.1:<client>
server_name: S
SWITCH
accounts {
  SYS { users: [{ user: sys, password: p }] }
  A { users: [{ user: a, password: p }], exports: [{ service: "w.*.*" }, { stream: "t.>" }] }
  B { users: [{ user: b, password: p }], imports: [
    { service: { account: A, subject: "w.*.*" }, to: "w.$2.$1", share: true }
    { stream: { account: A, subject: "t.>" }, prefix: "x" }
    { stream: { account: A, subject: "t.a.*" }, to: "ta.$1" }
  ] }
}
system_account: SYS
"""
OWN = {  # subject at the system account, subject here, share
    ("$SYS.REQ.ACCOUNT.B.CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ", False),
    ("$SYS.REQ.ACCOUNT.B.CONNZ", "$SYS.REQ.SERVER.PING.CONNZ", False),
    ("$SYS.REQ.ACCOUNT.B.STATZ", "$SYS.REQ.ACCOUNT.PING.STATZ", False),
    ("$SYS.REQ.USER.B.INFO", "$SYS.REQ.USER.INFO", True),
}
API = ("$JS.API.>", "$JS.API.>", True)


@pytest.mark.parametrize("jetstream", [True, False])
def test_info_of_an_account_lists_its_imports(serve: Callable[[str], ServerProcess], jetstream: bool) -> None:
    server = serve(SHARED.replace("SWITCH", 'jetstream { store_dir: "<store>" }' if jetstream else ""))
    with server.connect(**{"user": "sys", "pass": "p"}) as wire:
        imports = wire.request("$SYS.REQ.ACCOUNT.B.INFO").json()["data"]["imports"]
    found = {(each["account"], each["subject"], each["local_subject"], each["share"]) for each in imports}
    wanted = {
        ("A", "w.*.*", "w.*.*", True),
        ("A", "t.>", "x.t.>", False),
        ("A", "t.a.*", "ta.*", False),
        *(("SYS", *each) for each in OWN | ({API} if jetstream else set())),
    }
    assert found == wanted
    assert {each["type"] for each in imports} == {"service", "stream"}
    assert not any(each["invalid"] for each in imports)


def test_subsz_of_an_account_lists_its_subscriptions(system: Wire, user: Wire, unique: str) -> None:
    user.sub(f"{unique}.a", "7")
    user.sub(f"{unique}.b", "8", queue="group")
    user.sync()
    asked = {"limit": 1000, "subscriptions": False}
    data = system.request("$SYS.REQ.ACCOUNT.A.SUBSZ", asked).json()["data"]
    mine = {each["sid"]: each for each in data["subscriptions_list"] if each["subject"].startswith(unique)}
    assert set(mine) == {"7", "8"}
    assert (mine["7"]["account"], mine["7"]["cid"]) == ("A", user.info["client_id"])
    assert mine["8"]["qgroup"] == "group"
    assert data["total"] >= 2


def test_the_process_is_reported(system: Wire) -> None:
    data = system.request("$SYS.REQ.SERVER.PING.EXPVARZ").json()["data"]
    assert data["memstats"]["Sys"] > 0
    assert data["memstats"]["NumGC"] >= 0
    assert data["cmdline"]


def test_what_waits_to_be_stored_is_reported(system: Wire, server: ServerProcess, unique: str) -> None:
    with JetStream.of(server, **{"user": "a", "pass": "p"}) as js:
        js.create(unique)
        asked = {"all": True, "filter": f"stream '{unique}' messages"}
        data = system.request("$SYS.REQ.SERVER.PING.IPQUEUESZ", asked).json()["data"]
        js.call(f"STREAM.DELETE.{unique}")
    assert data == {f"[ACC:A] stream '{unique}' messages": {"pending": 0}}


@pytest.mark.parametrize(
    ("asked", "error"),
    [({}, "Profile name not specified"), ({"name": "nope"}, 'Profile "nope" not found')],
)
def test_a_profile_that_is_not_there_is_an_error(system: Wire, asked: dict[str, Any], error: str) -> None:
    data = system.request("$SYS.REQ.SERVER.PING.PROFILEZ", asked).json()["data"]
    assert data == {"profile": None, "error": error}


def test_the_stacks_are_a_profile(system: Wire) -> None:
    asked = {"name": "goroutine", "debug": 1}
    data = system.request("$SYS.REQ.SERVER.PING.PROFILEZ", asked).json()["data"]
    assert data["error"] == ""
    assert len(base64.b64decode(data["profile"])) > 100


def test_a_single_server_has_no_raft_groups(system: Wire) -> None:
    for asked in ({}, {"account": "A"}, {"group": "_meta_"}):
        assert system.request("$SYS.REQ.SERVER.PING.RAFTZ", asked).json()["data"] == {}


@pytest.mark.parametrize(
    ("service", "asked", "code"),
    [("CONNZ", {"sort": "nope"}, 500), ("CONNZ", {"limit": "x"}, 400)],
)
def test_a_request_that_cannot_be_answered_is_an_error(
    system: Wire, service: str, asked: dict[str, Any], code: int
) -> None:
    assert system.request(f"$SYS.REQ.SERVER.PING.{service}", asked).json()["error"]["code"] == code


def test_an_account_may_ask_about_itself(user: Wire, system: Wire) -> None:
    connz = user.request("$SYS.REQ.ACCOUNT.PING.CONNZ").json()
    assert {c["account"] for c in connz["data"]["connections"] if "account" in c} <= {"A"}
    statz = user.request("$SYS.REQ.ACCOUNT.PING.STATZ").json()
    assert [a["acc"] for a in statz["data"]["account_statz"]] == ["A"]


def test_an_account_may_not_ask_the_system(user: Wire) -> None:
    assert user.request("$SYS.REQ.SERVER.PING").status == "503"


def test_statz_of_all_accounts(system: Wire, user: Wire) -> None:
    data = system.request("$SYS.REQ.ACCOUNT.PING.STATZ").json()["data"]
    (mine,) = [a for a in data["account_statz"] if a["acc"] == "A"]
    assert mine["conns"] >= 1
    assert {"msgs", "bytes"} <= set(mine["received"])


def test_connects_and_disconnects_are_reported(system: Wire, server: ServerProcess) -> None:
    system.sub("$SYS.ACCOUNT.A.CONNECT", "c")
    system.sub("$SYS.ACCOUNT.A.DISCONNECT", "d")
    system.sync()
    with server.connect(**{"user": "a", "pass": "p", "name": "me", "lang": "test", "version": "1"}) as wire:
        number = wire.info["client_id"]
        received = system.msg().json()
        assert received["type"] == "io.nats.server.advisory.v1.client_connect"
        assert received["server"]["name"] == "S"
        client = received["client"]
        assert (client["acc"], client["user"], client["name"], client["lang"]) == ("A", "a", "me", "test")
        assert client["id"] == number
        wire.sub("own")
        wire.pub("own", "12345")
        wire.pub("nobody", "1")
        wire.sync()
    gone = system.msg().json()
    assert gone["type"] == "io.nats.server.advisory.v1.client_disconnect"
    assert gone["client"]["id"] == number
    assert gone["reason"] == "Client Closed"
    assert gone["sent"] == {"msgs": 2, "bytes": 6}  # by the client
    assert gone["received"] == {"msgs": 1, "bytes": 5}
    assert gone["client"]["start"][:19] <= gone["client"]["stop"][:19] <= gone["timestamp"][:19]


def test_a_failed_login_is_reported(system: Wire, server: ServerProcess) -> None:
    system.sub(f"$SYS.SERVER.{system.info['server_id']}.CLIENT.AUTH.ERR", "e")
    system.sync()
    with server.raw() as wire:
        wire.login(**{"user": "a", "pass": "wrong"})
        wire.ends()
    received = system.msg().json()
    assert received["type"] == "io.nats.server.advisory.v1.client_disconnect"
    assert received["reason"] == "Authentication Failure"
    assert received["client"]["user"] == "a"
    assert received["client"]["start"][:19] <= received["client"]["stop"][:19]


@pytest.mark.parametrize("login", [{"user": "a", "pass": "wrong"}, None])
def test_who_was_not_let_in_leaves_the_global_account(
    system: Wire, server: ServerProcess, login: dict[str, str] | None
) -> None:
    refusals = f"$SYS.SERVER.{system.info['server_id']}.CLIENT.AUTH.ERR"
    system.sub("$SYS.ACCOUNT.*.DISCONNECT", "d")
    system.sub(refusals, "e")
    system.sync()
    with server.raw() as wire:
        if login:
            wire.login(**login)
            wire.ends()
    received = {
        message.subject: message.json() for message in (system.msg() for _ in range(2 if login else 1))
    }
    assert received.keys() == {"$SYS.ACCOUNT.$G.DISCONNECT", *([refusals] if login else [])}
    gone = received["$SYS.ACCOUNT.$G.DISCONNECT"]
    assert gone["client"]["acc"] == "$G"
    assert gone["client"].get("user") == (login["user"] if login else None)
    assert gone["reason"] == ("Authentication Failure" if login else "Client Closed")


def test_the_count_of_connections_is_reported(system: Wire, server: ServerProcess) -> None:
    system.sub("$SYS.ACCOUNT.A.SERVER.CONNS", "n")
    system.sync()
    with server.connect(**{"user": "a", "pass": "p"}):
        received = system.msg().json()
        assert (received["acc"], received["server"]["name"]) == ("A", "S")
        assert received["conns"] >= 1


def test_subscribers_can_be_counted(system: Wire, user: Wire, unique: str) -> None:
    system.sub(unique, "1")
    system.sub(unique, "2")
    system.sync()
    assert system.request("$SYS.DEBUG.SUBSCRIBERS", unique).body == b"2"


def test_shutdown_is_reported(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(CONFIG)
    with server.connect(**{"user": "sys", "pass": "p"}) as wire:
        wire.sub("$SYS.SERVER.*.SHUTDOWN", "s")
        wire.sync()
        server.end()
        received = [f for f in wire.ends() if isinstance(f, Msg)]
    assert [m.json()["name"] for m in received] == ["S"]


def test_kick_closes_one_client(system: Wire, server: ServerProcess) -> None:
    with server.connect(**{"user": "a", "pass": "p"}) as wire:
        answer = system.request(
            f"$SYS.REQ.SERVER.{system.info['server_id']}.KICK", {"cid": wire.info["client_id"]}
        ).json()
        assert "error" not in answer
        wire.ends()
    eventually(lambda: system.request("$SYS.REQ.SERVER.PING.IDZ").json()["name"] == "S")


def test_an_account_is_purged(system: Wire, user: Wire) -> None:
    js = JetStream(user)
    for storage in ("file", "memory"):
        js.create(f"PURGE_{storage}", subjects=[f"purge.{storage}"], storage=storage)
        js.fill(f"purge.{storage}", 2)
    for account in ("A", "NOPE"):
        received = system.request(f"$JS.API.ACCOUNT.PURGE.{account}").json()
        assert received == {"type": "io.nats.jetstream.api.v1.account_purge_response", "initiated": True}
        assert js.call("STREAM.NAMES")["streams"] is None
    refused = system.request("$JS.API.ACCOUNT.PURGE.a/b").json()["error"]
    assert refused["description"] == "account name can not contain path separators"
    js.create("PURGE_file", subjects=["purge.file"], storage="file")
    assert js.publish("purge.file")["seq"] == 1
