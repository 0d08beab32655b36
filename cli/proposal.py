"""Command lines that pyjs proposes, and the line that was typed, as people paste them.

Promises: a proposed line reaches the server that this run reached, as the same user: the flags of the
connection that were typed stand right behind the program's name. Variables and the selected context hold for
the proposed line anyway, and are not repeated. Passwords, tokens and seeds are never shown: `…` stands for
them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

from . import flags
from .errors import PROGRAM, CliError

HIDDEN = "…"  # in place of a secret
SECRETS = ("password", "token", "seed", "jwt")  # flags whose value may be the secret itself
BY_REFERENCE = ("env://", "file://", "op://")  # values that only say where the secret is
WHOLE = "context"  # this flag alone says everything: a proposal that names a context gets no other flag
# Flags that say where a line connects to, as whom, and which JetStream API it asks.
CONNECTION = (
    "server", "context", "no-context", "user", "password", "token", "creds", "nkey", "jwt", "seed",
    "tlscert", "tlskey", "tlsca", "tlsfirst", "socks-proxy", "js-api-prefix", "js-domain", "inbox-prefix",
)  # fmt: skip
LOCAL = ("nsc", "context")  # families that connect to nothing, or have flags of their own for it


def command(*words: object) -> str:
    """Return a proposed command line, such as `pyjs --context prod stream info ORDERS`.

    words: those after the program's name; they are quoted for a shell, whoever chose them.
    """
    plain = [str(each) for each in words]
    return " ".join((PROGRAM, *connection_flags(plain), *map(shlex.quote, plain)))


def in_hint(line: str) -> str:
    """Return a command in quotes, for a hint: 'stream ls', or 'pyjs --context prod stream ls'.

    line: the words after the program's name as they are to be typed, so quoted already where that is needed.
    """
    given = connection_flags(line.split())
    return f"'{' '.join((PROGRAM, *given, line))}'" if given else f"'{line}'"


def connection_flags(words: list[str]) -> list[str]:
    """Return the flags of the connection that were typed, quoted, as a line with these `words` needs them."""
    named = {each.removeprefix("--").partition("=")[0] for each in words if each.startswith("--")}
    if words[0] in LOCAL or WHOLE in named:
        return []
    if "js-api-prefix" in named:
        named.add("js-domain")
    run = flags.session()
    return [
        word for name in CONNECTION if name in run.given and name not in named for word in _flag(run, name)
    ]


def typed_line() -> str:
    """Return the line that was typed, for the head of a watch, which stands there for hours."""
    return " ".join((PROGRAM, *typed(flags.session())))


def typed(run: flags.CliSession) -> list[str]:
    """Return the words typed, with HIDDEN in place of secrets."""
    secrets = {str(run.given[name]) for name in SECRETS if run.given.get(name) and _hides(run, name)}
    if run.given.get("user") and _hides(run, "user"):
        secrets.add(str(run.given["user"]))

    server = str(run.given.get("server") or "")

    def shown(word: str) -> str:
        name, equals, value = word.partition("=")
        if word in secrets:
            return HIDDEN
        if equals and value in secrets:
            return f"{name}={HIDDEN}"
        if server and word.endswith(server):
            return word.removesuffix(server) + without_password(server)
        return re.sub(r"(://[^/@:]*):[^/@]*@", rf"\1:{HIDDEN}@", word)

    return [shown(each) for each in run.argv]


def quoted(word: str) -> str:
    """Return a word as a shell takes it; what stands for a secret stays as it is."""
    return HIDDEN.join(shlex.quote(each) if each else "" for each in word.split(HIDDEN)) or "''"


def without_password(urls: str) -> str:
    """Return server URLs, separated by commas, with HIDDEN in place of passwords and tokens."""
    shown = []
    for url in urls.split(","):
        scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
        login, at, host = rest.rpartition("@")
        user, colon, _ = login.partition(":")
        shown.append(f"{scheme}{mark}{user if colon else ''}{colon}{HIDDEN}@{host}" if at else url)
    return ",".join(shown)


def _flag(run: flags.CliSession, name: str) -> Iterator[str]:
    value = run.given[name]
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
        return
    if value in (None, ""):
        return
    yield f"--{name}"
    if _hides(run, name):
        yield HIDDEN
    else:
        yield quoted(without_password(str(value)) if name == "server" else str(value))


def _hides(run: flags.CliSession, name: str) -> bool:
    """Return whether the value of a flag is a secret, and not only where one is."""
    from ..keys.errors import is_secret

    value = str(run.given[name])
    if name in ("password", "token"):
        return not value.startswith(BY_REFERENCE)
    if name == "user":
        return _is_token(run)
    return value.startswith("data:") or is_secret(value)


def _is_token(run: flags.CliSession) -> bool:
    """Return whether what was given as --user is a token: as in `nats`, a user without a password is one."""
    from .profile import resolve

    with suppress(CliError):
        return not resolve(run).text("user")
    return not run.given.get("password")
