"""The Python daemon, driven as Spark's JVM drives it: its workers are forked with everything imported."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from pyjs.pipeline.daemon import MODULES, without_archive

pytest.importorskip("pyspark")
SECRET = b"secret"


def test_a_worker_begins_with_everything_imported() -> None:
    environment = os.environ | {"PYTHON_WORKER_FACTORY_SECRET": SECRET.decode()}
    environment.pop("PYTHON_UNIX_DOMAIN_ENABLED", None)
    command = [sys.executable, "-m", "pyjs.pipeline.daemon", "pyspark.worker"]
    daemon = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    try:
        (port,) = struct.unpack("!i", daemon.stdout.read(4))
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as line,
            line.makefile("rb") as answers,
        ):
            (worker,) = struct.unpack("!i", answers.read(4))
            assert worker not in {0, daemon.pid}
            line.sendall(struct.pack("!i", len(SECRET)) + SECRET)
            assert answers.read(6) == struct.pack("!i", 2) + b"ok"
            maps = Path(f"/proc/{worker}/maps")
            assert not maps.exists() or "pyarrow" in maps.read_text()
        daemon.stdin.close()
        daemon.wait(60)
    finally:
        daemon.kill()
        daemon.wait()
        daemon.stdout.close()


def test_every_module_is_there() -> None:
    program = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", program, *MODULES], check=True)


def test_an_archive_of_the_same_pyspark_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "pyspark"
    package.mkdir(parents=True)
    archive = str(package / "python" / "lib" / "pyspark.zip")
    other = str(tmp_path / "spark" / "python" / "lib" / "pyspark.zip")
    monkeypatch.setattr(sys, "path", [archive, other, str(package.parent)])
    assert without_archive(sys.path) == sys.path  # nothing is unpacked there
    (package / "__init__.py").touch()
    assert without_archive(sys.path) == [other, str(package.parent)]
    monkeypatch.setattr(sys, "path", [archive, other])  # where Python would not find it unpacked
    assert without_archive(sys.path) == sys.path
