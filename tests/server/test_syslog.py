"""Syslog without a server: addresses, the system's own form, and what happens when nobody takes the lines."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from pyjs.server import syslog
from pyjs.server.config import Options
from pyjs.server.logging import ServerLogger
from pyjs.server.syslog import Syslog, SyslogError


def listening(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(str(path))
    made.settimeout(5)
    return made


def test_the_systems_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syslog, "_LOCAL", (str(tmp_path / "none"), str(tmp_path / "log")))
    with listening(tmp_path / "log") as receiver:
        log = ServerLogger(Options(syslog=True))
        log.warning("two\nlines")
        log.close()
        line = receiver.recv(4096).decode()
    assert re.fullmatch(r"<28>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+\[\d+\]: two lines\n", line)


@pytest.mark.parametrize(
    "address",
    ["localhost:514", "http://x", "udp://", "tcp://x:port", "udp://x:70000", "unix://", "unix:///no/x"],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(SyslogError):
        Syslog(address)


def test_lines_that_nobody_takes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syslog, "_AGAIN_SECONDS", 0.0)
    path = tmp_path / "log"
    with listening(path):
        log = Syslog(f"unix://{path}")
    path.unlink()
    for _ in range(3):
        log.send("INF", "lost")
    with listening(path) as receiver:
        log.send("INF", "heard")
        assert b"3 lines of the log could not be sent" in receiver.recv(4096)
        assert receiver.recv(4096).endswith(b"heard\n")
    log.close()


def test_a_reload_that_cannot_reach_syslog_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "log"
    log = ServerLogger(Options(log_file=str(file)))
    with pytest.raises(SyslogError):
        log.configure(Options(remote_syslog="unix:///no/such/socket"))
    log.info("still here")
    log.close()
    assert "still here" in file.read_text()
