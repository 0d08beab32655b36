"""Reconciler: carries out what the meta group's decisions require of this server, replica by replica.

Promises:
- Actions about one stream are carried out in order, and wait while the stream is being opened or closed.
- An account that is not known here (yet) is left alone until it is, and so is a stream that the disk refuses
  to read (`Inventory`). What is to be done then follows from the state of that moment, as at a start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError
from ....store.errors import StoreError
from ..meta.reconcile import (
    ChangeConsumer,
    ChangeReplica,
    CloseConsumer,
    CloseReplica,
    DeleteReplica,
    OpenConsumer,
    OpenReplica,
    OrphanStream,
    ReconcileAction,
    RecoverReplica,
    ReplicaOnDisk,
    StartupAction,
    at_start,
)
from .inventory import Inventory, Key, Listing, covers
from .local_stream import LocalStream
from .meta_group import META

if TYPE_CHECKING:
    from ..account.account import JetStreamAccount
    from ..meta.assignment import StreamAssignment
    from .local_info import LocalStreamContext

_ERRORS = (ApiError, StoreError, OSError, ValueError, KeyError)


def key_of(action: ReconcileAction | StartupAction) -> Key:
    """Return the (account, stream) that an action is about."""
    if isinstance(action, DeleteReplica | OrphanStream):
        return action.account, action.name
    if isinstance(action, OpenReplica | RecoverReplica | ChangeReplica | CloseReplica):
        return action.stream.account, action.stream.name
    return action.consumer.account, action.consumer.stream


class Reconciler:
    """Carries out actions on the streams of this server. Only it changes the two dicts.

    local_streams: (account, stream) -> the stream that this server holds.
    failures: (account, stream) -> why it could not be opened.
    """

    def __init__(
        self,
        context: LocalStreamContext,
        accounts: Mapping[str, JetStreamAccount],
        local_streams: dict[Key, LocalStream],
        failures: dict[Key, str],
    ) -> None:
        self.local_streams = local_streams
        self.failures = failures
        self._context = context
        self._environment = context.environment
        self._meta = context.meta
        self._accounts = accounts
        self._log = context.environment.log
        self._inventory = Inventory(context.environment, accounts, self._readable)
        self._under_way: dict[Key, list[ReconcileAction | StartupAction]] = {}
        self._waiting: list[tuple[str, Callable[[], None]]] = []  # (account or "" for all, call when idle)

    # --- at a start

    def inventory(self, accounts: Iterable[JetStreamAccount]) -> dict[Key, ReplicaOnDisk]:
        """Return the streams that the disk holds. Blocks. What cannot be read is logged and left out."""
        return self._note(self._inventory.read(accounts))

    def _readable(self, keys: Collection[Key], listing: Listing) -> None:
        """Begin with what the disk refused to read until now."""
        for key in [key for key in self.failures if covers(keys, key)]:
            del self.failures[key]
        actions = at_start(self._meta.state, self._note(listing), self._meta.me)
        self.begin([action for action in actions if covers(keys, key_of(action))])

    def _note(self, listing: Listing) -> dict[Key, ReplicaOnDisk]:
        for key, why in listing.damaged.items():
            self._fail(key, why)
        return listing.on_disk

    def begin(self, actions: Iterable[StartupAction]) -> None:
        """Carry out the actions of a start."""
        refused = self._inventory.refused
        for action in actions:
            key = key_of(action)
            if covers(refused, key):
                self.failures[key] = refused.get(key) or refused[key[0], ""]
            elif key in self._under_way:
                self._under_way[key].append(action)
            else:
                self._start(key, action)

    def _start(self, key: Key, action: StartupAction) -> None:
        name = " > ".join(key)
        account = self._accounts.get(key[0])
        if account is None:
            return
        if isinstance(action, OrphanStream):
            self._log.warning(f"Stream '{name}' lies here, and the cluster never heard of it: not served")
        elif isinstance(action, DeleteReplica):
            self._log.info(f"Stream '{name}' is not assigned to this server any more and is deleted")
            try:
                account.remove_files(key[1])
            except OSError as error:
                self._fail(key, str(error))
        elif key not in self.failures:
            self._make(action)
        elif self._may_be_renewed(account, action.stream):
            self._make(OpenReplica(action.stream, lost=True))

    def _may_be_renewed(self, account: JetStreamAccount, stream: StreamAssignment) -> bool:
        """Set aside a stream that cannot be read, if others have it. Return whether that was done."""
        state, me = self._meta.state, self._meta.me
        if not any(holder != me and holder in state.servers for holder in stream.holders):
            return False
        try:
            account.directory.set_aside(stream.name)
            self._environment.incarnations(stream.group).remove()
        except OSError as error:
            self._fail((stream.account, stream.name), str(error))
            return False
        return True

    def sweep(self) -> None:
        """Remove what is left of groups that this server does not belong to any more."""
        environment, state = self._environment, self._meta.state
        ours = {stream.group for stream in state.assigned_to(self._meta.me)}
        try:
            for name in environment.fs.names(environment.path):
                if name not in ours and name != META:
                    environment.incarnations(name).remove()
        except OSError as error:
            self._log.error(f"What is left of former groups cannot be removed: {error}")

    # --- as they come

    def do(self, action: ReconcileAction) -> None:
        """Carry out an action, or note it while the stream is being opened or closed."""
        key = key_of(action)
        if covers(self._inventory.refused, key):
            return
        if key in self._under_way:
            self._under_way[key].append(action)
        elif isinstance(action, OpenReplica):
            self._make(action)
        elif isinstance(action, CloseReplica):
            self._close(key, gone=action.gone)
        else:
            self._pass_on(key, action)

    def _pass_on(
        self, key: Key, action: ChangeReplica | OpenConsumer | ChangeConsumer | CloseConsumer
    ) -> None:
        local = self.local_streams.get(key)
        if local is None:
            return
        if isinstance(action, ChangeReplica):
            local.change(action)
        elif isinstance(action, OpenConsumer):
            local.consumer_made(action.consumer)
        elif isinstance(action, ChangeConsumer):
            local.consumer_changed(action.consumer)
        else:
            local.consumer_gone(action.consumer)

    def _make(self, action: OpenReplica | RecoverReplica) -> None:
        """Open a stream.

        Actions that follow name its consumers once more, which does no harm: consumers are known by their
        creation time.
        """
        key = (action.stream.account, action.stream.name)
        account = self._accounts.get(key[0])
        if account is None:
            return
        self.failures.pop(key, None)
        local = self.local_streams[key] = LocalStream(self._context, account, action.stream)
        consumers = self._meta.state.consumers_of(*key)
        try:
            if isinstance(action, RecoverReplica):
                self._under_way[key] = []
                local.open_from_disk(consumers, partial(self._opened, key))
            else:
                local.open(lost=action.lost, consumers=consumers)
        except _ERRORS as error:
            self._fail(key, str(error) or type(error).__name__)
            if key in self._under_way:
                self._closed(key)

    def _opened(self, key: Key, why: str) -> None:
        """Note that a stream from the disk is open, or why it cannot be."""
        if why:
            self._fail(key, why)
        self._closed(key)

    def _fail(self, key: Key, why: str) -> None:
        self.failures[key] = why
        self._log.error(f"Stream '{' > '.join(key)}' cannot be opened: {why}")

    def _close(self, key: Key, *, gone: bool) -> None:
        self.failures.pop(key, None)
        local = self.local_streams.pop(key, None)
        if local is not None:
            self._under_way[key] = []
            local.close(gone, lambda: self._closed(key))

    def _closed(self, key: Key) -> None:
        for action in self._under_way.pop(key, []):
            if isinstance(action, RecoverReplica | DeleteReplica | OrphanStream):
                self.begin([action])
            else:
                self.do(action)
        self._call_idle()

    # --- the end

    def stop(self, done: Callable[[], None], account: str = "") -> None:
        """Stop serving one account, or all; files stay. `done` is called when nothing is under way.

        Actions that arrive for a stream while it is being stopped are carried out after that.
        """
        self._inventory.forget(account)
        for key in [key for key in self.failures if account in ("", key[0])]:
            del self.failures[key]
        for key in [key for key in self.local_streams if account in ("", key[0])]:
            self._under_way[key] = []
            self.local_streams.pop(key).stop(partial(self._closed, key))
        self._waiting.append((account, done))
        self._call_idle()

    def _call_idle(self) -> None:
        """Call those that wait for an account with nothing under way."""
        busy = {account for account, _ in self._under_way} | ({""} if self._under_way else set())
        idle = [done for account, done in self._waiting if account not in busy]
        self._waiting = [(account, done) for account, done in self._waiting if account in busy]
        for done in idle:
            done()
