"""The folder of account tokens: what it accepts, what it refuses, which failures it survives."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lib.token_issuer import SECOND, Operated
from pyjs.keys import KeyPair, KeyRole
from pyjs.server.operator.resolver import ResolverError
from pyjs.server.operator.resolver.directory import EMPTY, Deletion, TokenDirectory

Make = Callable[..., TokenDirectory]


def digest(*tokens: str) -> bytes:
    """What the reference's hash of these tokens is."""
    total = EMPTY
    for token in tokens:
        total = bytes(a ^ b for a, b in zip(total, hashlib.sha256(token.encode()).digest(), strict=True))
    return total


def test_a_token_is_a_private_file_by_the_key(make: Make, operated: Operated) -> None:
    directory, token = make(), operated.token()
    assert directory.store(operated.accounts[0], token, newer_only=False)
    file = directory.path / f"{operated.accounts[0]}.jwt"
    assert file.read_text() == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    assert directory.load(operated.accounts[0]) == token
    assert directory.digest == digest(token)
    again = make()
    assert (again.keys(), again.digest) == ([operated.accounts[0]], digest(token))


def test_the_same_token_again_changes_nothing(make: Make, operated: Operated) -> None:
    directory, token = make(), operated.token()
    assert directory.store(operated.accounts[0], token, newer_only=False)
    assert not directory.store(operated.accounts[0], token, newer_only=False)


def test_an_older_token_is_taken_when_pushed_but_not_when_merged(make: Make, operated: Operated) -> None:
    directory, key = make(), operated.accounts[0]
    old, new = operated.token(issued=1), operated.token(issued=2)
    directory.store(key, new, newer_only=False)
    assert not directory.store(key, old, newer_only=True)
    assert directory.load(key) == new
    assert directory.store(key, old, newer_only=False)
    assert directory.load(key) == old
    assert directory.store(key, new, newer_only=True)
    assert directory.digest == digest(new)


def test_of_two_tokens_of_one_second_all_servers_keep_the_same(operated: Operated, tmp_path: Path) -> None:
    key = operated.accounts[0]
    kept: list[str] = []
    one = operated.token(issued=5)
    other = operated.token(issued=5, exp=operated.seconds + 1000)
    for first, second in ((one, other), (other, one)):
        directory = operated.directory(tmp_path / str(len(kept)))
        directory.store(key, first, newer_only=True)
        directory.store(key, second, newer_only=True)
        kept.append(directory.load(key))
    assert kept[0] == kept[1]


def test_tokens_that_do_not_fit_are_refused(make: Make, operated: Operated) -> None:
    directory, key = make(), operated.accounts[0]
    stranger = KeyPair.create(KeyRole.OPERATOR)
    for token, why in (
        (operated.token(by=stranger), "not trusted"),
        (operated.token(1), "not of"),
        (operated.token()[:-6] + "AAAAAA", "signature|bits"),
        ("", "three parts"),
    ):
        with pytest.raises(ResolverError, match=why):
            directory.store(key, token, newer_only=False)
    assert (directory.keys(), directory.digest, list(directory.path.iterdir())) == ([], EMPTY, [])


def damage(path: Path, operated: Operated) -> dict[str, bytes]:
    """Files that do not belong there, by name."""
    stranger = KeyPair.create(KeyRole.OPERATOR)
    files = {
        f"{operated.accounts[0]}.jwt": operated.token(0)[:40].encode(),
        f"{operated.accounts[1]}.jwt": b"",
        f"{operated.accounts[2]}.jwt": operated.token(2, by=stranger).encode(),
        f"{operated.accounts[3]}.jwt": operated.token(2).encode(),
        "notes.jwt": b"\xff\xfe",
        "README": b"hello",
    }
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    return files


def test_foreign_and_damaged_files_are_named_and_left_alone(
    make: Make, operated: Operated, tmp_path: Path
) -> None:
    files = damage(tmp_path / "jwt", operated)
    good = operated.token(4)
    (tmp_path / "jwt" / f"{operated.accounts[4]}.jwt").write_text(good)
    directory = make(deletion=Deletion.RENAME)
    assert directory.keys() == [operated.accounts[4]]
    assert dict(directory.pairs()) == {operated.accounts[4]: good}
    assert directory.digest == digest(good)
    assert [directory.load(key) for key in operated.accounts[:4]] == [""] * 4
    directory.sweep()
    for name in files:
        reported = [line for line in operated.log.lines if name in line]
        assert len(reported) == (0 if name == "README" else 1), name
    assert {f.name: f.read_bytes() for f in directory.path.iterdir() if f.name in files} == files


