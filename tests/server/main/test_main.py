"""`pyjs-server` as a process: its output, its signals, its errors."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.preforked import process_pool
from pyjs.server.config import load

COMMAND = [sys.executable, "-m", "pyjs.server.main"]


class Running:
    """A server process with its log in a file; `port` is known once it is ready."""

    def __init__(self, directory: Path, *argv: str) -> None:
        self.file = directory / f"log-{time.monotonic_ns()}"
        with self.file.open("wb") as log:
            self.process = subprocess.Popen([*COMMAND, *argv], stderr=log, stdout=log, cwd=directory)

    def log(self) -> str:
        return self.file.read_text()

    def says(self, pattern: str) -> re.Match[str]:
        """Wait for a line; raises AssertionError with the log when the process ends before."""
        found: list[re.Match[str]] = []

        def look() -> bool:
            match = re.search(pattern, self.log())
            if match is None:
                assert self.process.poll() is None, self.log()
                return False
            found.append(match)
            return True

        eventually(look)
        return found[0]

    @property
    def port(self) -> int:
        port = int(self.says(r"Listening for client connections on \S+:(\d+)").group(1))
        self.says("Server is ready")
        return port

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def launch(*argv: str) -> Running:
        started.append(Running(tmp_path, *argv))
        return started[-1]

    yield launch
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


def once(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *argv], capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


def forked(*argv: str, cwd: Path) -> tuple[int, str]:
    """Exit code and output of what `once` starts, forked: the start itself takes longer than what it says."""
    said = cwd / "said"
    code = process_pool("pyjs-server").start(argv, said, cwd).wait(60)
    return code, said.read_text()


def info(port: int) -> dict[str, object]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        line = client.makefile("rb").readline()
    assert line.startswith(b"INFO ")
    found: dict[str, object] = json.loads(line[5:])
    return found


def connects(port: int, **credentials: str) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        stream = client.makefile("rb")
        stream.readline()
        client.sendall(b"CONNECT " + json.dumps({"verbose": False, **credentials}).encode() + b"\r\nPING\r\n")
        return stream.readline() == b"PONG\r\n"


def test_it_starts_says_so_and_ends_with_0(start: Callable[..., Running]) -> None:
    server = start("-a", "127.0.0.1", "-p", "-1", "-n", "me")
    assert info(server.port)["server_name"] == "me"
    assert server.end(signal.SIGINT) == 0
    log = server.log()
    for text in ("Starting pyjs-server", "  Name:     me", 'Trapped "interrupt" signal', "Server Exiting.."):
        assert text in log


def test_term_ends_it_with_0(start: Callable[..., Running]) -> None:
    server = start("-a", "127.0.0.1", "-p", "-1")
    assert server.port
    assert server.end(signal.SIGTERM) == 0


@pytest.fixture
def reading(start: Callable[..., Running], tmp_path: Path) -> Iterator[tuple[Running, Callable[[str], None]]]:
    """A process that is about to read its configuration, and what gives it one."""
    config = tmp_path / "server.conf"
    os.mkfifo(config)
    server = start("-c", str(config), "-l", str(tmp_path / "server.log"))
    with config.open("w") as pipe:

        def give(text: str) -> None:
            (tmp_path / "written").write_text(text)
            (tmp_path / "written").rename(config)  # for whoever reads it again
            pipe.write(text)
            pipe.close()

        yield server, give


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_has_not_started_quietly(
    reading: tuple[Running, Callable[[str], None]], number: int
) -> None:
    server, _ = reading
    assert server.end(number) == 0
    assert server.log() == ""


def test_signals_that_come_before_the_start_are_done_after_it(
    reading: tuple[Running, Callable[[str], None]], tmp_path: Path
) -> None:
    server, give = reading
    server.process.send_signal(signal.SIGUSR1)
    server.process.send_signal(signal.SIGHUP)
    log = tmp_path / "server.log"
    give("listen: 127.0.0.1:-1\n")
    eventually(lambda: log.exists() and "Reloaded server configuration" in log.read_text())
    text = log.read_text()
    assert "File log re-opened" in text
    assert text.index("Server is ready") < text.index("Reloaded server configuration")
    assert server.end() == 0


def test_a_lame_duck_that_has_not_started_starts_and_ends(
    reading: tuple[Running, Callable[[str], None]], tmp_path: Path
) -> None:
    server, give = reading
    server.process.send_signal(signal.SIGUSR2)
    give("listen: 127.0.0.1:-1\n")
    assert server.process.wait(30) == 0
    assert "Entering lame duck mode" in (tmp_path / "server.log").read_text()


def test_little_is_imported_before_signals_are_handled() -> None:
    """Each module takes time in which a signal would end the process."""
    code = "import sys; before = {*sys.modules}; import pyjs.server.main; print(*({*sys.modules} - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert {name for name in done.stdout.split() if name.startswith("pyjs.")} <= {
        "pyjs.server",
        "pyjs.server.main",
        "pyjs.server.process",
        "pyjs.server.process.signals",
        "pyjs.version",
    }
    assert not {"asyncio", "ssl", "json", "logging", "socket"} & {*done.stdout.split()}


def test_it_is_ready_soon_and_small(start: Callable[..., Running]) -> None:
    """Soon by its own processor time: what else the machine does is not counted."""
    server = start("-a", "127.0.0.1", "-p", "-1")
    server.says("Server is ready")
    user, system = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    assert (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") < 1.5  # 0.3 s alone on a machine
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident = int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1))  # type: ignore[union-attr]
    assert resident < 60 * 1024


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(start: Callable[..., Running]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        server = start("-a", "127.0.0.1", "-p", "-1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.says("Server is ready")
    assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_a_port_in_use_is_said_and_ends_it_with_1(start: Callable[..., Running]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = start("-a", "127.0.0.1", "-p", str(port))
        assert server.process.wait(30) == 1
    assert re.search(rf"\[FTL\] .*127\.0\.0\.1.*{port}.*address already in use", server.log())
    assert "Traceback" not in server.log()


def test_a_wrong_configuration_is_said_with_its_place_and_ends_it_with_1(tmp_path: Path) -> None:
    config = tmp_path / "bad.conf"
    config.write_text("port: -1\njetstraem: true\n")
    done = once("-c", str(config))
    assert done.returncode == 1
    assert (
        done.stderr == f'pyjs-server: {config}:2:1: unknown field "jetstraem" (did you mean "jetstream"?)\n'
    )


def test_what_is_unsafe_to_ignore_keeps_it_from_starting(tmp_path: Path) -> None:
    config = tmp_path / "key.conf"
    config.write_text("port: -1\njetstream { store_dir: /x\n tpm { keys_file: /x, srk_password: secret } }\n")
    done = once("-c", str(config))
    assert done.returncode == 1
    assert f"{config}:3:2: jetstream.tpm: TPM functionality is not supported on this platform" in done.stderr
    assert "secret" not in done.stderr


def test_what_is_not_served_yet_is_warned_of(start: Callable[..., Running], tmp_path: Path) -> None:
    config = tmp_path / "profile.conf"
    config.write_text("listen: 127.0.0.1:-1\nprof_port: 6060\n")
    server = start("-c", str(config))
    assert server.port
    assert f"[WRN] {config}:2:1: prof_port: there is no Go profiler here" in server.log()


def test_a_check_says_valid_with_the_digest(tmp_path: Path) -> None:
    config = tmp_path / "good.conf"
    config.write_text("port: 4222 # comment\n")
    done = once("-t", "-c", str(config))
    digest = load(str(config)).config_digest
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"pyjs-server: configuration file {config} is valid ({digest})\n"


def test_a_check_fails_on_warnings(tmp_path: Path) -> None:
    config = tmp_path / "warn.conf"
    config.write_text("ping_interval: 30\n")
    done = once("-t", "-c", str(config))
    assert done.returncode == 1
    assert "ping_interval should be converted to a duration" in done.stderr


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        ("-t", 1, "must specify [-c, --config] option to check configuration file syntax"),
        ("-t -c none.conf", 1, "cannot open configuration file none.conf: No such file or directory"),
        ("--bogus", 1, "flag provided but not defined: -bogus"),
        ("go", 1, 'unrecognized command: "go"'),
        ("-v", 0, "pyjs-server: v"),
        ("version", 0, "pyjs-server: v"),
        ("--help", 0, "Usage: pyjs-server [options]"),
        ("--help_tls", 0, "cert_file"),
        ("-sl hop", 1, 'unknown signal "hop"'),
        ("-sl stop=abc", 1, "invalid pid: abc"),
        ("-sl reload=1=2", 1, "invalid signal parameters"),
        ("-l /none/x.log", 1, "error opening log file /none/x.log: No such file"),
    ],
)
def test_what_ends_at_once_prints(argv: str, code: int, text: str, tmp_path: Path) -> None:
    ended, said = forked(*argv.split(), cwd=tmp_path)
    assert ended == code
    assert text in said
    assert "Traceback" not in said


def test_pid_and_ports_files_are_written_and_the_latter_goes(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    server = start("-a", "127.0.0.1", "-p", "-1", "-P", "server.pid", "--ports_file_dir", str(tmp_path))
    port = server.port
    ports = tmp_path / f"pyjs-server_{server.process.pid}.ports"
    eventually(ports.exists)
    assert (tmp_path / "server.pid").read_text() == str(server.process.pid)
    assert json.loads(ports.read_text())["nats"] == [f"nats://127.0.0.1:{port}"]
    assert server.end() == 0
    assert not ports.exists()


def test_hangup_applies_users_and_says_what_it_cannot(start: Callable[..., Running], tmp_path: Path) -> None:
    config = tmp_path / "server.conf"
    config.write_text("listen: 127.0.0.1:-1\nauthorization { users: [{user: a, password: one}] }\n")
    server = start("-c", str(config))
    port = server.port
    assert connects(port, user="a", **{"pass": "one"})
    config.write_text("listen: 127.0.0.1:-1\nauthorization { users: [{user: a, password: two}] }\n")
    server.process.send_signal(signal.SIGHUP)
    server.says("Reloaded server configuration")
    assert connects(port, user="a", **{"pass": "two"})
    assert not connects(port, user="a", **{"pass": "one"})
    config.write_text("listen: 127.0.0.1:-1\nserver_name: other\n")
    server.process.send_signal(signal.SIGHUP)
    server.says(r"Failed to reload .*: config reload not supported for server_name: old=, new=other")
    config.write_text("listen: 127.0.0.1:-1\nserver_nam: other\n")
    server.process.send_signal(signal.SIGHUP)
    server.says(r'Failed to reload .*server\.conf:2:1: unknown field "server_nam"')
    assert connects(port, user="a", **{"pass": "two"})


def test_a_file_that_was_emptied_sends_nobody_away(start: Callable[..., Running], tmp_path: Path) -> None:
    config = tmp_path / "server.conf"
    users = "authorization { users: [{user: a, password: one}] }\n"
    config.write_text(users)
    server = start("-c", str(config), "-a", "127.0.0.1", "-p", "-1")
    port = server.port
    config.write_text("")
    server.process.send_signal(signal.SIGHUP)
    server.says(r"Failed to reload .*server\.conf: the file is empty, and was not before")
    assert connects(port, user="a", **{"pass": "one"})
    assert not connects(port)
    config.write_text(users.replace("one", "two"))
    server.process.send_signal(signal.SIGHUP)
    server.says("Reloaded server configuration")
    assert connects(port, user="a", **{"pass": "two"})


def test_flags_stay_in_force_through_a_reload(start: Callable[..., Running], tmp_path: Path) -> None:
    config = tmp_path / "server.conf"
    config.write_text("port: 4222\n")
    server = start("-c", str(config), "-a", "127.0.0.1", "-p", "-1")
    assert server.port
    config.write_text("port: 4222\ndebug: true\n")
    server.process.send_signal(signal.SIGHUP)
    server.says("Reloaded: debug = True")


def test_the_log_is_reopened(start: Callable[..., Running], tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    server = start("-a", "127.0.0.1", "-p", "-1", "-l", str(file))
    eventually(lambda: file.exists() and "Server is ready" in file.read_text())
    file.rename(tmp_path / "old.log")
    server.process.send_signal(signal.SIGUSR1)
    eventually(lambda: file.exists() and "File log re-opened" in file.read_text())


def test_lame_duck_mode_ends_it_with_0(start: Callable[..., Running], tmp_path: Path) -> None:
    config = tmp_path / "server.conf"
    config.write_text('listen: 127.0.0.1:-1\nlame_duck_grace_period: "10ms"\n')
    server = start("-c", str(config))
    assert server.port
    server.process.send_signal(signal.SIGUSR2)
    server.says("Entering lame duck mode")
    assert server.process.wait(30) == 0


@pytest.mark.parametrize(("word", "code"), [("quit", 0), ("term", 0), ("stop", -signal.SIGKILL)])
def test_a_signal_is_sent_to_the_process_of_a_pid_file(
    start: Callable[..., Running], tmp_path: Path, word: str, code: int
) -> None:
    server = start("-a", "127.0.0.1", "-p", "-1", "-P", "server.pid")
    assert server.port
    eventually((tmp_path / "server.pid").exists)
    assert once("--signal", f"{word}=server.pid", cwd=tmp_path).returncode == 0
    assert server.process.wait(30) == code


STORE = 'jetstream {{ store_dir: "{0}/file" }}'
CLUSTER = (
    'server_name: a\njetstream {{ store_dir: "{0}/s" }}\ncluster {{ name: c, listen: "127.0.0.1:-1" {1} }}\n'
)


@pytest.mark.parametrize("flags", [("-t",), ()])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('listen: "127.0.0.1:-1', "x.conf:1:9: Parse error: a quoted string is not closed"),
        ("a {", "Parse error"),
        (STORE, "x.conf:1:13: storage directory is not a directory: "),
        ('jetstream {{ store_dir: "{0}/file/below" }}', "storage directory is not a directory: "),
        (CLUSTER.replace("{1}", ""), "JetStream cluster requires configured routes or solicited leafnode"),
        (
            CLUSTER.replace("{1}", ', routes: ["nats://127.0.0.1:1"]') + "no_system_account: true",
            "JetStream cluster requires a system account",
        ),
        ('log_file: "{0}"', "error opening log file"),
        ('pid_file: "{0}/none/x"', "could not write pidfile"),
        ('ports_file_dir: "{0}/file"', "error writing ports file"),
    ],
)
def test_what_a_start_refuses_is_said_in_one_line_by_the_check_too(
    flags: tuple[str, ...], text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "x.conf").write_text(text.format(tmp_path) if "{0}" in text else text)
    ended, output = forked("-c", "x.conf", *flags, cwd=tmp_path)
    assert ended == 1
    assert said in output and "Traceback" not in output
    assert len(output.splitlines()) == 1


def test_a_check_finds_accounts_that_cannot_be_and_a_store_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "x.conf").write_text(
        'jetstream { store_dir: "loop" }\n'
        "accounts {\n"
        "  A { exports: [{ service: x }], imports: [{ service: { account: B, subject: y }, to: x }] }\n"
        "  B { exports: [{ service: y }], imports: [{ service: { account: A, subject: x }, to: y }] }\n"
        "}\n"
    )
    done = once("-t", "-c", "x.conf", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "pyjs-server: x.conf:1:13: storage directory is not a directory: loop",
        "pyjs-server: x.conf:2:1: service import 'y' of account 'A' forms a cycle",
    ]
