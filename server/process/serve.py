"""Process: one server until a signal ends it, with pid and ports files, reload, log reopening, lame duck."""

from __future__ import annotations

import asyncio
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..accounts import AccountsError
from ..app import Server
from ..clock import LoopClock
from ..config.files import Files, stamps
from ..config.support import unsupported
from ..config.tls import TLSConfigError
from ..config.tree import ConfigError
from ..logging import ServerLogger
from ..memory import configure_allocator
from ..renewal import Contexts, read_contexts
from ..slices import TurnScheduler, finish, paced
from .collector import Collector
from .files import ports_path, write_pid, write_ports
from .settled import read_settled

if TYPE_CHECKING:
    from pathlib import Path

    from ..config import ConfigProblem, Options
    from ..config.flags import CommandLine
    from ..config.reload import Reload
    from .signals import DeferredSignals

# Seconds for which a thread waits, at most, for the busy loop after a sync. With Python's default of 5 ms the
# answers of a commit came so late that a publisher with a window got only half of its throughput.
_SWITCH_INTERVAL = 0.000_5
_SOON = 0.05  # s after the start, for what no client need wait for


class _Read(NamedTuple):
    """A configuration that was read again, and what of it can be applied.

    contexts: new TLS contexts of the listeners.
    tokens: references that keep the parsed tokens in memory.
    files: the files after they were read.
    """

    options: Options
    warnings: list[ConfigProblem]
    refusals: list[ConfigProblem]
    compared: Reload
    contexts: Contexts
    tokens: list[object]
    files: Files


