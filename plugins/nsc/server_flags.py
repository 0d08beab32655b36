"""The flags for the connection to servers: as which user, and with which TLS files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from ...keys.workspace.servers.access import LONGEST, SHORTEST, ServersAccess, Tls
from .command import switch

TLS = ("tls_first", "ca_cert", "client_cert", "client_key", "tls_curves")
SYSTEM = ("system_account", "system_user")


def tls_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the TLS flags to a command."""
    for option in reversed(
        (
            switch("--tls-first", text="Start with TLS, before the server says anything."),
            click.option("--ca-cert", default="", metavar="FILE", help="CA certificates; else NATS_CA."),
            click.option("--client-cert", default="", metavar="FILE", help="Certificate; else NATS_CERT."),
            click.option("--client-key", default="", metavar="FILE", help="Its key; else NATS_KEY."),
            click.option("--tls-curves", default="", metavar="CURVE", help="P256, P384, P521 or X25519."),
        )
    ):
        function = option(function)
    return function


def system_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that name a user of the system account, and the TLS flags, to a command."""
    for option in (
        tls_flags,
        click.option("--system-user", default="", metavar="NAME", help="User; else a temporary one is made."),
        click.option(
            "--system-account", default="", metavar="NAME", help="System account; else the operator's."
        ),
    ):
        function = option(function)
    return function


def timeout_flag(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flag for how long answers are waited for to a command."""
    text = f"Seconds to wait for servers that do not answer [{SHORTEST}-{LONGEST}]."
    return click.option("--timeout", type=int, default=1, metavar="SECONDS", help=text)(function)


def tls(given: dict[str, Any]) -> Tls:
    """Remove the values of the TLS flags from `given`; return them, completed from the environment."""
    first, *files = (given.pop(name) for name in TLS)
    return Tls(bool(first), *files).with_environment(os.environ)


def reach(given: dict[str, Any], url: str = "") -> ServersAccess:
    """Remove the values of all these flags from `given`, and return them."""
    account, user = (given.pop(name) for name in SYSTEM)
    timeout = min(max(given.pop("timeout", SHORTEST), SHORTEST), LONGEST)
    return ServersAccess(url, account, user, timeout, tls(given))
