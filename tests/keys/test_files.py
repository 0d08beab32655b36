"""Files: written whole or not at all, secrets for their owner only, errors that name the path."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from pyjs.keys import files
from pyjs.keys.errors import DamagedError, FolderError, NotFoundError


def test_new_folders_and_files_are_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    files.write(path, "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    files.write(path, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(FolderError, match="No space left"):
        files.write(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FolderError, match="cannot"):
        files.write(tmp_path / "file" / "below", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FolderError, match="folder"):
        files.write(tmp_path / "folder", "x")
    with pytest.raises(FolderError, match="cannot read"):
        files.read(tmp_path / "folder")


def test_files_that_are_missing_empty_or_no_text_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        files.read(tmp_path / "none")
    for content in (b"", b"\n \n", b"\xff\xfe", b"x" * (files.MAX_FILE + 1)):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(DamagedError, match="bad"):
            files.read(tmp_path / "bad")


def test_names_are_sorted_and_leave_out_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b", "a", ".tmp"):
        (tmp_path / name).touch()
    assert files.names(tmp_path) == ["a", "b"]
    assert files.names(tmp_path / "none") == []


def test_removing_shows_whether_there_was_something(tmp_path: Path) -> None:
    files.write(tmp_path / "x", "x")
    assert files.remove(tmp_path / "x")
    assert not files.remove(tmp_path / "x")
    (tmp_path / "d").mkdir()
    with pytest.raises(FolderError):
        files.remove(tmp_path / "d")
