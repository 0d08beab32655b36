"""`pyjs auth`: operators, accounts, users and nkeys by the commands of `nats auth`, in the folders of nsc."""

from __future__ import annotations

from ...cli.command import CommandGroup, CommandRow

HERE = "pyjs.plugins.auth"

auth = CommandGroup(
    name="auth",
    help="Decentralized authentication: operators, accounts and users, in the folders of 'pyjs nsc'.",
    rows=[
        CommandRow("operator", f"{HERE}.operator:operator", "Manage operators", ("o", "op")),
        CommandRow("account", f"{HERE}.account:account", "Manage accounts", ("a", "acct", "act")),
        CommandRow("user", f"{HERE}.user:user", "Manage users of accounts", ("u", "usr", "users")),
        CommandRow("nkey", f"{HERE}.nkey:nkey", "Make and use nkeys", ("nk",)),
    ],
)
