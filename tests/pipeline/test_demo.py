"""`pyjs demo pipeline` reports what it needs, runs its program and ends it, and every claim holds.

The whole is played in the session that the tests share; `make pipeline` plays it as users do.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.forked_stage import ForkedStage
from lib.leftovers import at_work_in
from pyjs.pipeline import java, register, session
from pyjs.plugins.demo.pipeline import job, network, play, program, shops
from pyjs.plugins.demo.stage import DemoError, Stage
from rich.console import Console

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage whose words are recorded."""
    directory = tmp_path / "stage"  # of its own parent, where nothing else works
    directory.mkdir()
    with ForkedStage(Console(record=True, width=200, quiet=True), directory=directory) as stage:
        yield stage


def test_without_java_it_says_how_to_install_one_and_starts_nothing(tmp_path: Path) -> None:
    nowhere = {"TMPDIR": str(tmp_path), "PATH": str(tmp_path), "JAVA_HOME": ""}
    done = Cli(tmp_path).process("demo", "pipeline", env=nowhere, seconds=60)
    assert done.code == 1
    assert done.out == ""
    assert "Spark needs Java 17 or newer, and there is none" in done.err
    assert java.command() in done.err
    assert list(tmp_path.glob("pyjs-demo-*")) == []


def test_without_pyspark_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pyspark" else there(name, *more)
    )
    done = Cli(tmp_path).run("demo", "pipeline")
    assert done.code == 1
    assert "pip install 'pyjs[spark]'" in done.err


def test_every_claim_holds(stage: Stage, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class InThisProcess:
        """The program with the tests' session: main() once for each line."""

        def __init__(self, address: str) -> None:
            self.address = address

        def ask(self, last: str) -> str:
            said = io.StringIO()
            with (
                contextlib.chdir(stage.directory),
                contextlib.redirect_stdout(said),
                monkeypatch.context() as patched,
            ):
                patched.setattr("sys.stdin", io.StringIO("\n"))
                job.main(self.address)
            assert said.getvalue().splitlines()[-1].startswith(last)
            return said.getvalue()

    @contextlib.contextmanager
    def shared(name: str, settings: dict[str, str], log: Path) -> Iterator[SparkSession]:
        fresh = spark.newSession()
        register(fresh)
        for key, value in settings.items():
            fresh.conf.set(key, value)
        yield fresh

    @contextlib.contextmanager
    def started(stage: Stage, name: str, address: str) -> Iterator[InThisProcess]:
        assert (stage.directory / name).read_text() == Path(job.__file__).read_text()
        yield InThisProcess(address)

    monkeypatch.setattr(session, "session", shared)
    monkeypatch.setattr(program, "started", started)
    assert play.play(stage), [claim for claim in stage.claims if not claim.holds]
    assert len(stage.claims) == 10


def test_orders_that_the_program_missed_are_noticed(stage: Stage) -> None:
    """A claim about the result fails when a row is wrong."""
    scene = play.Play(stage, network.Network.choose())
    play.servers(scene)
    play.streams(scene)
    shops.take(scene.net.url("north"), "north", 20, 0, scene.totals)
    play.verify(scene)
    assert [claim.holds for claim in stage.claims] == [True, False, False]


def test_a_program_that_fails_ends_the_demo_with_its_words(stage: Stage) -> None:
    stage.write(
        "fails.py", "import sys, pathlib; pathlib.Path('spark.log').write_text('from Java'); sys.exit(3)"
    )
    with (
        program.started(stage, "fails.py") as counter,
        pytest.raises(
            DemoError, match=r"(?s)fails.py ended with exit code 3; the end of spark.log:\nfrom Java"
        ),
    ):
        counter.ask("done")


COUNTS = """
import sys
for number, _ in enumerate(sys.stdin):
    print(f"line {number}")
    print(f"done: {number}")
"""


def test_a_program_answers_as_often_as_it_is_asked(stage: Stage) -> None:
    stage.write("counts.py", COUNTS)
    with program.started(stage, "counts.py") as counter:
        assert counter.ask("done: ") == "line 0\ndone: 0\n"
        assert counter.ask("done: ") == "line 1\ndone: 1\n"
    assert at_work_in(stage.directory.parent) == []


STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("started", flush=True)
child.wait()
"""


def test_a_program_that_takes_too_long_is_ended_with_what_it_started(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SECONDS", 0.5)
    monkeypatch.setattr(program, "END_SECONDS", 0.5)
    stage.write("stubborn.py", STUBBORN)
    with (
        pytest.raises(DemoError, match="took longer than"),
        program.started(stage, "stubborn.py") as counter,
    ):
        counter.ask("done")
    eventually(lambda: at_work_in(stage.directory.parent) == [])
