"""Documents as JSON in pieces: together they are the text of the whole document."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyjs.server.monitor.text import compact, indented
from pyjs.server.slices import at_once

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)
ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@given(documents)
def test_it_is_the_same_text(document: Any) -> None:
    plain = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    assert at_once(compact(document)) == plain.encode("utf-8", "replace")
    by_two = json.dumps(document, indent=2, ensure_ascii=False).translate(ESCAPES)
    assert at_once(indented(document)) == by_two.encode("utf-8", "replace")


def test_a_long_list_is_written_in_many_steps() -> None:
    document = {
        "rows": [{"number": number, "name": "x" * 50} for number in range(5000)],
        "all": list(range(10_000)),
    }
    for write in (compact, indented):
        steps = write(document)
        count = 0
        while True:
            try:
                next(steps)
            except StopIteration as end:
                assert json.loads(end.value) == document
                break
            count += 1
        assert count > 30
