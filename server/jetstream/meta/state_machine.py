"""MetaStateMachine: the meta state as the application of the meta group, and this server's duties as they
come up.

Promises: a server that starts does nothing about what it applies until `begin`, when it is as current as the
group was; then it is told its duties in order, each once, also when a leader's snapshot takes it further. Who
proposed learns what became of it. An entry that is not understood ends the member, never just the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from .apply import apply
from .effect import Effect, ServerUpdated
from .reconcile import ReconcileAction, ReplicaOnDisk, StartupAction, at_start, catch_up, duties
from .snapshot import restore, take
from .state import MetaState


class MetaStateMachine:
    """See the module. me: this server's id in the meta group.

    do: is given each duty. tell: is given each effect, on every server alike.
    """

    applied = 0  # lives by snapshots and the log

    def __init__(
        self, me: str, do: Callable[[ReconcileAction], None], tell: Callable[[Effect], None]
    ) -> None:
        self.me = me
        self.state = MetaState()
        self.leading = False
        self._do = do
        self._tell = tell
        self._begun = False
        self._outcomes: dict[int, list[Effect]] = {}

    # --- the group's application

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> None:
        """Take committed entries. Raises EntryError, ValueError: this server can follow no further."""
        for index, entry in entries:
            effects = apply(self.state, index, entry)
            if self.leading:
                self._outcomes[index] = effects
            for effect in effects:
                self._tell(effect)
                if self._begun:
                    self._follow(effect)
        self.state.index = max(self.state.index, upto)

    def take(self) -> tuple[int, bytes] | None:
        """A snapshot of what is applied."""
        return self.state.index, take(self.state)

    def restore(self, data: bytes, index: int) -> None:
        """Stand where a snapshot stands. Raises MetaSnapshotError."""
        before, self.state = self.state, restore(data)
        self.state.index = max(self.state.index, index)
        if self._begun:
            for duty in catch_up(before, self.state, self.me):
                self._do(duty)

    def _follow(self, effect: Effect) -> None:
        for duty in duties(self.state, effect, self.me):
            self._do(duty)

    # --- for who runs it

    def begin(self, held: Mapping[tuple[str, str], ReplicaOnDisk]) -> Iterator[StartupAction]:
        """From now on duties are told as they come; those of before are given here, see `at_start`."""
        self._begun = True
        return at_start(self.state, held, self.me)

    def lead(self) -> None:
        """This server leads and has applied everything before."""
        self.leading = True

    def follow(self) -> None:
        """Another one leads; outcomes that nobody fetched belong to nobody."""
        self.leading = False
        self._outcomes.clear()

    def outcome(self, index: int) -> list[Effect]:
        """What became of the proposal at `index`; can be asked once, by who proposed it here."""
        return self._outcomes.pop(index, [])


def lets_in(effect: Effect, me: str) -> bool:
    """Whether the cluster lets this server in (again): then it asks as at a start
    (`MetaStateMachine.begin`).
    """
    return isinstance(effect, ServerUpdated) and effect.server.id == me and effect.before is None
