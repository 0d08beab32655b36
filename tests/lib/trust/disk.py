"""A disk under a server process that keeps, beside what the process sees, what a power cut would leave.

`<store>` is what is seen: it survives the end of the process. `<store>.safe` is what survives a power cut: a
file's bytes after `sync`, a name after `sync_directory`; besides, as in a page cache, some of what was
written and not synced, whole or torn, in any order. `cut_power` (called when the process is dead) puts the
second in place of the first. Files and directories are known by a number in an extended attribute, which
survives renames and copies.

Faults while it runs come from the file `<store>.faults`, JSON: {"space": bytes that may still be written,
"write": errno, "sync": errno}. As on Linux, a sync that failed has lost its data, and the next one succeeds.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from random import Random

from pyjs.store import fs

ATTRIBUTE = "user.trust"
SPONTANEOUS = 0.1  # of the writes and names reach the disk by themselves
WHOLE = (-1, -1)  # in place of what was written to a file: all of it may be new


def number_of(where: int | str) -> str:
    """Return the number of a file or directory; "" if it has none yet."""
    with contextlib.suppress(OSError):
        return os.getxattr(where, ATTRIBUTE).decode()
    return ""


def safe_of(store: Path) -> Path:
    """Return the folder of what survives a power cut."""
    return store.with_name(store.name + ".safe")


def cut_power(store: Path) -> None:
    """Leave in `store` what had reached the disk. Its server's process must have ended."""
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(safe_of(store) / "tree", store)


def set_faults(store: Path, **faults: int) -> None:
    """Set what goes wrong from now on."""
    place = store.with_name(store.name + ".faults")
    temporary = place.with_suffix(".new")
    temporary.write_text(json.dumps(faults))
    temporary.replace(place)


class Safe:
    """What has reached the disk. One for each process; any thread may use it."""

    def __init__(self, store: Path, rng: Random) -> None:
        self.store = store
        self.tree = safe_of(store) / "tree"
        self.files = safe_of(store) / "files"
        self.rng = rng
        self.lock = threading.RLock()
        # By number: (offset, length) written, (size, -1) cut to; in order. Unknown: WHOLE.
        self.unsynced: dict[str, list[tuple[int, int]]] = {}
        self.tree.mkdir(parents=True, exist_ok=True)
        self.files.mkdir(exist_ok=True)

    def inside(self, path: str) -> bool:
        return path == str(self.store) or path.startswith(f"{self.store}/")

    def shadow(self, path: str) -> Path:
        return self.tree / Path(path).relative_to(self.store)

    def name(self, where: int | str, *, fresh: bool) -> str:
        """Return the number of what was opened or made; `fresh`: it is new, nothing of it is on the disk."""
        with self.lock:
            number = number_of(where)
            if not number:
                number = uuid.uuid4().hex
                os.setxattr(where, ATTRIBUTE, number.encode())
            if fresh:
                self.unsynced[number] = []
            return number

    def took(self, number: str, change: tuple[int, int], file: int) -> None:
        """Note a write or a cut; now and then it reaches the disk by itself."""
        with self.lock:
            self.unsynced.setdefault(number, [WHOLE]).append(change)
            if change[1] > 0 and self.rng.random() < SPONTANEOUS:
                offset, length = change
                self.copy(number, file, [(offset, self.rng.randint(1, length))])

    def copy(self, number: str, file: int, changes: list[tuple[int, int]]) -> None:
        """Bring what was written to the disk."""
        safe = os.open(self.files / number, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            if not number_of(safe):
                os.setxattr(safe, ATTRIBUTE, number.encode())
            if WHOLE in changes:
                size = os.fstat(file).st_size
                changes = [(0, size), (size, -1)]
            for offset, length in changes:
                if length < 0:
                    os.ftruncate(safe, offset)
                else:
                    os.pwrite(safe, os.pread(file, length, offset), offset)
        finally:
            os.close(safe)

    def sync(self, number: str, file: int) -> None:
        with self.lock:
            self.copy(number, file, self.unsynced.get(number, [WHOLE]))
            self.unsynced[number] = []

    def forget(self, number: str) -> None:
        """Note a failed sync: what it should have written counts as written."""
        with self.lock:
            self.unsynced[number] = []

    # --- names

    def sync_directory(self, path: str) -> None:
        with self.lock:
            here = self.shadow(path)
            if not here.exists():
                return  # its own name is not on the disk yet: whoever made it syncs that, too
            seen = {one.name: one for one in os.scandir(path)}
            for name, one in seen.items():
                number = number_of(one.path)
                if one.is_dir():
                    self._keep_directory(here / name, number or self.name(one.path, fresh=False))
                elif number:
                    self._keep_file(here / name, number)
            for place in here.iterdir():  # what was renamed is no longer found under its old name
                if place.name not in seen:
                    self._drop(place)

    def _keep_file(self, target: Path, number: str) -> None:
        source = self.files / number
        if not source.exists():
            source.touch()
            os.setxattr(source, ATTRIBUTE, number.encode())
        if target.is_dir():
            shutil.rmtree(target)
        if not target.exists() or not target.samefile(source):
            temporary = self.files / "link"
            temporary.unlink(missing_ok=True)
            os.link(source, temporary)
            temporary.replace(target)

    def _keep_directory(self, target: Path, number: str) -> None:
        if target.exists() and number_of(str(target)) == number:
            return
        self._drop(target)
        for folder, names, _ in os.walk(self.tree):
            for name in names:
                if number_of(f"{folder}/{name}") == number:  # it had another name
                    Path(folder, name).rename(target)
                    return
        target.mkdir()
        os.setxattr(target, ATTRIBUTE, number.encode())

    def _drop(self, target: Path) -> None:
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)


