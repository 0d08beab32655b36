"""`pyjs explain SUBJECT` where accounts and users are made of tokens: what pyjs-server tells of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib import pyjs_server
from lib.cli import Cli, Result
from lib.jetstream import JetStream
from lib.operator_fixture import OperatorAccount, OperatorEnv, User
from lib.pool import START
from lib.process import ServerProcess


class Deployed:
    """A server of an operator, with accounts A and B: A imports a service of B."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = OperatorEnv()
        exports = [{"name": "w", "subject": "w.*", "type": "service"}]
        self.exporter = self.env.account("B", exports=exports)
        link = {"name": "w", "subject": "w.*", "account": self.exporter.id, "local_subject": "mine.*"}
        mappings = {"old": [{"subject": "mine.new"}]}
        self.account = self.env.account("A", mappings=mappings, imports=[{**link, "type": "service"}])
        self.server: ServerProcess = pyjs_server.start(self.env.memory(self.account, self.exporter))

    def explain(self, user: User, *words: str) -> Result:
        credentials = user.write(self.folder)
        run = Cli(self.folder, "--server", self.server.url, "--creds", str(credentials))
        return run.run("explain", *words, "-o", "json")


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployed]:
    made = Deployed(tmp_path)
    yield made
    made.server.stop()


def places(result: Result) -> list[tuple[str, str]]:
    return list(dict.fromkeys((each["account"], each["subject"]) for each in json.loads(result.out)))


@pytest.mark.parametrize("implementation", ["reference", "pyjs"])
def test_the_limit_of_a_tier_is_seen_by_its_users_and_by_the_system_account(
    implementation: str, tmp_path: Path
) -> None:
    env = OperatorEnv()
    account = env.account("A", limits={"tiered_limits": {"R1": {"disk_storage": 1000, "mem_storage": -1}}})
    config = env.memory(account, more='jetstream { store_dir: "<store>" }')
    server = START[implementation](config)
    user, admin = account.user(), env.sys.user("sys")
    try:
        with JetStream(user.connect(server)) as js:
            for name, storage in (("FULL", "file"), ("FREE", "memory")):
                js.create(name, subjects=[name], storage=storage)
                js.publish(name, b"x" * 930)
        for who, words in ((user, ()), (admin, ("--account", account.id))):
            run = Cli(tmp_path, "--server", server.url, "--creds", str(who.write(tmp_path)))
            for name, outcome in (("FULL", "possible"), ("FREE", "reached")):
                steps = json.loads(run.run("explain", name, *words, "-o", "json").out)
                ((found, text),) = [(e["outcome"], e["text"]) for e in steps if e["kind"] == "stream"]
                assert found == outcome
                assert ("tier R1 of the account" in text) == (name == "FULL")
    finally:
        server.stop()


def test_a_user_is_told_of_its_account(deployed: Deployed) -> None:
    account: OperatorAccount = deployed.account
    wanted = [(account.id, "mine.new"), (deployed.exporter.id, "w.new")]
    assert places(deployed.explain(account.user(), "old")) == wanted


def test_the_system_account_is_told_of_users_that_are_connected(deployed: Deployed) -> None:
    account, admin = deployed.account, deployed.env.sys.user()
    user = account.user(name="bob", pub={"deny": ["x"]})

    def by(name: str) -> Result:
        return deployed.explain(admin, "x", "--account", account.id, "--as", name)

    with account.user(name="alice").connect(deployed.server):
        assert by("bob").code == 3
        with user.connect(deployed.server):
            for name in ("bob", user.key.public_key):
                assert by(name).code == 4
            with account.user(name="bob").connect(deployed.server):
                both = by("bob")
                assert (both.code, "2 users of account" in both.err) == (2, True), both
                assert by(user.key.public_key).code == 4
