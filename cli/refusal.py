"""Why a connection could not be made, in the words of `nats`, with what to do about it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from .errors import CliError, NotFoundError, RefusedError, UnavailableError
from .profile import Profile, with_scheme
from .proposal import command

if TYPE_CHECKING:
    from ..client import AuthorizationError, NoServers


def is_refusal(error: BaseException) -> bool:
    """Return whether a server answered and refused us."""
    text = plain_error(error).lower()
    return "authorization" in text or "authentication" in text


def bare_url(url: str) -> str:
    """Return a URL without its user and password, for messages."""
    parsed = urlparse(with_scheme(url))
    host = parsed.netloc.rpartition("@")[2]
    return f"{parsed.scheme}://{host}"


def plain_error(error: BaseException) -> str:
    """Return the words of a client error, without nats-py's quotes."""
    text = str(error) or type(error).__name__
    return text.replace("nats: '", "nats: ").removesuffix("'") if text.startswith("nats: '") else text


def not_connected(profile: Profile, error: AuthorizationError | NoServers) -> CliError:
    """Return the CliError for a blocking connection that could not be opened."""
    from ..client import ClientError
    from ..client import NoServers as Unreachable

    if isinstance(error, Unreachable):
        return refused(profile, error.reasons[-1] if error.reasons else error)
    if error.said:
        return refused(profile, ClientError(f"nats: {error.said}"))
    return (NotFoundError if error.missing else CliError)(str(error))  # a credential that cannot be read


def _expired(profile: Profile) -> str:
    """Return that the user's token has expired, and how a new one is made; empty if it has not."""
    from . import words
    from .credentials import token_of

    name, end = token_of(profile)
    left = 1 if end is None else end - time.time_ns()
    if left > 0:
        return ""
    line = command("nsc", "edit", "user", "--name", name or "NAME", "--expiry", "90d")
    return f"the token of the user {name} expired {words.span(-left)} ago: '{line}' signs a new one"


def refused(profile: Profile, error: BaseException) -> CliError:
    """Return the CliError for a connection that failed with `error`."""
    where = ", ".join(bare_url(url) for url in profile.servers)
    text = plain_error(error)
    if is_refusal(error):
        who = profile.text("user") or urlparse(with_scheme(profile.servers[0])).username
        by_token = any(profile.text(name) for name in ("creds", "nsc", "user_jwt"))
        unknown = "its token has expired, was revoked, or is of an account that the server does not have"
        nobody = unknown if by_token else "it gave no user the server knows"
        as_whom = f' the user "{who}"' if who else f" the connection: {nobody}"
        return RefusedError(
            f"setup failed: {text}",
            (by_token and _expired(profile)) or f"the server at {where} refused{as_whom}",
            "check --user and --password, --creds, --nkey or the context in use",
        )
    if "secure connection not available" in text:
        return CliError(f"setup failed: {text}", f"TLS was asked for, but the server at {where} has none")
    ssl = sys.modules.get("ssl")
    if ssl is not None and isinstance(error, ssl.SSLError):
        return CliError(f"setup failed: TLS handshake with {where} failed: {error}", "see --tlsca")
    if isinstance(error, OSError) or "no servers" in text:
        refusal = isinstance(error, ConnectionRefusedError)
        reason = "connection refused" if refusal else getattr(error, "strerror", None) or text
        return UnavailableError(
            "setup failed: nats: no servers available for connection",
            f"no server answers at {where} ({reason.removeprefix('nats: ')})",
            "start one with 'pyjs server run -js', or name another with --server or --context",
        )
    return CliError(f"setup failed: {text}", f"while connecting to {where}")
