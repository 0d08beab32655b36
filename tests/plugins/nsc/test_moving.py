"""Import, export, rename, reissue, migrate, fix, load: what they do, and what they refuse."""

from __future__ import annotations

import base64
import json
import shutil
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lib.cli import Cli, Result
from lib.nsc_folders import NscFolders, key_of
from pyjs.keys import (
    AccountClaims,
    KeyPair,
    KeyRole,
    OperatorClaims,
    Stores,
    decode,
    encode,
    format_credentials,
)


class Tool:
    """`pyjs nsc -H <folders>` with an operator, accounts A and B, and ann in A."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folders = NscFolders(home / "nsc", "A", "B")
        self.ann = self.folders.add_user("A", "ann")
        self.folders.keystore.add(self.ann)
        self.cli = Cli(home, "nsc", "-H", str(home / "nsc"))
        self.ok("validate", "-A")  # the first run writes the settings

    @property
    def store(self) -> Path:
        return self.folders.store.folder

    def run(self, *words: str) -> Result:
        return self.cli.run(*words, env={"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""})

    def ok(self, *words: str) -> str:
        result = self.run(*words)
        assert result.code == 0, result.out + result.err
        return result.out

    def refused(self, *words: str) -> str:
        """Run what must be refused; nothing may have changed and no seed may be told. Gives the error."""
        before = self.content()
        result = self.run(*words)
        assert result.code != 0, result.out
        assert self.content() == before and "Traceback" not in result.err
        assert self.ann.seed not in result.out + result.err
        return result.err

    def content(self) -> dict[str, bytes]:
        files = [p for p in self.home.rglob("*") if p.is_file()]
        return {str(p.relative_to(self.home)): p.read_bytes() for p in files}

    def credentials(self) -> Path:
        """Ann's credentials in a file."""
        path = self.home / "ann.creds"
        path.write_text(format_credentials(self.folders.store.user_token("A", "ann"), self.ann.seed))
        return path


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def self_signed(tool: Tool, name: str, signer: KeyPair | None = None) -> Path:
    pair = key_of(KeyRole.ACCOUNT, f"outside {name}")
    path = tool.home / f"{name}.jwt"
    claims = AccountClaims.new(pair.public_key, name)
    claims.nats.limits = type(claims.nats.limits)()
    path.write_text(encode(claims, signer or pair, now=tool.folders.now))
    return path


def test_keys_are_exported_and_imported(tool: Tool) -> None:
    target = tool.home / "out"
    output = tool.ok("export", "keys", "-A", "-d", str(target), "--include-jwts")
    assert output.count("exported") == 8 and mode(target) == 0o700
    assert {mode(path) for path in target.iterdir()} == {0o600} and tool.ann.seed not in output
    assert "already exists - specify --force" in tool.refused("export", "keys", "-u", "-d", str(target))
    other = Cli(tool.home, "nsc", "-H", str(tool.home / "other"))
    taken = other.run("import", "keys", "-d", str(target))
    assert taken.code == 0 and taken.out.count("was added to the keystore") == 4
    assert tool.ann.seed not in taken.out


def test_exporting_with_remove_moves_and_what_is_not_stored_is_skipped(tool: Tool) -> None:
    target = tool.home / "out"
    output = tool.ok("export", "keys", "-u", "-d", str(target), "--remove")
    assert f'moved "{tool.ann.public_key}"' in output and not tool.folders.keystore.has(tool.ann.public_key)
    output = tool.ok("export", "keys", "-u", "-d", str(tool.home / "more"))
    assert f'[WARN] skipped "{tool.ann.public_key}" - no seed available' in output
    assert "names no directory" in tool.refused("export", "keys", "-A", "-d", "")
    assert "no keys found" in tool.refused(
        "export", "keys", "-A", "-f", "nothing", "-d", str(tool.home / "x")
    )


