"""Increments: a backup of several files is a chain, which is verified and restored as one.

Damage to any link is told before anything is restored, and what cannot be a chain is refused before anything
is written.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from pyjs.plugins.backup import fetch
from pyjs.plugins.backup.folder import DATA, BackupFolder
from pyjs.plugins.backup.manifest import Segment
from pyjs.protocol import s2

from .conftest import Fill, state

FIRST, SECOND = "increment-0001.s2", "increment-0002.s2"


@pytest.fixture
def chain(cli: Cli, unique: str, fill: Fill, tmp_path: Path) -> Path:
    """A backup of the stream `unique`, in three files of ten messages; one of the first was removed since."""
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    for count in range(3):
        fill(unique, 10)
        if count:
            cli.ok("stream", "rmm", unique, str(count), "-f")
        cli.ok("stream", "backup", unique, "saved", "--incremental")
    names = {each.name for each in (tmp_path / "saved").iterdir()}
    assert names == {DATA, FIRST, SECOND, "manifest.json", "backup.json"}
    return tmp_path / "saved"


def messages(cli: Cli, stream: str) -> list[object]:
    """Return all that a stream has: sequences, times, headers and bodies."""
    found: list[object] = []
    for sequence in range(1, 31):
        got = cli.run("stream", "get", stream, str(sequence), "-o", "json")
        found.append({**json.loads(got.out), "stream": "", "subject": ""} if got.code == 0 else got.code)
    return found


def test_a_restored_chain_is_the_stream(cli: Cli, unique: str, chain: Path) -> None:
    before, saved = state(cli, unique), messages(cli, unique)
    assert saved[:2] == [3, 3] and 3 not in saved[2:]
    cli.ok("stream", "rm", unique, "-f")
    cli.ok("stream", "restore", "saved")
    assert state(cli, unique) == before
    assert messages(cli, unique) == saved


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def swapped(path: Path) -> None:
    other = path.with_name(FIRST if path.name == SECOND else SECOND)
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


@pytest.mark.parametrize("name", [DATA, FIRST, SECOND])
@pytest.mark.parametrize("damage", [cut, flipped, Path.unlink, swapped])
def test_damage_to_a_link_is_told_and_nothing_restored(
    cli: Cli, unique: str, chain: Path, damage: Callable[[Path], None], name: str
) -> None:
    cli.ok("stream", "rm", unique, "-f")
    damage(chain / name)
    result = cli.run("backup", "verify", "saved")
    assert (result.code, name in result.err) == (5, True), result.err
    result = cli.run("stream", "restore", "saved")
    assert (result.code, "cannot be restored" in result.err) == (1, True), result.err
    assert unique not in cli.ok("stream", "ls", "-n")


def test_increments_without_their_manifest_are_not_taken_for_a_folder_of_nats(
    cli: Cli, unique: str, chain: Path
) -> None:
    (chain / "manifest.json").unlink()
    result = cli.run("backup", "verify", "saved")
    missing = f"manifest.json is missing, without which {FIRST} cannot be restored"
    assert (result.code, missing in result.err) == (5, True), result.err
    assert cli.run("stream", "restore", "saved", "--name", f"{unique}2").code == 1
    assert cli.run("stream", "backup", unique, "saved", "--incremental").code == 1
    cli.ok("stream", "backup", unique, "saved")  # the whole stream again
    assert "as in the manifest" in cli.ok("backup", "verify", "saved")


def test_damaged_blocks_that_follow_each_other_are_told_as_one(
    cli: Cli, unique: str, fill: Fill, tmp_path: Path
) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    fill(unique, 3500)
    cli.ok("stream", "backup", unique, "saved")
    file = tmp_path / "saved" / DATA
    file.write_bytes(file.read_bytes()[:200])
    said = cli.run("backup", "verify", "saved").err
    assert "affected: 1-3500" in said and "cannot be read at all: " in said


def test_a_manifest_with_its_files_in_the_wrong_order(cli: Cli, unique: str, chain: Path) -> None:
    folder = BackupFolder(chain)
    manifest = folder.manifest()
    manifest.segments[1:] = reversed(manifest.segments[1:])
    folder.write("manifest.json", manifest.encode())
    result = cli.run("backup", "verify", "saved")
    assert (result.code, f"{FIRST}: it begins with message 11" in result.err) == (5, True), result.err
    assert cli.run("stream", "restore", "saved", "--name", f"{unique}2").code == 1


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "a/b", ""])
def test_a_manifest_that_names_a_file_elsewhere(cli: Cli, chain: Path, name: str) -> None:
    folder = BackupFolder(chain)
    manifest = folder.manifest()
    manifest.segments[1] = Segment(name, 1, "x", ())
    folder.write("manifest.json", manifest.encode())
    result = cli.run("backup", "verify", "saved")
    assert (result.code, "is not a file of a backup" in result.err) == (5, True), result.err


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"version": 1, "segments": [1]}'])
def test_a_manifest_of_another_form(cli: Cli, chain: Path, text: str) -> None:
    checksum = hashlib.sha256(text.encode()).hexdigest()
    (chain / "manifest.json").write_text(f"{text}\n{checksum}\n")
    result = cli.run("backup", "verify", "saved")
    assert (result.code, "the manifest cannot be read" in result.err) == (5, True), result.err


# -- what servers before 2.15 sent


def tar_file() -> bytes:
    """Return what such a server sends of a stream: a tar file in S2."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("meta.inf"))
    return s2.begin() + s2.chunk(data.getvalue())


