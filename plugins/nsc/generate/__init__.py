"""`nsc generate`: makes documents from what is stored."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

generate = NscGroup(
    name="generate",
    help="Generate activations, configurations, credentials and more.",
    rows=table_rows(
        "pyjs.plugins.nsc.generate",
        [
            ("activation", "activation:activation", "Generate an export activation jwt token", ()),
            ("config", "config:config", "Generate a server configuration", ()),
            ("context", "context:context", "Generate a context of nats for a user", ()),
            ("creds", "creds:creds", "Generate a user's credentials file", ()),
            ("diagram", "diagram:diagram", "Generate diagrams for this store", ()),
            ("nkey", "nkey:nkey", "Generate keys", ()),
            ("profile", "profile:profile", "Generate a profile from an nsc:// URL", ()),
        ],
    ),
)
