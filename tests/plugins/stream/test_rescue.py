"""A stream that no server has whole is rescued from what their directories still contain, and restored."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.jetstream import JetStream
from lib.process import ServerProcess
from pyjs.protocol.api.stream import StreamConfig
from pyjs.store.configs import Storage
from pyjs.store.extents.keys import StoreKeys
from pyjs.store.extents.unlocking import Unlocking
from pyjs.store.fs import Disk

CREATED = "2024-05-01T00:00:00Z"


@pytest.fixture
def implementation() -> str:
    """The directories are of pyjs's own form."""
    return "pyjs"


def stores(tmp_path: Path, name: str, **config: Any) -> list[Path]:
    """The same stream of 60 messages, of which 3 and 4 were removed, in the directories of three servers."""
    document = StreamConfig.from_json({"name": name, "subjects": [f"{name}.>"], "storage": "file", **config})
    places = [tmp_path / f"s{number}" for number in (1, 2, 3)]
    for place in places:
        storage = Storage(str(place))
        account = storage.account("$G")
        account.write_stream(name, {"config": document.to_json(), "created": CREATED})
        store = account.open_stream(name)
        for number in range(1, 61):
            store.append(f"{name}.{number % 3}", b"", b"message %03d" % number, 10**18 + number)
        store.remove(3)
        store.remove(4)
        store.close()
        storage.close()
    return places


def damage(place: Path, *numbers: int, folder: str = "msgs") -> None:
    for number in numbers:
        body = b"message %03d" % number
        [block] = [
            one for one in place.rglob("*.blk") if one.parent.name == folder and body in one.read_bytes()
        ]
        block.write_bytes(block.read_bytes().replace(body, b"massage %03d" % number))
        for index in block.parent.glob("*.idx"):
            index.unlink()


def test_what_one_copy_lost_comes_from_another(
    cli: Cli, server: ServerProcess, unique: str, tmp_path: Path
) -> None:
    first, second, third = places = stores(tmp_path, unique, retention="interest", num_replicas=3)
    damage(first, 10, 20)
    damage(second, 10, 30)
    damage(third, 10, 1, 60)
    folder = next(second.rglob("msgs"))
    folder.rename(folder.with_name("lost.msgs"))
    before = {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}
    given = [word for place in places for word in ("--from", str(place))]
    out = cli.ok("stream", "cluster", "rescue", unique, "saved", *given)
    assert f'Saved 57 messages of Stream "{unique}" into saved' in out
    assert "1 message is whole in no copy: 10\n" in out
    assert "56 messages in " in out and "lost.msgs" in out
    assert {
        path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()
    } == before
    assert "holds a backup already" in cli.run("stream", "cluster", "rescue", unique, "saved", *given).err
    cli.ok("stream", "restore", "saved", "--replicas", "1")
    state = json.loads(cli.ok("stream", "info", unique, "--json"))["state"]
    assert [state[key] for key in ("messages", "first_seq", "last_seq")] == [57, 1, 60]
    whole = [number for number in range(1, 61) if number not in (3, 4, 10)]
    with JetStream.of(server) as js:
        bodies = [base64.b64decode(js.get(unique, seq=number)["data"]).decode() for number in whole]
    assert bodies == [f"message {number:03}" for number in whole]


def test_what_is_not_there_is_reported(cli: Cli, tmp_path: Path) -> None:
    [place, *_] = stores(tmp_path, "R")
    result = cli.run("stream", "cluster", "rescue", "OTHER", "saved", "--from", str(place))
    assert (result.code, "no messages of stream 'OTHER'" in result.err) == (1, True)
    result = cli.run("stream", "cluster", "rescue", "R", "saved", "--from", str(place), "--account", "X")
    assert (result.code, "of account 'X'" in result.err) == (1, True)
    for meta in place.rglob("meta.json*"):
        meta.write_bytes(b"nonsense")
    result = cli.run("stream", "cluster", "rescue", "R", "saved", "--from", str(place))
    assert (result.code, "configuration of stream 'R' cannot be read" in result.err) == (1, True)


def test_the_directory_of_a_server_that_encrypts_is_read_with_its_key(cli: Cli, tmp_path: Path) -> None:
    places = stores(tmp_path, "R")
    told: list[str] = []
    for place, key in zip(places, ("one", "two"), strict=False):
        Unlocking(Disk(), str(place), StoreKeys(key), told.append, told.append).run()
        (tmp_path / key).write_text(f"{key}\n")
    given = [word for place in places for word in ("--from", str(place))]
    keys = [word for key in ("one", "two") for word in ("--key", str(tmp_path / key))]
    for some, said in (([], "needs its key"), (keys[:2], "the key is another one")):
        result = cli.run("stream", "cluster", "rescue", "R", "saved", *given, *some)
        assert (result.code, said in result.err) == (1, True)
    out = cli.ok("stream", "cluster", "rescue", "R", "saved", *given, *keys)
    assert out.count("58 messages in ") == 3
    assert "Saved 58 messages" in out
