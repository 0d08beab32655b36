"""Gate: which of the servers serves a request of the API.

Promises: a request is served here, refused here, or left to another server, as `answering.decide` says; what
waits first is judged again before it is refused. Between two leaders members hold requests for a while, so
that the next one serves them; what the leader could not hear is sent to it later. A request that the former
leader may have served is not served twice, unless that does no harm: see `HARMLESS` and
`_admit`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ....protocol import gojson
from ...cluster.meta.answering import DELAY, Act, Rule, decide, error_of, rule_for
from ..api.request import Request
from ..api.table import Row
from .consumers import ConsumerWishes
from .errand import Errand, is_unheard
from .leaders import Leaders
from .lists import Lists
from .restoring import Restoring
from .streams import StreamWishes
from .unserved import Unserved

if TYPE_CHECKING:
    from .domain import Domain

HOLD, PAUSE = 3_000_000_000, 50_000_000  # ns that a request is held between leaders, and between two looks
# What a stream's next leader may do once more after the former one. Not so: to purge again would remove what
# was published since, to step down again would take the lead from who was just given it.
HARMLESS = frozenset(
    {
        "STREAM.INFO.*",
        "STREAM.MSG.GET.*",
        "CONSUMER.INFO.*.*",
        "CONSUMER.CREATE.*",
        "CONSUMER.CREATE.*.>",
        "CONSUMER.DURABLE.CREATE.*.*",
    }
)
Version = tuple[int, int]  # created, revision


class Gate:
    """The gate of one account's API."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def table(self) -> dict[str, Row]:
        """See api.table.Gate."""
        domain = self._domain
        return {
            **StreamWishes(domain).table(),
            **ConsumerWishes(domain).table(),
            **Lists(domain).table(),
            **Leaders(domain).table(),
            **Restoring(domain).table(),
            **Unserved(domain).table(),
        }

    def admit(self, pattern: str, request: Request, serve: Callable[[], None]) -> None:
        """See api.table.Gate."""
        if is_unheard(self._domain, request.message) and self._rule(pattern, request)[0] is Rule.META:
            again = partial(self._admit, pattern, request, serve)
            Errand(self._domain, request.message, again).start()
        else:
            self._admit(pattern, request, serve)

    def _admit(
        self,
        pattern: str,
        request: Request,
        serve: Callable[[], None],
        patience: int = HOLD,
        found: Version | None = None,
    ) -> None:
        """found: what a request that is held is about, as it was when it came.

        When that has changed since, the former leader has served the request already: it is not served again.
        """
        rule, stream, consumer = self._rule(pattern, request)
        account, clock = request.account.name, request.account.host.clock
        act = decide(rule, self._domain.standing(account, stream, consumer))
        if patience > 0 and self._is_undecided(pattern, rule, act, account, stream):
            found = found or self._version(pattern, request)
            clock.call_later(PAUSE, lambda: self._admit(pattern, request, serve, patience - PAUSE, found))
        elif act is Act.ANSWER:
            if found in (None, self._version(pattern, request)):
                serve()
        elif act.later:
            clock.call_later(DELAY, lambda: self._refuse_again(pattern, request, act))
        else:
            _refuse(request, act)

    def _refuse_again(self, pattern: str, request: Request, act: Act) -> None:
        """Refuse what would have been refused a moment ago, if it still would be."""
        rule, stream, consumer = self._rule(pattern, request)
        if decide(rule, self._domain.standing(request.account.name, stream, consumer)) is act:
            _refuse(request, act)

    def _rule(self, pattern: str, request: Request) -> tuple[Rule, str, str]:
        """Whose a request is, and what it is about: (rule, stream, consumer)."""
        stream, consumer = _names(pattern, request.tokens)
        retention = self._asks_inside(pattern, request, stream)
        rule = rule_for(pattern, internal=bool(retention), retention=retention)
        return rule, stream, "" if rule_for(pattern) is not rule else consumer

    def _version(self, pattern: str, request: Request) -> Version | None:
        """Of the consumer that a request names, or else of the stream."""
        name, consumer = _names(pattern, request.tokens)
        state, account = self._domain.state, request.account.name
        found = state.consumer(account, name, consumer) if consumer else state.stream(account, name)
        return None if found is None else (found.created, found.revision)

    def _is_undecided(self, pattern: str, rule: Rule, act: Act, account: str, stream: str) -> bool:
        """Whether it may be this server's matter in a moment: nobody leads, or what it leads is not open yet.

        All who hold a request look again; who leads by then serves it.
        """
        domain = self._domain
        if rule is Rule.META:
            return act is Act.SILENT and domain.led.leader in ("", domain.me)
        asset, assigned = domain.assets.get((account, stream)), domain.state.stream(account, stream)
        if assigned is None or domain.me not in assigned.members:
            return False
        if act is Act.ANSWER:
            return asset is None or asset.stream is None
        led = None if asset is None else asset.led()
        if pattern not in HARMLESS or act is not Act.SILENT or not assigned.replicated:
            return False
        return led is None or not led.leader

    def _asks_inside(self, pattern: str, request: Request, stream: str) -> str:
        """The retention by which it counts who serves a mirror's or source's consumer; "" for any other."""
        if (
            not pattern.startswith(("CONSUMER.CREATE.", "CONSUMER.DURABLE."))
            or b'"direct"' not in request.body
        ):
            return ""
        try:
            config = gojson.decode(request.body)["config"]
            direct, sourcing = config.get("direct"), config.get("sourcing")
        except (ValueError, TypeError, KeyError, AttributeError):
            return ""  # who judges the request says what is wrong with it
        if direct is not True:
            return ""
        found = self._domain.state.stream(request.account.name, stream)
        if found is None or sourcing is not True:
            return "limits"
        return found.config.get("retention") or "limits"


def _refuse(request: Request, act: Act) -> None:
    error = error_of(act)
    if error is not None:
        request.fail(error)


def _names(pattern: str, tokens: list[str]) -> tuple[str, str]:
    """(stream, consumer) of a request; "" for what its subject does not name."""
    parts = pattern.split(".")
    if "*" not in parts:
        return "", ""
    at = parts.index("*")
    named = len(parts) > at + 1 and len(tokens) > at + 1
    return tokens[at], tokens[at + 1] if named else ""
