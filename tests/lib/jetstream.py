"""The JetStream API over a raw client: calls by their subject suffix, answers as plain JSON."""

from __future__ import annotations

import json
from typing import Any

from .eventually import eventually
from .process import ServerProcess
from .wire import Msg, Wire

SECOND = 1_000_000_000
MILLISECOND = 1_000_000

# The configuration that most tests of JetStream start from: one server alone.
ALONE = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
"""


class ApiFailureError(Exception):
    """An answer that contains an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error)
        self.code = int(error["code"])
        self.err_code = int(error["err_code"])
        self.description = str(error["description"])


class JetStream:
    """One connection that calls the API under `prefix`.

    at_once: whether a confirmed ack has had its effect
    """

    def __init__(self, wire: Wire, prefix: str = "$JS.API", *, at_once: bool = True) -> None:
        self.wire = wire
        self.prefix = prefix
        self.at_once = at_once

    @classmethod
    def of(cls, server: ServerProcess, **options: Any) -> JetStream:
        """Return a new connection to `server`."""
        return cls(server.connect(**options), at_once=server.name != "reference")

    def __enter__(self) -> JetStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.wire.close()

    def raw(self, suffix: str, body: Any = b"", headers: dict[str, str] | None = None) -> Msg:
        """Make one call; return the answer as it came."""
        data = json.dumps(body) if isinstance(body, dict) else body
        return self.wire.request(f"{self.prefix}.{suffix}", data, headers)

    def call(self, suffix: str, body: Any = b"", headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Make one call and return the answer. Raises ApiFailureError if it contains an error."""
        answer: dict[str, Any] = self.raw(suffix, body, headers).json()
        if "error" in answer:
            raise ApiFailureError(answer["error"])
        return answer

    def error(
        self, suffix: str, body: Any = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, int, str]:
        """Return (code, err_code, description) of a call that must fail."""
        answer = self.raw(suffix, body, headers).json()
        assert "error" in answer, answer
        error = answer["error"]
        return error["code"], error["err_code"], error["description"]

    def create(self, name: str, **config: Any) -> dict[str, Any]:
        """Create a stream, in memory unless said otherwise."""
        return self.call(f"STREAM.CREATE.{name}", {"name": name, "storage": "memory"} | config)

    def update(self, name: str, **config: Any) -> dict[str, Any]:
        """Update a stream from its present configuration with `config` on top."""
        return self.call(f"STREAM.UPDATE.{name}", self.info(name)["config"] | config)

    def info(self, name: str, **request: Any) -> dict[str, Any]:
        """Return the stream's info."""
        return self.call(f"STREAM.INFO.{name}", request or b"")

    def state(self, name: str) -> dict[str, Any]:
        """Return the state of a stream."""
        state: dict[str, Any] = self.info(name)["state"]
        return state

    def left(self, name: str, count: int) -> None:
        """Check how many messages a stream has after confirmed acks that remove some.

        nats-server removes them after it answered (server/stream.go, `ackq`), so it is given time.
        """
        if not self.at_once:
            eventually(lambda: self.state(name)["messages"] == count, 30)
        assert self.state(name)["messages"] == count

    def consumer(self, stream: str, name: str, action: str = "", **config: Any) -> dict[str, Any]:
        """Create or update a durable consumer, with explicit acks unless said otherwise."""
        wanted = {"durable_name": name, "name": name, "ack_policy": "explicit"} | config
        request = {"stream_name": stream, "config": wanted, "action": action}
        return self.call(f"CONSUMER.CREATE.{stream}.{name}", request)

    def consumer_info(self, stream: str, name: str) -> dict[str, Any]:
        """Return the consumer's info."""
        return self.call(f"CONSUMER.INFO.{stream}.{name}")

    def publish(
        self, subject: str, body: bytes | str = b"", headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Publish and wait for the ack. Raises ApiFailureError if it contains an error."""
        ack: dict[str, Any] = self.wire.request(subject, body, headers).json()
        if "error" in ack:
            raise ApiFailureError(ack["error"])
        return ack

    def fill(self, subject: str, count: int) -> None:
        """Fill the stream with `count` messages "1", "2", …; all are acknowledged when this returns."""
        for i in range(1, count + 1):
            self.publish(subject, str(i))

    def get(self, stream: str, **request: Any) -> dict[str, Any]:
        """Return one stored message by the API."""
        message: dict[str, Any] = self.call(f"STREAM.MSG.GET.{stream}", request)["message"]
        return message

    def stored(self, stream: str, first: int = 1) -> dict[int, bytes]:
        """Return the bodies by their sequences, from `first` on, in order; direct gets must be allowed."""
        found: dict[int, bytes] = {}
        left = True
        while left:
            request = {"seq": max(found, default=first - 1) + 1, "batch": 1_000_000}
            self.wire.pub(f"{self.prefix}.DIRECT.GET.{stream}", json.dumps(request), self.wire.inbox())
            while not (message := self.wire.msg()).status:
                found[int(message.headers["Nats-Sequence"])] = message.body
            left = message.status.startswith("204") and message.headers["Nats-Num-Pending"] != "0"
        return found

    def ask(self, stream: str, consumer: str, request: Any = b"") -> str:
        """Send one pull request; return its inbox."""
        reply = self.wire.inbox()
        data = json.dumps(request) if isinstance(request, dict) else request
        self.wire.pub(f"{self.prefix}.CONSUMER.MSG.NEXT.{stream}.{consumer}", data, reply)
        return reply

    def pull(self, stream: str, consumer: str, batch: int = 1, **request: Any) -> tuple[list[Msg], str]:
        """Pull until the batch is whole or a status ends it; return (messages, that status or "")."""
        self.ask(stream, consumer, {"batch": batch, "expires": 2 * SECOND} | request)
        got: list[Msg] = []
        while len(got) < batch:
            message = self.wire.msg()
            if not message.reply.startswith("$JS.ACK") and message.status:
                return got, message.status
            got.append(message)
        return got, ""

    def ack(self, message: Msg, body: str = "+ACK") -> None:
        """Acknowledge and wait until the consumer has taken it."""
        self.wire.request(message.reply, body)
