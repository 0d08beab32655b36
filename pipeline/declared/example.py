"""A document to start from, with comments, made from a few answers."""

from __future__ import annotations

import json
from dataclasses import dataclass

FORMATS = ("parquet", "json", "csv", "delta", "iceberg", "console", "jetstream")
TRIGGERS = ("availableNow", "10s", "batch")


@dataclass(frozen=True)
class ExampleAnswers:
    """The answers to the questions of `pyjs pipeline init`."""

    name: str = "orders"
    stream: str = "ORDERS"
    subjects: str = ""
    format: str = "parquet"
    target: str = "out"  # a folder, or the subject of a stream
    trigger: str = "availableNow"
    connection: tuple[tuple[str, str], ...] = ()


def text(answers: ExampleAnswers) -> str:
    """Return the document, which is valid as it is."""
    return "\n".join(
        [
            _head(answers),
            _connection(answers),
            _source(answers),
            TRANSFORMS,
            _sink(answers),
            _session(answers),
        ]
    )


def _head(answers: ExampleAnswers) -> str:
    return f"""\
# A pipeline of pyjs. Check it with 'pyjs pipeline check', run it with 'pyjs pipeline run'.
name: {answers.name}

# When batches run: availableNow (what has come since the last run, then end), how often one begins
# ("10s", until stopped), or batch (the whole stream once, without a checkpoint).
trigger: {answers.trigger}

# Where Spark keeps how far it is. Without it a folder of pyjs' own; on a cluster one that all machines reach.
# checkpoint: s3a://bucket/checkpoints/{answers.name}
"""


def _connection(answers: ExampleAnswers) -> str:
    if not answers.connection:
        return """\
# Where to connect: without it, as 'pyjs' does (--server, --context, the selected context).
# connection:
#   servers: nats://127.0.0.1:4222
#   creds: spark.creds            # secrets by reference: env://NAME, file://PATH
"""
    lines = "\n".join(f"  {key}: {json.dumps(value)}" for key, value in answers.connection)
    return f"connection:\n{lines}\n"


def _source(answers: ExampleAnswers) -> str:
    subjects = json.dumps(answers.subjects) if answers.subjects else ""
    filtered = f"    subjects: {subjects}" if subjects else '    # subjects: "orders.>"'
    late = "" if answers.trigger == "batch" else LATE
    return f"""\
# Tables of messages: subject, data (bytes), stream, sequence, timestamp, size, domain. Every option of the
# data source can be given here.
sources:
  messages:
    stream: {answers.stream}
{filtered}
    # domains: [leaf1, leaf2]     # the stream of this name in several domains, as one table
    startingOffsets: earliest
{late}"""


LATE = """\
    # maxOffsetsPerTrigger: 100000
    # watermark: {column: timestamp, delay: 10 minutes}
"""

TRANSFORMS = """\
# Tables made of those above, by SQL or by a Python function that takes DataFrames and returns one.
transforms:
  texts:
    sql: |
      SELECT subject, stream, sequence, timestamp, CAST(data AS STRING) AS data
      FROM messages
  # counts:                       # with the watermark above
  #   sql: SELECT window.start AS minute, subject, count(*) AS messages FROM messages
  #        GROUP BY window(timestamp, '1 minute'), subject
  # cleaned:
  #   python: transforms.py:clean # def clean(texts): return texts.where("data <> ''")
  # items:                        # payloads as columns, and what every row should meet
  #   from: messages
  #   decode: {format: json, schema: "item STRING, cents BIGINT", keep: [stream, sequence], otherwise: drop}
  #   expect:
  #     priced: {sql: cents > 0, otherwise: drop}
  #   mask:
  #     item: {method: redact, last: 2}
"""


def _sink(answers: ExampleAnswers) -> str:
    head = f"""\
# Where rows go: parquet, json, csv, delta, iceberg, jdbc, console, jetstream, or any other format of Spark.
# Each sink has a checkpoint of its own. The table deadLetters has what was dropped.
sinks:
  # rejected: {{from: deadLetters, format: json, path: rejected}}
  main:
    from: texts
    format: {answers.format}
"""
    if answers.format == "console":
        return head + "    rows: 20\n"
    if answers.format == "jetstream":
        return head + f"    subject: {answers.target}   # without it, the column subject\n"
    if answers.format == "iceberg":
        head += f"    table: lake.{answers.name.replace('-', '_')}.texts   # catalog, namespace, table\n"
        head += f"    warehouse: {json.dumps(answers.target)}   # the catalog's folder\n"
    else:
        head += f"    path: {json.dumps(answers.target)}\n"
    more = "    # partitionBy: [subject]\n"
    if answers.trigger == "batch":
        more += "    mode: overwrite\n"
    return head + more


def _session(answers: ExampleAnswers) -> str:
    lead = OWN_PACKAGES if answers.format in {"delta", "iceberg"} else ""
    return f"""\
{lead}# spark:
#   master: local[4]              # or spark://HOST:7077, yarn, k8s://…
#   packages: [GROUP:NAME:VERSION]
#   conf: {{spark.driver.memory: 4g}}
"""


OWN_PACKAGES = """\
# The package of this format is chosen by the installed Spark, and comes from Maven at the first run.
"""
