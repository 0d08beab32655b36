"""Changes: how an account's streams are made, changed and deleted, bit by bit.

A stream may have ten thousand subjects. Promises: what is validated and subscribed in steps comes to the same
as what is done at once; a stream is answered as made when it has subscribed to all of its subjects; if it is
deleted or the account goes before, the change is refused and nothing is left of it. These changes of an
account must not mix with each other (`JetStreamAccount.changes`); what else happens meanwhile is looked at
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.errors import api_error
from ....protocol.subject_tree import SubjectTree, TooEntangled, placing
from ...slices import Steps
from .. import advisories
from ..streams.stream_info import stamped
from ..streams.validation.config import checking, checking_update
from ..streams.validation.subjects import checking_subjects

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from .streams import AccountStreams


def creating(
    account: AccountStreams, config: StreamConfig, *, pedantic: bool = False
) -> Steps[Stream[Consumer]]:
    """Make a stream; one with an equal configuration is given as it is. Raises ApiError."""
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
    stream = yield from account.making(config, account.host.clock.now(), tree)
    _must_be_served(account, stream)
    advisories.stream_action(account.account, account.host, name, "create")
    return stream


def updating(
    account: AccountStreams, config: StreamConfig, *, pedantic: bool = False
) -> Steps[Stream[Consumer]]:
    """Change a stream. Raises ApiError."""
    subject_check = yield from checking_subjects(config)
    context = account.validation_context(config.num_replicas, pedantic=pedantic, subject_check=subject_check)
    yield from checking(config, context)
    stream = account.lookup(config.name)
    account.limits.required(config.num_replicas)
    old = stream.config
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
    """End the consumers of a stream that is being deleted; their files go with the stream's."""
    stream.deleting = True
    for consumer in list(stream.consumers.values()):
        consumer.delete("stream deleted")
        yield


def overlapping(
    account: AccountStreams, config: StreamConfig, tree: SubjectTree[list[int]] | None = None
) -> Steps[None]:
    """Raise ApiError 10065 when another stream has some of its subjects, 10008 if it may and is not open yet.

    What a stream of that name has already is taken to be apart. tree: of the subjects of a new one.
    """
    if tree is None:
        there = account.streams.get(config.name)
        known = set() if there is None else set(there.config.subjects)
        tree = yield from placing([subject for subject in config.subjects if subject not in known])
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
    """Raise ApiError when the stream ended before the change of it did."""
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
