"""Files of extents against a model: content, crashes, damage, what never is in the clear."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from lib.examples import seeds
from lib.fake_disk import FakeDisk, PowerCut
from lib.sealed_disk import SealedFakeDisk
from pyjs.store.extents import file as module
from pyjs.store.extents.cache import MANY
from pyjs.store.extents.disk import ExtentDisk
from pyjs.store.extents.keys import StoreKeys
from pyjs.store.extents.layout import EXTENT_HEADER, FILE_HEADER, SIZE, Extent
from pyjs.store.fs import read_file

PATH = "/d/1.blk"
Make = Callable[[], SealedFakeDisk]
KINDS = {
    "encrypted": lambda: SealedFakeDisk(),
    "AES": lambda: SealedFakeDisk(keys=StoreKeys("k", "aes")),
    "compressed": lambda: SealedFakeDisk(keys=None, compress=True),
    "both": lambda: SealedFakeDisk(compress=True),
}


@pytest.fixture(autouse=True)
def small_extents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 700)
    monkeypatch.setattr(module, "COMPRESSED_CHUNK", 1500)


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest) -> SealedFakeDisk:
    made: SealedFakeDisk = KINDS[request.param]()
    made.make_directory("/d")
    return made


def begun(disk: SealedFakeDisk, *contents: bytes) -> int:
    """Write each content with a sync of its own."""
    file, offset = disk.open(PATH, create=True), 0
    for content in contents:
        disk.write(file, content, offset)
        disk.sync(file)
        offset += len(content)
    disk.sync_directory("/d")
    return file


def extents(disk: SealedFakeDisk) -> list[tuple[int, Extent]]:
    """The extents of the file, each with its place."""
    data, place, found = bytes(disk.seen[PATH].seen), FILE_HEADER, []
    tag = 16 if disk._keys else 4
    while (extent := Extent.decode(data, place)) is not None:
        found.append((place, extent))
        place += EXTENT_HEADER + extent.stored + tag
    return found


def content(random: Random) -> bytes:
    size = random.choice([1, 30, 300, 800, 4000])
    return random.choice([random.randbytes(size), b"some words " * (size // 11 + 1), bytes(size)])


@seeds(12)
def test_it_is_read_as_a_plain_file_would_be(disk: SealedFakeDisk, seed: int) -> None:
    random, model = Random(seed), bytearray()
    file = disk.open(PATH, create=True)
    for _ in range(60):
        doing, size = random.randrange(9), len(model)
        if doing < 4:
            data = content(random)
            disk.write(file, data, size)
            model += data
        elif doing == 4:
            at, data = random.randrange(size + 2000), content(random)
            disk.write(file, data, at)
            model.extend(bytes(max(at + len(data) - size, 0)))
            model[at : at + len(data)] = data
        elif doing == 5:
            size = random.randrange(size + 1) if random.randrange(4) else size + random.randrange(1000)
            disk.truncate(file, size)
            model = model[:size] + bytes(max(size - len(model), 0))
        elif doing == 6 and size > 10:
            at = random.randrange(size - 9)
            disk.overwrite(file, b"in place.", at)
            model[at : at + 9] = b"in place."
        elif doing == 7:
            disk.sync(file)
        else:
            disk.close(file)
            file = disk.open(PATH)
        # Zeros that were written ahead take less room once there are extents among them.
        assert disk.read(file, 1 << 20, 0).rstrip(b"\0") == bytes(model).rstrip(b"\0")
        model = bytearray(disk.read(file, 1 << 20, 0))
        at = random.randrange(len(model) + 1)
        assert disk.read(file, 500, at) == model[at : at + 500]
    assert disk.reported == []


@seeds(60)
def test_a_power_cut_takes_nothing_that_is_synced(disk: SealedFakeDisk, seed: int) -> None:
    random = Random(seed)
    kept = [content(random) + b"." for _ in range(3)]
    file, size = begun(disk, *kept), sum(map(len, kept))
    disk.cut_after(random.randrange(9))
    data = bytes([7]) * random.choice([10, 3000])
    try:
        if random.random() < 0.5:
            disk.write(file, bytes(2000), size)
        disk.write(file, data, size)
        if random.random() < 0.5:  # the message that is erased has neighbours in its extents
            disk.write(file, b"erased", random.randrange(size - 5))
        disk.sync(file)
        disk.cut_after(0)
        disk.sync(file)
    except PowerCut:
        disk.crash(lambda most: random.randint(0, most), lose_sectors=random.random() < 0.5)
    found = read_file(disk, PATH)
    want = b"".join(kept)
    erased = found.find(b"erased", 0, size)
    if erased >= 0:
        want = want[:erased] + b"erased" + want[erased + 6 :]
    assert found[:size] == want
    file = disk.open(PATH)
    disk.truncate(file, size)
    disk.write(file, b"goes on", size)
    disk.close(file)
    assert read_file(disk, PATH) == want + b"goes on"


def test_each_flipped_bit_is_seen_and_spoils_one_extent(disk: SealedFakeDisk) -> None:
    contents = [b"first " * 20, b"second " * 200, b"third " * 3]
    begun(disk, *contents)
    whole = b"".join(contents)
    for at in range(len(disk.seen[PATH].seen)):
        disk.flip(PATH, at, 1 << at % 8)
        found = read_file(disk, PATH)
        reported = bool(disk.reported)
        assert reported or found != whole, at
        wrong = [place for place, byte in enumerate(found[: len(whole)]) if byte != whole[place]]
        assert {found[place] for place in wrong} <= {0xFF}, at
        assert len(wrong) <= 1500, at
        disk.flip(PATH, at, 1 << at % 8)
        disk.reported.clear()
        disk._warned.clear()
    assert read_file(disk, PATH) == whole


def test_extents_count_only_in_their_place(disk: SealedFakeDisk) -> None:
    begun(disk, b"a" * 50, b"b" * 50, b"c" * 50)
    (one, _), (two, _), (three, _) = extents(disk)
    seen = disk.seen[PATH].seen
    seen[one:two], seen[two:three] = seen[two:three], seen[one:two]
    found = read_file(disk, PATH)
    assert (b"a" in found, b"b" in found, found[100:]) == (False, False, b"c" * 50)


def test_neither_a_file_of_another_key_nor_one_in_the_clear_is_read() -> None:
    disk, other = SealedFakeDisk(), SealedFakeDisk(keys=StoreKeys("another key"))
    for one in (disk, other):
        one.make_directory("/d")
    begun(other, b"secret" * 10)
    plain, compressed = FakeDisk(), SealedFakeDisk(keys=None, compress=True)
    for kind in (plain, compressed):
        kind.make_directory("/d")
    plain.write(plain.open(PATH, create=True), b"secret" * 60, 0)
    begun(compressed, b"secret" * 10)
    for kind in (other, plain, compressed):
        disk.fake.seen[PATH] = kind.seen[PATH]
        assert set(read_file(disk, PATH)) <= {0xFF}


@pytest.mark.parametrize("kind", ["encrypted", "AES", "both"])
def test_nothing_is_in_the_clear_and_no_nonce_is_used_twice(kind: str) -> None:
    disk: SealedFakeDisk = KINDS[kind]()
    disk.make_directory("/d")
    nonces = []
    for turn in range(20):
        file = disk.open(PATH, create=True)
        disk.truncate(file, min(disk.size(file), 40))
        disk.write(file, b"the secret " * 10, disk.size(file))
        nonces += [extent.nonce for _, extent in extents(disk)[1 if turn else 0 :]]
        assert b"secret" not in disk.seen[PATH].seen
        disk.crash(lambda most: most)
    assert len(set(nonces)) == len(nonces) >= 20


def test_what_is_replaced_is_erased_once_its_successor_is_synced(disk: SealedFakeDisk) -> None:
    file = begun(disk, b"before, " * 30, b"secret, " * 30, b"after, " * 30)
    place, extent = extents(disk)[1]
    stored = slice(place + EXTENT_HEADER, place + EXTENT_HEADER + extent.stored)
    disk.write(file, b"nothing.", 240)
    old = bytes(disk.seen[PATH].seen[stored])
    assert old in disk.seen[PATH].seen
    disk.sync(file)
    assert old not in disk.seen[PATH].seen
    assert old not in disk.safe[PATH].safe
    want = b"before, " * 30 + b"nothing." + b"secret, " * 29 + b"after, " * 30
    assert disk.read(file, 10_000, 0) == want
    disk.kill()
    assert read_file(disk, PATH) == want


def test_what_is_overwritten_in_place_takes_no_more_room(disk: SealedFakeDisk) -> None:
    file = begun(disk, b"0" * 40)
    size = len(disk.seen[PATH].seen)
    for number in range(50):
        disk.overwrite(file, b"%040d" % number, 0)
    if disk.compress:  # only blocks are, in which nothing is overwritten in place
        return
    assert len(disk.seen[PATH].seen) == size
    assert read_file(disk, PATH) == b"%040d" % 49


def test_compression_takes_less_room_and_expands_to_no_more_than_it_says() -> None:
    disk = SealedFakeDisk(keys=None, compress=True)
    disk.make_directory("/d")
    begun(disk, b"the same words " * 1000)
    assert len(disk.seen[PATH].seen) < 3000
    place, extent = extents(disk)[0]
    lie = extent._replace(length=10).encode()
    disk.seen[PATH].seen[place : place + EXTENT_HEADER] = lie
    assert b"words" not in read_file(disk, PATH)[:10]


def test_what_a_torn_write_left_gives_way_to_the_next_one(disk: SealedFakeDisk) -> None:
    begun(disk, b"a" * 50)
    disk.seen[PATH].seen += b"torn" * 30
    file = disk.open(PATH)
    assert disk.read(file, 1000, 0)[:50] == b"a" * 50
    assert disk.size(file) > 50
    disk.write(file, b"b" * 10, 50)
    disk.close(file)
    assert read_file(disk, PATH) == b"a" * 50 + b"b" * 10


def test_an_end_that_the_key_did_not_seal_does_not_count(disk: SealedFakeDisk) -> None:
    begun(disk, b"a" * 50)
    disk.seen[PATH].seen += Extent(SIZE, 0, 0, 0, 10, bytes(12)).encode() + bytes(16)
    assert read_file(disk, PATH)[:50] == b"a" * 50
    assert len(read_file(disk, PATH)) > 50


def test_without_keys_plain_files_are_read_and_written_as_they_are() -> None:
    disk = ExtentDisk(fake := FakeDisk(), None)
    fake.make_directory("/d")
    file = disk.open("/d/x", create=True)
    disk.write(file, b"plain", 0)
    assert bytes(fake.seen["/d/x"].seen) == b"plain"


def test_a_file_of_many_extents_is_opened_again_without_reading_it() -> None:
    disk = SealedFakeDisk()
    disk.make_directory("/d")
    file = begun(disk, *[b"%04d" % number for number in range(2 * MANY)])
    disk.truncate(file, 4 * MANY + 2)
    disk.close(file)
    want = b"".join(b"%04d" % number for number in range(MANY)) + b"02"
    reads = 0
    read = disk.fake.read

    def counted(file: int, size: int, offset: int) -> bytes:
        nonlocal reads
        reads += 1
        return read(file, size, offset)

    disk.fake.read = counted  # type: ignore[method-assign]
    file = disk.open(PATH)
    assert reads == 1  # its own header
    assert disk.read(file, 1 << 20, 0) == want
    disk.write(file, b"more", len(want))
    disk.close(file)
    disk._forget()
    assert read_file(disk, PATH) == want + b"more"
    disk.close(disk.open(PATH))
    disk.fake.write(disk.fake.open(PATH), b"appended by others", len(disk.seen[PATH].seen))
    assert read_file(disk, PATH)[: len(want) + 4] == want + b"more"
    assert len(read_file(disk, PATH)) > len(want) + 4  # it has another size, and is read again


def test_a_file_does_not_grow_by_what_is_erased_in_it() -> None:
    disk = SealedFakeDisk()
    disk.make_directory("/d")
    words = [b"alpha ", b"beta ", b"gamma ", b"delta ", b"epsilon "]
    file = begun(disk, *[b"".join(Random(seed).choices(words, k=100)) for seed in range(20)])
    size, expected = len(disk.seen[PATH].seen), bytearray(disk.read(file, 1 << 20, 0))
    for number in range(0, len(expected) - 300, 250):
        disk.write(file, bytes(80), number)
        expected[number : number + 80] = bytes(80)
        disk.sync(file)
        assert len(disk.seen[PATH].seen) == size
        assert disk.read(file, 1 << 20, 0) == expected
    disk.kill()
    assert read_file(disk, PATH) == expected
