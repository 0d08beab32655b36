"""What JetStream reports about itself: audit and life-cycle advisories, account information and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.jetstream import JetStream
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB, domain: D }
accounts {
  SYS { users: [{ user: sys, password: p }] }
  A { users: [{ user: a, password: p }], jetstream: enabled }
  B { users: [{ user: b, password: p }], jetstream: {
        max_mem: 1MB, max_file: 2MB, max_streams: 2, max_consumers: 1, max_bytes_required: true,
        max_ack_pending: 50 } }
  OFF { users: [{ user: plain, password: p }] }
}
system_account: SYS
"""


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Callable[[str], JetStream]:
    server = serve(CONFIG)
    return lambda user: JetStream.of(server, **{"user": user, "pass": "p"})


@pytest.fixture
def js(login: Callable[[str], JetStream]) -> Iterator[JetStream]:
    with login("a") as api:
        yield api


def event(js: JetStream) -> dict[str, Any]:
    """The next advisory; checks what all have."""
    message = js.wire.msg()
    assert message.sid == "adv"
    received: dict[str, Any] = message.json()
    assert len(received["id"]) == 22
    assert received["timestamp"].startswith("20")
    assert received["domain"] == "D"
    return received


def test_a_streams_life_is_reported(js: JetStream, unique: str) -> None:
    js.wire.sub(f"$JS.EVENT.ADVISORY.STREAM.*.{unique}", "adv")
    js.create(unique)
    js.update(unique, max_msgs=5)
    js.call(f"STREAM.DELETE.{unique}")
    received = [event(js) for _ in range(3)]
    assert [t["action"] for t in received] == ["create", "modify", "delete"]
    assert {t["type"] for t in received} == {"io.nats.jetstream.advisory.v1.stream_action"}
    assert {t["stream"] for t in received} == {unique}


def test_a_consumers_life_is_reported(js: JetStream, unique: str) -> None:
    js.create(unique)
    js.wire.sub(f"$JS.EVENT.ADVISORY.CONSUMER.*.{unique}.>", "adv")
    js.consumer(unique, "C")
    js.call(f"CONSUMER.PAUSE.{unique}.C", {"pause_until": "2099-01-01T00:00:00Z"})
    js.call(f"CONSUMER.DELETE.{unique}.C")
    received = [event(js) for _ in range(3)]
    assert [t["type"].rsplit(".", 1)[1] for t in received] == [
        "consumer_action",
        "consumer_pause",
        "consumer_action",
    ]
    assert (received[0]["action"], received[2]["action"]) == ("create", "delete")
    assert (received[1]["paused"], received[1]["pause_until"]) == (True, "2099-01-01T00:00:00Z")
    assert {(t["stream"], t["consumer"]) for t in received} == {(unique, "C")}


def test_every_call_is_audited(js: JetStream, unique: str) -> None:
    js.wire.sub("$JS.EVENT.ADVISORY.API", "adv")
    js.create(unique)
    received = event(js)
    assert received["type"] == "io.nats.jetstream.advisory.v1.api_audit"
    assert received["server"] == "S"
    assert received["subject"] == f"$JS.API.STREAM.CREATE.{unique}"
    assert unique in received["request"]
    assert "did_create" in received["response"]
    client = received["client"]
    assert (client["acc"], client["user"], client["server"]) == ("A", "a", "S")
    js.error("STREAM.INFO.NOPE")
    assert "10059" in event(js)["response"]


def test_account_info_counts(login: Callable[[str], JetStream], unique: str) -> None:
    with login("a") as js:
        before = js.call("INFO")
        js.create(f"{unique}F", storage="file")
        js.create(f"{unique}M", storage="memory")
        js.publish(f"{unique}F", "x" * 100)
        js.publish(f"{unique}M", "x" * 100)
        js.consumer(f"{unique}F", "C")
        after = js.call("INFO")
    assert after["type"] == "io.nats.jetstream.api.v1.account_info_response"
    assert after["domain"] == "D"
    assert after["streams"] - before["streams"] == 2
    assert after["consumers"] - before["consumers"] == 1
    assert after["storage"] - before["storage"] == 30 + len(unique) + 1 + 100
    assert after["memory"] - before["memory"] == 16 + len(unique) + 1 + 100
    assert after["api"]["total"] > before["api"]["total"]


def test_errors_are_counted(js: JetStream) -> None:
    before = js.call("INFO")["api"]["errors"]
    js.error("STREAM.INFO.NOPE")
    assert js.call("INFO")["api"]["errors"] == before + 1


def test_account_limits_are_shown_and_kept(login: Callable[[str], JetStream]) -> None:
    with login("b") as js:
        limits = js.call("INFO")["limits"]
        assert limits["max_memory"] == 1 << 20
        assert limits["max_storage"] == 2 << 20
        assert (limits["max_streams"], limits["max_consumers"], limits["max_ack_pending"]) == (2, 1, 50)
        assert limits["max_bytes_required"] is True
        assert js.error("STREAM.CREATE.X", {"name": "X"})[1] == 10113
        big = {"name": "X", "max_bytes": 3_000_000}
        assert js.error("STREAM.CREATE.X", big)[1] == 10047
        assert js.error("STREAM.CREATE.X", big | {"storage": "memory"})[1] == 10028
        js.create("X", max_bytes=1000)
        js.create("Y", max_bytes=1000)
        reserved = js.call("INFO")
        assert (reserved["reserved_memory"], reserved["reserved_storage"]) == (2000, 0)
        assert js.error("STREAM.CREATE.Z", {"name": "Z", "max_bytes": 1000})[1] == 10027
        js.consumer("X", "C", max_ack_pending=5)
        second = {"stream_name": "X", "config": {"durable_name": "E", "ack_policy": "explicit"}}
        assert js.error("CONSUMER.CREATE.X.E", second)[1] == 10026
        js.call("STREAM.DELETE.X")
        js.call("STREAM.DELETE.Y")
        assert js.call("INFO")["reserved_memory"] == 0


def test_an_account_without_jetstream_is_shown_as_that(login: Callable[[str], JetStream]) -> None:
    with login("plain") as js:
        assert js.error("INFO") == (503, 10039, "JetStream not enabled for account")


def test_the_domain_form_is_served_too(login: Callable[[str], JetStream]) -> None:
    with login("a") as js:
        js.prefix = "$JS.D.API"
        assert js.call("INFO")["domain"] == "D"
        js.prefix = "$JS.OTHER.API"
        assert js.raw("INFO").status == "503"


def test_acks_name_the_domain(js: JetStream, unique: str) -> None:
    js.create(unique)
    expected = f'{{"stream":"{unique}","domain":"D","seq":1}}'
    assert js.wire.request(unique).body == expected.encode()


def test_streams_of_two_accounts_are_apart(login: Callable[[str], JetStream], unique: str) -> None:
    with login("a") as a, login("b") as b:
        a.create(unique, max_bytes=1000)
        b.create(unique, max_bytes=1000)
        a.publish(unique)
        assert a.state(unique)["messages"] == 1
        assert b.state(unique)["messages"] == 0
        b.call(f"STREAM.DELETE.{unique}")


def test_a_server_without_jetstream_has_no_api(serve: Callable[[str], ServerProcess]) -> None:
    with JetStream.of(serve("listen: 127.0.0.1:<client>\n")) as js:
        assert js.raw("INFO").status == "503"
        assert "jetstream" not in js.wire.info


def test_info_shows_jetstream_and_domain(js: JetStream) -> None:
    assert js.wire.info["jetstream"] is True
    assert js.wire.info["domain"] == "D"
    assert js.wire.info["api_lvl"] >= 1
