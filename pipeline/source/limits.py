"""Spark's words for how much a batch of a stream takes; for Spark 4.1, which has none yet, plain classes."""

from __future__ import annotations

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ModuleNotFoundError:  # Spark 4.1
    from dataclasses import dataclass

    class ReadLimit:  # type: ignore[no-redef]
        """How much a batch takes."""

    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """All there is."""

    @dataclass
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """So many rows at most."""

        max_rows: int

    @dataclass
    class ReadMinRows(ReadLimit):  # type: ignore[no-redef]
        """So many rows at least."""

        min_rows: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A reader that can stop at what was there when it started."""


__all__ = ["ReadAllAvailable", "ReadLimit", "ReadMaxRows", "ReadMinRows", "SupportsTriggerAvailableNow"]
