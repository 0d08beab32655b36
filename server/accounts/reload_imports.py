"""Reload of imports: an account's imports, replaced in steps while it serves.

Promises that live subscriptions follow in the end, whatever comes and goes between two steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from ...protocol.subject_tree import SubjectTree
from ..slices import Steps
from .imports import ServiceImport, StreamImport
from .subscription import Subscription

if TYPE_CHECKING:
    from .account import Account

M = TypeVar("M", StreamImport, ServiceImport)


def replace_imports(
    account: Account, streams: Iterable[StreamImport], services: Iterable[ServiceImport]
) -> Steps[None]:
    """Replace all imports; nobody else may meanwhile.

    Those that stay the same stay the same objects, and responses awaited through them still come.
    """
    kept_streams = yield from _kept(account.imports_streams, streams)
    if kept_streams != account.imports_streams:
        yield from _take_streams(account, kept_streams)
    kept_services = yield from _kept(account.imports_services, services)
    before, after = set(account.imports_services), set(kept_services)
    gone = [service for service in account.imports_services if service not in after]
    account.imports_services = kept_services
    for service in gone:
        if service.subscription is not None:
            account.remove_subscription(service.subscription)
        service.exporter.responses.forget_service(service)
        yield
    for service in kept_services:
        if service not in before:
            service.subscription = Subscription(service.local, service)
            account.add_subscription(service.subscription)
            yield


def _take_streams(account: Account, streams: list[StreamImport]) -> Steps[None]:
    indexes: SubjectTree[list[int]] = SubjectTree()
    for index, stream in enumerate(streams):
        indexes.setdefault(stream.local, []).append(index)
        yield
    for subscription in account.set_stream_imports(streams, indexes):
        if subscription.account is account and not subscription.closed:
            account.remove_shadows(subscription)
            account.add_shadows(subscription)
            yield


def _kept(old: Iterable[M], new: Iterable[M]) -> Steps[list[M]]:
    """`new` without repetitions, and with the old objects where they are the same."""
    old_by_key: dict[tuple[object, ...], M] = {}
    for each in old:
        old_by_key[each.key] = each
        yield
    kept: dict[tuple[object, ...], M] = {}
    for each in new:
        key = each.key
        kept.setdefault(key, old_by_key.get(key, each))
        yield
    return list(kept.values())
