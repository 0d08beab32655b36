"""Frames to send, byte for byte as the reference writes them."""

from pyjs.protocol.wire import encode
from pyjs.protocol.wire.client import ClientParser

HEADER = b"NATS/1.0\r\nA: 1\r\n\r\n"


def test_info_has_a_blank_before_its_end_and_go_s_escapes() -> None:
    assert encode.info({"server_id": "a<b>&", "headers": True}) == (
        b'INFO {"server_id":"a\\u003cb\\u003e\\u0026","headers":true} \r\n'
    )


def test_err_is_quoted() -> None:
    assert encode.err("Stale Connection") == b"-ERR 'Stale Connection'\r\n"


def test_messages() -> None:
    assert encode.msg(b"a", b"1", b"", b"", b"hi") == b"MSG a 1 2\r\nhi\r\n"
    assert encode.msg(b"a", b"1", b"r", b"", b"hi") == b"MSG a 1 r 2\r\nhi\r\n"
    assert encode.msg(b"a", b"1", b"r", HEADER, b"hi") == b"HMSG a 1 r 18 20\r\n" + HEADER + b"hi\r\n"


def test_no_responders_counts_as_the_reference() -> None:
    frame = encode.no_responders(b"r", b"9", b"foo")
    assert frame == b"HMSG r 9 35 35\r\nNATS/1.0 503\r\nNats-Subject: foo\r\n\r\n\r\n"


def test_the_tail_of_a_parsed_publish_is_that_of_its_delivery() -> None:
    [op] = ClientParser().feed(b"hpub  a\tr 18  20\r\n" + HEADER + b"hi\r\n")
    assert b"HMSG a 1 " + op[5] == encode.msg(b"a", b"1", b"r", HEADER, b"hi")
    assert encode.without_header(b"r", op[3], op[4], op[5]) == encode.tail(b"r", b"", b"hi")
    assert encode.without_header(b"", op[3], op[4], op[5]) == b"2\r\nhi\r\n"


def test_subscriptions() -> None:
    assert encode.sub(b"a", b"", b"1") == b"SUB a 1\r\n"
    assert encode.sub(b"a", b"q", b"1") == b"SUB a q 1\r\n"
    assert encode.unsub(b"1") == b"UNSUB 1\r\n"
    assert encode.unsub(b"1", 5) == b"UNSUB 1 5\r\n"
    assert encode.leaf_sub(b"a", b"q", 3) == b"LS+ a q 3\r\n"
    assert encode.leaf_unsub(b"a", b"q") == b"LS- a q\r\n"
    assert encode.connect({}) == b"CONNECT {}\r\n"
