"""On a terminal: tables of its width, a watch in one place, a pager for what is too long, and colours."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable

import pytest
from lib.cli import PYJS, Cli
from lib.process import ServerProcess
from pyjs.cli.prompt import questions

CONFIG = 'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>" }\n'
LONG = "orders-of-the-north-west-and-of-the-south-east-2026"
NAMES = [LONG, *(f"s{number:02}" for number in range(20))]


@pytest.fixture
def filled(cli: Cli, serve: Callable[[str], ServerProcess]) -> Cli:
    """A command line at a server with 21 streams."""
    found = cli.with_flags("--server", serve(CONFIG).url)
    if found.run("stream", "info", LONG).code:
        for name in NAMES:
            found.ok(
                "stream", "add", name, "--subjects", f"{name}.>", "--defaults", "--description", "It has one"
            )
    return found


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_a_table_is_not_wider_than_the_terminal(filled: Cli, columns: int) -> None:
    with filled.terminal(["stream", "ls"], columns=columns, rows=60) as terminal:
        assert terminal.finish() == 0
        boxed = [line for line in terminal.lines() if line and not line.startswith("…")]
    assert boxed[0][0] == "╭" and boxed[-1][-1] == "╯"
    assert len(boxed) in (len(NAMES) + 6, len(NAMES) + 7)  # headings may take two lines
    assert {len(line) for line in boxed} == {len(boxed[0])}  # no line went on in the next one
    assert any(LONG in line for line in boxed) == (columns == 200)
    assert any("2026" in line for line in boxed)


def test_wide_shows_all(filled: Cli) -> None:
    with filled.terminal(["stream", "ls", "-o", "wide", "--no-pager"], columns=250, rows=60) as terminal:
        assert terminal.finish() == 0
        shown = "\n".join(terminal.lines())
    assert LONG in shown and "Retention" in shown and f"{LONG}.>" in shown


def test_in_a_pipe_nothing_is_cut_off(filled: Cli) -> None:
    piped = filled.process("stream", "ls", env={"COLUMNS": "40", "PAGER": "false"})
    assert piped.code == 0
    assert LONG in piped.out and "\x1b" not in piped.out and "…" not in piped.out


def test_a_watch_stays_in_its_place_and_fits_a_new_size(filled: Cli) -> None:
    words = ["stream", "report", "--watch", "500ms", "--subject", "s01.x"]
    with filled.terminal(words, columns=100, rows=30) as terminal:
        first = terminal.shows(lambda text: "╯" in text)
        assert first[0].startswith("Every 500ms: pyjs ")
        assert len(first[2]) == len(first[-1]) > 60
        filled.ok("pub", "s01.x", "hello")
        shown = terminal.shows(lambda text: "│ 1        │" in text)
        assert sum("Stream Report" in line for line in shown) == 1
        terminal.resize(45, 30)
        shown = terminal.shows(lambda text: len(text.splitlines()[2]) <= 45 and "╯" in text)
        assert max(map(len, shown)) <= 45
        assert len(shown[0]) == 45 and shown[0][-1] == "…"
        assert all(line[-1] in "╮│┤╯" for line in shown[2:] if line and not line.startswith("…"))
        terminal.resize(100, 5)
        shown = terminal.shows(lambda text: "more lines" in text)
        assert len(shown) == 5
        terminal.type("\x03")
        assert terminal.finish() == 0
        assert terminal.errors() == ""


def test_a_watch_in_a_pipe_prints_one_after_the_other(filled: Cli) -> None:
    words = ["stream", "report", "--watch", "200ms", "--output", "ndjson", "--subject", "s01.x"]
    command = [*PYJS, *filled.flags, *words]
    with subprocess.Popen(command, env=filled.environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(2):
            assert json.loads(process.stdout.readline())["name"] == "s01"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("env", "words", "paged"),
    [
        ({"PAGER": "sed s/./P/"}, [], True),
        ({"PAGER": "sed s/./P/"}, ["--no-pager"], False),
        ({"PYJS_PAGER": "", "PAGER": "sed s/./P/"}, [], False),
        ({"PYJS_PAGER": "sed s/./P/", "PAGER": "cat"}, [], True),
        ({"PAGER": "cat"}, [], False),
        ({"PAGER": "nosuchpager"}, [], False),
        ({"PAGER": "'"}, [], False),
    ],
)
def test_what_is_longer_than_the_screen_is_paged(
    filled: Cli, env: dict[str, str], words: list[str], paged: bool
) -> None:
    with filled.terminal(["stream", "ls", *words], env, columns=100, rows=12) as terminal:
        assert terminal.finish() == 0
        assert {line[0] for line in terminal.lines() if line} == ({"P"} if paged else {"│", "╰"})
        assert terminal.errors() == ""


@pytest.mark.parametrize("line", ["stream add --help", "stream --help", "help stream add", "cheat stream"])
def test_long_help_is_paged(cli: Cli, line: str) -> None:
    for rows, paged in ((10, True), (200, False)):
        with cli.terminal(line.split(), {"PAGER": "sed s/^/P/"}, columns=80, rows=rows) as terminal:
            assert terminal.finish() == 0
            assert (terminal.lines()[-1][:1] == "P") == paged
    assert not any(each.startswith("P") for each in cli.process(*line.split()).out.splitlines())


def test_what_fits_is_not_paged(filled: Cli) -> None:
    with filled.terminal(["stream", "ls"], {"PAGER": "sed s/./P/"}, columns=100, rows=60) as terminal:
        assert terminal.finish() == 0
        assert terminal.lines()[0][0] == "╭"


@pytest.mark.parametrize(("env", "colour"), [({}, "red"), ({"NO_COLOR": "1"}, "default")])
def test_borders_have_a_colour_and_texts_the_terminals_own(
    filled: Cli, env: dict[str, str], colour: str
) -> None:
    with filled.terminal(["stream", "ls", "--colors", "red"], env, columns=100, rows=60) as terminal:
        assert terminal.finish() == 0
        cells = [
            cell for row in terminal.screen.buffer.values() for cell in row.values() if cell.data.strip()
        ]
    assert {cell.fg for cell in cells if cell.data in "╭╮╰╯│─├┤┬┴┼"} == {colour}
    assert {cell.fg for cell in cells if cell.data.isalnum()} == {"default"}  # readable on light and on dark


def test_what_is_too_wide_is_paged_if_all_is_to_be_seen(filled: Cli) -> None:
    for words, paged in (([], False), (["-o", "wide"], True), (["-o", "wide", "--no-pager"], False)):
        line = ["stream", "ls", *words]
        with filled.terminal(line, {"PAGER": "sed s/./P/"}, columns=100, rows=90) as terminal:
            assert terminal.finish() == 0
            assert terminal.lines()[0][0] == ("P" if paged else "╭")


def test_the_flag_that_shows_all_is_the_one_that_the_command_has(filled: Cli) -> None:
    report = filled.run("stream", "report", columns=35).out
    assert "… --output wide" in report  # where -o sorts
    assert "… -o wide also shows" in filled.run("stream", "ls", columns=50).out


@pytest.mark.parametrize(("env", "colour"), [({}, "green"), ({"NO_COLOR": "1"}, "default")])
def test_changes_have_a_colour_where_it_is_wanted(filled: Cli, env: dict[str, str], colour: str) -> None:
    if filled.run("kv", "info", "B").code:
        filled.ok("kv", "add", "B")
        filled.ok("kv", "put", "B", "k", "v")
    with filled.terminal(["kv", "watch", "B"], env, columns=100, rows=60) as terminal:
        terminal.shows(lambda text: "PUT B > k: v" in text)
        cells = terminal.screen.buffer[0]
        word = [cell for cell in cells.values() if cell.data in "PUT"]
        assert {cell.fg for cell in word} == {colour}
        terminal.type("\x03")
        terminal.finish()


def test_a_watch_asks_once_what_it_is_about(filled: Cli) -> None:
    if filled.run("consumer", "info", "s02", "C").code:
        filled.ok("consumer", "add", "s02", "C", "--pull", "--defaults")
    with filled.terminal(["consumer", "report", "--watch", "200ms"], columns=100, rows=60) as terminal:
        terminal.answer("Select a Stream", "s02")
        first = terminal.shows(lambda text: "Consumer report for s02" in text)
        filled.ok("pub", "s02.x", "hello")
        terminal.shows(lambda text: "1 / 100%" in text)
        terminal.type("\x03")
        assert terminal.finish() == 0
    assert sum("Consumer report" in line for line in first) == 1


def test_key_bindings_are_made_once_for_all_questions() -> None:
    from prompt_toolkit.output import DummyOutput

    first, second = (questions().text("x", output=DummyOutput()) for _ in range(2))
    assert first.application._default_bindings is second.application._default_bindings
