"""Masking: columns are replaced by hashes, by a text, or by null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...client.errors import SecretError
from . import hashing
from .decoding import StepError
from .table_steps import SHORTEST_SECRET, Masking

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def masked(frame: DataFrame, masks: Mapping[str, Masking]) -> DataFrame:
    """Return the table with each column of `masks` replaced; `a.b` is the field b of the struct a.

    Raises StepError for a column that does not exist, and for a secret that cannot be had or is short.
    """
    from pyspark.sql import functions

    for column, how in masks.items():
        name, dot, field = column.partition(".")
        if name not in frame.columns:
            raise StepError(f"mask: there is no column {name}", f"there are {', '.join(frame.columns)}")
        value = functions.col(f"`{name}`")
        if dot:
            frame = frame.withColumn(name, value.withField(field, _replaced(value[field], how)))
        else:
            frame = frame.withColumn(name, _replaced(value, how))
    return frame


def _replaced(value: Column, how: Masking) -> Column:
    from pyspark.sql import functions

    text = value.cast("string")
    if how.method == "null":
        return functions.nullif(value, value)  # of the column's own type
    if how.method == "redact":
        shown = functions.lit(how.text)
        if how.last:
            end = functions.concat(shown, functions.right(text, functions.lit(how.last)))
            shown = functions.when(functions.length(text) > how.last, end).otherwise(shown)
        return functions.when(value.isNotNull(), shown)
    _require(str(how.secret))
    hashed: Column = hashing.hasher(how.method, str(how.secret))(text)
    return hashed


def _require(reference: str) -> None:
    """Raise StepError if the secret is not to be had here, or could be guessed."""
    try:
        found = hashing.key(reference)
    except SecretError as error:
        raise StepError(str(error)) from None
    if len(found) < SHORTEST_SECRET:
        raise StepError(
            f"mask: the secret of {reference} has fewer than {SHORTEST_SECRET} bytes, and can be guessed",
            "openssl rand -hex 32 makes one",
        )
