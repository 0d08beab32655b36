"""What a member must remember of itself, beside its log."""

from __future__ import annotations

from typing import NamedTuple


class HardState(NamedTuple):
    """Durable before any message that depends on it is sent.

    term: the latest seen. vote: whom it voted for in it, "" for nobody. boot: how often this member has
    started, so that answers from before a loss can be distinguished from later ones. recovering: its log lost
    something that it may have vouched for; it neither votes nor campaigns until it has caught up with a
    leader.
    """

    term: int = 0
    vote: str = ""
    boot: int = 0
    recovering: bool = False
