"""Long lines at fixed widths: a shell reads the same, nothing is lost, and a pipe gets it whole."""

from __future__ import annotations

import io
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.cli import entry, errors, flags, render
from pyjs.cli.output import folding
from pyjs.cli.output.cells import width_of
from pyjs.plugins.demo.stage import Stage
from rich.console import Console

URLS = ",".join(f"nats://127.0.0.1:{port}" for port in range(4202, 4292, 10))
MIRROR = '{"name":"t","external":{"api":"JS.acc@hub.API","deliver":"deliver.acc.hub.import_mirror.hub.test"}}'
COMMANDS = (
    f'pyjs context save sys --creds ./keys/creds/OP/SYS/sys.creds --server "{URLS}"',
    f"pyjs --server nats://acc:acc@localhost:4222 stream add copy --mirror '{MIRROR}' --defaults",
    'watch -n 1 "pyjs --context=hub s report ; pyjs --context=spoke-1 s report ; pyjs --context=a s report"',
    "pyjs stream add --subjects 'a b, c' --description \"it's, quoted\" --defaults",
)
LABELLED = "          Configuration: " + ", ".join(f"word-{number}" for number in range(12))
TABLE = "├──────────┼─────────┼───────────┼──────────┼───────┼──────────────────────────┤"
KEY = "AAZADVIUG6AGZXOHBJY2TDL7XHFPQSFDL4E562NBC7YWNASAYO4RKY2P"


def widest(text: str) -> int:
    return max(width_of(each) for each in text.split("\n"))


@pytest.mark.parametrize("width", [40, 80, 110, 200])
@pytest.mark.parametrize("text", COMMANDS)
def test_a_shell_reads_the_same_command(text: str, width: int) -> None:
    folded = folding.command(text, width, "in the background", start=2)

    def words(line: str) -> list[str]:
        script = f"shown() {{ printf '%s\\n' \"$@\"; }}; shown {line}"
        return subprocess.run(["sh", "-c", script], capture_output=True, check=True, text=True).stdout.split(
            "\n"
        )

    assert words(folded) == words(text)
    assert widest(folded) <= max(width, 60)  # the longest word that has no comma
    if width == 200 and len(text) < 150:
        assert "\n" not in folded


def test_a_line_is_broken_below_its_value() -> None:
    label = "                   Connected Server ID: "
    assert folding.line(label + KEY, 80) == f"{label.rstrip()}\n{' ' * 24}{KEY}"
    assert folding.line(label + KEY, 110) == label + KEY
    said = (
        "              Sources: test, API Prefix: $JS.spoke-1.API, Delivery Prefix: deliver.hub.spoke-1.test"
    )
    first, *rest = folding.line(said, 80).split("\n")
    assert rest == [" " * 23 + "deliver.hub.spoke-1.test"] and said.startswith(first)
    comment = (
        "                # minimum export needed for pull consumer `dur` in stream `aggregate-test-leaf`"
    )
    assert all(each.startswith(" " * 16 + "# ") for each in folding.line(comment, 80).split("\n"))


@given(st.text(alphabet="ab ,:#é界'\"─│", max_size=200), st.integers(16, 120))
def test_no_line_is_wider_and_nothing_is_lost(text: str, width: int) -> None:
    folded = folding.line(text, width)
    if text.lstrip().startswith(("│", "+")):
        assert folded == text
        return
    assert widest(folded) <= width or width_of(text) <= width
    if "…" not in folded:  # of a word that fits into no line
        plain = "".join(text.split()).replace("#", "")
        assert "".join(folded.split()).replace("#", "") == plain


@pytest.mark.parametrize("width", [80, 110])
def test_a_stage_fits_the_terminal(width: int) -> None:
    with Stage(Console(file=io.StringIO(), force_terminal=True, width=width, no_color=True)) as stage:
        shown = played(stage)
    assert widest(shown) <= width
    assert TABLE in shown
    assert f"{KEY}:eyJ" not in shown and "…" in shown


def test_nothing_is_broken_in_a_pipe() -> None:
    with Stage(Console(file=io.StringIO(), width=80)) as stage:
        shown = played(stage)
    for text in (*COMMANDS, TABLE, f"    {KEY}:{'eyJ' * 100}", f"[ OK ] generated {KEY} and {KEY}"):
        assert text in shown.split("\n") or f"$ {text}  # in the background" in shown.split("\n")


def played(stage: Stage) -> str:
    """Return what a stage shows of lines that are wider than a terminal."""
    for text in COMMANDS:
        stage.command(text, "in the background")
    stage.write("resolver.cfg", f"{KEY}:{'eyJ' * 100}\n# {'a comment of some length ' * 8}\n")
    stage.output(f"{TABLE}\n[ OK ] generated {KEY} and {KEY}\n  pyjs {COMMANDS[0]}\n")
    sink = stage.console.file
    assert isinstance(sink, io.StringIO)
    return "\n".join(line.rstrip() for line in _plain(sink.getvalue()).split("\n"))


def _plain(text: str) -> str:
    from rich.text import Text

    return Text.from_ansi(text).plain


def test_a_page_keeps_a_word_that_can_be_copied() -> None:
    assert folding.output(f"  URL: {KEY}", 40, whole=True) == f"  URL: {KEY}"
    assert "…" in folding.output(f"  URL: {KEY}", 40)
    folded = folding.output(LABELLED, 60, whole=True).split("\n")
    assert len(folded) > 1 and widest("\n".join(folded)) <= 60
    assert " ".join(line.strip() for line in folded) == LABELLED.strip()
    assert all(line.startswith(" " * 25 + "word") for line in folded[1:])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_said_breaks_between_words_and_not_within_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    error = errors.CliError(
        "nobody's consumer of the stream ORDERS is here", "'pyjs consumer add ORDERS NEW' makes it, or not"
    )
    monkeypatch.setenv("COLUMNS", "34")
    said = [f"pyjs: error: {error.message}", f"hint: {error.hints[0]}"]
    monkeypatch.setattr("sys.stderr", stream := _Terminal())
    errors.say(error)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 34 and "    'pyjs consumer add ORDERS NEW'" in lines
    assert " ".join(stream.getvalue().split()) == " ".join(said)
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    errors.say(error)
    assert pipe.getvalue().splitlines() == said
    monkeypatch.setattr("sys.stderr", stream := _Terminal())
    errors.warn(f"a key such as {KEY} stays whole")
    assert stream.getvalue() == f"pyjs: warning: a key such as {KEY} stays whole\n"


def test_a_log_line_breaks_between_words_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Starting a benchmark [" + ", ".join(f"setting-{number}={number}" for number in range(9)) + "]"
    monkeypatch.setenv("COLUMNS", "50")
    for stream in (_Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stderr", stream)
        render.log(text)
        lines = stream.getvalue().splitlines()
        assert " ".join(line.strip() for line in lines)[9:] == text
        assert (len(lines) == 1) != stream.isatty()
        assert max(map(len, lines)) <= 50 or not stream.isatty()


def test_the_line_without_questions_is_one_for_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "pyjs stream add ORDERS '--description=all the orders' " + " ".join(
        f"--flag-{n}=-1" for n in range(9)
    )
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stderr", stream := _Terminal())
    monkeypatch.setattr("pyjs.cli.prompt.equivalent", lambda _session: line)
    entry.show_equivalent(flags.CliSession(argv=[]))
    shown = stream.getvalue().partition("The same without questions:\n")[2]
    assert max(map(len, shown.splitlines())) <= 60 and len(shown.splitlines()) > 2
    assert shown.startswith("  pyjs stream add")
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(line)
