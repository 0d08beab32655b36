"""An archive that was cut anywhere goes on with all of its whole entries, and without what follows them."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from pyjs.plugins.backup.archive import ArchiveFile, FileWriter, entries, pieces
from pyjs.plugins.backup.encryption import BackupKey
from pyjs.plugins.backup.folder import DATA, BackupFolder
from pyjs.protocol.archive.entries import STATE, ArchiveEntry
from pyjs.protocol.s2 import Unframer, split

KEY = BackupKey(b"a key of some length")


def archive(chance: random.Random) -> list[ArchiveEntry]:
    """Return entries of very different sizes: some fill several chunks, many share one."""
    found = [ArchiveEntry(STATE, body=b"{}")]
    for sequence in range(1, 40):
        body = chance.randbytes(chance.choice((0, 10, 500, 30_000, 200_000)))
        found.append(ArchiveEntry("a.b", sequence, sequence * 2, b"", body))
    return found


def written(path: Path, given: list[ArchiveEntry], key: BackupKey | None) -> ArchiveFile:
    with FileWriter(path, key) as file:
        made = ArchiveFile(file)
        for entry in given:
            made.add(entry)
        made.close()
    return made


@pytest.mark.parametrize("key", [None, KEY])
def test_it_goes_on_wherever_it_was_cut(tmp_path: Path, key: BackupKey | None) -> None:
    chance = random.Random(1)
    whole = archive(chance)
    folder = BackupFolder(tmp_path, key)
    sums = written(folder.part(DATA), whole, key).sums
    data = folder.part(DATA).read_bytes()
    for place in [len(data), len(data) - 1, *(chance.randrange(1000, len(data)) for _ in range(25))]:
        folder.part(DATA).write_bytes(data[:place])
        there = list(folder.so_far(DATA))
        if not there:
            continue
        bytes_told: list[int] = []
        with FileWriter(folder.named(DATA), key) as file:
            made = ArchiveFile.continued(file, folder.cut_off(DATA), bytes_told.append)
            assert made.sums.messages == len(there) - 1
            for entry in whole[len(there) :]:
                made.add(entry)
            made.close()
        unframer = Unframer()
        assert sum(bytes_told) == sum(len(unframer.feed(each)) for each in split(folder.cut_off(DATA)))
        assert made.sums.blocks == sums.blocks
        assert file.sha256 == hashlib.sha256(folder.named(DATA).read_bytes()).hexdigest()
        assert list(entries(pieces(folder.named(DATA), key))) == whole
