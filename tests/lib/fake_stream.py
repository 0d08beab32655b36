"""A subscriber that answers publishes in a stream's place: a test decides what each gets, and when."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from .process import ServerProcess
from .wire import Msg

Answer = dict[str, Any] | bytes | None


class FakeStream:
    """Subscribes to `subject` in a thread of its own.

    answer: called with a message and how many times its reply subject has been seen, from 1 on; returns a
        document, bytes, or None
    heard: all messages, in order
    """

    def __init__(self, server: ServerProcess, subject: str, answer: Callable[[Msg, int], Answer]) -> None:
        self.heard: list[Msg] = []
        self.counts: dict[str, int] = {}
        self._answer = answer
        self._wire = server.connect()
        self._wire.sub(subject)
        self._wire.sub("fake.end", "end")
        self._wire.sync()
        self._end = server.connect()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> FakeStream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.pub("fake.end")
        self._thread.join(20)
        self._wire.close()
        self._end.close()

    @property
    def bodies(self) -> list[str]:
        """Return what was published, in order."""
        return [message.body.decode() for message in self.heard]

    def say(self, to: Msg, answer: dict[str, Any] | bytes) -> None:
        """Answer a message, at any time."""
        self._wire.pub(to.reply, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def _run(self) -> None:
        while (message := self._wire.msg()).sid != "end":
            self.heard.append(message)
            self.counts[message.reply] = count = self.counts.get(message.reply, 0) + 1
            answer = self._answer(message, count)
            if answer is not None:
                self.say(message, answer)


def stored(name: str, sequence: int = 1, **more: Any) -> dict[str, Any]:
    """Return an acknowledgement."""
    return {"stream": name, "seq": sequence} | more


def refused(code: int, err_code: int, description: str, name: str = "FAKE") -> dict[str, Any]:
    """Return an acknowledgement with an error."""
    error = {"code": code, "err_code": err_code, "description": description}
    return {"error": error, "stream": name, "seq": 0}
