"""Whatever lists or shows something prints valid output in each form of `-o`, on both servers."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml
from lib.cli import PYJS, Cli
from lib.eventually import eventually
from lib.every_form import LEGACY, TEMPLATE, FormRecorder
from lib.process import ServerProcess
from pyjs.cli import output
from pyjs.cli.command import CommandGroup
from pyjs.cli.entry import root
from pyjs.pipeline.declared import record
from pyjs.plugins.server import poll
from pyjs.plugins.service import discovery

from .every_command import ELSEWHERE, OF_ACCOUNT, OF_FOLDERS, OF_SYSTEM
from .test_outputs import mistakes, schemas

__all__ = ["schemas"]
CONFIG = """
listen: "127.0.0.1:<client>"
server_name: one
jetstream { store_dir: "<store>" }
accounts {
  SYS { users: [ { user: sys, password: s } ] }
  APP { jetstream: enabled, users: [ { user: app, password: a } ] }
  SPARE1 { jetstream: enabled }
  SPARE2 { jetstream: enabled }
}
system_account: SYS
"""
DOCUMENT = "streams:\n  PLANNED{n}:\n    subjects: [planned{n}]\n"
PIPELINE = """
name: orders
sources:
  orders: {stream: ORDERS}
sinks:
  lake: {from: orders, format: parquet, path: lake}
"""


class Line(NamedTuple):
    """A line of `every_command`: its words, and what stands before them."""

    words: list[str]
    code: int | None = 0
    reference: bool = False
    endless: bool = False
    programs: bool = False


def lines_of(text: str, **filled: str) -> Iterator[Line]:
    """Yield the lines of a text, with the values in braces filled in."""
    for each in text.strip().splitlines():
        words = shlex.split(each)
        found: dict[str, Any] = {}
        while words[0] in Line._fields or words[0] == "*" or words[0].isdecimal():
            mark = words.pop(0)
            found |= {mark: True} if mark in Line._fields else {"code": None if mark == "*" else int(mark)}
        for name, value in filled.items():
            words = [word.replace("{" + name + "}", value) for word in words]
        yield Line(words, **found)


def command_of(words: list[str]) -> tuple[str, click.Command]:
    """Return the command that words name, by its canonical words."""
    command: click.Command = root
    context, path = click.Context(root), []
    for word in words:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(context, word)
        assert found is not None, words
        path.append(command.aliases.get(word, word) if isinstance(command, CommandGroup) else word)
        command = found
    return " ".join(path), command


def _is_json(text: str) -> None:
    json.loads(text)


def _is_ndjson(text: str) -> None:
    for line in text.splitlines():
        json.loads(line)


def _is_yaml(text: str) -> None:
    assert "\t" not in text
    yaml.load(text, yaml.CSafeLoader)


def _is_csv(text: str) -> None:
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert rows and {len(row) for row in rows} == {len(rows[0])}
    assert len(set(rows[0])) == len(rows[0])  # each column has a name of its own


def _is_md(text: str) -> None:
    assert not set("╭│├╰") & set(text)
    width = 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not (width and cells) or cells == width, line
        width = cells


def _is_names(text: str) -> None:
    assert all(line.strip() for line in text.splitlines())


def _is_shown(text: str) -> None:
    assert "\x1b" not in text


CHECKS: dict[str, Callable[[str], Any]] = {
    "table": _is_shown,
    "wide": _is_shown,
    "json": _is_json,
    "ndjson": _is_ndjson,
    "yaml": _is_yaml,
    "csv": _is_csv,
    "md": _is_md,
    "name": _is_names,
    TEMPLATE: _is_shown,
    LEGACY: _is_json,
}


class Walk:
    """Runs lines and keeps what is wrong with what they print."""

    def __init__(self, recorder: FormRecorder, schemas: dict[str, Any], *, people: bool) -> None:
        self.recorder = recorder
        self.schemas = schemas
        self.people = people
        self.wrong: list[str] = []
        self.named: dict[str, bool] = {}  # whether a command printed a name
        self.nameable: set[str] = set()  # commands that had something to name, by their help

    def run(self, cli: Cli, text: str, **filled: str) -> None:
        """Run the lines of a text, for people or for programs."""
        for line in lines_of(text, **filled):
            if (line.reference and filled["implementation"] != "reference") or (
                line.programs and self.people
            ):
                continue
            self.recorder.begin(endless=line.endless)
            path, command = command_of(line.words)
            result = cli.run(*line.words, *self._asking(command))
            shown = " ".join(line.words)
            if (line.code is not None and result.code != line.code) or "Traceback" in result.err:
                self.wrong.append(f"{shown}: {result.code}: {result.out[:300]} {result.err}")
            elif output.shape_of(command) is not None:
                self._look(shown, path)

    def faults(self) -> list[str]:
        """Return what is wrong, also commands that never print a name although their help has it."""
        silent = [path for path in sorted(self.nameable) if not self.named[path]]
        return [*self.wrong, *(f"{path}: its help does not say that there are no names" for path in silent)]

    def _asking(self, command: click.Command) -> list[str]:
        """Return what asks for a form: `-o`, or `--json` where -o names a file."""
        if output.shape_of(command) is None:
            return []
        formats = [each for param in command.params if param.name == "output_format" for each in param.opts]
        form = "table" if self.people else "json"
        return [formats[-1], form] if formats else [] if self.people else ["--json"]

    def _look(self, line: str, path: str) -> None:
        """Check each form of what was shown."""
        printed, shape = self.recorder.printed, self.recorder.shape
        if not printed and not self.people:
            self.wrong.append(f"{line}: shows nothing")
        for form, texts in printed.items():
            for text in texts:
                try:
                    CHECKS[form](text)
                except (AssertionError, ValueError, csv.Error, yaml.YAMLError) as error:
                    self.wrong.append(f"{line}: {form}: {error!r}: {text[:300]}")
        for text in printed.get("json", ()):
            found = json.loads(text)
            self.wrong += [
                f"{line}: {each}" for each in mistakes(found, self.schemas.get(path, {"type": "object"}))
            ]
            self.named[path] = self.named.get(path, False) or bool(printed["name"][0].strip())
            if self.named[path] and not shape.has_names:
                self.wrong.append(f"{line}: its help says that there are no names")
            self.nameable |= {path} if shape.has_names and printed["ndjson"][0] else set()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the files that lines name, and a run of a pipeline."""
    for n in "12":
        (tmp_path / f"document{n}.yaml").write_text(DOCUMENT.replace("{n}", n))
    with monkeypatch.context() as environment:
        environment.setenv("XDG_STATE_HOME", str(tmp_path / ".local" / "state"))
        with record.record(
            "orders", {"started": "2026-11-01T08:00:00.000Z", "on": "local[*]", "runs": "x"}, ""
        ) as run:
            run.end({"state": "finished", "time": "2026-11-01T08:01:00Z"})
    (tmp_path / "thing").write_text("an object")
    (tmp_path / "request.json").write_text("{}")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "errors.json").write_text(
        '[{"constant": "X", "code": 400, "error_code": 1, "description": "x"}]'
    )
    return tmp_path


