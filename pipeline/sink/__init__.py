"""Rows to JetStream: batch and streaming writes, published with acknowledgements and a window in flight."""

from .errors import BadRow, RowRejected, SinkError, Unacknowledged

__all__ = ["BadRow", "RowRejected", "SinkError", "Unacknowledged"]
