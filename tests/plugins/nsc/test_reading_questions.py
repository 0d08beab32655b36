"""Questions of the reading and moving commands: which account, which user, which file."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.cli import Cli
from lib.nsc_folders import NscFolders

DOWN = "\x1b[B"


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A", "B")
    for name in ("ann", "bob"):
        made.keystore.add(made.add_user("B", name))
    return made


def asked(folders: NscFolders, line: str, *answers: tuple[str, str]) -> str:
    """Run a line on a terminal and answer its questions: what it shows at the end."""
    cli = Cli(folders.home.parent, "nsc", "-H", str(folders.home))
    with cli.terminal(line.split(), env={"XDG_CONFIG_HOME": "", "NO_COLOR": "1"}) as terminal:
        for question, answer in answers:
            terminal.answer(question, answer)
        code = terminal.finish()
        shown = "\n".join(terminal.lines()) + "\n" + terminal.errors()
    assert code == 0, shown
    return shown


def test_accounts_and_users_are_chosen(folders: NscFolders) -> None:
    shown = asked(folders, "describe account -i", ("select account", DOWN))
    assert folders.key("B") in shown
    shown = asked(folders, "describe user -i", ("select account", DOWN), ("select user", DOWN))
    assert folders.store.user("B", "bob").sub in shown
    shown = asked(folders, "validate -i", ("select account", DOWN))
    assert 'Account "B"' in shown and 'Account "A"' not in shown


def test_credentials_are_made_for_whom_is_chosen(folders: NscFolders) -> None:
    target = folders.home.parent / "made.creds"
    line = f"generate creds -i -o {target}"
    asked(folders, line, ("select account", DOWN), ("select user", ""))
    assert folders.store.user_token("B", "ann") in target.read_text()


def test_files_are_asked_for(folders: NscFolders) -> None:
    path = folders.store.account_path("A")
    assert "Account Details" in asked(folders, "describe jwt -i", ("token file or url", str(path)))


def test_a_store_to_migrate_is_asked_for(folders: NscFolders, tmp_path: Path) -> None:
    other = NscFolders(tmp_path / "other", "C")
    folders.keystore.add(other.keystore.get(other.key("C")))
    shown = asked(
        folders,
        "migrate -i",
        ("migrate all accounts under a particular operator", "y"),
        ("specify the directory for the operator", str(other.store.folder)),
    )
    assert 'migrated "C" to operator "OP"' in shown and "C" in folders.store.accounts()
