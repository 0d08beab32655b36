"""MetaStateMachine: the meta state as the meta group replicates it; gives this server's actions as they come.

Promises: a server that starts does nothing about what it applies until `begin`, when it is as current as the
group was; then its actions are given in order, each once, also when a leader's snapshot takes it further. Who
proposed learns the outcome. An entry that is not understood ends the member, never just the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from .apply import apply
from .effect import Effect
from .reconcile import ReconcileAction, ReplicaOnDisk, StartupAction, actions_for, at_start, catch_up
from .snapshot import restore, take
from .state import MetaState


class MetaStateMachine:
    """See the module. me: this server's id in the meta group.

    do: is given each action. notify: is given each effect, on every server alike.
    """

    applied = 0  # kept by snapshots and the log

    def __init__(
        self, me: str, do: Callable[[ReconcileAction], None], notify: Callable[[Effect], None]
    ) -> None:
        self.me = me
        self.state = MetaState()
        self.leading = False
        self._do = do
        self._notify = notify
        self._begun = False
        self._outcomes: dict[int, list[Effect]] = {}

    # --- StateMachine

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> None:
        """Take committed entries. Raises MetaCommandError, ValueError: this server can follow no further."""
        for index, entry in entries:
            effects = apply(self.state, index, entry)
            if self.leading:
                self._outcomes[index] = effects
            for effect in effects:
                self._notify(effect)
                if self._begun:
                    self._follow(effect)
        self.state.index = max(self.state.index, upto)

    def take(self) -> tuple[int, bytes] | None:
        """A snapshot of what is applied."""
        return self.state.index, take(self.state)

    def restore(self, data: bytes, index: int) -> None:
        """Take over the state of a snapshot. Raises MetaSnapshotError."""
        before, self.state = self.state, restore(data)
        self.state.index = max(self.state.index, index)
        if self._begun:
            for action in catch_up(before, self.state, self.me):
                self._do(action)

    def _follow(self, effect: Effect) -> None:
        for action in actions_for(self.state, effect, self.me):
            self._do(action)

    # --- for who runs it

    def begin(self, on_disk: Mapping[tuple[str, str], ReplicaOnDisk]) -> Iterator[StartupAction]:
        """From now on actions are given as they come; those of before are given here, see `at_start`."""
        self._begun = True
        return at_start(self.state, on_disk, self.me)

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
