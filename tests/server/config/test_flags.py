"""nats-server's command line, flag by flag."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyjs.server.config.flags import FLAGS, FlagError, parse, redacted, usage


@pytest.mark.parametrize(
    ("argv", "path", "value"),
    [
        ("-p 4333", "port", 4333),
        ("--port=4333", "port", 4333),
        ("-port 4333", "port", 4333),
        ("-p -1", "port", 0),
        ("-p 0", "port", 4222),
        ("-a localhost", "host", "localhost"),
        ("--addr localhost", "host", "localhost"),
        ("--net localhost", "host", "localhost"),
        ("-n me", "server_name", "me"),
        ("--server_name me", "server_name", "me"),
        ("-P /x.pid", "pid_file", "/x.pid"),
        ("-m 8222", "http_port", 8222),
        ("-m -1", "http_port", 0),
        ("-m 0", "http_port", None),
        ("--client_advertise a:1", "client_advertise", "a:1"),
        ("--ports_file_dir /x", "ports_file_dir", "/x"),
        ("-l /x.log", "log_file", "/x.log"),
        ("-T=false", "logtime", False),
        ("--logtime=0", "logtime", False),
        ("--logtime_utc", "logtime_utc", True),
        ("-D", "debug", True),
        ("-V", "trace", True),
        ("-VV", "trace_verbose", True),
        ("-VV", "trace", True),
        ("-DV", "debug", True),
        ("-DV", "trace", True),
        ("-DVV", "trace_verbose", True),
        ("-DV=false", "debug", False),
        ("--log_size_limit 1000", "log_size_limit", 1000),
        ("--max_traced_msg_len 10", "max_traced_msg_len", 10),
        ("-js", "jetstream.enabled", True),
        ("--jetstream", "jetstream.enabled", True),
        ("-sd /x", "jetstream.store_dir", "/x"),
        ("--user a --pass b", "authorization.user", "a"),
        ("--user a --pass b", "authorization.password", "b"),
        ("--auth t", "authorization.token", "t"),
        ("--cluster nats://0.0.0.0:6222", "cluster.port", 6222),
        ("--cluster nats://localhost:-1", "cluster.port", 0),
        ("--cluster_listen nats://u:p@localhost:6222", "cluster.authorization.user", "u"),
        (
            "--cluster nats://h:6222 --routes nats://a:1,nats://b:2",
            "cluster.routes",
            ["nats://a:1", "nats://b:2"],
        ),
        ("--cluster_name c", "cluster.name", "c"),
        ("--no_advertise", "cluster.no_advertise", True),
        ("--connect_retries 3", "cluster.connect_retries", 3),
        ("--profile 9", "prof_port", 9),
    ],
)
def test_a_flag_sets_its_option(argv: str, path: str, value: Any) -> None:
    found: Any = parse(argv.split()).options()
    for step in path.split("."):
        found = getattr(found, step)
    assert found == value


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("--bogus", "flag provided but not defined: -bogus"),
        ("--confg x", 'flag provided but not defined: -confg (did you mean "config"?)'),
        ("-p abc", 'invalid value "abc" for flag -p: parse error'),
        ("-p", "flag needs an argument: -p"),
        ("-p 65536", "65536 is no port: 0 to 65535, or -1 for any free port"),
        ("-m -2", "-2 is no port"),
        ("--cluster nats://h:70000", "70000 is no port"),
        ("-D=maybe", 'invalid boolean value "maybe" for -D: parse error'),
        ("start", 'unrecognized command: "start"'),
        ("-D now", 'unrecognized command: "now"'),
        ("--routes nats://a:1", "solicited routes require cluster capabilities, e.g. --cluster"),
        ("--cluster localhost", "--cluster must be a url"),
        ("--cluster nats://user@h:1", "expected cluster password to be set"),
        ("--tls", "TLS Server certificate must be present and valid"),
        ("--tlscert x", "TLS Server private key must be present and valid"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_reason(argv: str, message: str) -> None:
    with pytest.raises(FlagError) as caught:
        parse(argv.split()).options()
    assert message in str(caught.value)


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "a.conf"
    config.write_text("port: 1111\nhost: localhost\njetstream { store_dir: /file, domain: d }\ndebug: true")
    options = parse(["-c", str(config), "-p", "2222", "-sd", "/flag", "-D=false"]).options()
    assert (options.port, options.host, options.debug) == (2222, "localhost", False)
    assert (options.jetstream.store_dir, options.jetstream.domain) == ("/flag", "d")


def test_words_for_help_and_version_are_commands() -> None:
    assert parse(["version"]).command == "version"
    assert parse(["-D", "HELP"]).command == "help"


def test_secrets_are_taken_out_of_a_command_line_that_is_shown() -> None:
    shown = redacted(
        ["-p", "1", "--user=a", "--pass", "b", "-auth", "c", "--routes", "nats://a:b@h:1,nats://h:2"]
    )
    assert shown == [
        *("-p", "1", "--user=[REDACTED]", "--pass", "[REDACTED]", "-auth", "[REDACTED]"),
        *("--routes", "nats://[REDACTED]@h:1,nats://h:2"),
    ]


def test_help_names_every_flag() -> None:
    text = usage("pyjs-server")
    for flag in FLAGS:
        assert all(f"-{name}" in text for name in flag.names)
        assert flag.help in text
