"""The API of early 2020 by a socket: its subjects, its answers, and that it opens nothing that is shut."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from lib import pyjs_server
from lib.jetstream import ApiFailureError, JetStream
from lib.process import ServerProcess
from lib.wire import Msg

Ask = Callable[..., Msg]


def config_of(name: str, **more: Any) -> str:
    return json.dumps({"name": name, "subjects": [f"{name}.>"], "storage": "memory"} | more)


@pytest.mark.parametrize("body", ["", ".", "anything"])
def test_enabled(old: Ask, body: str) -> None:
    assert old("ENABLED", body).body == b"+OK"


def test_info_has_the_fields_of_2020(old: Ask) -> None:
    info = old("INFO", ".").json()
    assert [*info] == ["memory", "storage", "streams", "limits"]
    assert [*info["limits"]] == ["max_memory", "max_storage", "max_streams", "max_consumers"]


def test_a_stream_from_creation_to_deletion(old: Ask, js: JetStream, unique: str) -> None:
    assert old(f"STREAM.{unique}.CREATE", config_of(unique)).body == b"+OK"
    js.publish(f"{unique}.a", b"hello")
    shown = old(f"STREAM.{unique}.INFO").json()
    assert [*shown] == ["config", "state"]
    assert shown["state"]["messages"] == 1
    assert unique in old("STREAM.LIST").json()
    assert unique in old("STREAMS", ".").json()
    assert old(f"STREAM.{unique}.UPDATE", config_of(unique, max_msgs=7)).body == b"+OK"
    assert js.info(unique)["config"]["max_msgs"] == 7
    assert old(f"STREAM.{unique}.PURGE").body == b"+OK"
    assert js.state(unique)["messages"] == 0
    assert old(f"STREAM.{unique}.DELETE").body == b"+OK"
    assert old(f"STREAM.{unique}.INFO").body == b"-ERR 'stream not found'"


def test_messages_by_sequence(old: Ask, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    js.publish(f"{unique}.a", b"one")
    js.publish(f"{unique}.b", b"two")
    first = old(f"STREAM.{unique}.MSG.BYSEQ", "1").json()
    assert (first["subject"], first["seq"], base64.b64decode(first["data"])) == (f"{unique}.a", 1, b"one")
    assert old(f"STREAM.{unique}.MSG.BYSEQ").json()["seq"] == 2
    assert old(f"STREAM.{unique}.MSG.BYSEQ", "two").body == b"-ERR 'bad sequence argument'"
    assert old(f"STREAM.{unique}.MSG.BYSEQ", "9").body == b"-ERR 'no message found'"
    assert old(f"STREAM.{unique}.MSG.DELETE", "1").body == b"+OK"
    assert old(f"STREAM.{unique}.MSG.DELETE", "").body == b"-ERR 'bad request'"
    assert js.state(unique)["messages"] == 1


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({"deliver_all": True}, {"deliver_policy": "all"}),
        ({"deliver_last": True}, {"deliver_policy": "last"}),
        ({"stream_seq": 1}, {"deliver_policy": "by_start_sequence", "opt_start_seq": 1}),
        (
            {"start_time": "2020-03-01T00:00:00Z"},
            {"deliver_policy": "by_start_time", "opt_start_time": "2020-03-01T00:00:00Z"},
        ),
        ({"start_time": "0001-01-01T00:00:00Z"}, {"deliver_policy": "new"}),
        ({"deliver_policy": "last"}, {"deliver_policy": "last"}),
    ],
)
def test_where_a_consumer_begins(
    old: Ask, js: JetStream, unique: str, given: dict[str, Any], policy: dict[str, Any]
) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    wanted = {"delivery_subject": f"to.{unique}", "durable_name": "TAIL", "ack_policy": "none", **given}
    made = old(f"STREAM.{unique}.CONSUMER.TAIL.CREATE", json.dumps({"stream_name": unique, "config": wanted}))
    assert made.body == b"+OK"
    config = js.consumer_info(unique, "TAIL")["config"]
    assert {name: config[name] for name in policy} == policy
    assert config["deliver_subject"] == f"to.{unique}"
    shown = old(f"STREAM.{unique}.CONSUMER.TAIL.INFO").json()["config"]
    assert shown["delivery_subject"] == f"to.{unique}"
    known = {
        name: value for name, value in given.items() if name in ("deliver_all", "deliver_last", "stream_seq")
    }
    assert known.items() <= shown.items()
    assert old(f"STREAM.{unique}.CONSUMERS").json() == ["TAIL"]
    assert old(f"STREAM.{unique}.CONSUMER.TAIL.DELETE").body == b"+OK"
    assert old(f"STREAM.{unique}.CONSUMERS").json() == []


def test_an_ephemeral_consumer_is_named_in_the_answer(old: Ask, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    js.wire.sub(f"to.{unique}")
    request = {"stream_name": unique, "config": {"delivery_subject": f"to.{unique}", "deliver_all": True}}
    made = old(f"STREAM.{unique}.EPHEMERAL.CONSUMER.CREATE", json.dumps(request)).body.decode()
    assert made.startswith("+OK ")
    assert js.consumer_info(unique, made.removeprefix("+OK "))["config"]["deliver_policy"] == "all"


@pytest.mark.parametrize("body", ["", "[]", "{", '{"config": 1}', "{" * 1000])
def test_an_unreadable_consumer_is_refused(old: Ask, unique: str, body: str) -> None:
    assert old(f"STREAM.{unique}.CONSUMER.C.CREATE", body).body == b"-ERR 'bad request'"


@pytest.mark.parametrize("subject", ["NEXT.{0}.PULL", "STREAM.{0}.CONSUMER.PULL.NEXT"])
def test_the_next_message(js: JetStream, unique: str, subject: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    js.consumer(unique, "PULL")
    js.publish(f"{unique}.a", b"one")
    js.wire.pub(f"$JS.{subject.format(unique)}", b"", js.wire.inbox())
    message = js.wire.msg()
    assert (message.subject, message.body) == (f"{unique}.a", b"one")
    assert message.reply.startswith(f"$JS.ACK.{unique}.PULL.")


def test_the_preview_documents_info_has_todays_answer(old: Ask, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique])
    answer = old(f"STREAM.INFO.{unique}").json()
    assert answer["type"] == "io.nats.jetstream.api.v1.stream_info_response"
    assert answer["config"]["name"] == unique


def test_a_list_of_several_pages(js: JetStream, old: Ask) -> None:
    names = [f"PAGE-{number:04}" for number in range(1100)]  # today's pages have 1,024
    for name in names:
        js.wire.pub(f"$JS.API.STREAM.CREATE.{name}", json.dumps({"name": name, "storage": "memory"}))
    js.create("PAGES-LAST", subjects=["pages"])
    assert [name for name in old("STREAM.LIST").json() if name.startswith("PAGE-")] == names


@pytest.mark.parametrize("subject", ["STREAM.S.NOTHING", "STREAM.API.INFO", "BYSEQ", "TEMPLATE.LIST.A"])
def test_what_is_not_in_the_table_is_not_served(js: JetStream, subject: str) -> None:
    js.wire.pub(f"$JS.{subject}", "", js.wire.inbox())
    answers = js.wire.sync()
    assert all(isinstance(each, Msg) and each.status == "503" for each in answers)


# --- what is forbidden stays forbidden

USERS = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB, legacy_api: true }
accounts {
  SYS { users: [{ user: SYS, password: p }] }
  NONE {
    users: [{ user: NONE, password: p }]
    imports: [{ service: { account: A, subject: "$JS.STREAM.S.DELETE" } }]
  }
  A {
    jetstream: enabled
    exports: [{ service: "$JS.STREAM.>" }]
    mappings: { "$JS.API.STREAM.PURGE.*": "$JS.STREAM.$1.PURGE", "old.delete": "$JS.STREAM.S.DELETE" }
    users: [
      { user: A, password: p }
      { user: no_new, password: p, permissions: { publish: { deny: ["$JS.API.STREAM.DELETE.>"] } } }
      { user: no_old, password: p, permissions: { publish: { deny: ["$JS.STREAM.*.DELETE"] } } }
      { user: old_only, password: p, permissions: { publish: { allow: ["$JS.STREAM.>", "$JS.INFO"] } } }
      { user: both, password: p,
        permissions: { publish: { allow: ["$JS.STREAM.*.INFO", "$JS.API.STREAM.INFO.*", "old.>"] } } }
    ]
  }
}
system_account: SYS
"""


