"""Checks of options against each other: all that must be true before a server may start with them.

The rules are nats-server's. It applies some of them only at start and not with `-t`; here both apply all.
"""

from __future__ import annotations

from ..options import Options
from ..read.context import ReadContext
from . import accounts, listeners, operator, peers, server, tls, unset, users

CHECKS = (
    unset.check,
    server.check,
    operator.check,
    users.check,
    accounts.check,
    peers.check,
    listeners.check,
    tls.check,
)


def check(options: Options, context: ReadContext) -> None:
    """Run every check. Problems go to the context. Derived options (auth_timeout, …) are filled in."""
    for each in CHECKS:
        each(options, context)
