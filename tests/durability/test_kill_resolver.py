"""kill -9 in the middle of pushes: account tokens that were answered "jwt updated" are there afterwards."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator

import pytest
from lib import pyjs_server
from lib.operator_fixture import UPDATE, OperatorEnv
from lib.process import ServerProcess
from lib.wire import Wire

ROUNDS = 8
ACCOUNTS = 8
VERSIONS = 12


@pytest.fixture
def env() -> OperatorEnv:
    return OperatorEnv()


@pytest.fixture
def server(env: OperatorEnv) -> Iterator[ServerProcess]:
    running = pyjs_server.start(env.full())
    yield running
    running.stop()


class Pusher:
    """Pushes tokens one behind the other without waiting; knows which were answered, until it is cut off."""

    def __init__(self, wire: Wire, tokens: list[tuple[str, str]], wanted: int) -> None:
        self.wire = wire
        self.tokens = tokens
        self.wanted = wanted
        self.answered: list[int] = []
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        numbers: dict[str, int] = {}
        try:
            for number, (_, token) in enumerate(self.tokens):
                reply = self.wire.inbox()
                numbers[reply] = number
                self.wire.pub(UPDATE, token, reply)
            while len(self.answered) < len(self.tokens):
                answer = self.wire.msg()
                assert json.loads(answer.body)["data"]["message"] == "jwt updated"
                self.answered.append(numbers[answer.subject])
                if len(self.answered) >= self.wanted:
                    self.enough.set()
        except (EOFError, OSError):
            pass
        finally:
            self.enough.set()
            self.wire.close()


def lookup(wire: Wire, key: str) -> str:
    return wire.request(f"$SYS.REQ.ACCOUNT.{key}.CLAIMS.LOOKUP").body.decode()


def test_kills_between_pushes_lose_no_answered_token(env: OperatorEnv, server: ServerProcess) -> None:
    rng = random.Random(20261121)
    accounts = [env.account(f"A{number}") for number in range(ACCOUNTS)]
    for turn in range(ROUNDS):
        tokens = [(a.id, a.token()) for _ in range(VERSIONS) for a in accounts]
        pusher = Pusher(env.system(server), tokens, wanted=rng.randrange(1, len(tokens)))
        assert pusher.enough.wait(30)
        server.kill()
        pusher.thread.join(30)
        server.launch()
        with env.system(server) as wire:
            for account in accounts:
                pushed = [token for key, token in tokens if key == account.id]
                answered = [tokens[n][1] for n in pusher.answered if tokens[n][0] == account.id]
                if answered:
                    oldest = max(pushed.index(token) for token in answered)
                    assert lookup(wire, account.id) in pushed[oldest:], f"round {turn}"
    with accounts[0].user().connect(server) as client:
        assert client.sync() == []
