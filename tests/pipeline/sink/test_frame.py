"""Rows become frames that a server reads back as they were, or errors that name the row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.frames import batch
from pyjs.client.frames import Frames, parse
from pyjs.pipeline.sink import BadRow
from pyjs.pipeline.sink.frame import ROWS, SLICE, Encoder
from pyjs.pipeline.sink.task import WriteTask
from pyjs.protocol import headers, subject

TASK = WriteTask("W", 3, 0)


def encoder(**options: Any) -> Encoder:
    made: dict[str, Any] = {"task": TASK, "inbox": "_INBOX.x", "largest": 1 << 20, "limit": "limit"}
    return Encoder(**made | options)


def frames(rows: pa.RecordBatch, first: int = 0, **options: Any) -> list[bytes]:
    return [frame for part in encoder(**options).frames(rows, first) for frame in part]


def read(sent: list[bytes]) -> list[tuple[str, str, dict[str, list[str]], bytes]]:
    """(subject, reply, headers, payload) of each frame: as a server would give it to a subscriber."""
    as_heard = b"".join(b"H" * (f[:1] == b"H") + b"MSG " + f.split(b"PUB ", 1)[1] for f in sent)
    found = Frames()
    rest: list[bytes] = []
    # PUB has no sid: the reply stands in its place.
    assert parse(as_heard, found, rest) == (len(as_heard), 0)
    assert rest == []
    out = []
    for row, head in enumerate(found.heads):
        to, reply = head.decode().split(" ")
        out.append((to, reply, headers.decode(found.headers.get(row, b"")), found.payloads[row]))
    return out


def test_a_plain_row_is_a_pub_that_asks_for_its_ack() -> None:
    rows = batch(subject=["a.b", "c"], data=[b"one", None])
    assert frames(rows, 7) == [b"PUB a.b _INBOX.x.7 3\r\none\r\n", b"PUB c _INBOX.x.8 0\r\n\r\n"]


def test_the_subject_may_be_an_option_and_the_data_text() -> None:
    rows = pa.record_batch({"data": pa.array(["é"])})
    assert frames(rows, subject="a") == ["PUB a _INBOX.x.0 2\r\né\r\n".encode()]


def test_headers_ids_and_ttls_become_header_lines() -> None:
    rows = batch(
        subject=["s"] * 3,
        data=[b"x"] * 3,
        headers=[[("A", ["1", "2"]), ("B", None)], None, []],
        msg_id=["id", None, ""],
        ttl=[60, None, None],
    )
    assert [(found, body) for _, _, found, body in read(frames(rows))] == [
        ({"A": ["1", "2"], "B": [""], "Nats-Msg-Id": ["id"], "Nats-TTL": ["60"]}, b"x"),
        ({}, b"x"),
        ({}, b"x"),
    ]


def test_headers_may_have_one_value_each() -> None:
    one = pa.array([[("A", "1"), ("B", None)]], pa.map_(pa.string(), pa.string()))
    rows = pa.record_batch({"data": pa.array([b"x"]), "headers": one})
    assert read(frames(rows, subject="s"))[0][2] == {"A": ["1"], "B": [""]}


def test_derived_ids_say_write_partition_and_row_and_differ_with_the_row() -> None:
    rows = batch(subject=["s", "s", "t"], data=[b"x", b"x", b"x"])
    ids = [found["Nats-Msg-Id"][0] for _, _, found, _ in read(frames(rows, 10, derive_ids=True))]
    assert [one.rpartition(":")[0] for one in ids] == ["W:3:10", "W:3:11", "W:3:12"]
    again = [found["Nats-Msg-Id"][0] for _, _, found, _ in read(frames(rows, 10, derive_ids=True))]
    assert ids == again
    other = read(frames(batch(subject=["s"], data=[b"y"]), 10, derive_ids=True))[0][2]["Nats-Msg-Id"][0]
    assert other != ids[0]
    elsewhere = read(frames(batch(subject=["t"], data=[b"x"]), 10, derive_ids=True))[0][2]["Nats-Msg-Id"][0]
    assert elsewhere != ids[0]


def test_an_id_of_the_row_goes_before_the_derived_one_and_both_before_a_header_of_that_name() -> None:
    copied = [("Nats-Msg-Id", ["old"]), ("Nats-TTL", ["1h"]), ("K", ["v"])]
    rows = batch(data=[b"x"] * 2, headers=[copied, copied], msg_id=["mine", None], ttl=[5, None])
    first, second = (found for _, _, found, _ in read(frames(rows, subject="s", derive_ids=True)))
    assert first == {"K": ["v"], "Nats-Msg-Id": ["mine"], "Nats-TTL": ["5"]}
    assert second["Nats-TTL"] == ["1h"]
    assert second["Nats-Msg-Id"][0].startswith("W:3:1:")
    (kept,) = read(frames(batch(data=[b"x"], headers=[copied]), subject="s"))
    assert kept[2]["Nats-Msg-Id"] == ["old"]


def test_frames_come_in_slices() -> None:
    rows = batch(data=[b"x"] * (ROWS + 1))
    assert [len(part) for part in encoder(subject="s").frames(rows, 0)] == [ROWS, 1]
    large = batch(data=[b"x" * (SLICE // 3)] * 5)
    assert [len(part) for part in encoder(subject="s").frames(large, 0)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("rows", "options", "text"),
    [
        (
            batch(subject=["a"] * ROWS + [None], data=[b""] * (ROWS + 1)),
            {},
            f"row {ROWS + 5} of partition 3 has no subject",
        ),
        (batch(subject=["a", ""], data=[b""] * 2), {}, "row 6 of partition 3 has no subject: it is empty"),
        (batch(subject=["a b"], data=[b""]), {}, "row 5 of partition 3 cannot be published: 'a b' is no"),
        (batch(subject=["a\r\nPUB b 0"], data=[b""]), {}, "row 5 of partition 3 cannot be published"),
        (batch(subject=["a.*"], data=[b""]), {}, "no subject without wildcards"),
        (batch(subject=[".a"], data=[b""]), {}, "no subject without wildcards"),
        (
            batch(data=[b"12345", b"123456"]),
            {"largest": 5, "limit": "max_payload"},
            "row 6 of partition 3 is a message of 6 bytes; the max_payload is 5",
        ),
        (
            batch(data=[b"1"], headers=[[("A", ["1"])]]),
            {"largest": 18, "limit": "max_payload"},
            "row 5 of partition 3 is a message of 19 bytes",
        ),
        (batch(data=[b""], headers=[[("A:", ["1"])]]), {}, "has a header whose name cannot be sent: 'A:'"),
        (batch(data=[b""], headers=[[("", ["1"])]]), {}, "has a header whose name cannot be sent: ''"),
        (batch(data=[b""], headers=[[("A", ["1\n2"])]]), {}, "has a header value with a line break"),
        (batch(data=[b""], msg_id=["1\r2"]), {}, "row 5 of partition 3 has a header value with a line break"),
    ],
)
def test_what_cannot_be_sent_names_the_row(rows: pa.RecordBatch, options: dict[str, Any], text: str) -> None:
    subject_option = {} if "subject" in rows.schema.names else {"subject": "s"}
    with pytest.raises(BadRow) as raised:
        frames(rows, 5, **options, **subject_option)
    assert text in str(raised.value)


def test_a_null_subject_is_seen_before_any_frame_of_its_batch() -> None:
    rows = batch(subject=["a"] * (2 * ROWS) + [None], data=[b""] * (2 * ROWS + 1))
    with pytest.raises(BadRow):
        next(encoder().frames(rows, 0))


TEXT = st.text(max_size=20)


@given(
    st.lists(
        st.tuples(
            TEXT | st.from_regex(r"[a-z]+(\.[a-z]+)?", fullmatch=True),
            st.binary(max_size=40),
            st.none() | st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=2)), max_size=2),
            st.none() | TEXT,
        ),
        max_size=4,
    ),
    st.booleans(),
)
def test_any_row_is_read_back_as_it_was_or_refused(rows: list[Any], derive: bool) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 4
    given_rows = batch(**dict(zip(("subject", "data", "headers", "msg_id"), columns, strict=True)))
    try:
        found = read(frames(given_rows, derive_ids=derive))
    except BadRow:
        bad = [not subject.is_literal(to) for to, *_ in rows]
        texts = [f"{k}{v}" for _, _, lines, _ in rows for k, vs in lines or () for v in ["", *vs]]
        texts += [one or "" for *_, one in rows]
        assert any(bad) or any(not k for _, _, lines, _ in rows for k, _ in lines or ()) or any(texts)
        return
    for (to, data, lines, msg_id), (heard_to, reply, heard, body) in zip(rows, found, strict=True):
        assert (heard_to, body) == (to, data)
        assert reply.startswith("_INBOX.x.")
        wanted: dict[str, list[str]] = {}
        for key, values in lines or ():
            if values:
                wanted.setdefault(key, []).extend(value.strip(" \t") for value in values)
        assert {k: v for k, v in heard.items() if k != "Nats-Msg-Id"} == wanted
        if msg_id:
            assert heard["Nats-Msg-Id"] == [msg_id.strip(" \t")]
        else:
            assert ("Nats-Msg-Id" in heard) == derive
