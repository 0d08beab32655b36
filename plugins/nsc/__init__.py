"""`pyjs nsc`: operators, accounts and users, in the folders of `nsc` and with its commands."""

from __future__ import annotations

import click

from ...cli.command import CommandRow, table_rows
from ...version import __version__
from .command import NscGroup

HERE = "pyjs.plugins.nsc"

nsc = NscGroup(
    name="nsc",
    help="Make and manage operators, accounts and users, as nsc does.",
    rows=[
        CommandRow(
            "add", f"{HERE}.add:add", "Add an operator, account, user, export, import or mapping", ("create",)
        ),
        CommandRow("delete", f"{HERE}.delete:delete", "Delete an account, user, export, import or mapping"),
        CommandRow(
            "edit", f"{HERE}.edit:edit", "Edit an operator, account, user, signing key, export or callout"
        ),
        CommandRow(
            "describe", f"{HERE}.describe:describe", "Describe an operator, account, user or any token"
        ),
        CommandRow("export", f"{HERE}.exports:exports", "Export keys"),
        CommandRow(
            "generate", f"{HERE}.generate:generate", "Generate credentials, configurations, keys and more"
        ),
        CommandRow("import", f"{HERE}.imports:imports", "Import accounts, users and keys from files"),
        CommandRow("keys", f"{HERE}.keys:keys", "Manage the keystore"),
        CommandRow("list", f"{HERE}.list:listing", "List operators, accounts, users and keys"),
        CommandRow("reissue", f"{HERE}.reissue:reissue", "Give an operator a new identity"),
        CommandRow("rename", f"{HERE}.rename:rename", "Rename an account", hidden=True),
        CommandRow(
            "revocations", f"{HERE}.revocations:revocations", "Manage revocations of users and activations"
        ),
        CommandRow("select", f"{HERE}.select:select", "Choose the current operator or account"),
        CommandRow("tool", f"{HERE}.tool:tool", "Speak to the servers as a user: pub, sub, req, reply, rtt"),
        *table_rows(
            HERE,
            [
                ("completion", "shell:completion", "Shell completion scripts", ()),
                ("env", "env:env", "Show or change the current stores, operator and account", ()),
                ("help", "help:show", "Help for a command of nsc", ()),
                ("expirations", "expirations:expirations", "Tell which tokens end, and when", ()),
                ("init", "init:init", "Make an operator, an account and a user in one go", ()),
                ("load", "load:load", "Set up from an account server and an account's seed", ()),
                ("pull", "pull:pull", "Fetch accounts from the servers", ()),
                ("push", "push:push", "Send accounts to the servers, or remove them there", ()),
                ("status", "status:status", "Tell what each server holds of each account", ()),
                ("update", "upgrade:update", "Say how pyjs is updated", ()),
                ("validate", "validate:validate", "Validate the operator, its accounts and users", ()),
            ],
        ),
        CommandRow("test", f"{HERE}.test:test", "Pages and tables of the commands themselves", hidden=True),
        CommandRow("fix", f"{HERE}.fix:fix", "Rebuild stores from loose files", hidden=True),
        CommandRow(
            "migrate", f"{HERE}.migrate:migrate", "Bring accounts of another operator here", hidden=True
        ),
        CommandRow(
            "upgrade-jwt", f"{HERE}.upgrade:upgrade_jwt", "Turn tokens of version 1 into 2", hidden=True
        ),
        *(
            CommandRow(name, f"{HERE}.tool.{name}:{name}", hidden=True)
            for name in ("pub", "sub", "req", "reply", "rtt")
        ),
    ],
)
click.version_option(__version__, "-v", "--version", prog_name="pyjs nsc", message="%(version)s")(nsc)
