"""JetStreamAccount: JetStream for one account on this server.

Promises:
- No two streams of an account capture the same subject.
- A stream is created as a whole or not at all: its configuration is on disk before the request is answered.
- What cannot be read at a start is reported and left on the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.account import AccountInfo, AccountLimits, AccountTier, ApiStats
from ....protocol.api.stream import StreamConfig
from ....protocol.errors import api_error
from ....protocol.limits import API_LEVEL
from ...config.options import AccountJetStream
from ...slices import SerialQueue, at_once
from ..host import JetStreamHost
from ..limits import JetStreamLimits
from ..quota import Quota
from . import changes
from .streams import AccountStreams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....store.configs import AccountDirectory
    from ...accounts.account import Account
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from .backup.restore import StreamRestore
    from .backup.staged import StagedStream


class JetStreamAccount(AccountStreams):
    """The streams of an account, with the operations that the API offers on them.

    changes: runs the changes of its streams one after another.
    restores: the restores in progress, by the name of the stream.
    staged: restored contents, by the name of the stream that gets them when it is created.
    api_total: how many API requests there were.
    api_errors: how many of them were answered with an error.
    """

    def __init__(
        self,
        account: Account,
        host: JetStreamHost,
        directory: AccountDirectory,
        by_tier: dict[str, AccountJetStream],
        memory: Quota,
        files: Quota,
        assigned: Callable[[str, str], Sequence[str]] | None = None,
    ) -> None:
        """by_tier, memory, files: see `JetStreamLimits`. The other arguments: see `AccountStreams`."""
        super().__init__(account, host, directory, JetStreamLimits(by_tier, memory, files), assigned)
        self.changes = SerialQueue(host.turns)
        self.restores: dict[str, StreamRestore] = {}
        self.staged: dict[str, StagedStream] = {}
        self.api_total = 0
        self.api_errors = 0

    def create(self, config: StreamConfig, *, pedantic: bool = False) -> Stream[Consumer]:
        """Create a stream, or return the one that exists with an equal configuration. Raises ApiError."""
        return at_once(changes.creating(self, config, pedantic=pedantic))

    def must_be_new(self, config: StreamConfig) -> StreamConfig:
        """Return a validated configuration if a stream can be restored with it now. Raises ApiError."""
        if config.name in self.streams:
            raise api_error("JSStreamNameExistRestoreFailedErr")
        self.must_not_be_here(config.name)
        at_once(changes.overlapping(self, config))
        return config

    def update(self, config: StreamConfig, *, pedantic: bool = False) -> Stream[Consumer]:
        """Change the configuration of a stream. Raises ApiError."""
        return at_once(changes.updating(self, config, pedantic=pedantic))

    def delete(self, name: str) -> None:
        """Remove a stream, its messages and consumers. Raises ApiError."""
        at_once(changes.deleting(self, name))

    def purge(self) -> None:
        """End all restores, remove all streams, and forget those that cannot be opened. Raises ApiError.

        The caller removes the account's folder, and with it the files of those that cannot be opened.
        """
        self.must_be_recovered()
        self._stop_restores()
        for name in list(self.streams):
            self.delete(name)
        self.offline.clear()
        if self.templates is not None:
            self.templates.forget_all()

    def leave(self) -> list[Stream[Consumer]]:
        """Stop serving, and return the streams, for the caller to stop."""
        self._stop_restores()
        if self.templates is not None:
            self.templates.stop()
        return super().leave()

    def _stop_restores(self) -> None:
        for restore in list(self.restores.values()):
            restore.stop()

    # --- its numbers

    def info(self) -> AccountInfo:
        """Return usage and limits, as INFO shows them. Raises ApiError 10008 while the usage is not known."""
        self.must_be_recovered()
        for stream in self.streams.values():
            stream.contents.update_usage()
        flat = self.limits.by_tier.get("")
        info = AccountInfo(
            memory=self.limits.memory.used,
            storage=self.limits.files.used,
            reserved_memory=self.limits.memory.reserved,
            reserved_storage=self.limits.files.reserved,
            streams=len(self.streams),
            consumers=sum(len(stream.consumers) for stream in self.streams.values()),
            limits=AccountLimits() if flat is None else shown_limits(flat),
            domain=self.host.domain,
            api=ApiStats(level=API_LEVEL, total=self.api_total, errors=self.api_errors),
        )
        if flat is None:
            info.tiers = self._tiers(info)
        return info

    def _tiers(self, info: AccountInfo) -> dict[str, AccountTier]:
        """Return the tiers that have limits, and the tier of the existing streams."""
        tiers = {
            name: AccountTier(limits=shown_limits(grant))
            for name, grant in sorted(self.limits.by_tier.items())
        }
        if self.streams:
            own = tiers.setdefault("R1", AccountTier())
            for name in ("memory", "storage", "reserved_memory", "reserved_storage", "streams", "consumers"):
                setattr(own, name, getattr(info, name))
        return tiers


def shown_limits(grant: AccountJetStream) -> AccountLimits:
    """Return the limits as INFO shows them."""
    return AccountLimits(
        max_memory=grant.max_memory,
        max_storage=grant.max_store,
        max_streams=grant.max_streams,
        max_consumers=grant.max_consumers,
        max_ack_pending=grant.max_ack_pending,
        memory_max_stream_bytes=grant.memory_max_stream_bytes,
        storage_max_stream_bytes=grant.store_max_stream_bytes,
        max_bytes_required=grant.max_bytes_required,
    )
