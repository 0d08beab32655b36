"""Exports, imports and revocations by `pyjs nsc`: questions, JSON, secrets, differences from nsc."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.nsc_folders import NscFolders, key_of
from lib.terminal import Terminal
from pyjs.keys import ActivationClaims, Export, KeyRole, decode, undecorate_jwt
from pyjs.keys.folders.keystore import Keystore
from pyjs.keys.workspace.exports import add_export

AS_OF = "revoke all credentials created before (0 is now, formats are RFC3339 or #seconds since epoch)"


class NscEnv:
    """The folders and `pyjs nsc -H folders`."""

    def __init__(self, home: Path, **more: Any) -> None:
        self.folders = NscFolders(home / "nsc", "A", "B", **more)
        self.cli = Cli(home, "nsc", "-H", str(home / "nsc"))

    def ok(self, line: str) -> str:
        return self.cli.ok(*shlex.split(line))

    def refused(self, line: str) -> str:
        """Run a line that must be refused with nothing changed; its error."""
        before = self.folders.content()
        result = self.cli.run(*shlex.split(line))
        assert (result.code, result.out) == (1, ""), result.out
        assert result.err.startswith("Error: ")
        assert self.folders.content() == before
        return result.err.removeprefix("Error: ").rstrip("\n")

    def asks(self, line: str, *answers: tuple[str, str]) -> str:
        """Run a line on a terminal and answer its questions; what it showed after them."""
        with self.cli.terminal(shlex.split(line)) as terminal:
            for question, answer in answers:
                terminal.answer(question, answer)
            assert terminal.finish() == 0, "\n".join(terminal.lines()) + terminal.errors()
            return _shown(terminal)


def _shown(terminal: Terminal) -> str:
    return "\n".join(line for line in terminal.lines() if not line.startswith("? "))


@pytest.fixture
def env(tmp_path: Path) -> NscEnv:
    return NscEnv(tmp_path)


def test_the_documents_response_type_of_a_stream_is_taken_and_means_nothing(env: NscEnv) -> None:
    out = env.ok("add export --account A --name Data-Path --response-type Stream --subject 'deliver.>'")
    assert out == '[ OK ] added public stream export "Data-Path"\n'
    assert env.folders.claims("A").nats.exports[0].response_type == ""


def test_an_edit_of_an_export_keeps_its_revocations_and_the_rest(env: NscEnv) -> None:
    env.ok("add export -a A -s 's.*' -r --account-token-position 2 --advertise --allow-trace")
    env.ok("edit export -a A --response-type Chunked")
    env.ok("revocations add_activation -a A -t B --service --at 7")
    (before,) = env.folders.claims("A").nats.exports
    env.ok("edit export -a A --name new")
    (after,) = env.folders.claims("A").nats.exports
    assert after.document() == {**before.document(), "name": "new"}
    assert after.account_token_position == 2
    assert env.ok("edit export -a A --response-threshold 2s").endswith('edited service export "new"\n')
    assert "changed allowed trace to false" in env.ok("edit export -a A --private=false --allow-trace=false")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("add export -a A -s d --sampling 20", "sampling needs a subject for the metrics: --latency"),
        ("add export -a A -s d --response-threshold 5s", "response threshold is only applicable to services"),
        ("add export -a A -s d -r --response-type Foo", "unknown response type"),
        ("add import -a B", "public imports require src-account, remote-subject"),
        (
            "add import -a B --src-account A --remote-subject 'x.*' --local-subject y",
            "there are 1, it uses 0",
        ),
        ("add mapping -a A -f 'x.*' -t 'y.$2'", "cannot be mapped"),
        ("delete mapping -a A -f x", 'account "A" has no mapping for x'),
        ("edit signing-key -a A one --sk two", "one signing key can be edited at a time"),
        ("edit authcallout A", "please specify some options"),
        ("revocations delete_activation -a A -t B", "doesn't have exports"),
        ("revocations add-user -a A -n x -u y", "user and user-public-key are mutually exclusive"),
        ("generate activation -a A -t B --push -o x", "--push and --output-file exclude each other"),
        ("generate activation -a A -t B --start x", 'doesn\'t have exports|start "x" is invalid'),
        ("generate activation -a A", "target-account cannot be empty"),
    ],
)
def test_what_is_refused_says_why(env: NscEnv, line: str, error: str) -> None:
    assert any(part in env.refused(line) for part in error.split("|"))


def test_a_secret_is_never_repeated(env: NscEnv) -> None:
    seeds = {
        role: key_of(role, "x").seed
        for role in (KeyRole.ACCOUNT, KeyRole.USER, KeyRole.OPERATOR, KeyRole.CURVE)
    }
    env.ok("add export -a A -s p -p")
    for role, seed in seeds.items():
        for line in (
            f"add import -a B --src-account {seed} --remote-subject p",
            f"add import -a B -u {seed}",
            f"revocations add-user -a A -u {seed}",
            f"revocations add_activation -a A -t {seed}",
            f"generate activation -a A -t {seed}",
            f"edit authcallout A --auth-user {seed}",
            f"add export -a A -s q -K {seed}",
            f"add export -a {seed} -s q",
        ):
            assert seed not in env.refused(line), (role, line)


def test_json_shows_what_was_done(env: NscEnv) -> None:
    done = json.loads(env.ok("add export -a A -s p --json"))
    assert (done["account"], done["export"]) == ("A", {"name": "p", "subject": "p", "type": "stream"})
    assert done["report"]["children"] == [{"level": "ok", "text": 'added public stream export "p"'}]
    assert json.loads(env.ok("revocations list-users -a A --json")) == []
    env.ok("revocations add-user -a A -u '*' --at 5")
    assert json.loads(env.ok("revocations list-users -a A --json")) == [{"public_key": "*", "before": 5}]
    assert json.loads(env.ok("revocations list_activations -a A --json")) == []
    env.ok("edit export -a A -p")
    made = json.loads(env.ok("generate activation -a A -t B --json"))
    assert decode(made["token"], ActivationClaims).sub == env.folders.key("B")
    result = env.cli.run("--json", "delete", "export", "-a", "B")
    assert (result.code, json.loads(result.out)) == (1, {"error": 'account "B" doesn\'t have exports'})


def test_an_activation_goes_to_stdout_or_a_file_of_its_owners(env: NscEnv) -> None:
    env.ok("add export -a A -s p -p")
    out = env.ok("generate activation -a A -t B --expiry 2099-01-01")
    assert out.startswith("-----BEGIN NATS ACTIVATION JWT-----\n")
    assert decode(undecorate_jwt(out), ActivationClaims).exp
    env.ok("generate activation -a A -t B -o token")
    file = env.cli.home / "token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert env.ok("add import -a B -u token") == '[ OK ] added stream import "p"\n'


def test_a_circle_is_reported_by_names(env: NscEnv) -> None:
    for account in "AB":
        env.ok(f"add export -a {account} -s round")
    env.ok("add import -a A --src-account B --remote-subject round")
    assert env.refused("add import -a B --src-account A --remote-subject round") == (
        "this import would close a circle: B imports from A imports from B"
    )


def test_what_no_server_would_serve_yet_is_warned_of(env: NscEnv) -> None:
    out = env.ok("add import -a B --src-account A --remote-subject x")
    assert out.splitlines() == [
        '[ OK ] added stream import "x"',
        "[WARN] servers will not serve it yet: account A exports no stream x",
    ]


def test_a_new_scope_is_without_limits(env: NscEnv) -> None:
    env.ok("edit signing-key -a A --sk generate --role worker --allow-pub a")
    ((key, scope),) = env.folders.claims("A").nats.signing_keys.items()
    assert scope is not None
    assert (scope.template.subs, scope.template.data, scope.template.payload) == (-1, -1, -1)
    Keystore(env.folders.home).remove(key)
    assert env.ok("edit signing-key -a A worker --bearer --json")


def test_an_export_by_questions(env: NscEnv) -> None:
    shown = env.asks(
        "add export -i",
        ("select account", "A"),
        ("export type", "service"),
        ("subject", "svc.one"),
        ("name", ""),
        ("private service", "y"),
        ("track service latency", "y"),
        ("sampling percentage [1-100] or `header`", "25"),
        ("latency metrics subject", "lat.one"),
        ("service response type", "Stream"),
        ("response threshold (0 disabled)", "2s"),
        ("allow tracing", ""),
    )
    assert '[ OK ] added private service export "svc.one"' in shown
    (export,) = env.folders.claims("A").nats.exports
    assert (export.token_req, export.response_type, export.response_threshold) == (True, "Stream", 2 * 10**9)
    assert export.service_latency is not None
    assert (export.service_latency.sampling, export.service_latency.results) == (25, "lat.one")


def test_an_import_by_questions_gets_its_activation(env: NscEnv) -> None:
    private = Export(subject="secret.*", name="S", token_req=True)
    placed = Export(subject="mine.*.in", account_token_position=2)
    for export in (private, placed):
        add_export(env.folders.workspace(), export, account="A")
    shown = env.asks(
        "add import -i -a B",
        ("pick from locally available exports", ""),
        ("select the export", "secret"),
        ("name", ""),
        ("local subject", ""),
        ("allow tracing", ""),
    )
    assert '[ OK ] added stream import "secret.*"' in shown
    env.asks(
        "add import -i -a B",
        ("pick from locally available exports", ""),
        ("select the export", "mine"),
        ("name", ""),
        ("local subject", ""),
        ("allow tracing", ""),
    )
    mine, secret = sorted(env.folders.claims("B").nats.imports, key=lambda item: item.local)
    assert secret.activation().sub == env.folders.key("B")
    assert (mine.subject, mine.local_subject) == (f"mine.{env.folders.key('B')}.in", "mine.in")
    assert "WARN" not in shown


def test_deletions_and_revocations_by_questions(env: NscEnv) -> None:
    env.folders.add_user("A", "ann")
    for line in (
        "add export -a A -s one",
        "add export -a A -s two",
        "add import -a B --src-account A --remote-subject one",
    ):
        env.ok(line)
    assert 'deleted stream import "one"' in env.asks("delete import -i -a B", ("select import to delete", ""))
    env.asks(
        "revocations add_activation -i -a A",
        ("is service", ""),
        ("select stream export", "two"),
        ("target-account public key or '*' to match any target-account", "B"),
        (AS_OF, ""),
    )
    assert 'deleted stream export "two"' in env.asks(
        "delete export -i -a A", ("select export to delete", "two")
    )
    env.asks(
        "revocations add-user -i -a A",
        ("Revoke a user by name", ""),
        ("Select user to revoke", "ann"),
        (
            AS_OF,
            "9",
        ),
    )
    assert 'deleted user revocation for "' in env.asks(
        "revocations delete-user -i -a A", ("select revoked user to clear", "")
    )


def test_an_export_is_edited_by_questions(env: NscEnv) -> None:
    env.ok("add export -a A -s svc -r --latency lat --sampling 5 --response-type Stream -n S")
    shown = env.asks(
        "edit export -i -a A",
        ("select export to edit", ""),
        ("export type", ""),
        ("subject", "svc.new"),
        ("name", ""),
        ("private service", ""),
        ("track service latency", ""),
        ("sampling percentage [1-100] or `header`", "header"),
        ("latency metrics subject", ""),
        ("service response type", ""),
        ("response threshold (0 disabled)", ""),
        ("Export Description", "about"),
        ("Info url", ""),
    )
    assert [line for line in shown.splitlines() if line.startswith("[")] == [
        '[WARN] changed subject to "svc.new" - this will break importers',
        "[ OK ] changed service latency to header",
        '[ OK ] changed description to "about"',
        '[ OK ] edited service export "S"',
    ]
    (export,) = env.folders.claims("A").nats.exports
    assert (export.response_type, export.token_req) == ("Stream", False)


def test_activations_and_mappings_by_questions(env: NscEnv) -> None:
    env.ok("add export -a A -s 'p.>' -p")
    shown = env.asks(
        "generate activation -i -a A -o token",
        ("select the export", ""),
        ("subject", "p.x"),
        ("target-account public key", "B"),
        ("valid from", ""),
        ("valid until (0 is always)", "3d"),
    )
    assert "[ OK ] wrote activation token to" in shown
    env.asks(
        "add import -i -a A",
        ("is the export public?", ""),
        ("src-account public key", "B"),
        ("remote subject", "q"),
        ("is import a service", "n"),
        ("name", ""),
        ("local subject", ""),
        ("allow tracing", ""),
    )
    assert [item.subject for item in env.folders.claims("A").nats.imports] == ["q"]
    env.asks("add mapping -i -a A", ("map from subject", "a"), ("to subject", "b"))
    env.asks("delete mapping -i -a A", ("map from subject", "a"))
    env.ok("revocations add_activation -a A -t B")
    assert "deleted stream p.> revocation for account" in env.asks(
        "revocations delete_activation -i -a A",
        ("is service", ""),
        ("select stream export", ""),
        ("select account revocation to delete", ""),
    )


class Activations(BaseHTTPRequestHandler):
    """An account server that takes activations."""

    kept: dict[str, bytes]

    def do_POST(self) -> None:
        self.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        """Whatever the place, the activation there is."""
        self.send_response(200 if self.kept else 404)
        self.end_headers()
        self.wfile.write(b"".join(self.kept.values()))

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def account_server() -> Iterator[tuple[str, dict[str, bytes]]]:
    kept: dict[str, bytes] = {}
    handler = type("Kept", (Activations,), {"kept": kept})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/jwt/v2", kept
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_activation_is_pushed(tmp_path: Path, account_server: tuple[str, dict[str, bytes]]) -> None:
    url, kept = account_server
    env = NscEnv(tmp_path, server=url)
    env.ok("add export -a A -s p -p")
    out = env.ok("generate activation -a A -t B --push")
    token = undecorate_jwt(out)
    assert kept == {"/jwt/v2/activations": token.encode()}
    where = f"{url}/activations/{decode(token, ActivationClaims).hash_id}"
    assert out.splitlines()[-3:] == [
        "[ OK ] push jwt to account server",
        f'[ OK ] activation accessible at "{where}"',
        "all jobs succeeded",
    ]
    assert env.ok(f"add import -a B --token {where}") == '[ OK ] added stream import "p"\n'
    assert env.folders.claims("B").nats.imports[0].token == token
    kept.clear()
    assert "answers 404" in env.refused(f"add import -a B --token {where}")
