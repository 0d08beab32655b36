"""The JetStream API over a blocking link: what a stream is, and ranges of it as Arrow record batches."""

from .api import JetStreamRequests
from .errors import DataLoss, ShortRead, UnknownStream
from .range import StreamRange, read
from .stream_facts import StreamFacts

__all__ = [
    "DataLoss",
    "JetStreamRequests",
    "ShortRead",
    "StreamFacts",
    "StreamRange",
    "UnknownStream",
    "read",
]
