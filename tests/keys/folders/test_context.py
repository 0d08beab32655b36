"""Where the folders are and what is current in them: flags, environment, working directory, settings."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from pyjs.keys.errors import DamagedError, FolderError, NotFoundError
from pyjs.keys.folders.context import NscContext
from pyjs.keys.folders.locations import NscDirectories
from pyjs.keys.folders.settings import NscSettings
from pyjs.keys.folders.store import OperatorStore, Stores


def _home(tmp_path: Path, cwd: Path | None = None, **environment: str) -> NscDirectories:
    return NscDirectories.locate({"HOME": str(tmp_path / "home"), **environment}, cwd or tmp_path)


def test_the_defaults_are_below_xdg_directories(tmp_path: Path) -> None:
    directories = _home(tmp_path)
    base = tmp_path / "home"
    assert directories.config == base / ".config" / "nats" / "nsc"
    assert directories.keys == base / ".local" / "share" / "nats" / "nsc" / "keys"
    assert directories.default_stores == base / ".local" / "share" / "nats" / "nsc" / "stores"
    moved = _home(tmp_path, XDG_CONFIG_HOME="/c", XDG_DATA_HOME="/d")
    assert (moved.config, moved.keys) == (Path("/c/nats/nsc"), Path("/d/nats/nsc/keys"))


def test_older_folders_are_used_where_only_they_exist(tmp_path: Path) -> None:
    base = tmp_path / "home"
    (base / ".nsc" / "nats").mkdir(parents=True)
    (base / ".nkeys").mkdir()
    (base / ".nsc" / "nsc.json").write_text("{}")
    directories = _home(tmp_path)
    assert (directories.config, directories.keys, directories.default_stores) == (
        base / ".nsc",
        base / ".nkeys",
        base / ".nsc" / "nats",
    )
    (base / ".config" / "nats" / "nsc").mkdir(parents=True)
    (base / ".config" / "nats" / "nsc" / "nsc.json").write_text("{}")
    (base / ".local" / "share" / "nats" / "nsc" / "keys").mkdir(parents=True)
    directories = _home(tmp_path)
    assert directories.config == base / ".config" / "nats" / "nsc"
    assert directories.keys == base / ".local" / "share" / "nats" / "nsc" / "keys"


def test_flags_win_over_the_environment(tmp_path: Path) -> None:
    environment = {"HOME": "/h", "NSC_HOME": "~/conf", "NKEYS_PATH": "keys"}
    directories = NscDirectories.locate(environment, tmp_path)
    assert (directories.config, directories.keys, directories.stores) == (
        Path("/h/conf"),
        tmp_path / "keys",
        None,
    )
    directories = NscDirectories.locate(environment, tmp_path, all_dirs="/all", keystore_dir="/k")
    assert (directories.config, directories.keys, directories.stores) == (
        Path("/all"),
        Path("/k"),
        Path("/all"),
    )
    with pytest.raises(FolderError, match="HOME"):
        NscDirectories.locate({}, tmp_path)


def test_a_first_run_takes_the_default_root_and_saves_settings_as_nsc_does(
    tmp_path: Path, store: OperatorStore
) -> None:
    directories = _home(tmp_path)
    context = NscContext.load(directories)
    assert (context.first_run, context.operator, context.stores.root) == (
        True,
        "",
        directories.default_stores,
    )
    context = context.with_root(store.folder.parent).save()
    assert (context.operator, context.account) == ("OP", "ACC")
    text = directories.settings_file.read_text()
    assert text == (
        f'{{"store_root":"{store.folder.parent}","operator":"OP","account":"ACC",'
        '"github_updates":"nats-io/nsc","last_update":0}'
    )
    assert stat.S_IMODE(directories.settings_file.stat().st_mode) == 0o600
    again = NscContext.load(directories)
    assert (again.first_run, again.operator, again.account) == (False, "OP", "ACC")


def test_settings_keep_what_they_do_not_know(tmp_path: Path) -> None:
    path = tmp_path / "nsc.json"
    path.write_text('{"store_root":"/s","operator":null,"last_update":7,"new":[1]}')
    settings = NscSettings.load(path)
    assert settings is not None
    settings.save(path)
    assert json.loads(path.read_text())["new"] == [1]
    assert json.loads(path.read_text())["last_update"] == 7


@pytest.mark.parametrize("content", ["", "{", "[]", '{"store_root":5}'])
def test_damaged_settings_are_said_to_be(tmp_path: Path, content: str) -> None:
    directories = _home(tmp_path)
    directories.settings_file.parent.mkdir(parents=True)
    directories.settings_file.write_text(content)
    with pytest.raises(DamagedError, match=r"nsc\.json"):
        NscContext.load(directories)


def _saved(directories: NscDirectories, root: Path, operator: str = "", account: str = "") -> None:
    NscSettings(store_root=str(root), operator=operator, account=account).save(directories.settings_file)


def test_a_choice_that_is_gone_is_dropped_and_a_sole_one_taken(
    tmp_path: Path, store: OperatorStore, party: Any
) -> None:
    directories, root = _home(tmp_path), store.folder.parent
    _saved(directories, root, "GONE", "GONE")
    assert (NscContext.load(directories).operator, NscContext.load(directories).account) == ("OP", "ACC")
    Stores(root).create("SECOND")
    assert (NscContext.load(directories).operator, NscContext.load(directories).account) == ("", "")
    _saved(directories, root, "OP", "GONE")
    assert (NscContext.load(directories).operator, NscContext.load(directories).account) == ("OP", "ACC")


def test_choosing(tmp_path: Path, store: OperatorStore, party: Any) -> None:
    directories, root = _home(tmp_path), store.folder.parent
    _saved(directories, root)
    other = type(party.account_claims()).new(party.other.public_key, "OTHER")
    store.write_account(party.signed(other, party.operator))
    Stores(root).create("SECOND")
    context = NscContext.load(directories).with_operator("OP")
    assert (context.operator, context.account) == ("OP", "")
    assert context.with_account(party.other.public_key).account == "OTHER"
    assert context.with_account("ACC").with_operator("SECOND").account == ""
    assert context.store().name == "OP"
    assert context.keystore.root == directories.keys
    for choose in (context.with_operator, context.with_account):
        with pytest.raises(NotFoundError):
            choose("NONE")
    with pytest.raises(NotFoundError, match="no operator is current"):
        NscContext.load(directories).store()


@pytest.mark.parametrize(
    ("below", "operator"), [("OP", "OP"), ("", "OP"), ("OP/accounts", "OP"), ("OP/accounts/ACC/users", "OP")]
)
def test_the_working_directory_wins_over_the_settings(
    tmp_path: Path, store: OperatorStore, below: str, operator: str
) -> None:
    root = store.folder.parent
    directories = _home(tmp_path, root / below)
    assert not NscContext.load(directories).from_cwd
    _saved(directories, tmp_path / "elsewhere", "X", "Y")
    context = NscContext.load(directories)
    assert (context.from_cwd, context.stores.root, context.operator) == (True, root, operator)
    assert context.account == "ACC"


def test_the_working_directory_alone_decides_where_that_is_wanted(
    tmp_path: Path, store: OperatorStore
) -> None:
    inside = _home(tmp_path, store.folder / "accounts" / "ACC", NSC_CWD_ONLY="")
    inside.settings_file.parent.mkdir(parents=True)
    inside.settings_file.write_text("damaged, and not read")
    context = NscContext.load(inside)
    assert (context.operator, context.account, context.first_run) == ("OP", "ACC", False)
    with pytest.raises(FolderError, match="NSC_CWD_ONLY"):
        context.save()
    assert inside.settings_file.read_text() == "damaged, and not read"


def test_a_root_named_by_a_flag_wins_over_the_working_directory(tmp_path: Path, store: OperatorStore) -> None:
    environment = {"HOME": str(tmp_path / "home")}
    directories = NscDirectories.locate(environment, store.folder, data_dir=str(tmp_path / "named"))
    _saved(directories, store.folder.parent, "OP")
    assert NscContext.load(directories).stores.root == tmp_path / "named"
