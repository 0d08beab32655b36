"""The API of one server of a cluster, with a single state as the meta group and simulated stream leaders."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lib.meta_fixture import MetaFixture
from lib.streams import JetStreamFixture, Spy
from pyjs.protocol import headers
from pyjs.protocol.api.consumer import ConsumerConfig, ConsumerInfo
from pyjs.protocol.api.stream import StreamConfig, StreamInfo
from pyjs.protocol.errors import ApiError, api_error
from pyjs.server.clock import SECOND
from pyjs.server.cluster.ticker import Ticker
from pyjs.server.jetstream.api.cluster.router import ClusterApiRouter
from pyjs.server.jetstream.api.table import AccountApi
from pyjs.server.jetstream.cluster.context import ClusterContext
from pyjs.server.jetstream.cluster.served_requests import ServedRequests
from pyjs.server.jetstream.meta.command import Command, PutConsumer
from pyjs.server.jetstream.meta.effect import Effect
from pyjs.server.jetstream.meta.responder import LeaderStatus, MetaRole, ResponderState, StreamRole

ACCOUNT = "$G"
Json = dict[str, Any]


class FakeCluster:
    """The view, the proposer and the queries of a `ClusterContext` in one.

    Its server leads the meta group, unless `meta` says otherwise.

    serves: whether leaders announce at once that what was decided is served
    before: called before each proposal is applied
    lost: whether proposals fail, without effect
    questions: (kind, stream, consumer) that leaders were asked
    silent: the number of ticks without contact with the meta leader
    gathering: whether reports of members are missing
    """

    def __init__(self, fixture: JetStreamFixture) -> None:
        self.meta_fixture = MetaFixture()
        self.me = "NODE0001-1"
        self.meta = MetaRole.LEADER
        self.leader = "n3"
        self.where = StreamRole.ABSENT
        self.local_streams: dict[tuple[str, str], Any] = {}
        self.serves = True
        self.lost = False
        self.before: Callable[[], None] = lambda: None
        self.proposed: list[Command] = []
        self.questions: list[tuple[str, str, str]] = []
        self.infos: Callable[[str, str, str], dict[str, Json]] = lambda kind, stream, consumer: {}
        self.waiting: dict[tuple[str, str, str], list[Callable[[Json | None], None]]] = {}
        self.ways: list[str] = []
        self.clock = fixture.clock
        self.ticker = Ticker(fixture.clock)
        self.silent = 0
        self.gathering = False
        self.cluster_name = "C"
        self.other_clusters: Callable[[], tuple[str, ...]] = tuple
        self.system = fixture.account
        self.ticker.add(lambda: None)
        replies: Any = SimpleNamespace(send=self._send)
        fake: Any = self
        self.served = ServedRequests(fixture.account, fixture.clock)
        self.served.start()
        self.context = ClusterContext(
            fake,
            fake,
            fake,
            replies,
            self.served,
            fixture.clock,
            fixture.runner,
            self.ticker,
            self.meta_fixture.random,
        )
        self._fixture = fixture
        self.decided: Callable[[Effect], None] = lambda effect: None

    def _send(self, server: str, account: str, reply: str, header: bytes, body: bytes) -> None:
        assert account == ACCOUNT
        self.ways.append(server)
        self._fixture.account.publish(reply, body, header=header, own=True)

    @property
    def state(self) -> Any:
        return self.meta_fixture.state

    @property
    def node_statuses(self) -> Any:
        return self.meta_fixture.node_statuses

    @property
    def is_leader(self) -> bool:
        return self.meta is MetaRole.LEADER

    @property
    def group(self) -> Any:
        peers = SimpleNamespace(silence=lambda: {self.leader: self.silent})
        return SimpleNamespace(leader=self.leader, peers=peers)

    @property
    def leader_status(self) -> LeaderStatus:
        return LeaderStatus(self.leader)

    def planner(self) -> Any:
        return self.meta_fixture.planner

    def lags(self, account: str, stream: str) -> tuple[str, dict[str, int]]:
        del account, stream
        return "", {}

    def responder_state(self, account: str, stream: str = "", consumer: str = "") -> ResponderState:
        there = not consumer or self.state.consumer(account, stream, consumer) is not None
        return ResponderState(self.meta, self.where, there, system=account == self.system.name)

    def propose(self, command: Command, done: Callable[[list[Effect] | ApiError], None]) -> None:
        self.proposed.append(command)
        if self.lost:
            done(api_error("JSClusterNotAvailErr"))
            return
        self.before()
        effects = self.meta_fixture.put(command)
        for effect in effects:
            self.decided(effect)
        if self.serves:
            consumer = command.name if isinstance(command, PutConsumer) else ""
            name = (
                command.stream if hasattr(command, "stream") else getattr(command, "config", {}).get("name")
            )
            self.up(str(name), consumer)
        done(effects)

    def when_served(
        self, key: tuple[str, str, str], done: Callable[[Json | None], None]
    ) -> Callable[[], None]:
        waiting = self.waiting.setdefault(key, [])
        waiting.append(done)

        def over() -> None:
            if done in waiting:
                waiting.remove(done)
                done(None)

        self.clock.call_later(4 * SECOND, over)
        return lambda: waiting.remove(done) if done in waiting else None

    def ask(self, kind: str, account: str, stream: str, consumer: str, take: Any, names: Any = ()) -> Any:
        del account, names
        self.questions.append((kind, stream, consumer))
        for name, info in self.infos(kind, stream, consumer).items():
            take(name, info)
        return lambda: None

    # --- leaders

    def up(self, stream: str, consumer: str = "", info: Json | None = None) -> None:
        """Announce what the leader serves: `info`; None for what is decided, {} that it is gone."""
        announced = self.info(stream, consumer) if info is None else info
        waiting = self.waiting.get((ACCOUNT, stream, consumer), [])
        for done in list(waiting):
            waiting.remove(done)
            done(announced)

    def info(self, stream: str, consumer: str = "") -> Json:
        """Return the info of the leader, n2, or {} if there is nothing of that name."""
        if consumer:
            found = self.state.consumer(ACCOUNT, stream, consumer)
            info: Any = found and ConsumerInfo(
                stream, consumer, found.created, ConsumerConfig.from_json(found.config)
            )
        else:
            found = self.state.stream(ACCOUNT, stream)
            info = found and StreamInfo(StreamConfig.from_json(found.config), found.created)
        return {**info.to_json(), "cluster": {"leader": "n2"}} if info else {}


class ApiFixture(JetStreamFixture):
    """The account $G, with the router in front of its API."""

    def open(self) -> None:
        super().open()
        self.api.stop()
        self.host.cluster_name = "C"
        self.cluster = FakeCluster(self)
        self.api_router = ClusterApiRouter(self.cluster.context)
        self.cluster.decided = self.api_router.decided
        self.api = AccountApi(self.js, self.api_router)
        self.api.start()

    def ask(self, suffix: str, body: Any = None, **header: str) -> Spy:
        """Send one request; return the subscription that receives the answers."""
        reply = f"_INBOX.{self.host.new_id()}"
        spy = Spy(self.account, reply)
        block = headers.encode({name.replace("_", "-"): value for name, value in header.items()})
        text = b"" if body is None else json.dumps(body).encode()
        self.account.publish(
            f"$JS.API.{suffix}", text, reply=reply, header=block if header else b"", own=True
        )
        return spy

    def answer(self, suffix: str, body: Any = None) -> Json:
        """Return the only answer to a request, which must be there at once."""
        [answer] = self.ask(suffix, body).bodies
        return dict(json.loads(answer))

    def make(self, name: str = "S", **config: Any) -> Json:
        """Create a stream with three replicas."""
        return self.answer(
            f"STREAM.CREATE.{name}", {"name": name, "subjects": [name], "num_replicas": 3} | config
        )


def codes(spy: Spy) -> list[int]:
    """Return the error codes of the answers; 0 for success."""
    return [json.loads(body).get("error", {}).get("err_code", 0) for body in spy.bodies]
