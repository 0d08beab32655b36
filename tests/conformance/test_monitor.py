"""The HTTP monitoring port: the content of each path, and the answer to a bad request."""

from __future__ import annotations

import http.client
import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
http: 127.0.0.1:<http>
jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB }
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


def fetch(server: ServerProcess, path: str) -> tuple[int, str, bytes]:
    """(status, content type, body)."""
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", path)
        answer = link.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), answer.read()
    finally:
        link.close()


def document(server: ServerProcess, path: str) -> dict[str, Any]:
    status, kind, body = fetch(server, path)
    assert (status, kind.split(";")[0]) == (200, "application/json"), body
    found: dict[str, Any] = json.loads(body)
    return found


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (
            "/varz",
            {
                "server_id",
                "server_name",
                "version",
                "proto",
                "host",
                "port",
                "max_connections",
                "ping_interval",
                "ping_max",
                "http_port",
                "max_control_line",
                "max_payload",
                "max_pending",
                "jetstream",
                "start",
                "now",
                "uptime",
                "mem",
                "cores",
                "connections",
                "total_connections",
                "in_msgs",
                "out_msgs",
                "in_bytes",
                "out_bytes",
                "slow_consumers",
                "subscriptions",
                "http_req_stats",
                "config_load_time",
                "disk_io_wait_stats",
            },
        ),
        ("/connz", {"server_id", "now", "num_connections", "total", "offset", "limit", "connections"}),
        ("/routez", {"server_id", "now", "num_routes", "routes"}),
        ("/leafz", {"server_id", "now", "leafnodes", "leafs"}),
        (
            "/subsz",
            {"num_subscriptions", "num_cache", "num_inserts", "num_removes", "num_matches", "max_fanout"},
        ),
        ("/accountz", {"server_id", "now", "system_account", "accounts"}),
        ("/accstatz", {"server_id", "now", "account_statz"}),
        (
            "/jsz",
            {
                "server_id",
                "now",
                "config",
                "memory",
                "storage",
                "api",
                "streams",
                "consumers",
                "messages",
                "bytes",
            },
        ),
        ("/healthz", {"status"}),
    ],
)
def test_a_path_holds(server: ServerProcess, path: str, fields: set[str]) -> None:
    found = document(server, path)
    assert fields <= set(found), fields - set(found)


def test_health_is_ok(server: ServerProcess) -> None:
    assert json.loads(fetch(server, "/healthz")[2]) == {"status": "ok"}


def test_a_bad_health_says_its_status_by_http_alone(server: ServerProcess) -> None:
    status, _, body = fetch(server, "/healthz?account=NOBODY")
    assert status == 404
    assert set(json.loads(body)) == {"status", "error"}


@pytest.mark.parametrize("query", ["js-enabled", "js-enabled-only", "js-server-only", "js-meta-only"])
@pytest.mark.parametrize("jetstream", ["", 'jetstream { store_dir: "<store>" }'])
def test_a_server_without_jetstream_is_not_ill_for_that(
    serve: Callable[[str], ServerProcess], jetstream: str, query: str
) -> None:
    server = serve("listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\n" + jetstream)
    assert fetch(server, f"/healthz?{query}=1")[0] == 200


def test_subsz_says_its_page_without_subscriptions(server: ServerProcess) -> None:
    found = document(server, "/subsz")
    assert (found["total"], found["offset"], found["limit"]) == (0, 0, 1024)


def test_a_user_for_those_without_one_does_not_make_it_open(serve: Callable[[str], ServerProcess]) -> None:
    users = "authorization { users: [{user: a, password: p}] }\nno_auth_user: a\n"
    server = serve("listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\n" + users)
    assert document(server, "/varz")["auth_required"] is True


def test_the_index_is_a_page(server: ServerProcess) -> None:
    status, kind, body = fetch(server, "/")
    assert status == 200
    assert kind.startswith("text/html")
    assert b"varz" in body


def test_an_unknown_path_is_not_found(server: ServerProcess) -> None:
    assert fetch(server, "/nonsense")[0] == 404


