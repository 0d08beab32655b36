"""A PostgreSQL server of a test's own, where the machine has one; it listens on 127.0.0.1 alone."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
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
    def started(cls, folder: Path) -> Iterator[Postgres]:
        """Provide a server with its data in `folder`; skips the test where there is none to run."""
        found = shutil.which("postgres")
        programs = Path(found).resolve().parent if found else None
        if programs is None or not (programs / "initdb").exists():
            pytest.skip("not run: there is no PostgreSQL here")
        user = _user()
        folder.mkdir()
        if user is not None:
            shutil.chown(folder, user)
            for parent in folder.parents:
                if parent.owner() == "root" and parent.name.startswith(("pytest-", "test_", "popen-")):
                    parent.chmod(0o755)
        port = free_port()
        data = folder / "data"
        made = [programs / "initdb", "-D", data, "-A", "trust", "-U", "pyjs", "--no-sync"]
        subprocess.run(made, user=user, cwd=folder, capture_output=True, timeout=SECONDS, check=True)
        command = [programs / "postgres", "-D", data, "-p", str(port), "-k", folder, "-c", "fsync=off"]
        with subprocess.Popen(
            command, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
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
