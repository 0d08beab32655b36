"""Spark's long errors as one line, with Spark's own words."""

from __future__ import annotations

import pytest
from pyjs.pipeline.declared import failure

STREAM = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: \
Task 0 in stage 0.0 failed 1 times, most recent failure: org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "/x/worker.py", line 1, in main
    process()
  File "/x/range.py", line 3, in read
    raise ShortRead(stream)
pyjs.pipeline.jetstream.errors.ShortRead: stream ORDERS: sequences 1 to 9 could not be read: gone

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""
CHAIN = """\
An error occurred while calling o45.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.X(Y.scala:1)
Caused by: java.util.concurrent.ExecutionException: java.net.ConnectException: refused
\tat a.b(C.java:2)
Caused by: java.net.ConnectException: Connection refused to db:5432
\t... 12 more
Caused by: java.lang.NullPointerException
\t... 13 more
"""
UDF = """\
Job aborted due to stage failure
Traceback (most recent call last):
  File "a.py", line 1, in f
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 2, in f
    raise ValueError("amount is 0")
ValueError: amount is 0
"""


@pytest.mark.parametrize(
    ("text", "root"),
    [
        (STREAM, "stream ORDERS: sequences 1 to 9 could not be read: gone"),
        (CHAIN, "ConnectException: Connection refused to db:5432"),
        (UDF, "amount is 0"),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `ordrs` cannot be found. SQLSTATE: 42P01\n'Project",
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `ordrs` cannot be found.",
        ),
        ("java.lang.RuntimeException: it broke", "it broke"),
        ("", "it failed without a word"),
    ],
)
def test_the_root_of_an_error(text: str, root: str) -> None:
    assert failure.root(text) == root


def test_a_root_is_short() -> None:
    assert len(failure.root("x" * 9999)) == failure.LONGEST


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make sure", "io.delta:delta-spark"),
        ("java.sql.SQLException: No suitable driver", "org.postgresql:postgresql"),
        ("Caused by: java.lang.ClassNotFoundException: com.mysql.cj.jdbc.Driver", "jars: [FILE]"),
        ("[PATH_ALREADY_EXISTS] Path file:/out already exists", "mode: overwrite"),
        (
            "An error occurred while calling o67.count.\n"
            ": java.lang.NoSuchMethodError: 'void org.apache.spark.sql.execution.LogicalRDD.<init>(…)'\n"
            "\tat org.apache.spark.sql.delta.util.StateCache$CachedDS.getDF(StateCache.scala:110)",
            "is for another Spark",
        ),
        (
            ": java.lang.IncompatibleClassChangeError: class org.apache.iceberg.spark.source.SparkView",
            "is for another Spark",
        ),
        (
            "[STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY] The checkpoint location c/offsets should be",
            "remove this checkpoint",
        ),
    ],
)
def test_what_to_do_is_said_where_it_is_known(text: str, hint: str) -> None:
    assert hint in failure.describe(RuntimeError(text))[1]


def test_the_cause_of_an_error_is_looked_at() -> None:
    error = RuntimeError("Job aborted")
    error.__cause__ = OSError("java.sql.SQLException: No suitable driver")
    assert "packages" in failure.describe(error)[1]
