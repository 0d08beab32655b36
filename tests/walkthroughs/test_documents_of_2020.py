"""The preview document of 2020 and part 7 of the series on NATS replay, line by line, with `legacy_api`.

What cannot be played, and what looks otherwise today, is said in the transcripts.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib import pyjs_server, transcript
from lib.cli import Cli
from lib.eventually import eventually
from lib.preforked import process_pool
from lib.process import ServerProcess, free_port
from lib.transcript import Step
from lib.wire import Msg, Wire
from pyjs.server.config.load import load_text

HERE = Path(__file__).parent
CONFIG = 'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>", legacy_api: true }\n'
LOGS = {
    "name": "LOGS",
    "subjects": ["logs.>"],
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 86400000000000,
    "max_msg_size": -1,
    "storage": "file",
    "num_replicas": 1,
}
LOGS_TAIL = {
    "stream_name": "LOGS",
    "config": {
        "delivery_subject": "out.tail",
        "durable_name": "TAIL",
        "start_time": "0001-01-01T00:00:00Z",
        "deliver_all": True,
        "ack_policy": "none",
        "max_deliver": -1,
        "replay_policy": "instant",
    },
}


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server of the test's own."""
    running = pyjs_server.start(CONFIG)
    try:
        yield running
    finally:
        running.stop()


def play(cli: Cli, step: Step) -> None:
    """Run a step: `[cat FILE |] pyjs … [| jq .PATH] [> FILE]`, or `! pyjs …`, which must fail."""
    line, _, into = step.command.partition(" > ")
    line, _, path = line.partition(" | jq ")
    source, _, piped = line.rpartition(" | ")
    fails = piped.startswith("! ")
    words = shlex.split(piped.removeprefix("! "))[1:]
    if step.questions:
        transcript.play(cli, Step(piped, step.expected), partly=True)
        return
    given = (cli.home / source.removeprefix("cat ")).read_text() if source else ""
    result = cli.run(*words, stdin=given)
    assert (result.code != 0) == fails, f"{step.command}\n{result.out}{result.err}"
    if into:
        (cli.home / into).write_text(_part(result.out, path))
        return
    missing = transcript.missing(step.expected, f"{result.err}\n{result.out}".splitlines())
    assert not missing, f"{step.command}: {missing}\n{result.out}{result.err}"


def _part(document: str, path: str) -> str:
    """What `jq PATH` prints of a document."""
    found = json.loads(document)
    for name in path.split(".")[1:]:
        found = found[name]
    return json.dumps(found)


def heard(wire: Wire) -> list[Msg]:
    return [each for each in wire.sync() if isinstance(each, Msg)]


def test_the_preview_document(server: ServerProcess, tmp_path: Path) -> None:
    cli = Cli(tmp_path, "--server", server.url)
    with server.connect() as terminal:
        terminal.sub("my.monitor")
        terminal.sub("$JS.EVENT.METRIC.CONSUMER.ACK.ORDERS.NEW", "2")
        for step in transcript.read(HERE / "preview.txt"):
            play(cli, step)
        found = heard(terminal)
    monitored = next(each for each in found if each.sid == "1")
    assert (monitored.subject, monitored.body) == ("ORDERS.processed", b"order 100")
    sample = next(each for each in found if each.sid == "2").json()
    assert sample["type"] == "io.nats.jetstream.metric.v1.consumer_ack"
    assert (sample["stream"], sample["consumer"], sample["deliveries"]) == ("ORDERS", "NEW", 1)
    assert sample["ack_time"] > 0


def test_part_7(server: ServerProcess, tmp_path: Path) -> None:
    cli = Cli(tmp_path, "--server", server.url)
    files = {
        "LOGS.json": LOGS,
        "LOGS_10GB.json": LOGS | {"max_bytes": 10737418240},
        "LOGS_TAIL.json": LOGS_TAIL,
    }
    for name, document in files.items():
        (tmp_path / name).write_text(json.dumps(document))
    for step in transcript.read(HERE / "part-7.txt"):
        if "CONFIG_OF_TAIL.json" in step.command:
            config = json.loads((tmp_path / "TODAY.json").read_text())["config"]
            (tmp_path / "CONFIG_OF_TAIL.json").write_text(json.dumps(config))
        play(cli, step)


def test_the_flags_of_the_preview_document(tmp_path: Path) -> None:
    """`nats-server -js -sd /tmp/test`. Without `-sd` a directory that all servers share is used."""
    port, store, log = free_port(), tmp_path / "test", tmp_path / "log"
    line = ["-js", "-sd", str(store), "-a", "127.0.0.1", "-p", str(port)]
    child = process_pool("pyjs-server").start(line, log, tmp_path)
    try:
        eventually(lambda: "Server is ready" in log.read_text(), 60)
        with Wire.connected(port) as wire:
            assert "error" not in wire.request("$JS.API.INFO").json()
        lines = ["JETSTREAM", "Max Memory:", "Max Storage:", f'Store Directory: "{store}']
        assert not transcript.missing(lines, log.read_text().splitlines())
        assert store.exists()
    finally:
        child.kill()
        child.wait()


def test_without_jetstream_nobody_answers(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    """Part 7 shows a timeout. Servers have told since 2.2 that there are no responders."""
    cli = Cli(tmp_path, "--server", serve('listen: "127.0.0.1:<client>"\n').url)
    assert "No responders are available" in cli.run("req", "$JS.ENABLED", ".").err


ACCOUNTS = """
listen: "127.0.0.1:<client>"
jetstream {
  store_dir: "<store>"
  max_mem: 1G
  max_file: 100G
  legacy_api: true
}
accounts {
  HR: {
    users: [{ user: hr, password: hr }]
    jetstream {
      max_mem: 512M
      max_file: 1G
      max_streams: 10
      max_consumers: 100
    }
  }
}
"""
SIZES = """
// enables jetstream, an empty block will enable and use defaults
jetstream {
  // jetstream data will be in /data/nats-server/jetstream
  store_dir: "/data/nats-server"
  // 1GB
  max_memory_store: 1073741824
  // 10GB
  max_file_store: 10737418240
}
"""


def test_the_configurations_of_the_preview_document(tmp_path: Path) -> None:
    running = pyjs_server.start(ACCOUNTS)
    try:
        with running.connect(user="hr", **{"pass": "hr"}) as wire:
            assert wire.request("$JS.INFO", ".").json()["limits"] == {
                "max_memory": 512_000_000,  # 512M, as nats-server reads it
                "max_storage": 1_000_000_000,
                "max_streams": 10,
                "max_consumers": 100,
            }
    finally:
        running.stop()
    for text in ("jetstream: enabled\n", SIZES):
        options = load_text(text)
        assert options.jetstream.enabled
    assert (options.jetstream.max_memory, options.jetstream.max_file) == (1 << 30, 10 << 30)