@pytest.fixture(scope="module")
def guarded() -> Any:
    running = pyjs_server.start(USERS)
    try:
        with JetStream.of(running, user="A", **{"pass": "p"}) as js:
            js.create("S", subjects=["s"])
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("user", "subject", "refused"),
    [
        ("no_new", "$JS.STREAM.S.DELETE", "$JS.API.STREAM.DELETE.S"),
        ("no_old", "$JS.STREAM.S.DELETE", "$JS.STREAM.S.DELETE"),
        ("old_only", "$JS.STREAM.S.DELETE", "$JS.API.STREAM.DELETE.S"),
        ("old_only", "$JS.INFO", "$JS.API.INFO"),
        ("both", "$JS.STREAM.S.DELETE", "$JS.STREAM.S.DELETE"),
        ("both", "old.delete", "$JS.STREAM.S.DELETE"),
    ],
)
def test_both_subjects_need_permission(guarded: ServerProcess, user: str, subject: str, refused: str) -> None:
    with JetStream.of(guarded, user=user, **{"pass": "p"}) as js:
        js.wire.pub(subject, b"", js.wire.inbox())
        answers = js.wire.sync()
        assert answers == [f"-ERR 'Permissions Violation for Publish to \"{refused}\"'".encode()]
    with JetStream.of(guarded, user="A", **{"pass": "p"}) as js:
        assert js.info("S")["config"]["name"] == "S"


