"""Text in quotes, as Go's %q."""

from __future__ import annotations

import pytest
from pyjs.protocol.quoting import quoted
from pyjs.protocol.wire import encode


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", '""'),
        ("a.b", '"a.b"'),
        ("é\U0001f600", '"é\U0001f600"'),
        ('say "x"\\', r'"say \"x\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\0\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\u200b\u202e\ufeff", r'"\u200b\u202e\ufeff"'),
        ("\U000e0001", r'"\U000e0001"'),
        (b"\xff\xc3(".decode("utf-8", "surrogateescape"), r'"\xff\xc3("'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_quoted(text: str, shown: str) -> None:
    assert quoted(text) == shown


def test_an_error_is_one_line_of_utf_8() -> None:
    assert encode.err("a\r\nb\udcff") == b"-ERR 'a  b\\udcff'\r\n"
