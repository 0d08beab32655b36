"""The streams of a query as they are now, requested over a connection that is made again when it is lost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar

from ...client import BlockingConnection, ClientError
from ...protocol.errors import ApiError
from ..jetstream import JetStreamRequests, Retries, StreamStatus, UnknownStream, may_pass
from ..jetstream.leader import LeaderReader
from ..options import OptionError, QuerySettings
from .partitions import find_cuts, share

T = TypeVar("T")
LIMITS = "limits"
WORK_QUEUE = "workqueue"


class StreamDirectory:
    """The streams that `settings` name. `close` ends its connection; it may be used again afterwards."""

    def __init__(self, settings: QuerySettings) -> None:
        self.settings = settings
        self._api: JetStreamRequests | None = None

    def ask(self, question: Callable[[JetStreamRequests], T]) -> T:
        """Return the answer to a question, which must be one that may be asked twice.

        If it fails for a reason that may pass, it is asked again on a new connection, as often as
        fetchRetries says. Raises what the question raises, and the errors of the connection.
        """
        retries = Retries(self.settings.retries, self.settings.retry_interval)
        while True:
            try:
                return question(self._connected())
            except Exception as error:
                if not may_pass(error):
                    raise
                self.close()
                if not retries.again():
                    raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._api is not None:
            self._api.connection.close()
            self._api = None

    def names(self) -> list[str]:
        """Return the names of the streams, sorted; for a pattern, of those that match it now."""
        pattern = self.settings.pattern
        if pattern is None:
            return sorted(self.settings.streams)
        return sorted(name for name in self.ask(lambda api: api.streams()) if pattern.fullmatch(name))

    def stream_statuses(self, *, missing_ok: bool = False) -> dict[str, StreamStatus]:
        """Return the streams' facts by name.

        Raises UnknownStream for a named stream that does not exist, unless `missing_ok`.
        """
        found = {}
        for name in self.names():
            try:
                found[name] = self.ask(functools.partial(JetStreamRequests.stream, name=name))
            except UnknownStream:
                if self.settings.pattern is None and not missing_ok:
                    raise
        return found

    def next_sequence(self, stream: str, first: int, end: int) -> int:
        """Return the first sequence of [first, end) that has a message to read; `end` if none has."""
        subjects = self.settings.subjects
        return self.ask(lambda api: LeaderReader(api, stream, first, end, subjects).next_sequence())

    def cuts(
        self, found: Mapping[str, StreamStatus], ranges: Mapping[str, tuple[int, int]]
    ) -> dict[str, tuple[int, ...]]:
        """Return where to cut ranges of streams into tasks, for those not to be cut by sequences alone."""
        settings = self.settings
        if settings.max_records:
            return {}
        total = sum(end - start for start, end in ranges.values())
        cuts = {}
        for name, (start, end) in ranges.items():
            wanted = settings.min_partitions and share(settings.min_partitions, end - start, total)
            cuts[name] = find_cuts(
                found[name], start, end, wanted, functools.partial(self._left, found[name])
            )
        return {name: edges for name, edges in cuts.items() if edges}

    def _left(self, stream: StreamStatus, sequence: int) -> int | None:
        """Return how many messages a stream has from a sequence on, of those on the subject of the settings.

        None if the stream allows no direct gets, or if that is not known.
        """
        if not stream.allow_direct:
            return None
        filters = self.settings.subjects
        subject = filters[0] if len(filters) == 1 else ""
        try:
            return self.ask(lambda api: api.left(stream.name, sequence, subject))
        except (ApiError, ClientError):
            return None

    def _connected(self) -> JetStreamRequests:
        if self._api is None:
            self._api = JetStreamRequests(
                BlockingConnection.open(self.settings.address), self.settings.api_prefix
            )
        return self._api


def check_retention(settings: QuerySettings, stream: StreamStatus) -> None:
    """Raise OptionError if consumerDurable is missing for this stream, or not allowed with it."""
    if stream.retention != LIMITS and not settings.durable:
        raise OptionError(
            "consumerDurable",
            f"is missing: stream {stream.name} has {stream.retention} retention and keeps a message only "
            "until consumers have acknowledged it",
            "name the durable that this query acknowledges through; rows are then delivered at least once",
        )
    if stream.retention == LIMITS and settings.durable:
        raise OptionError(
            "consumerDurable",
            f"stream {stream.name} keeps its messages whoever reads them",
            "leave it out: this query's place is in its checkpoint",
        )
