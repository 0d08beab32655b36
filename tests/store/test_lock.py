"""A store directory belongs to one server at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyjs.server.embed import serve
from pyjs.store.lock import DirectoryLock, InUseError

HOLDER = """
import sys
from pyjs.store.lock import DirectoryLock
lock = DirectoryLock(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    first = DirectoryLock(str(tmp_path))
    with pytest.raises(InUseError, match=rf"used by another server \(process {os.getpid()}\)"):
        DirectoryLock(str(tmp_path))
    first.release()
    first.release()
    DirectoryLock(str(tmp_path)).release()


def test_a_killed_holder_leaves_nothing_to_clean_up(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InUseError, match=f"process {holder.pid}"):
            DirectoryLock(str(tmp_path))
        holder.send_signal(signal.SIGKILL)
    DirectoryLock(str(tmp_path)).release()


def test_a_second_server_does_not_start_on_the_same_store(tmp_path: Path) -> None:
    with serve(store_dir=tmp_path) as first:
        with pytest.raises(InUseError):
            serve(store_dir=tmp_path).start()
        assert first.call(lambda server: server.jetstream is not None)
    with serve(store_dir=tmp_path):
        pass
