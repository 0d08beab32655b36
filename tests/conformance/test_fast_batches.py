"""Fast batches, `allow_batched`: replies, the flow, gaps, errors, duplicates, and how a batch ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg, Wire

START, APPEND, COMMIT, END, PING = range(5)


@pytest.fixture(params=["memory", "file"])
def batches(js: JetStream, unique: str, request: pytest.FixtureRequest) -> str:
    """A stream that takes fast batches on <name>.*."""
    js.create(unique, subjects=[f"{unique}.*"], allow_batched=True, storage=request.param)
    return unique


class Batch:
    """One batch of a client."""

    def __init__(
        self, js: JetStream, stream: str, name: str = "b1", *, flow: int = 10, gap: str = "fail"
    ) -> None:
        self.wire: Wire = js.wire
        self.stream, self.place = stream, 0
        self.inbox = js.wire.inbox()
        self.wire.sub(f"{self.inbox}.>", self.inbox)
        self.lead = f"{self.inbox}.{name}.{flow}.{gap}"

    def send(self, *, commit: bool = False, **headers: str) -> list[Any]:
        """Send the next message; return what the server says before it answers a PING."""
        self.place += 1
        kind = COMMIT if commit else START if self.place == 1 else APPEND
        return self.at(self.place, kind, **headers)

    def at(self, place: int, kind: int, **headers: str) -> list[Any]:
        """Send a message as the one at `place`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = f"{self.lead}.{place}.{kind}.$FI"
        return self.raw(reply, f"{place}", given)

    def raw(self, reply: str, body: str = "x", headers: dict[str, str] | None = None) -> list[Any]:
        """Publish with any reply subject; return the answers, or the codes of errors."""
        self.wire.pub(f"{self.stream}.a", body.encode(), reply, headers=headers or None)
        # The stream answers after a publish that came later, too, which is acknowledged.
        last = self.wire.inbox()
        self.wire.pub(f"{self.stream}.x", b"", last)
        found: list[Any] = []
        while True:
            frame = self.wire.msg()
            assert isinstance(frame, Msg)
            if frame.subject == last:
                return found
            document = frame.json()
            error = document.get("error") if document.get("type") != "err" else None
            found.append(error["err_code"] if error else document)


def bodies(js: JetStream, stream: str) -> list[str]:
    """What was stored on <name>.a, in order."""
    found = []
    for seq in range(1, js.state(stream)["last_seq"] + 1):
        message = js.get(stream, seq=seq)
        if message["subject"].endswith(".a"):
            found.append(__import__("base64").b64decode(message.get("data", "")).decode())
    return found


def flow(place: int, every: int) -> dict[str, Any]:
    return {"type": "ack", "seq": place, "msgs": every}


def ended(stream: str, sequence: int, count: int, batch: str = "b1") -> dict[str, Any]:
    return {"stream": stream, "seq": sequence, "batch": batch, "count": count}


