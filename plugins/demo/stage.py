"""The stage of a demo: a directory, real servers, commands that are run and shown, a result for each claim.

Promises: every command shown was really run by this installation's `pyjs`, and its output is printed as the
command itself prints it on this terminal, with tables that fit. Every result is the outcome of a check on the
running servers. Unless they are to be kept, the servers are stopped by process id and the directory is
removed, also after a failure or Ctrl-C.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule

from ...cli.output import folding
from .line import CommandOutput, run, variables

READY_SECONDS = 60.0
WAIT_SECONDS = 20.0
STOP_SECONDS = 10.0
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the signals that end a demo, and its servers with it


class DemoError(Exception):
    """A server did not start or a step could not be played; the text says which and why."""


@dataclass
class Claim:
    """A claim of the page, whether it holds, and what was seen."""

    text: str
    holds: bool
    seen: str


@dataclass
class Stage:
    """Where a demo runs.

    pause: whether it waits for Enter between steps.
    keep: whether the servers and files stay at the end.
    """

    console: Console
    pause: bool = False
    keep: bool = False
    directory: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="pyjs-demo-")))
    claims: list[Claim] = field(default_factory=list)
    server: Sequence[str] = field(default_factory=lambda: (*pyjs(), "server", "run"))  # before `-c FILE`
    variables: dict[str, str] = field(default_factory=dict)  # of commands and servers, besides the usual ones
    _servers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _began: dict[str, int] = field(default_factory=dict)  # where the log of the server's present run begins

    def chapter(self, title: str, text: str = "") -> None:
        """Show a heading and what the chapter is about; with `pause`, wait for Enter before it."""
        if self.pause and self.claims:
            self.console.input("[dim]Enter for the next step[/dim] ")
        self.console.print()
        self.console.print(Rule(f"[bold]{escape(title)}", align="left"))
        if text:
            self.say(text)

    def say(self, text: str) -> None:
        """Show prose between the commands."""
        self.console.print(Padding(escape(" ".join(text.split())), (0, 0, 1, 0)), highlight=False)

    def notice(self, text: str) -> None:
        """Point out something in the output above."""
        shown = f"[magenta]▸ {escape(' '.join(text.split()))}[/magenta]"
        self.console.print(Padding(shown, (0, 0, 1, 0)), highlight=False)

    def write(self, name: str, text: str, *, show: bool = True) -> Path:
        """Write a file of the demo and return its path; show it unless `show` is false."""
        path = self.directory / name
        path.write_text(text)
        if show:
            self.cat(name)
        return path

    def cat(self, name: str) -> None:
        """Show a file of the demo."""
        self.console.print(f"[bold cyan]{escape(name)}[/bold cyan]")
        text = textwrap.indent((self.directory / name).read_text().strip(), "    ")
        if self.width:
            text = "\n".join(folding.line(each, self.width) for each in text.split("\n"))
        self.console.print(escape(text) + "\n", highlight=False, soft_wrap=True)

    def run(self, command: str, *, answers: str = "", check: bool = True) -> str:
        """Run `pyjs …`, show the command and its output, and return the output, with tables as they are.

        answers: what is typed at its questions, in lines such as `? Storage backend file`.

        Raises DemoError if it ends with an error and `check` is set.
        """
        self.command(command)
        done = self.output_of(command, answers)
        self.output(done.shown)
        if check and done.code != 0:
            raise DemoError(f"`{command}` ended with exit code {done.code}")
        return done.text

    def output_of(self, command: str, answers: str = "") -> CommandOutput:
        """Run `pyjs …` without showing it, and return its output."""
        words = shlex.split(command)[1:]
        return run(words, self.directory, self.environment(), answers, columns=self.width)

    @property
    def width(self) -> int:
        """The columns of the terminal that lines are to fit; 0 in a pipe, where nothing is broken."""
        return self.console.width if self.console.is_terminal else 0

    def command(self, text: str, remark: str = "") -> None:
        """Show a command line."""
        whole = f"{text}  # {remark}" if remark else text
        shown = folding.command(text, self.width, remark, start=2) if self.width else whole
        line, mark, said = shown.rpartition("# ") if remark else (shown, "", "")
        dim = f"[dim]{mark}{escape(said)}[/dim]" if remark else ""
        prompt = "[bold green]$[/bold green]"
        self.console.print(f"{prompt} [bold]{escape(line)}[/bold]{dim}", highlight=False, soft_wrap=True)

    def output(self, text: str) -> None:
        """Show the output of a command."""
        shown = text.rstrip("\n")
        shown = folding.output(shown, self.width) if self.width else shown
        self.console.print(escape(shown), highlight=False, soft_wrap=True)
        self.console.print()

    def environment(self) -> dict[str, str]:
        """The variables of what the demo starts, without the user's own settings for NATS."""
        own = {
            "COLUMNS": str(max(self.console.width, 118)),
            "XDG_CONFIG_HOME": str(self.directory / ".config"),
        }
        return variables({**own, **self.variables})

    def claim(self, text: str, holds: bool, seen: str) -> None:
        """Record the result of a claim and show it at once."""
        self.claims.append(Claim(text, holds, seen))
        self._show(self.claims[-1])
        self.console.print()

    def _show(self, claim: Claim) -> None:
        mark = "[green]✓[/green]" if claim.holds else "[red]✗[/red]"
        text, seen = escape(" ".join(claim.text.split())), escape(claim.seen)
        self.console.print(f"{mark} {text} [dim]({seen})[/dim]", highlight=False)

    def start(self, name: str, config: Path, **more: str) -> None:
        """Start a server process and wait until it is ready.

        `config` is its configuration, `more` its further variables; the command is shown. Raises DemoError
        with the end of its log if it does not become ready.
        """
        self.launch(name, config, **more)
        self.ready(name)

    def launch(self, name: str, config: Path, **more: str) -> None:
        """Start a server as `start` does, without waiting."""
        given = "".join(f"{key}={shlex.quote(value)} " for key, value in more.items())
        self.command(f"{given}pyjs server run -c {config.name}", f"in the background, log in {name}.log")
        log = self._log(name)
        self._began[name] = log.stat().st_size if log.exists() else 0
        with unbroken():
            self._servers[name] = self.spawn(config, log, {**self.environment(), **more})

    def spawn(self, config: Path, log: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start the process of a server, whose output is appended to `log`."""
        with log.open("ab") as sink:
            return subprocess.Popen(
                [*self.server, "-c", config.name],
                cwd=self.directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    def ready(self, name: str) -> None:
        """Wait until a launched server is ready.

        Raises DemoError with the end of its log if it does not get there.
        """
        for _ in until(READY_SECONDS):
            ended = self._servers[name].poll() is not None
            text = self._log(name).read_bytes()[self._began[name] :].decode(errors="replace")
            if "Server is ready" in text:
                return
            if ended:
                break
        tail = "\n".join(self._log(name).read_text(errors="replace").splitlines()[-15:])
        raise DemoError(f"server {name} did not become ready; the end of its log:\n{tail}")

    def _log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def stop(self, *names: str) -> None:
        """Stop servers as an operator would, and wait until they have ended."""
        leaving = [self._servers.pop(name) for name in names]
        for process in leaving:
            process.send_signal(signal.SIGTERM)
        end = time.monotonic() + STOP_SECONDS
        for process in leaving:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill(self, *names: str) -> None:
        """Kill servers without warning, as a power cut would; show the command."""
        leaving = [self._servers.pop(name) for name in names]
        self.command(f"kill -9 {' '.join(str(process.pid) for process in leaving)}", " ".join(names))
        for process in leaving:
            process.kill()
        for process in leaving:
            process.wait()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one server, e.g. SIGHUP for a reload."""
        self._servers[name].send_signal(number)

    def show_results(self) -> bool:
        """Show every claim with its outcome; return whether all held."""
        self.console.print()
        self.console.print(Rule("[bold]Verdict", align="left"))
        for claim in self.claims:
            self._show(claim)
        holding = sum(claim.holds for claim in self.claims)
        colour = "green" if holding == len(self.claims) else "red"
        self.console.print(f"\n[bold {colour}]{holding} of {len(self.claims)} claims held[/bold {colour}]")
        return holding == len(self.claims)

    def processes(self) -> dict[str, int]:
        """Return the process ids of the running servers by name."""
        return {name: process.pid for name, process in self._servers.items()}

    def close(self) -> None:
        """Stop the servers and remove the files, unless they are to be kept."""
        if self.keep:
            return
        with unbroken():
            with contextlib.suppress(ProcessLookupError):
                self.stop(*self._servers)
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Stage:
        for number in ENDS[1:]:
            signal.signal(number, signal.default_int_handler)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.keep = False
        self.close()


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Delay interrupts (Ctrl-C, SIGTERM, SIGHUP) until the block is finished."""
    came: list[int] = []
    handlers = {number: signal.signal(number, lambda seen, _: came.append(seen)) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def pyjs() -> list[str]:
    """Return the command line of this installation."""
    return [sys.executable, "-m", "pyjs"]


def port(preferred: int) -> int:
    """Return `preferred` if nobody listens there, else a free port of 127.0.0.1."""
    for candidate in (preferred, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", candidate))
            return int(probe.getsockname()[1])
    raise DemoError(f"no port is free on 127.0.0.1, not even in place of {preferred}")


def until(seconds: float, step: float = 0.05) -> Iterator[None]:
    """Yield the turns of a wait that ends after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(step)


def wait_until(condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> bool:
    """Return whether `condition` became true within `seconds`."""
    return any(condition() for _ in until(seconds))
