"""`nsc tool`: publishes, subscribes and sends requests as a stored user."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup, options_of
from .user import SERVER

tool = NscGroup(
    name="tool",
    help="Speak to the servers as a user of the store: pub, sub, req, reply, rtt.",
    params=options_of(*SERVER),
    rows=table_rows(
        "pyjs.plugins.nsc.tool",
        [
            ("pub", "pub:pub", "Publish to a subject", ()),
            ("reply", "reply:reply", "Answer requests on a subject", ()),
            ("req", "req:req", "Send a request to a subject", ()),
            ("rtt", "rtt:rtt", "Measure the round trip time to the server", ()),
            ("sub", "sub:sub", "Subscribe to a subject", ()),
        ],
    ),
)
