"""Backups of streams and accounts: made, verified, added to, encrypted, restored, damaged, killed."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from lib.cli import Cli
from lib.cuttable_proxy import Cuttable
from lib.eventually import eventually
from lib.process import ServerProcess
from pyjs.cli.connection import NatsConnection
from pyjs.cli.errors import RemoteError
from pyjs.plugins.backup import restore as restoring

from .conftest import Fill, state

SAVE = "pyjs.plugins.backup"


@pytest.fixture
def stream(cli: Cli, unique: str) -> str:
    """The name of a stream, which is its subject too."""
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    return unique


def verified(cli: Cli, *words: str) -> list[str]:
    """Return the results of a verification without a fault."""
    return [each["result"] for each in json.loads(cli.ok("backup", "verify", *words, "-o", "json"))]


def test_an_account_is_saved_and_restored(cli: Cli, stream: str, fill: Fill, tmp_path: Path) -> None:
    fill(stream, 1200)
    cli.ok("stream", "rmm", stream, "7", "-f")
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    cli.ok("consumer", "next", stream, "C", "--count", "3")
    cli.ok("kv", "add", stream)
    cli.ok("kv", "put", stream, "k", "v")
    before = [state(cli, name) for name in (stream, f"KV_{stream}")]
    out = cli.ok("backup", "-f", "all")
    assert f'Starting backup of Stream "{stream}"' in out
    assert cli.run("account", "backup", "all").code == 2  # it cannot ask
    names = [each.name for each in (tmp_path / "all").iterdir()]
    assert {stream, f"KV_{stream}"} <= set(names)
    assert "1,199 messages as in the Stream" in verified(cli, "all", "--live")
    assert "--skip-existing leaves the Streams that are there" in cli.run("restore", "all").err
    assert "which 'account restore' loads" in cli.run("stream", "restore", "all").err
    for name in names:
        cli.ok("stream", "rm", name, "-f")
    (tmp_path / "all" / "notes").mkdir()  # which is not part of the backup
    assert 'can be restored from "all"' in cli.ok("restore", "all", "--dry-run")
    assert cli.run("stream", "info", stream).code == 3
    cli.ok("restore", "all")
    assert [state(cli, name) for name in (stream, f"KV_{stream}")] == before
    consumer = json.loads(cli.ok("consumer", "info", stream, "C", "--json"))
    assert consumer["ack_floor"]["stream_seq"] == 3
    cli.ok("stream", "restore", f"all/KV_{stream}", "--name", f"KV_{stream}2")
    assert cli.ok("kv", "get", f"{stream}2", "k", "--raw") == "v"
    assert "exists already" in cli.run("restore", "all", "--skip-existing").err


def test_a_memory_stream_belongs_to_it_where_it_can_be_saved(
    cli: Cli, stream: str, unique: str, tmp_path: Path
) -> None:
    memory = unique + "M"
    cli.ok("stream", "add", memory, "--subjects", memory, "--storage", "memory", "--defaults")
    result = cli.run("backup", "-f", "all")
    saved = (tmp_path / "all" / memory / "manifest.json").exists()
    assert (result.code, saved) == (0, "memory streams do not" not in result.err), result.err
    assert cli.run("backup", "-f", "-w", "again").code == (0 if saved else 1)
    names = [each["stream"] for each in json.loads(cli.ok("backup", "verify", "all", "-o", "json"))]
    assert (memory in names) == saved
    cli.ok("stream", "rm", memory, "-f")


def test_a_missing_folder_is_told(cli: Cli, stream: str, tmp_path: Path) -> None:
    cli.ok("kv", "add", f"{stream}1")  # its backup says who belongs to it
    cli.ok("backup", "-f", "all")
    (tmp_path / "all" / stream).rename(tmp_path / "gone")
    cli.ok("kv", "add", stream)
    result = cli.run("restore", "all", "--skip-existing")
    assert (result.code, f"it has no whole backup of {stream}" in result.err) == (1, True)
    cli.ok("backup", "-f", "both")
    (tmp_path / "both" / stream).rename(tmp_path / "gone2")
    for name in ("manifest.json", "backup.json"):  # as a backup that was cut leaves it
        (tmp_path / "both" / f"KV_{stream}" / name).unlink()
    result = cli.run("restore", "both")
    assert f"no whole backup of KV_{stream}, {stream}\nhint: a backup that was cut" in result.err
    assert "stream restore gone2' loads it" in cli.run("restore", "gone2").err


def test_an_encrypted_backup_is_added_to(cli: Cli, stream: str, fill: Fill, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key of some length\n")
    (tmp_path / "other").write_text("another key of some length\n")
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults", "--filter", stream)
    fill(stream, 20)
    cli.ok("stream", "backup", stream, "saved", "--key", "key", "--incremental")
    for number in range(2):
        fill(stream, 5)
        cli.ok("stream", "rmm", stream, str(3 + number), "-f")
        cli.ok("stream", "backup", stream, "saved", "--key", "key", "--incremental")
    assert "hint: --key FILE gives the key" in cli.run("backup", "verify", "saved").err
    names = sorted(each.name for each in (tmp_path / "saved").iterdir())
    assert names == [
        "increment-0001.s2.enc",
        "increment-0002.s2.enc",
        "manifest.json.enc",
        "stream.tar.s2.enc",
    ]
    assert verified(cli, "saved", "--key", "key", "--live") == ["28 messages as in the Stream"]
    for words in ((), ("--key", "other")):
        result = cli.run("stream", "restore", "saved", *words)
        assert (result.code, "key" in result.err) == (1, True)
    found = state(cli, stream)
    again = "saved", "--key", "key", "--name", stream + "2", "--subjects", stream + "2"
    assert f"{stream} listens to {stream} already" in cli.run("stream", "restore", *again[:-2]).err
    cli.ok("stream", "restore", *again)
    assert state(cli, stream + "2") == found
    assert verified(cli, "saved", "--key", "key", "--stream", stream + "2") == [
        "28 messages as in the Stream"
    ]
    assert cli.ok("consumer", "ls", stream + "2", "-n").split() == ["C"]
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "add", stream, "--subjects", stream, "--defaults")
    result = cli.run("stream", "backup", stream, "saved", "--key", "key", "--incremental")
    assert (result.code, "was created again" in result.err) == (1, True)


def test_damage_is_told_and_nothing_restored(cli: Cli, stream: str, fill: Fill, tmp_path: Path) -> None:
    fill(stream, 2500)
    cli.ok("stream", "backup", stream, "saved")
    cli.ok("stream", "rm", stream, "-f")
    for name in ("stream.tar.s2", "manifest.json", "backup.json"):
        path = tmp_path / "saved" / name
        whole = path.read_bytes()
        at = len(whole) // 2
        wrong = [whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]]
        for data in wrong if name != "backup.json" else wrong[:1]:
            path.write_bytes(data)
            result = cli.run("backup", "verify", "saved")
            assert result.code == 5, name
            assert name.partition(".")[0] in result.err
            if name == "stream.tar.s2":
                assert "-2500" in result.err
            assert cli.run("stream", "restore", "saved").code == 1
        path.write_bytes(whole)
    assert stream not in cli.ok("stream", "ls", "-n")
    cli.ok("stream", "restore", "saved")


def test_what_is_wrong_in_the_folder_of_an_account(cli: Cli, stream: str, tmp_path: Path) -> None:
    other = stream + "B"
    cli.ok("stream", "add", other, "--subjects", other, "--defaults")
    cli.ok("backup", "-f", "all")
    manifest = tmp_path / "all" / stream / "manifest.json"
    whole = manifest.read_bytes()

    def reported() -> tuple[int, str]:
        result = cli.run("backup", "verify", "all", "-o", "json")
        found = {each["stream"]: each["result"] for each in json.loads(result.out)}
        assert found[other] == "as in the manifest"
        assert found[stream] in result.err
        return result.code, found[stream]

    manifest.write_bytes(whole[:-80])
    assert reported() == (5, "the manifest cannot be read: the manifest does not agree with its checksum")
    result = cli.run("stream", "restore", f"all/{stream}")
    assert (result.code, f"all/{stream} cannot be restored: the manifest" in result.err) == (1, True)
    result = cli.run("account", "restore", "all")
    assert (result.code, f"all/{stream} cannot be restored: the manifest" in result.err) == (1, True)
    assert "all' says which are whole; '" in result.err
    assert "stream restore all/NAME' loads one" in result.err
    manifest.unlink()
    assert reported() == (5, "manifest.json is missing, with which it was saved")
    (tmp_path / "all" / stream / "backup.json").unlink()
    assert reported() == (5, "manifest.json is missing")
    assert cli.run("backup", "verify", f"all/{stream}").code == 5
    (tmp_path / "all" / stream).rename(tmp_path / "gone")
    assert reported() == (5, "it is missing")


def test_all_damaged_backups_are_named_and_nothing_is_restored(cli: Cli, stream: str, tmp_path: Path) -> None:
    cli.ok("stream", "backup", stream, f"all/{stream}")
    cli.ok("stream", "rm", stream, "-f")
    for number in range(12):
        copy = tmp_path / "all" / f"B{number:02}"
        shutil.copytree(tmp_path / "all" / stream, copy)
        (copy / "manifest.json").write_bytes((copy / "manifest.json").read_bytes()[:-80])
    result = cli.run("account", "restore", "all")
    assert (result.code, "12 backups in all cannot be restored\n" in result.err) == (1, True), result.err
    named = [f"all/B{number:02}" in result.err for number in range(12)]
    assert named == [True] * 10 + [False] * 2
    assert "hint: and 2 more\n" in result.err
    assert cli.run("stream", "info", stream).code == 3


def test_the_result_is_clipped_last(cli: Cli, stream: str, fill: Fill) -> None:
    fill(stream, 3)
    folder = "a/folder/with/quite/a/long/name/in/which/nobody/looks/for/the/result"
    cli.ok("stream", "backup", stream, folder)
    cli.ok("stream", "rmm", stream, "2", "-f")
    line = ("backup", "verify", folder, "--live", "--no-progress")
    with cli.terminal(line, columns=100) as terminal:
        assert terminal.finish() == 0
        text = "\n".join(terminal.lines())
    assert "2 messages as in the Stream; 1 no longer in the Stream" in text
    assert cli.ok("backup", "verify", folder, "-o", "name") == f"{stream}\n"


def test_names_that_a_stream_cannot_be_restored_under(cli: Cli, stream: str) -> None:
    cli.ok("stream", "backup", stream, "plain")
    cli.ok("kv", "add", stream)
    cli.ok("stream", "backup", f"KV_{stream}", "bucket")
    cli.ok("object", "add", stream)
    cli.ok("stream", "backup", f"OBJ_{stream}", "objects")
    for folder, name, hint in (
        ("plain", "KV_new", "KV_new is the name of a bucket of the kind key-value, and"),
        ("plain", "OBJ_new", "OBJ_new is the name of a bucket of the kind object, and"),
        ("bucket", "NEW", f"KV_{stream} is a key-value bucket and stays one: its new name begins with KV_"),
        ("objects", "OBJ_new", "an object bucket keeps its name, which is in its entries"),
    ):
        result = cli.run("stream", "restore", folder, "--name", name)
        assert (result.code, f"cannot be restored as {name}\nhint: {hint}" in result.err) == (1, True), name


def test_a_cut_backup_json_is_told_in_words(cli: Cli, stream: str, tmp_path: Path) -> None:
    cli.ok("stream", "backup", stream, "saved")
    document = tmp_path / "saved" / "backup.json"
    document.write_bytes(document.read_bytes()[:30])
    for _ in range(2):  # with a manifest, and as in a folder of nats
        result = cli.run("backup", "verify", "saved")
        assert (result.code, "cannot be read: it was cut, or is no JSON: " in result.err) == (5, True)
        assert "Error" not in result.err
        (tmp_path / "saved" / "manifest.json").unlink(missing_ok=True)


def test_a_live_stream_that_is_another_one(cli: Cli, stream: str, fill: Fill) -> None:
    fill(stream, 10)
    cli.ok("stream", "backup", stream, "saved")
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "add", stream, "--subjects", stream, "--defaults")
    fill(stream, 12)
    result = cli.run("backup", "verify", "saved", "--live")
    assert result.code == 5
    assert "10 differ: 1, 2, 3" in result.err
    assert "2 newer in the Stream" in result.err


def test_a_live_stream_that_is_gone_is_a_difference(cli: Cli, stream: str, fill: Fill) -> None:
    fill(stream, 3)
    other = f"{stream}_OTHER"
    cli.ok("stream", "add", other, "--subjects", other, "--defaults")
    cli.ok("account", "backup", "both", "--no-progress", "-f")
    cli.ok("stream", "rm", stream, "-f")
    result = cli.run("backup", "verify", "both", "--live", "-o", "json")
    found = {each["stream"]: each["result"] for each in json.loads(result.out)}
    assert (result.code, found[stream]) == (5, f"the server has no Stream {stream}")
    assert found[other] == "0 messages as in the Stream"
    assert cli.run("backup", "verify", f"both/{stream}", "--live").code == 5
    named = cli.run("backup", "verify", f"both/{other}", "--stream", "NOSUCH")
    assert (named.code, "stream not found" in named.err) == (3, True)


def test_a_killed_backup_goes_on(
    cli: Cli, stream: str, fill: Fill, tmp_path: Path, killed: Callable[..., None]
) -> None:
    fill(stream, 150, 30_000)
    (tmp_path / "key").write_text("a key of some length\n")
    for folder, flags in (("plain", ()), ("secret", ("--key", "key"))):
        words = ("stream", "backup", stream, folder, "--chunk-size", "64KB", *flags)
        killed(f"{SAVE}.archive:FileWriter.write", 60, *words)
        result = cli.run("backup", "verify", folder, *flags)
        assert (result.code, "the backup was cut" in result.err) == (5, True)
        assert cli.run("stream", "restore", folder, *flags).code == 1
        assert not (tmp_path / folder / "backup.json").exists()
        killed(f"{SAVE}.save:_size", 5, *words)  # again, among the messages that are fetched singly
        assert cli.run("backup", "verify", folder, *flags).code == 5
        result = cli.run(*words)
        assert (result.code, "that was cut" in result.err) == (0, True)
        kept, fetched = counts(result.out)
        assert kept > 75 and kept + fetched == 150
        assert verified(cli, folder, *flags, "--live") == ["150 messages as in the Stream"]
        left = {each.name.removesuffix(".enc") for each in (tmp_path / folder).iterdir()}
        assert left - {"backup.json"} == {"stream.tar.s2", "manifest.json"}
    # What was killed has left a consumer, which the server removes after some seconds.
    found = state(cli, stream) | {"consumer_count": 0}
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "restore", "plain")
    assert state(cli, stream) == found


def counts(out: str) -> tuple[int, int]:
    """Return how many messages were kept and fetched by a backup that went on."""
    found = re.search(r"of \".*\" in .*s: ([0-9,]+) kept, ([0-9,]+) fetched", out)
    assert found, out
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


@pytest.mark.parametrize("call", range(1, 5))
def test_a_backup_made_again_is_killed_at_its_end(
    cli: Cli, stream: str, fill: Fill, killed: Callable[..., None], call: int
) -> None:
    fill(stream, 3)
    cli.ok("stream", "backup", stream, "saved")
    fill(stream, 3)
    killed(f"{SAVE}.folder:BackupFolder.sync", call, "stream", "backup", stream, "saved")
    result = cli.run("stream", "restore", "saved", "--name", stream + "2", "--subjects", stream + "2")
    if result.code == 0:  # the old backup, or the new one, but whole
        assert state(cli, stream + "2")["messages"] in (3, 6)
    else:
        assert "not complete" in result.err
    cli.ok("stream", "backup", stream, "saved")
    assert verified(cli, "saved", "--live") == ["6 messages as in the Stream"]


def test_a_killed_restore_leaves_nothing_that_looks_whole(
    cli: Cli, stream: str, fill: Fill, killed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stream, 3000, 1000)
    found = state(cli, stream)
    cli.ok("stream", "backup", stream, "saved")
    cli.ok("stream", "rm", stream, "-f")
    killed(f"{SAVE}.restore:_accepted", 40, "stream", "restore", "saved")
    left = cli.run("stream", "info", stream, "--json")
    if left.code == 3:  # pyjs-server gives it up after 30 s, longer than a test should wait
        monkeypatch.setattr(restoring, "OCCUPIED", 0)
        assert "is under way" in cli.run("stream", "restore", "saved").err
        return
    # nats-server shows what arrived
    assert json.loads(left.out)["config"]["metadata"]["pyjs.restore"] == "unfinished"
    eventually(lambda: cli.run("stream", "restore", "saved").code == 0, seconds=45)
    assert state(cli, stream) == found
    config = json.loads(cli.ok("stream", "info", stream, "--json"))["config"]
    assert "pyjs.restore" not in (config.get("metadata") or {})
    assert verified(cli, "saved", "--live") == ["3,000 messages as in the Stream"]


@pytest.mark.parametrize("lasting", [False, True])
def test_a_restore_waits_until_a_killed_one_has_given_the_name_up(
    lasting: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(restoring, "AGAIN", 0.01)
    monkeypatch.setattr(restoring, "OCCUPIED", 0.1)
    asked = []

    class Occupied:
        async def request(self, name: str, _: object) -> dict[str, str]:
            asked.append(name)
            if lasting or len(asked) < 4:
                raise RemoteError(500, 10062, "restore failed: a restore of this stream is under way")
            return {"deliver_subject": "to"}

    connection = cast(NatsConnection, SimpleNamespace(js=Occupied()))
    begun = restoring._begun(connection, "S", {})
    if lasting:
        with pytest.raises(RemoteError):
            asyncio.run(begun)
    else:
        assert asyncio.run(begun) == {"deliver_subject": "to"}
        assert asked == ["STREAM.RESTORE.S"] * 4
    assert capsys.readouterr().err.count("gives the name up after 30 s") == 1


def test_a_cut_connection_is_no_end(
    server: ServerProcess, cli: Cli, stream: str, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyjs.plugins.backup import save

    fill(stream, 3000, 1000)
    plain = save._Received.take
    with Cuttable(server.port) as proxy:
        cuts = 0

        def cut(received: save._Received, chunk: bytes) -> int:
            nonlocal cuts
            taken = plain(received, chunk)
            if received.chunks == 30 and not cuts:
                cuts = proxy.cut()
            return taken

        monkeypatch.setattr(save._Received, "take", cut)
        small = "--chunk-size", "64KB", "--window-size", "128KB"  # most is not sent yet at the cut
        far = cli.with_flags("--server", f"nats://127.0.0.1:{proxy.port}")
        result = far.run("stream", "backup", stream, "saved", *small)
    assert cuts
    assert (result.code, "the backup goes on with message" in result.err) == (0, True), result.err
    assert verified(cli, "saved", "--live") == ["3,000 messages as in the Stream"]


def test_an_increment_to_streams_that_were_made_again_says_what_to_do(
    cli: Cli, stream: str, tmp_path: Path
) -> None:
    cli.ok("backup", "-f", "--incremental", "all")
    cli.ok("stream", "rm", stream, "-f")
    cli.ok("stream", "restore", f"all/{stream}")
    result = cli.run("backup", "-f", "--incremental", "all")
    assert result.code == 1
    assert f"{stream} was created again after the backup in all/{stream}\n" in result.err
    assert result.err.count("save all of it, into another directory or without --incremental") == 1
