"""`pyjs-server`: nats-server's command line in front of a server in this process.

It goes through flags, configuration, log, server, pid and ports files, in this order, and then handles
signals until one ends it. The exit code is 0 after an orderly stop. Otherwise it is 1, with a text on
standard error or a last line in the log. `pyjs server run` calls `run`, and `pyjs server check-config` calls
`check_config`.

Signals: INT and TERM stop the server, HUP reads the configuration again, USR1 reopens the log, and USR2
disconnects the clients over the lame duck duration and then stops. They may come at any time, so little is
imported before `run`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .process.signals import DeferredSignals

if TYPE_CHECKING:
    from .config import ConfigProblem, Options
    from .config.flags import CommandLine
    from .logging import ServerLogger

PROGRAM = "pyjs-server"
# Objects created, less those freed, that start a collector pass until `Collector` sets a policy: importing
# leaves no garbage.
YOUNG = 200_000


def main() -> None:
    """Run the script `pyjs-server`."""
    gc.set_threshold(YOUNG)
    sys.exit(run(sys.argv[1:]))


def run(argv: Sequence[str], program: str = PROGRAM) -> int:
    """Do what a command line asks and return the exit code. A server runs until it is stopped."""
    with DeferredSignals() as deferred:
        return _run(argv, program, deferred)


def _run(argv: Sequence[str], program: str, deferred: DeferredSignals) -> int:
    from .config.flags import FlagError, parse

    try:
        line = parse(argv)
        if line.command or any(line.get(name) for name in ("help", "version", "help_tls")):
            return _inform(line, program)
        if line.get("signal"):
            return _signal(line.get("signal"), program)
        if line.get("t"):
            if not line.get("config"):
                raise FlagError(
                    "must specify [-c, --config] option to check configuration file syntax", usage=False
                )
            return check_config(line.get("config"), program)
        return _start(line, program, deferred)
    except FlagError as error:
        _complain(f"{program}: {error}")
        if error.usage:
            _complain(f"See {program} --help.")
        return 1


def check_config(path: str, program: str = PROGRAM) -> int:
    """Check a configuration file and report on standard error. Return 0 if a server would start with it."""
    from .config import ConfigError, load, paths
    from .config.support import unsupported

    try:
        options = load(path)
    except ConfigError as error:
        return _report(error.problems, program)
    if options.warnings:
        return _report(options.warnings, program)
    warnings, refusals = unsupported(options)
    for warning in warnings:
        _complain(f"{program}: warning: {warning}")
    refusals = [*refusals, *paths.problems(options), *_account_problems(options)]
    if refusals:
        return _report(refusals, program)
    _complain(f"{program}: configuration file {path} is valid ({options.config_digest})")
    return 0


def _account_problems(options: Options) -> list[ConfigProblem]:
    """Return why the accounts cannot be made, such as imports in a circle."""
    import asyncio

    from .accounts.account_spec import AccountsError
    from .accounts.registry import AccountRegistry
    from .clock import LoopClock
    from .config import ConfigProblem

    loop = asyncio.new_event_loop()
    try:
        AccountRegistry(options, LoopClock(loop)).stop()
    except AccountsError as error:
        return [ConfigProblem(options.positions.get("accounts"), str(error))]
    finally:
        loop.close()
    return []


def _report(problems: Sequence[ConfigProblem], program: str) -> int:
    for problem in problems:
        _complain(f"{program}: {problem}")
    return 1


def _complain(text: str) -> None:
    sys.stderr.write(text + "\n")


def _inform(line: CommandLine, program: str) -> int:
    from ..version import NATS_VERSION, __version__
    from .config.flags import usage

    if line.command == "version" or line.get("version"):
        sys.stdout.write(f"{program}: v{__version__} (nats-server v{NATS_VERSION})\n")
    elif line.get("help_tls"):
        sys.stdout.write(_TLS_HELP)
    else:
        sys.stdout.write(usage(program))
    return 0


_TLS_HELP = """TLS is configured by a tls block of the configuration file:

    tls {
        cert_file: "server-cert.pem"
        key_file:  "server-key.pem"
        ca_file:   "ca.pem"          # authorities of client certificates
        verify:    true              # clients must present one
        min_version: "1.2"
        cipher_suites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
        curve_preferences: ["CurveP256"]
    }

`openssl ciphers` lists the cipher suites there are; their names are accepted with and without TLS_.
"""


def _signal(text: str, program: str) -> int:
    from .process.send import SignalError, send

    try:
        send(text, program)
    except SignalError as error:
        _complain(f"{program}: {error}")
        return 1
    return 0


def _start(line: CommandLine, program: str, deferred: DeferredSignals) -> int:
    from .config import ConfigError, paths
    from .config.support import unsupported

    try:
        options = line.options()
    except ConfigError as error:
        return _report(error.problems, program)
    _report(options.warnings, program)
    warnings, refusals = unsupported(options)
    refusals = [*refusals, *paths.problems(options)]
    if refusals:
        return _report(refusals, program)

    from .logging import ServerLogger
    from .syslog import SyslogError

    try:
        log = ServerLogger(options)
    except SyslogError as error:
        _complain(f"{program}: {error}")
        return 1
    except OSError as error:
        _complain(f"{program}: error opening log file {options.log_file}: {error.strerror or error}")
        return 1
    try:
        return _serve(line, options, log, warnings, program, deferred)
    finally:
        log.close()


def _serve(
    line: CommandLine,
    options: Options,
    log: ServerLogger,
    warnings: list[ConfigProblem],
    program: str,
    deferred: DeferredSignals,
) -> int:
    import asyncio

    from .process.descriptors import raise_limit
    from .process.serve import Process

    async def serve() -> int:
        return await Process(line, options, log, program, deferred).run(warnings)

    raise_limit()
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    try:
        import uvloop
    except ImportError:  # uvloop does not exist for this platform
        pass
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(serve())


if __name__ == "__main__":
    main()
