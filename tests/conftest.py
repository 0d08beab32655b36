"""Fixtures that several rooms' tests share: the two implementations, a module's servers by configuration."""

from __future__ import annotations

import gc
import itertools
import os
import shlex
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from lib import prepare, reference
from lib.callbacks import EVERYWHERE, FILE, Callbacks, check
from lib.pool import START, Pool
from lib.process import ServerProcess
from pyjs.pipeline import java

NUMBERS = itertools.count(1)
TRIES = pytest.StashKey[int]()  # how often a test may be tried
LONG = {"walkthroughs", "trust", "packaging", "durability"}  # folders
# Spark puts its Python sources, zipped, before the same ones that are installed: each process it starts would
# compile them again, for a second.
PYTHON = """\
#!/bin/sh
export PYTHONPATH="${{PYTHONPATH#*/pyspark.zip:}}"
exec {python} "$@"
"""

# What an example costs is no promise of ours, and on a busy machine ten times as much.
settings.register_profile(
    "pyjs", settings.default, max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", settings.get_profile("pyjs"), max_examples=2000)  # for `make soak`
settings.load_profile("pyjs")
# Servers and command lines start hundreds of times here: with compiled modules they do in half the time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
prepare.write_to_memory()
# Who starts this in the background of a shell without job control has its children ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have the collector of cycles leave alone what is collected: modules and items, all as long as the run.

    To walk over them again and again is a fourth of the time in which they are collected.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have each worker collect a folder from another place on.

    Each worker collects everything. In a fresh clone, four that go the same way would each compile each file
    at the same time; so each finds most of them compiled by the others. Items are put in order afterwards.
    """
    report = yield
    if isinstance(collector, pytest.Dir) and report.result:
        number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        start = len(report.result) * number // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        report.result = report.result[start:] + report.result[:start]
    return report


@pytest.fixture
def processor_time() -> None:
    """Marks a test that measures processor time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes long first; run a test again that fails because of what we cannot change.

    That is the timing of the reference and of Spark, which gives each Python process ten seconds to start,
    and a measurement of processor time: a machine that is itself a guest may add to it whatever its host
    took away. What holds a loop does so in each try. Other tests of pyjs alone are never run again: there a
    failure is a bug.
    """
    missing = _missing_reference()
    for item in items:
        unsure = {"needs_java", "callbacks", "processor_time"} & set(getattr(item, "fixturenames", ()))
        if unsure or ("reference" in item.name.partition("[")[2] and not missing):
            item.stash[TRIES] = 3
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(600))  # its processes start by the dozen
    items.sort(key=_turn)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and again while it fails and has tries left.

    Each further try gets servers of its own: a failure may leave those of the module in any state.

    A worker reports of a test that passes its call alone, not its setup and teardown: to send and take up
    the reports of a run is more work than a thousand of its tests.
    """
    every = item.config.getoption("durations") is not None or not hasattr(item.config, "workerinput")
    for left in reversed(range(item.stash.get(TRIES, 1))):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        passed = all(report.passed for report in reports)
        failed = any(report.failed for report in reports)
        if failed:
            end = partial(item.session._setupstate.teardown_exact, item.session)  # type: ignore[arg-type]
            reports.append(
                pytest.TestReport.from_item_and_call(item, pytest.CallInfo.from_call(end, "teardown"))
            )
        for report in reports:
            if left and report.failed:
                report.outcome = "rerun"  # type: ignore[assignment]
            if every or report.when == "call" or not passed:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if not failed:
            break
    return True


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count the tries that are followed by another one."""
    return ("rerun", "R", "RERUN") if report.outcome == "rerun" else None  # type: ignore[comparison-overlap]


def _missing_reference() -> str:
    """Return why the reference cannot be started, "" if it can."""
    try:
        reference.binary()
    except FileNotFoundError as error:
        return str(error)
    return ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what many failures have in common: the reference is not installed."""
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    missing = _missing_reference()
    if missing and any(missing in report.longreprtext for report in failed):
        terminalreporter.section("nats-server")
        terminalreporter.line(f"{missing}. Without it, only tests of pyjs alone can pass.")


def _turn(item: pytest.Item) -> tuple[int, Path]:
    """Spark's tests first, and so all in the first worker's first share: a session is started once.

    Then those that take a minute each: whoever came to one last would have the others wait for it.
    """
    if "spark" in getattr(item, "fixturenames", ()):
        return 0, item.path
    return (1 if LONG & set(item.path.parts) else 2), item.path


@pytest.fixture(params=["reference", "pyjs"])
def implementation(request: pytest.FixtureRequest) -> str:
    """The reference first: a test that it fails is a wrong test."""
    if request.param == "reference" and (missing := _missing_reference()):
        pytest.fail(missing, pytrace=False)
    return str(request.param)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """The servers that this module's tests share."""
    servers = Pool()
    yield servers
    servers.close()


@pytest.fixture
def serve(pool: Pool, implementation: str) -> Callable[[str], ServerProcess]:
    """serve(config): the shared server of this implementation with this configuration."""
    return lambda config: pool.get(implementation, config)


@pytest.fixture
def launch(implementation: str) -> Iterator[Callable[[str], ServerProcess]]:
    """launch(config): a server for this test alone, which may stop, kill or signal it."""
    started: list[ServerProcess] = []

    def start(config: str) -> ServerProcess:
        started.append(START[implementation](config))
        return started[-1]

    yield start
    for server in reversed(started):
        server.stop()


@pytest.fixture
def callbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callbacks:
    """Servers that are launched after this are measured: `with callbacks.bounded(server):`."""
    monkeypatch.setenv(FILE, str(tmp_path / "slow-callbacks"))
    return Callbacks(tmp_path / "slow-callbacks")


@pytest.fixture(scope="session")
def _everywhere(tmp_path_factory: pytest.TempPathFactory) -> Callbacks | None:
    if not os.environ.get(EVERYWHERE):
        return None
    path = tmp_path_factory.mktemp("callbacks") / "slow"
    os.environ[FILE] = str(path)
    return Callbacks(path)


@pytest.fixture(autouse=True)
def _bounded(_everywhere: Callbacks | None) -> Iterator[None]:
    yield
    if _everywhere is not None:
        check(_everywhere.new())


@pytest.fixture
def unique() -> str:
    """A token that no other test of this run uses: for subjects and names."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "m")
    return f"T{worker}x{next(NUMBERS)}"


@pytest.fixture(scope="session")
def needs_java() -> None:
    """Without Java a test that needs it is skipped, except in CI, where it must run."""
    try:
        java.find()
    except java.JavaError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"not run: {error}")


@pytest.fixture(scope="session")
def quick_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spark's Python processes start in half a second."""
    script = tmp_path_factory.mktemp("python") / "python"
    script.write_text(PYTHON.format(python=shlex.quote(sys.executable)))
    script.chmod(0o755)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", str(script))
        yield
