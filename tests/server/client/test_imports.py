"""Which modules a server loads at its start: they cost time that users notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("pydantic", "nats", "nkeys", "nacl", "bcrypt", "click", "rich", "questionary", "jwt")

# Of the standard library: rarely used, and slow to load.
RARE = (
    "difflib",
    "email",
    "encodings.idna",
    "importlib.metadata",
    "importlib.resources",
    "platform",
    "shutil",
    "tempfile",
)

# Of the server itself, as RARE.
LATER = (
    "pyjs.keys",
    "pyjs.server.config.reload",
    "pyjs.server.jetstream.api.snapshot",
    "pyjs.server.jetstream.meta.responder",
)

# The documents about a server: each is imported when somebody asks for it.
DOCUMENTS = tuple(
    f"pyjs.server.monitor.{name}"
    for name in ("accountz", "connz", "healthz", "jsz", "peers", "raftz", "runtime", "subsz", "varz")
)


def test_a_plain_server_loads_nothing_it_does_not_use() -> None:
    code = "import sys, pyjs.server.app; print(*(m for m in sys.argv[1:] if m in sys.modules))"
    mine = ("pyjs.server.connection.secure", "pyjs.server.jetstream.engine", "pyjs.server.leaf", "pyjs.cli")
    done = subprocess.run(
        [sys.executable, "-c", code, *HEAVY, *mine], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []


def test_a_start_loads_nothing_it_does_not_use(tmp_path: Path) -> None:
    """All that a server with JetStream loads until it is ready."""
    code = """
import os, signal, sys
from pyjs.server.main import run
from pyjs.server.process.serve import Process
Process._write_files = lambda self: os.kill(os.getpid(), signal.SIGTERM)
ended = run(["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", sys.argv[1]])
print(ended, *(name for name in sys.argv[2:] if name in sys.modules))
"""
    words = [sys.executable, "-c", code, str(tmp_path / "js"), *HEAVY, *RARE, *LATER, *DOCUMENTS]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0"]
