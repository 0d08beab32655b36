"""Feature flags: what they change on the wire, and where they are shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: S
feature_flags { js_ack_fc_v2: true, js_api_reply_v2: true, js_raft_delete_range: true, other: true }
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB, domain: hub }
accounts {
  SYS { users: [{ user: admin, password: p }] }
  ACC { users: [{ user: acc, password: p }], jetstream: enabled }
}
system_account: SYS
"""
FLAGS = {
    "js_ack_fc_v2": True,
    "js_api_reply_v2": True,
    "js_raft_delete_range": True,
    "js_snapshot_sources": False,
}


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Callable[[str], JetStream]:
    return lambda user: JetStream.of(serve(CONFIG), **{"user": user, "pass": "p"})


def test_flags_are_shown(login: Callable[[str], JetStream]) -> None:
    with login("admin") as admin:
        answer = admin.wire.request("$SYS.REQ.SERVER.PING.VARZ").json()
        assert answer["data"]["feature_flags"] == answer["server"]["feature_flags"] == FLAGS


def test_acknowledgements_name_domain_and_account(login: Callable[[str], JetStream]) -> None:
    with login("acc") as js:
        js.create("S", subjects=["s"])
        js.consumer("S", "C")
        js.fill("s", 3)
        for batch in (1, 2):
            messages, _ = js.pull("S", "C", batch=batch)
            for message in messages:
                tokens = message.reply.split(".")
                assert tokens[:3] == ["$JS", "ACK", "hub"] and tokens[4:6] == ["S", "C"] and len(tokens) == 11
                assert len(tokens[3]) == 8
                js.wire.request(message.reply, b"+ACK")
        assert js.consumer_info("S", "C")["ack_floor"]["stream_seq"] == 3
        js.call("STREAM.DELETE.S")


def test_replies_to_mirrors_name_the_origin(login: Callable[[str], JetStream]) -> None:
    with login("acc") as js:
        js.create("S", subjects=["s"])
        js.wire.sub("$JSC.R.>", sid="9")
        js.create("M", mirror={"name": "S"})
        answer = js.wire.msg()
        tokens = answer.subject.split(".")
        assert tokens[:3] == ["$JSC", "R", "_"] and tokens[4] == "S" and len(tokens) == 7
        js.publish("s", b"x")
        eventually(lambda: js.state("M")["messages"] == 1)
        for name in "MS":
            js.call(f"STREAM.DELETE.{name}")
