"""A checkpoint whose first record was never finished: Spark starts with it again; nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.pipeline.declared.checkpoint import discard_unfinished_start

LEFT = (".0.1b2c.tmp", "..0.1b2c.tmp.crc")


def checkpoint(folder: Path, *names: str) -> Path:
    for name in ("metadata", *names):
        path = folder / "check point" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return folder / "check point"


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_what_was_never_finished_goes(form: str, tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, *(f"offsets/{name}" for name in LEFT))
    path = str(folder).replace(" ", "%20") if ":" in form else str(folder)
    assert discard_unfinished_start(form.format(path))
    assert [each.name for each in folder.iterdir()] == ["metadata"]
    assert not discard_unfinished_start(form.format(path))


@pytest.mark.parametrize(
    "names", [("offsets/0",), ("offsets/0", "offsets/.1.9.tmp"), ("commits/0", "offsets/.1.9.tmp")]
)
def test_what_is_on_record_stays(names: tuple[str, ...], tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, *names)
    assert not discard_unfinished_start(str(folder))
    assert all((folder / name).exists() for name in names)


@pytest.mark.parametrize("where", ["s3a://bucket/checkpoints/x", "hdfs://host/x"])
def test_where_it_cannot_look_it_leaves_all_alone(where: str) -> None:
    assert not discard_unfinished_start(where)


def test_where_there_is_none_yet(tmp_path: Path) -> None:
    assert not discard_unfinished_start(str(tmp_path / "new"))
