"""Requests that all servers answer, over one connection, without waiting longer than there is reason to.

Nobody says how many will answer. `nsc` waits out the whole timeout, for each request. Here a ping goes out
with the first request: each server answers it with its name and with how many servers it knows of.

- While these numbers do not agree with how many have answered, the whole timeout is waited for: somebody is
  slow, or unknown to the others.
- When they agree, or the timeout was waited for once, all servers are known, and a round ends when each of
  them has answered everything that was asked, and then nobody unknown spoke for a moment (longer, the slower
  the slowest was).
- A known server that does not answer keeps the round open to the end of its timeout, and is told of.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ....protocol import gojson
from ...errors import WorkspaceError
from ..workspace import Workspace
from .access import ServersAccess
from .answers import ServerResponses
from .connection import ServersConnection, connect, plain
from .identity import system_speaker

PING = "$SYS.REQ.SERVER.PING"
WINDOW = 32  # requests under way at a time
QUIET = 0.1  # seconds
_SLOWER = 4.0


class ServersSession:
    """Asks all servers. `servers`: those that are known, by key their names."""

    def __init__(
        self, connection: ServersConnection, timeout: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`timeout`: seconds for each round; `clock`: seconds that only grow."""
        self.servers: dict[str, str] = {}
        self._connection, self._timeout, self._clock = connection, timeout, clock
        self._inbox: Any = None
        self._prefix = ""
        self._asked: list[ServerResponses] = []
        self._counts: dict[str, int] = {}  # server's key: how many servers it knows of
        self._nobody = False  # not even the ping was answered: this is no system account
        self._waited = False  # a whole timeout: whoever is there has spoken
        self._began = self._last = self._slowest = 0.0

    @property
    def answered(self) -> dict[str, str]:
        """The servers that answered more than the ping, by key their names."""
        keys = {key for responses in self._asked for key in responses.servers}
        return {key: name for key, name in self.servers.items() if key in keys}

    async def start(self) -> None:
        """Subscribe to the answers."""
        self._prefix = self._connection.nc.new_inbox()
        self._inbox = await self._connection.nc.subscribe(f"{self._prefix}.*")

    async def ask(self, subject: str, body: bytes = b"") -> ServerResponses:
        """Ask all servers one thing."""
        return (await self.ask_all([(subject, body)]))[0]

    async def ask_all(
        self, requests: Sequence[tuple[str, bytes]], *, plain: bool = False, expected: int = 0
    ) -> list[ServerResponses]:
        """Ask all servers several things.

        `plain`: the answers name no server; `expected` of them are waited for, else one of each server.
        """
        result: list[ServerResponses] = []
        for start in range(0, len(requests), WINDOW):
            some = requests[start : start + WINDOW]
            result += await self._round(some, plain=plain, expected=expected)
        await self._listen(result)
        for responses in result:
            self._note_missing(responses)
        return result

    async def many(self, subject: str) -> AsyncIterator[bytes]:
        """Ask for messages that one server sends, up to an empty one.

        Raises WorkspaceError when nobody answers, or no more comes within the timeout.
        """
        number = len(self._asked)
        self._asked.append(ServerResponses(subject, plain=True))
        await self._publish(subject, b"", number)
        while True:
            message = await self._next(self._clock() + self._timeout)
            if message is None:
                reason = self._connection.last_error(subject) or "nats: timeout"
                raise WorkspaceError(f"failed to get response to pull: {reason}")
            if _no_responders(message):
                raise WorkspaceError(f"failed to get response to pull: {_NOBODY}")
            if not message.data:
                return
            yield message.data

    async def _round(
        self, requests: Sequence[tuple[str, bytes]], *, plain: bool, expected: int
    ) -> list[ServerResponses]:
        first = not self._asked
        self._began = self._last = self._clock()
        if first:
            await self._publish(PING, b"", -1)
        begin = len(self._asked)
        for subject, body in requests:
            self._asked.append(ServerResponses(subject, plain=plain, expected=expected))
            await self._publish(subject, body, len(self._asked) - 1)
        now = self._asked[begin:]
        end = self._began + self._timeout
        while not (self._over(now) or self._complete(now)) and (message := await self._next(end)) is not None:
            self._take(message)
        self._waited = self._waited or self._clock() >= end
        return now

    async def _listen(self, asked: list[ServerResponses]) -> None:
        """After all rounds: wait a moment for further answers."""
        end = self._began + self._timeout
        while not self._over(asked):
            until = self._last + max(QUIET, _SLOWER * self._slowest) if self._complete(asked) else end
            message = await self._next(min(until, end))
            if message is None:
                return
            self._take(message)

    def _over(self, now: list[ServerResponses]) -> bool:
        """Whether nothing more can come: nobody listens to what is asked, and the ping is answered."""
        return all(responses.error for responses in now) and (self._nobody or bool(self.servers))

    def _complete(self, asked: list[ServerResponses]) -> bool:
        """Whether all servers are known and have answered everything."""
        return self._all_known() and all(self._answered(responses) for responses in asked)

    def _all_known(self) -> bool:
        known = len(self.servers)
        return known > 0 and (self._waited or set(self._counts.values()) == {known} == {len(self._counts)})

    def _answered(self, responses: ServerResponses) -> bool:
        if responses.error:
            return True
        if responses.plain:
            return len(responses.answers) >= (responses.expected or len(self.servers))
        return responses.servers >= set(self.servers)

    async def _publish(self, subject: str, body: bytes, number: int) -> None:
        word = "ping" if number < 0 else str(number)
        await self._connection.nc.publish(subject, body, reply=f"{self._prefix}.{word}")

    async def _next(self, until: float) -> Any:
        """The next message; None when `until` came first."""
        from nats import errors

        left = until - self._clock()
        if left <= 0:
            return None
        try:
            return await self._inbox.next_msg(left)
        except (TimeoutError, errors.TimeoutError):
            return None
        except errors.Error as error:
            raise WorkspaceError(f"the connection was lost: {plain(error)}") from None

    def _take(self, message: Any) -> None:
        self._last = self._clock()
        word = message.subject.rpartition(".")[2]
        if word == "ping":
            self._nobody = _no_responders(message)
            self._count(message)
            return
        responses = self._asked[int(word)]
        if _no_responders(message):
            responses.error = _NOBODY
            return
        answer = responses.take(message.data)
        if answer is not None:
            self._slowest = max(self._slowest, self._last - self._began)
            if answer.id and not answer.error:
                self.servers.setdefault(answer.id, answer.server)

    def _count(self, message: Any) -> None:
        try:
            document = gojson.decode(message.data)
        except gojson.JsonError:
            return
        match document:
            case {"server": {"name": str(name), "id": str(key)}}:
                self.servers[key] = name
                known = document.get("statsz")
                active = known.get("active_servers") if isinstance(known, dict) else None
                self._counts[key] = active if isinstance(active, int) else 0

    def _note_missing(self, responses: ServerResponses) -> None:
        """Note who is missing, and why nobody answered if nobody did."""
        if responses.plain:
            return
        responses.silent = sorted(self.servers[key] for key in set(self.servers) - responses.servers)
        responses.unheard = max(0, max(self._counts.values(), default=0) - len(self.servers))
        if not responses.answers and not responses.error:
            responses.error = self._connection.last_error(responses.subject) or "nats: timeout"


_NOBODY = (
    "nats: no responders available for request: the servers have no NATS based account resolver, or another "
    "system account"
)


def _no_responders(message: Any) -> bool:
    return not message.data and (message.headers or {}).get("Status") == "503"


@asynccontextmanager
async def session(
    workspace: Workspace, to: ServersAccess, url: str, subjects: Sequence[str], name: str
) -> AsyncIterator[tuple[ServersSession, str]]:
    """Speak to the servers of `url` as a user of the system account that may publish to `subjects`.

    Gives the session and the account's name here; `name` is the connection's. Raises WorkspaceError.
    """
    speaker = system_speaker(workspace, [*subjects, PING], account=to.account, user=to.user)
    async with connect(url, speaker, name, to.tls) as connection:
        made = ServersSession(connection, to.timeout)
        await made.start()
        yield made, speaker.account
