"""Handling of a request: decoding, refusals, internal errors, the audit, pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.server.jetstream.api import stream as stream_api
from pyjs.server.jetstream.api.table import TABLE
from pyjs.server.jetstream.streams import stream_info


def error(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["error"]["err_code"], answer["error"]["description"]


def test_a_response_names_its_type_first(fixture: JetStreamFixture) -> None:
    fixture.stream()
    answer = fixture.call("STREAM.INFO.S")
    assert next(iter(answer.items())) == ("type", "io.nats.jetstream.api.v1.stream_info_response")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"name":"S","nonsense":1}', 'invalid JSON: json: unknown field "nonsense"'),
        (b'{"name":1}', "invalid JSON: json: cannot unmarshal"),
        (b'{"name":', "invalid JSON: "),
        (b"[" * 900_000, "invalid JSON: exceeded max depth"),
        (b"[" + b"[]," * 90_000, "invalid JSON: exceeded max number of 20000 values"),
        (b"\xff\xfe", "invalid JSON: "),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_what_is_wrong(
    fixture: JetStreamFixture, body: bytes, text: str
) -> None:
    answer = json.loads(fixture.publish("$JS.API.STREAM.CREATE.S", body))
    code, description = error(answer)
    assert code == 10025
    assert description.startswith(text)


def test_without_strictness_an_unknown_field_is_no_error(fixture: JetStreamFixture) -> None:
    fixture.close()
    fixture.host.strict = False
    fixture.open()
    assert fixture.call("STREAM.CREATE.S", {"name": "S", "nonsense": 1, "storage": "memory"})["did_create"]


def test_a_name_that_differs_from_the_subjects_is_refused(fixture: JetStreamFixture) -> None:
    assert error(fixture.call("STREAM.CREATE.S", {"name": "T"}))[0] == 10056


def test_an_equal_stream_is_given_again_and_a_different_one_refused(fixture: JetStreamFixture) -> None:
    config = {"name": "S", "storage": "memory", "max_msgs": 5}
    assert fixture.call("STREAM.CREATE.S", config)["did_create"] is True
    assert fixture.call("STREAM.CREATE.S", config)["did_create"] is True
    assert error(fixture.call("STREAM.CREATE.S", config | {"max_msgs": 6}))[0] == 10058


def test_a_level_above_ours_is_refused(fixture: JetStreamFixture) -> None:
    answer = json.loads(fixture.publish("$JS.API.INFO", Nats_Required_Api_Level="99"))
    assert error(answer)[0] == 10185


def test_an_internal_error_becomes_an_error_and_is_counted(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture.stream()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr(stream_info, "describing", broken)
    assert error(fixture.call("STREAM.INFO.S")) == (10051, "bug")
    assert (fixture.js.api_total, fixture.js.api_errors) == (1, 1)


def test_every_call_is_published_to_the_audit(fixture: JetStreamFixture) -> None:
    spy = Spy(fixture.account, "$JS.EVENT.ADVISORY.API")
    fixture.call("STREAM.CREATE.S", {"name": "S", "storage": "memory"})
    (event,) = (json.loads(body) for body in spy.bodies)
    assert event["type"] == "io.nats.jetstream.advisory.v1.api_audit"
    assert event["subject"] == "$JS.API.STREAM.CREATE.S"
    assert json.loads(event["request"])["name"] == "S"
    assert json.loads(event["response"])["did_create"] is True


def test_a_streams_lifecycle_is_published(fixture: JetStreamFixture) -> None:
    spy = Spy(fixture.account, "$JS.EVENT.ADVISORY.STREAM.*.S")
    fixture.stream()
    fixture.js.update(fixture.js.lookup("S").config.replace(max_msgs=1))
    fixture.js.delete("S")
    assert [json.loads(body)["action"] for body in spy.bodies] == ["create", "modify", "delete"]


def test_lists_come_in_pages_by_name(fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_api, "NAMES_LIMIT", 2)
    for name in ("C", "A", "B"):
        fixture.stream(name)
    first = fixture.call("STREAM.NAMES")
    assert (first["total"], first["limit"], first["streams"]) == (3, 2, ["A", "B"])
    assert fixture.call("STREAM.NAMES", {"offset": 2})["streams"] == ["C"]
    assert fixture.call("STREAM.NAMES", {"offset": 9})["streams"] is None
    assert fixture.call("STREAM.NAMES", {"subject": "B"})["streams"] == ["B"]


def test_subject_details_come_in_pages_too(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_api, "SUBJECTS_LIMIT", 2)
    fixture.stream(subjects=["s.*"])
    for name in "cab":
        fixture.publish(f"s.{name}")
    first = fixture.call("STREAM.INFO.S", {"subjects_filter": ">"})
    assert (first["total"], list(first["state"]["subjects"])) == (3, ["s.a", "s.b"])
    second = fixture.call("STREAM.INFO.S", {"subjects_filter": ">", "offset": 2})
    assert list(second["state"]["subjects"]) == ["s.c"]


def test_no_handler_serves_what_consumers_and_streams_serve_themselves() -> None:
    assert not [pattern for pattern in TABLE if "MSG.NEXT" in pattern or pattern.startswith("DIRECT")]
