"""Configuration documents of streams and consumers.

Reads them for `--config`, writes them for `--output`, has them edited in an editor, and compares two of them.

A document is a bare configuration or the whole `info --json`, in JSON either way. Promises: it never contains
the metadata that servers write into configurations, since a server would refuse it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeVar

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from ..protocol.errors import ApiError
from .editor import drafted
from .errors import CliError, NotFoundError
from .jetstream import RESERVED_METADATA

C = TypeVar("C", StreamConfig, ConsumerConfig)


def read(kind: type[C], path: str) -> C:
    """Return the configuration in a file. Raises CliError that names the file and the mistake in it."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}", "see --config") from None
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
    """Return the configuration without the metadata that servers write into it."""
    config.metadata = {
        key: value for key, value in config.metadata.items() if not key.startswith(RESERVED_METADATA)
    }
    return config


def write(path: str, config: StreamConfig | ConsumerConfig) -> None:
    """Write a configuration to a file of mode 0600."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text(config))


def text(config: StreamConfig | ConsumerConfig) -> str:
    """Return a configuration as JSON, indented by two spaces."""
    return json.dumps(config.to_json(), indent=2, ensure_ascii=False)


def edited(config: C, draft: str) -> C:
    """Have the user's editor change the configuration, and return the result.

    draft: the beginning of the file's name in the editor.
    """
    with drafted(text(config), draft) as path:
        return read(type(config), path)


def differences(before: str, after: str) -> list[str]:
    """Return the lines that differ between two documents, `-` for old and `+` for new."""
    old, new = (
        json.dumps(json.loads(each), indent=2, sort_keys=True).splitlines() for each in (before, after)
    )
    import difflib

    changes = difflib.unified_diff(old, new, n=0, lineterm="")
    return [line for line in changes if not line.startswith(("---", "+++", "@@"))]
