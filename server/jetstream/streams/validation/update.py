"""check_update: what of a stream's configuration may change.

Promises: returns the configuration to apply, defaults filled in and sealing carried through, or raises
ApiError with the reference's code. Never changes either of the configurations it is given.
"""

from __future__ import annotations

from dataclasses import replace

from .....protocol.api.stream import StreamConfig
from .....protocol.errors import api_error
from ....slices import Steps, at_once
from .context import ValidationContext, invalid
from .create import checking


def check_update(old: StreamConfig, new: StreamConfig, context: ValidationContext) -> StreamConfig:
    """Validate `new` as the update of `old`."""
    return at_once(checking_update(old, new, context))


def checking_update(old: StreamConfig, new: StreamConfig, context: ValidationContext) -> Steps[StreamConfig]:
    """As `check_update`, in steps."""
    config = yield from checking(new, context)
    if config.name != old.name:
        raise invalid("stream configuration name must match original")
    if config.num_replicas > 1 and not context.clustered:
        raise api_error("JSStreamReplicasNotSupportedErr")
    if config.storage != old.storage:
        raise invalid("stream configuration update can not change storage type")
    if config.retention != old.retention and "workqueue" in {config.retention, old.retention}:
        raise invalid("stream configuration update can not change retention policy to/from workqueue")
    _check_one_way(config, old)
    if config.mirror is not None and config.mirror != old.mirror:
        raise api_error("JSStreamMirrorNotUpdatableErr")
    if (old.persist_mode or "default") != (config.persist_mode or "default"):
        raise invalid("stream configuration update can not change persist mode")
    if config.sealed:
        config = replace(
            config, max_age=0, discard="new", deny_delete=True, deny_purge=True, allow_rollup_hdrs=False
        )
    return config


def _check_one_way(config: StreamConfig, old: StreamConfig) -> None:
    for field, text in (
        ("sealed", "stream configuration update can not unseal a sealed stream"),
        ("deny_delete", "stream configuration update can not cancel deny message deletes"),
        ("deny_purge", "stream configuration update can not cancel deny purge"),
        ("allow_msg_ttl", "message TTL status can not be disabled"),
    ):
        if getattr(old, field) and not getattr(config, field):
            raise invalid(text)
