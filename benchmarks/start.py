"""What starting and resting cost: the processor time of common commands; a server's start, memory and rest.

`python -m benchmarks.start [RUNS]` prints for each the least and the median of RUNS (20) runs, in ms of user
and system time, which depend less than wall clock on what else the machine does. The commands talk to a pyjs
server with one stream, its consumer and two buckets; a setup writes them first. What waits for messages gets
one every `EVERY` s. The identity commands work in folders of their own. The measured server has JetStream and
no streams.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from . import servers
from .load import Wire

PYJS = str(Path(sys.executable).with_name("pyjs"))
EVERY = 0.01  # s between two messages for the commands that wait for one
RESTING = 10.0  # s for which resting servers are observed
RESTING_SERVERS = 9
SETTLING = 8.0  # s for what a start leaves to do, such as elections
LIMITS = "max_mem: 1GB, max_file: 1GB"
CONFIG = """
accounts {
    APP { jetstream: enabled, users: [{ user: app, password: app }] }
    SYS { users: [{ user: sys, password: sys }] }
}
system_account: SYS
"""
SETUP = (
    ("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults"),
    ("consumer", "add", "ORDERS", "NEW", "--pull", "--defaults"),
    ("kv", "add", "CONFIG"),
    ("kv", "put", "CONFIG", "key", "value"),
    ("object", "add", "FILES"),
    ("object", "put", "FILES", "<file>", "--name", "file"),
    ("nsc", "add", "operator", "--name", "O", "--sys"),
    ("nsc", "add", "account", "--name", "A"),
    ("nsc", "add", "user", "--name", "U"),
    ("context", "add", "local", "--server", "127.0.0.1"),
)
COMMANDS = (
    ("--help",),
    ("pub", "greet", "hello"),
    ("pub", "--jetstream", "orders.1", "hello"),
    ("sub", "ticks", "--count", "1"),
    ("request", "echo", "hello"),
    ("reply", "asked", "hello", "--count", "1"),
    ("stream", "ls"),
    ("stream", "info", "ORDERS"),
    ("consumer", "info", "ORDERS", "NEW"),
    ("consumer", "next", "ORDERS", "NEW"),
    ("kv", "put", "CONFIG", "key", "value"),
    ("kv", "get", "CONFIG", "key"),
    ("kv", "watch", "CONFIG", "key"),
    ("object", "get", "FILES", "file", "-O", "<got>", "--force"),
    ("server", "info", "--user", "sys", "--password", "sys"),
    ("server", "check", "connection"),
    ("context", "ls"),
    ("nsc", "list", "keys"),
    ("nsc", "describe", "account"),
    ("nsc", "add", "user", "--name", "<new>"),
    ("auth", "account", "ls"),
)
ENDLESS = {("kv", "watch")}  # commands that are interrupted once they have shown a line


class Runner:
    """Runs commands against one server, with folders of their own for settings, identity and files."""

    def __init__(self, port: int, folder: Path) -> None:
        (folder / "file").write_bytes(b"x" * 1000)
        self._folder = folder
        self._count = 0
        homes = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        nsc = {name: str(folder / name) for name in ("NSC_HOME", "NKEYS_PATH")}
        login = {"NATS_URL": f"nats://127.0.0.1:{port}", "NATS_USER": "app", "NATS_PASSWORD": "app"}
        self._environment = {**os.environ, **homes, **nsc, **login, "PYTHONDONTWRITEBYTECODE": ""}

    def run(self, words: tuple[str, ...]) -> float:
        """Run a command and return its processor time in ms. Raises RuntimeError if it fails."""
        self._count += 1
        values = {
            "<file>": str(self._folder / "file"),
            "<got>": str(self._folder / "got"),
            "<new>": f"U{self._count}",
        }
        process = subprocess.Popen(
            [PYJS, *(values.get(word, word) for word in words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
        )
        assert process.stdout is not None
        with process.stdout:
            shown = process.stdout.readline()
            if words[:2] in ENDLESS:
                process.terminate()
            shown += process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode and words[:2] not in ENDLESS:
            raise RuntimeError(f"pyjs {' '.join(words)} ended with {process.returncode}: {shown.decode()}")
        return (used.ru_utime + used.ru_stime) * 1e3


@contextmanager
def talking(port: int) -> Iterator[None]:
    """Publish, ask and answer every `EVERY` s during the block."""
    wire = Wire(port, lambda _: {"user": "app", "pass": "app"})
    done = threading.Event()

    def talk() -> None:
        while not done.wait(EVERY):
            wire.send(b"PUB ticks 1\r\nt\r\nPUB asked answers 1\r\na\r\n")

    def answer() -> None:
        asked = Wire(port, lambda _: {"user": "app", "pass": "app"})
        asked.send(b"SUB echo 1\r\n")
        asked.sock.settimeout(EVERY)
        while not done.is_set():
            try:
                line = asked.until(b"\r\n").split()
            except TimeoutError:
                continue
            if line[0] == b"MSG":
                asked.send(b"PUB %s 2\r\nhi\r\n" % line[3])

    threads = [threading.Thread(target=each) for each in (talk, answer)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def server_start() -> dict[str, float]:
    """Start a server and return what that took until it answered a PING."""
    with servers.start("pyjs", LIMITS) as server:
        return {
            "server with JetStream, until it answers": _spent_ns(server.process.pid) / 1e6,
            "the same, by the clock": server.ready_seconds * 1e3,
            "the same, resident memory in MiB": server.resident_bytes() / 2**20,
        }


def resting(*, clustered: bool) -> tuple[float, float]:
    """Return what resting servers take of one processor together, in %, and how often each wakes in a s.

    clustered: whether they are three clusters of three, instead of servers that stand alone.
    """
    with ExitStack() as stack:
        if clustered:
            trios = [stack.enter_context(servers.trio("pyjs", LIMITS)) for _ in range(RESTING_SERVERS // 3)]
            running = [server for trio in trios for server in trio]
        else:
            running = [stack.enter_context(servers.start("pyjs", LIMITS)) for _ in range(RESTING_SERVERS)]
        pids = [server.process.pid for server in running]
        time.sleep(SETTLING)
        began, spent, woken = time.perf_counter(), sum(map(_spent_ns, pids)), sum(map(_switches, pids))
        time.sleep(RESTING)
        seconds = time.perf_counter() - began
        share = (sum(map(_spent_ns, pids)) - spent) / seconds / 1e7
        return share, (sum(map(_switches, pids)) - woken) / seconds / len(pids)


def _spent_ns(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks)


def _switches(pid: int) -> int:
    """Return how often the threads of a process gave up the processor to wait."""
    count = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text("ascii").splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                count += int(line.split()[1])
    return count


def main() -> None:
    """Measure, in turn, so that a busy moment does not fall on one of them only."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    found: dict[str, list[float]] = {}
    with (
        servers.start("pyjs", LIMITS, CONFIG) as server,
        tempfile.TemporaryDirectory(prefix="bench-start-") as folder,
        talking(server.port),
    ):
        runner = Runner(server.port, Path(folder))
        for words in SETUP:
            runner.run(words)
        for _ in range(runs + 2):
            runner.run(("pub", "orders.1", "hello"))
        for _ in range(runs):
            for words in COMMANDS:
                found.setdefault(f"pyjs {' '.join(words)}"[:42], []).append(runner.run(words))
            for name, value in server_start().items():
                found.setdefault(name, []).append(value)
    for name, times in found.items():
        print(f"{name:42} {min(times):8.1f} {statistics.median(times):8.1f}")
    for clustered, kind in ((False, "that stand alone"), (True, "in clusters of three")):
        share, wakes = resting(clustered=clustered)
        print(
            f"{RESTING_SERVERS} resting servers {kind}: {share:.2f} % of a core,"
            f" {wakes:.1f} wake-ups per server and s"
        )


if __name__ == "__main__":
    main()
