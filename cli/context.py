"""Contexts: named connection settings, in the same files that `nats` keeps.

The folder is `$XDG_CONFIG_HOME/nats` (or `~/.config/nats`). `context/<name>.json` has mode 0600 in folders of
mode 0700. `context.txt` names the selected context, `previous-context.txt` the one before.

Promises: writes what `nats` writes, field by field and in its order; keeps fields that it does not know;
replaces files in one step. It never resolves secrets (`secret.py` does) and never connects.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .errors import CliError, NotFoundError, UsageError, close_matches

# All fields in the order of the file, with the values of an empty context.
FIELDS: dict[str, Any] = {
    "description": "",
    "url": "",
    "socks_proxy": "",
    "token": "",
    "user": "",
    "password": "",
    "creds": "",
    "nkey": "",
    "cert": "",
    "key": "",
    "ca": "",
    "nsc": "",
    "jetstream_domain": "",
    "jetstream_api_prefix": "",
    "jetstream_event_prefix": "",
    "inbox_prefix": "",
    "user_jwt": "",
    "user_seed": "",
    "color_scheme": "",
    "tls_first": False,
    "windows_cert_store": "",
    "windows_cert_match_by": "",
    "windows_cert_match": "",
    "windows_ca_certs_match": None,
}
DEFAULT_URL = "nats://127.0.0.1:4222"


def config_dir() -> Path:
    """Return the folder of the configuration of `nats`."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(base) / "nats"


def path_of(name: str) -> Path:
    """Return the file of a context. Raises CliError for a name that a context cannot have."""
    if not name or ".." in name or "/" in name or "\\" in name:
        raise UsageError(f'invalid context name "{name}"', "a name has no slashes and no double dots")
    return config_dir() / "context" / f"{name}.json"


def names(start: str = "") -> list[str]:
    """Return the names of all contexts, or of those that start so, sorted."""
    folder = config_dir() / "context"
    found = sorted(path.stem for path in folder.glob("*.json")) if folder.is_dir() else []
    return [name for name in found if name.startswith(start)]


def exists(name: str) -> bool:
    """Return whether there is a context of this name."""
    return path_of(name).is_file()


def load(name: str) -> dict[str, Any]:
    """Return a context's fields: all of FIELDS, and whatever else its file has.

    `name` may also be the path of a file that ends in `.json`. Raises CliError if there is no such context or
    if its file is not JSON.
    """
    path = Path(name) if name.endswith(".json") and Path(name).is_file() else path_of(name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError(
            f'unknown context "{name}"', close_matches(name, names()) or "'context ls' shows those there are"
        ) from None
    except ValueError as error:
        raise CliError(f"context file {path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise CliError(f"context file {path} does not hold a JSON object")
    return {**FIELDS, **found}


def save(name: str, fields: dict[str, Any]) -> Path:
    """Write a context and return its path."""
    path = path_of(name)
    _replace(path, json.dumps({**FIELDS, **fields}, indent=2, ensure_ascii=False))
    return path


def remove(name: str) -> None:
    """Delete a context's file. If it was selected, nothing is selected afterwards."""
    if not exists(name):
        raise NotFoundError(f'unknown context "{name}"', close_matches(name, names()))
    path_of(name).unlink()
    if selected() == name:
        (config_dir() / "context.txt").unlink(missing_ok=True)


def selected() -> str:
    """Return the name of the selected context, or an empty string."""
    return _word(config_dir() / "context.txt")


def previous() -> str:
    """Return the name of the context that was selected before, or an empty string."""
    return _word(config_dir() / "previous-context.txt")


def select(name: str) -> None:
    """Select a context, and remember the one that was selected before."""
    if not exists(name):
        raise NotFoundError(f'unknown context "{name}"', close_matches(name, names()))
    before = selected()
    _replace(config_dir() / "context.txt", name)
    if before:
        _replace(config_dir() / "previous-context.txt", before)


def unselect() -> str:
    """Select no context; return the name of the one that was selected."""
    before = selected()
    if before:
        _replace(config_dir() / "previous-context.txt", before)
        (config_dir() / "context.txt").unlink()
    return before


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def _replace(path: Path, text: str) -> None:
    """Write a file of mode 0600 in one step, so that no reader ever sees a part of it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    draft.replace(path)
