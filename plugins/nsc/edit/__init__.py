"""`nsc edit`."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

edit = NscGroup(
    name="edit",
    help="Edit an operator, account, user or something of theirs.",
    rows=table_rows(
        "pyjs.plugins.nsc.edit",
        [
            ("account", "account:account", "Edit an account", ()),
            ("operator", "operator:operator", "Edit the operator", ()),
            ("user", "user:user", "Edit a user", ()),
            ("authcallout", "authcallout:authcallout", "Edit an account authorization callout", ()),
            ("signing-key", "signingkey:signing_key", "Edit a scoped signing key", ()),
            ("export", "exports:edit", "Edit an export", ()),
        ],
    ),
)
