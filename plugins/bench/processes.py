"""The clients of a benchmark as processes.

Each client is a process of its own, so that Python's global lock does not make them wait for each other. Of
more than `MOST_PROCESSES` clients, several share a process, each with a thread and a connection.

Promises: no process outlives the command. When it ends in whatever way, it ends its processes by their ids;
and when it is killed, each process ends by itself, because its pipe is closed.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from ...cli.errors import CliError, ExitCode
from ...cli.profile import Profile
from ...client import AuthorizationError, ClientError, ConnectionOptions, NotPermitted
from .client import ClientPlan, ClientRun, Work
from .connection import open_connection
from .sample import BenchmarkSample
from .settings import BenchmarkSettings

MOST_PROCESSES = 64
END_SECONDS = 5.0
READY, PROGRESS, DONE, FAILED = range(4)


@dataclass(frozen=True)
class ProcessSpec:
    """What every client of a run needs."""

    settings: BenchmarkSettings
    profile: Profile
    options: ConnectionOptions
    work: Work


@dataclass
class BenchmarkWatch:
    """What the caller is told while the clients run; numbers are those of clients, from 0.

    on_start: called when all are ready, before they begin.
    notes: what the clients have to say in the end.
    """

    on_ready: Callable[[int], None]
    on_progress: Callable[[int, int], None]
    on_start: Callable[[], None] = lambda: None
    notes: list[str] = field(default_factory=list)


class _Ends:
    """The child's end of the pipe, which its threads share."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self.go = threading.Event()

    def send(self, *message: Any) -> None:
        with self._lock:
            try:
                self._pipe.send(message)
            except OSError:
                os._exit(1)  # the parent is gone

    def listen(self) -> None:
        """Wait for the word to begin; end the process when the parent has ended."""
        try:
            while True:
                self._pipe.recv()
                self.go.set()
        except (EOFError, OSError):
            os._exit(1)


def _child(
    spec: ProcessSpec, plans: Sequence[ClientPlan], pipe: Connection, parents: Sequence[Connection]
) -> None:
    """Run some clients, and tell the parent."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in parents:
        each.close()  # otherwise a process would never see that the parent has gone
    random.seed()
    gc.freeze()
    ends = _Ends(pipe)
    listener = threading.Thread(target=ends.listen, daemon=True)
    listener.start()
    threads = [threading.Thread(target=_client, args=(spec, plan, ends), daemon=True) for plan in plans[1:]]
    for thread in threads:
        thread.start()
    _client(spec, plans[0], ends)
    listener.join()  # the end of the pipe ends the process


def _client(spec: ProcessSpec, plan: ClientPlan, ends: _Ends) -> None:
    number = plan.number

    def wait_for_all() -> None:
        ends.send(READY, number, None)
        ends.go.wait()

    def report(messages: int) -> None:
        ends.send(PROGRESS, number, messages)

    try:
        with open_connection(spec.profile, spec.options) as connection:
            run = ClientRun(plan, spec.settings, connection, wait_for_all, report)
            sample = spec.work(run)
        ends.send(DONE, number, (sample, run.notes))
    except CliError as error:
        ends.send(FAILED, number, (error.exit_code, error.message, error.hints))
    except (NotPermitted, AuthorizationError) as error:
        ends.send(FAILED, number, (ExitCode.REFUSED, str(error), ()))
    except (ClientError, OSError) as error:
        ends.send(FAILED, number, (ExitCode.UNAVAILABLE, str(error), ()))
    except Exception as error:  # a defect of ours: the process must not end in silence
        ends.send(FAILED, number, (ExitCode.FAILED, f"{type(error).__name__}: {error}", ()))


def run_clients(
    spec: ProcessSpec, plans: Sequence[ClientPlan], watch: BenchmarkWatch
) -> list[BenchmarkSample]:
    """Run the clients and return what each measured, in order.

    All begin when the last one is ready. Raises CliError as soon as one of them fails.
    """
    context = multiprocessing.get_context("fork")
    count = min(len(plans), MOST_PROCESSES)
    processes, pipes = [], []
    try:
        # Ctrl-C reaches every process of the terminal. Only the parent acts on it: in the children it stays
        # blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for first in range(count):
                ours, theirs = context.Pipe()
                pipes.append(ours)
                child = context.Process(
                    target=_child, args=(spec, plans[first::count], theirs, list(pipes)), daemon=True
                )
                child.start()
                processes.append(child)
                theirs.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return _samples(pipes, len(plans), watch)
    finally:
        for child in processes:
            child.terminate()
        for child in processes:
            child.join(END_SECONDS)
            if child.is_alive():
                child.kill()
                child.join()
        for pipe in pipes:
            pipe.close()


def _samples(pipes: Sequence[Connection], clients: int, watch: BenchmarkWatch) -> list[BenchmarkSample]:
    found: dict[int, BenchmarkSample] = {}
    ready = 0
    while len(found) < clients:
        for pipe in wait(pipes):
            assert isinstance(pipe, Connection)
            try:
                kind, number, value = pipe.recv()
            except (EOFError, OSError):
                raise CliError("a client of the benchmark ended before it was done") from None
            if kind == READY:
                ready += 1
                watch.on_ready(number)
                if ready == clients:
                    watch.on_start()
                    for each in pipes:
                        each.send(None)
            elif kind == PROGRESS:
                watch.on_progress(number, value)
            elif kind == FAILED:
                raise _failure(*value, client=number + 1 if clients > 1 else 0)
            else:
                found[number], notes = value
                watch.notes += [note for note in notes if note not in watch.notes]
                if len(found) == clients:
                    break
    return [found[number] for number in sorted(found)]


def _failure(code: ExitCode, message: str, hints: Sequence[str], *, client: int) -> CliError:
    """Return what failed in a client, whose number is named unless it is 0."""
    error = CliError(f"client {client}: {message}" if client else message, *hints)
    error.exit_code = code
    return error
