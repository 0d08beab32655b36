"""Every list and report fits the terminal at 80, 100 and 200 columns, and its borders are unbroken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from pyjs import cli as cli_room
from pyjs import plugins
from pyjs.cli.entry import root
from pyjs.cli.output import BYTES, FLAG, LIST, NAME, NUMBER, SPAN, TEXT, TIME, Column, Table, shape_of
from pyjs.cli.output.cells import width_of
from pyjs.cli.output.layout import draw

WIDTHS = (80, 100, 200)
STREAM = "orders-of-the-north-west-and-of-the-south-east-2026"
BUCKET = "settings-of-all-shops-in-the-north-west-of-2026"
FILE = "invoices/of-the-north-west/2026/11/invoice-000-000-001.pdf"
CONFIG = """
listen: "127.0.0.1:<client>"
server_name: hub-1.eu-central-1.example.net
jetstream { store_dir: "<store>" }
accounts {
  SYS { users: [ { user: sys, password: s } ] }
  an-account-with-quite-a-long-name { jetstream: enabled, users: [ { user: app, password: a } ] }
}
system_account: SYS
"""
OF_ACCOUNT = (
    "account info",
    f"consumer info {STREAM} dispatcher-of-the-north-west",
    f"kv info {BUCKET}",
    f"stream info {STREAM}",
    "account report connections",
    "account report statistics",
    "audit checks",
    f"consumer find {STREAM}",
    f"consumer ls {STREAM}",
    f"consumer report {STREAM}",
    f"consumer report {STREAM} --leaders",
    "context ls",
    "dlq ls",
    f"dlq ls {STREAM}",
    f"dlq replay {STREAM} --all --dry-run",
    "doctor",
    "errors ls",
    f"explain consumer {STREAM} dispatcher-of-the-north-west",
    f"explain stream {STREAM}",
    "explain subject orders.new",
    "kv ls",
    f"kv ls {BUCKET} --verbose",
    f"kv history {BUCKET} shop.vienna.opening-hours",
    "object ls",
    f"object ls {BUCKET}",
    "pipeline ls",
    "rtt",
    "schema search",
    "stream find",
    f"stream gaps {STREAM}",
    "stream ls",
    "stream report",
    "stream report --leaders",
    f"stream subjects {STREAM}",
)
OF_SYSTEM = (
    "doctor",
    "server consumer-check",
    "server info",
    "server list",
    "server ping",
    "server report accounts",
    "server report connections",
    "server report cpu",
    "server report downgrade 0",
    "server report gateways",
    "server report health",
    "server report jetstream",
    "server report jetstream --leaders",
    "server report leafnodes",
    "server report mem",
    "server report routes",
    "server stream-check",
)

OF_FOLDERS = (
    "auth account exports ls A",
    "auth account imports ls SYSTEM",
    "auth account keys ls A",
    "auth account ls",
    "auth account mappings ls A",
    "auth operator keys list",
    "auth operator list",
    "auth user ls A",
)
# What needs more than a server and folders, or follows until Ctrl-C; their tables are tried without them.
ELSEWHERE = {
    "account resolver report",
    "account tls",
    "auth account push",
    "backup verify",
    "consumer next",
    "context validate",
    "counter list",
    "errors validate",
    "export",
    "kv revert",
    "kv watch",
    "nsc status",
    "object watch",
    "pipeline lag",  # of a document, in tests/plugins/pipeline
    "schema request",
    "schema validate",
    "server mappings",
    "server watch accounts",
    "server watch api requests",
    "server watch jetstream",
    "server watch servers",
    "service list",
    "service ping",
    "service stats",
    "stream view",
    "stream template ls",  # a server with legacy_api
}
FINDINGS = ("doctor", "explain", "server stream-check", "server consumer-check")  # whose exit code tells them


@pytest.fixture
def at(cli: Cli, serve: Callable[[str], ServerProcess]) -> Callable[[str], Cli]:
    """The command line of who may run a line, at a server with long names."""
    url = serve(CONFIG).url
    app = cli.with_flags("--server", url, "--user", "app", "--password", "a")
    if app.run("stream", "info", STREAM).code:
        app.ok(
            "stream", "add", STREAM, "--subjects", "orders.>", "--defaults", "--description", "Of all shops"
        )
        app.ok("stream", "add", f"copy-of-{STREAM}", "--source", STREAM, "--defaults")
        app.ok("consumer", "add", STREAM, "dispatcher-of-the-north-west", "--pull", "--defaults")
        app.ok("pub", "--jetstream", "orders.of.the.north.west.new", "x", "--count", "3")
        app.ok("stream", "rmm", STREAM, "2", "-f")
        app.ok("dlq", "add", STREAM)
        app.ok("consumer", "next", STREAM, "dispatcher-of-the-north-west", "--term")
        app.ok(
            "kv",
            "add",
            BUCKET,
            "--history",
            "5",
            "--description",
            "What all shops in the north west are told",
        )
        app.ok("kv", "put", BUCKET, "shop.vienna.opening-hours", "08:00-18:00, on Saturdays until noon " * 4)
        app.ok("object", "add", BUCKET)
        (cli.home / "invoice").write_text("paid")
        app.ok("object", "put", BUCKET, "invoice", "--name", FILE, "--no-progress")
    app.ok("context", "save", "north-west", "--description", "Where the shops of the north west are " * 3)
    system = cli.with_flags("--server", url, "--user", "sys", "--password", "s")
    return lambda line: system if line in OF_SYSTEM else app


def broken(text: str, width: int) -> str:
    """Return what is wrong with the lines of a terminal; empty if all fit and no border is broken."""
    box: list[str] = []
    for line in [*re.sub("\x1b\\[[0-9;]*m", "", text).split("\n"), ""]:
        if width_of(line) > width:
            return f"{width_of(line)} columns: {line}"
        if line[:1] in "╭│├╰" and line:
            box.append(line)
            if len({width_of(each) for each in box}) > 1 or line[-1] != {"╭": "╮", "├": "┤", "╰": "╯"}.get(
                line[0], "│"
            ):
                return f"a border is broken: {line}"
        elif box:
            if box[0][0] != "╭" or box[-1][0] != "╰":
                return f"a box is open: {box[0]}"
            box = []
    return ""


def run(cli: Cli, line: str) -> Iterator[str]:
    """Run a line in each width, and yield what is wrong with it."""
    for width in WIDTHS:
        result = cli.run(*line.split(), columns=width)
        if result.code and not line.startswith(FINDINGS):
            yield f"{line}: {result.code}: {result.err}"
        elif not result.out.strip() or (found := broken(result.out, width)):
            yield f"{line} at {width}: {found if result.out.strip() else result.err}"


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_every_list_and_report_fits_the_terminal(
    at: Callable[[str], Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyjs.plugins.server.poll.QUIET_SECONDS", 0.05)  # one server answers
    wrong = [each for line in (*OF_ACCOUNT, *OF_SYSTEM) for each in run(at(line), line)]
    assert not wrong, "\n".join(wrong)


def test_what_folders_hold_fits_the_terminal(cli: Cli) -> None:
    for line in (
        "auth operator add the-operator-of-the-north-west-2026",
        "auth account add A --defaults",
        "auth account keys add A clerk-of-the-north-west",
        "auth account exports add orders-of-the-north-west orders.of.the.north.west.> A",
        "auth account imports add orders-of-the-north-west orders.of.the.north.west.> SYSTEM --source A",
        "auth account mappings add A orders.of.the.north.west orders.of.the.south.east",
        "auth user add ann-who-is-a-clerk-of-the-north-west A --defaults",
    ):
        cli.ok(*line.split())
    wrong = [each for line in OF_FOLDERS for each in run(cli, line)]
    assert not wrong, "\n".join(wrong)


@cache
def declared() -> dict[str, tuple[Table, ...]]:
    """The tables of each command, by its words."""
    return dict(_declared(root, click.Context(root), ()))


def _declared(
    command: click.Command, context: click.Context, path: tuple[str, ...]
) -> Iterator[tuple[str, tuple[Table, ...]]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _declared(found, context, (*path, name))
    elif (shape := shape_of(command)) and shape.tables:
        yield " ".join(path), (*shape.tables, *shape.alternative)


def test_every_command_that_lists_is_tried() -> None:
    lines = (*OF_ACCOUNT, *OF_SYSTEM, *OF_FOLDERS)
    tried = {name for name in declared() if any(line.startswith(name) for line in lines)}
    assert set(declared()) - tried == ELSEWHERE


CELLS = {
    id(NAME): "hub-1.eu-central-1.of-the-north-west.example.net",
    id(TEXT): "What it is for, in a sentence that somebody wrote who had time.",
    id(
        LIST
    ): "hub-1.eu-central-1.example.net, hub-2.eu-central-1.example.net*, hub-3.eu-central-1.example.net",
    id(NUMBER): "1,234,567,890",
    id(BYTES): "1023 MiB",
    id(SPAN): "1y200d3h4m5s",
    id(TIME): "2026-11-23 07:43:59",
    id(FLAG): "yes",
}


def cell(column: Column, row: int) -> str:
    return CELLS.get(id(column.kind), "Explicit").replace("1", str(row), 1)


@pytest.mark.parametrize("width", [60, *WIDTHS])
def test_every_table_fits_however_much_is_in_it(width: int) -> None:
    for name, tables in declared().items():
        for table in tables:
            cells = [[cell(column, row) for column in table.columns] for row in (1, 2)]
            records = [{column.field: "" for column in table.columns}] * len(cells)
            drawn = draw(table.of(records, cells=cells).texts(wide=False), width, wide="-o wide")
            assert not broken(drawn, width), (name, table.name)
            head = drawn.partition("├")[0] + drawn.split("┼")[0].rpartition("├")[0]
            assert "…" not in head, (name, table.name, drawn)
            for text in re.findall(r"│ (\S*…\S*) +(?=│)", drawn):
                assert len(text) >= 16, (name, table.name, drawn)


def test_what_people_need_least_is_a_column() -> None:
    for name, tables in declared().items():
        for table in tables:
            assert set(table.spare) <= {column.field for column in table.columns}, (name, table.name)


def test_a_terminal_is_as_wide_as_its_variable_says(cli: Cli) -> None:
    cli.ok("context", "save", "north-west", "--description", "Where the shops of the north west are")
    lines = cli.run("context", "ls", columns=30).out.split("\n")
    assert max(map(len, lines)) <= 30
    with cli.terminal(["context", "ls"], {"COLUMNS": "30"}, columns=100) as terminal:
        assert terminal.finish() == 0
        assert terminal.lines() == [line for line in lines if line]


@pytest.mark.parametrize(("env", "colour"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_left_out_where_they_are_not_wanted(cli: Cli, env: dict[str, str], colour: bool) -> None:
    cli.ok("context", "save", "home")
    shown = cli.run("context", "ls", "--colors", "red", columns=80, env=env).out
    assert ("\x1b[31m" in shown) == colour
    assert "\x1b" not in cli.run("context", "ls", "--colors", "red", env=env).out


def test_no_colour_is_one_that_a_light_terminal_does_not_show() -> None:
    """Yellow is only for who asks for it by --colors."""
    rooms = [Path(cli_room.__file__).parent, Path(plugins.__file__).parent]
    texts = {path: path.read_text() for room in rooms for path in room.glob("**/*.py")}
    assert len(texts) > 200
    assert [path.name for path, text in texts.items() if re.search(r"[\"\[]yellow", text)] == ["flags.py"]
