"""Nothing that one client asks keeps the others waiting: no callback of the server's loop above 10 ms.

Each test sends ten times what is usual, or a hundred times, to a server whose callbacks are measured
(lib/callbacks.py). Processor time is counted, so the machine's load matters little. The reference runs the
same requests: what it takes must be taken.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess

HOLD = """
import asyncio, time
import callbacks

callbacks.measure({path!r})

def hold(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

async def main():
    hold(0.002)
    await asyncio.sleep(0)
    hold(0.05)
    asyncio.get_running_loop().call_soon(hold, 0.03)
    await asyncio.sleep(0.05)

asyncio.run(main())
"""


def test_a_callback_that_holds_its_loop_is_found(tmp_path: Path) -> None:
    path = tmp_path / "slow"
    lib = Path(__file__).parents[1] / "lib"
    subprocess.run([sys.executable, "-c", HOLD.format(path=str(path))], check=True, cwd=lib)
    task, call = Callbacks(path).new()
    assert (task.name, call.name) == ("task main", "hold")
    assert 0.05 <= task.seconds < 0.1
    assert 0.03 <= call.seconds < 0.06
    assert any("hold" in stack[0] for stack in task.stacks)


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


def test_a_stream_with_its_consumers(server: ServerProcess, callbacks: Callbacks) -> None:
    with JetStream.of(server) as js, callbacks.bounded(server):
        js.call("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})
        for number in range(1000):
            js.wire.pub("s.a", str(number))
        eventually(lambda: js.call("STREAM.INFO.S")["state"]["messages"] == 1000)
        for name in ("A", "B"):
            js.call(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": {"durable_name": name}})
