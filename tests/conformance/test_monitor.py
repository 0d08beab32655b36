"""The monitoring endpoints, on both servers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from lib.jetstream import JetStream
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
http: "127.0.0.1:<monitor>"
server_name: monitored
jetstream { store_dir: "<store>", domain: hub }
accounts {
  SYS { users: [{user: admin, password: admin}] }
  ACC { users: [{user: acc, password: acc}], jetstream: enabled, exports: [{service: s.>}], mappings: {a: b} }
}
system_account: SYS
"""

Serve = Callable[[str], ServerProcess]


def get(server: ServerProcess, target: str) -> tuple[int, str, bytes]:
    """Status, content type and body."""
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{server.ports['monitor']}{target}", timeout=5
        ) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def document(server: ServerProcess, target: str) -> dict[str, Any]:
    status, kind, body = get(server, target)
    assert (status, kind) == (200, "application/json")
    found: dict[str, Any] = json.loads(body)
    return found


def test_varz_tells_of_the_server(serve: Serve) -> None:
    server = serve(CONFIG)
    found = document(server, "/varz")
    assert found["server_name"] == "monitored"
    assert found["port"] == server.port
    assert found["system_account"] == "SYS"
    assert found["auth_required"] is True
    assert found["max_payload"] == 1048576
    assert found["jetstream"]["config"]["domain"] == "hub"
    assert found["config_digest"].startswith("sha256:")
    assert {"mem", "cores", "cpu", "uptime", "start", "now", "in_msgs", "out_bytes", "subscriptions"} <= set(
        found
    )


def test_varz_counts_requests_by_path(serve: Serve) -> None:
    server = serve(CONFIG)
    before = document(server, "/varz")["http_req_stats"]["/varz"]
    assert document(server, "/varz")["http_req_stats"]["/varz"] == before + 1


def test_connz_tells_of_a_connection(serve: Serve) -> None:
    server = serve(CONFIG)
    with server.connect(user="acc", **{"pass": "acc"}, name="me", lang="test", version="1") as client:
        client.sub("q.*", "7", "workers")
        client.sync()
        found = document(server, "/connz?subs=detail&auth=1&user=acc")
        (connection,) = [c for c in found["connections"] if c.get("name") == "me"]
        assert (connection["kind"], connection["type"], connection["ip"]) == ("Client", "nats", "127.0.0.1")
        assert (connection["lang"], connection["version"]) == ("test", "1")
        assert (connection["authorized_user"], connection["account"]) == ("acc", "ACC")
        assert connection["subscriptions"] == 1
        (detail,) = connection["subscriptions_list_detail"]
        assert (detail["subject"], detail["qgroup"], detail["sid"]) == ("q.*", "workers", "7")
        listed = document(server, f"/connz?subs=1&cid={connection['cid']}")["connections"][0]
        assert listed["subscriptions_list"] == ["q.*"]
        assert document(server, "/connz?acc=NONE")["total"] == 0
    closed = document(server, f"/connz?state=closed&cid={connection['cid']}&sort=stop")["connections"]
    assert [c["reason"] for c in closed] == ["Client Closed"]


@pytest.mark.parametrize(
    "sort", ["cid", "start", "subs", "pending", "msgs_to", "bytes_from", "last", "idle", "rtt"]
)
def test_connz_sorts(serve: Serve, sort: str) -> None:
    assert "connections" in document(serve(CONFIG), f"/connz?sort={sort}&limit=1")


@pytest.mark.parametrize(
    "target",
    ["/connz?limit=x", "/connz?sort=nothing", "/connz?sort=stop", "/subsz?subs=maybe", "/subsz?test=a.*"],
)
def test_what_is_not_understood_is_a_bad_request(serve: Serve, target: str) -> None:
    status, kind, body = get(serve(CONFIG), target)
    assert (status, kind) == (400, "text/plain; charset=utf-8")
    assert body


def test_an_unknown_path_is_not_found(serve: Serve) -> None:
    assert get(serve(CONFIG), "/nothing")[0] == 404


def test_subsz_lists_who_would_hear_a_subject(serve: Serve) -> None:
    server = serve(CONFIG)
    with server.connect(user="acc", **{"pass": "acc"}) as client:
        client.sub("only.*.here")
        client.sync()
        found = document(server, "/subsz?subs=1&test=only.x.here&acc=ACC")
        assert [s["subject"] for s in found["subscriptions_list"]] == ["only.*.here"]
        assert found["total"] == 1
    assert {"num_subscriptions", "num_cache", "max_fanout"} <= set(document(server, "/subscriptionsz"))


def test_accountz_lists_accounts_and_shows_one(serve: Serve) -> None:
    server = serve(CONFIG)
    assert {"SYS", "ACC", "$G"} == set(document(server, "/accountz")["accounts"])
    detail = document(server, "/accountz?acc=ACC")["account_detail"]
    assert detail["account_name"] == "ACC"
    assert detail["jetstream_enabled"] is True
    assert {"subject": "s.>", "type": "service", "response_type": "Singleton"} in detail["exports"]
    assert detail["mappings"]["a"] == [{"subject": "b", "weight": 100}]


def test_jsz_shows_streams_and_consumers(serve: Serve, unique: str) -> None:
    server = serve(CONFIG)
    with JetStream.of(server, user="acc", **{"pass": "acc"}) as api:
        api.create(unique, subjects=[unique])
        api.consumer(unique, "dur")
        api.wire.request(unique, b"hello")
        found = document(server, "/jsz?acc=ACC&accounts=1&streams=1&consumers=1&config=1")
        assert found["config"]["domain"] == "hub"
        assert found["streams"] >= 1
        assert found["consumers"] >= 1
        (account,) = found["account_details"]
        (stream,) = [s for s in account["stream_detail"] if s["name"] == unique]
        assert stream["config"]["subjects"] == [unique]
        assert stream["state"]["messages"] == 1
        assert stream["cluster"]["leader"] == "monitored"
        assert [c["name"] for c in stream["consumer_detail"]] == ["dur"]
    assert "account_details" not in document(server, "/jsz")


def test_a_healthy_server_says_so(serve: Serve) -> None:
    server = serve(CONFIG)
    for target in ("/healthz", "/healthz?js-enabled-only=true", "/healthz?js-server-only=true"):
        assert get(server, target) == (200, "application/json", b'{"status":"ok"}')


def test_health_of_a_stream_that_is_not_there_is_not_found(serve: Serve) -> None:
    status, kind, body = get(serve(CONFIG), "/healthz?account=ACC&stream=nothing")
    assert (status, kind) == (404, "application/json")
    assert json.loads(body)["status"] in ("error", "unavailable")


@pytest.mark.parametrize(
    ("target", "keys"),
    [
        ("/leafz", {"server_id", "now", "leafnodes", "leafs"}),
        ("/routez", {"server_id", "server_name", "now", "num_routes", "routes"}),
        ("/gatewayz", {"server_id", "now", "outbound_gateways", "inbound_gateways"}),
        ("/accstatz", {"server_id", "now", "account_statz"}),
    ],
)
def test_documents_of_what_is_not_there_are_empty(serve: Serve, target: str, keys: set[str]) -> None:
    assert set(document(serve(CONFIG), target)) == keys


def test_the_index_links_the_documents(serve: Serve) -> None:
    status, kind, body = get(serve(CONFIG), "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert b"varz" in body