@pytest.mark.parametrize(
    "path", ["/connz?limit=x", "/connz?sort=nonsense", "/connz?state=odd", "/subsz?offset=x"]
)
def test_a_bad_parameter_is_a_bad_request(server: ServerProcess, path: str) -> None:
    assert fetch(server, path)[0] == 400


def test_connz_shows_connections(server: ServerProcess, unique: str) -> None:
    with server.connect(name=unique, lang="x", version="1") as wire:
        wire.sub(f"{unique}.a")
        wire.pub(f"{unique}.a", "12345")
        wire.sync()
        found = document(server, "/connz?subs=1")
        (mine,) = [c for c in found["connections"] if c.get("name") == unique]
        assert mine["cid"] == wire.info["client_id"]
        assert (mine["in_msgs"], mine["in_bytes"], mine["out_msgs"], mine["out_bytes"]) == (1, 5, 1, 5)
        assert (mine["lang"], mine["version"], mine["subscriptions"]) == ("x", "1", 1)
        assert mine["subscriptions_list"] == [f"{unique}.a"]
        one = document(server, f"/connz?cid={mine['cid']}")
        assert [c["cid"] for c in one["connections"]] == [mine["cid"]]


@pytest.mark.parametrize(("sort", "first"), [("uptime", -1), ("start", 0), ("cid", 0)])
def test_connz_is_sorted(server: ServerProcess, unique: str, sort: str, first: int) -> None:
    wires = [server.connect(name=unique) for _ in range(3)]
    ids = [wire.info["client_id"] for wire in wires]
    found = [c["cid"] for c in document(server, f"/connz?sort={sort}")["connections"]]
    assert [cid for cid in found if cid in ids] == (ids if first == 0 else ids[::-1])
    for wire in wires:
        wire.close()


def test_connz_shows_the_closed(server: ServerProcess, unique: str) -> None:
    with server.connect(name=unique) as wire:
        wire.send("NONSENSE\r\n")
        wire.ends()
    found = document(server, "/connz?state=closed")
    (mine,) = [c for c in found["connections"] if c.get("name") == unique]
    assert mine["reason"] == "Protocol Violation"


def test_jsz_shows_streams(server: ServerProcess, unique: str) -> None:
    with JetStream.of(server) as js:
        js.create(unique)
        js.fill(unique, 2)
        js.consumer(unique, "C")
        found = document(server, "/jsz?accounts=1&streams=1&consumers=1&config=1")
    (account,) = [a for a in found["account_details"] if a["name"] == "$G"]
    (stream,) = [s for s in account["stream_detail"] if s["name"] == unique]
    assert stream["state"]["messages"] == 2
    assert stream["config"]["name"] == unique
    assert [c["name"] for c in stream["consumer_detail"]] == ["C"]


def test_the_deny_lists_of_remotes_are_reported(serve: Callable[[str], ServerProcess]) -> None:
    denying = '{ url: "nats-leaf://127.0.0.1:<nobody>", deny_exports: ["a.>", "b"], deny_imports: "c" }'
    plain = '{ url: "nats-leaf://127.0.0.1:<nobody_else>" }'
    config = "listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\n"
    config += f'leafnodes {{ reconnect: "60s", remotes: [{denying}, {plain}] }}'
    denies, other = document(serve(config), "/varz")["leaf"]["remotes"]
    assert denies["deny"] == {"exports": ["a.>", "b"], "imports": ["c"]}
    assert (other["local_account"], "deny" in other) == ("$G", False)


