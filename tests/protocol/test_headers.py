"""The header block: helpers on bytes agree with the whole-block view."""

from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import headers

keys = st.text(alphabet="ABCabc-", min_size=1, max_size=6)
values = st.text(alphabet="abc 123:é", max_size=8).map(str.strip)
blocks = st.dictionaries(keys, st.lists(values, min_size=1, max_size=3), max_size=4)


@given(blocks)
def test_decode_is_the_inverse_of_encode(block: dict[str, list[str]]) -> None:
    assert headers.decode(headers.encode(block)) == block


@given(blocks, keys)
def test_get_and_get_all_agree_with_decode(block: dict[str, list[str]], key: str) -> None:
    data = headers.encode(block)
    want = [value.encode() for value in block.get(key, [])]
    assert headers.get_all(data, key.encode()) == want
    assert headers.get(data, key.encode()) == (want[0] if want else None)


@given(blocks, keys, values)
def test_set_leaves_exactly_one_line(block: dict[str, list[str]], key: str, value: str) -> None:
    data = headers.set(headers.encode(block), key.encode(), value.encode())
    assert headers.decode(data) == {k: v for k, v in block.items() if k != key} | {key: [value]}


@given(blocks, keys)
def test_remove_takes_the_lines_and_empties_an_empty_block(block: dict[str, list[str]], key: str) -> None:
    data = headers.remove(headers.encode(block), (key.encode(),))
    rest = {k: v for k, v in block.items() if k != key}
    assert headers.decode(data) == rest
    if key in block and not rest:
        assert data == b""


def test_remove_by_prefix_keeps_the_status() -> None:
    block = b"NATS/1.0 503\r\nNats-A: 1\r\nX: 2\r\nNats-B: 3\r\n\r\n"
    assert headers.remove(block, prefix=b"Nats-") == b"NATS/1.0 503\r\nX: 2\r\n\r\n"
    assert headers.remove(block, (b"X",), prefix=b"Nats-") == b"NATS/1.0 503\r\n\r\n"
    assert headers.remove(b"", (b"X",)) == b""


def test_status() -> None:
    assert headers.status(b"NATS/1.0 404 No Messages\r\n\r\n") == (404, "No Messages")
    assert headers.status(b"NATS/1.0 503\r\nNats-Subject: a\r\n\r\n") == (503, "")
    assert headers.status(b"NATS/1.0\r\nA: b\r\n\r\n") == (None, "")
    assert headers.status(b"") == (None, "")
    assert headers.encode(status="100 Idle Heartbeat") == b"NATS/1.0 100 Idle Heartbeat\r\n\r\n"


def test_keys_are_case_sensitive_and_whole() -> None:
    block = headers.encode({"Nats-Msg-Id": "1"})
    assert headers.get(block, b"nats-msg-id") is None
    assert headers.get(block, b"Msg-Id") is None
    assert headers.get(block, b"Nats-Msg-Id") == b"1"


def test_values_cannot_smuggle_lines() -> None:
    assert headers.decode(headers.encode({"A": "1\r\nB: 2"})) == {"A": ["1 B: 2"]}


def test_an_empty_block_gets_its_first_line() -> None:
    assert headers.set(b"", b"A", b"1") == b"NATS/1.0\r\nA: 1\r\n\r\n"
    assert headers.add(headers.set(b"", b"A", b"1"), b"A", b"2") == b"NATS/1.0\r\nA: 1\r\nA: 2\r\n\r\n"


@given(st.binary(max_size=60), st.binary(max_size=4))
def test_junk_never_raises(block: bytes, key: bytes) -> None:
    headers.get(block, key)
    headers.get_all(block, key or b"x")
    headers.remove(block, (key,))
    headers.decode(block)
    headers.status(b"NATS/1.0 " + block)
