"""Bytes that are not UTF-8, and JSON with lone surrogates, are passed on or refused; nothing fails."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Frame, Msg, Wire

CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: S
debug: true
trace: true
jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB }
authorization {
  users: [
    { user: all, password: p }
    { user: few, password: p, permissions: {
        publish: { allow: ["ok.>", "q"] }, subscribe: { allow: ["ok.>", "_INBOX.>"], deny: "ok.no" } } }
  ]
}
"""
LONE = "\\ud800"  # as JSON has it
GONE = "\ufffd"
Login = Callable[[str], Wire]


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> Iterator[ServerProcess]:
    """Whatever a test says to it, nothing of ours falls over."""
    found = serve(CONFIG)
    yield found
    log = found.log()
    assert "Traceback" not in log
    assert "internal error" not in log


@pytest.fixture
def login(server: ServerProcess) -> Login:
    return lambda user: server.connect(**{"user": user, "pass": "p"})


@pytest.fixture
def js(login: Login) -> Iterator[JetStream]:
    with JetStream(login("all")) as api:
        yield api


def violation(what: str) -> list[Frame]:
    return [f"-ERR 'Permissions Violation for {what}'".encode()]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (b"PUB a\xff 1\r\nx\r\n", violation(r'Publish to "a\xff"')),
        (b"PUB \xc3\x28.b 1\r\nx\r\n", violation(r'Publish to "\xc3(.b"')),
        (b"PUB a\xed\xa0\x80 1\r\nx\r\n", violation(r'Publish to "a\xed\xa0\x80"')),
        (b"PUB \xc3\xa9 1\r\nx\r\n", violation('Publish to "é"')),
        (b"PUB a\x00\x1b 1\r\nx\r\n", violation(r'Publish to "a\x00\x1b"')),
        (b'PUB a"\\ 1\r\nx\r\n', violation(r'Publish to "a\"\\"')),
        (b"PUB a\xe2\x80\xae 1\r\nx\r\n", violation(r'Publish to "a\u202e"')),
        (b"PUB $GR.\xff 1\r\nx\r\n", violation(r'Publish to "$GR.\xff"')),
        (b"PUB ok.a _R_.\xff 1\r\nx\r\n", violation(r'Publish with Reply of "_R_.\xff"')),
        (b"PUB ok.a $JS.ACK.\xff 1\r\nx\r\n", violation(r'Publish with Reply of "$JS.ACK.\xff"')),
        (b"HPUB a\xff 12 13\r\nNATS/1.0\r\n\r\nx\r\n", violation(r'Publish to "a\xff"')),
        (b"SUB x\xff 6\r\n", violation(r'Subscription to "x\xff"')),
        (b"SUB x\xff g\xfe 6\r\n", violation(r'Subscription to "x\xff" using queue "g\xfe"')),
        (b"SUB ok.\xff 6\r\n", []),
        (b"SUB ok.b \xff\r\nUNSUB \xff 1\r\nUNSUB \xfe\r\n", []),
    ],
)
def test_a_refusal_shows_the_bytes(login: Login, frame: bytes, said: list[Frame]) -> None:
    with login("few") as wire:
        wire.send(frame)
        assert wire.sync() == said
        assert wire.sync() == []


@pytest.mark.parametrize("queue", ["", "g\udcfe"])
def test_what_is_allowed_passes_as_it_is(login: Login, queue: str) -> None:
    with login("few") as hears, login("few") as wire:
        hears.send(b"SUB ok.\xff " + queue.encode("utf-8", "surrogateescape") + b" 1\r\n")
        hears.sync()
        block = b"NATS/1.0\r\n\xfe: \xff\r\n\r\n"
        wire.send(b"HPUB ok.\xff back.\xff %d %d\r\n%bx\xff\r\n" % (len(block), len(block) + 2, block))
        assert wire.sync() == []
        assert hears.msg() == Msg("ok.\udcff", "1", "back.\udcff", block, b"x\xff")
        wire.send(b"SUB _INBOX.> 2\r\nPUB ok.nobody.\xff _INBOX.\xff 0\r\n\r\n")
        missing = wire.msg()
        assert (missing.status, missing.subject) == ("503", "_INBOX.\udcff")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\xff\xfe", GONE * 2),
        (LONE.encode(), GONE),
        (b"\\udcff", GONE),
        (b"\\ud83d\\ude00", "\U0001f600"),
        (b"\\u202e\\u0000\\u001b[31m", "\u202e\0\x1b[31m"),
        ("é".encode(), "é"),
    ],
)
def test_any_name_connects(server: ServerProcess, name: bytes, shown: str) -> None:
    with server.raw() as wire:
        wire.send(
            b'CONNECT {"user":"all","pass":"p","verbose":false,"name":"%b","lang":"%b"}\r\n' % (name, name)
        )
        wire.send(b"SUB x\xff.> g\xfe 1\r\n")
        assert wire.sync() == []
        url = f"http://127.0.0.1:{server.ports['http']}/connz?subs=detail"
        with urllib.request.urlopen(url) as answer:
            rows = json.load(answer)["connections"]
    (row,) = [row for row in rows if row["cid"] == wire.info["client_id"]]
    assert (row["name"], row["lang"]) == (shown, shown)
    (subscription,) = row["subscriptions_list_detail"]
    assert (subscription["subject"], subscription["qgroup"]) == (f"x{GONE}.>", f"g{GONE}")


