"""The formats of `-o` have the same values, `--json` is as `nats` has it, templates, and the environment."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from lib.cli import Cli
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: one
jetstream { store_dir: "<store>" }
accounts {
  SYS { users: [ { user: sys, password: s } ] }
  APP { jetstream: enabled, users: [ { user: app, password: a } ] }
}
system_account: SYS
"""
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


@pytest.fixture
def filled(cli: Cli, serve: Callable[[str], ServerProcess]) -> Callable[..., str]:
    """Runs a command that must succeed, as the user who may, on a server with a stream and a consumer."""
    url = serve(CONFIG).url
    app = cli.with_flags("--server", url, "--user", "app", "--password", "a")
    system = cli.with_flags("--server", url, "--user", "sys", "--password", "s")
    if app.run("stream", "info", "ORDERS").code:
        app.ok("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults")
        app.ok("stream", "add", "COPY", "--source", "ORDERS", "--defaults")
        app.ok("consumer", "add", "ORDERS", "C", "--pull", "--defaults")
        for subject in ("orders.a", "orders.b", "orders.a"):
            app.ok("pub", "--jetstream", subject, "x")
        app.ok("stream", "rmm", "ORDERS", "2", "-f")
    app.ok("context", "save", "home", "--description", "here")

    def run(line: str, *more: str) -> str:
        return (system if line.startswith("server") else app).ok(*line.split(), *more)

    return run


def is_a(value: object, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def mistakes(value: Any, schema: Any, path: str = "") -> list[str]:
    """What is wrong with a value, for the part of JSON Schema that is used."""
    if "anyOf" in schema:
        return min((mistakes(value, each, path) for each in schema["anyOf"]), key=len)
    kind, *null = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None and null:
        return []
    if not is_a(value, kind):
        return [f"{path}: {value!r} is no {kind}"]
    if kind == "array":
        inner = schema.get("items")
        items = list(enumerate(value)) if inner else []
        return [each for place, item in items for each in mistakes(item, inner, f"{path}[{place}]")]
    if kind != "object":
        return []
    known = schema.get("properties", {})
    found = [f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value]
    if schema.get("additionalProperties") is False:
        found += [f"{path}.{name} is in no schema" for name in value if name not in known]
    return found + [
        each
        for name in known
        if name in value
        for each in mistakes(value[name], known[name], f"{path}.{name}")
    ]


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = json.loads(Cli(tmp_path_factory.mktemp("home")).ok("schema", "cli"))
    commands: dict[str, Any] = found["commands"]
    return commands


@pytest.mark.parametrize("line", ["stream ls", "stream info ORDERS", "stream subjects ORDERS", "context ls"])
def test_the_formats_have_the_same_values(filled: Callable[..., str], line: str) -> None:
    document = json.loads(filled(line, "--output", "json"))
    passing = ("last_message", "ts")  # what time goes on in, between two runs

    def settled(value: Any) -> Any:
        for each in value if isinstance(value, list) else [value]:
            for name in passing:
                each.pop(name, None)
        return value

    expected = settled(document)
    assert settled(yaml.safe_load(filled(line, "-o", "yaml"))) == expected
    lines = [json.loads(each) for each in filled(line, "-o", "ndjson").splitlines()]
    assert [settled(each) for each in lines] == (expected if isinstance(expected, list) else [expected])
    rows = list(csv.DictReader(io.StringIO(filled(line, "-o", "csv"))))
    if isinstance(expected, list):
        assert [set(row) - set(passing) for row in rows] == [set(each) for each in expected]
    else:
        assert {"config.name", "state.messages"} <= {row["field"] for row in rows}
    assert filled(line, "-o", "md").count("|") > 4
    assert filled(line, "-o", "name").split()


def test_json_stays_as_nats_has_it(filled: Callable[..., str]) -> None:
    assert json.loads(filled("stream ls", "--json")) == ["COPY", "ORDERS"]
    assert json.loads(filled("consumer ls ORDERS", "-j")) == ["C"]
    assert json.loads(filled("stream subjects ORDERS", "-j")) == {"orders.a": 2}
    assert json.loads(filled("stream gaps ORDERS", "--json")) == [[2, 2]]
    assert json.loads(filled("stream info ORDERS", "-j"))["config"]["name"] == "ORDERS"
    assert set(json.loads(filled("server report cpu", "-j"))) == {"one"}
    assert json.loads(filled("server list", "-j"))[0]["server"]["name"] == "one"


def test_a_template_has_a_line_for_each(filled: Callable[..., str]) -> None:
    lines = filled("stream ls", "--template", r"{name}\t{consumers}").splitlines()
    assert sorted(lines) == ["COPY\t0", "ORDERS\t1"] or "ORDERS\t2" in lines  # with the copy's own consumer
    assert filled("stream info ORDERS", "--template", "{config.subjects.0} {state.bytes:size}").endswith(
        " B\n"
    )


def test_tables_are_as_the_environment_says(filled: Callable[..., str], cli: Cli) -> None:
    assert filled("context ls", "-o", "table").startswith("╭")
    for name, value, start in (
        ("NATS_TABLE_FORMAT", "md", "# Known Contexts\n\n| Name |"),
        ("NATS_TABLE_FORMAT", "csv", "Known Contexts\nName,Description\nhome,here\n"),
        ("NATS_TABLE_FORMAT", "TSV", "Known Contexts\nName\tDescription\n"),
        ("LLMFORMAT", "1", "# Known Contexts\n\n| Name |"),
        ("NATS_TABLE_FORMAT", "nosuch", "╭"),
    ):
        assert cli.ok("context", "ls", env={name: value}).startswith(start)
        assert cli.ok("context", "ls", "-o", "table", env={name: value}).startswith("╭")
