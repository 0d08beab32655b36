"""What is checked of a stream before a row is published to it."""

from __future__ import annotations

from typing import Any

import pytest
from lib.frames import schema
from lib.jetstream import SECOND
from lib.sink_fixture import SinkEnv
from pyjs.pipeline.jetstream import UnknownStream
from pyjs.pipeline.options import OptionError, QuerySettings
from pyjs.pipeline.sink import SinkError
from pyjs.pipeline.sink.write_options import WriteOptions
from pyjs.pipeline.sink.writer import WritePlan

ONCE = "effectively-once"


def plan(env: SinkEnv, *columns: str, **options: str) -> WritePlan:
    return WritePlan.make(WriteOptions.of(env.settings(**options)), schema(*(columns or ("subject", "data"))))


def test_a_stream_is_found_with_its_limits(env: SinkEnv) -> None:
    env.create(max_msg_size=77, duplicate_window=30 * SECOND)
    found = plan(env).target
    assert found is not None
    assert (found.stream, found.max_message, found.duplicate_window) == (env.name, 77, 30.0)


def test_a_stream_that_does_not_exist_is_an_error(env: SinkEnv) -> None:
    with pytest.raises(UnknownStream, match=f"stream {env.name} not found"):
        plan(env)


@pytest.mark.parametrize(
    ("config", "columns", "options", "text"),
    [
        ({"sealed": True}, (), {}, "stream <S> is sealed: it takes no messages any more"),
        ({"no_ack": True}, (), {}, "stream <S> acknowledges nothing"),
        ({}, ("data",), {"subject": "other.x"}, "stream <S> stores <S>.>: not subject other.x"),
        ({}, ("subject", "data", "ttl"), {}, "pyjs stream edit <S> --allow-msg-ttl"),
        (
            {},
            (),
            {"guarantee": ONCE},
            "stream <S> remembers message ids for 2m0s, rows may be sent again for 10m0s "
            "(option retryWindow). Run: pyjs stream edit <S> --dupe-window 10m0s",
        ),
        (
            {"max_age": 60 * SECOND, "duplicate_window": 60 * SECOND},
            (),
            {"guarantee": ONCE, "retryWindow": "150s"},
            "--dupe-window 2m30s (its max age of 1m0s must be raised first)",
        ),
    ],
)
def test_a_stream_that_does_not_take_the_rows_is_an_error(
    env: SinkEnv, config: dict[str, Any], columns: tuple[str, ...], options: dict[str, str], text: str
) -> None:
    env.create(**{key: value for key, value in config.items() if key != "sealed"})
    if config.get("sealed"):
        env.js.update(env.name, sealed=True)
    with pytest.raises(SinkError) as raised:
        plan(env, *columns, **options)
    assert text.replace("<S>", env.name) in str(raised.value)


def test_the_command_in_the_error_repairs_it(env: SinkEnv) -> None:
    env.create()
    env.js.update(env.name, duplicate_window=600 * SECOND)
    assert plan(env, guarantee=ONCE).target is not None
    env.js.update(env.name, allow_msg_ttl=True)
    assert plan(env, "subject", "data", "ttl").target is not None


def test_a_mirror_is_an_error(env: SinkEnv) -> None:
    env.create()
    env.js.create(f"{env.name}_m", mirror={"name": env.name})
    with pytest.raises(SinkError, match=f"stream {env.name}_m stores no subjects"):
        plan(env, stream=f"{env.name}_m")


def test_a_subject_that_no_stream_stores_is_an_error(env: SinkEnv) -> None:
    settings = QuerySettings.of({"servers": env.server.url, "subject": f"{env.name}.x"}, "write")
    with pytest.raises(SinkError, match=f"no stream stores subject {env.name}.x"):
        WritePlan.make(WriteOptions.of(settings), schema("data"))


def test_effectively_once_needs_to_know_the_stream(env: SinkEnv) -> None:
    settings = QuerySettings.of({"servers": env.server.url, "guarantee": ONCE}, "write")
    with pytest.raises(SinkError, match="needs the option stream when the subject is a column"):
        WritePlan.make(WriteOptions.of(settings), schema("subject", "data"))
    least = QuerySettings.of({"servers": env.server.url}, "write")
    found = WritePlan.make(WriteOptions.of(least), schema("subject", "data")).target
    assert found is not None
    assert found.stream == ""


def test_a_row_may_not_be_under_way_longer_than_its_id_is_remembered() -> None:
    given = {"guarantee": ONCE, "deliveryTimeout": "11m", "servers": "nats://127.0.0.1:1"}
    with pytest.raises(SinkError, match=r"deliveryTimeout \(660 s\) is longer than retryWindow \(600 s\)"):
        WriteOptions.of(QuerySettings.of(given, "write"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("guarantee", "twice"),
        ("subject", "a.*"),
        ("window", "0"),
        ("deliveryTimeout", "soon"),
        ("retryWindow", "-1s"),
    ],
)
def test_options_are_validated_by_name(option: str, value: str) -> None:
    with pytest.raises(OptionError, match=option):
        QuerySettings.of({option: value}, "write")
