"""The JetStream API over a blocking connection: facts of a stream, and ranges of it as record batches."""

from .api import JetStreamRequests
from .errors import DataLoss, ShortRead, UnknownStream
from .range import StreamRange, read
from .stream_status import StreamStatus

__all__ = [
    "DataLoss",
    "JetStreamRequests",
    "ShortRead",
    "StreamRange",
    "StreamStatus",
    "UnknownStream",
    "read",
]
