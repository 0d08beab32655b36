"""The server as a process: signals, reload, lame duck, and what survives a restart."""

from __future__ import annotations

import json
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.jetstream import SECOND, ApiFailureError, JetStream
from lib.process import ServerProcess
from lib.reference import binary
from lib.wire import Msg, Wire

BASE = 'listen: 127.0.0.1:<client>\nserver_name: S\npid_file: "<store>.pid"\n'
USERS = (
    BASE
    + """
authorization { users: [
  { user: stays, password: p }
  { user: goes, password: p }
  { user: narrows, password: p, permissions: { subscribe: ["a.>", "b.>"], publish: ["a.>", "b.>"] } }
] }
"""
)
FEWER = (
    BASE
    + """
max_payload: 100
authorization { users: [
  { user: stays, password: p }
  { user: comes, password: p }
  { user: narrows, password: p, permissions: { subscribe: ["a.>"], publish: ["a.>"] } }
] }
"""
)


def login(server: ServerProcess, user: str) -> bool:
    try:
        with server.connect(**{"user": user, "pass": "p"}):
            return True
    except ConnectionError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ending_closes_clients_and_exits(launch: Callable[[str], ServerProcess], number: int) -> None:
    server = launch(BASE)
    with server.connect() as wire:
        server.signal(number)
        wire.ends()
    assert server.process is not None
    assert server.process.wait(30) in {0, 1}


def test_an_interrupt_ends_it_though_a_script_began_it_in_the_background(
    launch: Callable[[str], ServerProcess], implementation: str
) -> None:
    server = launch(BASE)
    server.end()
    program = (
        binary() if implementation == "reference" else str(Path(sys.executable).with_name("pyjs-server"))
    )
    # What a shell without job control does for `program &`.
    server.command = ["sh", "-c", 'trap "" INT; exec "$0" "$@"', program]
    server.launch()
    server.signal(signal.SIGINT)
    assert server.process is not None
    assert server.process.wait(30) == 0


