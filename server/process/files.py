"""Writes the pid file and the ports file."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_pid(file: str) -> None:
    """Write this process's id, without a newline (nats-server's server/server.go: logPid). Raises OSError."""
    Path(file).write_text(str(os.getpid()), "ascii")


def ports_path(directory: str, program: str) -> Path:
    """Return the path of the ports file, `<directory>/<program>_<pid>.ports`."""
    return Path(directory) / f"{program}_{os.getpid()}.ports"


def write_ports(path: Path, urls: dict[str, list[str]]) -> None:
    """Write the URLs of each listener as JSON. A reader sees all of it or nothing. Raises OSError."""
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(json.dumps(urls, separators=(",", ":")), "utf-8")
    unfinished.replace(path)