def test_import_keys_reports_files_that_hold_none(tool: Tool) -> None:
    folder = tool.home / "keys"
    folder.mkdir()
    assert "no nkey (.nk) files found" in tool.refused("import", "keys", "-d", str(folder))
    assert "is not a directory" in tool.refused("import", "keys", "-d", str(folder / "none"))
    (folder / "half.nk").write_text(tool.ann.seed[:-4])
    assert "failed to import `~/keys/half.nk`" in tool.refused("import", "keys", "-d", str(folder))
    (folder / "below").mkdir()
    stray = KeyPair.create(KeyRole.CURVE)
    (folder / "below" / "x.nk").write_text(stray.seed + "\n")
    result = tool.run("import", "keys", "-R", "-d", str(folder))
    assert result.code == 1 and tool.folders.keystore.has(stray.public_key)


def test_a_user_comes_with_its_key(tool: Tool) -> None:
    creds = tool.credentials()
    assert "overwrite with --overwrite" in tool.refused("import", "user", "-f", str(creds))
    tool.folders.store.remove_user("A", "ann")
    tool.folders.keystore.remove(tool.ann.public_key)
    output = tool.ok("import", "user", "-f", str(creds))
    assert "key stored" in output and "user ann was successfully imported" in output
    assert tool.folders.store.user("A", "ann").sub == tool.ann.public_key
    assert tool.folders.keystore.get(tool.ann.public_key).seed == tool.ann.seed
    tool.ok("import", "user", "-f", str(creds), "--overwrite")


def test_users_that_do_not_belong_here(tool: Tool) -> None:
    creds = tool.credentials()
    wrong = tool.home / "wrong.creds"
    wrong.write_text(creds.read_text().replace(tool.ann.seed, KeyPair.create(KeyRole.USER).seed))
    assert "is not that of the token's user" in tool.refused("import", "user", "-f", str(wrong))
    damaged = tool.home / "damaged.jwt"
    damaged.write_text(tool.folders.store.user_token("A", "ann")[:-5])
    assert "failed to decode" in tool.refused("import", "user", "-f", str(damaged))
    account = tool.home / "account.jwt"
    account.write_text(tool.folders.store.account_token("A"))
    assert "token of 'account'" in tool.refused("import", "user", "-f", str(account))
    assert "expected these file endings" in tool.refused("import", "user", "-f", str(tool.home / "x.txt"))
    assert "does not exist" in tool.refused("import", "user", "-f", str(tool.home / "x.jwt"))
    tool.folders.store.remove_account("A")
    assert "not found, import first" in tool.refused("import", "user", "-f", str(creds))


def test_an_account_that_signed_itself_is_signed(tool: Tool) -> None:
    path = self_signed(tool, "NEW")
    assert "account NEW was successfully imported" in tool.ok("import", "account", "-j", str(path))
    assert tool.folders.claims("NEW").iss == tool.folders.operator.public_key
    assert "overwrite with --overwrite" in tool.refused("import", "account", "-j", str(path))
    tool.ok("import", "account", "-j", str(path), "--overwrite")


def test_an_account_of_another_operator_needs_force(tool: Tool) -> None:
    path = self_signed(tool, "NEW", KeyPair.create(KeyRole.OPERATOR))
    assert "signed by same operator" in tool.refused("import", "account", "-j", str(path))
    tool.ok("import", "account", "-j", str(path), "--force")
    assert tool.folders.claims("NEW").iss == tool.folders.operator.public_key


def test_accounts_that_cannot_be_taken_in(tool: Tool) -> None:
    collision = self_signed(tool, "A")
    output = tool.refused("import", "account", "-j", str(collision), "--overwrite")
    assert "name collision only" in output
    claims = tool.folders.claims("A")
    claims.name = "TWIN"
    twin = tool.home / "twin.jwt"
    twin.write_text(encode(claims, tool.folders.operator, now=tool.folders.now))
    assert 'is stored already, as "A"' in tool.refused("import", "account", "-j", str(twin))
    claims = AccountClaims.new(key_of(KeyRole.ACCOUNT, "late").public_key, "LATE")
    claims.exp = 1_700_000_000
    late = tool.home / "late.jwt"
    late.write_text(encode(claims, tool.folders.operator, now=tool.folders.now))
    assert "validation is blocking, skip with --skip" in tool.refused("import", "account", "-j", str(late))
    tool.ok("import", "account", "-j", str(late), "--skip")


