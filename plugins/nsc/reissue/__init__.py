"""`nsc reissue`: new identities."""

from __future__ import annotations

from ....cli.command import table_rows
from ..command import NscGroup

reissue = NscGroup(
    name="reissue",
    help="Re-issue objects with a new identity key.",
    rows=table_rows(
        "pyjs.plugins.nsc.reissue",
        [
            (
                "operator",
                "operator:operator",
                "Give the operator a new identity and sign its accounts again",
                (),
            )
        ],
    ),
)
