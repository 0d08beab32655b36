"""JSON: Go's escapes, and no exception but the documented one, whatever the bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import gojson
from pyjs.protocol.gojson import JsonError


@given(st.binary(max_size=30) | st.text(alphabet='{}[]",:\\u0d8 tfn1.e-', max_size=30).map(str.encode))
def test_junk_raises_only_json_error_and_values_can_be_written(data: bytes) -> None:
    try:
        value = gojson.decode(data)
    except JsonError as error:
        assert str(error)
        return
    assert gojson.decode(gojson.encode(value)) == value


@given(
    st.recursive(st.text(max_size=5) | st.integers(), lambda inner: st.lists(inner, max_size=3), max_leaves=5)
)
def test_what_is_written_reads_back(value: object) -> None:
    data = gojson.encode(value)
    assert json.loads(data) == value
    assert not set(b"<>&") & set(data)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b'"\\ud800',
        b"",
        b"\xff",
        b'"\\',
    ],
)
def test_hostile_texts(data: bytes) -> None:
    with pytest.raises(JsonError):
        gojson.decode(data)


def test_brackets_in_strings_are_no_depth_that_hurts() -> None:
    assert gojson.decode(b'["' + b"[]" * 1000 + b'"]') == ["[]" * 1000]
    assert len(gojson.decode(b"[" + b"[]," * 2000 + b"[]]")) == 2001


def test_what_is_no_unicode_becomes_the_replacement_character() -> None:
    assert gojson.decode(b'"\xff \\ud800 x"') == "\ufffd \ufffd x"
    assert gojson.decode(b'"\\ud83d\\ude00"') == "\U0001f600"
