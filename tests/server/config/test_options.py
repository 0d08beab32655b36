"""Options of the configuration in normalised values, and those that are refused."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pyjs.server.config import ConfigError, Options, docs, load
from pyjs.server.config.load import load_text
from pyjs.server.config.options import SECOND, ResponsePermission, SubjectPermission
from pyjs.server.config.options.field import KEY
from pyjs.server.config.read.kinds import READERS

SEEDS = {
    "accounts.conf": """
accounts {
    SYS: {
        users: [{user: admin, password: admin}]
    },
    ACC: {
        users: [{user: acc, password: acc}],
        jetstream: enabled
        exports: [
            # source and mirror create a consumer on the fly
            {service: "$JS.hub.API.CONSUMER.CREATE.*", response_type: "stream"}
            {stream: "deliver.acc.hub.>"}
        ]
    }
    IMPORT: {
        users: [{user: import, password: import}],
        jetstream: enabled
        imports: [
            {service: {account: ACC, subject: "$JS.hub.API.CONSUMER.CREATE.*"},
             to: "JS.acc@hub.API.CONSUMER.CREATE.*" }
            {stream: {account: ACC, subject: deliver.acc.hub.import_mirror.>}}
        ]
    }
}
system_account: SYS
""",
    "hub.conf": """
port: 4222
server_name: hub-server
jetstream {
    store_dir="./store_server"
    domain=hub
}
leafnodes {
    port: 7422
}
include ./accounts.conf
""",
    "leaf.conf": """