def test_an_account_is_renamed_with_users_and_credentials(tool: Tool) -> None:
    keystore = tool.folders.keystore
    token = tool.folders.store.user_token("A", "ann")
    keystore.write_credentials("OP", "A", "ann", token, tool.ann.seed)
    key = tool.folders.key("A")
    tool.ok("select", "account", "A")
    assert 'required flag "OK" not set' in tool.refused("rename", "account", "A", "NEW")
    output = tool.ok("rename", "account", "A", "NEW", "--OK")
    assert output.startswith('[ OK ] rename account "A" to "NEW":\n       [ OK ] copy account "A" to "NEW"\n')
    assert tool.folders.store.accounts() == ["B", "NEW"] and tool.folders.claims("NEW").sub == key
    assert tool.folders.store.user_token("NEW", "ann") == token
    assert keystore.credentials("OP", "NEW", "ann").jwt == token
    assert json.loads(tool.ok("env", "--json"))["account"] == "NEW"
    tool.ok("validate", "-A")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("A", "B"), 'account "B" already exists'),
        (("A", "b"), 'account "B" already exists'),
        (("nope", "C"), "no account nope"),
        (("A", "x/y"), "name cannot contain"),
        (("A", ""), "is required"),
    ],
)
def test_renamings_that_are_refused(tool: Tool, words: tuple[str, str], error: str) -> None:
    assert error in tool.refused("rename", "account", *words, "--OK")


def test_renaming_needs_the_operators_key_and_room(tool: Tool) -> None:
    (tool.folders.keystore.root / "creds/OP/NEW").mkdir(parents=True)
    assert "already exists" in tool.refused("rename", "account", "A", "NEW", "--OK")
    tool.folders.keystore.remove(tool.folders.operator.public_key)
    assert "signing keys" in tool.refused("rename", "account", "A", "OTHER", "--OK")


def test_an_operator_gets_a_new_identity(tool: Tool) -> None:
    old = tool.folders.operator.public_key
    output = tool.ok("reissue", "operator")
    new = tool.folders.store.operator().sub
    assert new != old and tool.folders.keystore.has(new) and tool.folders.keystore.has(old)
    assert f'operator "OP" successfully changed identity to: {new}' in output
    assert output.count("re-signed") == 2 and tool.folders.claims("A").iss == new
    tool.ok("validate", "-A")


def test_an_old_identity_may_become_a_signing_key(tool: Tool) -> None:
    old = tool.folders.operator.public_key
    given = KeyPair.create(KeyRole.OPERATOR)
    output = tool.ok("reissue", "operator", "--convert-to-signing-key", "-K", given.seed)
    operator = tool.folders.store.operator()
    assert (operator.sub, operator.nats.signing_keys) == (given.public_key, [old])
    assert "turned into signing key" in output and given.seed not in output
    assert tool.folders.claims("A").iss == old
    tool.ok("validate", "-A")


def test_a_strict_operator_needs_a_signing_key_to_be_reissued(tool: Tool) -> None:
    claims: OperatorClaims = tool.folders.store.operator()
    claims.nats.strict_signing_key_usage = True
    tool.folders.store.write_operator(encode(claims, tool.folders.operator, now=tool.folders.now))
    assert "only supported with signing keys present" in tool.refused("reissue", "operator")
    assert 'operator "nope" is not in' in tool.refused("reissue", "operator", "-n", "nope")
    words = ("reissue", "operator", "--convert-to-signing-key", "-K", tool.ann.public_key)
    assert "not of an operator" in tool.refused(*words)


