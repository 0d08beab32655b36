"""Operator mode as a whole: what it needs to start, and the system account at the start."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from lib.eventually import turns
from lib.fake_clock import FakeClock
from lib.operator_accounts import SECOND, Log
from lib.operator_fixture import OperatorEnv
from pyjs.server.accounts import AccountRegistry
from pyjs.server.config.load import load_text
from pyjs.server.operator import OperatorError, OperatorMode, Trusted
from pyjs.server.slices import at_once


class Part:
    """An Operator on a clock that stands still."""

    def __init__(self, env: OperatorEnv, config: str) -> None:
        options = load_text(f"operator: {env.token}\n{config}")
        self.clock = FakeClock(time.time_ns())
        self.log = Log()
        trusted = Trusted.of(options)
        self.registry = AccountRegistry(options, self.clock)
        self.operator = OperatorMode(trusted, options, self.registry, self.clock, self.log)

    async def __aenter__(self) -> Part:
        try:
            await self.operator.start()
        except BaseException:
            await self.operator.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.operator.stop()
        self.registry.stop()
        assert self.clock.pending() == 0

    async def turn(self) -> None:
        """Let a second pass."""
        self.clock.advance(SECOND)
        await turns()


def full(folder: Path) -> str:
    return f'resolver: {{ type: full, dir: "{folder}" }}\n'


def test_the_system_account_is_that_of_the_operator(tmp_path: Path) -> None:
    env = OperatorEnv()

    async def run() -> None:
        async with Part(env, full(tmp_path) + env.preload()) as part:
            system = part.registry.system
            assert system is not None
            assert (system.name, system.display) == (env.sys.id, "SYS")
            assert "$SYS" not in part.registry.accounts

    asyncio.run(run())


def test_a_system_account_that_is_nowhere_lets_its_own_users_push_it(tmp_path: Path) -> None:
    env = OperatorEnv()

    async def run() -> None:
        async with Part(env, full(tmp_path)) as part:
            system = part.registry.system
            assert system is not None
            assert (system.name, system.display) == (env.sys.id, env.sys.id)
            await part.turn()
            assert system.display == env.sys.id
            part.operator.resolver.store(env.sys.id, env.sys.token(), newer_only=False)
            await part.turn()
            assert part.registry.system is system
            assert system.display == "SYS"

    asyncio.run(run())


def test_in_memory_the_system_account_must_be_there() -> None:
    env = OperatorEnv()

    async def run() -> None:
        async with Part(env, "resolver: MEMORY"):
            pass

    with pytest.raises(OperatorError, match="error resolving system account"):
        asyncio.run(run())


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    env = OperatorEnv()

    async def run() -> None:
        part = Part(env, full(tmp_path / "jwt"))
        (tmp_path / "jwt").write_text("")
        async with part:
            pass

    with pytest.raises(OperatorError, match="could not start resolver"):
        asyncio.run(run())


def test_without_a_system_account_the_server_has_its_own() -> None:
    env = OperatorEnv()
    env.claims.nats.system_account = ""
    env.token = env.sign(env.claims, env.key)

    async def run() -> None:
        async with Part(env, "resolver: MEMORY") as part:
            assert part.registry.system is part.registry.accounts["$SYS"]
            assert ("warning", "Trusted Operators should utilize a System Account") in part.log.lines

    asyncio.run(run())


@pytest.mark.parametrize("end", [2**40, 2**63 - 1])
def test_an_operator_may_live_longer_than_the_calendar(end: int) -> None:
    env = OperatorEnv()
    env.claims.exp = end
    env.token = env.sign(env.claims, env.key)

    async def run() -> None:
        async with Part(env, "resolver: MEMORY\n" + env.preload()) as part:
            assert ("info", f"  Expires : {end} s since 1970") in part.log.lines

    asyncio.run(run())


def test_a_reload_changes_preloaded_accounts_and_the_sentinel() -> None:
    env = OperatorEnv()
    account = env.account("A")

    async def run() -> None:
        text = "resolver: MEMORY\n"
        async with Part(env, text + env.preload(account)) as part:
            accounts = part.operator.accounts
            await accounts.fetch(account.id)
            account.claims.name = "renamed"
            at_once(
                part.operator.reloading(load_text(f"operator: {env.token}\n{text}{env.preload(account)}"))
            )
            current = accounts.account(account.id)
            assert current is not None
            assert current.display == "renamed"
            at_once(part.operator.reloading(load_text(f"operator: {env.token}\n{text}{env.preload()}")))
            assert accounts.account(account.id) is None

    asyncio.run(run())


def test_all_accounts_are_kept_when_servers_act_together_for_them(tmp_path: Path) -> None:
    env = OperatorEnv()
    kept, pushed, later = (env.account(name, jetstream=True) for name in ("KEPT", "PUSHED", "LATER"))

    async def run() -> None:
        async with Part(env, full(tmp_path) + env.preload(kept)) as part:
            accounts = part.operator.accounts
            assert accounts.account(kept.id) is None
            accounts.update(pushed.token())
            assert accounts.account(pushed.id) is None
            part.operator.hold_all()
            await part.turn()
            assert accounts.account(kept.id) is not None
            accounts.update(later.token())
            assert accounts.account(later.id) is not None

    asyncio.run(run())


def test_names_of_accounts_that_peers_send_are_not_looked_up_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = OperatorEnv()

    async def run() -> None:
        async with Part(env, full(tmp_path) + env.preload()) as part:
            asked: list[str] = []

            async def fetch(key: str) -> None:
                asked.append(key)

            monkeypatch.setattr(part.operator.accounts, "fetch", fetch)
            monkeypatch.setattr("pyjs.server.operator.operator._MOST_NEEDED", 10)
            names = [env.account(f"A{number}").id for number in range(20)]
            for _ in range(2):
                for name in ["nobody", "A" + "B" * 55, *names]:
                    part.operator.need(name)
            await turns()
            assert asked == names[:10]
            part.clock.advance(10 * SECOND)
            for name in reversed(names):
                part.operator.need(name)
            await turns()
            assert asked == names[:10] + names[:9:-1]

    asyncio.run(run())
