"""MetaStateMachine: the meta state as the meta group replicates it, which passes on this server's actions.

Promises:
- A server that starts does nothing about what it applies until `begin`, when it is as current as the group
  was.
- From then on its actions are passed on in order, each once, also when a leader's snapshot takes the state
  further.
- The proposer learns the outcome of a proposal.
- An entry that is not understood ends the member; it is never skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from .apply import apply
from .effect import Effect
from .reconcile import ReconcileAction, ReplicaOnDisk, StartupAction, actions_for, at_start, catch_up
from .snapshot import restore, take
from .state import MetaState


class MetaStateMachine:
    """The state machine of this server's member of the meta group.

    me: this server's id in the group.
    do: is called with each action.
    notify: is called with each effect, on every server alike.
    state: everything applied so far.
    leading: whether this server leads, and keeps the outcomes of proposals.
    """

    durable_index = 0  # the state is kept by snapshots and the log only

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
        """Apply committed entries. Raises MetaCommandError, ValueError if this server cannot go on."""
        for index, entry in entries:
            effects = apply(self.state, index, entry)
            if self.leading:
                self._outcomes[index] = effects
            for effect in effects:
                self._notify(effect)
                if self._begun:
                    self._follow(effect)
        self.state.index = max(self.state.index, upto)

    def snapshot(self) -> tuple[int, bytes] | None:
        """Return a snapshot of what is applied, (index, bytes)."""
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
        """Pass on actions from now on, and yield what the state so far requires, see `at_start`."""
        self._begun = True
        return at_start(self.state, on_disk, self.me)

    def lead(self) -> None:
        """Begin to lead, with everything before applied."""
        self.leading = True

    def follow(self) -> None:
        """Stop leading, and drop the outcomes that nobody fetched."""
        self.leading = False
        self._outcomes.clear()

    def outcome(self, index: int) -> list[Effect]:
        """Return the effects of the proposal at `index`, for its proposer here. They can be fetched once."""
        return self._outcomes.pop(index, [])
