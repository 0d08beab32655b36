"""The options of a write, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from ...client import ConnectionOptions
from ..options import QuerySettings
from .errors import SinkError

EFFECTIVELY_ONCE, EXACTLY_ONCE = "effectively-once", "exactly-once"


@dataclass(frozen=True)
class WriteOptions:
    """The options of one write; can be pickled. Spans are in seconds."""

    address: ConnectionOptions
    api_prefix: str
    stream: str  # "" when only subjects say it
    subject: str  # of all rows, "" when a column says it
    once: bool  # guarantee effectively-once: rows have message ids
    exactly: bool  # guarantee exactly-once: rows are stored in atomic batches, with marks
    marks: str  # the prefix of the subjects of these, "" without
    window: int  # messages in flight
    delivery_timeout: float  # until a row must be acknowledged
    retry_window: float  # for which a stream must remember message ids
    fail_on_forgotten_ids: bool  # whether to refuse rows whose ids a stream may have forgotten
    write_id: str  # names a batch write, "" for a new name each time

    @classmethod
    def of(cls, settings: QuerySettings) -> WriteOptions:
        """Return the options of these settings. Raises SinkError for two that contradict each other."""
        option = settings.values.get
        found = cls(
            address=settings.address,
            api_prefix=settings.api_prefix,
            stream=settings.stream,
            subject=option("subject") or "",
            once=option("guarantee") == EFFECTIVELY_ONCE,
            exactly=option("guarantee") == EXACTLY_ONCE,
            marks=option("markSubject") or "",
            window=settings.values["window"],
            delivery_timeout=settings.values["deliveryTimeout"],
            retry_window=settings.values["retryWindow"],
            fail_on_forgotten_ids=settings.values["failOnForgottenIds"],
            write_id=option("writeId") or "",
        )
        if found.once and found.delivery_timeout > found.retry_window:
            raise SinkError(
                f"deliveryTimeout ({found.delivery_timeout:g} s) is longer than retryWindow "
                f"({found.retry_window:g} s): a row could be sent again when its id is forgotten"
            )
        if found.exactly != bool(found.marks):
            raise SinkError(
                "guarantee exactly-once and markSubject, where its marks are stored, need each other"
            )
        if found.exactly and not found.stream:
            raise SinkError(
                "guarantee exactly-once needs the option stream: one stream has all rows and marks"
            )
        return found
