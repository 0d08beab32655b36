"""Writing to databases by JDBC: appended, or by a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...client import secret
from . import drivers, upsert
from .decoding import StepError
from .document import JdbcSink
from .formats import texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter


TABLE_HINT = "make it, with a PRIMARY KEY, or give options: {createTableColumnTypes: 'NAME VARCHAR(200)'}"


def append(frame: DataFrame, sink: JdbcSink, mode: str) -> None:
    """Write a table as one batch, in one of Spark's modes."""
    _writer(frame, sink, sink.table).mode(mode).save()


def write_by_key(frame: DataFrame, sink: JdbcSink, pipeline: str, name: str) -> None:
    """Write a table so that each row replaces the one with its key: all of them, or none.

    pipeline and name: of the sink, for its staging table

    Raises StepError for keys that are null or not unique, and what JDBC raises.
    """
    if sink.newest:
        frame = upsert.newest(frame, sink.key, sink.newest)
    staging = upsert.staging_table(sink.table, pipeline, name)
    with upsert.connected(frame, sink.url, _options(sink)) as connection:
        if not upsert.exists(connection, sink.table):
            _create(frame, sink, connection)
        there = {column.lower(): column for column in upsert.columns(connection, sink.table)}
        lacking = [column for column in (*frame.columns, *sink.key) if column.lower() not in there]
        if lacking:
            hint = f"it has {', '.join(there.values())}"
            raise StepError(f"table {sink.table} has no column {lacking[0]}", hint)
        names = {column: there[column.lower()] for column in frame.columns}
        keys = [there[column.lower()] for column in sink.key]
        moving = upsert.Upsert(sink.url, sink.table, staging, list(names.values()), keys)
        if upsert.exists(connection, staging):  # of a batch that was killed
            upsert.execute(connection, moving.drop())
        upsert.execute(connection, moving.create())
        _writer(frame.withColumnsRenamed(names), sink, staging).mode("append").save()
        upsert.require_keys(connection, moving)
        upsert.execute(connection, moving.move(), moving.drop())


def _create(frame: DataFrame, sink: JdbcSink, connection: upsert.Connection) -> None:
    """Have Spark make the table, and give it an index without which two rows could have one key.

    Raises StepError if Spark cannot: it makes none in SQLite, and texts of any length have no index in some.
    """
    try:
        _writer(frame.limit(0), sink, sink.table).mode("append").save()
        there = {column.lower(): column for column in upsert.columns(connection, sink.table)}
        keys = [there[column.lower()] for column in sink.key if column.lower() in there]
        upsert.execute(connection, upsert.Upsert(sink.url, sink.table, "", (), keys).index())
    except Exception as error:
        if upsert.exists(connection, sink.table):
            upsert.execute(connection, f"DROP TABLE {sink.table}")
        said = str(getattr(error, "java_exception", error)).splitlines()[0]
        raise StepError(
            f"there is no table {sink.table}, and Spark cannot make it: {said}", TABLE_HINT
        ) from error


def _writer(frame: DataFrame, sink: JdbcSink, table: str) -> DataFrameWriter:
    given = {"url": sink.url, "dbtable": table, **_options(sink)}
    return frame.write.format("jdbc").options(**given)


def _options(sink: JdbcSink) -> dict[str, str]:
    """Return the options for JDBC, with secrets and the driver."""
    found = {
        "user": secret.resolve("user", sink.user),
        "password": secret.resolve("password", sink.password),
        "driver": sink.driver or drivers.usual(sink.url),
    }
    kept = {key: text for key, text in found.items() if text}
    if sink.url.startswith("jdbc:sqlite:"):
        kept["numPartitions"] = "1"  # SQLite has one writer at a time
    return {**kept, **texts(sink.options)}
