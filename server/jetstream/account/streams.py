"""AccountStreams: the streams of one account on this server, both open and not open.

Promises:
- The name, the subjects and the reserved bytes of a stream are taken from the moment it is known.
- Its configuration is on the disk before it is served.
- A stream that cannot be opened is reported and left on the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ....protocol.api.stream import StreamConfig
from ....protocol.errors import api_error
from ....protocol.subject_tree import SubjectOwners, SubjectTree
from ....store.consumer_files import ConsumerFiles
from ....store.errors import StoreError
from ....store.memory import MemoryStream
from ....store.meta_file import directory_name, name_of
from ...config.options import AccountJetStream
from ...slices import Steps, at_once
from ..host import JetStreamHost
from ..limits import JetStreamLimits
from ..streams.context import StreamContext
from ..streams.stream_info import stamped
from ..streams.validation.config import checking
from ..streams.validation.context import SubjectCheck, ValidationContext
from .document import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....store.configs import AccountDirectory
    from ....store.file import FileStream
    from ....store.stream import StreamStore
    from ...accounts.account import Account
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from .document import ClusterMark
    from .pending_publishes import PendingPublishes

UNLIMITED = -1


class AccountTemplates(Protocol):
    """The stream templates of an account, which make streams when messages come."""

    def read(self) -> None:
        """Read which there are. Blocks; called in a worker thread, before `begin`."""

    def begin(self) -> Steps[None]:
        """Begin to make streams, in steps, now that those of the account are known."""

    def stop(self) -> None:
        """Make no more streams."""

    def forget_all(self) -> None:
        """Do the same, because everything that the account has stored is removed."""


class AccountStreams:
    """The streams of one account.

    account: the account, in which the streams subscribe and publish.
    host: what the streams need of the server.
    directory: the account's folder on the disk.
    limits: what the account may store, and what it uses.
    streams: the open streams, by name.
    recovering: the configurations of the streams that are on the disk and not open yet, by name.
    surveyed: whether `recovering` has all such streams; see `recovery`.
    offline: why each stream that cannot be opened is offline, by name.
    owners: the streams by their subjects; see `current_owners`.
    marks: what the disk records about the streams that a cluster assigned, by name.
    left: whether the account is no longer served.
    removals: how many streams were removed.
    templates: the stream templates; None where they are not served.
    """

    templates: AccountTemplates | None = None

    def __init__(
        self,
        account: Account,
        host: JetStreamHost,
        directory: AccountDirectory,
        limits: JetStreamLimits,
        assigned: Callable[[str, str], Sequence[str]] | None = None,
    ) -> None:
        """assigned: returns the subjects of a stream in a cluster, by account and name."""
        self.account = account
        self.name = account.name
        self.host = host
        self.directory = directory
        self.limits = limits
        self.streams: dict[str, Stream[Consumer]] = {}
        self.owners = SubjectOwners()
        self.left = False
        self.removals = 0
        self.offline: dict[str, str] = {}
        self.recovering: dict[str, StreamConfig] = {}
        self.surveyed = True
        self._assigned = assigned
        self._origins_missing: list[Stream[Consumer]] = []
        self.marks: dict[str, ClusterMark] = {}

    # --- validation

    def validation_context(
        self, replicas: int = 1, *, pedantic: bool = False, subject_check: SubjectCheck | None = None
    ) -> ValidationContext:
        """Return what configurations of streams with this number of replicas are validated against."""
        grant = self.limits.of(replicas) or AccountJetStream()
        return ValidationContext(
            lookup=self.config_of,
            duplicates_limit=self.host.duplicates_limit,
            max_bytes_required=grant.max_bytes_required,
            memory_max_stream_bytes=grant.memory_max_stream_bytes,
            storage_max_stream_bytes=grant.store_max_stream_bytes,
            pedantic=pedantic,
            subject_check=subject_check,
        )

    def config_of(self, name: str) -> StreamConfig | None:
        """Return the configuration of a stream of the account, open or not yet; None if there is none."""
        stream = self.streams.get(name)
        return stream.config if stream is not None else self.recovering.get(name)

    # --- streams

    def lookup(self, name: str) -> Stream[Consumer]:
        """Find a stream.

        Raises ApiError 10059 if there is none, 10008 if it is not open yet, 10194 if it cannot be opened.
        """
        stream = self.streams.get(name)
        if stream is None:
            self.must_not_be_here(name)
            raise api_error("JSStreamNotFoundErr")
        return stream

    def must_not_be_here(self, name: str) -> None:
        """Raise ApiError if the disk has, or may have, a stream of that name that is not served.

        10008: it is not open yet, or the streams are not known yet. 10194: it cannot be opened.
        """
        if name in self.recovering or not self.surveyed:
            raise api_error("JSClusterNotAvailErr")
        for known_as in (name, name_of(directory_name(name))):  # a very long one whose document is damaged
            if known_as in self.offline:
                raise api_error("JSStreamOfflineReasonErrF", err=self.offline[known_as])

    def must_be_recovered(self) -> None:
        """Raise ApiError 10008 while some streams are not open yet, for requests that concern all streams."""
        if self.recovering or not self.surveyed:
            raise api_error("JSClusterNotAvailErr")

    def names(self, subject: str = "") -> list[str]:
        """Return the sorted names of all streams, or of those with subjects that collide with `subject`.

        Raises ApiError 10008 while the streams are not known.
        """
        if not self.surveyed:
            raise api_error("JSClusterNotAvailErr")
        return sorted(
            self.current_owners().colliding(subject) if subject else [*self.recovering, *self.streams]
        )

    def validating(
        self, config: StreamConfig, *, pedantic: bool = False, subject_check: SubjectCheck | None = None
    ) -> Steps[StreamConfig]:
        """Validate a new stream's configuration, also against the account's limits, in steps.

        Returns it with its defaults. subject_check: the result of `checking_subjects`, if it was called
        before. Raises ApiError.
        """
        name = config.name
        grant = self.limits.required(config.num_replicas)
        others = sum(1 for other in (*self.recovering, *self.streams) if other != name)
        if 0 < grant.max_streams <= others:
            raise api_error("JSMaximumStreamsLimitErr")
        if name not in self.streams:
            self.limits.check(config, config.max_bytes or UNLIMITED)
        context = self.validation_context(config.num_replicas, pedantic=pedantic, subject_check=subject_check)
        config = yield from checking(stamped(config), context)
        if config.num_replicas > 1:
            raise api_error("JSStreamReplicasNotSupportedErr")
        return config

    def make(self, config: StreamConfig, created: int) -> Stream[Consumer]:
        """Create a stream with a configuration that was validated, here or by the cluster.

        created: the time of its creation, ns. Raises ApiError if the store cannot be created.
        """
        return at_once(self.making(config, created))

    def making(
        self,
        config: StreamConfig,
        created: int,
        tree: SubjectTree[list[int]] | None = None,
        pending: PendingPublishes | None = None,
    ) -> Steps[Stream[Consumer]]:
        """Do what `make` does, in steps. The stream is in `streams` before it has subscribed.

        tree: the subjects as a tree, if there is one already.
        pending: publishes that are stored before any other.
        """
        from ..streams import core

        if config.storage == "file":
            try:
                yield from self.writing_document(config, created)
                store: StreamStore = self.open_store(config.name, lazily=config.persist_mode == "async")
            except (OSError, StoreError) as error:
                self.log_error(f"Stream create failed for '{self.name} > {config.name}': {error}")
                raise api_error(
                    "JSStreamStoreFailedF", err=f"error creating store for stream: {error}"
                ) from error
        else:
            store = MemoryStream()
        if config.first_seq > 1:
            store.skip_to(config.first_seq - 1)
        stream: Stream[Consumer] = core.Stream(config, store, self.context(config.name), created)
        self.streams[config.name] = stream
        self.owners.know(config.name, config.subjects, tree)
        self.reserve(config, 1)
        yield from stream.starting()
        if pending is not None:
            yield from pending.drain(stream.ingest.receive)
        yield from stream.serving()
        if not stream.stopped:
            stream.start_sourcing()
            self.appeared(config.name)
        return stream

    def open_store(
        self,
        name: str,
        *,
        cut_to_last_commit: bool = False,
        lazily: bool = False,
        damaged: Callable[[str], None] | None = None,
    ) -> FileStream:
        """Open a stream's messages; see `FileStream` for `cut_to_last_commit`. Raises OSError and StoreError.

        lazily: its messages are acknowledged before they are synced (`persist_mode: async`).
        damaged: called with the place of the damage when a read finds a damaged message.
        """

        def found(sequence: int, where: str) -> None:
            self.log_error(f"Stream '{self.name} > {name}' lost message {sequence} to damage: {where}")
            if damaged is not None:
                damaged(where)

        return self.directory.open_stream(
            name, on_damage=found, cut_to_last_commit=cut_to_last_commit, lazily=lazily
        )

    def reserve(self, config: StreamConfig, times: int) -> None:
        """Reserve the bytes that a stream is promised (`times` 1), or release them (-1)."""
        if config.max_bytes > 0:
            self.limits.quota(config.storage).reserve(times * config.max_bytes)

    def appeared(self, name: str) -> None:
        """Notify mirrors and sources that a stream is open."""
        for other in self.streams.values():
            if other.sourcing is not None:
                other.sourcing.origin_appeared(name)

    def write_document(
        self, config: StreamConfig, created: int, source_offsets: dict[str, Any] | None = None
    ) -> None:
        """Write a stream's document, durably. Raises OSError."""
        at_once(self.writing_document(config, created, source_offsets))

    def writing_document(
        self, config: StreamConfig, created: int, source_offsets: dict[str, Any] | None = None
    ) -> Steps[None]:
        """Do what `write_document` does, in steps; only the write itself is one step."""
        document = yield from writing(config, created, self.marks.get(config.name), source_offsets)
        self.directory.write_stream(config.name, document)

    def context(self, name: str) -> StreamContext:
        """Return what the stream of that name needs of its account."""
        files = ConsumerFiles(self.directory, name)

        def subjects_of(stream: str) -> Sequence[str]:
            if self._assigned is not None:
                return self._assigned(self.name, stream)
            config = self.config_of(stream)
            return () if config is None else config.subjects

        return StreamContext(self.account, self.host, self.limits, files, subjects_of, self._save_offsets)

    def _save_offsets(self, config: StreamConfig, created: int, source_offsets: dict[str, Any]) -> None:
        try:
            self.write_document(config, created, source_offsets)
        except OSError as error:
            self.log_error(f"Offsets of the sources of '{self.name} > {config.name}' not saved: {error}")

    def current_owners(self) -> SubjectOwners:
        """Return the streams, open or not, by their subjects, brought up to date."""
        self.owners.follow(self.subjects().items())
        return self.owners

    def subjects(self) -> dict[str, list[str]]:
        """Return the subjects of the streams, open or not, by name."""
        taken = {name: config.subjects for name, config in self.recovering.items()}
        return taken | {name: stream.config.subjects for name, stream in self.streams.items()}

    def change(self, stream: Stream[Consumer], config: StreamConfig) -> None:
        """Change the configuration of a stream to a validated one, on the disk first. Raises ApiError."""
        at_once(self.changing(stream, config))

    def changing(self, stream: Stream[Consumer], config: StreamConfig) -> Steps[None]:
        """Do what `change` does, in steps."""
        old = stream.config
        if config.storage == "file":
            try:
                yield from self.writing_document(config, stream.created, stream.source_offsets.to_json())
            except OSError as error:
                raise api_error("JSStreamUpdateErrF", err=str(error)) from error
        self.reserve(old, -1)
        self.reserve(config, 1)
        yield from stream.applying(config)

    def remove(self, name: str) -> None:
        """Remove an open stream. Raises ApiError on a disk error; even then it is no longer served."""
        stream = self.streams.pop(name)
        self.removals += 1
        self.reserve(stream.config, -1)
        try:
            stream.delete()
            if stream.config.storage == "file":
                self.remove_files(name)
        except OSError as error:
            raise api_error("JSStreamDeleteErrF", err=str(error)) from error

    def remove_files(self, name: str) -> None:
        """Remove a stream from the disk. A worker thread deletes the files. Raises OSError."""
        folder = self.directory.take_away_stream(name)

        def removed(error: BaseException | None) -> None:
            if error is not None:
                self.host.log.warning(f"{folder} can not be removed, until the next start: {error}")

        if folder:
            self.host.executor.work(lambda: self.directory.destroy(folder), removed)

    # --- start and stop

    def expect(self, config: StreamConfig) -> None:
        """Register a stream that will be opened: its name, subjects and reserved bytes are taken now."""
        self.recovering[config.name] = config
        self.reserve(config, 1)

    def opened(self, stream: Stream[Consumer]) -> None:
        """Take note that an expected stream is open."""
        del self.recovering[stream.name]
        self.streams[stream.name] = stream
        self._start_sourcing(stream)
        self.appeared(stream.name)

    def _start_sourcing(self, *opened: Stream[Consumer]) -> None:
        """Start the mirrors and sources whose local origins are all open, these streams included."""
        waiting, self._origins_missing = [*self._origins_missing, *opened], []
        for one in waiting:
            config = one.config
            origins = [*config.sources, *([] if config.mirror is None else [config.mirror])]
            if any(origin.external is None and origin.name in self.recovering for origin in origins):
                self._origins_missing.append(one)
            elif not one.stopped:
                one.start_sourcing()

    def mark_offline(self, name: str, reason: str) -> None:
        """Take note that a stream on the disk cannot be opened, and log it."""
        config = self.recovering.pop(name, None)
        if config is not None:
            self.reserve(config, -1)
            self._start_sourcing()
        self.offline[name] = reason
        self.host.log.error(f"Stream '{self.name} > {name}' is offline: {reason}")

    def forget_recovering(self, *names: str) -> None:
        """Forget these streams of `recovering`, or (without names) all: they will not be opened."""
        for name in names or list(self.recovering):
            self.reserve(self.recovering.pop(name), -1)

    def log_error(self, text: str) -> None:
        """Log an error."""
        self.host.log.error(text)

    def leave(self) -> list[Stream[Consumer]]:
        """Stop serving, and return the streams, for the caller to stop."""
        self.left = True
        streams = list(self.streams.values())
        self.streams.clear()
        for stream in streams:
            self.reserve(stream.config, -1)
        return streams

    def stop(self) -> None:
        """Stop all streams, one after another. Blocks; afterwards all that is stored is on disk."""
        for stream in self.leave():
            try:
                stream.stop()
            except (OSError, StoreError) as error:
                stream.output.log_failure(f"was not closed well: {error}")
