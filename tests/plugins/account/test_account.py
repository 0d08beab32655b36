"""`account info` shows the user, its permissions, and the account's JetStream limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>", domain: home }
accounts {
    LIMITED: {
        jetstream: { max_mem: 1MB, max_file: 10MB, max_streams: 3, max_consumers: 7 }
        users: [{ user: lim, password: lim,
                  permissions: { publish: { allow: ["$JS.API.>", "$SYS.REQ.USER.INFO"], deny: "x.>" },
                                 subscribe: "_INBOX.>" } }]
    }
    PLAIN: { users: [{ user: plain, password: plain }] }
}
"""


@pytest.fixture
def cli(serve: Callable[[str], ServerProcess], tmp_path: Path) -> Cli:
    """`pyjs --server …` without a user."""
    return Cli(tmp_path, "--server", serve(CONFIG).url)


def test_connection_permissions_usage_and_limits(cli: Cli) -> None:
    user = cli.with_flags(*cli.flags, "--user", "lim", "--password", "lim")
    user.ok("stream", "add", "S", "--subjects", "s", "--storage", "memory", "--defaults")
    try:
        out = user.ok("account", "info")
    finally:
        user.ok("stream", "rm", "S", "-f")
    for line in (
        "User: lim",
        "Account: LIMITED",
        "Maximum Payload: 1.0 MiB",
        "Connected Server Name: alone",
        "TLS Connection: no",
        "Allow: $JS.API.>",
        "Deny: x.>",
        "Allow: _INBOX.>",
        "JetStream Account Information for domain home:",
        "Streams: 1\n",
        "Memory: 0 B of 1.0 MiB",
        "Storage: 0 B of 10 MiB",
        "Streams: 1 of 3",
        "Consumers: Maximum 7 per stream",
    ):
        assert line in out, out


def test_an_account_without_jetstream(cli: Cli) -> None:
    out = cli.with_flags(*cli.flags, "--user", "plain", "--password", "plain").ok("a", "nfo")
    assert "Account: PLAIN" in out
    assert "JetStream is not supported in this account" in out
