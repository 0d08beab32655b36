"""What commands print with `-o json` is what `pyjs schema cli` says, on both servers; other formats agree."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
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
OF_ACCOUNT = (
    "stream ls",
    "stream find",
    "stream report",
    "stream report --leaders",
    "stream info ORDERS",
    "stream state ORDERS",
    "stream subjects ORDERS",
    "stream gaps ORDERS",
    "stream get ORDERS 1",
    "stream edit ORDERS --description=x --force",
    "consumer ls ORDERS",
    "consumer find ORDERS",
    "consumer report ORDERS",
    "consumer info ORDERS C",
    "consumer state ORDERS C",
    "context ls",
    "audit checks",
    "schema search",
    "rtt 1",
    "account info",
    "account report connections",
    "account report statistics",
)
OF_SYSTEM = (
    "server list",
    "server info",
    "server ping",
    "server account info APP",
    "server report jetstream",
    "server report jetstream --leaders",
    "server report connections",
    "server report accounts",
    "server report accounts APP",
    "server report cpu",
    "server report mem",
    "server report downgrade 0",
    "server report health",
    "server stream-check",
    "server consumer-check",
    "server report routes",
    "server report gateways",
    "server report leafnodes",
)


OF_FOLDERS = (
    "auth operator info OP",
    "auth operator list",
    "auth operator keys list",
    "auth account info A",
    "auth account ls",
    "auth account keys info A clerk",
    "auth account keys ls A",
    "auth account exports info x A",
    "auth account exports ls A",
    "auth account imports info x SYSTEM",
    "auth account imports ls SYSTEM",
    "auth account mappings info A a",
    "auth account mappings ls A",
    "auth user info ann A",
    "auth user ls A",
)
MADE_THERE = (
    "auth operator add OP",
    "auth account add A --defaults",
    "auth account keys add A clerk",
    "auth account exports add x x A",
    "auth account imports add x x SYSTEM --source A",
    "auth account mappings add A a b",
    "auth user add ann A --defaults",
)
NOTHING_THERE = ("server report routes", "server report gateways", "server report leafnodes")


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


def command_of(line: str, schemas: dict[str, Any]) -> str:
    """The words of a line that name the command."""
    words = line.split()
    return next(" ".join(words[:end]) for end in range(len(words), 0, -1) if " ".join(words[:end]) in schemas)


@pytest.mark.parametrize("lines", [OF_ACCOUNT, OF_SYSTEM], ids=["account", "system"])
def test_what_is_printed_is_what_the_schema_says(
    filled: Callable[..., str], schemas: dict[str, Any], lines: tuple[str, ...]
) -> None:
    for line in lines:
        document = json.loads(filled(line, "--output", "json"))
        assert mistakes(document, schemas[command_of(line, schemas)]) == [], line
        assert document or line in NOTHING_THERE, line


def test_what_is_printed_of_dead_letters_is_what_the_schema_says(
    filled: Callable[..., str], schemas: dict[str, Any]
) -> None:
    try:
        for line in (
            "dlq add COPY",
            "dlq ls",
            "dlq ls COPY",
            "dlq show COPY 1",
            "dlq replay COPY --all --dry-run",
            "dlq stop COPY",
        ):
            document = json.loads(filled(line, "--output", "json"))
            assert mistakes(document, schemas[command_of(line, schemas)]) == [], line
            if line == "dlq add COPY":
                filled("consumer add COPY C --pull --defaults")
                filled("consumer next COPY C --term")
            else:
                assert document, line
    finally:
        filled("consumer rm COPY C --force")
        filled("dlq rm COPY --force")


def test_what_folders_hold_is_printed_as_the_schema_says(tmp_path: Path, schemas: dict[str, Any]) -> None:
    cli = Cli(tmp_path)
    for line in MADE_THERE:
        cli.ok(*line.split())
    for line in OF_FOLDERS:
        document = json.loads(cli.ok(*line.split(), "--output", "json"))
        assert mistakes(document, schemas[command_of(line, schemas)]) == [], line
        assert document, line


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