class Faults:
    """The content of the file of faults, read again when it has changed."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(store.name + ".faults")
        self._read = 0
        self._faults: dict[str, int] = {}
        self._written = 0
        self._lock = threading.Lock()

    def check(self, operation: str, size: int = 0) -> None:
        """Raise OSError if `operation` must fail."""
        with self._lock:
            self._look()
            code = self._faults.get(operation, 0)
            if operation == "write":
                self._written += size
                if self._written > self._faults.get("space", self._written):
                    code = errno.ENOSPC
        if code:
            raise OSError(code, os.strerror(code))

    def _look(self) -> None:
        try:
            changed = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if changed != self._read:
            self._read, self._written = changed, 0
            self._faults = json.loads(self._path.read_text())


class PowerDisk(fs.Disk):
    """`pyjs.store.fs.Disk` over a `Safe`. All instances of a process share one (`use`)."""

    safe: Safe
    faults: Faults

    @classmethod
    def use(cls, store: Path, seed: int) -> None:
        """Set the shared `Safe`; call this before anything is opened."""
        cls.safe = Safe(store, Random(seed))
        cls.faults = Faults(store)

    def open(self, path: str, *, create: bool = False) -> int:
        fresh = create and not Path(path).exists()
        if create:
            self.faults.check("write")
        file = super().open(path, create=create)
        if self.safe.inside(path):
            self.safe.name(file, fresh=fresh)
        return file

    def write(self, file: int, data: bytes, offset: int) -> None:
        self.faults.check("write", len(data))
        super().write(file, data, offset)
        if number := number_of(file):
            self.safe.took(number, (offset, len(data)), file)

    def write_each(self, file: int, parts: Sequence[bytes], offset: int) -> None:
        size = sum(map(len, parts))
        self.faults.check("write", size)
        super().write_each(file, parts, offset)
        if number := number_of(file):
            self.safe.took(number, (offset, size), file)

    def overwrite(self, file: int, data: bytes, offset: int) -> None:
        self.write(file, data, offset)

    def truncate(self, file: int, size: int) -> None:
        super().truncate(file, size)
        if number := number_of(file):
            self.safe.took(number, (size, -1), file)

    def sync(self, file: int) -> None:
        number = number_of(file)
        try:
            self.faults.check("sync")
        except OSError:
            self.safe.forget(number)
            raise
        if number:
            self.safe.sync(number, file)

    def sync_directory(self, path: str) -> None:
        self.faults.check("sync")
        if self.safe.inside(path):
            self.safe.sync_directory(path)

    def rename(self, source: str, target: str) -> None:
        self.faults.check("write")
        super().rename(source, target)

    def make_directory(self, path: str) -> None:
        self.faults.check("write")
        missing: list[Path] = []
        directory = Path(path)
        while not directory.exists():
            missing.append(directory)
            directory = directory.parent
        for directory in reversed(missing):
            directory.mkdir(mode=0o750, exist_ok=True)
            if self.safe.inside(str(directory)) and directory != self.safe.store:
                self.safe.name(str(directory), fresh=False)
                self.safe.sync_directory(str(directory.parent))
