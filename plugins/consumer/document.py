"""Configuration documents of consumers: reading `--config`, writing `--output`, judging `--validate`.

A document is a bare consumer configuration or the whole `consumer info --json`, JSON in either case.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from ...cli.errors import CliError
from ...protocol import subject
from ...protocol.api.consumer import ConsumerConfig
from ...protocol.errors import ApiError
from ..stream.options import RESERVED_METADATA

FORBIDDEN = " \t\r\n\f.*>/\\"


def read(path: str) -> ConsumerConfig:
    """The configuration in a file. Raises CliError naming the file and what is wrong in it."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror}", "see --config") from None
    except ValueError as error:
        raise CliError(f"{path} is not JSON: {error}") from None
    if isinstance(document, dict) and isinstance(document.get("config"), dict):
        document = document["config"]
    try:
        return without_reserved(ConsumerConfig.from_json(document))
    except ApiError as error:
        raise CliError(f"{path}: {error.description}") from None


def without_reserved(config: ConsumerConfig) -> ConsumerConfig:
    """The configuration without the metadata that servers write into it."""
    config.metadata = {
        key: value for key, value in config.metadata.items() if not key.startswith(RESERVED_METADATA)
    }
    return config


def write(path: str, config: ConsumerConfig) -> None:
    """Write a configuration, mode 0600."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text(config))


def text(config: ConsumerConfig) -> str:
    """A configuration as JSON, two spaces deep."""
    return json.dumps(config.to_json(), indent=2, ensure_ascii=False)


def judge(config: ConsumerConfig) -> None:
    """Raise CliError with everything that is wrong with a configuration before a server has seen it."""
    found = problems(config)
    if found:
        raise CliError("Validation Failed: " + "; ".join(found))


def problems(config: ConsumerConfig) -> list[str]:
    """What is wrong with a configuration; empty if nothing is."""
    found = []
    name = config.durable_name or config.name
    if any(character in FORBIDDEN for character in name):
        found.append(f'"{name}" is not a valid consumer name: it has blanks, dots, wildcards or slashes')
    if config.durable_name and config.name and config.durable_name != config.name:
        found.append("the durable name and the name differ")
    found += [f'"{each}" is not a valid subject' for each in config.filters if not subject.is_valid(each)]
    if config.filter_subject and config.filter_subjects:
        found.append("one filter subject and several cannot be combined")
    if not config.deliver_subject:
        if config.rate_limit_bps:
            found.append("rate limits are only possible on push Consumers")
        if config.idle_heartbeat:
            found.append("idle heartbeats are only possible on push Consumers")
        if config.flow_control:
            found.append("flow control is only possible on push Consumers")
        if config.deliver_group:
            found.append("a delivery group is only possible on push Consumers")
    elif not subject.is_literal(config.deliver_subject):
        found.append(f'"{config.deliver_subject}" cannot be delivered to')
    if config.backoff and 0 < config.max_deliver <= len(config.backoff) - 1:
        found.append("there are more waits in the backoff than deliveries")
    return found
