"""One server process under test: free ports, a store of its own, an end by process id.

A configuration is nats-server's text with two kinds of placeholders: `<store>` becomes the server's
directory, and any other `<word>` a free port on 127.0.0.1 that is kept in `ports["word"]` (`<client>` is
required). Ready means that INFO was read on the client port and, if there is a log, that it says that the
server is ready.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .eventually import eventually
from .preforked import Child, process_pool
from .wire import Wire

READY_SECONDS = 60.0
STOP_SECONDS = 20.0
PLACEHOLDER = re.compile(r"<([a-z0-9_]+)>")
# Below the range from which the kernel takes the ports of outgoing connections. Workers of one run divide
# them: another one could take a port that one was given and has not bound yet.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
PORTS = range(10_000 + _WORKER, 32_000, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
_given: deque[int] = deque(maxlen=1000)


def free_port() -> int:
    """Return a port on 127.0.0.1 that was free a moment ago, and that no test was given lately."""
    while True:
        port = random.choice(PORTS)
        if port in _given:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.append(port)
        return port


@dataclass
class ServerProcess:
    """A running server, pyjs-server without a command. `restart` keeps ports, configuration and store."""

    name: str
    command: Sequence[str]
    directory: Path
    ports: dict[str, int]
    process: subprocess.Popen[bytes] | Child | None = None

    @classmethod
    def start(cls, name: str, command: Sequence[str], config: str) -> ServerProcess:
        """Write `config` with its placeholders filled, start `command -c file`, wait until it is ready."""
        directory = Path(tempfile.mkdtemp(prefix=f"pyjs-test-{name}-"))
        server = cls(name, command, directory, {})
        server.configure(config)
        try:
            server.launch()
        except BaseException:
            server.stop()
            raise
        return server

    def configure(self, config: str) -> None:
        """Write the configuration file; a placeholder that was seen before keeps its port."""

        def fill(found: re.Match[str]) -> str:
            word = found.group(1)
            if word == "store":
                return str(self.directory / "store")
            return str(self.ports.setdefault(word, free_port()))

        (self.directory / "server.conf").write_text(PLACEHOLDER.sub(fill, config))

    def launch(self, seconds: float = READY_SECONDS) -> None:
        """Start the process and wait for its INFO. Raises RuntimeError with the end of its log."""
        self.spawn()
        eventually(self._answers, seconds)

    def spawn(self) -> None:
        """Start the process, and wait for nothing."""
        configured = ["-c", str(self.directory / "server.conf")]
        if not self.command:
            self.process = process_pool("pyjs-server").start(
                configured, self.directory / "log", self.directory
            )
            return
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, *configured],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{self.log()[-3000:]}")
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as probe:
                if probe.recv(5) != b"INFO ":
                    return False
        except OSError:
            return False
        log = self.log()
        return log.count("Server is ready") >= log.count("Listening for client connections on")

    @property
    def port(self) -> int:
        """The client port."""
        return self.ports["client"]

    @property
    def url(self) -> str:
        """The client URL without a user."""
        return f"nats://127.0.0.1:{self.port}"

    def log(self) -> str:
        """Everything that the process has written so far."""
        return (self.directory / "log").read_text(errors="replace")

    def connect(self, **options: Any) -> Wire:
        """Return a raw client after CONNECT and one PING; `options` are CONNECT's fields."""
        return Wire.connected(self.port, **options)

    def raw(self) -> Wire:
        """Return a raw client that has read INFO and sent nothing."""
        return Wire(self.port)

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End the process at once (SIGKILL); its store stays."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def crash(self) -> None:
        """End the process as badly as it can without losing what it acknowledged; its store stays.

        pyjs is killed. If the reference is killed, it loses what it has stored but not yet written, and uses
        the sequences again: no copy of its streams could stay equal to it.
        """
        if self.name == "reference":
            self.end()
        else:
            self.kill()

    def end(self) -> int:
        """End the process in good order (SIGTERM); its store stays. Returns the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def restart(self) -> None:
        """End in good order and start again."""
        self.end()
        self.launch()

    def stop(self) -> None:
        """End the process and remove everything it has left."""
        if self.process is not None:
            self.end()
        shutil.rmtree(self.directory, ignore_errors=True)
