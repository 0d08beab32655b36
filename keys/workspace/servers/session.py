"""Requests that all servers answer, over one connection, without unnecessary waiting.

Nothing says how many servers will answer, and `nsc` waits out the whole timeout for each request. Here a ping
goes out with the first request; each server answers it with its name and with how many servers it knows.

- While these numbers differ from the number of servers that have answered, the whole timeout is waited for:
  some server is slow, or unknown to the others.
- Once they agree, or the timeout has passed once, all servers are known. A round then ends when each of them
  has answered everything that was asked, and no unknown server answered for a moment (longer if the slowest
  was slow).
- A known server that does not answer keeps the round open to the end of its timeout, and is reported.
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
    """Sends requests to all servers.

    servers: the known ones, key to name.
    """

    def __init__(
        self, connection: ServersConnection, timeout: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Use `connection`.

        timeout: seconds for each round.
        clock: returns monotonic seconds.
        """
        self.servers: dict[str, str] = {}
        self._connection, self._timeout, self._clock = connection, timeout, clock
        self._inbox: Any = None
        self._prefix = ""
        self._asked: list[ServerResponses] = []
        self._counts: dict[str, int] = {}  # server's key: how many servers it knows
        self._nobody = False  # not even the ping was answered: this is no system account
        self._waited = False  # a whole timeout has passed: every server has answered
        self._began = self._last = self._slowest = 0.0

    @property
    def answered(self) -> dict[str, str]:
        """The servers that answered more than the ping, key to name."""
        keys = {key for responses in self._asked for key in responses.servers}
        return {key: name for key, name in self.servers.items() if key in keys}

    async def start(self) -> None:
        """Subscribe to the answers."""
        self._prefix = self._connection.nc.new_inbox()
        self._inbox = await self._connection.nc.subscribe(f"{self._prefix}.*")

    async def ask(self, subject: str, body: bytes = b"") -> ServerResponses:
        """Send one request to all servers."""
        return (await self.ask_all([(subject, body)]))[0]

    async def ask_all(
        self, requests: Sequence[tuple[str, bytes]], *, plain: bool = False, expected: int = 0
    ) -> list[ServerResponses]:
        """Send several requests to all servers.

        plain: whether the answers name no server.
        expected: how many of these are waited for; by default one of each server.
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
        """Send a request that one server answers with several messages, up to an empty one.

        Raises WorkspaceError if nobody answers, or if no more comes within the timeout.
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
        """Wait a moment for further answers, after all rounds."""
        end = self._began + self._timeout
        while not self._over(asked):
            until = self._last + max(QUIET, _SLOWER * self._slowest) if self._complete(asked) else end
            message = await self._next(min(until, end))
            if message is None:
                return
            self._take(message)

    def _over(self, now: list[ServerResponses]) -> bool:
        """Return whether nothing more can come: nobody listens to the requests, and the ping is answered."""
        return all(responses.error for responses in now) and (self._nobody or bool(self.servers))

    def _complete(self, asked: list[ServerResponses]) -> bool:
        """Return whether all servers are known and have answered everything."""
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
        """Return the next message; None if `until` came first."""
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
        """Note which servers are missing, and why nobody answered if that is so."""
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
    """Connect to the servers of `url` as a user of the system account that may publish to `subjects`.

    Yields the session and the account's name in the store; `name` is the name of the connection. Raises
    WorkspaceError.
    """
    speaker = system_speaker(workspace, [*subjects, PING], account=to.account, user=to.user)
    async with connect(url, speaker, name, to.tls) as connection:
        made = ServersSession(connection, to.timeout)
        await made.start()
        yield made, speaker.account
