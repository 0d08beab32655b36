"""`pyjs demo video`: its parts, one chapter of it, and that nothing is left running.

All of its chapters' commands are played by tests/walkthroughs/test_video.py.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.leftovers import at_work_in
from pyjs.plugins.demo.stage import DemoError
from pyjs.plugins.demo.video import topology, usage
from pyjs.plugins.demo.video.report import Copy, Count, read
from pyjs.server.config.load import load

REPORT = """\
Obtaining Stream stats

╭────────────────────────────────────────────────────────────────────────────────────────────────────────────╮
│                                               Stream Report                                                │
├────────────────┬─────────┬───────────┬──────────┬─────────┬──────┬─────────┬───────────────────────────────┤
│ Stream         │ Storage │ Consumers │ Messages │ Bytes   │ Lost │ Deleted │ Replicas                      │
├────────────────┼─────────┼───────────┼──────────┼─────────┼──────┼─────────┼───────────────────────────────┤
│ recv-cnc       │ File    │ 0         │ 1,010    │ 440 B   │ 0    │ 0       │ srv-4202, srv-4272*, srv-4262 │
│ nobody-leads   │ File    │ 0         │ 3        │ 1.3 KiB │ 0    │ 2       │ srv-4202, srv-4262, srv-4272  │
╰────────────────┴─────────┴───────────┴──────────┴─────────┴──────┴─────────┴───────────────────────────────╯

╭─────────────────────────────────────────────────────────────────────────────────────────────────────╮
│                                         Replication Report                                          │
├──────────┬────────┬─────────────┬───────────────┬────────┬─────┬────────────────────────────────────┤
│ Stream   │ Kind   │ API Prefix  │ Source Stream │ Active │ Lag │ Error                              │
├──────────┼────────┼─────────────┼───────────────┼────────┼─────┼────────────────────────────────────┤
│ recv-cnc │ Mirror │ $JS.hub.API │ cnc           │ 0.53s  │ 0   │ @ERROR@                            │
╰──────────┴────────┴─────────────┴───────────────┴────────┴─────┴────────────────────────────────────╯
"""


def test_a_report_is_read_as_it_is_shown() -> None:
    report = read("spoke-2", REPORT.replace("@ERROR@", "       "))
    assert report.found
    assert report.counts() == {"recv-cnc": Count(1010, "440 B"), "nobody-leads": Count(3, "1.3 KiB")}
    led, alone = report.streams["recv-cnc"], report.streams["nobody-leads"]
    assert led.servers == alone.servers == topology.SPOKE_2.servers
    assert (led.leader, led.clean) == ("srv-4272", True)
    assert (alone.leader, alone.clean) == ("", False)
    assert report.copies == {Copy("spoke-2", "recv-cnc", "Mirror", "$JS.hub.API", "cnc")}
    assert not report.lagging
    assert read("spoke-2", REPORT).lagging
    assert read("hub", "Obtaining Stream stats\n\nNo Streams defined\n").found
    assert not read("hub", "pyjs: error: setup failed: nats: no servers available for connection\n").found


def test_nine_servers_listen_on_ports_of_their_own(tmp_path: Path) -> None:
    place = topology.VideoTopology(1000)
    (tmp_path / "nats-account-resolver.cfg").write_text("")
    (tmp_path / "leafnode-remotes.cfg").write_text("")
    ports, names, stores = [], [], []
    for cluster in topology.CLUSTERS:
        for member in cluster.members:
            path = tmp_path / member.config
            path.write_text(place.config(cluster, member))
            options = load(str(path))
            assert options.cluster is not None
            ports += [options.port, options.cluster.port, options.http_port]
            ports += [options.leafnodes.port] if cluster is topology.HUB else []
            names.append(options.server_name)
            stores.append(options.jetstream.store_dir)
    assert len(set(ports)) == 30
    assert min(port or 0 for port in ports) == 5202
    assert sorted(names) == sorted(member.name for member in topology.MEMBERS)
    place.remotes = [("ACCOUNT", "sys.creds")]
    assert 'HUB-URLS=["nats-leaf://localhost:5224",' in place.leafnode_remotes()
    assert "account: ACCOUNT\n            credentials: sys.creds\n" in place.leafnode_remotes()
    assert len(set(stores)) == len({place.cache(member) for member in topology.MEMBERS}) == 9


def test_taken_ports_move_all_nine_together() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        shift = taken.getsockname()[1] - 4222
        taken.listen()
        with pytest.raises(DemoError, match="no 39 ports are free"):
            topology.VideoTopology.choose([shift])
        assert topology.VideoTopology.choose([shift, *topology.SHIFTS]).shift in topology.SHIFTS


def test_what_processes_use_is_counted() -> None:
    assert usage.countable() == Path("/proc").exists()
    if usage.countable():
        assert usage.resident([os.getpid()]) > 1
        assert 0 <= usage.busy([os.getpid()], 0.01) < 3


@pytest.mark.usefixtures("processor_time")  # of nine servers: a claim of the chapter
def test_a_chapter_is_shown_and_nothing_is_left(tmp_path: Path) -> None:
    command = ("demo", "video", "--chapter", "2")
    done = Cli(tmp_path).process(*command, env={"TMPDIR": str(tmp_path)}, seconds=200)
    assert done.code == 0, done.out + done.err
    assert re.search(r"(\d+) of \1 claims held", done.out), done.out
    assert "│ 9 Servers │" in done.out
    assert "pyjs nsc add operator" not in done.out
    assert at_work_in(tmp_path) == []
    assert list(tmp_path.glob("pyjs-demo-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_servers_too(tmp_path: Path, number: signal.Signals) -> None:
    with Cli(tmp_path).terminal(["demo", "video"], {"TMPDIR": str(tmp_path)}) as terminal:
        while len(at_work_in(tmp_path)) < 5 and terminal.read(30.0):
            pass
        os.kill(terminal.process.pid, number)
        assert terminal.finish(100) == 130
        assert "pyjs: error: interrupt" in terminal.errors()
    eventually(lambda: at_work_in(tmp_path) == [])
    assert list(tmp_path.glob("pyjs-demo-*")) == []


def test_there_are_eight_chapters(tmp_path: Path) -> None:
    result = Cli(tmp_path).run("demo", "video", "--chapter", "9")
    assert result.code == 2
    assert "9 is not in the range 1<=x<=8" in result.err
