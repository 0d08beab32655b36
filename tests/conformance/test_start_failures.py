"""A start that fails: exit code 1, and the texts that clients' test helpers look for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lib.reference import binary

COMMANDS = {"reference": [binary()], "pyjs": [sys.executable, "-m", "pyjs.server.main"]}
CLUSTER = (
    'server_name: a\njetstream {{ store_dir: "{0}/s" }}\ncluster {{ name: c, listen: "127.0.0.1:-1" }}\n'
)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("port: -1\nusers: [ {{ user: a }", "Parse error"),
        ("port: -1\nfoo {{", "Parse error"),
        ('port: -1\njetstream {{ store_dir: "{0}/file" }}', "storage directory is not a directory"),
        ("port: -1\n" + CLUSTER, "JetStream cluster requires configured routes or solicited leafnode"),
        ('host: "127.0.0.1"\nport: -1\npid_file: "{0}/none/pid"', "ould not write pidfile"),
    ],
)
def test_a_start_that_fails_says_why(name: str, config: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "server.conf").write_text(
        config.replace("{{", "{").replace("}}", "}").replace("{0}", str(tmp_path))
    )
    done = subprocess.run(
        [*COMMANDS[name], "-c", "server.conf"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 1
    assert said in done.stdout + done.stderr
