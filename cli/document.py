"""Configuration documents of streams and consumers: reading `--config`, writing `--output`, drafting in an
editor, and what differs between two.

A document is a bare configuration or the whole `info --json`, JSON in either case. Never holds the metadata
that servers write into configurations: sent back, it would be refused.
"""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import TypeVar

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from ..protocol.errors import ApiError
from .editor import drafted
from .errors import CliError

C = TypeVar("C", StreamConfig, ConsumerConfig)

RESERVED_METADATA = "_nats."  # written by servers


def read(kind: type[C], path: str) -> C:
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
        return without_reserved(kind.from_json(document))
    except ApiError as error:
        raise CliError(f"{path}: {error.description}") from None


def without_reserved(config: C) -> C:
    """The configuration without the metadata that servers write into it."""
    config.metadata = {
        key: value for key, value in config.metadata.items() if not key.startswith(RESERVED_METADATA)
    }
    return config


def write(path: str, config: StreamConfig | ConsumerConfig) -> None:
    """Write a configuration, mode 0600."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text(config))


def text(config: StreamConfig | ConsumerConfig) -> str:
    """A configuration as JSON, two spaces deep."""
    return json.dumps(config.to_json(), indent=2, ensure_ascii=False)


def edited(config: C, draft: str) -> C:
    """The configuration after the user's editor has had it, in a file whose name begins with `draft`."""
    with drafted(text(config), draft) as path:
        return read(type(config), path)


def differences(before: str, after: str) -> list[str]:
    """The lines that differ between two documents, `-` old and `+` new."""
    old, new = (
        json.dumps(json.loads(each), indent=2, sort_keys=True).splitlines() for each in (before, after)
    )
    changes = difflib.unified_diff(old, new, n=0, lineterm="")
    return [line for line in changes if not line.startswith(("---", "+++", "@@"))]
