"""subsz: the subscriptions and their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass
from ...protocol.subject import is_literal, matches
from ..slices import Steps, map_in_steps
from .request import DEFAULT_LIMIT, RequestError, asked, page
from .view import MonitoredServer, head

if TYPE_CHECKING:
    from ..accounts import Account, Subscription


@dataclass(slots=True)
class SubszRequest:
    """Which subscriptions to show.

    subs: whether to list them.
    test: list only those that match this literal subject.
    """

    subs: bool = asked(False, "subs", "subscriptions")
    offset: int = asked(0, "offset")
    limit: int = asked(0, "limit")
    account: str = asked("", "acc", "account")
    test: str = asked("", "test")


def subsz(server: MonitoredServer, request: SubszRequest | None = None) -> Steps[dict[str, Any]]:
    """Return counts and, if requested, the subscriptions. Raises RequestError for a bad `test`."""
    request = request or SubszRequest()
    if request.test and not is_literal(request.test):
        raise RequestError(f"invalid test subject, must be valid publish subject: {request.test}")
    accounts = [a for a in server.registry.accounts.values() if request.account in ("", a.name)]
    limit = request.limit if request.limit > 0 else DEFAULT_LIMIT
    numbers = yield from statistics(accounts)
    document = head(server) | numbers | {"total": 0, "offset": max(0, request.offset), "limit": limit}
    if not request.subs:
        return document
    found = []
    for account in accounts:
        for subscription in account.sublist:
            if not request.test or matches(subscription.subject, request.test):
                found.append((account, subscription))
            yield
    shown = yield from map_in_steps(page(found, request.offset, request.limit), _entry)
    return document | {"total": len(found), "subscriptions_list": shown}


def _entry(found: tuple[Account, Subscription]) -> dict[str, Any]:
    account, subscription = found
    return {"account": account.name, "account_tag": account.name, **detail(subscription)}


def statistics(accounts: list[Account]) -> Steps[dict[str, Any]]:
    """Return numbers about the interest of some accounts. The cache is that of plans by literal subject."""
    count = plans = fan = most = 0
    for account in accounts:
        count += len(account.sublist)
        for plan in list(account.plans.values()):
            hearers = len(plan.targets) + len(plan.choices)
            plans += 1
            fan += hearers
            most = max(most, hearers)
            yield
        yield
    return {
        "num_subscriptions": count,
        "num_cache": plans,
        "num_inserts": count,
        "num_removes": 0,
        "num_matches": plans,
        "cache_hit_rate": 0,
        "max_fanout": most,
        "avg_fanout": fan / plans if plans else 0,
    }


def detail(subscription: Subscription, cid: int = 0) -> dict[str, Any]:
    """Return the description of one subscription."""
    found: dict[str, Any] = {"subject": subscription.subject}
    if subscription.queue:
        found["qgroup"] = subscription.queue
    found |= {"sid": subscription.sid.decode("utf-8", "replace"), "msgs": subscription.delivered}
    if subscription.max:
        found["max"] = subscription.max
    found["cid"] = cid or subscription.sink.id
    return found
