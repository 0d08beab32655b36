"""The JetStream API over a blocking link: what a stream is, and ranges of it as Arrow record batches."""

from .api import JetStreamRequests
from .errors import DataLoss, ShortRead, UnknownStream
from .facts import StreamFacts
from .range import StreamRange, read

__all__ = [
    "DataLoss",
    "JetStreamRequests",
    "ShortRead",
    "StreamFacts",
    "StreamRange",
    "UnknownStream",
    "read",
]
