"""The real disk: parts are written as if joined, however large, and however the system takes them."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from pyjs.store.fs import Disk


@pytest.mark.parametrize(
    ("count", "smallest", "largest"),
    [(1, 0, 10), (1, 9000, 9000), (40, 1, 200), (40, 3000, 9000), (1100, 2048, 2100), (3, 0, 9000)],
)
def test_parts_are_written_one_after_the_other(
    tmp_path: Path, count: int, smallest: int, largest: int
) -> None:
    draw, disk = Random(count), Disk()
    parts = [draw.randbytes(draw.randint(smallest, largest)) for _ in range(count)]
    file = disk.open(str(tmp_path / "file"), create=True)
    disk.write(file, b"before", 0)
    disk.write_each(file, parts, 6)
    disk.close(file)
    assert (tmp_path / "file").read_bytes() == b"before" + b"".join(parts)


def test_what_the_system_leaves_of_the_parts_is_written_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda file, parts, at: whole(file, [b"".join(parts)[:7000]], at))
    draw, disk = Random(1), Disk()
    parts = [draw.randbytes(5000) for _ in range(700)]
    file = disk.open(str(tmp_path / "file"), create=True)
    disk.write_each(file, parts, 0)
    disk.close(file)
    assert (tmp_path / "file").read_bytes() == b"".join(parts)
