"""Every option of the data source, as data for settings, errors and documentation alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import positions, values

READ, STREAM, WRITE = "read", "stream", "write"
READERS = frozenset({READ, STREAM})
ALL = frozenset({READ, STREAM, WRITE})


@dataclass(frozen=True)
class Option:
    """An option.

    uses: whether it is for batch reads, stream reads, writes
    kafka: the name of Kafka's source for it, if that differs
    default: the text of the value, empty if there is none
    unset: what applies when it is not given
    """

    name: str
    kind: Callable[[str], Any]
    uses: frozenset[str]
    meaning: str
    default: str = ""
    unset: str = ""
    kafka: str = ""


CONNECTION = (
    Option(
        "servers",
        values.words,
        ALL,
        "URLs of servers, `nats://host:port` or `tls://host:port`, separated by commas",
        unset="the context's",
        kafka="kafka.bootstrap.servers",
    ),
    Option(
        "context",
        values.text,
        ALL,
        "a context of `pyjs` or `nats`, or the path of its file; read where the query is started. Other "
        "options override it",
    ),
    Option(
        "creds",
        values.text,
        ALL,
        "path of a credentials file on the machines that connect, "
        "`env://NAME` for a variable with its text, or `nsc://…`",
    ),
    Option(
        "nkey",
        values.secret,
        ALL,
        "path of a file with an nkey seed on the machines that connect, or `env://NAME`",
    ),
    Option("user", values.secret, ALL, "user name"),
    Option(
        "password",
        values.secret,
        ALL,
        "`env://NAME` or `file://PATH` on the machines that connect, or the password itself",
    ),
    Option(
        "token",
        values.secret,
        ALL,
        "`env://NAME` or `file://PATH` on the machines that connect, or the token itself",
    ),
    Option(
        "tlsCa",
        values.text,
        ALL,
        "path of a file with the certificate authorities to trust",
        unset="the system's",
    ),
    Option("tlsCert", values.text, ALL, "path of a client certificate"),
    Option("tlsKey", values.text, ALL, "path of the client certificate's key"),
    Option("tlsFirst", values.flag, ALL, "start TLS before the server sends INFO", default="false"),
    Option("inboxPrefix", values.literal, ALL, "prefix of the subjects for answers", default="_INBOX"),
    Option("domain", values.stream, ALL, "JetStream domain", unset="that of the server"),
    Option(
        "jsApiPrefix",
        values.literal,
        ALL,
        "prefix of the JetStream API, if an import maps it to another one",
        default="$JS.API",
    ),
    Option("timeout", values.seconds, ALL, "how long a connection or a request may take", default="5s"),
)

READING = (
    Option(
        "stream",
        values.stream,
        ALL,
        "the stream to read; for writes, the stream that must store the rows",
        kafka="subscribe",
    ),
    Option("streams", values.streams, READERS, "several streams, separated by commas", kafka="subscribe"),
    Option(
        "streamPattern",
        values.pattern,
        READERS,
        "a regular expression for whole names; a streaming query also reads streams that are created later",
        kafka="subscribePattern",
    ),
    Option(
        "bucket",
        values.stream,
        READERS,
        "the key-value bucket to read, instead of a stream; adds the columns `key` and `operation`",
    ),
    Option(
        "lastPerSubject",
        values.flag,
        frozenset({READ}),
        "read only the last message of each subject, of a bucket the present value of each key; "
        "one task for each stream",
        default="false",
    ),
    Option(
        "subjects",
        values.subjects,
        READERS,
        "only messages on these subjects, separated by commas; with wildcards",
    ),
    Option(
        "startingOffsets",
        positions.sequences,
        READERS,
        '`earliest`, `latest` or `{"ORDERS": 1234}` (sequences; -2: earliest, -1: latest); '
        "for a new query only. `earliest` is whatever the stream begins with when it is read",
        unset="earliest for batches, latest for streams",
    ),
    Option(
        "startingOffsetsByTimestamp",
        positions.times,
        READERS,
        'a time for each stream: `{"ORDERS": "2026-11-22T08:00:00Z"}`, or milliseconds; '
        "overrides `startingOffsets`",
    ),
    Option(
        "startingTimestamp",
        positions.moment,
        READERS,
        "a time for all streams, as text or in milliseconds; overrides both",
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        values.one_of("error", "latest"),
        READERS,
        "what happens if a stream has no message at or after its time: `error`, or "
        "`latest` to start at its end",
        default="error",
    ),
    Option(
        "endingOffsets",
        positions.sequences,
        frozenset({READ}),
        '`latest` or `{"ORDERS": 1234}` (exclusive; -1: latest)',
        default="latest",
    ),
    Option(
        "endingOffsetsByTimestamp",
        positions.times,
        frozenset({READ}),
        "a time for each stream, exclusive; overrides `endingOffsets`",
    ),
    Option(
        "endingTimestamp",
        positions.moment,
        READERS,
        "a time for all streams, exclusive; overrides both. A streaming query ends there if its trigger is "
        "availableNow, and ignores it otherwise",
    ),
    Option(
        "minPartitions",
        values.count,
        READERS,
        "split a read into this many tasks, or a few more",
        unset="tasks of about 100,000 messages or 64 MB",
    ),
    Option(
        "maxRecordsPerPartition",
        values.count,
        READERS,
        "most sequences that one task reads; the stream is then cut by sequences alone",
    ),
    Option(
        "failOnDataLoss",
        values.flag,
        READERS,
        "whether to fail, or warn and continue, if messages were removed before they were read or a stream "
        "was created again. Messages that were deleted one by one do not count, nor what left the front "
        "before a start at `earliest` was read",
        default="true",
    ),
    Option("includeHeaders", values.flag, READERS, "add a column `headers`", default="false"),
    Option("batchRows", values.count, READERS, "rows of an Arrow record batch", default="10000"),
    Option(
        "fetchRetries",
        values.tally,
        READERS,
        "how often in a row planning, opening or reading is tried again after a failure that may pass: "
        "a lost connection, no server, no answer, no leader",
        default="3",
        kafka="fetchOffset.numRetries",
    ),
    Option(
        "fetchRetryInterval",
        values.seconds,
        READERS,
        "the wait before each new attempt",
        default="1s",
        kafka="fetchOffset.retryIntervalMs",
    ),
    Option(
        "maxOffsetsPerTrigger",
        values.count,
        frozenset({STREAM}),
        "most sequences of a batch; shared among streams in proportion to what each has waiting",
    ),
    Option(
        "minOffsetsPerTrigger",
        values.count,
        frozenset({STREAM}),
        "start a batch only when this many sequences wait, or `maxTriggerDelay` is over",
    ),
    Option(
        "maxTriggerDelay",
        values.seconds,
        frozenset({STREAM}),
        "longest wait for `minOffsetsPerTrigger`",
        default="15m",
    ),
    Option(
        "consumerDurable",
        values.stream,
        frozenset({STREAM}),
        "the durable consumer that acknowledges a work-queue or interest stream; required for these",
        kafka="kafka.group.id",
    ),
)

WRITING = (
    Option(
        "subject",
        values.literal,
        frozenset({WRITE}),
        "the subject that all rows are published to",
        unset="the column `subject`",
        kafka="topic",
    ),
    Option(
        "guarantee",
        values.one_of("at-least-once", "effectively-once", "exactly-once"),
        frozenset({WRITE}),
        "whether a row that is sent again is stored again. `effectively-once` prevents it by message ids; it "
        "needs rows that come in the same order again, and a stream whose duplicate window is at least "
        "`retryWindow`. `exactly-once` prevents it by marks that are stored with the rows, without a window; "
        "it needs the same order, `markSubject`, and a stream that takes atomic batches",
        default="at-least-once",
    ),
    Option(
        "markSubject",
        values.literal,
        frozenset({WRITE}),
        "exactly-once: the prefix of the subjects of the marks, which the stream must store: "
        "`<markSubject>.<query or writeId>.<partition>`",
    ),
    Option(
        "retryWindow",
        values.seconds,
        frozenset({WRITE}),
        "effectively-once: how long after its first attempt a batch may be written again, because a task is "
        "retried or a query is restarted; the stream's duplicate window must not be shorter",
        default="10m",
    ),
    Option(
        "failOnForgottenIds",
        values.flag,
        frozenset({WRITE}),
        "effectively-once: whether to fail when rows that may have been written before would be written "
        "after the stream's duplicate window, and could be stored twice",
        default="true",
    ),
    Option(
        "writeId",
        values.text,
        frozenset({WRITE}),
        "effectively-once: the name of a batch write; written again under the same name, its rows have the "
        "same message ids. In `foreachBatch`: query and batch id",
        unset="a new name for each write",
    ),
    Option(
        "window",
        values.count,
        frozenset({WRITE}),
        "messages of a task that are published and not acknowledged yet. A server accepts up to 10,000 from "
        "all writers of a stream before it tells them to try again",
        default="2000",
        kafka="kafka.max.in.flight.requests.per.connection",
    ),
    Option(
        "deliveryTimeout",
        values.seconds,
        frozenset({WRITE}),
        "how long a row may stay unacknowledged before its task fails, whatever the server does; it is sent "
        "again after a quarter of this time, and when a lost connection is back",
        default="2m",
        kafka="kafka.delivery.timeout.ms",
    ),
)

OPTIONS: tuple[Option, ...] = (*CONNECTION, *READING, *WRITING)

# Options that Spark itself adds to a writer's.
SPARKS = frozenset({"checkpointlocation", "queryname", "outputmode"})

# The names of other sources, in lower case, and what to use here.
FOREIGN = {
    "path": "name the stream with option stream",
    "assign": "use streams: a stream has no partitions to assign",
    "groupidprefix": "leave it out: offsets are in the checkpoint, nothing is shared",
    "maxfetchpertask": "use maxRecordsPerPartition",
    "kafkaconsumer.polltimeoutms": "use timeout",
    "maxbytespertrigger": "use maxOffsetsPerTrigger: a stream does not tell the bytes between two sequences",
    "nats.host": "use servers",
    "nats.port": "use servers",
    "nats.credential.file": "use creds",
    "nats.stream.name": "use stream",
    "nats.stream.subjects": "use subjects",
    "nats.pull.subscription.stream.name": "use stream",
    "nats.pull.subscription.durable.name": "leave it out, or use consumerDurable for a work queue",
    **{option.kafka.lower(): f"use {option.name}" for option in OPTIONS if option.kafka},
    "subscribe": "use stream or streams",
}