@pytest.fixture
def old(cli: Cli, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A backup of the bucket `unique`, as if its server were older than 2.15."""

    async def chunks(_: fetch.StreamSnapshot) -> AsyncIterator[bytes]:
        yield tar_file()

    cli.ok("kv", "add", unique)
    cli.ok("kv", "put", unique, "k", "v")
    with monkeypatch.context() as patched:
        patched.setattr(fetch.StreamSnapshot, "chunks", chunks)
        result = cli.run("stream", "backup", f"KV_{unique}", "saved", "--incremental")
    assert (result.code, "--incremental cannot add to it" in result.err) == (0, True), result.err
    return tmp_path / "saved"


def test_nothing_is_added_to_a_tar_file(cli: Cli, unique: str, old: Path) -> None:
    before = {each.name: each.read_bytes() for each in old.iterdir()}
    cli.ok("kv", "put", unique, "k", "w")
    result = cli.run("stream", "backup", f"KV_{unique}", "saved", "--incremental")
    assert (result.code, "is a tar file of a server before 2.15" in result.err) == (1, True), result.err
    assert {each.name: each.read_bytes() for each in old.iterdir()} == before
    cli.ok("stream", "backup", f"KV_{unique}", "saved")  # as a whole
    cli.ok("stream", "backup", f"KV_{unique}", "saved", "--incremental")


def test_a_tar_file_is_not_renamed_or_compared(cli: Cli, unique: str, old: Path) -> None:
    result = cli.run("stream", "restore", "saved", "--name", f"KV_{unique}2")
    assert (result.code, "keeps the name of its bucket" in result.err) == (1, True), result.err
    assert f"KV_{unique}2" not in cli.ok("stream", "ls", "-a", "-n")
    result = cli.run("backup", "verify", "saved", "--live")
    assert (result.code, "has a tar file of a server before 2.15" in result.err) == (1, True), result.err


def test_a_tar_file_of_the_live_stream_is_not_compared(
    cli: Cli, unique: str, chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def chunks(_: fetch.StreamSnapshot) -> AsyncIterator[bytes]:
        yield tar_file()

    monkeypatch.setattr(fetch.StreamSnapshot, "chunks", chunks)
    result = cli.run("backup", "verify", "saved", "--live")
    assert (result.code, "cannot be compared: it is no archive" in result.err) == (1, True), result.err


def test_the_key_must_be_that_of_the_backup(cli: Cli, unique: str, chain: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key of some length\n")
    words = "stream", "backup", unique, "saved", "--incremental"
    result = cli.run(*words, "--key", "key")
    assert (result.code, "is not encrypted, and a key was given" in result.err) == (1, True), result.err
    cli.ok("stream", "backup", unique, "secret", "--key", "key")
    result = cli.run(*words[:-2], "secret", "--incremental")
    assert (result.code, "is encrypted, and no key was given" in result.err) == (1, True), result.err


def test_an_increment_to_a_stream_without_messages(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    cli.ok("stream", "backup", unique, "saved", "--incremental")
    cli.ok("consumer", "add", unique, "C", "--pull", "--defaults")
    cli.ok("stream", "backup", unique, "saved", "--incremental")
    cli.ok("stream", "rm", unique, "-f")
    cli.ok("stream", "restore", "saved")
    assert state(cli, unique)["consumer_count"] == 1