def test_the_configuration_of_jetstream_is_reported(serve: Callable[[str], ServerProcess]) -> None:
    limits = 'max_ack_pending: 100, duplicate_window: "1m", max_request_batch: 10, max_ha_assets: 5'
    store = 'store_dir: "<store>", max_mem: 10MB, max_file: 10MB'
    config = "listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\n"
    config += f"jetstream {{ {store}, SYNC limits {{ {limits} }} }}"
    server = serve(config.replace("SYNC", "sync_interval: always,"))
    received = document(server, "/varz")
    assert received["jetstream"]["config"]["sync_always"] is True
    assert received["jetstream"]["config"]["sync_interval"] > 0
    assert received["jetstream"]["config"]["compress_ok"] is True
    wanted = {"max_ack_pending": 100, "max_duplicate_window": 60_000_000_000, "max_request_batch": 10}
    assert (wanted | {"max_ha_assets": 5}).items() <= received["jetstream"]["limits"].items()
    assert received["feature_flags"]["js_ack_fc_v2"] is False
    assert document(server, "/jsz")["limits"] == received["jetstream"]["limits"]
    lazy = document(serve(config.replace("SYNC", 'sync_interval: "3s",')), "/jsz")["config"]
    assert (lazy["sync_interval"], lazy.get("sync_always", False)) == (3_000_000_000, False)


def test_varz_shows_how_disk_work_waited(server: ServerProcess) -> None:
    waits = document(server, "/varz")["disk_io_wait_stats"]
    assert list(waits) == ["waiters", "waits", "wait_time", "max_wait_time"]


def test_varz_counts(server: ServerProcess, unique: str) -> None:
    before = document(server, "/varz")
    with server.connect() as wire:
        wire.sub(unique)
        wire.pub(unique, "12345")
        wire.sync()
        after = document(server, "/varz")
    assert after["in_msgs"] >= before["in_msgs"] + 1
    assert after["in_bytes"] >= before["in_bytes"] + 5
    assert after["total_connections"] == before["total_connections"] + 1
    assert after["http_req_stats"]["/varz"] >= 2


@pytest.mark.parametrize("path", ["/ipqueuesz", "/debug/vars", "/stacksz"])
def test_pages_about_the_process(server: ServerProcess, path: str) -> None:
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", path)
        answer = link.getresponse()
        body = answer.read()
        assert answer.status == 200
        if path == "/stacksz":
            assert body
        else:
            assert isinstance(json.loads(body), dict)
    finally:
        link.close()


def test_leaf_nodes_are_among_the_connections(launch: Callable[[str], ServerProcess]) -> None:
    accounts = "accounts { A { users: [{user: a, password: p}] } }\nno_auth_user: a\n"
    hub = launch(
        "listen: 127.0.0.1:<client>\nserver_name: S\nhttp: 127.0.0.1:<http>\n"
        + accounts
        + "leafnodes { listen: 127.0.0.1:<leaf> }"
    )
    url = f"nats-leaf://a:p@127.0.0.1:{hub.ports['leaf']}"
    spoke = launch(
        "listen: 127.0.0.1:<client>\nserver_name: L\nhttp: 127.0.0.1:<http>\n"
        + accounts
        + f'leafnodes {{ remotes: [{{ url: "{url}", account: A }}] }}'
    )
    with spoke.connect() as wire:
        wire.sub("from.the.spoke")
        wire.sync()

        def crossed() -> list[Any]:
            page = document(hub, "/connz?auth=1&subs=1&acc=A")
            return [
                one for one in page["connections"] if "from.the.spoke" in one.get("subscriptions_list", [])
            ]

        eventually(crossed)
        (found,) = crossed()
        names = ("kind", "name", "account", "authorized_user")
        assert [found[name] for name in names] == ["Leafnode", "L", "A", "a"]
        assert "type" not in found
        assert document(hub, f"/connz?cid={found['cid']}")["num_connections"] == 1
    (remote,) = document(spoke, "/varz")["leaf"]["remotes"]
    assert remote["urls"] == [f"127.0.0.1:{hub.ports['leaf']}"]


def test_when_the_configuration_was_loaded(launch: Callable[[str], ServerProcess]) -> None:
    server = launch("listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\n")
    first = document(server, "/varz")
    assert first["config_load_time"] >= first["start"]
    server.signal(signal.SIGHUP)
    eventually(lambda: document(server, "/varz")["config_load_time"] > first["config_load_time"])
    assert document(server, "/varz")["start"] == first["start"]


def test_no_raft_groups_are_404(server: ServerProcess) -> None:
    assert fetch(server, "/raftz")[0] == 404
