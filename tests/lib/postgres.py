"""A PostgreSQL server of a test's own, where the machine has one; it listens on 127.0.0.1 alone."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.process import free_port

SECONDS = 60.0


@dataclass(frozen=True)
class Postgres:
    """A running server, and JDBC's URL of its database."""

    url: str

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> Iterator[Postgres]:
        """Provide a server with its data in a folder of its own; where there is none, the test is skipped."""
        found = shutil.which("postgres")
        programs = Path(found).resolve().parent if found else None
        if programs is None or not (programs / "initdb").exists():
            pytest.skip("not run: there is no PostgreSQL here")
        user = _user()
        with tempfile.TemporaryDirectory(prefix="pyjs-postgres-", dir="/tmp") as name:
            folder = Path(name)
            if user is not None:
                shutil.chown(folder, user)
            with cls._running(programs, folder, user) as base:
                yield base

    @classmethod
    @contextlib.contextmanager
    def _running(cls, programs: Path, folder: Path, user: str | None) -> Iterator[Postgres]:
        port = free_port()
        data = folder / "data"
        made: list[str | Path] = [programs / "initdb", "-D", data, "-A", "trust", "-U", "pyjs", "--no-sync"]
        subprocess.run(made, user=user, cwd=folder, capture_output=True, timeout=SECONDS, check=True)
        command: list[str | Path] = [
            programs / "postgres",
            "-D",
            data,
            "-p",
            str(port),
            "-k",
            folder,
            "-c",
            "fsync=off",
        ]
        with subprocess.Popen(
            command, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            ready: list[str | Path] = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
            try:
                eventually(lambda: subprocess.run(ready, check=False).returncode == 0)
                yield cls(f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=pyjs")
            finally:
                process.terminate()
                process.wait(SECONDS)


def _user() -> str | None:
    """Return the user to run as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None
