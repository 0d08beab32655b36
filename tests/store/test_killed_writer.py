"""kill -9 of a process that writes, rolls, removes, compacts: all that it reported as committed is there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from pyjs.store.file import FileStream

ROUNDS = 6
WRITER = """
import sys
from pyjs.store.file import FileStream
stream = FileStream(sys.argv[1], block_size=20000)
while True:
    for _ in range(20):
        seq = stream.last_seq + 1
        stream.append("a.%d" % (seq % 7), b"", b"%d:" % seq + b"x" * (seq % 200), seq)
    if stream.messages > 600:
        stream.remove_first()
    if stream.last_seq > 100:
        stream.remove((stream.last_seq - 50) // 7 * 7)
    stream.commit_sync()
    print(stream.first_seq, stream.last_seq, flush=True)
    work = stream.begin_maintenance()
    if work is not None:
        work.run()
        stream.finish(work)
"""


def test_what_a_killed_writer_committed_is_there(tmp_path: Path) -> None:
    directory = str(tmp_path / "msgs")
    source = random.Random(7)
    for _ in range(ROUNDS):
        with subprocess.Popen([sys.executable, "-c", WRITER, directory], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            reports = [writer.stdout.readline() for _ in range(source.randrange(5, 120))]
            writer.kill()
            reports += writer.stdout.readlines()
        assert writer.returncode == -signal.SIGKILL
        first, last = map(int, [line for line in reports if line.endswith(b"\n")][-1].split())
        stream = FileStream(directory, block_size=20000)
        assert stream.faults == []
        assert stream.damaged() == []
        assert stream.last_seq >= last
        assert stream.first_seq >= first
        for seq in range(stream.first_seq, stream.last_seq + 1):
            message = stream.next((), seq)
            assert message is not None
            assert message.body.startswith(b"%d:" % message.seq)
            assert message.seq == seq or seq % 7 == 0, "an acknowledged message is gone"
        stream.close()
