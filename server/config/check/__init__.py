"""What one option says of another: everything that must hold before a server may start with these options.

The rules are nats-server's. Some it applies only when it starts, not with `-t`; here both apply them all.
"""

from __future__ import annotations

from ..options import Options
from ..read.context import ReadContext
from . import accounts, operator, peers, server, tls, users

CHECKS = (server.check, operator.check, users.check, accounts.check, peers.check, tls.check)


def check(options: Options, context: ReadContext) -> None:
    """Run every check; problems go to the context. Derived values (auth_timeout, …) are filled in."""
    for each in CHECKS:
        each(options, context)
