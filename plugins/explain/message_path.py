"""The path of a message through mappings, permissions, and the imports of accounts.

The decisions are those of the server's own classes: `Mappings`, `Permissions`, `ServiceImport` and
`StreamImport` of `server/accounts`, in an `AccountRegistry` made from a configuration file, or from what
servers tell of their accounts. Other modules add subscribers and streams to the waypoints.
Sources: `ClientConnection._publish` in server/client/connection.py, `ServiceImport.deliver`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ...protocol.subject import ANY_REST, is_subset, matches
from .acknowledgements import acknowledged
from .publisher import Publisher, refusal
from .waypoint import ENDS, PASSES, REFUSED, UNKNOWN, Waypoint

if TYPE_CHECKING:
    from ...server.accounts.account import Account
    from ...server.accounts.exports import ServiceExport
    from ...server.accounts.imports import ServiceImport
    from ...server.accounts.mapping import Mapping
    from ...server.accounts.registry import AccountRegistry
    from ...server.accounts.space import SubjectSpace

MOST_WAYPOINTS = 200


class MessagePath:
    """The path of one message.

    reported: the accounts whose exports are known; None for all.
    waypoints: where it comes to, in order; each is there once.
    """

    def __init__(self, registry: AccountRegistry, reported: Collection[str] | None = None) -> None:
        self.registry = registry
        self._reported = reported
        self.waypoints: list[Waypoint] = []
        self._full = False

    def publish(self, account: Account, subject: str, publisher: Publisher) -> None:
        """Follow a message of a client. What it may publish is decided after mappings, as the server does."""
        for mapped, via in self._mapped(account, subject):
            if mapped is None:
                self._lose(account.name, subject, via)
                continue
            waypoint = self._waypoint(account.name, mapped, via)
            if waypoint is not None and self._may_publish(waypoint, publisher):
                self._arrive(account, waypoint, ())

    def republish(self, account: str, subject: str, via: str) -> Waypoint | None:
        """Follow a message that a stream publishes again; None if it was there already."""
        found = self.registry.get(account)
        waypoint = self._waypoint(account, subject, via)
        if waypoint is not None and found is not None:
            self._arrive(found, waypoint, ())
        return waypoint

    def _lose(self, account: str, subject: str, via: str) -> None:
        """Add the part of a mapping that goes nowhere."""
        self.waypoints.append(Waypoint(account, subject, via, lost=True))
        text = "The weights of the mapping leave this part out: it is lost."
        self.waypoints[-1].add("mapping", ENDS, text)

    def _waypoint(self, account: str, subject: str, via: str) -> Waypoint | None:
        known = [(each.account, each.subject) for each in self.waypoints if not each.lost]
        if (account, subject) in known:
            return None
        if len(self.waypoints) >= MOST_WAYPOINTS:
            if not self._full:
                self.waypoints[0].add(
                    "accounts", UNKNOWN, f"Only the first {MOST_WAYPOINTS} places are looked at."
                )
            self._full = True
            return None
        self.waypoints.append(Waypoint(account, subject, via))
        return self.waypoints[-1]

    def _mapped(self, space: SubjectSpace, subject: str) -> Iterator[tuple[str | None, str]]:
        """Yield each subject that a message may get, None for a lost one, and how that comes."""
        mapping = None if space.mappings.empty else space.mappings.find(subject)
        if mapping is None:
            yield subject, ""
            return
        for mapped, weight in shares(mapping, subject):
            by = "" if mapping.source == subject else f" by {mapping.source}"
            yield mapped, f"mapped from {subject}{by}, {weight} %"

    def _may_publish(self, waypoint: Waypoint, publisher: Publisher) -> bool:
        from ...server.accounts.plan import RESERVED

        subject, permissions = waypoint.subject, publisher.permissions
        if subject.encode("utf-8", "surrogateescape").startswith(RESERVED):
            waypoint.add(
                "permission", REFUSED, f"Clients may not publish {subject}: servers use it themselves."
            )
            return False
        if not publisher.known:
            waypoint.add("permission", UNKNOWN, f"What {publisher.label} may publish is not known.")
            return True
        if permissions is None:
            waypoint.add("permission", PASSES, f"{publisher.label} may publish everything.")
            return True
        why_not = refusal(permissions, subject)
        if not why_not:
            allowed = [each for each, _ in permissions.publish_allow or () if is_subset(subject, each)]
            why = f"{allowed[0]} allows it" if allowed else "nothing denies it"
            waypoint.add("permission", PASSES, f"{publisher.label} may publish it: {why}.")
            return True
        waypoint.add("permission", REFUSED, f"{publisher.label} may not publish it: {why_not}.")
        if permissions.responses is not None:
            waypoint.add("permission", UNKNOWN, "As an answer to a message that it received, it may.")
        return False

    def _arrive(self, space: SubjectSpace, waypoint: Waypoint, chain: tuple[ServiceExport, ...]) -> None:
        """Follow a message into the accounts that offer a service on its subject, or import it."""
        from ...server.accounts.imports import ServiceImport

        raw = waypoint.subject.encode("utf-8", "surrogateescape")
        for subscription in space.plan(raw).plain:
            if isinstance(subscription.sink, ServiceImport):
                self._serve(waypoint, subscription.sink, chain)
        self._import(space, waypoint, through_service=bool(chain))

    def _serve(self, waypoint: Waypoint, service: ServiceImport, chain: tuple[ServiceExport, ...]) -> None:
        """Follow a request to the account whose service is imported."""
        from ...server.accounts.imports import MOST_STEPS

        exporter = service.exporter.space
        if service.export in chain or len(chain) >= MOST_STEPS:
            waypoint.add("service import", ENDS, f"It came through this service already: {service.subject}.")
            return
        to = waypoint.subject if service.transform is None else service.transform.apply(waypoint.subject)
        if to is None:
            return
        text = f"It is a request to the service {service.subject} of account {exporter.name}, as {to}."
        waypoint.add("service import", PASSES, text, exporter.name)
        if self._reported is None or exporter.name in self._reported:
            waypoint.add("answers", PASSES, answers_of(service.export), exporter.name)
        for mapped, via in self._mapped(exporter, to):
            how = f"service imported by {waypoint.account}" + (f"; {via}" if via else "")
            if mapped is None:
                self._lose(exporter.name, to, how)
                continue
            reached = self._waypoint(exporter.name, mapped, how)
            if reached is not None:
                self._arrive(exporter, reached, (*chain, service.export))

    def _import(self, space: SubjectSpace, waypoint: Waypoint, *, through_service: bool) -> None:
        """Follow a message to the accounts that import it as part of a stream of messages."""
        for importer in self.registry.accounts.values():
            for each in importer.imports_streams:
                wanted = each.shadow_subject(ANY_REST) if each.exporter is space else None
                if wanted is None or not matches(wanted, waypoint.subject):
                    continue
                local = waypoint.subject if each.transform is None else each.transform.apply(waypoint.subject)
                if through_service:
                    text = f"Account {importer.name} imports it, but not what came as a request to a service."
                    waypoint.add("stream import", ENDS, text, importer.name)
                elif local is not None:
                    text = f"Account {importer.name} imports it as {local}."
                    waypoint.add("stream import", PASSES, text, importer.name)
                    self._waypoint(importer.name, local, f"{each.subject} imported from {space.name}")


def answers_of(export: ServiceExport) -> str:
    """Return which answers of a service come back to its requests, in a sentence."""
    name = export.response_type.value.capitalize()
    if export.response_type.value == "singleton":
        return (
            f"One answer comes back: the export's response type is {name}, and further answers are dropped."
        )
    return f"Many answers may come back: the export's response type is {name}."


def is_answered(subject: str) -> bool:
    """Return whether the server that gets a message on `subject` answers it itself.

    `$JS.<domain>.API` is mapped to `$JS.API` where that is the server's domain; what is left is another's.
    Who takes an acknowledgement depends on the consumers that there are.
    """
    from ...server.accounts.plan import is_request

    tokens = subject.split(".", 3)
    elsewhere = tokens[0] == "$JS" and tokens[2:3] == ["API"]
    if elsewhere or acknowledged(subject) is not None:
        return False
    return is_request(subject.encode("utf-8", "surrogateescape"))


def shares(mapping: Mapping, subject: str) -> Iterator[tuple[str | None, int]]:
    """Yield each destination of a mapping (None: lost) and how much of 100 percent it gets."""
    from ...server.accounts.mapping import FULL

    begin = 0
    for weight in [*(weight for _, weight in mapping.weights), FULL]:
        end = min(FULL, begin + weight)
        if end > begin:
            middle = (begin + end) / 2 / FULL
            yield mapping.choose(subject, [middle].pop), end - begin
        begin = end
