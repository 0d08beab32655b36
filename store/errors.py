"""What can go wrong in a store, as exceptions.

`NotFound` is an answer, not an error. `Damaged` means that stored data can no longer be trusted.
`StoreFailed` means that the disk refused a write: the store takes nothing more until it is opened again.
"""


class StoreError(Exception):
    """The base of everything that a store raises."""


class NotFound(StoreError, LookupError):  # noqa: N818 - an answer
    """There is no such message, stream or consumer."""


class Damaged(StoreError):  # noqa: N818 - a state
    """Stored bytes fail their checksum.

    seq: the sequence of the lost message, 0 if the damage is not in a message.
    where: the file and the place in it.
    """

    def __init__(self, seq: int, where: str) -> None:
        super().__init__(f"message {seq} is damaged: {where}" if seq else f"damaged: {where}")
        self.seq = seq
        self.where = where


class StoreFailed(StoreError):  # noqa: N818 - a state
    """A write or a sync failed. The store takes nothing more, and what is not acknowledged may be lost."""


class StoreClosed(StoreError):  # noqa: N818 - a state
    """The store was closed or deleted."""
