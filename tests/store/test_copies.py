"""A small file that is stored twice, on a real disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.store.copies import COPY, read_copies, repair, write_copies
from pyjs.store.errors import Damaged
from pyjs.store.fs import Disk


def decode(data: bytes, _: str) -> bytes:
    return data


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("end", ["", COPY])
def test_a_directory_in_its_place_is_reported_and_set_aside(tmp_path: Path, end: str, durable: bool) -> None:
    path, wrong = tmp_path / "life", tmp_path / f"life{end}"
    write_copies(Disk(), str(path), b"content\n")
    for name in ("inside", "another"):  # a second one, where one was set aside before
        wrong.unlink()
        wrong.mkdir()
        (wrong / name).write_bytes(b"somebody's")
        found = read_copies(Disk(), str(path), decode)
        assert (found.value, found.damage) == (b"content\n", f"{wrong}: Is a directory")
        repair(Disk(), str(path), found, durable=durable)
        assert wrong.read_bytes() == b"content\n"
        assert read_copies(Disk(), str(path), decode).damage == ""
    kept = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.glob("*strange*/*"))
    assert kept == [f"life{end}.strange.1/another", f"life{end}.strange/inside"]


def test_two_directories_leave_nothing_to_read(tmp_path: Path) -> None:
    for end in ("", COPY):
        (tmp_path / f"life{end}").mkdir()
    with pytest.raises(Damaged, match="Is a directory"):
        read_copies(Disk(), str(tmp_path / "life"), decode)