def test_a_good_token_takes_the_place_of_a_damaged_file(
    make: Make, operated: Operated, tmp_path: Path
) -> None:
    files = damage(tmp_path / "jwt", operated)
    directory, key, token = make(), operated.accounts[0], operated.token(0)
    assert directory.store(key, token, newer_only=True)
    assert directory.load(key) == token
    assert (directory.path / f"{key}.jwt.damaged").read_bytes() == files[f"{key}.jwt"]


def test_changes_by_hand_are_noticed(make: Make, operated: Operated) -> None:
    directory, key = make(), operated.accounts[0]
    first, second = operated.token(issued=1), operated.token(issued=2)
    file = directory.path / f"{key}.jwt"
    file.write_text(first)
    assert directory.load(key) == first
    file.write_text(second + "\n")
    assert directory.reload() == [key]
    assert (directory.load(key), directory.digest) == (second, digest(second))
    file.unlink()
    assert (directory.load(key), directory.digest) == ("", EMPTY)


def test_a_file_that_was_taken_away_is_written_again(make: Make, operated: Operated) -> None:
    directory, key, token = make(), operated.accounts[0], operated.token()
    directory.store(key, token, newer_only=False)
    (directory.path / f"{key}.jwt").unlink()
    assert directory.store(key, token, newer_only=False)
    assert make().load(key) == token


@pytest.mark.parametrize("key", ["", "../x", "A" * 55])
def test_a_key_that_is_none_names_no_file(make: Make, operated: Operated, key: str) -> None:
    directory = make()
    with pytest.raises(ResolverError, match="no public key"):
        directory.store(key, operated.token(), newer_only=True)
    assert directory.load(key) == ""


def test_a_full_directory_refuses_new_accounts_only(make: Make, operated: Operated) -> None:
    directory = make(limit=2)
    for account in range(2):
        directory.store(operated.accounts[account], operated.token(account), newer_only=False)
    with pytest.raises(ResolverError, match="jwt store is full"):
        directory.store(operated.accounts[2], operated.token(2), newer_only=False)
    assert directory.store(operated.accounts[0], operated.token(0, 9), newer_only=False)
    assert len(list(directory.path.iterdir())) == 2


def test_a_cache_lets_go_of_what_was_unused_for_longest(make: Make, operated: Operated) -> None:
    directory = make(limit=2, evict=True)
    for account in range(2):
        directory.store(operated.accounts[account], operated.token(account), newer_only=False)
    directory.load(operated.accounts[0])
    directory.store(operated.accounts[2], operated.token(2), newer_only=False)
    assert directory.keys() == sorted([operated.accounts[0], operated.accounts[2]])
    assert len(list(directory.path.iterdir())) == 2
    assert len(make(limit=1, evict=True)) == 1


def test_unused_tokens_of_a_cache_go_after_the_ttl(make: Make, operated: Operated) -> None:
    directory = make(ttl=10 * SECOND, evict=True)
    for account in range(2):
        directory.store(operated.accounts[account], operated.token(account), newer_only=False)
    operated.clock.advance(6 * SECOND)
    directory.load(operated.accounts[0])
    operated.clock.advance(5 * SECOND)
    assert directory.sweep() == [operated.accounts[1]]
    assert [f.name for f in directory.path.iterdir()] == [f"{operated.accounts[0]}.jwt"]


def test_expired_tokens_go(make: Make, operated: Operated) -> None:
    directory, key = make(), operated.accounts[0]
    directory.store(key, operated.token(exp=operated.seconds + 5), newer_only=False)
    assert (directory.sweep(), directory.keys()) == ([], [key])
    operated.clock.advance(7 * SECOND)
    assert (directory.keys(), list(directory.pairs())) == ([], [])
    assert directory.sweep() == [key]
    assert (directory.digest, list(directory.path.iterdir())) == (EMPTY, [])


@pytest.mark.parametrize(("deletion", "left"), [(Deletion.RENAME, [".jwt.deleted"]), (Deletion.REMOVE, [])])
def test_deleting(make: Make, operated: Operated, deletion: Deletion, left: list[str]) -> None:
    directory, key = make(deletion=deletion), operated.accounts[0]
    directory.store(key, operated.token(), newer_only=False)
    directory.delete(key)
    directory.delete(key)
    assert (directory.keys(), directory.digest) == ([], EMPTY)
    assert [f.name for f in directory.path.iterdir()] == [key + suffix for suffix in left]
    assert make().keys() == []


