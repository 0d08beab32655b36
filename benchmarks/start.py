"""What a start costs: the processor time of common commands, and of a server until it answers.

`python -m benchmarks.start [RUNS]` prints for each the least and the median of RUNS (20) runs, in ms of user
and system time, which depend less than wall clock on what else the machine does. The commands talk to a pyjs
server with one stream and one bucket; a setup writes them first. The server has JetStream and no streams.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from . import servers

PYJS = str(Path(sys.executable).with_name("pyjs"))
SETUP = (
    ("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults"),
    ("kv", "add", "CONFIG"),
    ("kv", "put", "CONFIG", "key", "value"),
)
COMMANDS = (
    ("--help",),
    ("pub", "greet", "hello"),
    ("stream", "ls"),
    ("stream", "info", "ORDERS"),
    ("kv", "get", "CONFIG", "key"),
    ("server", "check", "connection"),
)


def command_ms(words: tuple[str, ...], url: str) -> float:
    """Run a command and return its processor time in ms. Raises RuntimeError if it fails."""
    environment = {**os.environ, "NATS_URL": url, "PYTHONDONTWRITEBYTECODE": ""}
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([PYJS, *words], stdout=quiet, stderr=quiet, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"pyjs {' '.join(words)} ended with {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1e3


def server_ms() -> tuple[float, float]:
    """Start a server and return its processor time in ms until it answered a PING, and its memory in MiB."""
    with servers.start("pyjs", "max_mem: 1GB") as server:
        nanoseconds = Path(f"/proc/{server.process.pid}/schedstat").read_text("ascii").split()[0]
        return int(nanoseconds) / 1e6, server.resident_bytes() / 2**20


def main() -> None:
    """Measure, in turn, so that a busy moment does not fall on one of them only."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    found: dict[str, list[float]] = {}
    with servers.start("pyjs", "max_mem: 1GB") as server:
        url = f"nats://127.0.0.1:{server.port}"
        for words in SETUP:
            command_ms(words, url)
        for _ in range(runs):
            for words in COMMANDS:
                found.setdefault(f"pyjs {' '.join(words)}", []).append(command_ms(words, url))
            ready, memory = server_ms()
            found.setdefault("server with JetStream, until it answers", []).append(ready)
            found.setdefault("the same, resident memory in MiB", []).append(memory)
    for name, times in found.items():
        print(f"{name:42} {min(times):8.1f} {statistics.median(times):8.1f}")


if __name__ == "__main__":
    main()
