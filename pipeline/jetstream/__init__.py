"""The JetStream API over a blocking link: what a stream is, and ranges of it as Arrow record batches."""

from .api import Api
from .errors import DataLoss, ShortRead, UnknownStream
from .facts import Facts
from .range import Range, read

__all__ = ["Api", "DataLoss", "Facts", "Range", "ShortRead", "UnknownStream", "read"]
