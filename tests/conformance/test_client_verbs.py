"""Every verb of the client protocol, well and badly formed: the answer, and whether the connection lives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.process import ServerProcess
from lib.wire import Msg, Wire

CONFIG = "listen: 127.0.0.1:<client>\nserver_name: S\n"


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


def test_info_comes_first_and_names_the_server(server: ServerProcess) -> None:
    with server.raw() as wire:
        info = wire.info
    assert info["server_name"] == "S"
    assert len(info["server_id"]) == 56
    assert info["server_id"].startswith("N")
    assert info["proto"] == 1
    assert info["headers"] is True
    assert info["max_payload"] == 1048576
    assert info["client_ip"] == "127.0.0.1"
    assert info["client_id"] > 0
    assert info["port"] == server.port
    assert info["host"] == "127.0.0.1"
    absent = {
        "auth_required",
        "tls_required",
        "jetstream",
        "nonce",
        "domain",
        "cluster",
        "ldm",
        "connect_info",
    }
    assert not absent & set(info)


def test_each_connection_gets_its_own_client_id(server: ServerProcess) -> None:
    with server.raw() as one, server.raw() as two:
        assert one.info["client_id"] != two.info["client_id"]


def test_info_follows_the_first_pong_with_connect_info(server: ServerProcess) -> None:
    with server.connect() as wire:
        wire.sync()
        second = wire.infos[1]
    assert second["connect_info"] is True
    assert second["remote_account"] == "$G"
    assert "acc_is_sys" not in second


def test_protocol_zero_clients_get_no_second_info(server: ServerProcess) -> None:
    with server.connect(protocol=0) as wire:
        wire.sync()
        assert len(wire.infos) == 1


def test_verbose_answers_every_verb_with_ok(server: ServerProcess, unique: str) -> None:
    with server.raw() as wire:
        wire.login(verbose=True)
        assert wire.next() == b"+OK"
        wire.send(f"SUB {unique} 1\r\n")
        assert wire.next() == b"+OK"
        wire.send(f"PUB {unique} 2\r\nhi\r\n")
        assert wire.next() == b"+OK"
        assert wire.next() == Msg(unique, "1", "", b"", b"hi")
        wire.send("UNSUB 1\r\n")
        assert wire.next() == b"+OK"
        assert wire.sync() == []


def test_minimal_connect_is_verbose_and_pedantic(server: ServerProcess) -> None:
    with server.raw() as wire:
        wire.send("CONNECT {}\r\n")
        assert wire.next() == b"+OK"
        wire.send("PUB a..b 0\r\n\r\n")
        assert set(wire.sync()) == {b"+OK", b"-ERR 'Invalid Publish Subject'"}


def test_commands_are_served_without_connect_when_no_auth_is_needed(
    server: ServerProcess, unique: str
) -> None:
    with server.raw() as wire:
        wire.send(f"SUB {unique} 1\r\nPUB {unique} 1\r\nx\r\n")
        frames = wire.sync()
    assert Msg(unique, "1", "", b"", b"x") in frames


@pytest.mark.parametrize("verb", ["ping", "PiNg", "PING  ", "PING\t"])
def test_ping_is_answered_whatever_its_case_and_blanks(server: ServerProcess, verb: str) -> None:
    with server.connect() as wire:
        wire.send(verb + "\r\n")
        assert wire.next() == b"PONG"


def test_a_bare_line_feed_ends_a_line(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.send(f"SUB {unique} 1\nPUB {unique} 1\nx\r\nPING\n")
        assert wire.next() == Msg(unique, "1", "", b"", b"x")
        assert wire.next() == b"PONG"


@pytest.mark.parametrize(
    "frame",
    [
        "PUB {s} 2\r\nhi\r\n",
        "pub {s} 2\r\nhi\r\n",
        "PUB  {s}   2 \r\nhi\r\n",
        "PUB\t{s}\t2\r\nhi\r\n",
        "Pub {s} 2\nhi\r\n",
        "PUB {s} 02\r\nhi\r\n",
    ],
)
def test_pub_delivers(server: ServerProcess, unique: str, frame: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.send(frame.format(s=unique))
        assert wire.sync() == [Msg(unique, "1", "", b"", b"hi")]


def test_pub_with_reply_shows_the_reply(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.send(f"PUB {unique} answer.here 2\r\nhi\r\n")
        assert wire.sync() == [Msg(unique, "1", "answer.here", b"", b"hi")]


def test_empty_and_binary_payloads_pass(server: ServerProcess, unique: str) -> None:
    every = bytes(range(256)) + b"\r\nPUB x 1\r\n"
    with server.connect() as wire:
        wire.sub(unique)
        wire.pub(unique, b"")
        wire.pub(unique, every)
        assert [m.body for m in wire.msgs(2)] == [b"", every]


def test_one_byte_at_a_time_is_understood(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        for byte in f"SUB {unique} 1\r\nPUB {unique} r 5\r\nhello\r\n".encode():
            wire.send(bytes([byte]))
        assert wire.sync() == [Msg(unique, "1", "r", b"", b"hello")]


def test_hpub_delivers_its_header(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.pub(unique, "body", "", {"A": "1", "B": "two words"})
        wire.pub(unique, "", "r.r", {"A": "1"})
        one, two = wire.msgs(2)
    assert one.header == b"NATS/1.0\r\nA: 1\r\nB: two words\r\n\r\n"
    assert one.body == b"body"
    assert (two.reply, two.headers, two.body) == ("r.r", {"A": "1"}, b"")


def test_a_client_without_headers_gets_the_bare_message(server: ServerProcess, unique: str) -> None:
    with server.connect(headers=False, no_responders=False) as old, server.connect() as new:
        old.sub(unique)
        old.sync()
        new.pub(unique, "body", "", {"A": "1"})
        assert old.next() == Msg(unique, "1", "", b"", b"body")


def test_hpub_without_headers_in_connect_closes(server: ServerProcess) -> None:
    with server.connect(headers=False, no_responders=False) as wire:
        wire.send("HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n")
        assert wire.ends() == []


def test_hpub_without_headers_closes_where_the_subject_is_known(server: ServerProcess, unique: str) -> None:
    with server.connect(headers=False, no_responders=False) as old, server.connect() as new:
        new.sub(unique)
        new.sync()
        old.pub(unique, "two")
        assert [message.body for message in new.msgs(1)] == [b"two"]
        old.send(f"HPUB {unique} 12 12\r\nNATS/1.0\r\n\r\n\r\n")
        assert old.ends() == []
        new.pub(unique, "three")
        assert [message.body for message in new.msgs(1)] == [b"three"]


CLOSING = {
    "unknown verb": ("HELLO\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "http": ("GET / HTTP/1.1\r\n\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "binary": ("\x00\x01\x02\x03\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "verb cut short": ("PIN\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "verb too long": ("PUBS a 1\r\nx\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "server verb MSG": ("MSG a 1 1\r\nx\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "route verb RS+": ("RS+ a b\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "leaf verb LS+": ("LS+ b\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "account verb A+": ("A+ b\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "payload without its end": ("PUB a 2\r\nhello\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "SUB without arguments": ("SUB\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "PUB without arguments": ("PUB\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "UNSUB without arguments": ("UNSUB\r\n", b"-ERR 'Unknown Protocol Operation'"),
    "client protocol 2": ('CONNECT {"protocol":2}\r\n', b"-ERR 'invalid client protocol'"),
    "no responders without headers": (
        'CONNECT {"no_responders":true,"headers":false}\r\n',
        b"-ERR 'no responders requires headers support'",
    ),
}


@pytest.mark.parametrize("case", CLOSING)
def test_an_error_is_reported_and_closes(server: ServerProcess, case: str) -> None:
    sent, received = CLOSING[case]
    with server.raw() as wire:
        wire.send(sent)
        assert wire.ends() == [received]


SILENT = {
    "PUB without size": "PUB a\r\n",
    "PUB with a size of letters": "PUB a xyz\r\nx\r\n",
    "PUB with a negative size": "PUB a -1\r\nx\r\n",
    "PUB with four fields": "PUB a b c 1\r\nx\r\n",
    "PUB with a size beyond 63 bits": "PUB a 99999999999999999999\r\nx\r\n",
    "HPUB with a header longer than all": "HPUB a 20 12\r\nNATS/1.0\r\n\r\n\r\n",
    "HPUB with one size": "HPUB a 12\r\nNATS/1.0\r\n\r\n\r\n",
    "SUB without sid": "SUB a\r\n",
    "SUB with four fields": "SUB a b c 1\r\n",
    "UNSUB with three fields": "UNSUB 1 2 3\r\n",
    "CONNECT that is no JSON": "CONNECT {\r\n",
    "CONNECT with a list": "CONNECT []\r\n",
    "CONNECT with a wrong type": 'CONNECT {"verbose":"yes"}\r\n',
}


@pytest.mark.parametrize("case", SILENT)
def test_bad_arguments_close(server: ServerProcess, case: str) -> None:
    with server.raw() as wire:
        wire.login()
        wire.send(SILENT[case])
        assert wire.ends() == []


def test_a_message_cut_in_its_middle_is_not_delivered(server: ServerProcess, unique: str) -> None:
    with server.connect() as hears:
        hears.sub(unique)
        hears.sync()
        with server.connect() as cut:
            cut.pub(unique, "whole")
            cut.send(f"PUB {unique} 10\r\nhalf")
        assert hears.msg().body == b"whole"
        with server.connect() as later:
            later.pub(unique, "later")
            later.sync()
        assert hears.msg().body == b"later"
        assert hears.sync() == []


@pytest.mark.parametrize("subject", ["a..b", ".a", "a.", "a.*", "a.>", ">"])
def test_pedantic_refuses_to_publish_there_and_stays(server: ServerProcess, subject: str) -> None:
    with server.connect(pedantic=True) as wire:
        wire.pub(subject, "x")
        assert wire.sync() == [b"-ERR 'Invalid Publish Subject'"]


@pytest.mark.parametrize("subject", ["a..b", ".a", "a.", "a.>.b", "foo.>bar..", "..", "."])
def test_malformed_subscriptions_are_refused_and_the_connection_stays(
    server: ServerProcess, subject: str
) -> None:
    with server.connect() as wire:
        wire.sub(subject)
        assert wire.sync() == [b"-ERR 'Invalid Subject'"]
        assert wire.sync() == []


@pytest.mark.parametrize("subject", ["a*", "*a.b", "a>", "a.b*c.d"])
def test_wildcards_inside_tokens_are_literal(server: ServerProcess, unique: str, subject: str) -> None:
    with server.connect() as wire:
        wire.sub(f"{unique}.{subject}")
        wire.pub(f"{unique}.{subject}", "x")
        wire.pub(f"{unique}.abc.b", "y")
        assert [m.body for m in wire.sync() if isinstance(m, Msg)] == [b"x"]


def test_a_second_connect_is_a_fresh_start(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.login()
        wire.pub(unique, "x")
        assert wire.sync() == []


def test_ok_and_err_from_a_client_are_swallowed(server: ServerProcess) -> None:
    with server.connect() as wire:
        wire.send("+OK\r\n")
        assert wire.sync() == []


def test_err_from_a_client_closes(server: ServerProcess) -> None:
    with server.connect() as wire:
        wire.send("-ERR 'mine'\r\n")
        assert wire.ends() == []


def test_pong_without_ping_is_ignored(server: ServerProcess) -> None:
    with server.connect() as wire:
        wire.send("PONG\r\nPONG\r\n")
        assert wire.sync() == []


def test_many_frames_in_one_write_keep_their_order(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.send(b"".join(f"PUB {unique} {len(str(i))}\r\n{i}\r\n".encode() for i in range(5000)))
        assert [int(m.body) for m in wire.msgs(5000)] == list(range(5000))


def test_connections_do_not_hear_each_other_by_mistake(server: ServerProcess, unique: str) -> None:
    with server.connect() as one, server.connect() as two:
        one.sub(f"{unique}.one")
        two.sub(f"{unique}.two")
        one.sync()
        two.sync()
        one.pub(f"{unique}.two", "for two")
        one.pub(f"{unique}.one", "for one")
        assert [m.body for m in one.sync() if isinstance(m, Msg)] == [b"for one"]
        assert two.msg().body == b"for two"


def test_wire_helper_reads_what_a_second_connection_sent(server: ServerProcess, unique: str) -> None:
    with Wire.connected(server.port) as wire, server.connect() as other:
        wire.sub(unique)
        wire.sync()
        other.pub(unique, "x" * 100_000)
        assert len(wire.msg().body) == 100_000
