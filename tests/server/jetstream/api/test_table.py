"""The way of a request: decoding, refusals, internal errors, the audit, pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lib.streams import Spy, World
from pyjs.server.jetstream.api import stream as stream_api
from pyjs.server.jetstream.api.table import TABLE
from pyjs.server.jetstream.streams import stream_info


def error(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["error"]["err_code"], answer["error"]["description"]


def test_a_response_names_its_type_first(world: World) -> None:
    world.stream()
    answer = world.call("STREAM.INFO.S")
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
    world: World, body: bytes, text: str
) -> None:
    answer = json.loads(world.publish("$JS.API.STREAM.CREATE.S", body))
    code, description = error(answer)
    assert code == 10025
    assert description.startswith(text)


def test_without_strictness_an_unknown_field_is_no_error(world: World) -> None:
    world.close()
    world.host.strict = False
    world.open()
    assert world.call("STREAM.CREATE.S", {"name": "S", "nonsense": 1, "storage": "memory"})["did_create"]


def test_a_name_that_differs_from_the_subjects_is_refused(world: World) -> None:
    assert error(world.call("STREAM.CREATE.S", {"name": "T"}))[0] == 10056


def test_an_equal_stream_is_given_again_and_a_different_one_refused(world: World) -> None:
    config = {"name": "S", "storage": "memory", "max_msgs": 5}
    assert world.call("STREAM.CREATE.S", config)["did_create"] is True
    assert world.call("STREAM.CREATE.S", config)["did_create"] is True
    assert error(world.call("STREAM.CREATE.S", config | {"max_msgs": 6}))[0] == 10058


def test_a_level_above_ours_is_refused(world: World) -> None:
    answer = json.loads(world.publish("$JS.API.INFO", Nats_Required_Api_Level="99"))
    assert error(answer)[0] == 10185


def test_an_internal_error_becomes_an_error_and_is_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.stream()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr(stream_info, "describing", broken)
    assert error(world.call("STREAM.INFO.S")) == (10051, "bug")
    assert (world.js.api_total, world.js.api_errors) == (1, 1)


def test_every_call_is_published_to_the_audit(world: World) -> None:
    spy = Spy(world.account, "$JS.EVENT.ADVISORY.API")
    world.call("STREAM.CREATE.S", {"name": "S", "storage": "memory"})
    (event,) = (json.loads(body) for body in spy.bodies)
    assert event["type"] == "io.nats.jetstream.advisory.v1.api_audit"
    assert event["subject"] == "$JS.API.STREAM.CREATE.S"
    assert json.loads(event["request"])["name"] == "S"
    assert json.loads(event["response"])["did_create"] is True


def test_a_streams_lifecycle_is_published(world: World) -> None:
    spy = Spy(world.account, "$JS.EVENT.ADVISORY.STREAM.*.S")
    world.stream()
    world.js.update(world.js.lookup("S").config.replace(max_msgs=1))
    world.js.delete("S")
    assert [json.loads(body)["action"] for body in spy.bodies] == ["create", "modify", "delete"]


def test_lists_come_in_pages_by_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_api, "NAMES_LIMIT", 2)
    for name in ("C", "A", "B"):
        world.stream(name)
    first = world.call("STREAM.NAMES")
    assert (first["total"], first["limit"], first["streams"]) == (3, 2, ["A", "B"])
    assert world.call("STREAM.NAMES", {"offset": 2})["streams"] == ["C"]
    assert world.call("STREAM.NAMES", {"offset": 9})["streams"] is None
    assert world.call("STREAM.NAMES", {"subject": "B"})["streams"] == ["B"]


def test_subject_details_come_in_pages_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_api, "SUBJECTS_LIMIT", 2)
    world.stream(subjects=["s.*"])
    for name in "cab":
        world.publish(f"s.{name}")
    first = world.call("STREAM.INFO.S", {"subjects_filter": ">"})
    assert (first["total"], list(first["state"]["subjects"])) == (3, ["s.a", "s.b"])
    second = world.call("STREAM.INFO.S", {"subjects_filter": ">", "offset": 2})
    assert list(second["state"]["subjects"]) == ["s.c"]


def test_no_handler_serves_what_consumers_and_streams_serve_themselves() -> None:
    assert not [pattern for pattern in TABLE if "MSG.NEXT" in pattern or pattern.startswith("DIRECT")]
