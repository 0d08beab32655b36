"""Bad input about identity: one clear error, exit code 1, no secret shown, nothing changed.

`MATRIX` lists what may be wrong, and for each the tests that show what happens; those of this file go
through the command line, the others through the server's sockets or the library.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.nsc_folders import NscFolders, key_of
from lib.operator_fixture import OperatorEnv, reheaded, tampered, unsigned
from lib.operator_store import written
from lib.process import ServerProcess
from pyjs.keys import AccountClaims, ActivationClaims, KeyPair, KeyRole, OperatorClaims, Stores, encode

TESTS = Path(__file__).parents[2]
HERE = "plugins/nsc/test_bad_identity.py::test_a_line_is_refused"
CONNECT = "conformance/test_operator_connect.py::test_refused"
PUSHED = "conformance/test_operator_claims.py"
SHARING = "conformance/test_operator_sharing.py"
MATRIX = {
    "wrong key for a role": [HERE, "keys/test_nkey.py"],
    "seed where a public key is expected": [
        HERE,
        "keys/workspace/test_imports.py::test_a_seed_where_a_public_key_belongs_is_refused_unsaid",
    ],
    "tampered signature": [
        HERE,
        CONNECT,
        f"{PUSHED}::test_a_push_of_what_is_no_accounts_token_changes_nothing",
    ],
    "alg other than ed25519-nkey, none included": [
        HERE,
        CONNECT,
        f"{PUSHED}::test_a_push_of_what_is_no_accounts_token_changes_nothing",
    ],
    "expired tokens": [
        CONNECT,
        "conformance/test_operator_sessions.py::test_a_session_ends_with_its_token",
        "conformance/test_operator_connect.py::test_an_account_that_has_expired_lets_nobody_in",
        "keys/workspace/test_imports.py::test_an_expired_activation_is_refused",
        "keys/workspace/test_servers.py::test_an_expired_account_is_sent_only_by_force",
    ],
    "not-yet-valid tokens": [CONNECT],
    "wrong issuer": [HERE, CONNECT, f"{SHARING}::test_an_activation_that_does_not_hold"],
    "unknown operator": [
        CONNECT,
        f"{PUSHED}::test_a_push_of_another_operators_account_lets_nobody_in",
        "conformance/test_operator_connect.py::test_an_account_token_that_an_unknown_operator_signed",
    ],
    "self-import": [HERE],
    "import cycle": [
        "plugins/nsc/test_bad_identity.py::test_a_circle_of_imports_is_refused",
        "keys/workspace/test_imports.py::test_a_circle_of_imports_is_reported_with_its_way",
        "keys/workspace/test_relations.py::test_circles_are_found",
    ],
    "overlapping exports": [HERE],
    "wildcard count mismatch in --local-subject": [HERE],
    "a store from another operator": ["plugins/nsc/test_bad_identity.py::test_a_store_of_another_operator"],
    "a read-only store file": [
        "keys/workspace/test_account_update.py::test_a_store_that_cannot_be_written_is_left",
        "keys/workspace/test_failures.py::test_a_change_that_cannot_be_written_changes_nothing",
    ],
    "a half-written store file": [
        "plugins/nsc/test_bad_identity.py::test_a_damaged_store_file_is_left_alone"
    ],
    "a push to a server with another operator": [
        "plugins/nsc/test_bad_identity.py::test_a_push_to_a_server_of_another_operator"
    ],
    "a resolver directory with a damaged file": [f"{PUSHED}::test_a_folder_with_a_damaged_file"],
}


@pytest.mark.parametrize("line", MATRIX)
def test_each_kind_of_bad_input_has_its_tests(line: str) -> None:
    for test in MATRIX[line]:
        path, _, name = test.partition("::")
        module = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert not name or name in {n.name for n in module.body if isinstance(n, ast.FunctionDef)}, test


class NscEnv:
    """Folders with accounts A, B and the user ann of A, and `pyjs nsc` at work on them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folders = NscFolders(home / "nsc", "A", "B")
        self.folders.keystore.add(self.folders.add_user("A", "ann"))
        self.cli = Cli(home, "nsc", "-H", str(home / "nsc"))
        for account, subject in (("A", "out.>"), ("B", "open.*.*")):
            self.cli.ok("add", "export", "--account", account, "--subject", subject)
        self.cli.ok("add", "export", "--account", "A", "--subject", "priv", "--private")
        self.cli.ok("add", "export", "--account", "B", "--subject", "hidden.>", "--private")

    def file(self, name: str, text: str) -> str:
        path = self.home / name
        path.write_text(text)
        return str(path)

    def token(self, *, by: KeyPair | None = None) -> str:
        """A token for an account that is not in the store."""
        claims = AccountClaims.new(key_of(KeyRole.ACCOUNT, "NEW").public_key, "NEW")
        return encode(claims, by or self.folders.operator, now=self.folders.now)

    def refused(self, line: str, *secrets: str) -> str:
        """Run a line that must be refused: its error. Nothing changes, and no seed is shown."""
        before = self.folders.content()
        result = self.cli.run(*shlex.split(line))
        assert result.code == 1, result.out + result.err
        assert result.err.splitlines()[-1].startswith("Error: "), result.err
        assert "Traceback" not in result.err
        assert self.folders.content() == before
        seeds = [
            key_of(KeyRole.ACCOUNT, "A").seed,
            key_of(KeyRole.USER, "ann").seed,
            self.folders.operator.seed,
        ]
        assert not [s for s in (*seeds, *secrets) if s in result.out + result.err]
        return result.err


