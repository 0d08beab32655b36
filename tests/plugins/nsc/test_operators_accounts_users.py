"""Operators, accounts and users by `pyjs nsc`: what is made, and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli, Result


class Nsc:
    """`pyjs nsc` in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cli = Cli(home, "nsc")
        self.stores = home / ".local/share/nats/nsc/stores"

    def run(self, *words: str, **more: str) -> Result:
        env = {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", **more}
        return self.cli.run(*words, env=env)

    def ok(self, line: str, **more: str) -> str:
        result = self.run(*line.split(), **more)
        assert result.code == 0, f"{line}: {result.out}{result.err}"
        return result.out

    def refused(self, *words: str, **more: str) -> str:
        """Run what must be refused; nothing may have changed. Gives the error."""
        before = self.files()
        result = self.run(*words, **more)
        assert (result.code, result.out) == (1, ""), result.out
        assert self.files() == before
        return result.err.strip()

    def files(self) -> dict[str, bytes]:
        found = {f.relative_to(self.home).as_posix(): f for f in self.home.rglob("*") if f.is_file()}
        return {name: file.read_bytes() for name, file in found.items()}


@pytest.fixture
def nsc(tmp_path: Path) -> Nsc:
    return Nsc(tmp_path)


@pytest.fixture
def stocked(nsc: Nsc) -> Nsc:
    for line in ("add operator OP", "add account A", "add user ann"):
        nsc.ok(line)
    return nsc


def test_a_scoped_user_has_nothing_of_its_own(stocked: Nsc) -> None:
    stocked.ok("edit signing-key --account A --sk generate --role worker --allow-pub x.>")
    stocked.ok("add user su -K worker --tag t")
    claims = json.loads(stocked.ok("edit user su --tag z --json"))["claims"]
    assert claims["nats"]["tags"] == ["t", "z"]
    assert not {"subs", "data", "payload"} & set(claims["nats"]) and claims["nats"]["issuer_account"]
    output = stocked.refused("add", "user", "sv", "-K", "worker", "--allow-pub", "a").splitlines()
    assert output == [
        '[ OK ] added pub "a"',
        "[ERR ] scoped users require no permissions or limits set",
        "[WARN] user was NOT edited as the edits conflict with signing key scope",
        "Error: scoped users require no permissions or limits set",
    ]
    assert "scoped users" in stocked.refused("edit", "user", "su", "--bearer")
    assert "neither" in stocked.refused("add", "user", "sw", "-K", "no-such-role")


def test_json_shows_what_was_made(nsc: Nsc) -> None:
    made = json.loads(nsc.ok("add operator OP --sys --generate-signing-key --json"))
    assert made["claims"]["nats"]["signing_keys"] and made["report"]["level"] == "ok"
    account = json.loads(nsc.ok("add account A --json"))
    assert account["claims"]["iss"] == made["public_key"] and account["claims"]["iat"]
    user = json.loads(nsc.ok("--json add user ann"))
    assert user["account"] == "A" and Path(user["credentials"]).exists()
    gone = json.loads(nsc.ok("delete user ann --json"))
    assert gone["users"] == {"ann": user["public_key"]}
    result = nsc.run("edit", "account", "--json")
    assert result.code == 1 and json.loads(result.out) == {"error": "specify an edit option"}
    where = json.loads(nsc.ok("env --json"))
    assert (where["operator"], where["account"]) == ("OP", "A")


def test_flags_are_read_as_nsc_reads_them(stocked: Nsc) -> None:
    stocked.ok('edit account -n A --tag a,b --tag "c" --disallow-bearer')
    assert _nats(stocked, "A")["limits"]["disallow_bearer"] is True
    stocked.ok("edit account A --disallow-bearer=false --conns -1 --data=5k")
    limits = _nats(stocked, "A")["limits"]
    assert "disallow_bearer" not in limits and (limits["conn"], limits["data"]) == (-1, 5000)
    stocked.ok("add user --allow-pub-response bob")  # the count is left out, the name is not taken for it
    stocked.ok("delete user -RD ann")
    assert "ann" not in stocked.ok("list users")


def test_an_edit_loses_nothing_that_it_does_not_name(stocked: Nsc) -> None:
    stocked.ok("edit account A --wildcard-exports=false --disallow-bearer --js-enable 3")
    before = _nats(stocked, "A")
    stocked.ok("edit account A --description x")
    assert _nats(stocked, "A") == {**before, "description": "x"}


def _nats(nsc: Nsc, account: str) -> dict[str, Any]:
    nats = json.loads(nsc.ok(f"describe account {account} -J"))["nats"]
    assert isinstance(nats, dict)
    return nats


def test_what_cannot_be_done_is_said_and_changes_nothing(stocked: Nsc) -> None:
    seed = next((stocked.home / ".local/share/nats/nsc/keys/keys/U").rglob("*.nk")).read_text()
    for words, part in (
        ("add operator OP", "exists already"),
        ("add operator a/b", "cannot contain"),
        ("add operator X --force", "force only works with -u"),
        ("add operator -u nowhere", "no file, no http URL and no well-known operator"),
        ("add operator X --start yesterday", "is no time"),
        (f"add operator X -K {seed}", "seed of a user, not of an operator"),
        ("add account a", 'the account "A" already exists'),
        ("add account", "account name is required"),
        ("add account ..", "cannot begin with"),
        ("add user .hidden", "cannot begin with"),
        ("edit operator --system-account=", "needs a name"),
        ("env -s /dev/null", "is no directory"),
        (f"add account X -k {seed}", "seed of a user, not of an account"),
        ("add account X -K /nowhere/key", "there is no file"),
        ("add account X --deny-sub a..b", "cannot contain"),
        ("edit account NOPE --tag a", "has no account NOPE"),
        ("edit account A", "specify an edit option"),
        ("edit account A --rm-sk AAAA", "has no signing key"),
        ("edit account A --conns x", "is no number"),
        ("edit account A --conns -5", "is no limit"),
        ("edit account A --js-enable 1 --js-tier 1", "exclusive"),
        ("edit account A --rm-js-tier 2", "doesn't have tier limits"),
        ("edit account A --trace-context-sampling 5", "requires a subject"),
        ("edit account A --trace-context-subject a.*", "not a valid publish subject"),
        ("edit account A --info-url x", "info url"),
        ("add user ann", "already exists"),
        ("add user x\\y", "cannot contain"),
        ("add user -a NOPE bob", "has no account NOPE"),
        ("add user bob --source-network 1.2.3", "is no network"),
        ("edit user ann --conn-type x", "unknown connection type"),
        ("edit user ann --time 9-10", "is no time range"),
        ("edit user ann --locale Moon/Base", "unknown time zone"),
        ("edit user bob --tag x", "has no user bob"),
        ("delete user ann,bob -n bob", "has no user"),
        ("delete user", "specify an user"),
        ("delete account NOPE", "has no account"),
        ("edit operator", "specify an edit option"),
        ("edit operator --service-url http://x", "protocol not supported"),
        ("edit operator -u nowhere", "requires a protocol"),
        ("edit operator --require-signing-keys", "at least one signing key"),
        ("edit operator --system-account NOPE", "has no account"),
        ("select operator NOPE", "NOPE"),
        ("env -a NOPE", "has no account NOPE"),
        ("init -n OP", "already exists"),
        ("init -n X -o nobody", "was not found"),
    ):
        output = stocked.refused(*words.split())
        assert part in output and output.startswith("Error: ") and seed not in output, f"{words}: {output}"


def test_an_account_without_users_says_how_one_is_added(stocked: Nsc) -> None:
    stocked.ok("add account B")
    output = stocked.refused("describe", "user", "-a", "B")
    assert output == "Error: a user is required: account B has none: add one with `nsc add user -a B`"


def test_strict_mode_asks_for_signing_keys_everywhere(nsc: Nsc) -> None:
    nsc.ok("add operator OP --generate-signing-key")
    nsc.ok("add account A")
    key = json.loads(nsc.ok("describe operator -J"))["nats"]["signing_keys"][0]
    output = nsc.refused("edit", "operator", "--require-signing-keys")
    assert 'account "A" needs to be issued with a signing key first' in output
    nsc.ok(f"edit account A --tag x -K {key}")
    nsc.ok("edit operator --require-signing-keys")
    output = nsc.refused("add", "user", "ann")
    assert "requires signing keys, and account A has none" in output
    nsc.ok("edit account A --sk generate")
    user = json.loads(nsc.ok("add user ann --json"))["claims"]
    account = json.loads(nsc.ok("describe account A -J"))
    assert account["iss"] == key and user["nats"]["issuer_account"] == account["sub"]
    identity = json.loads(nsc.ok("describe operator -J"))["sub"]
    assert "may not sign here" in nsc.refused("edit", "account", "A", "--tag", "y", "-K", identity)


def test_damaged_and_foreign_files_are_left_alone(stocked: Nsc) -> None:
    account = stocked.stores / "OP/accounts/A/A.jwt"
    token = account.read_text()
    account.write_text(token[:-9])
    assert "is damaged" in stocked.refused("edit", "account", "A", "--tag", "x")
    account.write_text("")
    assert "was not written completely" in stocked.refused("add", "user", "bob")
    account.write_text(token)
    mark = stocked.stores / "OP/.nsc"
    mark.write_text(mark.read_text().replace('"1"', '"7"'))
    assert "version '7'" in stocked.refused("add", "account", "B")
    mark.write_text("{")
    assert "is damaged" in stocked.refused("add", "account", "B")


def test_secrets_of_the_older_layout_stop_everything(stocked: Nsc) -> None:
    stray = stocked.home / ".local/share/nats/nsc/keys/O/AB/x.nk"
    stray.parent.mkdir(parents=True)
    stray.write_text("SO")
    assert "older layout" in stocked.refused("add", "account", "B")


def test_the_first_run_writes_the_settings(nsc: Nsc) -> None:
    assert "NSC Environment" in nsc.ok("env")
    settings = json.loads((nsc.home / ".config/nats/nsc/nsc.json").read_text())
    assert settings["store_root"] == str(nsc.stores) and nsc.stores.is_dir()
    assert list(settings) == ["store_root", "operator", "account", "github_updates", "last_update"]


def test_all_folders_can_be_one(nsc: Nsc) -> None:
    for line in ("-H one add operator OP", "add account A -H one", "add user ann -H=one"):
        nsc.ok(line)
    assert (nsc.home / "one/OP/accounts/A/users/ann.jwt").exists()
    assert (nsc.home / "one/creds/OP/A/ann.creds").exists() and (nsc.home / "one/nsc.json").exists()


def test_init_makes_everything(nsc: Nsc) -> None:
    out = nsc.ok("init -n X")
    assert out.endswith("all jobs succeeded\n") and "generate config --mem-resolver" in out
    assert "No issues found" in nsc.ok("validate -A")


def test_a_key_can_sign_by_every_name_it_has(stocked: Nsc, tmp_path: Path) -> None:
    stocked.ok("edit account A --sk generate")
    key = next(iter(_nats(stocked, "A")["signing_keys"]))
    file = next((stocked.home / ".local/share/nats/nsc/keys").rglob(f"{key}.nk"))
    seed = file.read_text()
    decorated = tmp_path / "sk.txt"
    decorated.write_text(f"-----BEGIN ACCOUNT NKEY SEED-----\n{seed}\n------END ACCOUNT NKEY SEED------\n")
    for name, given in enumerate((key, seed, str(file), str(decorated))):
        made = json.loads(stocked.ok(f"add user u{name} -K {given} --json"))
        assert made["claims"]["iss"] == key
        assert seed not in stocked.ok(f"edit user u{name} --tag x -K {given}")
    file.unlink()
    assert "cannot sign" in stocked.refused("add", "user", "v", "-K", key)


def test_runs_at_once_lose_no_edit(stocked: Nsc) -> None:
    cli = Cli(stocked.home, "nsc")
    lines = [f"edit account A --tag t{n}".split() for n in range(6)]
    env = {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
    with ThreadPoolExecutor(6) as pool:
        assert [r.code for r in pool.map(lambda line: cli.process(*line, env=env), lines)] == [0] * 6
    assert _nats(stocked, "A")["tags"] == [f"t{n}" for n in range(6)]


class AccountServer:
    """An account server: keeps what is posted, answers with `status` and `text`, may change accounts."""

    def __init__(self) -> None:
        self.status, self.text = 200, ""
        self.operator = ""
        self.kept: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.kept[self.path] = body.decode()
                self._answer(outer.status, outer.text)

            def do_GET(self) -> None:
                text = outer.operator if self.path.endswith("/operator") else outer.kept.get(self.path, "")
                self._answer(200 if text else 404, text)

            def _answer(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwt/v2"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AccountServer]:
    serving = AccountServer()
    (tmp_path / "owner").mkdir()
    owner = Nsc(tmp_path / "owner")
    owner.ok("add operator MO")
    owner.ok(f"edit operator -u {serving.url} --service-url nats://h:4222")
    serving.operator = (owner.stores / "MO/MO.jwt").read_text()
    yield serving
    serving.close()


def test_accounts_of_a_managed_operator_go_to_its_account_server(nsc: Nsc, server: AccountServer) -> None:
    variables = {"NSC_well_OPERATOR": f"{server.url}/operator"}
    assert 'imported operator "well"' in nsc.ok("add operator -u WELL", **variables)
    assert json.loads((nsc.stores / "well/.nsc").read_text())["managed"] is True
    sync = ["[ OK ] push jwt to account server", "[ OK ] pull jwt from account server"]
    assert nsc.ok("add account A").splitlines()[1:] == [*sync, '[ OK ] added account "A"']
    key = json.loads(nsc.ok("describe account -J"))["sub"]
    assert server.kept == {f"/jwt/v2/accounts/{key}": (nsc.stores / "well/accounts/A/A.jwt").read_text()}
    server.status, server.text = 202, "soon"
    assert nsc.ok("edit account A --tag a").splitlines() == [
        '[ OK ] added tag "a"',
        "[WARN] push jwt to account server:",
        "       [WARN] pushed account jwt was accepted by the account server",
        "       > soon",
        "[WARN] perform push/pull again or exchange self-signed JWT manually",
        '[ OK ] edited account "A"',
    ]
    server.status, server.text = 500, ""
    result = nsc.run("add", "account", "B")
    assert result.code == 1 and "[ERR ] failed to push account to remote server" in result.err
    assert result.err.endswith("Error: 1 job failed - 1 job succeeded and 0 had warnings\n")
    assert "specify the --force" in nsc.refused("delete", "account", "A")


def test_what_an_account_server_makes_of_an_account_is_reported(nsc: Nsc, server: AccountServer) -> None:
    file = nsc.home / "owner/.local/share/nats/nsc/stores/MO/MO.jwt"
    nsc.ok(f"add operator -u {file}")
    nsc.ok("add account A")
    path = next(iter(server.kept))
    plain = server.kept[path]
    nsc.ok("edit account A --conns 7 --leaf-conns 0")

    class Stubborn(dict[str, str]):
        """Keeps the first token, whatever is posted."""

        def __setitem__(self, name: str, token: str) -> None:
            super().__setitem__(name, plain)

    server.kept = Stubborn({path: plain})
    lines = nsc.ok("edit account A --conns 5 --data 10").splitlines()
    assert lines[-5:-1] == [
        "[ OK ] account server modifications:",
        "       > max connections changed from 5 to unlimited",
        "       > max leaf node connections changed from 0 to unlimited",
        "       > max data changed from 10 to unlimited",
    ]


def test_init_under_a_managed_operator(nsc: Nsc, server: AccountServer) -> None:
    assert "all jobs succeeded" in nsc.ok(f"init -n X -u {server.url}/operator -d here")
    assert (nsc.home / "here/MO/accounts/X/users/X.jwt").exists()
    server.operator = "nonsense"
    assert "no operator's token" in nsc.refused("init", "-n", "Y", "-u", f"{server.url}/operator")
    server.operator = ""
    assert "404" in nsc.refused("add", "operator", "-u", f"{server.url}/operator")


def test_names_are_completed(stocked: Nsc) -> None:
    stocked.ok("add account BETA")

    def completed(line: str) -> list[str]:
        env = {
            "_PYJS_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
            "XDG_CONFIG_HOME": "",
            "XDG_DATA_HOME": "",
        }
        return [shown.partition(",")[2] for shown in Cli(stocked.home).process(env=env).out.split()]

    assert completed("pyjs nsc edit account B") == ["BETA"]
    assert completed("pyjs nsc delete user -a A an") == ["ann"]
    assert completed("pyjs nsc select operator O") == ["OP"]
    assert completed("pyjs nsc add user -H elsewhere -a B") == []
    assert not (stocked.home / "elsewhere").exists()


def test_help_comes_without_delay(nsc: Nsc) -> None:
    program = "import sys, pyjs.plugins.nsc, pyjs.plugins.nsc.add; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pydantic", "nacl", "nkeys", "jwt"} & set(done.stdout.split())
    assert nsc.ok("") == nsc.ok("--help") == nsc.ok("help")
    assert nsc.ok("help add user") == nsc.ok("add user --help")
    assert "Commands:" in nsc.ok("add") and nsc.ok("-v") == nsc.ok("--version")
