"""`schema search`, `info`, `validate` and `request`: what both servers answer holds to the schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from lib.cli import Cli
from pyjs.plugins.schema.messages import schemas
from pyjs.plugins.schema.validation import mistakes
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig

PREFIX = "io.nats.jetstream.api.v1."
STREAM = f"{PREFIX}stream_configuration"


def test_what_servers_answer_holds_to_the_schemas(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    cli.ok("consumer", "add", unique, "C", "--pull", "--defaults")
    asked = {
        unique: ("pub_ack", ""),
        "$JS.API.INFO": ("account_info", ""),
        f"$JS.API.STREAM.INFO.{unique}": ("stream_info", '{"subjects_filter":">"}'),
        "$JS.API.STREAM.NAMES": ("stream_names", ""),
        "$JS.API.STREAM.LIST": ("stream_list", ""),
        f"$JS.API.STREAM.UPDATE.{unique}": (
            "stream_update",
            f'{{"name":"{unique}","subjects":["{unique}"]}}',
        ),
        f"$JS.API.STREAM.MSG.GET.{unique}": ("stream_msg_get", '{"seq":1}'),
        f"$JS.API.STREAM.MSG.DELETE.{unique}": ("stream_msg_delete", '{"seq":1}'),
        f"$JS.API.STREAM.PURGE.{unique}": ("stream_purge", ""),
        f"$JS.API.CONSUMER.INFO.{unique}.C": ("consumer_info", ""),
        f"$JS.API.CONSUMER.NAMES.{unique}": ("consumer_names", ""),
        f"$JS.API.CONSUMER.LIST.{unique}": ("consumer_list", ""),
        f"$JS.API.CONSUMER.PAUSE.{unique}.C": ("consumer_pause", '{"pause_until":"2100-01-01T00:00:00Z"}'),
        f"$JS.API.CONSUMER.RESET.{unique}.C": ("consumer_reset", ""),
        f"$JS.API.CONSUMER.INFO.{unique}.NOSUCH": ("consumer_info", ""),
        f"$JS.API.CONSUMER.DELETE.{unique}.C": ("consumer_delete", ""),
        f"$JS.API.STREAM.DELETE.{unique}": ("stream_delete", ""),
    }
    for subject, (kind, body) in asked.items():
        name = f"{PREFIX}{kind}_response"
        said = cli.run("schema", "request", subject, body, "--schema", name)
        assert (said.code, said.out) == (0, f"Response is a valid {name} message\n"), said.out + said.err


def test_an_answer_of_another_type_is_refused(cli: Cli) -> None:
    other = cli.run("schema", "req", "$JS.API.INFO", "--schema", f"{PREFIX}stream_info_response", "--show")
    assert (other.code, f"invalid message type {PREFIX}account_info_response" in other.err) == (4, True)
    assert json.loads(other.out)["type"] == f"{PREFIX}account_info_response"
    assert cli.run("schema", "req", "nobody.listens.here").code == 6


def test_schemas_are_listed_and_shown(cli: Cli) -> None:
    assert cli.ok("schema", "search", "stream_conf") == f"Matched Schemas:\n\n  {STREAM}\n"
    assert cli.ok("schema", "ls", "nosuch") == 'No schemas matched "nosuch"\n'
    assert json.loads(cli.ok("schema", "find", "--json")) == list(schemas())
    shown = json.loads(cli.ok("schema", "info", STREAM))
    assert shown["properties"]["storage"] == {"type": "string", "enum": ["file", "memory"]}
    assert yaml.safe_load(cli.ok("schema", "show", STREAM, "--yaml")) == shown
    wrong = cli.run("schema", "info", f"{PREFIX}stream_config")
    assert (wrong.code, wrong.out, f"did you mean {'stream_configuration'}" in wrong.err) == (3, "", True)
    unknown = cli.run("schema", "info", "io.nats.jetstream.advisory.v1.api_audit")
    assert (unknown.code, "none of events and monitoring" in unknown.err) == (3, True)


def test_a_file_is_validated(cli: Cli) -> None:
    good = {"name": "S", "subjects": ["a"], "storage": "file", "some_new_field": 1}
    bad = {"name": 1, "storage": "tape", "max_age": 1.5, "sources": [{"name": []}], "metadata": {"a": 2}}
    (cli.home / "good.json").write_text(json.dumps(good))
    assert cli.ok("schema", "validate", STREAM, "good.json") == f"good.json validates against {STREAM}\n"
    result = cli.run("schema", "check", STREAM, "-", stdin=json.dumps(bad))
    assert (result.code, result.out.splitlines()) == (
        5,
        [
            "Validation errors in -:",
            "",
            "  /name: expected string, but got integer",
            "  /storage: 'tape' is none of 'file', 'memory'",
            "  /max_age: expected integer, but got number",
            "  /sources/0/name: expected string, but got array",
            "  /metadata/a: expected string, but got integer",
            "",
        ],
    )
    listed = cli.run("schema", "validate", STREAM, "-", "--json", stdin=json.dumps(bad))
    assert len(json.loads(listed.out)) == 5
    assert json.loads(cli.ok("schema", "validate", STREAM, "good.json", "--json")) == []
    deep = '{"x":' + "[" * 900 + "]" * 900 + "}"
    assert cli.run("schema", "validate", STREAM, "-", stdin=deep).code == 0
    for text in ("{", "[" * 100_000, ""):
        assert cli.run("schema", "validate", STREAM, "-", stdin=text).code == 1
    assert cli.run("schema", "validate", STREAM, "nosuch.json").code == 3


@pytest.mark.parametrize(("record", "kind"), [(StreamConfig, "stream"), (ConsumerConfig, "consumer")])
def test_what_the_types_write_holds_to_their_schemas(record: Any, kind: str) -> None:
    schema = schemas()[f"{PREFIX}{kind}_configuration"]
    assert list(mistakes(record().to_json(), schema)) == []
    assert set(record().to_json()) <= set(schema["properties"])


@pytest.mark.parametrize(
    ("value", "schema", "found"),
    [
        (True, {"type": "integer"}, ["(root): expected integer, but got boolean"]),
        (1.0, {"type": "integer"}, []),
        (None, {"type": ["array", "null"]}, []),
        (5, {"type": "integer", "minimum": 6}, ["(root): 5 is below 6"]),
        (5, {"type": "integer", "maximum": 4}, ["(root): 5 is above 4"]),
        ("x", {"type": "string", "format": "date-time"}, ["(root): 'x' is no RFC 3339 time"]),
        ({}, {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, ["/b is required"]),
        ({"a": 1}, {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, []),
        ({"t": "y"}, {"properties": {"t": {"const": "x"}}}, ["/t: expected 'x', but got 'y'"]),
    ],
)
def test_validation(value: object, schema: dict[str, Any], found: list[str]) -> None:
    assert list(mistakes(value, schema)) == found
