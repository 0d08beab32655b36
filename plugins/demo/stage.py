"""The stage of a demo: a directory, real servers, commands run and shown, a verdict for each claim.

Promises: every command shown was really run by this installation's `pyjs`, and its output is printed as it
came; every verdict is the outcome of a check made on the running servers; unless told to keep them, the
servers are ended by process id and the directory is removed, also after a failure or Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule

READY_SECONDS = 15.0
SETTLE_SECONDS = 20.0
STOP_SECONDS = 10.0


class DemoError(Exception):
    """A server did not start or a step could not be played; the text says which and why."""


@dataclass
class Claim:
    """What the page says, whether it was seen to be so, and what was seen."""

    text: str
    held: bool
    seen: str


@dataclass
class Stage:
    """Where a demo plays. `pause` waits for Enter between steps; `keep` leaves the servers and files."""

    console: Console
    pause: bool = False
    keep: bool = False
    directory: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="pyjs-demo-")))
    claims: list[Claim] = field(default_factory=list)
    _servers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def chapter(self, title: str, text: str = "") -> None:
        """A heading and what it is about; with `pause`, waits for Enter before it."""
        if self.pause and self.claims:
            self.console.input("[dim]Enter for the next step[/dim] ")
        self.console.print()
        self.console.print(Rule(f"[bold]{escape(title)}", align="left"))
        if text:
            self.say(text)

    def say(self, text: str) -> None:
        """Prose between the commands."""
        self.console.print(Padding(escape(" ".join(text.split())), (0, 0, 1, 0)), highlight=False)

    def notice(self, text: str) -> None:
        """What to look at in the output above."""
        self.console.print(Padding(f"[yellow]▸ {escape(' '.join(text.split()))}[/yellow]", (0, 0, 1, 0)))

    def write(self, name: str, text: str) -> Path:
        """Write a file of the demo and show it."""
        path = self.directory / name
        path.write_text(text)
        self.console.print(f"[bold cyan]{escape(name)}[/bold cyan]")
        indented = textwrap.indent(text.strip(), "    ")
        self.console.print(escape(indented) + "\n", highlight=False, soft_wrap=True)
        return path

    def run(self, command: str, *, check: bool = True) -> str:
        """Run `pyjs …`, show the command and its output, and return what it wrote on stdout.

        Raises DemoError when it ends with an error and `check` is set.
        """
        self.console.print(f"[bold green]$[/bold green] [bold]{escape(command)}[/bold]", soft_wrap=True)
        done = subprocess.run(
            [*pyjs(), *shlex.split(command)[1:]],
            cwd=self.directory,
            env={**os.environ, "COLUMNS": str(max(self.console.width, 118)), "NATS_CONTEXT": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.console.print(escape(done.stdout.rstrip("\n")), highlight=False, soft_wrap=True)
        self.console.print()
        if check and done.returncode != 0:
            raise DemoError(f"`{command}` ended with exit code {done.returncode}")
        return done.stdout

    def claim(self, text: str, held: bool, seen: str) -> None:
        """Record a verdict and show it at once."""
        self.claims.append(Claim(text, held, seen))
        self._show(self.claims[-1])
        self.console.print()

    def _show(self, claim: Claim) -> None:
        mark = "[green]✓[/green]" if claim.held else "[red]✗[/red]"
        text, seen = escape(" ".join(claim.text.split())), escape(claim.seen)
        self.console.print(f"{mark} {text} [dim]({seen})[/dim]", highlight=False)

    def start(self, name: str, config: Path) -> None:
        """Start a server process with `config`; show the command; return when it is ready.

        Raises DemoError with the end of its log when it does not get there.
        """
        self.console.print(
            f"[bold green]$[/bold green] [bold]pyjs server run -c {escape(config.name)}[/bold]"
            f"  [dim]# in the background, log in {escape(name)}.log[/dim]"
        )
        log = self.directory / f"{name}.log"
        with log.open("ab") as sink:
            position = sink.tell()
            self._servers[name] = subprocess.Popen(
                [*pyjs(), "server", "run", "-c", config.name],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        process = self._servers[name]
        for _ in until(READY_SECONDS):
            text = log.read_bytes()[position:].decode(errors="replace")
            if "Server is ready" in text:
                return
            if process.poll() is not None:
                break
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise DemoError(f"server {name} did not become ready; the end of its log:\n{tail}")

    def stop(self, name: str) -> None:
        """Stop one server as an operator would, and wait for its end."""
        process = self._servers.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one server, e.g. SIGHUP for a reload."""
        self._servers[name].send_signal(number)

    def verdict(self) -> bool:
        """Show every claim with its outcome; True when all held."""
        self.console.print()
        self.console.print(Rule("[bold]Verdict", align="left"))
        for claim in self.claims:
            self._show(claim)
        held = sum(claim.held for claim in self.claims)
        colour = "green" if held == len(self.claims) else "red"
        self.console.print(f"\n[bold {colour}]{held} of {len(self.claims)} claims held[/bold {colour}]")
        return held == len(self.claims)

    def processes(self) -> dict[str, int]:
        """Process ids of the running servers by name."""
        return {name: process.pid for name, process in self._servers.items()}

    def close(self) -> None:
        """End the servers and remove the files, unless they are to be kept."""
        if self.keep:
            return
        for name in list(self._servers):
            with contextlib.suppress(ProcessLookupError):
                self.stop(name)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.keep = False
        self.close()


def pyjs() -> list[str]:
    """The command line of this very installation."""
    return [sys.executable, "-m", "pyjs"]


def port(preferred: int) -> int:
    """`preferred` when nobody listens there, else any free port of 127.0.0.1."""
    for candidate in (preferred, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", candidate))
            return int(probe.getsockname()[1])
    raise DemoError(f"no port is free on 127.0.0.1, not even in place of {preferred}")


def until(seconds: float, step: float = 0.05) -> Iterator[None]:
    """Turns of a wait that ends after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(step)


def settle(condition: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> bool:
    """Whether `condition` became true within `seconds`."""
    return any(condition() for _ in until(seconds))
