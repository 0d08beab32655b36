"""`nsc revocations`."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

revocations = NscGroup(
    name="revocations",
    help="Manage revocations of users and activations.",
    rows=table_rows(
        "pyjs.plugins.nsc.revocations",
        [
            ("add-user", "users:add", "Revoke a user", ("add_user",)),
            ("delete-user", "users:delete", "Remove a user revocation", ("delete_user",)),
            ("list-users", "users:show", "List users revoked in an account", ("list_users",)),
            (
                "add_activation",
                "activations:add",
                "Revoke an accounts access to an export",
                ("add-activation",),
            ),
            (
                "delete_activation",
                "activations:delete",
                "Remove an account revocation from an export",
                ("delete-activation",),
            ),
            (
                "list_activations",
                "activations:show",
                "List account revocations for an export",
                ("list-activations",),
            ),
        ],
    ),
)
