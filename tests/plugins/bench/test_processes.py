"""The processes of a benchmark: none is left, whatever ends it; progress bars only on a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lib.cli import PYJS, Cli
from lib.eventually import eventually
from lib.process import ServerProcess

GUARDED = """
listen: "127.0.0.1:<client>"
authorization { users = [{user: ada, password: x, permissions: {publish: "open.>"}}] }
"""


def children(pid: int) -> list[int]:
    """The child processes of a process."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listed.stdout.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def subscribed(cli: Cli, unique: str, clients: int) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A `bench sub` whose clients wait for messages, and their process ids."""
    words = [*PYJS, *cli.flags, "bench", "sub", unique, "--clients", str(clients)]
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env=cli.environment(), start_new_session=True
    ) as process:
        assert process.stderr is not None
        try:
            for _ in range(clients + 1):
                assert process.stderr.readline()
            yield process, children(process.pid)
        finally:
            if process.poll() is None:
                process.kill()


def test_ctrl_c_ends_all_processes(cli: Cli, unique: str) -> None:
    with subscribed(cli, unique, 3) as (process, clients):
        assert len(clients) == 3
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == "pyjs: error: interrupt"
        assert [pid for pid in clients if alive(pid)] == []


def test_a_killed_benchmark_leaves_no_process(cli: Cli, unique: str) -> None:
    with subscribed(cli, unique, 3) as (process, clients):
        process.kill()
        process.wait(20)
        eventually(lambda: not any(alive(pid) for pid in clients))


def test_many_clients_share_processes(cli: Cli, server: ServerProcess, unique: str) -> None:
    with subscribed(cli, unique, 70) as (process, clients):
        assert len(clients) == 64
        published = cli.ok("bench", "pub", unique, "--clients", "70", "--msgs", "140")
        assert "│ 70     │ 2 " in published
        process.terminate()
    eventually(lambda: not any(alive(pid) for pid in clients))


def test_the_first_failure_ends_the_benchmark(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    server = serve(GUARDED)
    cli = Cli(tmp_path, "--server", server.url, "--user", "ada", "--password", "x")
    assert cli.run("bench", "pub", "open.a", "--msgs", "10").code == 0
    result = cli.run("bench", "pub", "closed.a", "--msgs", "10", "--clients", "2")
    assert result.code == 4
    assert "Permissions Violation for Publish" in result.err
    assert result.out == ""
    assert cli.run("bench", "pub", "open.a", "--password", "wrong").code == 4


def test_progress_bars_on_a_terminal_only(cli: Cli, unique: str) -> None:
    words = [*PYJS, *cli.flags, "bench", "pub", unique, "--msgs", "300", "--clients", "2", "--sleep", "1ms"]
    for flags, shown in (((), True), (("--no-progress",), False)):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*words, *flags], stdout=subprocess.PIPE, stderr=theirs, env=cli.environment() | {"TERM": "xterm"}
        ) as process:
            os.close(theirs)
            seen = b""
            while chunk := _read(ours):
                seen += chunk
            assert process.wait(20) == 0
        os.close(ours)
        assert (b"150/150" in seen) == shown, seen
    assert "150/150" not in cli.run(*words[len(PYJS) + len(cli.flags) :]).err


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # all others have closed it
        return b""
