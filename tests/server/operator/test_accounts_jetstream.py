"""JetStream of accounts from tokens: granted, changed, revoked and granted again while the server runs."""

from __future__ import annotations

import asyncio
import functools
import json
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

from lib.operator_accounts import AccountsEnv
from pyjs.server.accounts import Account
from pyjs.server.config.options import JetStreamOptions, Options
from pyjs.server.jetstream.engine import JetStream

ON = {"disk_storage": -1, "mem_storage": -1}
OFF = {"disk_storage": 0, "mem_storage": 0}
MIB = 1024 * 1024


class JetStreamEnv(AccountsEnv):
    """With an engine that follows."""

    def __init__(self, directory: str, **more: Any) -> None:
        super().__init__()
        self.directory = directory
        self.more = more
        self.engine = self.make()

    def make(self) -> JetStream:
        jetstream = JetStreamOptions(enabled=True, store_dir=self.directory, **self.more)
        options = Options(jetstream=jetstream, trusted_keys=["given"])
        engine = JetStream(options, self.registry, self.clock, self.log, find=self.accounts.fetch)
        self.accounts.observers.append(engine.follow)
        return engine


def engaged(**more: Any) -> Callable[[Callable[[JetStreamEnv], Awaitable[None]]], Callable[[], None]]:
    """Run a test with a started engine; `more`: options of JetStream."""

    def decorate(test: Callable[[JetStreamEnv], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            with tempfile.TemporaryDirectory() as directory:
                env = JetStreamEnv(directory, **more)
                await env.engine.start()
                try:
                    await test(env)
                finally:
                    await env.engine.stop()
                    await env.accounts.stop()

        @functools.wraps(test)
        def wrapper() -> None:
            asyncio.run(run())

        del wrapper.__wrapped__
        return wrapper

    return decorate


async def call(account: Account, subject: str, body: Any = None) -> dict[str, Any]:
    """Ask and wait for the answer; {} when nobody responds."""
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    listening = account.subscribe("_INBOX.x", lambda message: answer.set_result(message.body))
    data = json.dumps(body).encode() if body is not None else b""
    heard = account.publish(subject, data, reply="_INBOX.x", own=True)
    found = dict(json.loads(await asyncio.wait_for(answer, 5))) if heard else {}
    account.unsubscribe(listening)
    return found


async def create(account: Account, name: str, **config: Any) -> dict[str, Any]:
    config = {"name": name, "subjects": [name.lower()], "storage": "memory"} | config
    return await call(account, f"$JS.API.STREAM.CREATE.{name}", config)


def code(answer: dict[str, Any]) -> int:
    return int(answer.get("error", {}).get("err_code", 0))


@engaged()
async def test_jetstream_comes_and_goes_with_the_token(env: JetStreamEnv) -> None:
    a = env.env.account("A")
    (account,) = await env.open(a)
    assert code(await call(account, "$JS.API.INFO")) == 10039
    env.deploy(a.set(limits=ON))
    assert code(await create(account, "S", storage="file")) == 0
    assert (await call(account, "s", "x"))["seq"] == 1
    env.deploy(a.set(limits=OFF))
    assert code(await call(account, "$JS.API.STREAM.INFO.S")) == 10039
    assert not account.serves_jetstream
    env.deploy(a.set(limits=ON))
    await env.engine.recovered()
    assert (await call(account, "$JS.API.STREAM.INFO.S"))["state"]["messages"] == 1


@engaged()
async def test_limits_change_at_once(env: JetStreamEnv) -> None:
    a = env.env.account("A", limits=ON | {"streams": 1})
    (account,) = await env.open(a)
    await create(account, "A")
    assert code(await create(account, "B")) == 10027
    env.deploy(a.set(limits={"streams": 2}))
    assert code(await create(account, "B")) == 0
    env.deploy(a.set(limits={"streams": 1}))
    assert (await call(account, "$JS.API.INFO"))["streams"] == 2
    assert code(await create(account, "C")) == 10027


@engaged()
async def test_a_limit_below_what_is_stored_refuses_more(env: JetStreamEnv) -> None:
    a = env.env.account("A", limits=ON)
    (account,) = await env.open(a)
    await create(account, "S")
    assert (await call(account, "s", "x" * 500))["seq"] == 1
    env.deploy(a.set(limits={"mem_storage": 100}))
    assert code(await call(account, "s", "x")) == 10002
    assert (await call(account, "$JS.API.STREAM.INFO.S"))["state"]["messages"] == 1
    env.deploy(a.set(limits={"mem_storage": 10_000}))
    assert (await call(account, "s", "x"))["seq"] == 2


@engaged()
async def test_tiers(env: JetStreamEnv) -> None:
    tiers = {"R1": {"disk_storage": 5000, "mem_storage": 1000, "streams": 2}, "R3": {"disk_storage": 7000}}
    a = env.env.account("A", limits={"tiered_limits": tiers})
    (account,) = await env.open(a)
    await create(account, "S", max_bytes=600)
    assert (await call(account, "s", "x"))["seq"] == 1
    info = await call(account, "$JS.API.INFO")
    assert info["limits"]["max_storage"] == info["limits"]["max_streams"] == 0
    assert sorted(info["tiers"]) == ["R1", "R3"]
    own = info["tiers"]["R1"]
    assert (own["streams"], own["reserved_memory"], own["limits"]["max_storage"]) == (1, 600, 5000)
    assert own["memory"] == info["memory"] > 0
    assert info["tiers"]["R3"]["limits"]["max_storage"] == 7000
    assert code(await create(account, "B", max_bytes=600)) == 10028
    assert code(await create(account, "C", storage="file", num_replicas=3)) == 10074


@engaged()
async def test_without_the_tier_nothing_more_is_stored(env: JetStreamEnv) -> None:
    a = env.env.account("A", limits=ON)
    (account,) = await env.open(a)
    await create(account, "S")
    a.claims.nats.limits = type(a.claims.nats.limits).model_validate(
        {"subs": -1, "tiered_limits": {"R3": {"disk_storage": -1, "mem_storage": -1}}}
    )
    env.deploy(a)
    assert code(await call(account, "s", "x")) == 10120
    assert code(await create(account, "B")) == 10120
    assert code(await create(account, "B", num_replicas=3)) == 10074
    changed = {"name": "S", "subjects": ["s", "t"], "storage": "memory"}
    assert code(await call(account, "$JS.API.STREAM.UPDATE.S", changed)) == 10120
    config = {"stream_name": "S", "config": {"durable_name": "c", "ack_policy": "explicit"}}
    assert code(await call(account, "$JS.API.CONSUMER.DURABLE.CREATE.S.c", config)) == 10120
    assert sorted((await call(account, "$JS.API.INFO"))["tiers"]) == ["R1", "R3"]


@engaged(max_memory=MIB, max_file=MIB)
async def test_more_than_the_server_has_is_not_granted(env: JetStreamEnv) -> None:
    a = env.env.account("A", limits={"disk_storage": MIB // 2, "mem_storage": 10})
    b = env.env.account("B", limits={"disk_storage": MIB // 2 + 1, "mem_storage": 10})
    first, second = await env.open(a, b)
    assert (first.serves_jetstream, second.serves_jetstream) == (True, False)
    assert second.account_token is not None
    assert not second.account_token.complete
    assert any("insufficient storage resources available (10047)" in text for _, text in env.log.lines)
    env.engine.reload(env.engine.options)
    assert not second.serves_jetstream
    env.deploy(b.set(limits={"disk_storage": MIB // 2}))
    assert second.serves_jetstream
    assert second.account_token.complete
    env.deploy(a.set(limits={"disk_storage": MIB}))  # what it had stays
    assert (await call(first, "$JS.API.INFO"))["limits"]["max_storage"] == MIB // 2


@engaged(domain="hub")
async def test_the_domain_means_the_api_after_every_change(env: JetStreamEnv) -> None:
    a = env.env.account("A", limits=ON)
    (account,) = await env.open(a)
    for mappings in ({}, {"x": [{"subject": "y"}]}):
        env.deploy(a.set(mappings=mappings))
        assert account.mapped("$JS.hub.API.INFO") == "$JS.API.INFO"
    env.deploy(a.set(limits=OFF))
    assert account.mapped("$JS.hub.API.INFO") == "$JS.hub.API.INFO"
    assert account.mapped("x") == "y"


@engaged()
async def test_the_system_account_gets_none(env: JetStreamEnv) -> None:
    system = env.env.sys.set(limits=ON)
    (account,) = await env.open(system)
    env.registry.appoint(account)
    env.deploy(system)
    assert not account.serves_jetstream
    assert env.engine.accounts == {}
    assert await call(account, "$JS.API.INFO") == {}


@engaged()
async def test_an_expired_account_keeps_its_memory_streams_and_a_deleted_one_its_files(
    env: JetStreamEnv,
) -> None:
    a = env.env.account("A", limits=ON)
    (account,) = await env.open(a)
    await create(account, "M")
    await create(account, "F", storage="file")
    for deleted, left in ((False, ["F", "M"]), (True, ["F"])):
        env.accounts.expire(a.id, deleted=deleted)
        assert (not account.serves_jetstream) == deleted
        env.deploy(a)
        await env.engine.recovered()
        names = await call(account, "$JS.API.STREAM.NAMES")
        assert names["streams"] == left


@engaged()
async def test_the_owners_of_files_are_looked_up_at_start(env: JetStreamEnv) -> None:
    a, b = env.env.account("A", limits=ON), env.env.account("B", limits=ON)
    for each in await env.open(a, b):
        await create(each, "S", storage="file")
    await env.engine.stop()
    await env.accounts.stop()
    again = JetStreamEnv(env.directory)
    again.accounts.trust = env.accounts.trust
    again.table.tokens = {a.id: env.table.tokens[a.id]}
    await again.engine.start()
    await again.engine.recovered()
    assert sorted(again.table.asked) == sorted([a.id, b.id])
    assert list(again.engine.accounts) == [a.id]
    assert list(again.engine.accounts[a.id].streams) == ["S"]
    assert any(b.id in text and "cannot be found" in text for _, text in again.log.lines)
    await again.engine.stop()
