"""Stream templates on a disk that fails, and the old API where nobody answers, without sockets."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from lib.fake_disk import FakeDisk, PowerCut
from lib.streams import JetStreamFixture, Spy
from pyjs.server.accounts.subscription import ConnectionKind, InternalEndpoint
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.legacy import answers, bodies
from pyjs.server.jetstream.legacy.api import MOST, SECONDS
from pyjs.server.jetstream.legacy.table import TABLE, row_of

TEMPLATE = {"name": "T", "config": {"subjects": ["t.*"]}, "max_streams": 5}


class Client(InternalEndpoint):
    """A client of an account, as far as a service asks."""

    kind = ConnectionKind.CLIENT

    def may_also_publish(self, *_: Any) -> bool:
        return True


@pytest.fixture
def js(tmp_path: Any) -> Any:
    fixture = JetStreamFixture(str(tmp_path), legacy_api=True)
    yield fixture
    fixture.close()


# --- the table


@pytest.mark.parametrize(
    ("subject", "target"),
    [
        ("$JS.STREAM.LIST", "STREAM.NAMES"),
        ("$JS.STREAM.S.CREATE", "STREAM.CREATE.S"),
        ("$JS.STREAM.{0}.CREATE", "STREAM.CREATE.{0}"),
        ("$JS.STREAM.INFO.CREATE", "STREAM.CREATE.INFO"),  # the first row that matches
        ("$JS.STREAM.INFO.S", "STREAM.INFO.S"),
        ("$JS.STREAM.S.CONSUMER.C.NEXT", "CONSUMER.MSG.NEXT.S.C"),
        ("$JS.NEXT.S.C", "CONSUMER.MSG.NEXT.S.C"),
        ("$JS.TEMPLATE.T.DELETE", "STREAM.TEMPLATE.DELETE.T"),
    ],
)
def test_a_subject_and_its_target(subject: str, target: str) -> None:
    row = row_of(subject)
    assert row is not None
    assert row.target(subject) == target


@pytest.mark.parametrize("subject", ["$JS.API.INFO", "$JS.STREAM.API.INFO", "$JS.NEXT.S", "$JS.STREAM.S"])
def test_what_is_no_old_subject(subject: str) -> None:
    assert row_of(subject) is None


def test_no_row_leads_to_an_old_subject() -> None:
    assert all(row_of(f"$JS.API.{row.subject}") is None for row in TABLE)


@pytest.mark.parametrize("body", [b"1 2", b"-1", b"1e3", b"9" * 21, b"\xd9\xa1", b"one"])
def test_a_sequence_is_a_plain_number(body: bytes) -> None:
    with pytest.raises(bodies.OldRequestError, match="bad request"):
        bodies.sequence(body)
    with pytest.raises(bodies.OldRequestError, match="bad sequence argument"):
        bodies.sequence_or_last(body)


# --- where nobody answers


def test_what_nobody_answers_is_forgotten(js: JetStreamFixture) -> None:
    js.api.stop()
    js.account.subscribe("$JS.API.INFO", lambda _: None)
    heard = Spy(js.account, "_INBOX.me")
    for _ in range(MOST + 1):
        js.account.publish("$JS.ENABLED", reply="_INBOX.me", source=Client())
    assert heard.bodies == [answers.refusal("insufficient resources")]
    js.clock.advance(SECONDS * SECOND)
    js.account.publish("$JS.ENABLED", reply="_INBOX.me", source=Client())
    assert len(heard.bodies) == 1
    js.api.start()


def test_only_clients_are_served(js: JetStreamFixture) -> None:
    js.stream("S")
    assert js.publish("$JS.STREAM.S.DELETE") == b""
    assert js.call("STREAM.INFO.S")["config"]["name"] == "S"


# --- a disk that fails


def on(disk: FakeDisk) -> JetStreamFixture:
    return JetStreamFixture("store", fs=disk, legacy_api=True)


def test_a_template_that_cannot_be_written_is_refused() -> None:
    disk = FakeDisk()
    js = on(disk)
    disk.fail("sync", path="templates")
    error = js.call("STREAM.TEMPLATE.CREATE.T", TEMPLATE)["error"]
    assert error["err_code"] == 10066
    assert js.call("STREAM.TEMPLATE.NAMES")["streams"] == []
    assert "error" not in js.call("STREAM.TEMPLATE.CREATE.T", TEMPLATE)
    js.close()


def test_templates_that_cannot_be_listed_are_not_made_again() -> None:
    disk = FakeDisk()
    js = on(disk)
    js.call("STREAM.TEMPLATE.CREATE.T", TEMPLATE)
    js.close()
    disk.fail("names", path="templates")
    js = on(disk)
    for suffix, body in (("CREATE.T", TEMPLATE), ("NAMES", None), ("DELETE.T", None)):
        assert js.call(f"STREAM.TEMPLATE.{suffix}", body)["error"]["err_code"] == 10008
    js.close()
    js = on(disk)
    assert js.call("STREAM.TEMPLATE.NAMES")["streams"] == ["T"]
    js.close()


def test_a_stream_that_cannot_be_made_leaves_room_for_another() -> None:
    disk = FakeDisk()
    js = on(disk)
    js.call("STREAM.TEMPLATE.CREATE.T", TEMPLATE | {"max_streams": 1})
    disk.fail("sync", path="t_a")
    assert json.loads(js.publish("t.a"))["error"]["err_code"] == 10077
    assert json.loads(js.publish("t.b")) == {"stream": "t_b", "seq": 1}
    js.close()


def test_a_power_cut_takes_back_nothing_that_was_confirmed() -> None:
    operations, states = 0, set()
    while "DELETE" not in (confirmed := cut_after(operations)):
        states.add(tuple(confirmed))
        operations += 1
    assert states == {(), ("CREATE",), ("CREATE", "publish")}


def cut_after(operations: int) -> list[str]:
    """Cut the power after so many operations of the disk; return what had been confirmed by then."""
    disk = FakeDisk()
    begun: list[str] = []
    confirmed: list[str] = []
    js = on(disk)
    disk.cut_after(operations)
    with suppress(PowerCut):
        for what in ("CREATE", "publish", "DELETE"):
            begun.append(what)
            if what == "publish":
                done = b'"seq":1' in js.publish("t.a")
            else:
                done = "error" not in js.call(
                    f"STREAM.TEMPLATE.{what}.T", TEMPLATE if what == "CREATE" else None
                )
            if done:
                confirmed.append(what)
    disk.cut_after(None)
    disk.crash(lambda _: 0)
    js = on(disk)
    templates, streams = js.call("STREAM.TEMPLATE.NAMES")["streams"], js.call("STREAM.NAMES")["streams"]
    assert templates == ["T"] or not streams, "a stream without its template"
    if "DELETE" in confirmed:
        assert (templates, streams) == ([], None)
    elif "DELETE" not in begun:
        assert "CREATE" not in confirmed or templates == ["T"]
        assert "publish" not in confirmed or js.call("STREAM.INFO.t_a")["state"]["messages"] == 1
    js.close()
    return confirmed