class Process:
    """A server and how the operating system sees it. `run` may be called once.

    deferred: collects signals until this listens to them.
    """

    def __init__(
        self, line: CommandLine, options: Options, log: ServerLogger, program: str, deferred: DeferredSignals
    ) -> None:
        self.line = line
        self.options = options
        self.log = log
        self.program = program
        self.server = Server(options, log=log)
        self._deferred = deferred
        self._started = asyncio.Event()
        self._ending = asyncio.Event()
        self._draining: asyncio.Task[None] | None = None
        self._reloads: deque[Callable[[bool], None]] = deque()
        self._reloading: asyncio.Task[None] | None = None
        self._ports_file: Path | None = None

    async def run(self, warnings: list[ConfigProblem]) -> int:
        """Serve until a signal ends it. Return the exit code: 0, or 1 if the server could not start."""
        for warning in warnings:
            self.log.warning(str(warning))
        self._listen_to_signals()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        collector = Collector(LoopClock(asyncio.get_running_loop()))
        collector.start()
        try:
            await self.server.start()
            collector.serve()
            asyncio.get_running_loop().call_later(_SOON, configure_allocator)  # it imports ctypes
            if self.server.system is not None:
                self.server.system.reloader = self.reload
            self._write_files()
            self._started.set()
            await self._ending.wait()
            self.log.info("Initiating Shutdown...")
        except (OSError, ValueError, AccountsError, TLSConfigError) as error:
            self.log.fatal(_reason(error))
            return 1
        except Exception as error:  # a bug: log one line, and the traceback only for those who debug
            self.log.debug(traceback.format_exc())
            self.log.fatal(f"The server failed: {type(error).__name__}: {error}")
            return 1
        finally:
            collector.stop()
            for task in (self._draining, self._reloading):
                if task is not None:
                    task.cancel()
            await self.server.stop()
            if self._ports_file is not None:
                self._ports_file.unlink(missing_ok=True)
        self.log.info("Server Exiting..")
        return 0

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        listeners: dict[int, Callable[[], None]] = {
            signal.SIGINT: lambda: self._end("interrupt"),
            signal.SIGTERM: lambda: self._end("terminated"),
            signal.SIGHUP: self.reload,
            signal.SIGUSR1: self._reopen,
            signal.SIGUSR2: self._drain,
        }
        for number, listener in listeners.items():
            loop.add_signal_handler(number, listener)
        for number in self._deferred.take():
            listeners[number]()

    def _end(self, name: str) -> None:
        self.log.info(f'Trapped "{name}" signal')
        if name == "terminated" and self._draining is not None:
            self.log.info("Lame duck mode is running and will end the server")
            return
        self._ending.set()

    def _reopen(self) -> None:
        self.log.info('Trapped "user defined signal 1" signal')
        self.log.reopen()

    def _drain(self) -> None:
        self.log.info('Trapped "user defined signal 2" signal')
        if self._draining is None and not self._ending.is_set():
            self._draining = asyncio.get_running_loop().create_task(self._drain_started())
            self._draining.add_done_callback(self._drained)

    async def _drain_started(self) -> None:
        await self._started.wait()
        await self.server.drain()

    def _drained(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.log.error(f"Lame duck mode failed: {error}")
        self._ending.set()

    def reload(self, done: Callable[[bool], None] = lambda _: None) -> None:
        """Read the configuration again and apply it, after reloads that are under way.

        Call `done` with whether it was applied. If not, every reason is logged.
        """
        self.log.info('Trapped "hangup" signal')
        self._reloads.append(done)
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.get_running_loop().create_task(self._reload_all())

    async def _reload_all(self) -> None:
        await self._started.wait()
        while self._reloads:
            done = self._reloads.popleft()
            problems = await self._try_reload()
            for problem in problems:
                self.log.error(f"Failed to reload server configuration: {problem}")
            done(not problems)

    async def _read(self) -> _Read:
        """Read the configuration on a thread, as a long one takes seconds. Raises what the reading raises."""
        from ..config.reload import compare

        read: asyncio.Future[list[_Read | Exception]] = asyncio.get_running_loop().create_future()
        before = self.options
        made: list[_Read | Exception] = []

        def work() -> bool:
            try:
                options = self.line.options()
                warnings, refusals = unsupported(options)
                found, contexts, tokens = compare(before, options), read_contexts(options), _tokens(options)
                files = stamps(options.config_files)
                made.append(_Read(options, warnings, refusals, found, contexts, tokens, files))
            except Exception as error:
                made.append(error)
            return True

        self.server.worker(work, lambda _: None if read.done() else read.set_result(made))
        found = (await read)[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def _try_reload(self) -> list[str]:
        if not self.options.config_file:
            return ["can only reload config when a file is provided using -c or --config"]
        try:
            read = await read_settled(self._read, self.options)
            options, warnings, refusals, found, contexts, *_ = read
            if refusals:
                return [str(problem) for problem in refusals]
            if found.refused:
                return found.refused
            turns = TurnScheduler(self.server.clock.soon)
            await finish(turns, paced(self.server.reloading(options, contexts)))
            self.log.configure(options)
            if options.pid_file and options.pid_file != self.options.pid_file:
                write_pid(options.pid_file)
        except ConfigError as error:
            return [str(problem) for problem in error.problems]
        except (AccountsError, OSError, TLSConfigError) as error:
            return [_reason(error)]
        except Exception as error:  # a bug: the next reload must still be done
            self.log.debug(traceback.format_exc())
            return [f"{type(error).__name__}: {error}"]
        self.options = options
        for warning in (*options.warnings, *warnings):
            self.log.warning(str(warning))
        for change in found.changes:
            self.log.info(f"Reloaded: {change.path} = {change.new}")
        self.log.info(f"Reloaded server configuration ({options.config_digest})")
        return []

    def _write_files(self) -> None:
        if self.options.pid_file:
            write_pid(self.options.pid_file)
        if self.options.ports_file_dir:
            self._ports_file = ports_path(self.options.ports_file_dir, self.program.replace(" ", "-"))
            write_ports(self._ports_file, self.server.urls())


def _tokens(options: Options) -> list[object]:
    """Return the parsed preloaded tokens, so that they need not be parsed on the loop."""
    if not options.resolver_preload:
        return []
    from ..operator.token_parser import read

    return [read(token.strip()) for token in options.resolver_preload.values()]


def _reason(error: Exception) -> str:
    """Return an error in one line. Errors of the system include the file or the address."""
    if not isinstance(error, OSError):
        return str(error)
    text = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {text}"
    return f"Error listening on port: {text}" if "bind" in text else text
