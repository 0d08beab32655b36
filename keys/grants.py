"""Imports between accounts: whether the exporter grants them, and cycles of imports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..protocol.subject import collide
from ..protocol.subject_tree import SubjectTree
from .chain import SECOND, Reason, Refusal
from .errors import IdentityError

if TYPE_CHECKING:
    from .claims import AccountClaims, ActivationClaims, Export, Import


class Offer:
    """The exports of an account, indexed to find those that imports use.

    The claims must not change meanwhile.
    """

    def __init__(self, exporter: AccountClaims) -> None:
        self.exporter = exporter
        self._exports = exporter.nats.exports
        self._trees: dict[str, SubjectTree[list[int]]] = {}
        self._prepared = 0  # how many exports are in the trees

    def preparing(self) -> Iterator[None]:
        """Build the index in steps. A `find` before that builds the rest at once."""
        while self._prepared < len(self._exports):
            place, self._prepared = self._prepared, self._prepared + 1
            export = self._exports[place]
            self._trees.setdefault(export.type, SubjectTree()).setdefault(export.subject, []).append(place)
            yield

    def find(self, item: Import) -> Export | None:
        """Return the export that an import uses: the one with the same subject, else one that contains it."""
        for _ in self.preparing():
            pass
        tree = self._trees.get(item.type)
        if tree is None:
            return None
        found = tree.get(item.remote) or [place for each in tree.matching(item.remote) for place in each]
        return self._exports[min(found)] if found else None


def find_export(exporter: AccountClaims, item: Import) -> Export | None:
    """Return the export that one import uses; see `Offer.find`."""
    return Offer(exporter).find(item)


def validate_import(
    item: Import, importer: AccountClaims, exporter: AccountClaims | Offer, now: int
) -> Refusal | None:
    """Authorize one import at `now` (ns). Return None if it is granted, else the Refusal."""
    offer = exporter if isinstance(exporter, Offer) else Offer(exporter)
    exporter = offer.exporter
    if item.account != exporter.sub:
        return Refusal(Reason.WRONG_ACCOUNT, f"the import names account {item.account}, not {exporter.sub}")
    export = offer.find(item)
    if export is None:
        return Refusal(Reason.NO_EXPORT, f"account {exporter.sub} exports no {item.type} {item.subject}")
    position = export.account_token_position
    if position:
        tokens = item.remote.split(".")
        if position <= len(tokens) and tokens[position - 1] == importer.sub:
            return None
        return Refusal(
            Reason.ACCOUNT_POSITION, f"token {position} of {item.remote} must be the importing account's key"
        )
    if not export.token_req:
        return None
    return _authorize_activation(item, importer, exporter, export, now)


def _authorize_activation(
    item: Import, importer: AccountClaims, exporter: AccountClaims, export: Export, now: int
) -> Refusal | None:
    from .claims import Issues

    if not item.token:
        return Refusal(
            Reason.NO_ACTIVATION, f"export {export.subject} is private and the import has no activation"
        )
    issues = Issues()
    item.check(importer.sub, issues)
    if errors := issues.blocking():
        return Refusal(Reason.BAD_ACTIVATION, errors[0].text)
    try:
        activation = item.activation()
    except IdentityError as error:
        return Refusal(Reason.BAD_ACTIVATION, str(error))
    if not _vouched(activation, exporter):
        return Refusal(
            Reason.ACTIVATION_ISSUER,
            f"the activation is signed by {activation.iss}, no key of {exporter.sub}",
        )
    seconds = now // SECOND
    if (activation.exp and activation.exp <= seconds) or activation.nbf > seconds:
        return Refusal(Reason.ACTIVATION_EXPIRED, "the activation is expired, or not valid yet")
    if not activation.iat or export.is_revoked(activation.sub, activation.iat):
        return Refusal(Reason.ACTIVATION_REVOKED, f"the activation of {activation.sub} is revoked")
    return None


def _vouched(activation: ActivationClaims, exporter: AccountClaims) -> bool:
    if not activation.nats.issuer_account:
        return activation.iss == exporter.sub
    return exporter.did_sign(activation)


def activation_deadline(item: Import) -> int:
    """Return when an import's activation ends (ns).

    0 means never; it is also returned for an import without a readable activation.
    """
    if not item.token:
        return 0
    try:
        return item.activation().exp * SECOND
    except IdentityError:
        return 0


def import_cycles(accounts: Mapping[str, AccountClaims]) -> list[list[str]]:
    """Return the cycles of imports that would bring a message back to its origin, as lists of account keys.

    accounts: claims by public key.

    An import of an account from itself is the shortest cycle. Two accounts may import from each other as long
    as no subject comes back; imports are followed where one subject contains the other.
    """
    found: list[list[str]] = []
    seen: set[frozenset[str]] = set()
    for key, claims in accounts.items():
        for item in claims.nats.imports:
            cycle = _follow(accounts, [key], item, item.local, set())
            if cycle is not None and frozenset(cycle) not in seen:
                seen.add(frozenset(cycle))
                found.append(cycle)
    return found


def _follow(
    accounts: Mapping[str, AccountClaims],
    path: list[str],
    item: Import,
    start: str,
    seen: set[tuple[str, str]],
) -> list[str] | None:
    """Follow an import to its exporter, and on to the imports of the exporter on the same subjects."""
    if item.account == path[0] and (len(path) == 1 or collide(item.remote, start)):
        return path
    place = (item.account, item.remote)
    if place in seen or item.account in path or item.account not in accounts:
        return None
    seen.add(place)
    for further in accounts[item.account].nats.imports:
        if further.type == item.type and collide(further.local, item.remote):
            cycle = _follow(accounts, [*path, item.account], further, start, seen)
            if cycle is not None:
                return cycle
    return None