def test_with_both_permissions_it_is_served(guarded: ServerProcess) -> None:
    with JetStream.of(guarded, user="both", **{"pass": "p"}) as js:
        assert js.wire.request("$JS.STREAM.S.INFO").json()["config"]["name"] == "S"


def test_an_import_reaches_nobody(guarded: ServerProcess) -> None:
    with JetStream.of(guarded, user="NONE", **{"pass": "p"}) as js:
        js.wire.pub("$JS.STREAM.S.DELETE", b"", js.wire.inbox())
        js.wire.sync()
    with JetStream.of(guarded, user="A", **{"pass": "p"}) as js:
        assert js.info("S")["config"]["name"] == "S"


def test_a_mapping_makes_no_circle(guarded: ServerProcess) -> None:
    """The account maps the new subject of PURGE to the old one."""
    with JetStream.of(guarded, user="A", **{"pass": "p"}) as js:
        js.wire.pub("$JS.STREAM.S.PURGE", b"", js.wire.inbox())
        js.wire.pub("$JS.API.STREAM.PURGE.S", b"", js.wire.inbox())
        assert js.wire.sync() == []
        assert js.wire.request("$JS.ENABLED").body == b"+OK"


def test_an_account_without_jetstream_gets_no_answer(guarded: ServerProcess) -> None:
    with JetStream.of(guarded, user="NONE", **{"pass": "p"}) as js:
        assert js.wire.request("$JS.ENABLED").status == "503"


def test_an_answer_is_no_request(guarded: ServerProcess) -> None:
    """A reply subject that is an old request would make the server delete a stream for anybody."""
    with JetStream.of(guarded, user="no_new", **{"pass": "p"}) as js:
        js.wire.pub("$JS.API.STREAM.INFO.S", b"", "$JS.STREAM.S.DELETE")
        js.wire.pub("$JS.ENABLED", b"", "$JS.STREAM.S.DELETE")
        js.wire.sync()
        assert js.info("S")["config"]["name"] == "S"


def test_without_the_option_nothing_is_served() -> None:
    running = pyjs_server.start(USERS.replace(", legacy_api: true", ""))
    try:
        with JetStream.of(running, user="A", **{"pass": "p"}) as js:
            assert js.wire.request("$JS.ENABLED").status == "503"
            js.wire.pub("$JS.API.STREAM.TEMPLATE.NAMES", b"", js.wire.inbox())
            assert js.wire.sync() == []
            with pytest.raises(ApiFailureError):
                js.info("S")
    finally:
        running.stop()