def test_what_was_deleted_does_not_come_back_with_an_answer_under_way(make: Make, operated: Operated) -> None:
    directory, key = make(deletion=Deletion.RENAME), operated.accounts[0]
    old, new, newer = (operated.token(issued=n) for n in (1, 2, 3))
    directory.store(key, new, newer_only=False)
    directory.delete(key)
    for token in (old, new):
        assert directory.deleted(key, token)
        assert not directory.store(key, token, newer_only=True)
    assert not directory.deleted(key, newer)
    assert directory.keys() == []
    assert directory.store(key, new, newer_only=False)  # a push
    directory.delete(key)
    assert directory.store(key, newer, newer_only=True)
    directory.delete(key)
    operated.clock.advance(61 * SECOND)
    assert directory.store(key, newer, newer_only=True)


def test_deleting_must_be_set_up(make: Make, operated: Operated) -> None:
    directory, key = make(), operated.accounts[0]
    directory.store(key, operated.token(), newer_only=False)
    with pytest.raises(ResolverError, match="not set up"):
        directory.delete(key)
    assert directory.keys() == [key]


def test_a_folder_that_cannot_be_is_an_error(operated: Operated, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResolverError, match="file"):
            operated.directory(path)


# --- every operation of the file system fails once


class CutError(Exception):
    """The power is cut."""


OPERATIONS = ("open", "fsync", "replace", "rename", "unlink", "fchmod")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, type[Exception]], list[str]]]:
    """Makes the nth operation from now on fail; gives the list of those that ran."""
    state: dict[str, Any] = {"at": -1, "error": OSError, "ran": []}

    def guarded(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            state["ran"].append(name)
            if len(state["ran"]) - 1 == state["at"]:
                raise state["error"](errno.ENOSPC, "No space left on device")
            return original(*args, **kwargs)

        return call

    for name in OPERATIONS:
        monkeypatch.setattr(os, name, guarded(name, getattr(os, name)))

    def arm(at: int, error: type[Exception]) -> list[str]:
        ran: list[str] = []
        state.update(at=at, error=error, ran=ran)
        return ran

    yield arm
    arm(-1, OSError)


def agrees(directory: TokenDirectory, operated: Operated, make: Make) -> None:
    """Memory says what a fresh look at the disk says."""
    fresh = make(deletion=directory.deletion)
    assert (directory.keys(), directory.digest) == (fresh.keys(), fresh.digest)
    assert [directory.load(k) for k in operated.accounts] == [fresh.load(k) for k in operated.accounts]


@pytest.mark.parametrize("error", [OSError, CutError])
@pytest.mark.parametrize("action", ["new", "update", "over damaged", "rename", "remove"])
def test_whatever_fails_memory_and_disk_agree(
    make: Make, operated: Operated, failing: Callable[..., list[str]], action: str, error: type[Exception]
) -> None:
    deletion = {"rename": Deletion.RENAME, "remove": Deletion.REMOVE}.get(action, Deletion.NONE)
    old, new, key = operated.token(issued=1), operated.token(issued=2), operated.accounts[0]
    for at in range(20):
        directory = make(deletion=deletion)
        for file in directory.path.iterdir():
            file.unlink()
        directory.reload()
        directory.store(operated.accounts[1], operated.token(1), newer_only=False)
        if action == "over damaged":
            (directory.path / f"{key}.jwt").write_text("half")
        elif action != "new":
            directory.store(key, old, newer_only=False)
        ran = failing(at, error)
        try:
            if deletion is Deletion.NONE:
                directory.store(key, new, newer_only=False)
            else:
                directory.delete(key)
        except (ResolverError, CutError):
            failing(-1, OSError)
            # After a cut, only what a fresh start finds counts.
            survivor = make(deletion=deletion) if error is CutError else directory
            agrees(survivor, operated, make)
            assert survivor.load(key) in {old if action != "new" else "", new, ""}
            if action in ("update", "rename", "remove") and survivor.load(key) == "":
                assert deletion is not Deletion.NONE
            assert survivor.load(operated.accounts[1]) == operated.token(1)
            assert not [f for f in survivor.path.iterdir() if f.name.startswith(".")] or error is OSError
            continue
        done = len(ran) <= at
        failing(-1, OSError)
        agrees(directory, operated, make)
        if done:
            assert directory.load(key) == ("" if deletion is not Deletion.NONE else new)
            assert at > 1
            return
    pytest.fail("no end of operations")