def test_waiting_requests_are_notified_of_the_end(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(BASE + 'jetstream { store_dir: "<store>" }\n')
    with JetStream.of(server) as js:
        js.create("S")
        js.consumer("S", "C")
        js.ask("S", "C", {"batch": 7, "max_bytes": 1000, "expires": 30 * SECOND})
        eventually(lambda: js.consumer_info("S", "C")["num_waiting"] == 1)
        server.signal(signal.SIGTERM)
        received = js.wire.msg()
    assert received.status == "409 Server Shutdown"
    assert received.headers == {"Nats-Pending-Messages": "7", "Nats-Pending-Bytes": "1000"}


def test_an_ordered_consumer_is_made_again_after_a_restart(launch: Callable[[str], ServerProcess]) -> None:
    """What clients say (nats-jetstream): they ask again, are told that nobody is there, and start again."""
    server = launch(BASE + 'jetstream { store_dir: "<store>" }\n')
    config = {
        "ack_policy": "none",
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": 300 * SECOND,
    }

    def pull(js: JetStream, name: str, start: int) -> list[Msg]:
        at = {"deliver_policy": "by_start_sequence", "opt_start_seq": start} if start else {}
        made = {"name": name, **config, **at}
        js.call(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": made})
        js.ask("S", name, {"batch": 100, "expires": 30 * SECOND, "no_wait": False})
        return js.wire.msgs(3)

    with JetStream.of(server) as js:
        js.create("S", storage="file")
        js.fill("S", 3)
        assert [message.body for message in pull(js, "O_1", 0)] == [b"1", b"2", b"3"]
        server.signal(signal.SIGTERM)
        assert js.wire.msg().headers["Nats-Pending-Messages"] == "97"
    assert server.process is not None
    server.process.wait(30)
    server.launch()
    with JetStream.of(server) as js:
        js.fill("S", 3)
        js.ask("S", "O_1", {"batch": 100, "expires": 30 * SECOND, "no_wait": False})
        assert js.wire.msg().status == "503"
        assert [message.reply.split(".")[5:7] for message in pull(js, "O_2", 4)] == [
            ["4", "1"],
            ["5", "2"],
            ["6", "3"],
        ]


def test_the_pid_file_holds_the_process(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(BASE)
    assert server.process is not None
    pid = (server.directory / "store.pid").read_text()
    assert int(pid) == server.process.pid


def test_reload_applies_users_and_permissions(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(USERS)
    with (
        server.connect(**{"user": "stays", "pass": "p"}) as stays,
        server.connect(**{"user": "goes", "pass": "p"}) as goes,
        server.connect(**{"user": "narrows", "pass": "p"}) as narrows,
    ):
        stays.sub("kept")
        narrows.sub("a.x", "1")
        narrows.sub("b.x", "2")
        narrows.sync()
        server.configure(FEWER)
        server.signal(signal.SIGHUP)
        eventually(lambda: login(server, "comes"))
        assert not login(server, "goes")
        goes.ends()
        assert narrows.next() == b'-ERR \'Permissions Violation for Subscription to "b.x" (sid "2")\''
        stays.pub("kept", "still here")
        assert stays.msg().body == b"still here"
        stays.pub("a.x", "heard")
        stays.pub("b.x", "not heard")
        stays.sync()
        assert [m.sid for m in narrows.sync() if isinstance(m, Msg)] == ["1"]
        narrows.pub("b.x", "")
        assert narrows.sync() == [b"-ERR 'Permissions Violation for Publish to \"b.x\"'"]


@pytest.mark.parametrize("limit", [1, 0])
def test_reload_closes_who_is_too_many_in_an_account(
    launch: Callable[[str], ServerProcess], limit: int
) -> None:
    account = "accounts {{ A {{ users: [{{user: a, password: p}}], limits: {{max_connections: {}}} }} }}\n"
    server = launch(BASE + account.format(3))
    wires = [server.connect(**{"user": "a", "pass": "p"}) for _ in range(3)]
    server.configure(BASE + account.format(limit))
    server.signal(signal.SIGHUP)
    eventually(lambda: sum(_refused_as_full(wire) for wire in wires) == len(wires) - limit)
    if server.name == "pyjs":  # the reference takes any
        assert [_refused_as_full(wire) for wire in wires] == [False] * limit + [True] * (3 - limit)
    for wire in wires:
        wire.close()


def _refused_as_full(wire: Wire) -> bool:
    """Whether this client was told that its account has too many."""
    if not wire.eof:
        with suppress(OSError, EOFError):
            wire.unread.extend(wire.sync())
    return b"-ERR 'maximum account active connections exceeded'" in wire.unread


def test_reload_sends_clients_the_new_payload_limit(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(BASE)
    with server.connect() as wire:
        server.configure(BASE + "max_payload: 100\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: _max_payload(server) == 100)
        wire.send("PUB a 101\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def _max_payload(server: ServerProcess) -> int:
    with server.raw() as wire:
        return int(wire.info["max_payload"])


def test_a_bad_configuration_is_not_applied(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(USERS)
    server.configure(USERS + "\nthis_is_no_key: 1\n")
    before = server.log()
    server.signal(signal.SIGHUP)
    eventually(lambda: "this_is_no_key" in server.log()[len(before) :])
    assert login(server, "goes")


def test_reload_adds_an_account_with_jetstream(launch: Callable[[str], ServerProcess]) -> None:
    config = BASE + 'jetstream { store_dir: "<store>" }\n'
    one = "accounts { A { users: [{ user: a, password: p }], jetstream: enabled } }\n"
    two = (
        "accounts { A { users: [{ user: a, password: p }], jetstream: enabled }\n"
        " B { users: [{ user: b, password: p }], jetstream: enabled } }\n"
    )
    server = launch(config + one)
    with JetStream.of(server, **{"user": "a", "pass": "p"}) as js:
        js.create("S")
        js.publish("S")
        server.configure(config + two)
        server.signal(signal.SIGHUP)
        eventually(lambda: login(server, "b"))
        with JetStream.of(server, **{"user": "b", "pass": "p"}) as other:
            other.create("S")
            assert other.state("S")["messages"] == 0
        assert js.publish("S")["seq"] == 2


LIMITS = 'jetstream {{ store_dir: "<store>{}", max_mem: {}MB, max_file: {}MB }}\n'
MONITORED = BASE + "http: 127.0.0.1:<http>\n"
JETSTREAM = MONITORED + LIMITS.format("", 10, 10)
REFUSED = "config reload not supported"
APPLIED = "Reloaded server configuration"


def _jetstream(server: ServerProcess) -> tuple[int, int, bool]:
    """(max_memory, max_storage, whether it is off), as monitoring tells."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/jsz", timeout=20) as answer:
        received = json.load(answer)
    return (
        received["config"]["max_memory"],
        received["config"]["max_storage"],
        received.get("disabled", False),
    )


def _reload(server: ServerProcess, config: str, done: str) -> None:
    """Return when the log has told so."""
    before = len(server.log())
    server.configure(config)
    server.signal(signal.SIGHUP)
    eventually(lambda: done in server.log()[before:])


def test_reload_raises_the_limits_of_jetstream(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(JETSTREAM)
    with JetStream.of(server) as js:
        js.create("S", storage="file", max_bytes=9_000_000)
        with pytest.raises(ApiFailureError):
            js.create("T", storage="file", max_bytes=9_000_000)
        _reload(server, MONITORED + LIMITS.format("", 20, 30), APPLIED)
        assert _jetstream(server) == (20 << 20, 30 << 20, False)
        js.create("T", storage="file", max_bytes=9_000_000)


@pytest.mark.parametrize(
    "other",
    [
        LIMITS.format("", 5, 10),
        LIMITS.format("", 10, 5),
        LIMITS.format("2", 10, 10),
        'jetstream { store_dir: "<store>" }',
        'jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB, domain: d }',
    ],
)
def test_reload_lowers_nothing_of_jetstream_and_moves_nothing(
    launch: Callable[[str], ServerProcess], other: str
) -> None:
    server = launch(JETSTREAM)
    _reload(server, MONITORED + other, REFUSED)
    assert _jetstream(server) == (10 << 20, 10 << 20, False)


@pytest.mark.parametrize("without", ["", 'jetstream { store_dir: "<store>", enabled: false }'])
def test_reload_switches_jetstream_off_and_on(launch: Callable[[str], ServerProcess], without: str) -> None:
    server = launch(MONITORED)
    with server.connect() as stays:
        stays.sub("x")
        _reload(server, JETSTREAM, APPLIED)
        eventually(lambda: _jetstream(server) == (10 << 20, 10 << 20, False))
        with JetStream.of(server) as js:
            js.create("S", storage="file")
            js.consumer("S", "C")
            assert js.publish("S")["seq"] == 1
        _reload(server, MONITORED + without, APPLIED)
        eventually(lambda: _jetstream(server) == (0, 0, True))
        with server.connect() as wire:
            assert "jetstream" not in wire.info or server.name == "reference"
        _reload(server, JETSTREAM, APPLIED)
        eventually(lambda: not _jetstream(server)[2])
        with JetStream.of(server) as js:
            eventually(lambda: js.call("STREAM.NAMES")["streams"] == ["S"])
            assert js.publish("S")["seq"] == 2
            assert js.consumer_info("S", "C")["num_pending"] == 2
        stays.pub("x", "all the time")
        assert stays.msg().body == b"all the time"


def test_lame_duck_informs_clients_and_takes_no_new_ones(launch: Callable[[str], ServerProcess]) -> None:
    lame_duck = 'http: "127.0.0.1:<http>"\nlame_duck_duration: "30s"\nlame_duck_grace_period: "10s"\n'
    server = launch(BASE + lame_duck)
    with server.connect() as wire:
        wire.sync()
        server.signal(signal.SIGUSR2)
        eventually(lambda: wire.sync() == [] and wire.infos[-1].get("ldm") is True)
        wire.sub("x")
        wire.pub("x", "still served")
        assert wire.msg().body == b"still served"
        eventually(lambda: _refuses(server))
        with pytest.raises(urllib.error.HTTPError) as received:
            urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/healthz", timeout=20)
        with received.value as answer:
            health = json.load(answer)
        assert (answer.status, health["status"]) == (500, "error")
        assert "failed to be ready for connections" in health["error"]
        server.kill()


def test_lame_duck_with_no_clients_ends_at_once(launch: Callable[[str], ServerProcess]) -> None:
    lame_duck = 'http: "127.0.0.1:<http>"\nlame_duck_duration: "30s"\nlame_duck_grace_period: "10s"\n'
    server = launch(BASE + lame_duck)
    # The connection that found it ready may not be gone yet.
    eventually(lambda: _connections(server) == 0)
    server.signal(signal.SIGUSR2)
    assert server.process is not None
    assert server.process.wait(30) in {0, 1}


def _connections(server: ServerProcess) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/varz", timeout=20) as answer:
        return int(json.load(answer)["connections"])


def _refuses(server: ServerProcess) -> bool:
    try:
        server.raw().close()
    except (OSError, EOFError):
        return True
    return False


def test_log_reopen_goes_on_in_a_new_file(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(BASE + 'logfile: "<store>.log"\n')
    log = server.directory / "store.log"
    assert "Server is ready" in log.read_text()
    log.rename(server.directory / "old.log")
    server.signal(signal.SIGUSR1)
    eventually(log.exists)


def test_streams_and_consumers_are_there_again(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(BASE + 'jetstream { store_dir: "<store>" }\n')
    with JetStream.of(server) as js:
        config = js.create("F", storage="file", subjects=["f.*"], max_msgs_per_subject=3, description="d")[
            "config"
        ]
        for i in range(10):
            js.publish(f"f.{i % 2}", str(i), {"Nats-Msg-Id": str(i)})
        js.call("STREAM.MSG.DELETE.F", {"seq": 7})
        js.consumer("F", "C", filter_subject="f.1")
        (message,), _ = js.pull("F", "C")
        js.ack(message)
        before = js.info("F", deleted_details=True)
    server.restart()
    with JetStream.of(server) as js:
        after = js.info("F", deleted_details=True)
        assert after["config"] == config
        assert after["created"] == before["created"]
        for field in (
            "messages",
            "bytes",
            "first_seq",
            "last_seq",
            "first_ts",
            "last_ts",
            "num_subjects",
            "deleted",
        ):
            assert after["state"].get(field) == before["state"].get(field), field
        info = js.consumer_info("F", "C")
        assert (info["delivered"]["consumer_seq"], info["num_pending"]) == (1, 2)
        (message,), _ = js.pull("F", "C")
        assert message.reply.split(".")[6] == "2"
        ack = js.publish("f.0", "9", {"Nats-Msg-Id": "9"})
        assert ack == {"stream": "F", "seq": 10, "duplicate": True}
        assert js.publish("f.0", "x")["seq"] == 11


def test_memory_streams_come_back_empty_or_not_at_all(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(BASE + 'jetstream { store_dir: "<store>" }\n')
    with JetStream.of(server) as js:
        js.create("M", storage="memory")
        js.fill("M", 3)
    server.restart()
    with JetStream.of(server) as js:
        names = js.call("STREAM.NAMES")["streams"] or []
        assert names in ([], ["M"])
        if names:
            assert js.state("M")["messages"] == 0
