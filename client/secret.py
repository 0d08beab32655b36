"""Secrets by reference: a context or flag holds a secret, or says where it is.

The forms are: bare, `file://PATH`, `env://NAME`, `data:;base64,…`, `nsc://OPERATOR/ACCOUNT/USER` (creds only,
read from the folders of nsc) and `op://…` (through the command `op` of 1Password). Promises: it never logs
what it read. A secret that cannot be had is a SecretError that names the option, never the secret.
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import SecretError, SecretNotFoundError


def resolve(what: str, value: str) -> str:
    """Return the text of a secret; `what` names it in errors, e.g. `password`."""
    scheme, mark, rest = value.partition("://")
    if value.startswith("data:"):
        return _data(what, value)
    if not mark:
        return value
    if scheme == "file":
        return read(what, rest).strip()
    if scheme == "env":
        found = os.environ.get(rest)
        if found is None:
            raise SecretError(f"{what}: the environment variable {rest} is not set")
        return found
    if scheme == "op":
        return _onepassword(what, value)
    return value


def location(what: str, value: str) -> str:
    """Return the path of a file given as a path, `file://PATH` or `nsc://…`.

    `~` and `$VAR` are expanded.
    """
    if value.startswith("nsc://"):
        return str(_nsc_creds(value))
    return os.path.expandvars(str(Path(value.removeprefix("file://")).expanduser()))


def existing(what: str, value: str) -> str | None:
    """Return the path of a file as `location` does, None for "". Raises an error that names a missing file.

    For what reads a file without saying which one it misses, as `ssl` does.
    """
    path = location(what, value) if value else None
    if path is not None and not Path(path).exists():
        raise SecretNotFoundError(f"{what}: cannot read {path}: No such file or directory")
    return path


def text_or_file(what: str, value: str, marker: str) -> str:
    """Return a secret that is usually in a file: `value` itself if it contains `marker`.

    Otherwise `value` says where the secret is.
    """
    if marker in value:
        return value
    if value.startswith(("env://", "data:", "op://")):
        return resolve(what, value)
    return read(what, location(what, value))


def read(what: str, path: str) -> str:
    """Return the content of a file. Raises an error that names it if it cannot be read."""
    file = Path(os.path.expandvars(path)).expanduser()
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SecretNotFoundError(f"{what}: cannot read {file}: {error.strerror}") from None
    except OSError as error:
        raise SecretError(f"{what}: cannot read {file}: {error.strerror}") from None


def _data(what: str, value: str) -> str:
    import base64
    import binascii

    head, _, body = value.partition(",")
    if not head.endswith(";base64"):
        raise SecretError(f"{what}: only base64 data URLs are understood")
    try:
        return base64.b64decode(body, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise SecretError(f"{what}: the data URL is not base64 text") from None


def _nsc_creds(value: str) -> Path:
    home = Path(os.environ.get("NKEYS_PATH") or "~/.local/share/nats/nsc/keys").expanduser()
    operator, _, rest = value.removeprefix("nsc://").partition("/")
    account, _, user = rest.partition("/")
    if not (operator and account and user):
        raise SecretError(f"{value}: expected nsc://OPERATOR/ACCOUNT/USER")
    return home / "creds" / operator / account / f"{user}.creds"


def _onepassword(what: str, value: str) -> str:
    import subprocess

    try:
        done = subprocess.run(
            ["op", "read", value],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except FileNotFoundError:
        raise SecretError(f"{what}: {value} needs 1Password's `op` command") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise SecretError(f"{what}: op could not read {value}: {error}") from None
    return done.stdout.strip()
