"""`pyjs explain SUBJECT` where accounts and users are made of tokens: what pyjs-server tells of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib import pyjs_server
from lib.cli import Cli, Result
from lib.operator_fixture import OperatorAccount, OperatorEnv, User
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