def test_a_damaged_account_stops_a_reissue_before_it_begins(tool: Tool) -> None:
    path = tool.folders.store.account_path("B")
    path.write_text(path.read_text()[:80])
    assert "is damaged" in tool.refused("reissue", "operator")


def test_accounts_are_migrated_with_their_users(tool: Tool) -> None:
    other = NscFolders(tool.home / "other", "C", "A")
    claims = other.claims("C")
    operator = KeyPair.create(KeyRole.OPERATOR)
    other.store.write_operator(
        encode(OperatorClaims.new(operator.public_key, "OTHER"), operator, now=other.now), reissued=True
    )
    other.operator = operator
    other.change(claims)
    other.add_user("C", "carl")
    tool.folders.keystore.add(other.keystore.get(claims.sub))
    result = tool.run("migrate", "--operator-dir", str(other.store.folder))
    assert result.code == 1 and 'account "A" already exists' in result.err
    assert '[ OK ] migrated "C" to operator "OP" [1 users migrated]' in result.err
    assert tool.folders.claims("C").iss == tool.folders.operator.public_key
    assert tool.folders.store.users("C") == ["carl"]
    tool.ok("validate", "-A")


def test_migrations_that_are_refused(tool: Tool) -> None:
    own = str(tool.folders.store.account_path("A"))
    assert "onto itself" in tool.refused("migrate", "--url", own, "--force")
    path = self_signed(tool, "NEW")
    assert "unable to find an account key" in tool.refused("migrate", "-u", str(path))
    assert "specify one of" in tool.refused("migrate")
    assert "is not the store of an operator" in tool.refused("migrate", "--operator-dir", str(tool.home))


def test_an_operator_is_rebuilt_from_loose_files(tool: Tool) -> None:
    loose = tool.home / "loose"
    tool.ok("export", "keys", "-A", "-d", str(loose), "--include-jwts")
    (loose / "rubbish.jwt").write_text("not a token")
    fixed = tool.home / "fixed"
    output = tool.ok("fix", "--in", str(loose), "--out", str(fixed))
    assert "[WARN] error loading" in output and tool.ann.seed not in output
    assert [line for line in output.splitlines() if line.startswith("stored")] == [
        "stored 1 operators",
        "stored 2 accounts",
        "stored 1 users",
        "stored 4 nkeys",
    ]
    store = Stores(fixed / "operators").open("OP")
    assert store.users("A") == ["ann"] and mode(fixed / "keys/creds/OP/A/ann.creds") == 0o600
    assert "exists already" in tool.refused("fix", "--in", str(loose), "--out", str(fixed))
    empty = tool.home / "empty"
    empty.mkdir()
    assert "no operator found" in tool.refused("fix", "--in", str(empty), "--out", str(tool.home / "x"))
    assert "is not a directory" in tool.refused("fix", "--in", str(tool.home / "nope"))


def test_an_old_keystore_is_moved_and_kept(tool: Tool) -> None:
    keys = tool.home / "keystore"
    old = keys / "U" / tool.ann.public_key[1:3]
    old.mkdir(parents=True)
    (old / f"{tool.ann.public_key}.nk").write_text(tool.ann.seed)
    users = keys / "OP/accounts/A/users"
    users.mkdir(parents=True)
    shutil.copy(tool.credentials(), users / "ann.creds")
    words = ("--keystore-dir", str(keys))
    assert "older layout" in tool.refused("list", "keys", *words)
    output = tool.ok("keys", "migrate", *words)
    assert "was migrated - old store was renamed to" in output
    assert (keys / "creds/OP/A/ann.creds").is_file() and mode(keys / "creds/OP/A/ann.creds") == 0o600
    assert tool.ann.public_key in tool.ok("list", "keys", "-u", *words)
    assert "does not need migration" in tool.ok("keys", "migrate", *words)
    assert len(list(tool.home.glob("keystore_*"))) == 1


