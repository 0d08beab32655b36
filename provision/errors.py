"""What can go wrong besides mistakes in documents (`DocumentError`) and errors of servers."""

from __future__ import annotations

from collections.abc import Sequence


class ProvisionError(Exception):
    """Nothing was changed. `reasons` has a line for each thing that is in the way."""

    def __init__(self, message: str, reasons: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *reasons]))
        self.message = message
        self.reasons = tuple(reasons)


class ConflictError(ProvisionError):
    """Two documents declare the same thing, depend on each other in a circle, or change what others own."""


class LossError(ProvisionError):
    """Messages, or the places of consumers, would be lost, and nobody said that they may be.

    titles: whose; as the plan names them, and as they are allowed.
    """

    def __init__(self, message: str, reasons: Sequence[str], titles: Sequence[str]) -> None:
        super().__init__(message, reasons)
        self.titles = tuple(titles)


class StateChangedError(ProvisionError):
    """What servers have is no longer what a plan file was made for."""


class UnreadableError(ProvisionError):
    """A server does not tell all there is, so that no plan can be made."""
