"""Reading goes on where it was after a restart or a cut connection: nothing twice, nothing missing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.cuttable_proxy import Cuttable
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.terminal import Terminal

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>" }
"""


def values(terminal: Terminal) -> list[str]:
    while terminal.read(0.05):
        pass
    return [line.rpartition(": ")[2] for line in terminal.lines() if line.startswith("[")]


def test_a_watch_goes_on_after_a_restart(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    server = launch(CONFIG)
    cli = Cli(tmp_path, "--server", server.url)
    cli.ok("kv", "add", "B", "--history", "10")
    cli.ok("kv", "put", "B", "k", "1")
    with cli.terminal(["kv", "watch", "B"]) as terminal:
        eventually(lambda: values(terminal) == ["1"])
        server.restart()
        for number in ("2", "3"):
            cli.ok("kv", "put", "B", "k", number)
        eventually(lambda: len(values(terminal)) >= 3)
        cli.ok("kv", "put", "B", "k", "4")
        eventually(lambda: len(values(terminal)) >= 4)
        assert values(terminal) == ["1", "2", "3", "4"]
        assert "deleted" not in terminal.errors()


def test_an_object_arrives_whole_through_a_cut_connection(
    launch: Callable[[str], ServerProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyjs.plugins.object import transfer

    server = launch(CONFIG)
    data = os.urandom(12_000_000)
    (tmp_path / "f").write_bytes(data)
    Cli(tmp_path, "--server", server.url).ok("object", "add", "B")
    Cli(tmp_path, "--server", server.url).ok("object", "put", "B", "f", "--chunk-size", "100000")
    write = transfer.Target.__enter__
    with Cuttable(server.port) as proxy:
        pieces = 0

        def entered(target: transfer.Target) -> transfer.Target:
            write(target)
            plain = target.write

            def counted(piece: bytes) -> int:
                nonlocal pieces
                pieces += 1
                if pieces == 10:
                    assert proxy.cut() == 1
                return plain(piece)

            target.write = counted  # type: ignore[assignment]
            return target

        monkeypatch.setattr(transfer.Target, "__enter__", entered)
        cli = Cli(tmp_path, "--server", f"nats://127.0.0.1:{proxy.port}")
        result = cli.run("object", "get", "B", "f", "-O", "out")
        assert result.code == 0, result.err
    assert (tmp_path / "out").read_bytes() == data
    assert pieces == 120


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_put_whose_connection_is_cut(
    launch: Callable[[str], ServerProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    from pyjs.plugins.object import put, transfer

    server = launch(CONFIG)
    data = os.urandom(3_000_000)
    (tmp_path / "f").write_bytes(data)
    direct = Cli(tmp_path, "--server", server.url)
    direct.ok("object", "add", "B")
    plain = transfer.ChunkWriter.write
    monkeypatch.setattr(put, "ATTEMPTS", attempts)
    with Cuttable(server.port) as proxy:
        cuts = 0

        async def cut(writer: transfer.ChunkWriter, piece: bytes) -> None:
            nonlocal cuts
            await plain(writer, piece)
            if writer.chunks == 10 and not cuts:
                await writer.finish()
                cuts = proxy.cut()

        monkeypatch.setattr(transfer.ChunkWriter, "write", cut)
        cli = Cli(tmp_path, "--server", f"nats://127.0.0.1:{proxy.port}")
        result = cli.run("object", "put", "B", "f")
    assert "the connection was lost while chunks were on their way" in result.err
    if attempts == 1:
        assert result.code == 6
        assert direct.ok("object", "ls", "B", "-n") == ""
        assert direct.ok("stream", "subjects", "OBJ_B", "--names") == ""
        return
    assert "f is sent again from its beginning" in result.err
    assert result.code == 0, result.err
    direct.ok("object", "get", "B", "f", "-O", "out")
    assert (tmp_path / "out").read_bytes() == data
    assert direct.ok("stream", "subjects", "OBJ_B", "--names").count("$O.B.C.") == 1
