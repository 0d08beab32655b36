"""Validation of a consumer's configuration before it is sent to a server."""

from __future__ import annotations

from ...cli.errors import UsageError
from ...cli.jetstream import is_name
from ...protocol import subject
from ...protocol.api.consumer import ConsumerConfig


def validate(config: ConsumerConfig) -> None:
    """Raise UsageError with all the mistakes in a configuration."""
    found = problems(config)
    if found:
        raise UsageError("Validation Failed: " + "; ".join(found))


def problems(config: ConsumerConfig) -> list[str]:
    """Return the mistakes in a configuration; empty if there are none."""
    found = []
    name = config.durable_name or config.name
    if not is_name(name):
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