@pytest.mark.parametrize("credential", ["user", "pass", "auth_token", "nkey", "sig", "jwt"])
@pytest.mark.parametrize("value", [b"\xff", b"\\ud800", b"\\udcff"])
def test_odd_credentials_are_wrong_ones(server: ServerProcess, credential: str, value: bytes) -> None:
    with server.raw() as wire:
        given = {"user": b"all", "pass": b"p"} | {credential: value}
        fields = b",".join(b'"%b":"%b"' % (key.encode(), text) for key, text in given.items())
        wire.send(b"CONNECT {%b}\r\nPING\r\n" % fields)
        said = wire.ends() if credential in given and credential in ("user", "pass") else None
        assert said in (None, [b"-ERR 'Authorization Violation'"])


def call(js: JetStream, subject: str, body: str) -> Any:
    """A request whose body is JSON as it stands here."""
    return js.raw(subject, body.encode()).json()


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        (f'"description":"{LONE}"', {"description": GONE}),
        (f'"metadata":{{"{LONE}":"{LONE}"}}', {"metadata": {GONE: GONE}}),
        (f'"subjects":["odd.{LONE}"]', {"subjects": [f"odd.{GONE}"]}),
        (f'"placement":{{"tags":["{LONE}"]}}', {"placement": {"tags": [GONE]}}),
        (f'"sources":[{{"name":"M{LONE}"}}]', {"sources": [{"name": f"M{GONE}"}]}),
    ],
)
def test_lone_surrogates_are_replaced(js: JetStream, unique: str, fields: str, shown: dict[str, Any]) -> None:
    name = f'{{"name":"{unique}","storage":"file",{fields}'
    subjects = "" if "subjects" in fields or "sources" in fields else f',"subjects":["{unique}"]'
    for answer in (
        call(js, f"STREAM.CREATE.{unique}", f"{name}{subjects}}}"),
        call(js, f"STREAM.INFO.{unique}", f'{{"subjects_filter":"{LONE}"}}'),
    ):
        config = answer["config"]
        for key, value in shown.items():
            if isinstance(value, dict):
                assert value.items() <= config[key].items()
            else:
                assert config[key] == value
    js.call(f"STREAM.DELETE.{unique}")


def test_lone_surrogates_in_requests(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    assert call(js, f"STREAM.CREATE.{unique}", f'{{"name":"{LONE}"}}')["error"]["err_code"] == 10056
    unknown = call(js, "STREAM.CREATE.X", f'{{"name":"X","{LONE}":1}}')["error"]["description"]
    assert unknown == f'invalid JSON: json: unknown field "{GONE}"'
    config = f'"name":"C","description":"{LONE}","metadata":{{"{LONE}":"{LONE}"}}'
    made = call(js, f"CONSUMER.CREATE.{unique}.C", f'{{"stream_name":"{unique}","config":{{{config}}}}}')
    assert made["config"]["description"] == GONE
    assert call(js, f"CONSUMER.INFO.{unique}.C", "")["config"]["metadata"][GONE] == GONE
    assert call(js, f"STREAM.PURGE.{unique}", f'{{"filter":"{unique}.{LONE}"}}')["purged"] == 0
    missing = call(js, f"STREAM.MSG.GET.{unique}", f'{{"last_by_subj":"{unique}.{LONE}"}}')
    assert missing["error"]["err_code"] == 10037


def test_stored_subjects_are_bytes(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"], allow_direct=True)
    subject = f"{unique}.\udcff"
    raw = subject.encode("utf-8", "surrogateescape")
    js.wire.send(b"SUB odd.> odd\r\nPUB %b odd.ack 1\r\nx\r\n" % raw)
    assert js.wire.msg().json()["seq"] == 1
    found = call(js, f"STREAM.INFO.{unique}", '{"subjects_filter":">"}')
    assert found["state"]["subjects"] == {f"{unique}.{GONE}": 1}
    assert call(js, f"STREAM.MSG.GET.{unique}", '{"seq":1}')["message"]["subject"] == f"{unique}.{GONE}"
    js.wire.send(b"PUB $JS.API.DIRECT.GET.%b.%b odd.get 0\r\n\r\n" % (unique.encode(), raw))
    got = js.wire.msg()
    assert b"\r\nNats-Subject: %b\r\n" % raw in got.header
    # The header names the same bytes: there is a message, so that 0 is wrong.
    lines = b"Nats-Expected-Last-Subject-Sequence: 0\r\nNats-Expected-Last-Subject-Sequence-Subject: %b" % raw
    block = b"NATS/1.0\r\n%b\r\n\r\n" % lines
    js.wire.send(b"HPUB %b odd.ack %d %d\r\n%b\r\n" % (raw, len(block), len(block), block))
    assert js.wire.msg().json()["error"]["err_code"] == 10071
