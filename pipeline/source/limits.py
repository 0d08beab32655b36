"""Spark's limits of a batch of a stream; for Spark 4.1, which has none yet, plain classes."""

from __future__ import annotations

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )

    LIMITED = True
except ModuleNotFoundError:  # Spark 4.1
    from dataclasses import dataclass

    LIMITED = False

    class ReadLimit:  # type: ignore[no-redef]
        """A limit of a batch."""

    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """No limit: everything there is."""

    @dataclass
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """At most so many rows."""

        max_rows: int

    @dataclass
    class ReadMinRows(ReadLimit):  # type: ignore[no-redef]
        """At least so many rows."""

        min_rows: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A reader that can stop at what was there when it started."""


# LIMITED: whether Spark tells a source the limits of a batch, and where `availableNow` ends.
__all__ = [
    "LIMITED",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
]
