"""The flags of the benchmarks, and their values as one object.

Flags that a group shares with its commands may stand before or after the command's name.
`BenchmarkSettings.given` merges them: what stands nearer to the command takes precedence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ...cli.errors import UsageError
from ...cli.param import DURATION, SIZE, ExistingPath

STREAM, BUCKET, CONSUMER = "benchstream", "benchbucket", "nats-bench"
SECOND = 1_000_000_000
MOST_FAST_BATCH = 65535  # messages; the flow of a fast batch is a 16-bit number

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)
Decorator = Callable[[Any], Any]


@dataclass(frozen=True)
class BenchmarkSettings:
    """The values of all flags; those that a command does not have keep their defaults.

    Durations are in ns.
    """

    subject: str = ""
    clients: int = 1
    messages: int = 100_000
    progress: bool = True
    csv: str = ""
    size: int = 128
    sleep: int = 0
    multisubject: bool = False
    multisubject_max: int = 100_000
    multisubject_randomize: bool = False
    payload_file: str | None = None
    header: Sequence[str] = ()
    throughput: int = 0
    duration: int = 0
    stream: str = STREAM
    create: bool = False
    storage: str = "file"
    replicas: int = 1
    max_bytes: int = 1 << 30
    dedup: bool = False
    dedup_window: int = 120 * SECOND
    purge: bool = False
    persist_async: bool = False
    batch: int = 500
    max_outstanding_acks: int = 1
    consumer: str = CONSUMER
    acks: str = "explicit"
    ack: bool = True
    double_ack: bool = False
    filters: Sequence[str] = ()
    filter: str = ">"
    bucket: str = BUCKET
    history: int = 1
    randomize: int = 0

    @classmethod
    def given(cls) -> BenchmarkSettings:
        """Return the settings of the command that runs. Raises UsageError for values that do not fit."""
        context = click.get_current_context()
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in context.params.items() if name in known}
        typed = {name for name in values if _typed(context, name)}
        outer = context.parent
        while outer is not None:
            found = {name for name in values.keys() & outer.params.keys() - typed if _typed(outer, name)}
            values |= {name: outer.params[name] for name in found}
            typed |= found
            outer = outer.parent
        return cls(**values).checked()

    def checked(self) -> BenchmarkSettings:
        """Return these settings, with the number of messages that --duration means. Raises UsageError."""
        if self.size <= 0:
            raise UsageError("the message size must be more than 0 bytes", "see --size")
        if self.max_bytes <= 0:
            raise UsageError("the size of the stream or bucket must be more than 0 bytes", "see --maxbytes")
        if self.messages <= 0:
            raise UsageError("number of messages should be greater than 0", "see --msgs")
        if not self.duration:
            return self
        if self.duration < 0:
            raise UsageError("--duration cannot be negative")
        if self.throughput <= 0:
            raise UsageError("--duration requires --throughput to be set")
        messages = round(self.throughput * self.duration / SECOND)
        if messages <= 0:
            raise UsageError("--throughput and --duration together make no message")
        return BenchmarkSettings(**{**self.__dict__, "messages": messages})

    @property
    def payload(self) -> bytes:
        """The payload of each message: the file that was given, or `size` zero bytes."""
        return Path(self.payload_file).read_bytes() if self.payload_file else bytes(self.size)

    @property
    def subscribed(self) -> str:
        """The subject that has all messages."""
        return f"{self.subject}.*" if self.multisubject else self.subject


def _typed(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) == ParameterSource.COMMANDLINE


def decorate(options: Sequence[Decorator]) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds the options, in order of their help."""

    def apply(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


SUBJECT = click.argument("subject")
CLIENTS_HELP = "Number of clients. Each one is a process with a connection of its own."
COMMON = (
    click.option("--clients", type=click.IntRange(min=1), default=1, show_default=True, help=CLIENTS_HELP),
    click.option(
        "--msgs", "messages", type=int, default=100_000, show_default=True, help="Number of messages."
    ),
    click.option("--progress/--no-progress", default=True, help="Show progress bars; never shown in a pipe."),
    click.option("--csv", metavar="FILE", default="", help="Save the result of each client as CSV."),
    click.option("--size", type=SIZE, default="128B", show_default=True, help="Size of the messages."),
)
SLEEP = click.option("--sleep", type=DURATION, default=0, help="Wait this long after each message.")
MULTISUBJECT = click.option(
    "--multisubject", is_flag=True, help="Add the number of the message to the subject, as a token."
)
PAYLOAD = click.option("--payload", "payload_file", type=ExistingPath(dir_okay=False), help="Send a file.")
HEADER = click.option("-H", "--header", multiple=True, metavar="K:V", help="Add a header to the messages.")
MESSAGES = (
    MULTISUBJECT,
    click.option(
        "--multisubjectmax",
        "multisubject_max",
        type=click.IntRange(min=0),
        default=100_000,
        show_default=True,
        help="Number of different subjects; 0: no limit.",
    ),
    click.option(
        "--multisubjectrandomize",
        "multisubject_randomize",
        is_flag=True,
        help="Choose among the subjects at random.",
    ),
    PAYLOAD,
    HEADER,
)
THROUGHPUT = (
    click.option(
        "--throughput",
        type=int,
        default=0,
        metavar="RATE",
        help="Send about this many messages per second, over all clients; 0: as fast as possible.",
    ),
    click.option(
        "--duration",
        type=DURATION,
        default=0,
        help="Run for about this long instead of a number of messages; needs --throughput.",
    ),
)
JETSTREAM = (
    click.option("--stream", default=STREAM, show_default=True, help="Stream to create or use."),
    SLEEP,
)
PURGE = click.option("--purge", is_flag=True, help="Remove all messages first.")
STORE = (
    click.option(
        "--storage", type=click.Choice(["memory", "file"]), default="file", show_default=True, help="Storage."
    ),
    click.option("--replicas", type=int, default=1, show_default=True, help="Number of replicas."),
    click.option(
        "--maxbytes",
        "max_bytes",
        type=SIZE,
        default="1GB",
        show_default=True,
        help="Largest size of the stream or bucket.",
    ),
)
PUBLISH = (
    click.option("--create", is_flag=True, help="Create the stream first, if it does not exist."),
    *STORE,
    click.option("--dedup", is_flag=True, help="Give each message an ID, for deduplication."),
    click.option(
        "--dedupwindow",
        "dedup_window",
        type=DURATION,
        default="2m",
        show_default=True,
        help="Duplicate window of the stream.",
    ),
    PURGE,
    click.option(
        "--persistasync",
        "persist_async",
        is_flag=True,
        help="Create the stream with the persistence mode async; one replica only.",
    ),
)


def batch(text: str) -> Decorator:
    """Return the option --batch with this help."""
    return click.option("--batch", type=click.IntRange(min=1), default=500, show_default=True, help=text)


FILTER = click.option(
    "--filter", "filters", multiple=True, metavar="SUBJECT", help="Only messages of this subject."
)
CONSUME = (
    click.option(
        "--consumer",
        default=CONSUMER,
        show_default=True,
        help="Durable consumer. The default one is created; another one must exist.",
    ),
    batch("Messages asked for at once."),
    click.option(
        "--acks",
        type=click.Choice(["explicit", "none", "all"]),
        default="explicit",
        show_default=True,
        help="Acknowledgement policy of the consumer.",
    ),
    click.option(
        "--doubleack/--no-doubleack",
        "double_ack",
        default=False,
        help="Wait until the server confirms each acknowledgement.",
    ),
    FILTER,
    PURGE,
)
