"""StreamFiles: the files of a replicated stream, in the store directory of its account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..account.document import ClusterMark
from ..account.recovery import log_repairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ....store.file import FileStream
    from ..account.streams import AccountStreams


class StreamFiles:
    """The `ReplicaFiles` of one stream.

    streams: the streams of the account.
    name: the stream's name.
    """

    def __init__(self, streams: AccountStreams, name: str) -> None:
        self._streams = streams
        self._directory = streams.directory
        self._name = name

    def claim(self, group: str) -> None:
        """See `ReplicaFiles`."""
        self._streams.marks[self._name] = ClusterMark(group, replicated=True)

    def write(self, config: StreamConfig, created: int) -> None:
        """See `ReplicaFiles`."""
        self._streams.write_document(config, created)

    def open_store(self, damaged: Callable[[str], None]) -> FileStream:
        """See `ReplicaFiles`."""
        return self._streams.open_store(self._name, cut_to_last_commit=True, damaged=damaged)

    def log_repairs(self, store: FileStream) -> None:
        """See `ReplicaFiles`."""
        log_repairs(self._streams.host.log, f"Stream '{self._streams.name} > {self._name}'", store)

    def set_aside(self) -> str:
        """See `ReplicaFiles`."""
        kept = self._directory.set_aside(self._name)
        return kept if not kept or self._directory.is_foreign(kept) else f"{kept} until all of it is back"

    def remove_set_aside(self) -> None:
        """See `ReplicaFiles`. Nothing was set aside for a stream that has been deleted."""
        if self._streams.marks.get(self._name) is not None:
            self._directory.remove_set_aside(self._name)