def test_a_batch_is_stored_as_it_comes(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    assert batch.send() == [flow(0, 10)]
    assert [batch.send() for _ in range(8)] == [[]] * 8
    assert bodies(js, batches) == [str(n) for n in range(1, 10)]
    assert batch.send() == [flow(10, 10)]
    assert batch.send() == []
    assert batch.send(commit=True) == [ended(batches, 23, 12)]
    assert batch.send() == [10208]
    message = js.get(batches, seq=23)
    assert "hdrs" not in message


def test_a_batch_of_one(js: JetStream, batches: str) -> None:
    assert Batch(js, batches).send(commit=True) == [ended(batches, 1, 1)]


def test_a_batch_may_end_without_a_message(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    batch.send()
    batch.send()
    assert batch.at(3, END) == [ended(batches, 3, 2)]
    assert bodies(js, batches) == ["1", "2"]


@pytest.mark.parametrize(
    ("reply", "err_code"),
    [
        ("{i}.b.10.fail.0.0.$FI", 10206),
        ("{i}.b.10.fail.2.0.$FI", 10206),
        ("{i}.b.10.fail.1.1.$FI", 10206),
        ("{i}.b.10.fail.1.3.$FI", 10206),
        ("{i}.b.10.fail.1.5.$FI", 10206),
        ("{i}.b.10.fail.x.0.$FI", 10206),
        ("{i}.b.10.maybe.1.0.$FI", 10206),
        ("{i}.b.10.fail.18446744073709551615.0.$FI", 10206),
        ("{i}.x.$FI", 10206),
        ("{i}." + "b" * 65 + ".10.fail.1.0.$FI", 10207),
        ("{i}.b.10.fail.2.1.$FI", 10208),
        ("{i}.b.10.fail.2.4.$FI", 10208),
    ],
)
def test_replies_that_belong_to_no_batch(js: JetStream, batches: str, reply: str, err_code: int) -> None:
    batch = Batch(js, batches)
    assert batch.raw(reply.format(i=batch.inbox)) == [err_code]
    assert bodies(js, batches) == []


@pytest.mark.parametrize(
    ("flow_wanted", "every"), [("0", 10), ("x", 10), ("70000", 500), ("600", 500), ("7", 7)]
)
def test_the_first_answer_says_the_pace(js: JetStream, batches: str, flow_wanted: str, every: int) -> None:
    batch = Batch(js, batches)
    assert batch.raw(f"{batch.inbox}.b.{flow_wanted}.fail.1.0.$FI") == [flow(0, every)]


def test_a_second_batch_begins_slowly(js: JetStream, batches: str) -> None:
    one, two = Batch(js, batches, "one", flow=500), Batch(js, batches, "two", flow=8)
    assert one.send() == [flow(0, 500)]
    assert two.send() == [flow(0, 1), flow(1, 2)]
    assert two.send() == []
    assert two.send() == [flow(3, 4)]
    assert [two.send() for _ in range(4)] == [[], [], [], [flow(7, 8)]]


def test_a_gap_ends_a_batch(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    batch.send()
    gap = {"type": "gap", "last_seq": 2, "seq": 4}
    assert batch.at(4, APPEND) == [gap, ended(batches, 1, 1)]
    assert batch.at(5, APPEND) == [10208]
    assert bodies(js, batches) == ["1"]


def test_a_gap_that_is_allowed_is_told_of(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches, gap="ok", flow=4)
    batch.send()
    assert batch.at(4, APPEND) == [{"type": "gap", "last_seq": 2, "seq": 4}, flow(4, 4)]
    assert batch.at(5, COMMIT) == [ended(batches, 5, 5)]
    assert bodies(js, batches) == ["1", "4", "5"]


@pytest.mark.parametrize("gap", ["ok", "fail"])
def test_a_place_that_came_before_ends_a_batch(js: JetStream, batches: str, gap: str) -> None:
    batch = Batch(js, batches, gap=gap)
    batch.send()
    batch.send()
    assert batch.at(2, APPEND) == [{"type": "gap", "last_seq": 3, "seq": 2}, ended(batches, 3, 2)]
    assert bodies(js, batches) == ["1", "2"]


def test_a_ping_asks_how_far_the_batch_came(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches, flow=2)
    batch.send()
    assert batch.at(1, PING) == [flow(0, 2)]
    assert batch.send() == [flow(2, 2)]
    assert batch.at(2, PING) == [flow(2, 2)]
    assert batch.at(4, PING) == [{"type": "gap", "last_seq": 3, "seq": 5}, ended(batches, 4, 2)]


def test_a_ping_after_a_gap_that_is_allowed(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches, gap="ok", flow=4)
    batch.send()
    assert batch.at(3, PING) == [{"type": "gap", "last_seq": 2, "seq": 4}, flow(0, 4)]
    assert batch.at(9, PING) == [{"type": "gap", "last_seq": 4, "seq": 10}, flow(8, 4)]
    assert batch.at(10, COMMIT)[-1]["count"] == 10


def test_a_refused_message_ends_a_batch(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    batch.send()
    error, end = batch.send(Nats_Expected_Stream="OTHER")
    assert (error["type"], error["seq"], error["error"]["err_code"]) == ("err", 2, 10060)
    assert end == ended(batches, 1, 1)
    assert batch.send() == [10208]


def test_a_refused_message_is_told_of_where_gaps_are_allowed(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches, gap="ok")
    batch.send()
    [error] = batch.send(Nats_Expected_Stream="OTHER")
    assert (error["type"], error["seq"]) == ("err", 2)
    assert batch.send(commit=True) == [ended(batches, 4, 3)]
    assert bodies(js, batches) == ["1", "3"]


@pytest.mark.parametrize("commit", [False, True])
def test_a_first_message_that_is_refused(js: JetStream, batches: str, commit: bool) -> None:
    batch = Batch(js, batches)
    first = [] if commit else [flow(0, 10)]
    assert batch.send(commit=commit, Nats_Expected_Stream="OTHER") == [*first, 10060]
    assert batch.at(2, APPEND) == [10208]


def test_duplicates_are_left_out(js: JetStream, batches: str) -> None:
    js.publish(f"{batches}.x", b"", {"Nats-Msg-Id": "known"})
    batch = Batch(js, batches, flow=2)
    assert batch.send(Nats_Msg_Id="new") == [flow(0, 2)]
    assert batch.send(Nats_Msg_Id="known") == [flow(2, 2)]
    assert batch.send() == []
    assert batch.send(commit=True, Nats_Msg_Id="new")[-1]["count"] == 4
    assert bodies(js, batches) == ["1", "3"]


def test_a_batch_of_one_duplicate(js: JetStream, batches: str) -> None:
    js.publish(f"{batches}.x", b"", {"Nats-Msg-Id": "known"})
    assert Batch(js, batches).send(commit=True, Nats_Msg_Id="known") == [
        ended(batches, 1, 1) | {"duplicate": True}
    ]


def test_the_answers_read_byte_for_byte(js: JetStream, batches: str) -> None:
    inbox = js.wire.inbox()
    js.wire.sub(f"{inbox}.>")
    for place, kind in ((1, START), (2, COMMIT)):
        js.wire.pub(f"{batches}.a", b"", f"{inbox}.b.5.fail.{place}.{kind}.$FI")
    assert js.wire.msg().body == b'{"type":"ack","seq":0,"msgs":5}'
    assert js.wire.msg().body == b'{"stream":"%b","seq":2,"batch":"b","count":2}' % batches.encode()


def test_a_required_level_ends_a_batch(js: JetStream, batches: str) -> None:
    batch = Batch(js, batches)
    assert batch.send(Nats_Required_Api_Level="99") == [10185]
    assert batch.at(2, APPEND) == [10208]


@pytest.mark.parametrize(
    ("config", "err_code"),
    [({"max_msg_size": 0}, 0), ({"max_msg_size": 1}, 10054), ({"sealed": True}, 10109)],
)
def test_what_no_message_may_be(js: JetStream, unique: str, config: dict[str, Any], err_code: int) -> None:
    js.create(unique, subjects=[f"{unique}.*"], allow_batched=True)
    js.update(unique, **config)
    batch = Batch(js, unique)
    answers = batch.raw(f"{batch.inbox}.b.5.fail.1.0.$FI", "too long")
    assert answers == [err_code or flow(0, 5)]


def test_a_stream_shows_the_level_that_it_needs(js: JetStream, batches: str) -> None:
    assert js.info(batches)["config"]["metadata"]["_nats.req.level"] == "4"
    js.update(batches, allow_batched=False)
    assert js.info(batches)["config"].get("allow_batched", False) is False
    js.update(batches, allow_batched=True)
    assert json.dumps(Batch(js, batches).send()) == json.dumps([flow(0, 10)])


# Streams of one account, which another one publishes to through an import, with few batches at a time.
SHARED = """
listen: 127.0.0.1:<client>
server_name: S
jetstream {
  store_dir: "<store>", max_mem: 100MB, max_file: 100MB
  limits { batch { max_inflight_per_stream: 2, max_inflight_total: 3, timeout: "1s" } }
}
accounts {
  SYS { users: [{ user: admin, password: p }] }
  OWNER {
    users: [{ user: owner, password: p }]
    jetstream: enabled
    exports: [{ service: "shared.>" }, { service: "plain.>" }]
  }
  GUEST {
    users: [{ user: guest, password: p }]
    imports: [
      { service: { account: OWNER, subject: "shared.>" } }
      { service: { account: OWNER, subject: "plain.>" } }
    ]
  }
}
system_account: SYS
"""


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Callable[[str], JetStream]:
    return lambda user: JetStream.of(serve(SHARED), **{"user": user, "pass": "p"})


@pytest.mark.parametrize(
    ("config", "err_code"), [({}, 10205), ({"max_msg_size": 1}, 10054), ({"max_msgs": 9}, 10205)]
)
def test_a_stream_that_takes_no_fast_batches_says_so(
    js: JetStream, unique: str, config: dict[str, Any], err_code: int
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], **config)
    batch = Batch(js, unique)
    for reply in (f"{batch.lead}.1.0.$FI", f"{batch.lead}.2.1.$FI", f"{batch.inbox}.what.$FI"):
        assert batch.raw(reply, "too long") == [err_code]
    assert js.state(unique)["messages"] == 3  # those that `raw` publishes besides


def test_a_stream_without_answers_takes_no_fast_batches_in_silence(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.a"], no_ack=True)
    js.wire.pub(f"{unique}.a", b"x", f"{js.wire.inbox()}.b.10.fail.1.0.$FI")
    js.wire.pub(f"{unique}.a", b"y", js.wire.inbox())
    eventually(lambda: js.state(unique)["messages"] == 1)


def test_a_batch_through_an_import(login: Callable[[str], JetStream]) -> None:
    with login("owner") as owner, login("guest") as guest:
        owner.create("SHARED", subjects=["shared.*"], allow_batched=True)
        owner.create("PLAIN", subjects=["plain.*"])
        inbox = guest.wire.inbox()
        guest.wire.sub(f"{inbox}.>", inbox)
        guest.wire.pub("plain.a", b"x", f"{inbox}.b.10.fail.1.0.$FI")
        assert guest.wire.msg().json()["error"]["err_code"] == 10205
        for place, kind in ((1, START), (2, APPEND), (3, COMMIT)):
            guest.wire.pub("shared.a", b"x", f"{inbox}.b.10.fail.{place}.{kind}.$FI")
        assert guest.wire.msg().json() == flow(0, 10)
        assert guest.wire.msg().json() == ended("SHARED", 3, 3, "b")
        assert owner.state("SHARED")["messages"] == 3 and owner.state("PLAIN")["messages"] == 0


def test_a_server_has_so_many_fast_batches(login: Callable[[str], JetStream]) -> None:
    with login("owner") as js:
        for name in ("A", "B", "C"):
            js.create(name, subjects=[f"{name}.*"], allow_batched=True)
        batches = [Batch(js, name, each) for name in "AB" for each in ("1", "2")]
        answers = [batch.send() for batch in batches]
        assert answers == [[flow(0, 10)], [flow(0, 1), flow(1, 2)], [flow(0, 10)], [10211]]
        assert Batch(js, "C").send() == [10211]
        assert batches[0].send(commit=True) == [ended("A", 5, 2, "1")]
        assert Batch(js, "C").send() == [flow(0, 10)]
        eventually(lambda: Batch(js, "C", "later").send() != [10211])  # the others are over, unfinished
        for name in ("A", "B", "C"):
            js.call(f"STREAM.DELETE.{name}")


def test_the_system_account_hears_of_abandoned_batches(login: Callable[[str], JetStream]) -> None:
    with login("admin") as admin, login("owner") as js:
        js.create("ATOMIC", subjects=["atomic.*"], allow_atomic=True)
        subject = "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.ATOMIC"
        admin.wire.sub(subject, sid="adv")
        admin.wire.sync()
        js.wire.pub("atomic.a", b"x", headers={"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1"})
        event = admin.wire.msg().json()
        assert set(event) == {"type", "id", "timestamp", "account", "stream", "batch", "reason"}
        assert (event["account"], event["batch"], event["reason"]) == ("OWNER", "b", "timeout")
        js.call("STREAM.DELETE.ATOMIC")
