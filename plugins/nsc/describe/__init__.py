"""`nsc describe`: information pages of tokens."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup
from .flags import options

describe = NscGroup(
    name="describe",
    help="Describe an operator, account, user, or any token.",
    params=options(),
    rows=table_rows(
        "pyjs.plugins.nsc.describe",
        [
            ("account", "account:account", "Describe an account", ()),
            ("jwt", "jwt:jwt", "Describe the token in a file or at a URL", ()),
            ("operator", "operator:operator", "Describe an operator", ()),
            ("user", "user:user", "Describe a user", ()),
        ],
    ),
)
