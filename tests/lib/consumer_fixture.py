"""A consumer on a real stream in memory and a real account, with a clock that moves only on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lib.fake_clock import FakeClock
from pyjs.protocol import headers
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.flusher import Flusher
from pyjs.server.accounts.subscription import Message
from pyjs.server.config.options import AccountJetStream
from pyjs.server.jetstream.account.account import JetStreamAccount
from pyjs.server.jetstream.account.recovery import Recovery
from pyjs.server.jetstream.consumers import lifecycle
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.host import JetStreamHost
from pyjs.server.jetstream.quota import Quota
from pyjs.server.slices import TurnScheduler

SECOND = 1_000_000_000


@dataclass
class Finished:
    """A job that is done; `error` is what it raised."""

    error: Exception | None

    def result(self) -> BaseException | None:
        return self.error


class AtOnce:
    """An executor that does everything at once."""

    def soon(self, callback: Callable[[], None]) -> None:
        callback()

    def work(self, job: Callable[[], object], done: Callable[[BaseException | None], None]) -> Finished:
        error = None
        try:
            job()
        except Exception as failure:
            error = failure
        done(error)
        return Finished(error)


@dataclass
class Got:
    """What an inbox received, in order."""

    messages: list[Message] = field(default_factory=list)

    def take(self) -> list[Message]:
        taken, self.messages = self.messages, []
        return taken

    def bodies(self) -> list[str]:
        return [m.body.decode() for m in self.take()]

    def statuses(self) -> list[str]:
        said = []
        for message in self.take():
            code, text = headers.status(message.header)
            said.append(f"{code} {text}" if code else message.body.decode())
        return said


class ConsumerFixture:
    """One account with one stream `S` on `s.>`."""

    def __init__(self, directory: Any = None, **stream: Any) -> None:
        self.clock = FakeClock()
        self.account = Account("A", Flusher(self.clock))
        self.log: list[str] = []
        self.host = JetStreamHost(clock=self.clock, executor=AtOnce(), server_name="one", log=self)
        # The same is delivered in one turn, however busy the machine is.
        self.host.deliveries = TurnScheduler(self.clock.soon, seconds=60)
        limits = AccountJetStream()
        self.jetstream = JetStreamAccount(self.account, self.host, directory, {"": limits}, Quota(), Quota())
        config = {"name": "S", "subjects": ["s.>"], "storage": "memory", "num_replicas": 1, **stream}
        self.messages: list[Message] = []
        if directory is not None:
            Recovery(AtOnce()).add(self.jetstream)
        self.stream = self.jetstream.create(StreamConfig.from_json(config))

    def info(self, text: str) -> None:
        self.log.append(text)

    debug = trace = warning = error = info

    def consumer(self, *, action: str = "", **config: Any) -> Consumer:
        return lifecycle.create(self.stream, ConsumerConfig.from_json(config), action)

    def publish(self, *bodies: str, subject: str = "s.1") -> None:
        for body in bodies:
            self.account.publish(subject, body.encode(), own=True)
        self.clock.advance(0)

    def subscribe(self, subject: str) -> Got:
        got = Got()
        self.account.subscribe(subject, lambda message: got.messages.append(message))
        return got

    def pull(self, consumer: Consumer, body: str = "", reply: str = "inbox") -> None:
        self.account.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.S.{consumer.name}", body.encode(), reply=reply, own=True
        )

    def ack(self, message: Message, body: str = "+ACK", reply: str = "") -> None:
        self.account.publish(message.reply, body.encode(), reply=reply, own=True)