@pytest.fixture
def env(tmp_path: Path) -> NscEnv:
    return NscEnv(tmp_path)


def user_seed() -> str:
    return key_of(KeyRole.USER, "secret").seed


def account_seed() -> str:
    return key_of(KeyRole.ACCOUNT, "secret").seed


def activation(env: NscEnv) -> str:
    """Leave for A to import from B, signed by a key that is none of B's."""
    claims = ActivationClaims.new(env.folders.key("A"), "hidden.a", "stream")
    claims.nats.issuer_account = env.folders.key("B")
    return env.file("token", encode(claims, key_of(KeyRole.ACCOUNT, "stranger"), now=env.folders.now))


LINES: dict[str, tuple[Callable[[NscEnv], str], str]] = {
    "wrong-role-account": (
        lambda s: f"add account --name X --public-key {key_of(KeyRole.USER, 'x').public_key}",
        "not of an account",
    ),
    "wrong-role-user": (
        lambda s: f"add user --account A --name x --public-key {key_of(KeyRole.ACCOUNT, 'x').public_key}",
        "not of a user",
    ),
    "wrong-role-signing-key": (
        lambda s: f"edit account --name A --sk {key_of(KeyRole.USER, 'x').public_key}",
        "not of an account",
    ),
    "wrong-role-operator-signing-key": (
        lambda s: f"edit operator --sk {key_of(KeyRole.ACCOUNT, 'x').public_key}",
        "not of an operator",
    ),
    "wrong-role-private-key": (
        lambda s: f"add account --name X -K {user_seed()}",
        "not of an operator",
    ),
    "wrong-role-source-account": (
        lambda s: (
            f"add import --account A --src-account {key_of(KeyRole.USER, 'x').public_key} "
            "--remote-subject open.a.b"
        ),
        "not of an account",
    ),
    "damaged-key": (
        lambda s: f"edit account --name A --sk {key_of(KeyRole.ACCOUNT, 'x').public_key[:-1]}X",
        "checksum does not match",
    ),
    "seed-as-user-revoked": (
        lambda s: f"revocations add-user --account A --user-public-key {user_seed()}",
        "a public key is expected",
    ),
    "seed-as-source-account": (
        lambda s: f"add import --account A --src-account {account_seed()} --remote-subject open.a.b",
        "a public key is expected",
    ),
    "seed-as-target-account": (
        lambda s: f"generate activation --account A --subject priv --target-account {account_seed()}",
        "a public key is expected",
    ),
    "wrong-issuer-private-key": (
        lambda s: f"add user --account A --name x -K {key_of(KeyRole.ACCOUNT, 'B').seed}",
        "may not sign here",
    ),
    "wrong-issuer-activation": (
        lambda s: (
            f"add import --account B --token {activation(s, key_of(KeyRole.USER, 'x'))}"
            if False
            else f"add import --account A --token {activation(s)}"
        ),
        "no key of",
    ),
    "wrong-issuer-account": (
        lambda s: f"import account --file {s.file('a.jwt', s.token(by=key_of(KeyRole.OPERATOR, 'other')))}",
        "same operator",
    ),
    "tampered-account": (
        lambda s: f"import account --file {s.file('a.jwt', tampered(s.token(), name='OTHER'))}",
        "the signature is not that of",
    ),
    "tampered-operator": (
        lambda s: (
            "add operator --url "
            + s.file("o.jwt", tampered(s.folders.store.operator_path.read_text(), name="X"))
        ),
        "the signature is not that of",
    ),
    "alg-none": (
        lambda s: f"import account --file {s.file('a.jwt', unsigned(s.token()))}",
        "failed to decode",
    ),
    "alg-hs256": (
        lambda s: (
            "import account --file " + s.file("a.jwt", reheaded(s.token(), s.folders.operator, alg="HS256"))
        ),
        "only ed25519-nkey is accepted",
    ),
    "self-import": (
        lambda s: "add import --account A --src-account A --remote-subject out.a --local-subject in.a",
        "cannot import from itself",
    ),
    "overlapping-exports": (
        lambda s: "add export --account A --subject out.a",
        "already exports",
    ),
    "overlapping-exports-wider": (
        lambda s: "add export --account A --subject >",
        "already exports",
    ),
    "local-subject-too-few": (
        lambda s: "add import --account A --src-account B --remote-subject open.*.* --local-subject in.*",
        "there are 2, it uses 1",
    ),
    "local-subject-too-many": (
        lambda s: "add import --account A --src-account B --remote-subject open.*.a --local-subject in.$1.$2",
        "there are 1, it uses 2",
    ),
    "local-subject-other-kind": (
        lambda s: "add import --account A --src-account B --remote-subject open.*.* --local-subject in.>",
        "there are 2, it uses 0",
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_a_line_is_refused(env: NscEnv, case: str) -> None:
    line, word = LINES[case]
    error = env.refused(line(env), user_seed(), account_seed(), key_of(KeyRole.ACCOUNT, "B").seed)
    assert word in error


def test_a_circle_of_imports_is_refused(env: NscEnv) -> None:
    for account in ("A", "B"):
        env.cli.ok("add", "export", "--account", account, "--subject", "x", "--service")
    env.cli.ok(*shlex.split("add import --account A --src-account B --remote-subject x --service"))
    error = env.refused("add import --account B --src-account A --remote-subject x --service")
    assert "circle: B imports from A imports from B" in error


def test_a_store_of_another_operator(env: NscEnv, tmp_path: Path) -> None:
    """Its accounts are not taken, and its operator's key does not sign here."""
    other = KeyPair.create(KeyRole.OPERATOR)
    stores = Stores(tmp_path / "elsewhere")
    store = stores.create("OTHER")
    store.write_operator(encode(OperatorClaims.new(other.public_key, "OTHER"), other, now=env.folders.now))
    pair = KeyPair.create(KeyRole.ACCOUNT)
    store.write_account(encode(AccountClaims.new(pair.public_key, "Z"), other, now=env.folders.now))
    env.refused(f"import account --file {store.account_path('Z')}")
    env.refused(f"add account --name X -K {other.seed}", other.seed)


@pytest.mark.parametrize(
    "line", ["edit account --name A --tag x", "describe account --name A", "add user -a A -n x"]
)
@pytest.mark.parametrize("damage", ["empty", "half", "noise"])
def test_a_damaged_store_file_is_left_alone(env: NscEnv, line: str, damage: str) -> None:
    path = env.folders.store.account_path("A")
    token = path.read_text()
    path.write_bytes({"empty": b"", "half": token[: len(token) // 2].encode(), "noise": b"\xff\x00"}[damage])
    assert "A.jwt" in env.refused(line)


@pytest.fixture
def foreign(launch: Callable[[str], ServerProcess]) -> Iterator[ServerProcess]:
    """A server of another operator."""
    yield launch(OperatorEnv().full())


def test_a_push_to_a_server_of_another_operator(foreign: ServerProcess, tmp_path: Path) -> None:
    """Neither the server nor the store changes, whoever's server it is."""
    mine = OperatorEnv()
    account = mine.account("ONE")
    written(mine, tmp_path / "nsc", url=foreign.url)
    cli = Cli(tmp_path, "nsc", "-H", str(tmp_path / "nsc"))
    stored = {p: p.read_bytes() for p in (foreign.directory / "store").rglob("*.jwt")}
    result = cli.run("push", "-A")
    assert result.code == 1
    assert "Authorization Violation" in result.err
    assert account.key.seed not in result.out + result.err
    assert {p: p.read_bytes() for p in (foreign.directory / "store").rglob("*.jwt")} == stored
