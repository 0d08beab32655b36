"""Reconciler: this server's duties, handed to the replicas they are about.

Promises: what is about one stream is done in order, and waits while it is being opened or closed; an account
that is not known here (yet) is left alone until it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError
from ....protocol.timestamp import parse_rfc3339
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
)
from .local_stream import LocalStream

if TYPE_CHECKING:
    from ..account.account import JetStreamAccount
    from ..meta.assignment import StreamAssignment
    from .cluster import JetStreamCluster

Key = tuple[str, str]
META = "meta"  # the meta group's name
_FAULTS = (ApiError, StoreError, OSError, ValueError, KeyError)


def key_of(duty: ReconcileAction | StartupAction) -> Key:
    """(account, stream) that it is about."""
    if isinstance(duty, DeleteReplica | OrphanStream):
        return duty.account, duty.name
    if isinstance(duty, OpenReplica | RecoverReplica | ChangeReplica | CloseReplica):
        return duty.stream.account, duty.stream.name
    return duty.consumer.account, duty.consumer.stream


class Reconciler:
    """assets: this server's replicas by (account, stream). failures: why one could not be opened."""

    def __init__(self, domain: JetStreamCluster, accounts: dict[str, JetStreamAccount]) -> None:
        self.assets: dict[Key, LocalStream] = {}
        self.failures: dict[Key, str] = {}
        self._domain = domain
        self._accounts = accounts
        self._log = domain.surroundings.log
        self._under_way: dict[Key, list[ReconcileAction | StartupAction]] = {}
        self._waiting: list[tuple[str, Callable[[], None]]] = []  # for an account, "" for all, to be idle

    # --- at a start

    def inventory(self, accounts: Iterable[JetStreamAccount]) -> dict[Key, ReplicaOnDisk]:
        """What lies on the disk. Blocks. What cannot be read is told to the log and left out."""
        found = {}
        for held in accounts:
            for asset in held.directory.streams():
                if asset.document is None:
                    self._fail((held.name, asset.name), asset.damage)
                    continue
                if asset.mended:
                    name = f"{held.name} > {asset.name}"
                    self._log.warning(f"Stream '{name}': {asset.mended}: written anew from the other file")
                created = parse_rfc3339(asset.document["created"])
                found[held.name, asset.name] = ReplicaOnDisk(asset.document.get("group", ""), created)
        return found

    def begin(self, duties: Iterable[StartupAction]) -> None:
        """Do what is to be done at a start."""
        for duty in duties:
            key = key_of(duty)
            if key in self._under_way:
                self._under_way[key].append(duty)
            else:
                self._start(key, duty)

    def _start(self, key: Key, duty: StartupAction) -> None:
        name = " > ".join(key)
        held = self._accounts.get(key[0])
        if held is None:
            return
        if isinstance(duty, OrphanStream):
            self._log.warning(f"Stream '{name}' lies here, and the cluster never heard of it: not served")
        elif isinstance(duty, DeleteReplica):
            self._log.info(f"Stream '{name}' is not assigned to this server any more and is deleted")
            try:
                held.remove_files(key[1])
            except OSError as error:
                self._fail(key, str(error))
        elif key not in self.failures:
            self._make(duty)
        elif self._may_be_renewed(held, duty.stream):
            self._make(OpenReplica(duty.stream, joins=True, lost=True))

    def _may_be_renewed(self, held: JetStreamAccount, stream: StreamAssignment) -> bool:
        """What lies here cannot be read; if others have it, it is set aside, to be had from them."""
        state, me = self._domain.state, self._domain.me
        if not any(holder != me and holder in state.servers for holder in stream.holders):
            return False
        try:
            held.directory.set_aside(stream.name)
            self._domain.surroundings.lives(stream.group).remove()
        except OSError as error:
            self._fail((stream.account, stream.name), str(error))
            return False
        return True

    def sweep(self) -> None:
        """Remove what is left of groups that this server has no part in any more."""
        around, state = self._domain.surroundings, self._domain.state
        ours = {stream.group for stream in state.held_by(self._domain.me)}
        try:
            for name in around.fs.names(around.path):
                if name not in ours and name != META:
                    around.lives(name).remove()
        except OSError as error:
            self._log.error(f"What is left of former groups cannot be removed: {error}")

    # --- as they come

    def do(self, duty: ReconcileAction) -> None:
        """Do what one effect asks of this server."""
        key = key_of(duty)
        if key in self._under_way:
            self._under_way[key].append(duty)
        elif isinstance(duty, OpenReplica):
            self._make(duty)
        elif isinstance(duty, CloseReplica):
            self._close(key, gone=duty.gone)
        else:
            self._pass_on(key, duty)

    def _pass_on(self, key: Key, duty: ChangeReplica | OpenConsumer | ChangeConsumer | CloseConsumer) -> None:
        asset = self.assets.get(key)
        if asset is None:
            return
        if isinstance(duty, ChangeReplica):
            asset.change(duty)
        elif isinstance(duty, OpenConsumer):
            asset.consumer_made(duty.consumer)
        elif isinstance(duty, ChangeConsumer):
            asset.consumer_changed(duty.consumer)
        else:
            asset.consumer_gone(duty.consumer)

    def _make(self, duty: OpenReplica | RecoverReplica) -> None:
        """The duties that follow name its consumers once more: replicas know them by their birth."""
        key = (duty.stream.account, duty.stream.name)
        held = self._accounts.get(key[0])
        if held is None:
            return
        self.failures.pop(key, None)
        asset = self.assets[key] = LocalStream(self._domain, held, duty.stream)
        consumers = self._domain.state.consumers_of(*key)
        try:
            if isinstance(duty, RecoverReplica):
                self._under_way[key] = []
                asset.keep(consumers, partial(self._kept, key))
            else:
                asset.open(lost=duty.lost, consumers=consumers)
        except _FAULTS as fault:
            self._fail(key, str(fault) or type(fault).__name__)
            if key in self._under_way:
                self._closed(key)

    def _kept(self, key: Key, why: str) -> None:
        """What the disk has of a stream is open, or it cannot be: why."""
        if why:
            self._fail(key, why)
        self._closed(key)

    def _fail(self, key: Key, why: str) -> None:
        self.failures[key] = why
        self._log.error(f"Stream '{' > '.join(key)}' cannot be opened: {why}")

    def _close(self, key: Key, *, gone: bool) -> None:
        self.failures.pop(key, None)
        asset = self.assets.pop(key, None)
        if asset is not None:
            self._under_way[key] = []
            asset.close(gone, lambda: self._closed(key))

    def _closed(self, key: Key) -> None:
        for duty in self._under_way.pop(key, []):
            if isinstance(duty, RecoverReplica | DeleteReplica | OrphanStream):
                self.begin([duty])
            else:
                self.do(duty)
        self._tell_idle()

    # --- the end

    def stop(self, done: Callable[[], None], account: str = "") -> None:
        """Stop serving, of one account or of all; files stay. `done` is called when nothing is under way.

        What is asked meanwhile about a stream that is being stopped is done after that.
        """
        for key in [key for key in self.failures if account in ("", key[0])]:
            del self.failures[key]
        for key in [key for key in self.assets if account in ("", key[0])]:
            self._under_way[key] = []
            self.assets.pop(key).stop(partial(self._closed, key))
        self._waiting.append((account, done))
        self._tell_idle()

    def _tell_idle(self) -> None:
        """Call those for whom nothing is under way any more."""
        busy = {account for account, _ in self._under_way} | ({""} if self._under_way else set())
        idle = [done for account, done in self._waiting if account not in busy]
        self._waiting = [(account, done) for account, done in self._waiting if account in busy]
        for done in idle:
            done()
