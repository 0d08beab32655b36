"""Flags, environment and contexts decide which server a command connects to, and as which user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

NAMES = ("stream", "ls", "--names")


def connects(cli: Cli, *flags: str, env: dict[str, str] | None = None) -> bool:
    return cli.run(*NAMES, *flags, env=env).code == 0


def test_global_flags_stand_before_between_and_after(cli: Cli, guarded: ServerProcess) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    cli.ok("--server", url, "stream", "ls")
    cli.ok("stream", "--server", url, "ls")
    cli.ok("stream", "ls", "-s", url)
    cli.ok("stream", "ls", f"--server={url}")


def test_user_and_password_are_flags_variables_or_part_of_the_url(cli: Cli, guarded: ServerProcess) -> None:
    assert connects(cli, "--user", "ada", "--password", "s3cret", "-s", guarded.url)
    assert connects(cli, env={"NATS_URL": guarded.url, "NATS_USER": "ada", "NATS_PASSWORD": "s3cret"})
    assert connects(cli, "-s", f"nats://ada:s3cret@127.0.0.1:{guarded.port}")
    assert not connects(cli, "-s", guarded.url)


def test_a_flag_beats_its_variable(cli: Cli, guarded: ServerProcess) -> None:
    wrong = {"NATS_URL": "nats://127.0.0.1:1", "NATS_USER": "ada", "NATS_PASSWORD": "no"}
    assert connects(cli, "-s", guarded.url, "--password", "s3cret", env=wrong)


def test_a_wrong_password_says_who_was_refused_where(cli: Cli, guarded: ServerProcess) -> None:
    result = cli.run(*NAMES, "-s", guarded.url, "--user", "ada", "--password", "guess")
    assert result.code == 4
    assert "setup failed: nats: Authorization Violation" in result.err
    assert f'the server at nats://127.0.0.1:{guarded.port} refused the user "ada"' in result.err
    assert "guess" not in result.err


def test_a_context_gives_what_no_flag_gives(cli: Cli, guarded: ServerProcess) -> None:
    cli.ok("context", "save", "here", "-s", guarded.url, "--user", "ada", "--password", "s3cret")
    assert connects(cli, "--context", "here")
    assert not connects(cli, "--context", "here", "--password", "no")
    assert not connects(cli, "--context", "here", "--no-context")
    assert connects(cli, env={"NATS_CONTEXT": "here"})
    cli.ok("context", "select", "here")
    assert connects(cli)


def test_secrets_come_from_files_and_the_environment(
    cli: Cli, guarded: ServerProcess, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    user = ("-s", guarded.url, "--user", "ada", "--password")
    assert connects(cli, *user, f"file://{tmp_path / 'password'}")
    assert connects(cli, *user, "env://PW", env={"PW": "s3cret"})
    assert connects(cli, *user, "data:;base64,czNjcmV0")
    missing = cli.run(*NAMES, *user, "env://NOT_SET")
    assert missing.code == 1
    assert "NOT_SET is not set" in missing.err
    unreadable = cli.run(*NAMES, *user, "file:///nowhere/at/all")
    assert "cannot read /nowhere/at/all" in unreadable.err


def test_an_unknown_context_names_the_nearest(cli: Cli) -> None:
    cli.ok("context", "save", "production")
    result = cli.run(*NAMES, "--context", "producton")
    assert result.code == 3
    assert 'unknown context "producton"' in result.err
    assert "did you mean production?" in result.err


def test_an_unknown_domain_says_that_nobody_answers_there(cli: Cli, guarded: ServerProcess) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    result = cli.run(*NAMES, "-s", url, "--js-domain", "nowhere")
    assert result.code == 6
    assert "$JS.nowhere.API" in result.err


def test_trace_shows_the_calls_on_stderr(cli: Cli, guarded: ServerProcess) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    result = cli.run(*NAMES, "-s", url, "--trace")
    assert ">>> $JS.API.STREAM.NAMES" in result.err
    assert "<<< $JS.API.STREAM.NAMES" in result.err
    assert ">>>" not in result.out


@pytest.mark.parametrize("words", [("stream", "ls"), ("sub", "a"), ("doctor",)])
def test_what_is_no_credentials_file_is_told_alike(
    cli: Cli, guarded: ServerProcess, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "empty.creds").write_text("")
    result = cli.run(*words, "-s", guarded.url, "--creds", "empty.creds")
    assert result.code != 0
    assert "ot a credentials file: it needs a JWT and a seed" in result.out + result.err


@pytest.mark.parametrize("missing", ["creds", "nkey", "tlsca"])
def test_a_missing_credential_file_is_named(cli: Cli, missing: str) -> None:
    result = cli.run(*NAMES, f"--{missing}", "/nowhere/file")
    assert result.code == 3
    assert "Traceback" not in result.err
    assert missing in result.err


@pytest.mark.parametrize("scheme", ["tls", "nats"])
def test_a_password_is_not_sent_in_the_clear_when_tls_was_asked_for(
    cli: Cli, guarded: ServerProcess, tmp_path: Path, scheme: str
) -> None:
    import ssl

    authority = tmp_path / "ca.pem"
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    authority.write_text(ssl.DER_cert_to_PEM_cert(known[0]) if known else "")
    flags = ("--tlsca", str(authority)) if scheme == "nats" and known else ()
    url = f"{scheme if known else 'tls'}://127.0.0.1:{guarded.port}"
    result = cli.run(*NAMES, "-s", url, "--user", "ada", "--password", "s3cret", *flags)
    assert result.code == 1
    assert "secure connection not available" in result.err


def test_a_server_is_reached_over_websocket(cli: Cli, serve: Callable[[str], ServerProcess]) -> None:
    server = serve(
        'listen: "127.0.0.1:<client>"\nwebsocket { listen: "127.0.0.1:<ws>", no_tls: true }\n'
        "jetstream { store_dir: '<store>' }"
    )
    over = cli.with_flags("-s", f"ws://127.0.0.1:{server.ports['ws']}")
    # a command of its own process each: which parts of nats-py are loaded is decided once
    assert "Connected URL: ws://" in over.process("account", "info").out
    assert over.process("stream", "ls").out == "No Streams defined\n"
