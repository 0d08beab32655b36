"""What nsc shows of stored tokens, shown by `pyjs nsc`: recorded pages, JSON, single fields, and no seeds."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import termios
from pathlib import Path

import pytest
from lib.cli import PYJS, Cli, Result
from lib.nsc_folders import NscFolders
from pyjs.keys import KeyPair, KeyRole, encode

GOLDEN = Path(__file__).parent / "golden"
RECORDED = 1_795_323_600_000_000_000  # ns: 2026-11-22 05:00 UTC, when the user `full` had a day left
SEED = re.compile(r"\bS[OAUNCX][A-Z2-7]{56}\b")


def recorded() -> list[tuple[str, str]]:
    """(line, what nsc printed)."""
    parts = (GOLDEN / "pages.rec").read_text().split("\n$ ")[1:]
    return [(line, text.rstrip("\n")) for line, _, text in (part.partition("\n") for part in parts)]


class Store:
    """`pyjs nsc` on a copy of the store that nsc made."""

    def __init__(self, home: Path) -> None:
        shutil.copytree(GOLDEN / "store", home / "stores")
        (home / "keys" / "keys").mkdir(parents=True)
        folders = ("--data-dir", str(home / "stores"), "--keystore-dir", str(home / "keys"))
        self.folder = home / "stores" / "RICH"
        self.cli = Cli(home, "nsc", *folders)

    def run(self, line: str) -> Result:
        return self.cli.run(*line.split(), env={"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""})

    def ok(self, line: str) -> str:
        result = self.run(line)
        assert result.code == 0, result.err
        return result.out

    def error(self, line: str) -> str:
        result = self.run(line)
        assert result.code != 0 and "Traceback" not in result.err
        return result.err.strip()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store on the day when its pages were recorded."""
    monkeypatch.setattr("time.time_ns", lambda: RECORDED)
    return Store(tmp_path)


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "own", "A", "B")
    made.keystore.add(made.add_user("A", "ann"))
    return made


def shown(folders: NscFolders, *words: str) -> Result:
    return Cli(folders.home, "nsc", "-H", str(folders.home)).run(*words)


@pytest.mark.parametrize(("line", "text"), recorded(), ids=[line for line, _ in recorded()])
def test_pages_are_those_of_nsc(store: Store, line: str, text: str) -> None:
    assert store.ok(line).rstrip("\n") == text


def test_an_activation_has_a_page(store: Store) -> None:
    page = store.ok(f"describe jwt -f {GOLDEN / 'activation.jwt'}")
    assert "| Import Subject | priv.y" in page and "| Import Type    | Stream" in page


def test_a_token_file_is_described_without_any_store(tmp_path: Path) -> None:
    cli = Cli(tmp_path, "nsc")
    page = cli.run("describe", "jwt", "-f", str(GOLDEN / "store/RICH/RICH.jwt"), env={"NSC_CWD_ONLY": "1"})
    assert page.code == 0 and "Operator Details" in page.out


def test_output_goes_to_a_private_file(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "page.txt"
    assert "wrote account description to" in store.ok(f"describe account A -o {target}")
    assert "Account Details" in target.read_text() and target.stat().st_mode & 0o777 == 0o600
    store.ok(f"describe account A -R -o {target}")
    assert target.read_text().startswith("-----BEGIN NATS ACCOUNT JWT-----\n")


def test_accounts_operators_and_users_are_named_by_key_too(store: Store) -> None:
    for kind, flag in (("operator RICH", ""), ("account A", ""), ("user full", "-a B")):
        key = json.loads(store.ok(f"describe {kind} {flag} -F sub"))
        word = kind.split()[0]
        assert store.ok(f"describe {word} {key} {flag}") == store.ok(f"describe {kind} {flag}")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("describe account nope", "operator RICH has no account nope"),
        ("describe user -a B nope", "account B has no user nope"),
        ("describe user -a B", "a user is required: account B has 2 of them"),
        ("describe operator nope", 'operator "nope" is not in'),
        ("describe operator OAX66FVZDXBQMB23W2NF6ASZPU2C4X2ZCQGYVAFNGHOBDIG4E3WJZS2O", "no operator found"),
        ("describe jwt", "file is required"),
        ("describe jwt -f nothing.jwt", "does not exist"),
        ("describe account A -F nats.nope", "there is no 'nope'"),
        ("describe account A -F nats.exports[99].name", "there is no '99'"),
        ("list users -a nope", "operator RICH has no account nope"),
        ("list accounts -o nope", 'operator "nope" is not in'),
        ("list keys --user nope", "there is no user nope"),
        ("list keys --show-seeds --not-referenced", "specify one of"),
        ("validate -A -a B", "only one of"),
        ("validate -f nothing", "does not exist"),
        ("expirations --within soon", "'soon' is no time"),
    ],
)
def test_what_is_not_there_is_said(store: Store, line: str, error: str) -> None:
    assert error in store.error(line)


