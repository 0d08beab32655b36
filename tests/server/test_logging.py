"""The server's log lines, files and rotation."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pyjs.server.config import Options
from pyjs.server.logging import ServerLogger

LINE = r"\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[(INF|WRN|ERR|FTL|DBG|TRC)\] .*"


def test_a_line_is_as_the_references(tmp_path: Path) -> None:
    log = ServerLogger(Options(log_file=str(tmp_path / "log"), debug=True, trace=True))
    for write in (log.info, log.warning, log.error, log.fatal, log.debug, log.trace):
        write("text")
    log.close()
    lines = (tmp_path / "log").read_text().splitlines()
    levels = [found.group(1) for line in lines if (found := re.fullmatch(LINE, line))]
    assert levels == ["INF", "WRN", "ERR", "FTL", "DBG", "TRC"]
    assert lines[0].startswith(f"[{os.getpid()}] ")


def test_debug_and_trace_are_silent_unless_asked_for(tmp_path: Path) -> None:
    log = ServerLogger(Options(log_file=str(tmp_path / "log"), logtime=False))
    log.debug("no")
    log.trace("no")
    log.configure(Options(log_file=str(tmp_path / "log"), logtime=False, debug=True))
    log.debug("yes")
    log.close()
    assert (tmp_path / "log").read_text() == f"[{os.getpid()}] [DBG] yes\n"


def test_reopening_follows_a_file_that_was_moved(tmp_path: Path) -> None:
    file = tmp_path / "log"
    log = ServerLogger(Options(log_file=str(file), logtime=False))
    log.info("one")
    file.rename(tmp_path / "moved")
    log.info("two")
    log.reopen()
    log.info("three")
    log.close()
    assert [line[-3:] for line in (tmp_path / "moved").read_text().splitlines()] == ["one", "two"]
    assert file.read_text().splitlines()[-1].endswith("three")


def test_a_full_file_is_rotated_and_old_ones_go(tmp_path: Path) -> None:
    log = ServerLogger(Options(log_file=str(tmp_path / "log"), log_size_limit=200, log_max_num=3))
    for number in range(40):
        log.info(f"line {number:03}")
    log.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    assert files[0].name == "log"
    assert all(re.fullmatch(r"log\.\d{4}(\.\d\d){5}\.\d{9}", f.name) for f in files[1:])
    assert "line 039" in "".join(f.read_text() for f in files)


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ServerLogger(Options(log_file=str(tmp_path / "none" / "log")))


def test_without_a_file_lines_go_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    ServerLogger(Options(logtime=False)).info("héllo\ud800")
    assert capfd.readouterr().err == f"[{os.getpid()}] [INF] héllo\\ud800\n"
