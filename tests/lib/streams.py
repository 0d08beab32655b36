"""A JetStream account without a server: a fake clock, and commits that run when the test wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lib.fake_clock import FakeClock
from pyjs.protocol import headers
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.registry import AccountRegistry
from pyjs.server.accounts.subscription import Message
from pyjs.server.config.options import AccountJetStream, Options
from pyjs.server.jetstream.account.account import JetStreamAccount
from pyjs.server.jetstream.account.recovery import Recovery
from pyjs.server.jetstream.api.table import TABLE, AccountApi
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.host import JetStreamHost
from pyjs.server.jetstream.legacy.service import LegacyService
from pyjs.server.jetstream.quota import Quota
from pyjs.server.jetstream.streams.core import Stream
from pyjs.server.logging import Logger, NullLogger
from pyjs.store.configs import Storage
from pyjs.store.fs import FileSystem

Done = Callable[[BaseException | None], None]


class PendingJob:
    """One commit, run when the test wants."""

    def __init__(self, job: Callable[[], object], done: Done) -> None:
        self._job = job
        self._done = done
        self._ran = False
        self._error: BaseException | None = None

    def result(self) -> BaseException | None:
        if not self._ran:
            self._ran = True
            try:
                self._job()
            except Exception as error:
                self._error = error
        return self._error

    def finish(self) -> None:
        self._done(self.result())


class HandRunner:
    """Runs commits at once or, while `paused`, keeps them until `release`."""

    def __init__(self) -> None:
        self.paused = False
        self.jobs: list[PendingJob] = []

    def soon(self, callback: Callable[[], None]) -> None:
        callback()

    def work(self, job: Callable[[], object], done: Done) -> PendingJob:
        made = PendingJob(job, done)
        if self.paused:
            self.jobs.append(made)
        else:
            made.finish()
        return made

    def release(self) -> None:
        """Run what has waited, one after the other."""
        while self.jobs:
            self.jobs.pop(0).finish()


class Spy:
    """Subscribes to a subject and keeps the messages."""

    def __init__(self, account: Account, subject: str) -> None:
        self.messages: list[Message] = []
        account.subscribe(subject, self.messages.append)

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]


class JetStreamFixture:
    """One account `$G` with JetStream in `directory`."""

    def __init__(
        self,
        directory: str,
        *,
        limits: AccountJetStream | None = None,
        domain: str = "",
        fs: FileSystem | None = None,
        log: Logger | None = None,
        legacy_api: bool = False,
    ) -> None:
        self.directory = directory
        self.fs = fs
        self.clock = FakeClock()
        self.runner = HandRunner()
        self.registry = AccountRegistry(Options(), self.clock)
        self.limits = limits or AccountJetStream()
        self.host = JetStreamHost(
            self.clock,
            self.runner,
            server_name="test",
            domain=domain,
            log=log or NullLogger(),
            legacy_api=legacy_api,
        )
        self.open()

    def open(self) -> None:
        """Start JetStream, again after `close`."""
        account = self.registry.global_account
        self.storage = Storage(self.directory, fs=self.fs)
        self.memory, self.files = Quota(), Quota()
        self.js = JetStreamAccount(
            account, self.host, self.storage.account(account.name), {"": self.limits}, self.memory, self.files
        )
        endpoints = TABLE
        if self.host.legacy_api:
            self.legacy = LegacyService(self.js, self.storage.templates(account.name))
            self.legacy.start()
            endpoints = TABLE | self.legacy.endpoints
        self.recovery = Recovery(self.runner)
        self.recovery.add(self.js)
        self.api = AccountApi(self.js, None, endpoints)
        self.api.start()

    def close(self) -> None:
        """Stop JetStream, leaving the files."""
        self.api.stop()
        if self.host.legacy_api:
            self.legacy.stop()
        self.js.stop()
        self.storage.close()
        self.registry.stop()

    @property
    def account(self) -> Account:
        return self.registry.global_account

    def stream(self, name: str = "S", **config: Any) -> Stream[Consumer]:
        """Create a stream, in memory unless said otherwise."""
        return self.js.create(StreamConfig.from_json({"name": name, "storage": "memory"} | config))

    def publish(self, subject: str, body: bytes = b"x", **header: str) -> bytes:
        """Publish and return the answer's body (b"" if there was none). Header names have _ for -."""
        reply = f"_INBOX.{self.host.new_id()}"
        spy = Spy(self.account, reply)
        block = (
            headers.encode({name.replace("_", "-"): value for name, value in header.items()})
            if header
            else b""
        )
        self.account.publish(subject, body, reply=reply, header=block, own=True)
        return spy.bodies[0] if spy.bodies else b""

    def call(self, suffix: str, body: Any = None) -> dict[str, Any]:
        """Make one API call; return the whole answer."""
        answer = self.publish(f"$JS.API.{suffix}", json.dumps(body).encode() if body is not None else b"")
        return dict(json.loads(answer))

    def subjects(self, stream: Stream[Consumer]) -> list[str]:
        """Return the subjects of all stored messages, in order."""
        return [message.subject for message in self.messages(stream)]

    def messages(self, stream: Stream[Consumer]) -> list[Any]:
        """Return all stored messages, in order."""
        found, sequence = [], 1
        while (message := stream.store.next((), sequence)) is not None:
            found.append(message)
            sequence = message.seq + 1
        return found
