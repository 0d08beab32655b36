"""The disk refuses in the middle of a change: everything is as before, or each line says what is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyjs.keys import FolderError, NscDirectories, Workspace, files
from pyjs.keys.workspace.accounts import AccountEdits, add_account, delete_account, edit_account
from pyjs.keys.workspace.edits import SigningKeys, Tags
from pyjs.keys.workspace.operators import OperatorEdits, add_operator, edit_operator
from pyjs.keys.workspace.permissions import NO_EDITS
from pyjs.keys.workspace.users import UserRemoval, add_user, delete_users, edit_user


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    directories = NscDirectories.locate({"HOME": str(tmp_path)}, tmp_path)
    workspace = Workspace.open(directories, now=time.time_ns)
    workspace = add_operator(workspace, "OP").workspace
    workspace = add_account(workspace, "A").workspace
    add_user(workspace, "ann")
    return workspace


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """refuse(".jwt"): from now on files whose names end so can be neither written nor removed."""

    def start(suffix: str) -> None:
        write, remove = files.write, files.remove

        def guarded_write(path: Path, text: str, mode: int = 0o600) -> None:
            if path.name.endswith(suffix):
                raise FolderError(f"cannot write {path}")
            write(path, text, mode)

        def guarded_remove(path: Path) -> bool:
            if path.name.endswith(suffix):
                raise FolderError(f"cannot remove {path}")
            return remove(path)

        monkeypatch.setattr(files, "write", guarded_write)
        monkeypatch.setattr(files, "remove", guarded_remove)

    return start


def _files(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


GENERATED = SigningKeys(add=("generate",))
CHANGES: dict[str, Callable[[Workspace], object]] = {
    "add account": lambda here: add_account(here, "B"),
    "add user": lambda here: add_user(here, "bob"),
    "edit account": lambda here: edit_account(here, "A", AccountEdits(signing_keys=GENERATED)),
    "edit operator": lambda here: edit_operator(here, OperatorEdits(signing_keys=GENERATED)),
    "add operator": lambda here: add_operator(here, "O2", system=True, signing_key=True),
    "edit user": lambda here: edit_user(here, "ann", NO_EDITS, tags=Tags(add=("x",))),
}


WRITES = [(change, ".jwt") for change in CHANGES]
WRITES += [(change, ".nk") for change in CHANGES if change != "edit user"]
WRITES += [(change, ".creds") for change in ("add user", "edit user", "add operator")]


@pytest.mark.parametrize(("change", "suffix"), WRITES)
def test_a_change_that_cannot_be_written_changes_nothing(
    workspace: Workspace, tmp_path: Path, refuse: Callable[[str], None], change: str, suffix: str
) -> None:
    before = _files(tmp_path)
    refuse(suffix)
    with pytest.raises(FolderError):
        CHANGES[change](workspace)
    assert _files(tmp_path) == before


def test_an_edited_user_and_its_credentials_stay_together(
    workspace: Workspace, refuse: Callable[[str], None]
) -> None:
    token = workspace.store().user_token("A", "ann")
    refuse(".creds")
    with pytest.raises(FolderError):
        edit_user(workspace, "ann", NO_EDITS, tags=Tags(add=("x",)))
    assert workspace.store().user_token("A", "ann") == token
    assert workspace.keystore.credentials("OP", "A", "ann").jwt == token


def test_what_cannot_be_deleted_is_reported_and_the_rest_goes(
    workspace: Workspace, refuse: Callable[[str], None]
) -> None:
    refuse(".nk")
    done = delete_users(workspace, ("ann",), UserRemoval(revoke=True, keys=True, credentials=True))
    lines = [line.strip() for line in done.report.render().splitlines()]
    assert lines[2:4] == ["[ OK ] revoked user", "[ OK ] user deleted"]
    assert lines[4].startswith("[ERR ] cannot remove") and lines[5] == "[ OK ] removed creds file"
    assert workspace.store().users("A") == []
    gone = delete_account(workspace, "A", keys=True)
    assert gone.report.failed and workspace.store().accounts() == []
