"""`--signal`: finds a running server and sends it the signal that a word stands for."""

from __future__ import annotations

import os
import signal
from pathlib import Path

SIGNALS = {
    "stop": signal.SIGKILL,
    "quit": signal.SIGINT,
    "term": signal.SIGTERM,
    "reopen": signal.SIGUSR1,
    "ldm": signal.SIGUSR2,
    "reload": signal.SIGHUP,
}
PROGRAMS = ("pyjs-server", "pyjs.server.main", "pyjs/server/main.py")
_PROC = Path("/proc")


class SignalError(Exception):
    """The signal could not be sent."""


def send(text: str, program: str) -> None:
    """Send the signal of `command[=pid | =pidfile | =prefix*]`. Raises SignalError with the reason.

    Without a pid there must be exactly one running server. `prefix*` means every server whose pid begins with
    that prefix.
    """
    command, equals, where = text.partition("=")
    if command not in SIGNALS:
        raise SignalError(f'unknown signal "{command}": use one of {", ".join(SIGNALS)}')
    if "=" in where:
        raise SignalError(f"invalid signal parameters: {where}")
    for pid in _pids(_from_file(where) if equals else "", program):
        try:
            os.kill(pid, SIGNALS[command])
        except ProcessLookupError:
            raise SignalError(f"no such process: {pid}") from None
        except PermissionError:
            raise SignalError(f"not allowed to signal process {pid}") from None


def _from_file(text: str) -> str:
    try:
        return Path(text).read_text("ascii").strip()
    except (OSError, ValueError):
        return text


def _pids(text: str, program: str) -> list[int]:
    if text and not text.endswith("*"):
        if not text.isdecimal():
            raise SignalError(f"invalid pid: {text}")
        return [int(text)]
    running = [pid for pid in _running() if str(pid).startswith(text.removesuffix("*"))]
    if not running:
        raise SignalError(f"no {program} processes running")
    if len(running) > 1 and not text:
        listed = "\n".join(map(str, running))
        raise SignalError(f"multiple {program} processes running:\n{listed}")
    return running


def _running() -> list[int]:
    found: list[int] = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_server([word.decode("utf-8", "replace") for word in words if word]):
            found.append(int(entry.name))
    return sorted(found)


def is_server(command: list[str]) -> bool:
    """Whether a command line is that of a running server, and not of one that sends a signal."""
    if any(
        word.lstrip("-").partition("=")[0] in ("sl", "signal") and word.startswith("-") for word in command
    ):
        return False
    head = command[:3]
    if any(word.endswith(PROGRAMS) for word in head):
        return True
    names = [Path(word).name for word in command]
    return "pyjs" in names[:2] and names[names.index("pyjs") + 1 :][:2] == ["server", "run"]
