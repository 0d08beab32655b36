"""Configuration documents: reading `--config`, writing `--output`, judging `--validate`.

A document is a bare stream configuration or the whole `stream info --json`, JSON in either case.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...cli.errors import CliError
from ...protocol import subject
from ...protocol.api.stream import StreamConfig
from ...protocol.errors import ApiError
from .options import without_reserved

SCHEMA = "io.nats.jetstream.api.v1.stream_configuration"


def read(path: str) -> StreamConfig:
    """The configuration in a file. Raises CliError naming the file and what is wrong in it."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror}", "see --config") from None
    except ValueError as error:
        raise CliError(f"{path} is not JSON: {error}") from None
    if isinstance(document, dict) and isinstance(document.get("config"), dict):
        document = document["config"]
    try:
        return without_reserved(StreamConfig.from_json(document))
    except ApiError as error:
        raise CliError(f"{path}: {error.description}") from None


def write(path: str, config: StreamConfig) -> None:
    """Write a configuration, mode 0600."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text(config))


def text(config: StreamConfig) -> str:
    """A configuration as JSON, two spaces deep."""
    return json.dumps(config.to_json(), indent=2, ensure_ascii=False)


def problems(config: StreamConfig) -> list[str]:
    """What is wrong with a configuration before a server has seen it; empty if nothing is."""
    found = []
    name = config.name
    if not name:
        found.append("a Stream needs a name")
    elif any(character in " \t\r\n\f.*>/\\" for character in name):
        found.append(f'"{name}" is not a valid stream name: it has blanks, dots, wildcards or slashes')
    found += [f'"{each}" is not a valid subject' for each in config.subjects if not subject.is_valid(each)]
    if config.mirror is not None and config.subjects:
        found.append("mirrors cannot listen for messages on subjects")
    if config.mirror is not None and config.sources:
        found.append("a Stream cannot be a mirror and have sources")
    if not 1 <= max(1, config.num_replicas) <= 5:
        found.append("replicas must be between 1 and 5")
    if config.max_age and config.duplicate_window > config.max_age:
        found.append("the duplicate window cannot be longer than the maximum age")
    if ">" in config.subjects and not config.no_ack:
        found.append('the subject ">" needs --no-ack')
    return found


def compact(document: dict[str, Any]) -> str:
    """A document on one line, as a flag's value."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
