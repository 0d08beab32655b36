"""What a stream holds: its messages, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ....store.errors import StoreError
from ...slices import Steps

if TYPE_CHECKING:
    from ....store.message import StoredMessage
    from ....store.stream import StreamStore

READ_BACK = 128  # messages read back in one step


def reading_back(store: StreamStore, sequence: int, load: Callable[[StoredMessage], None]) -> Steps[None]:
    """Give `load` all messages with a header from `sequence` on; damaged ones are left out."""
    for place, headed in enumerate(list(store.headed(sequence)), 1):
        with suppress(StoreError):
            load(store.get(headed))
        if place % READ_BACK == 0:
            yield
