"""`pyjs server request profile`: profiles of servers, each in a file.

Promises: a file is new and readable by its owner only, and lies in the directory that was given, whatever
the server is called.

Source: natscli, cli/server_request_command.go (profilez).
"""

from __future__ import annotations

import base64
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from ...cli import render
from ...cli.connection import NatsConnection
from ...cli.errors import CliError, warn
from .archive import Source
from .poll import poll

PROFILES = ("allocs", "heap", "goroutine", "mutex", "threadcreate", "block", "cpu")
CPU = "cpu"
GRACE_SECONDS = 2.0  # for the answer, after a server has measured for as long as --timeout


async def save_all(connection: Source, asked: dict[str, Any], directory: Path) -> None:
    """Save the profiles of the servers that answer.

    asked: the request, with the `name` of the profile.

    Raises CliError if there are none.
    """
    expect, longer = 0, 0.0
    if asked["name"] == CPU and isinstance(
        connection, NatsConnection
    ):  # it measures for as long as it is told
        expect = len(await poll(connection, "$SYS.REQ.SERVER.PING", asked))
        asked, longer = {**asked, "duration": round(connection.timeout * 1e9)}, GRACE_SECONDS
    answers = await poll(connection, "$SYS.REQ.SERVER.PING.PROFILEZ", asked, expect=expect, longer=longer)
    saved = [save(each.document, asked["name"], directory) for each in answers]
    if not any(saved):
        raise CliError("no server sent a profile")


def save(document: dict[str, Any], name: str, directory: Path) -> bool:
    """Write the profile of an answer into a file; return whether it has one."""
    server, data = document.get("server") or {}, document.get("data") or {}
    known = str(server.get("name", ""))
    if data.get("error") or not data.get("profile"):
        warn(f'server "{known}": {data.get("error") or "no profile"}')
        return False
    try:
        body = base64.b64decode(data["profile"], validate=True)
    except ValueError:
        warn(f'server "{known}" sent a profile that is no base64')
        return False
    harmless = re.sub(r"[^\w.-]", "_", known)
    path = _write(directory, f"{name}-{datetime.now():%Y%m%d-%H%M%S}-{harmless}", body)
    render.show(f'Server "{known}" profile written: {path}')
    return True


def _write(directory: Path, stem: str, body: bytes) -> Path:
    """Write a new file, with a number at its end if there is one of the name. Raises CliError."""
    number = 1
    while True:
        path = directory / (stem if number == 1 else f"{stem}-{number}")
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise CliError(f"could not write {path}: {error.strerror}") from None
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
        return path
