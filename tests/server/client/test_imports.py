"""Which modules a server loads at its start: they cost time that users notice."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pydantic", "nats", "nkeys", "nacl", "bcrypt", "click", "rich", "questionary", "jwt")


def test_a_plain_server_loads_nothing_it_does_not_use() -> None:
    code = "import sys, pyjs.server.app; print(*(m for m in sys.argv[1:] if m in sys.modules))"
    mine = ("pyjs.server.connection.secure", "pyjs.server.jetstream.engine", "pyjs.server.leaf", "pyjs.cli")
    done = subprocess.run(
        [sys.executable, "-c", code, *HEAVY, *mine], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []
