"""DeferredSignals: keeps signals that arrive before a server listens for them.

A process can get signals as soon as its pid is known, long before its modules are imported and its
configuration is read. Promises: SIGHUP, SIGUSR1 and SIGUSR2 do not end the process, and take effect once the
server runs. SIGTERM and SIGINT end it at once, with exit code 0 and without output, as nothing has begun.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

_ENDING = (signal.SIGINT, signal.SIGTERM)
_DEFERRED = (*_ENDING, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class DeferredSignals:
    """A context in which signals wait, for the main thread. Other code may handle them inside it."""

    def __init__(self) -> None:
        self._came: list[int] = []
        self._before: dict[int, signal.Handlers] = {}

    def __enter__(self) -> DeferredSignals:
        for number in _DEFERRED:
            self._before[number] = signal.signal(number, self._defer) or signal.SIG_DFL  # type: ignore[assignment]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _defer(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)
        if number in _ENDING:
            raise SystemExit(0)

    def take(self) -> list[int]:
        """Return the signals that came since the last call, each once, in order."""
        came, self._came = list(dict.fromkeys(self._came)), []
        return came
