"""The last message of each subject of a stream, as Arrow record batches: a bucket as a table.

Promises: every subject that has a message when the reading ends is returned once, with a message that was its
last one when it was read. A consumer delivers first what is last when it is made. A subject that gets a new
message before the old one was delivered is delivered with the new one, since the reading goes on until
nothing is left; what was returned already is then left out. For that all subjects are kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from ...client import BlockingConnection, ClientError, ConnectionLost, NoResponders, NoServers
from .api import JetStreamRequests
from .columns import MessageColumns
from .consumer import ConsumerReader
from .errors import DataLoss, ShortRead
from .retries import Retries, may_pass

NO_END = 1 << 62  # beyond every sequence


def read_last(
    connection: BlockingConnection,
    api: JetStreamRequests,
    stream: str,
    subjects: tuple[str, ...],
    *,
    batch: int,
    domain: str,
    columns: Sequence[str],
    tolerate_loss: bool,
    retries: Retries,
) -> Iterator[pa.RecordBatch]:
    """Yield the last message of each of the subjects, at most `batch` rows at a time.

    subjects: with wildcards; none: all subjects of the stream

    Raises ShortRead, ApiError, AuthorizationError, NotPermitted; DataLoss for damaged messages, any of which
    may be the last of its subject, unless `tolerate_loss`.
    """
    returned: set[str] = set()
    done = False
    while not done:
        try:
            consumer = ConsumerReader(api, stream, None, NO_END, subjects or (">",), batch)
            consumer.create()
            with consumer:
                for message_range in consumer.ranges():
                    retries.succeeded()
                    rows = _new(message_range.rows, returned)
                    record_batch = rows.batch(columns, stream, domain)
                    for start in range(0, len(rows), batch):
                        yield record_batch.slice(start, batch)
            lost = api.stream(stream).lost
            done = True
        except Exception as error:
            if not may_pass(error):
                raise
            if not retries.again():
                raise ShortRead(stream, 1, NO_END, str(error)) from error
            if isinstance(error, ClientError) and not isinstance(error, NoResponders):
                with suppress(ConnectionLost, NoServers):
                    connection.reopen()
    if lost and not tolerate_loss:
        raise DataLoss(stream, min(lost), max(lost), "the server found them damaged")


def _new(rows: MessageColumns, returned: set[str]) -> MessageColumns:
    """Return the last row of each subject that was not returned yet, and note these."""
    last = {subject: row for row, subject in enumerate(rows.subjects.to_pylist())}  # type: ignore[union-attr]
    chosen = sorted(row for subject, row in last.items() if subject not in returned)
    returned.update(last)
    return rows if len(chosen) == len(rows) else rows.chosen(chosen)
