"""What is a whole publish of the common form, said by chosen cases, for both forms of the scan."""

from __future__ import annotations

from typing import Any

import pytest
from pyjs.native import publishes

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")

FORMS = [_native.scan_publishes, publishes.scan_publishes]
PUB, HPUB = (1, b"a", b"", 0, 1, b"1\r\nx\r\n"), (2, b"a", b"", 1, 2, b"1 2\r\nNx\r\n")
LONGEST, LARGEST = 12, 5


@pytest.mark.parametrize("function", FORMS)
@pytest.mark.parametrize(
    ("frame", "op"),
    [
        (b"PUB a 1\r\nx\r\n", PUB),
        (b"PUB a r 1\r\nx\r\n", (1, b"a", b"r", 0, 1, b"r 1\r\nx\r\n")),
        (b"PUB a 0\r\n\r\n", (1, b"a", b"", 0, 0, b"0\r\n\r\n")),
        (b"HPUB a 1 2\r\nNx\r\n", HPUB),
        (b"HPUB a r 2 2\r\nNx\r\n", (2, b"a", b"r", 2, 2, b"r 2 2\r\nNx\r\n")),
        (b"PUB a 000000001\r\nx\r\n", (1, b"a", b"", 0, 1, b"000000001\r\nx\r\n")),
        (b"PUB a 5\r\n12345\r\n", (1, b"a", b"", 0, 5, b"5\r\n12345\r\n")),  # as large as may be
        (b"PUB a 6\r\n123456\r\n", None),
        (b"PUB abcdefghij 1\r\nx\r\n", (1, b"abcdefghij", b"", 0, 1, b"1\r\nx\r\n")),  # as long as may be
        (b"PUB abcdefghijk 1\r\nx\r\n", None),
        (b"PUB a 0000000001\r\nx\r\n", None),
        (b"PUB 1\r\nx\r\n", None),
        (b"PUB a b c 1\r\nx\r\n", None),
        (b"PUB  a 1\r\nx\r\n", None),
        (b"PUB a  1\r\nx\r\n", None),
        (b"PUB a 1 \r\nx\r\n", None),
        (b"PUB a\tr 1\r\nx\r\n", None),
        (b"PUB a\r 1\r\nx\r\n", None),
        (b"PUB a 1\nx\r\n", None),
        (b"PUB a +1\r\nx\r\n", None),
        (b"PUB a -1\r\nx\r\n", None),
        (b"PUB a 1\r\nxx\r\n", None),
        (b"PUB a 2\r\nx\r\n", None),
        (b"PUB a 1\r\nx\n\r", None),
        (b"pub a 1\r\nx\r\n", None),
        (b"PUBa 1\r\nx\r\n", None),
        (b"HPUB a 0 2\r\nNx\r\n", None),
        (b"HPUB a 3 2\r\nNx\r\n", None),
        (b"HPUB a 2\r\nNx\r\n", None),
        (b"HPUB a r s 1 2\r\nNx\r\n", None),
        (b"HPUB a x 2\r\nNx\r\n", None),
        (b"PING\r\n", None),
    ],
)
def test_a_publish_of_the_common_form(function: Any, frame: bytes, op: tuple[Any, ...] | None) -> None:
    limits = 512, LONGEST, LARGEST, (b"PUB ", b"HPUB ")
    for before in (b"", b"PUB a 1\r\nx\r\n"):
        ops: list[Any] = []
        stop = function(before + frame, 0, *limits, ops)
        assert ops == [PUB] * bool(before) + [op] * (op is not None)
        assert stop == len(before) + (len(frame) if op else 0)
    for cut in range(1, len(frame)):
        assert function(frame[:-cut], 0, *limits, []) == 0


@pytest.mark.parametrize("function", FORMS)
@pytest.mark.parametrize(
    ("verbs", "found"),
    [
        ((b"PUB ", b"HPUB "), [PUB, HPUB]),
        ((b"PUB ", b""), [PUB]),
        ((b"", b"HPUB "), []),
        ((b"", b""), []),
    ],
)
def test_only_the_verbs_that_are_given_are_publishes(
    function: Any, verbs: tuple[bytes, bytes], found: list[Any]
) -> None:
    data, ops = b"PUB a 1\r\nx\r\nHPUB a 1 2\r\nNx\r\n", list[Any]()
    stop = function(data, 0, 512, 4096, 1 << 20, verbs, ops)
    assert ops == found
    assert data[stop:] == {2: b"", 1: data[12:], 0: data}[len(found)]


@pytest.mark.parametrize("function", FORMS)
@pytest.mark.parametrize("most", [0, 1, 2])
def test_no_more_are_found_than_asked_for(function: Any, most: int) -> None:
    ops: list[Any] = []
    assert (
        function(b"PUB a 1\r\nx\r\n" * 3, 12, most, 4096, 1 << 20, (b"PUB ", b"HPUB "), ops) == 12 + 12 * most
    )
    assert ops == [PUB] * most