@pytest.fixture
def service(home: Path, serve: Callable[[str], ServerProcess]) -> Iterator[None]:
    """A service called echo, which answers in the account of the lines."""
    app = Cli(home, "--server", serve(CONFIG).url, "--user", "app", "--password", "a")
    words = [*PYJS, *app.flags, "service", "serve", "echo"]
    with subprocess.Popen(words, env=app.environment(), stdout=subprocess.DEVNULL) as process:
        eventually(lambda: app.ok("service", "info", "echo"))
        yield
        process.terminate()


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("people", [False, True], ids=["for programs", "for people"])
def test_each_form_is_what_its_name_says(
    home: Path,
    serve: Callable[[str], ServerProcess],
    implementation: str,
    schemas: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    people: bool,
) -> None:
    # With one server, its answer is the last one: nobody has to wait whether another one comes.
    monkeypatch.setattr(poll, "QUIET_SECONDS", 0.01)
    monkeypatch.setattr(discovery, "QUIET_SECONDS", 0.01)
    url = serve(CONFIG).url
    walk = Walk(FormRecorder(monkeypatch), schemas, people=people)
    filled = {"n": "2" if people else "1", "url": url, "long": "x" * 300, "implementation": implementation}
    walk.run(Cli(home, "--server", url, "--user", "app", "--password", "a"), OF_ACCOUNT, **filled)
    walk.run(Cli(home, "--server", url, "--user", "sys", "--password", "s"), OF_SYSTEM, **filled)
    assert not walk.faults(), "\n".join(walk.faults())


@pytest.mark.parametrize("people", [False, True], ids=["for programs", "for people"])
def test_so_it_is_for_what_folders_hold(
    home: Path, schemas: dict[str, Any], monkeypatch: pytest.MonkeyPatch, people: bool
) -> None:
    walk = Walk(FormRecorder(monkeypatch), schemas, people=people)
    walk.run(Cli(home), OF_FOLDERS, n="1", implementation="")
    assert not walk.faults(), "\n".join(walk.faults())


def test_every_command_that_lists_or_shows_is_tried(schemas: dict[str, Any]) -> None:
    tried = {
        command_of(line.words)[0] for text in (OF_ACCOUNT, OF_SYSTEM, OF_FOLDERS) for line in lines_of(text)
    }
    assert sorted(schemas.keys() - tried) == sorted(ELSEWHERE)
