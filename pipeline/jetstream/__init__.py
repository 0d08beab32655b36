"""The JetStream API over a blocking connection: facts of a stream, and ranges of it as record batches."""

from .api import JetStreamRequests
from .errors import DataLoss, ShortRead, UnknownStream
from .last import read_last
from .range import StreamRange, read
from .retries import Retries, may_pass
from .stream_status import StreamStatus

__all__ = [
    "DataLoss",
    "JetStreamRequests",
    "Retries",
    "ShortRead",
    "StreamRange",
    "StreamStatus",
    "UnknownStream",
    "may_pass",
    "read",
    "read_last",
]
