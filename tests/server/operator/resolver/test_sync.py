"""The exchange of tokens between servers, step by step: two directories on one system account."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from lib.token_issuer import SECOND, Operated
from pyjs.keys import KeyPair, KeyRole
from pyjs.server.accounts import Account, AccountRegistry, Message
from pyjs.server.config.options import Options
from pyjs.server.operator.resolver import sync
from pyjs.server.operator.resolver.folder import FolderOptions, FolderResolver
from pyjs.server.operator.resolver.peers import ResolverPeers
from pyjs.server.operator.resolver.sync import PACK, DirectorySync
from pyjs.server.operator.token_parser import TokenParser
from pyjs.server.slices import SECONDS


class Member:
    """A server as far as the exchange goes."""

    def __init__(self, operated: Operated, system: Account, registry: AccountRegistry, path: Path) -> None:
        number = len(str(path)) + path.name.encode()[0]
        peers = ResolverPeers(registry, operated.clock, lambda n: bytes((number + i) % 251 for i in range(n)))
        self.directory = operated.directory(path)
        self.applied: list[str] = []
        resolver = FolderResolver(
            FolderOptions("full", timeout=SECOND, interval=60 * SECOND),
            self.directory,
            peers,
            operated.trust,
            operated.clock,
            operated.log,
        )
        self.sync = DirectorySync(
            resolver, system, operated.clock, operated.log, self.applied.append, TokenParser()
        )


@pytest.fixture
def registry(operated: Operated) -> AccountRegistry:
    return AccountRegistry(Options(), operated.clock)


@pytest.fixture
def system(registry: AccountRegistry) -> Account:
    assert registry.system is not None
    return registry.system


@pytest.fixture
def one(operated: Operated, system: Account, registry: AccountRegistry, tmp_path: Path) -> Member:
    return Member(operated, system, registry, tmp_path / "a")


@pytest.fixture
def two(operated: Operated, system: Account, registry: AccountRegistry, tmp_path: Path) -> Member:
    return Member(operated, system, registry, tmp_path / "b")


def test_two_servers_become_alike(operated: Operated, one: Member, two: Member) -> None:
    for account in range(5):
        member, other = (one, two) if account % 2 else (two, one)
        member.directory.store(operated.accounts[account], operated.token(account, 2), newer_only=True)
        if account < 2:
            other.directory.store(operated.accounts[account], operated.token(account, 1), newer_only=True)
    for member in (one, two):
        member.sync.start()
    operated.clock.advance(61 * SECOND)
    assert one.directory.digest == two.directory.digest
    assert list(one.directory.pairs()) == list(two.directory.pairs())
    assert sorted([*one.applied, *two.applied]) == sorted(operated.token(a, 2) for a in range(5))
    for member in (one, two):
        member.sync.stop()
    assert operated.clock.pending() == 0


def test_a_server_alone_does_not_answer_itself(operated: Operated, system: Account, one: Member) -> None:
    one.sync.start()
    heard: list[Message] = []
    system.subscribe("$SYS._INBOX.>", heard.append)
    operated.clock.advance(61 * SECOND)
    assert heard == []


def test_a_long_list_goes_out_in_pieces(
    operated: Operated, system: Account, one: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece at a time, others in between; the end is empty."""
    # Ten tokens take the time of a step, however fast the machine is.
    monkeypatch.setattr(sync, "perf_counter", itertools.count(step=SECONDS / 10).__next__)
    keys = [KeyPair.create(KeyRole.ACCOUNT).public_key for _ in range(100)]
    for key in keys:
        one.directory.store(key, operated.token(key), newer_only=True)
    one.sync.start()
    heard: list[bytes] = []
    system.subscribe("answer", lambda message: heard.append(message.body))
    system.publish(PACK, reply="answer", own=True)
    assert 0 < len(heard) < 20
    operated.clock.advance(1)
    assert heard.pop() == b""
    assert heard == [f"{key}|{operated.token(key)}".encode() for key in sorted(keys)]


def test_who_asks_cannot_stop_the_exchange_by_a_name(
    operated: Operated, system: Account, one: Member
) -> None:
    for key in (KeyPair.create(KeyRole.ACCOUNT).public_key for _ in range(100)):
        one.directory.store(key, operated.token(key), newer_only=True)
    one.sync.start()
    asked: list[Message] = []
    for reply in ("ask", "take"):
        system.publish(PACK, reply=reply, own=True)
    system.subscribe(PACK, asked.append, queue="responder")
    operated.clock.advance(61 * SECOND)
    assert asked
    system.publish(asked[-1].reply, f"{operated.accounts[0]}|{operated.token()}".encode())
    operated.clock.advance(1)
    assert one.applied == [operated.token()]


def test_what_is_not_taken_is_reported_once(operated: Operated, system: Account, one: Member) -> None:
    one.sync.start()
    asked: list[Message] = []
    system.subscribe(PACK, asked.append, queue="responder")
    stranger = operated.token(by=KeyPair.create(KeyRole.OPERATOR))
    for _ in range(2):
        operated.clock.advance(60 * SECOND)
        system.publish(asked[-1].reply, f"{operated.accounts[0]}|{stranger}\nnonsense".encode())
        operated.clock.advance(1)
    reported = [line for line in operated.log.lines if "not taken" in line]
    assert len(reported) == 2
    assert "not trusted" in reported[0] and operated.accounts[0] in reported[0]
    assert (one.directory.keys(), one.applied) == ([], [])
