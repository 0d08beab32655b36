"""The disk that the trust suite puts under servers loses what it should, and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from lib.process import ServerProcess
from lib.trust.disk import PowerDisk, cut_power
from lib.trust.faulty_cluster import command
from lib.wire import Wire

CONFIG = """
listen: 127.0.0.1:<client>
jetstream {{ store_dir: "<store>"{options} }}
"""
WINDOW = 50


@pytest.fixture
def disk(tmp_path: Path) -> PowerDisk:
    PowerDisk.use(tmp_path / "store", seed=4)
    (tmp_path / "store").mkdir()
    PowerDisk.safe.rng = Random(0)
    return PowerDisk()


def written(disk: PowerDisk, path: Path, data: bytes, *, synced: bool) -> None:
    file = disk.open(str(path), create=True)
    disk.write(file, data, 0)
    if synced:
        disk.sync(file)
    disk.close(file)


def test_data_is_kept_by_a_sync_and_names_by_their_directorys(disk: PowerDisk, tmp_path: Path) -> None:
    store = tmp_path / "store"
    disk.make_directory(str(store / "a"))
    written(disk, store / "a" / "kept", b"1" * 9, synced=True)
    disk.sync_directory(str(store / "a"))
    written(disk, store / "a" / "kept", b"2" * 9, synced=False)
    written(disk, store / "a" / "nameless", b"3", synced=True)
    disk.rename(str(store / "a" / "kept"), str(store / "a" / "renamed"))
    cut_power(store)
    assert [one.name for one in (store / "a").iterdir()] == ["kept"]
    assert (store / "a" / "kept").read_bytes() == b"1" * 9


def test_a_renamed_directory_keeps_what_is_in_it(disk: PowerDisk, tmp_path: Path) -> None:
    store = tmp_path / "store"
    disk.make_directory(str(store / "a"))
    written(disk, store / "a" / "file", b"1", synced=True)
    disk.sync_directory(str(store / "a"))
    disk.rename(str(store / "a"), str(store / "b"))
    disk.sync_directory(str(store))
    cut_power(store)
    assert [one.name for one in store.iterdir()] == ["b"]
    assert (store / "b" / "file").read_bytes() == b"1"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    directory = Path(tempfile.mkdtemp(prefix="pyjs-test-power-"))
    running = ServerProcess("pyjs", command("pyjs", directory, 7, faulty=True), directory, {})
    running.configure(CONFIG.format(options=request.param))
    running.launch()
    yield running
    running.stop()


def publish(wire: Wire, first: int, count: int) -> int:
    """With some unanswered when it returns; the last that was acknowledged."""
    acked = 0
    prefix = wire.inbox().rpartition(".")[0]
    for number in range(first, first + count):
        wire.pub(f"power.{number % 5}", f"value {number}", f"{prefix}.{number}")
        if number >= first + WINDOW:
            answer = wire.msg()
            assert answer.json().get("seq"), answer
            acked = int(answer.subject.rpartition(".")[2])
    return acked


def survivors(server: ServerProcess, rounds: int) -> tuple[int, int]:
    """(acknowledged and gone, acknowledged) of power cuts under load."""
    with server.connect() as wire:
        assert (
            "error"
            not in wire.request("$JS.API.STREAM.CREATE.P", {"name": "P", "subjects": ["power.*"]}).json()
        )
    gone = acked = number = 0
    for turn in range(1, rounds + 1):
        with server.connect() as wire:
            last = publish(wire, number + 1, 150 * turn)
            server.kill()
        cut_power(server.directory / "store")
        server.launch()
        with server.connect() as wire:
            answer = wire.request("$JS.API.STREAM.INFO.P").json()
            state = answer.get("state", {"last_seq": number})
            gone += max(last - state["last_seq"], 0)
            acked += last - number
            number = state["last_seq"]
            if "error" in answer:
                break
    return gone, acked


@pytest.mark.parametrize("server", ["", ", key: k"], ids=["in the clear", "encrypted"], indirect=True)
def test_an_acknowledged_message_survives_a_power_cut(server: ServerProcess) -> None:
    gone, acked = survivors(server, 4)
    assert acked > 300
    assert gone == 0


@pytest.mark.parametrize("server", [", sync_interval: 1m"], indirect=True)
def test_without_a_sync_the_suite_would_see_the_loss(server: ServerProcess) -> None:
    gone, _ = survivors(server, 1)
    assert gone > 0
