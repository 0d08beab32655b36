"""Translates an account's imports into import specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...accounts.account_spec import ImportSpec

if TYPE_CHECKING:
    from ....keys import Import


def import_spec(item: Import) -> ImportSpec:
    """Return what an import asks for. The older `to` is interpreted as by nats-server."""
    if item.local_subject:
        local = item.local_subject
    elif item.type == "stream" and item.to:
        local = f"{item.to.removesuffix('.')}.{item.subject}"
    else:
        local = item.subject
    return ImportSpec(item.type, item.account, item.remote, local, item.share, item.allow_trace)
