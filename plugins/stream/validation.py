"""Validation of a stream's configuration before it is sent to a server."""

from __future__ import annotations

from ...cli.errors import UsageError
from ...cli.jetstream import is_name
from ...protocol import subject
from ...protocol.api.stream import StreamConfig

SCHEMA = "io.nats.jetstream.api.v1.stream_configuration"


def validate(config: StreamConfig) -> None:
    """Raise UsageError with all the mistakes in a configuration."""
    found = problems(config)
    if found:
        raise UsageError("Validation Failed: " + "; ".join(found))


def validate_name(name: str) -> None:
    """Raise UsageError for a name that would change the API subject it becomes part of."""
    if not name:
        raise UsageError("the configuration has no name", "give it as <STREAM>")
    if not is_name(name):
        raise UsageError(
            f'could not create Stream: "{name}" is not a valid stream name',
            "a name has no blanks, dots, wildcards or slashes",
        )


def problems(config: StreamConfig) -> list[str]:
    """Return the mistakes in a configuration; empty if there are none."""
    found = []
    name = config.name
    if not name:
        found.append("a Stream needs a name")
    elif not is_name(name):
        found.append(f'"{name}" is not a valid stream name: it has blanks, dots, wildcards or slashes')
    found += [f'"{each}" is not a valid subject' for each in config.subjects if not subject.is_valid(each)]
    if config.mirror is not None and config.subjects:
        found.append("mirrors cannot listen for messages on subjects")
    if config.mirror is not None and config.sources:
        found.append("a Stream cannot be a mirror and have sources")
    if not 1 <= max(1, config.num_replicas) <= 5:
        found.append("replicas must be between 1 and 5")
    if config.max_age and config.duplicate_window > config.max_age:
        found.append("the duplicate window cannot be longer than the maximum age")
    if ">" in config.subjects and not config.no_ack:
        found.append('the subject ">" needs --no-ack')
    return found