@pytest.mark.parametrize("line", ["list users -a nope", "expirations --within soon"])
def test_errors_break_at_blanks_on_a_terminal(store: Store, line: str) -> None:
    plain, shown = store.run(line).err, _on_a_terminal(store, line, 24)
    assert shown.split() == plain.split()
    assert max(map(len, shown.splitlines())) <= 24
    assert len(shown.splitlines()) > len(plain.splitlines())


def _on_a_terminal(store: Store, line: str, columns: int) -> str:
    """Return what a line writes to stderr, a terminal of so many columns."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    words = [*PYJS, *store.cli.flags, *line.split()]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs, env=store.cli.environment()):
        os.close(theirs)
        seen = b""
        while chunk := _read(ours):
            seen += chunk
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # all others have closed it
        return b""


def test_a_damaged_token_is_reported_and_the_rest_is_shown(store: Store) -> None:
    path = store.folder / "accounts/B/B.jwt"
    path.write_text(path.read_text()[:-9])
    assert "is damaged" in store.error("describe account B")
    listed = store.ok("list accounts")
    assert "| B    | error loading jwt - " in listed and "| A    | A" in listed
    failed = store.run("validate -A")
    assert failed.code == 1 and "is damaged" in failed.out and "Error: validation found errors" in failed.err
    assert "ERR" in store.ok("expirations") and "RICH/A/scoped" in store.ok("expirations")


def test_validation_ends_with_one_only_for_what_blocks(store: Store, tmp_path: Path) -> None:
    assert json.loads(store.ok("validate -A --json"))["valid"] is True
    tokens = [store.ok(f"describe account {name} -R").strip() for name in ("A", "C")]
    listed = tmp_path / "tokens"
    listed.write_text(f"ABC|{tokens[0]}\n\n{tokens[1]}\n")
    page = store.ok(f"validate -f {listed}")
    assert page.count("No issues found") == 3 and 'Account "summary of all accounts"' in page
    listed.write_text("damaged.token.here\n")
    assert "line 1 is no token" in store.error(f"validate -f {listed}")


def test_expired_tokens_fail_validation_and_are_reported(folders: NscFolders) -> None:
    claims = folders.claims("A")
    claims.exp = 1_700_000_000
    folders.change(claims)
    failed = shown(folders, "validate", "-a", "A")
    assert failed.code == 1 and "| 1 | ! | claim is expired |" in failed.out
    table = shown(folders, "expirations", "--skip").out
    assert "| Yes     | OP/A     | 2023-11-14T22:13:20Z - " in table and "OP/B" not in table
    report = json.loads(shown(folders, "expirations", "--json", "--within", "2023-01-01").out)
    assert report["expiration_threshold"] == "2023-01-01T00:00:00Z"
    entry = next(one for one in report["report"] if one["resource"] == "OP/A")
    assert entry["expired"] and not entry["expires_soon"] and entry["expiry"] == 1_700_000_000


def test_seeds_are_shown_only_when_asked_for(folders: NscFolders) -> None:
    quiet = [
        ("list", "keys", "-A"),
        ("list", "keys", "-A", "--json"),
        ("list", "keys", "--not-referenced"),
        ("describe", "user", "-a", "A", "ann"),
        ("validate", "-A"),
        ("expirations",),
        ("generate", "nkey", "-o", "-a", "-u", "-x", "--store"),
        ("generate", "profile", "nsc://OP/A/ann?names&keys"),
        ("generate", "config", "--mem-resolver"),
    ]
    for words in quiet:
        result = shown(folders, *words)
        assert result.code == 0 and not SEED.search(result.out + result.err), words
    asked = shown(folders, "list", "keys", "-A", "--show-seeds").out
    assert len(SEED.findall(asked)) == 4
    assert json.loads(shown(folders, "list", "keys", "-u", "-S", "-J").out)[0]["seed"].startswith("SU")


def test_keys_are_chosen_and_their_state_is_reported(folders: NscFolders) -> None:
    stray = KeyPair.create(KeyRole.USER)
    folders.keystore.add(stray)
    folders.keystore.remove(folders.key("B"))
    folders.keystore.path(folders.key("A")).write_text("half")
    rows = {
        row.split("|")[1].strip(): row.split("|")[4].strip()
        for row in shown(folders, "list", "keys", "-A").out.splitlines()
        if row.count("|") == 5
    }
    assert rows == {"Entity": "Stored", "OP": "*", "A": "BAD", "ann": "*", "B": ""}
    assert f"{folders.key('B')} [!]" in shown(folders, "list", "keys", "-A", "-S").out
    unknown = shown(folders, "list", "keys", "--not-referenced").out
    assert stray.public_key in unknown and "unreferenced key" in unknown and folders.key("A") not in unknown
    assert shown(folders, "list", "keys", "-f", "nothing").out == "no keys matched query\n"


def test_a_scoped_user_whose_template_changed_stays_readable(folders: NscFolders) -> None:
    claims = folders.store.user("A", "ann")
    claims.nats.src = ["10.0.0.0/8", "::1/128"]
    folders.store.write_user(encode(claims, folders.keystore.get(folders.key("A")), now=folders.now))
    assert (
        "| Network Src          | [10.0.0.0/8 ::1/128]" in shown(folders, "describe", "user", "-a", "A").out
    )
