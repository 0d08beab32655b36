"""Dead letters as messages: the payload as it came; the header says what was wrong, and where it was.

The fields of the header are those of pyjs-server's dead letters, with the step instead of a consumer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PREFIX = "Pyjs-Dead-Letter-"


def messages(letters: DataFrame) -> DataFrame:
    """Return the columns `data` and `headers` of dead letters, for the sink `jetstream`."""
    from pyspark.sql import functions

    fields = {
        "Reason": functions.regexp_replace("reason", "[\\r\\n]+", " "),
        "Step": functions.col("step"),
        "Stream": functions.col("stream"),
        "Sequence": functions.col("sequence").cast("string"),
        "Subject": functions.col("subject"),
        "Time": functions.date_format("timestamp", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"),
    }
    parts = [part for name, value in fields.items() for part in (functions.lit(PREFIX + name), value)]
    known = functions.map_filter(functions.create_map(*parts), lambda _, value: value.isNotNull())
    return letters.select("data", known.alias("headers"))
