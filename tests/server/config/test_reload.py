"""Which changes of the configuration a running server applies."""

from __future__ import annotations

import pytest
from pyjs.server.config.load import load_text
from pyjs.server.config.options import Options, ResolverOptions, specs
from pyjs.server.config.reload import RESTART, compare


def changes(old: str, new: str) -> tuple[list[str], list[str]]:
    found = compare(load_text(old), load_text(new))
    return [change.path for change in found.changes], found.refused


def test_the_same_configuration_changes_nothing() -> None:
    assert changes("port: 1", "port: 1 # a comment") == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("port: 1", "port: 1, debug: true", "debug"),
        ("port: 1", "port: 1, logfile: /x", "log_file"),
        ("max_payload: 1k", "max_payload: 2k", "max_payload"),
        ("authorization { user: a, pass: b }", "authorization { user: c, pass: b }", "authorization.user"),
        ("accounts { A {} }", "accounts { A { users: [{user: a, pass: b}] } }", "accounts"),
        ("mappings { a: b }", "mappings { a: c }", "mappings"),
        ("port: 1", "port: 1, ping_interval: 5s", "ping_interval"),
        (
            "leafnodes { port: 7422 }",
            "leafnodes { port: 7422, remotes: [{url: nats://h:1}] }",
            "leafnodes.remotes",
        ),
    ],
)
def test_a_change_that_is_followed(old: str, new: str, path: str) -> None:
    assert changes(old, new) == ([path], [])


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("port: 1", "port: 2", "config reload not supported for port: old=1, new=2"),
        ("server_name: a", "server_name: b", "config reload not supported for server_name: old=a, new=b"),
        (
            "jetstream { store_dir: /a }",
            "jetstream { store_dir: /b }",
            "config reload not supported for jetstream.store_dir: old=/a, new=/b",
        ),
        (
            "leafnodes { port: 7422 }",
            "leafnodes { port: 7423 }",
            "config reload not supported for leafnodes.port: old=7422, new=7423",
        ),
        (
            "port: 1",
            "port: 1\ncluster { port: 6222 }",
            "config reload not supported for cluster.port: old=None, new=6222",
        ),
        (
            "port: 1",
            "port: 1\nleafnodes { remotes: [{url: nats://h:1}] }",
            "for leafnodes.remotes: old=0 entries",
        ),
        ("accounts { A {} }\nsystem_account: A", "accounts { A {} }", "for system_account: old=A, new="),
        (
            'resolver: URL("http://a:secret@h/")',
            'resolver: URL("http://b:secret@h/")',
            "config reload not supported for resolver: old=url, new=url",
        ),
        (
            "resolver { type: full, dir: /a }",
            "resolver: MEMORY",
            "config reload not supported for resolver: old=full /a, new=memory",
        ),
        (
            "jetstream { store_dir: /a, key: one }",
            "jetstream { store_dir: /a, key: two }",
            "config reload not supported for jetstream.key: old=[REDACTED], new=[REDACTED]",
        ),
    ],
)
def test_a_change_that_needs_a_restart_is_refused(old: str, new: str, text: str) -> None:
    _, refused = changes(old, new)
    assert len(refused) == 1
    assert text in refused[0]


TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJBIn0.c2lnbmF0dXJl"
LOGIN = "cluster { port: 6222, routes: [nats-route://ann:%s@h:1, nats-route://h:2] }"


@pytest.mark.parametrize(
    ("old", "new", "secret", "shown"),
    [
        (Options(), Options(resolver_preload={"A": TOKEN}), "eyJ", "[REDACTED]"),
        (Options(), Options(default_sentinel=TOKEN), "eyJ", "[REDACTED]"),
        (Options(operator=["/op.jwt"]), Options(operator=["/op.jwt", TOKEN]), "eyJ", "['/op.jwt', '[JWT]']"),
        (
            load_text(LOGIN % "one"),
            load_text(LOGIN % "two"),
            "two",
            "['nats-route://[REDACTED]@h:1', 'nats-route://h:2']",
        ),
        (
            Options(resolver=ResolverOptions(kind="full", dir="/jwt")),
            Options(resolver=ResolverOptions(kind="full", dir="/jwt", limit=5)),
            "None",
            "full /jwt limit=5",
        ),
        (Options(), Options(resolver=ResolverOptions(kind="url", url="http://a:b@h")), "a:b", "new=url"),
    ],
    ids=["preload", "sentinel", "operator", "login", "limit", "url"],
)
def test_what_is_said_of_a_change_holds_no_secret(
    old: Options, new: Options, secret: str, shown: str
) -> None:
    found = compare(old, new)
    said = " ".join([*found.refused, *(f"{c.old} {c.new}" for c in found.changes)])
    assert shown in said
    assert secret not in said.replace("old=None", "")


def test_every_path_that_needs_a_restart_is_an_option() -> None:
    for path in RESTART:
        cls = Options
        *blocks, name = path.split(".")
        for block in blocks:
            section = specs(cls)[block].section
            assert section is not None
            cls = section
        assert name in specs(cls)
