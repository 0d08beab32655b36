"""Lines of nats replayed: whether each succeeds, and the facts that it prints.

In a recording (see `recording`), `| text` is a line of output that is only names or bodies (sorted), and
values that differ from run to run read `…`. In a line, URL is the server's address, and `sys: ` runs it as
the user of the system account.

`record` plays the lines of a recording with a real `nats` and writes it again::

    python -m lib.nats_lines /path/to/nats tests/cli/nats_session.txt
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import recording
from .process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 1GB }
accounts {
    SYS: { users: [{user: admin, password: admin}] }
    ACC: { jetstream: enabled, users: [{user: acc, password: acc}] }
}
system_account: SYS
no_auth_user: acc
"""
SYSTEM = ("--user", "admin", "--password", "admin")
STABLE = re.compile(  # the paths whose values are the same in each run
    r"config(\.(?!metadata\._nats|pause_until).*)?|state\.(messages|first_seq|last_seq|num_.*|consumer_count|deleted.*)"
    r"|(delivered|ack_floor)\.(stream|consumer)_seq|num_.*|name|stream_name|mirror\.name|sources\[\]\.name"
)
PLAIN = re.compile(r"--(names|completion)\b|(kv|stream) get .*--raw|consumer next .*--raw")
Run = Callable[[list[str]], tuple[int, str]]  # words -> exit code, stdout


def prepare(home: Path) -> None:
    """Write the files that lines name."""
    (home / "file.txt").write_text("hello\n")
    (home / "big.bin").write_bytes(bytes(5000))
    (home / "bad.json").write_text('{"name": 5, "retention": "nothing"}')


def play(line: str, url: str, run: Run) -> str:
    """Run a line; return its part of a recording."""
    words = shlex.split(line.replace("URL", url))
    if words[0] == "sys:":
        words = [*SYSTEM, *words[1:]]
    code, printed = run(words)
    text = f"$ {line}\n"
    if code:
        return text + "failed\n"
    found = recording.document(printed)
    if found is not None:
        facts = {
            path: value if STABLE.fullmatch(path) or value in ({}, []) else "…"
            for path, value in recording.facts(found)
        }
        return text + f"= {json.dumps(facts, ensure_ascii=False)}\n"
    if PLAIN.search(line):
        return text + "".join(sorted(f"| {each}\n" for each in printed.split("\n") if each))
    return text


def record(nats: str, path: Path) -> None:
    """Play the lines of a recording with a real nats on a real nats-server, and write the recording again."""
    from .pool import START

    server: ServerProcess = START["reference"](CONFIG)
    home = Path(tempfile.mkdtemp())
    prepare(home)
    env = {**recording.environment(home), "NATS_URL": server.url}

    def run(words: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            [nats, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=env,
            cwd=home,
            timeout=60,
        )
        return done.returncode, done.stdout

    try:
        recording.record(path, lambda line: play(line, server.url, run))
    finally:
        server.stop()


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]))
