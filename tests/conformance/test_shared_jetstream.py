"""JetStream across accounts of one server: the API, pulls, pushes and copies through exports and imports."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
accounts {
  OWNER {
    users: [{ user: owner, password: p }]
    jetstream: enabled
    exports: [
      { service: "$JS.API.>", response_type: stream }
      { service: "$JS.ACK.>" }
      { service: "$JS.FC.>" }
      { service: "orders.>" }
      { stream: "deliver.>" }
    ]
  }
  GUEST {
    users: [{ user: guest, password: p }]
    imports: [
      { service: { account: OWNER, subject: "$JS.API.>" }, to: "OWNER.API.>" }
      { service: { account: OWNER, subject: "$JS.ACK.>" } }
      { service: { account: OWNER, subject: "orders.>" } }
      { stream: { account: OWNER, subject: "deliver.>" } }
    ]
  }
  COPIER {
    users: [{ user: copier, password: p }]
    jetstream: enabled
    imports: [
      { service: { account: OWNER, subject: "$JS.API.>" }, to: "OWNER.API.>" }
      { service: { account: OWNER, subject: "$JS.FC.>" } }
      { stream: { account: OWNER, subject: "deliver.>" } }
    ]
  }
}
"""


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Callable[..., JetStream]:
    server = serve(CONFIG)

    def connect(user: str, prefix: str = "$JS.API") -> JetStream:
        js = JetStream.of(server, **{"user": user, "pass": "p"})
        js.prefix = prefix
        return js

    return connect


def test_the_api_is_shared(login: Callable[..., JetStream], unique: str) -> None:
    with login("owner") as owner, login("guest", "OWNER.API") as guest:
        guest.create(unique, subjects=[f"orders.{unique}.*"])
        assert owner.info(unique)["config"]["name"] == unique
        assert unique in guest.call("STREAM.NAMES")["streams"]
        assert guest.error("STREAM.INFO.NOPE")[1] == 10059
        guest.call(f"STREAM.DELETE.{unique}")
        assert owner.error(f"STREAM.INFO.{unique}")[1] == 10059


def test_a_guest_publishes_and_is_acknowledged(login: Callable[..., JetStream], unique: str) -> None:
    with login("owner") as owner, login("guest") as guest:
        owner.create(unique, subjects=[f"orders.{unique}.*"])
        ack = guest.publish(f"orders.{unique}.a", "x", {"Mine": "y"})
        assert ack == {"stream": unique, "seq": 1}
        stored = owner.get(unique, seq=1)
        header = base64.b64decode(stored["hdrs"])
        assert header == b"NATS/1.0\r\nMine: y\r\n\r\n"


def test_a_guest_pulls_and_acks(login: Callable[..., JetStream], unique: str) -> None:
    with login("owner") as owner, login("guest", "OWNER.API") as guest:
        owner.create(unique, subjects=[f"orders.{unique}"])
        owner.fill(f"orders.{unique}", 5)
        owner.consumer(unique, "C")
        messages, end = guest.pull(unique, "C", 3)
        assert [m.body for m in messages] == [b"1", b"2", b"3"]
        assert end == ""
        assert messages[0].subject == f"orders.{unique}"
        assert messages[0].reply.startswith(f"$JS.ACK.{unique}.C.1.1.1.")
        for message in messages:
            guest.wire.pub(message.reply, "+ACK")
        eventually(lambda: owner.consumer_info(unique, "C")["ack_floor"]["stream_seq"] == 3)
        messages, end = guest.pull(unique, "C", 9, no_wait=True, expires=0)
        assert (len(messages), end) == (2, "404 No Messages")


def test_a_guest_waits_for_what_comes(login: Callable[..., JetStream], unique: str) -> None:
    with login("owner") as owner, login("guest", "OWNER.API") as guest:
        owner.create(unique, subjects=[f"orders.{unique}"])
        owner.consumer(unique, "C")
        guest.ask(unique, "C", {"batch": 2, "expires": 5_000_000_000})
        eventually(lambda: owner.consumer_info(unique, "C")["num_waiting"] == 1)
        owner.publish(f"orders.{unique}", "1")
        owner.publish(f"orders.{unique}", "2")
        assert [m.body for m in guest.wire.msgs(2)] == [b"1", b"2"]


def test_a_guest_is_pushed_to_through_an_imported_stream(
    login: Callable[..., JetStream], unique: str
) -> None:
    with login("owner") as owner, login("guest", "OWNER.API") as guest:
        owner.create(unique, subjects=[f"orders.{unique}"])
        owner.fill(f"orders.{unique}", 3)
        guest.wire.sub(f"deliver.{unique}", "push")
        guest.consumer(unique, "C", deliver_subject=f"deliver.{unique}")
        messages = guest.wire.msgs(3)
        assert [m.body for m in messages] == [b"1", b"2", b"3"]
        assert messages[0].reply.startswith(f"$JS.ACK.{unique}.C.1.1.1.")


@pytest.mark.parametrize("kind", ["mirror", "sources"])
def test_a_copy_in_another_account(login: Callable[..., JetStream], unique: str, kind: str) -> None:
    with login("owner") as owner, login("copier") as copier:
        owner.create(unique, subjects=[f"orders.{unique}"])
        owner.fill(f"orders.{unique}", 5)
        origin = {"name": unique, "external": {"api": "OWNER.API", "deliver": f"deliver.{unique}"}}
        copier.create(unique, **{kind: origin if kind == "mirror" else [origin]})
        eventually(lambda: copier.state(unique)["messages"] == 5)
        owner.fill(f"orders.{unique}", 5)
        eventually(lambda: copier.state(unique)["messages"] == 10)
        if kind == "mirror":
            assert copier.get(unique, seq=7) == owner.get(unique, seq=7)


def test_the_audit_names_the_account_that_asked(login: Callable[..., JetStream], unique: str) -> None:
    with login("owner") as owner, login("guest", "OWNER.API") as guest:
        owner.wire.sub("$JS.EVENT.ADVISORY.API", "adv")
        owner.wire.sync()
        guest.error(f"STREAM.INFO.{unique}")
        received = json.loads(owner.wire.msg().body)
        assert received["subject"] == f"$JS.API.STREAM.INFO.{unique}"
        assert received["client"]["acc"] == "GUEST"