port: 4111
server_name: leaf-server
jetstream {
    store_dir="./store_leaf"
    domain=leaf
}
leafnodes {
    remotes = [
        {
            urls: ["nats-leaf://admin:admin@0.0.0.0:7422"]
            account: "SYS"
        },
        {
            urls: ["nats-leaf://acc:acc@0.0.0.0:7422"]
            account: "ACC"
        }
    ]
}
include ./accounts.conf
""",
}


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    for name, text in SEEDS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_hub_of_the_documentation_is_read_whole(seeds: Path) -> None:
    options = load(str(seeds / "hub.conf"))
    assert (options.host, options.port, options.server_name) == ("0.0.0.0", 4222, "hub-server")
    assert (options.jetstream.enabled, options.jetstream.store_dir) == (True, "./store_server")
    assert (options.jetstream.domain, options.jetstream.sync_interval) == ("hub", None)
    assert (options.leafnodes.host, options.leafnodes.port, options.leafnodes.remotes) == (
        "0.0.0.0",
        7422,
        [],
    )
    assert options.system_account == "SYS"
    assert list(options.accounts) == ["SYS", "ACC", "IMPORT"]
    account = options.accounts["ACC"]
    assert [(u.user, u.password, u.account) for u in account.users] == [("acc", "acc", "ACC")]
    assert [(e.kind, e.subject, e.response_type) for e in account.exports] == [
        ("service", "$JS.hub.API.CONSUMER.CREATE.*", "stream"),
        ("stream", "deliver.acc.hub.>", "singleton"),
    ]
    service, stream = options.accounts["IMPORT"].imports
    assert (service.kind, service.account, service.to) == (
        "service",
        "ACC",
        "JS.acc@hub.API.CONSUMER.CREATE.*",
    )
    assert (stream.kind, stream.subject, stream.to) == ("stream", "deliver.acc.hub.import_mirror.>", "")
    assert options.accounts["SYS"].jetstream is None
    assert account.jetstream is not None and account.jetstream.max_store == -1


def test_the_leaf_of_the_documentation_has_its_remotes(seeds: Path) -> None:
    remotes = load(str(seeds / "leaf.conf")).leafnodes.remotes
    assert [(r.urls, r.account) for r in remotes] == [
        (["nats-leaf://admin:admin@0.0.0.0:7422"], "SYS"),
        (["nats-leaf://acc:acc@0.0.0.0:7422"], "ACC"),
    ]


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("port: -1", "port", 0),
        ("port: 0", "port", 4222),
        ("listen: 127.0.0.1:4333", "host", "127.0.0.1"),
        ("leafnodes { port: -1 }", "leafnodes.port", 0),
        ("leafnodes { port: 0 }", "leafnodes.port", None),
        ("leafnodes { listen: localhost:7422 }", "leafnodes.host", "localhost"),
        ("http: localhost:8222", "http_host", "localhost"),
        ("http_port: -1", "http_port", 0),
        ('ping_interval: "1m30s"', "ping_interval", 90 * SECOND),
        ("authorization { timeout: 0.5 }", "auth_timeout", SECOND // 2),
        ('authorization { timeout: "3s" }', "auth_timeout", 3 * SECOND),
        ("port: 1", "auth_timeout", 2 * SECOND),
        ("max_payload: 1k", "max_payload", 1000),
        ("max_payload: 0", "max_payload", 1024**2),
        ("max_pending: 0", "max_pending", 64 * 1024**2),
        ("max_control_line: 0", "max_control_line", 4096),
        ("max_closed_clients: 0", "max_closed_clients", 10_000),
        ('ping_interval: "0s"', "ping_interval", 120 * SECOND),
        ("ping_max: 0", "ping_max", 2),
        ('write_deadline: "0s"', "write_deadline", 10 * SECOND),
        ('lame_duck_grace_period: "0s"', "lame_duck_grace_period", 10 * SECOND),
        ("authorization { timeout: 0 }", "auth_timeout", 2 * SECOND),
        ("resolver_tls { timeout: 0 }", "resolver_tls.timeout", 2 * SECOND),
        ('leafnodes { reconnect: "0s" }', "leafnodes.reconnect", SECOND),
        ("cluster { port: 1, authorization { timeout: 0 } }", "cluster.authorization.timeout", None),
        ("trace_verbose: true", "trace", True),
        ("jetstream: true", "jetstream.enabled", True),
        ("jetstream { enabled: false }", "jetstream.enabled", False),
        ("jetstream { max_file: 10GB }", "jetstream.max_file", 10 * 1024**3),
        ('jetstream { max_mem: "10M" }', "jetstream.max_memory", 10 * 1024**2),
        ("jetstream { sync: always }", "jetstream.sync_interval", 0),
        ('jetstream { sync_interval: "5s" }', "jetstream.sync_interval", 5 * SECOND),
        ("store_dir: /x\njetstream: true", "jetstream.store_dir", "/x"),
        ("http_base_path: nats/", "http_base_path", "/nats"),
        ("server_tags: [A, b, a]", "server_tags", ["a", "b"]),
        ("leafnodes { compression: true }", "leafnodes.compression.mode", "s2_auto"),
        ("cluster { port: 1, compression: true }", "cluster.compression.mode", "s2_fast"),
        ("tls { handshake_first: auto }", None, None),
    ],
)
def test_an_option_has_its_normalised_value(text: str, path: str | None, value: Any) -> None:
    if path is None:
        with pytest.raises(ConfigError, match="cert_file"):
            load_text(text)
        return
    found: Any = load_text(text)
    for step in path.split("."):
        found = getattr(found, step)
    assert found == value


def test_permissions_say_what_is_allowed_denied_and_answered() -> None:
    options = load_text(
        "authorization { default_permissions { publish: a }\n users: ["
        '{user: x, password: x, permissions: {sub: {allow: ["b q", c.>], deny: d}, allow_responses: true}},'
        "{user: y, password: y}] }"
    )
    first, second = options.authorization.users
    assert first.permissions is not None and second.permissions is not None
    assert first.permissions.subscribe == SubjectPermission(["b q", "c.>"], ["d"])
    assert first.permissions.publish == SubjectPermission(allow=[])
    assert first.permissions.allow_responses == ResponsePermission(1, 120 * SECOND)
    assert second.permissions.publish == SubjectPermission(["a"])


def test_remote_urls_are_made_complete_and_credentials_expanded() -> None:
    text = 'leafnodes { remotes: [{url: "TLS://hub", credentials: "$DIR/x.creds"}] }'
    remote = load_text(text, {"DIR": "/creds"}).leafnodes.remotes[0]
    assert remote.urls == ["tls://hub:7422"]
    assert remote.credentials == "/creds/x.creds"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n  jetstraem: true", '2:3: unknown field "jetstraem" (did you mean "jetstream"?)'),
        ("jetstream {\n domian: x }", '2:2: unknown field "domian" (did you mean "domain"?)'),
        (
            "leafnodes { remotes: [{url: nats://x:1,\n crednetials: x}] }",
            '2:2: unknown field "crednetials" (did you mean "credentials"?)',
        ),
        (
            "authorization { users: [{user: a, password: b, permissions: {\n pubish: a}}] }",
            '2:2: Unknown field "pubish" parsing permissions (did you mean "publish"?)',
        ),
        ("port: abc", "1:1: port must be an integer, got a string (without quotes)"),
        ('debug: "yes"', "1:1: debug must be true or false, got a string (without quotes)"),
        ("server_name: 5", "1:1: server_name must be a string, got an integer (quote it)"),
        ("jetstream: []", "1:1: jetstream must be true, false, enabled, disabled or a map, got a list"),
        ("ping_interval: abc", "1:1: error parsing ping_interval:"),
        ("listen: localhost", "1:1: listen: could not parse address string 'localhost' (as \"host:port\")"),
        ("port: 70000", "1:1: port: 70000 is no port"),
        (
            "write_timeout: never",
            "1:1: write_timeout must be one of 'default', 'close', 'retry', got 'never'",
        ),
        (
            "accounts { HUB {} }\nsystem_account: HBU",
            '2:1: system account "HBU" is not a configured account (did you mean',
        ),
        (
            "accounts { ACC {}\n B { imports: [{stream: {account: AC, subject: x}}] } }",
            '2:16: "AC" account not defined for stream import',
        ),
        (
            "authorization { users: [{user: a, pass: b}] }\naccounts { A { users: [{user: a, pass: c}] } }",
            '2:24: Duplicate user "a" detected (first at 1:25)',
        ),
        (
            "authorization { user: a, pass: b }\naccounts { A { users: [{user: c, pass: d}] } }",
            "1:17: Can not have a single user/pass and accounts",
        ),
        ("no_auth_user: x", '1:1: no_auth_user: "x" present, but users/nkeys are not defined'),
        ("leafnodes { remotes: [{account: $G}] }", "can not be found"),
        ("leafnodes { remotes: [{account: '$G'}] }", "1:23: a leafnode remote needs a url or urls"),
        ("jetstream { max_concurrent_io: 2 }", "1:13: max_concurrent_io must be at least 4, got 2"),
        ("store_dir: /a\njetstream { store_dir: /b }", "2:13: Duplicate 'store_dir' configuration"),
    ],
)
def test_a_wrong_option_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(text, {})
    assert message in str(caught.value)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_text("port: x\nfoo: 1\njetstream { bar: 1 }\ndebug: 5")
    assert [p.position.line for p in caught.value.problems if p.position] == [1, 2, 3, 4]


def test_a_key_used_as_a_variable_may_be_unknown() -> None:
    assert load_text("HUB: hub\njetstream { domain: $HUB }").jetstream.domain == "hub"


def test_seconds_without_a_unit_are_warned_of() -> None:
    options = load_text("ping_interval: 30")
    assert options.ping_interval == 30 * SECOND
    assert "should be converted to a duration" in str(options.warnings[0])


def test_secrets_are_not_in_the_text_of_options() -> None:
    options = load_text("authorization { users: [{user: a, password: hunter2}] }")
    assert "hunter2" not in repr(options)


def test_every_kind_of_option_has_its_reader() -> None:
    kinds: set[str] = set()

    def walk(cls: type[Any]) -> None:
        for each in fields(cls):
            spec = each.metadata.get(KEY)
            if spec is not None:
                kinds.add(spec.kind)
                if spec.section is not None:
                    walk(spec.section)

    walk(Options)
    assert kinds == set(READERS)


def test_keys_of_a_block_are_all_different() -> None:
    def walk(cls: type[Any]) -> None:
        keys: list[str] = []
        for each in fields(cls):
            spec = each.metadata.get(KEY)
            if spec is not None:
                keys += spec.keys
                if spec.section is not None:
                    assert isinstance(spec.section, type) and is_dataclass(spec.section)
                    walk(spec.section)
        assert len(keys) == len(set(keys))
        assert all(key == key.lower() for key in keys)

    walk(Options)


def test_the_document_of_the_options_is_current() -> None:
    assert docs.PAGE.read_text("utf-8") == docs.page(), "run: python -m pyjs.server.config.docs --write"


def test_the_document_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "options.md"
    docs.main(["--write"], file)
    assert file.read_text("utf-8") == docs.page()
    monkeypatch.setattr(docs, "_flags", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        docs.main(["--write"], file)
    monkeypatch.undo()
    docs.main([], tmp_path / "untouched")
    assert file.read_text("utf-8") == capsys.readouterr().out


@pytest.mark.parametrize("url", ["nats://ann:se/cret@h:1", "nats://ann:se@cret@h:0", "nats://ann:secret@h:x"])
def test_an_address_that_is_none_is_named_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match="error parsing route url") as refused:
        load_text(f'cluster {{ port: 6222, routes: ["{url}"] }}')
    assert "cret" not in str(refused.value)
    assert "ann:xxxxx@h" in str(refused.value)
