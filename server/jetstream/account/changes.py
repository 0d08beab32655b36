"""Creates, changes and deletes the streams of an account, in steps.

A stream may have ten thousand subjects, so validating and subscribing are done in steps. The changes of one
account must run one after another (`JetStreamAccount.changes`). Whatever else happens between the steps is
checked again.

Promises:
- The result is the same as if a change were done at once.
- The creation of a stream is complete when it has subscribed to all of its subjects.
- If the stream is deleted or the account removed before that, the change is refused and leaves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.stream_template import TEMPLATE_OWNER
from ....protocol.errors import api_error
from ....protocol.subject_tree import SubjectTree, TooEntangled, indexing
from ...slices import Steps
from .. import advisories
from ..streams.stream_info import stamped
from ..streams.validation.config import checking, checking_update
from ..streams.validation.context import invalid
from ..streams.validation.subjects import checking_subjects

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from .pending_publishes import PendingPublishes
    from .streams import AccountStreams


def creating(
    account: AccountStreams,
    config: StreamConfig,
    *,
    pedantic: bool = False,
    pending: PendingPublishes | None = None,
) -> Steps[Stream[Consumer]]:
    """Create a stream, or return the one that exists with an equal configuration. Raises ApiError.

    pending: publishes that a new stream stores before any other.
    """
    name = config.name
    subject_check = yield from checking_subjects(config)
    config = yield from account.validating(config, pedantic=pedantic, subject_check=subject_check)
    existing = account.streams.get(name)
    if existing is not None:
        if existing.config == config:
            return existing
        raise api_error("JSStreamNameExistErr")
    account.must_not_be_here(name)
    tree = subject_check.tree if config.subjects is subject_check.subjects else None
    yield from overlapping(account, config, tree)
    if name in account.streams:  # restored meanwhile
        raise api_error("JSStreamNameExistErr")
    stream = yield from account.making(config, account.host.clock.now(), tree, pending)
    _must_be_served(account, stream)
    advisories.stream_action(account.account, account.host, name, "create")
    return stream


def updating(
    account: AccountStreams, config: StreamConfig, *, pedantic: bool = False
) -> Steps[Stream[Consumer]]:
    """Change the configuration of a stream. Raises ApiError."""
    subject_check = yield from checking_subjects(config)
    context = account.validation_context(config.num_replicas, pedantic=pedantic, subject_check=subject_check)
    yield from checking(config, context)
    stream = account.lookup(config.name)
    account.limits.required(config.num_replicas)
    old = stream.config
    if account.host.legacy_api and TEMPLATE_OWNER in old.metadata:
        raise invalid("stream configuration update not allowed on template owned stream")
    if account.host.legacy_api and TEMPLATE_OWNER in config.metadata:
        raise invalid("stream configuration update can not be owned by a template")
    new = yield from checking_update(old, stamped(config), context)
    _check_consumers(stream, new)
    yield from overlapping(account, new)
    _must_be_served(account, stream)
    grown = max(new.max_bytes, 0) - max(old.max_bytes, 0)
    if grown > 0:
        account.limits.check(new, grown)
    if new.subjects is subject_check.subjects:
        account.owners.know(new.name, new.subjects, subject_check.tree)
    yield from account.changing(stream, new)
    _must_be_served(account, stream)
    advisories.stream_action(account.account, account.host, new.name, "modify")
    return stream


def deleting(account: AccountStreams, name: str) -> Steps[None]:
    """Remove a stream, its messages and consumers. Raises ApiError."""
    stream = account.lookup(name)
    yield from stream.silencing()
    if stream.sourcing is not None:
        yield from stream.sourcing.stopping()
    yield from _ending_consumers(stream)
    _must_be_served(account, stream)
    account.remove(name)
    advisories.stream_action(account.account, account.host, name, "delete")


def _ending_consumers(stream: Stream[Consumer]) -> Steps[None]:
    """End the consumers of a stream that is being deleted. Their files are removed with the stream's."""
    stream.deleting = True
    for consumer in list(stream.consumers.values()):
        consumer.delete("stream deleted")
        yield


def overlapping(
    account: AccountStreams, config: StreamConfig, tree: SubjectTree[list[int]] | None = None
) -> Steps[None]:
    """Raise ApiError 10065 if another stream has some of the subjects, 10008 instead during recovery.

    Also raises 10008 if the account is no longer served. tree: all subjects to check, for a new stream.
    Without it, the subjects that the existing stream of that name has already are not checked.
    """
    if tree is None:
        there = account.streams.get(config.name)
        known = set() if there is None else set(there.config.subjects)
        tree = yield from indexing([subject for subject in config.subjects if subject not in known])
    while True:
        taken = account.subjects()
        try:
            overlap = yield from account.current_owners().overlapping(config.name, tree)
        except TooEntangled as error:
            raise api_error("JSStreamInvalidConfigF", err=str(error)) from None
        if overlap:
            raise api_error("JSClusterNotAvailErr" if account.recovering else "JSStreamSubjectOverlapErr")
        now = account.subjects()
        if account.left:
            raise api_error("JSClusterNotAvailErr")
        if now.keys() == taken.keys() and all(now[name] is subjects for name, subjects in taken.items()):
            return


def _must_be_served(account: AccountStreams, stream: Stream[Consumer]) -> None:
    """Raise ApiError if the stream or the account has ended during the change."""
    if account.left:
        raise api_error("JSClusterNotAvailErr")
    if account.streams.get(stream.name) is not stream:
        raise api_error("JSStreamNotFoundErr")


def _check_consumers(stream: Stream[Consumer], config: StreamConfig) -> None:
    new, old = config.consumer_limits, stream.config.consumer_limits
    if new == old:
        return
    names = [
        consumer.name
        for consumer in stream.consumers.values()
        if 0 < new.inactive_threshold < consumer.config.inactive_threshold
        or 0 < new.max_ack_pending < consumer.config.max_ack_pending
    ]
    if names:
        raise api_error("JSStreamUpdateErrF", err=f"change to limits violates consumers: {', '.join(names)}")
