"""An account's imports, as import specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...accounts.account_spec import ImportSpec

if TYPE_CHECKING:
    from ....keys import Import


def import_spec(item: Import) -> ImportSpec:
    """What the import asks for; the older `to` is read as nats-server reads it."""
    if item.local_subject:
        local = item.local_subject
    elif item.type == "stream" and item.to:
        local = f"{item.to.removesuffix('.')}.{item.subject}"
    else:
        local = item.subject
    return ImportSpec(item.type, item.account, item.remote, local, item.share)