def test_a_keystore_with_a_damaged_seed_is_left_alone(tool: Tool) -> None:
    keys = tool.home / "keystore"
    keys.mkdir()
    (keys / "half.nk").write_text(tool.ann.seed[:20])
    assert "holds no seed" in tool.refused("keys", "migrate", "--keystore-dir", str(keys))
    shared = tool.home / "nsc" / "stray.nk"
    shared.write_text(tool.ann.seed)
    assert "holds stores or settings too" in tool.refused("keys", "migrate")


def test_pyjs_does_not_pretend_to_update_itself(tool: Tool) -> None:
    assert "pip does: pip install --upgrade pyjs" in tool.ok("update")


@pytest.fixture
def account_server(tool: Tool) -> Iterator[str]:
    """An account server with another operator and its account REMOTE; gives its URL."""
    remote = NscFolders(tool.home / "remote", "REMOTE")
    tokens: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            token = tokens.get(self.path)
            self.send_response(200 if token else 404)
            self.end_headers()
            self.wfile.write((token or "").encode())

        def log_message(self, *words: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        url = f"http://127.0.0.1:{server.server_port}/jwt/v2"
        claims = remote.store.operator()
        claims.name, claims.nats.account_server_url = "FAR", url
        tokens["/jwt/v2/operator"] = encode(claims, remote.operator, now=remote.now)
        key = key_of(KeyRole.ACCOUNT, "REMOTE")
        tokens[f"/jwt/v2/accounts/{key.public_key}"] = remote.store.account_token("REMOTE")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield url
        server.shutdown()
        thread.join()


def test_everything_is_loaded_from_an_account_server(tool: Tool, account_server: str) -> None:
    seed = key_of(KeyRole.ACCOUNT, "REMOTE").seed
    words = ("load", "--url", f"{account_server}/operator", "--seed", seed)
    output = tool.ok(*words, "--user", "me")
    assert "added user" in output and seed not in output
    store = Stores(tool.home / "nsc").open("FAR")
    assert store.managed and store.users("REMOTE") == ["me"]
    assert (tool.home / "nsc/creds/FAR/REMOTE/me.creds").is_file()
    again = tool.run(*words, "--user", "me")
    assert again.code == 0 and 'the user "me" already exists' in again.out
    decode(store.account_token("REMOTE"), AccountClaims)


def test_loads_that_are_refused(tool: Tool, account_server: str) -> None:
    url = f"{account_server}/operator"
    assert "expected account seed" in tool.refused("load", "--url", url)
    assert "not of an account" in tool.refused("load", "--url", url, "--seed", tool.ann.seed)
    unknown = KeyPair.create(KeyRole.ACCOUNT).seed
    output = tool.refused("load", "--url", url, "--seed", unknown)
    assert "404" in output and unknown not in output
    assert "missing account server URL" in tool.refused("load", "--seed", unknown)
    assert "unable to find operator" in tool.refused("load", "--profile", f"nsc://nowhere?secret={unknown}")
    output = tool.refused("load", "--profile", f"http://x?secret={unknown}")
    assert "the profile must be nsc://" in output and unknown not in output


def test_tokens_of_version_1_are_upgraded_after_a_question(tool: Tool) -> None:
    path, operator = tool.folders.store.operator_path, tool.folders.operator

    def chunk(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    key = operator.public_key
    claims = {"iss": key, "sub": key, "iat": 1, "name": "OP", "type": "operator", "nats": {}}
    payload = chunk(json.dumps(claims).encode())
    header = chunk(b'{"typ":"jwt","alg":"ed25519"}')
    path.write_text(f"{header}.{payload}.{chunk(operator.sign(payload.encode()))}")
    assert "upgrade the store first" in tool.refused("describe", "operator")
    assert "--force does it without asking" in tool.refused("upgrade-jwt")
    zipped = tool.home / "saved.zip"
    output = tool.ok("upgrade-jwt", "--force", "--backup", str(zipped))
    assert "It does not contain keys" in output and "Converted Operator: OP" in output and zipped.is_file()
    assert "No change was applied" in tool.ok("upgrade-jwt")
    tool.ok("validate", "-A")
