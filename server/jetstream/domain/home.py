"""Home: what an asset needs of the domain it is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...accounts.account import Account
    from ...cluster.meta.answering import Led
    from ...cluster.meta.command import Begun, DeleteConsumer, Prefer, Settle
    from ...cluster.meta.server import Sight
    from ...cluster.meta.state import State
    from ...cluster.seat import Surroundings


class Home(Protocol):
    """What an asset needs of its `Domain`."""

    @property
    def me(self) -> str:
        """This server's id in the meta group."""

    @property
    def state(self) -> State:
        """What the meta group decided."""

    @property
    def sights(self) -> Mapping[str, Sight]:
        """What is seen of the others."""

    @property
    def led(self) -> Led:
        """Who leads the meta group."""

    @property
    def system(self) -> Account:
        """The system account."""

    @property
    def surroundings(self) -> Surroundings:
        """What the seats of groups need."""

    def member(self, node: str) -> str:
        """The meta group's member of a node."""

    def tell(self, command: Settle | Begun | DeleteConsumer | Prefer) -> None:
        """Have something decided; nothing is promised of it."""

    def say_up(self, account: str, stream: str, consumer: str, info: dict[str, Any]) -> None:
        """Tell that something is served."""
