"""The flag of `list`, which may come before or after its sub command, as in nsc."""

from __future__ import annotations

from ..command import switch

JSON = switch("-J", "as_json", text="As JSON; --json too.")
