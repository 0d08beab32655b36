"""The imports among the accounts of one store, each with what is wrong with it.

Nothing is written. A missing exporter or export is a finding, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ...protocol.lazy_dataclass import dataclass
from ..chain import Refusal
from ..claims import AccountClaims, Export, Import, Issues, Level
from ..claims.subjects import contained
from ..folders.store import OperatorStore
from ..grants import Offer, import_cycles, validate_import


@dataclass(frozen=True, slots=True)
class Relation:
    """One import.

    exporter: None if that account is not in the store.
    export: None if the exporter has no such export.
    issues: what is wrong with it, in nsc's words.
    refusal: why a server would not serve it; None if it would, or if the exporter is not in the store.
    """

    importer: AccountClaims
    item: Import
    exporter: AccountClaims | None
    export: Export | None
    issues: tuple[str, ...]
    refusal: Refusal | None

    @property
    def from_account(self) -> str:
        """The exporter's name; its key if it is not in the store."""
        return self.exporter.name if self.exporter is not None else self.item.account


@dataclass(frozen=True, slots=True)
class Relations:
    """The accounts by public key, in the order of their names; their imports; the cycles among them.

    A cycle is a list of account keys along which a message would come back to its origin.
    """

    accounts: Mapping[str, AccountClaims]
    imports: tuple[Relation, ...]
    cycles: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, store: OperatorStore, now: int) -> Relations:
        """Read a store and authorize its imports at `now` (ns). Raises FolderError."""
        return cls.among((store.account(name) for name in store.accounts()), now)

    @classmethod
    def among(cls, accounts: Iterable[AccountClaims], now: int) -> Relations:
        """Authorize the imports among these accounts at `now` (ns)."""
        known = {claims.sub: claims for claims in accounts}
        offers = {key: Offer(claims) for key, claims in known.items()}
        imports = [
            _relation(claims, item, offers.get(item.account), now)
            for claims in known.values()
            for item in claims.nats.imports
        ]
        cycles = import_cycles(known)
        return cls(MappingProxyType(known), tuple(imports), tuple(tuple(cycle) for cycle in cycles))

    def of(self, importer: str) -> list[Relation]:
        """Return the imports of one account, by its public key."""
        return [relation for relation in self.imports if relation.importer.sub == importer]

    def using(self, exporter: str, export: Export) -> list[Relation]:
        """Return the imports that use one export of the account `exporter` (a public key)."""
        return [
            relation
            for relation in self.imports
            if relation.item.account == exporter
            and relation.item.type == export.type
            and contained(relation.item.remote, export.subject)
        ]

    def names(self, keys: Iterable[str]) -> list[str]:
        """Return the names of accounts; the key itself for one that is not in the store."""
        return [self.accounts[key].name if key in self.accounts else key for key in keys]


def _relation(importer: AccountClaims, item: Import, offer: Offer | None, now: int) -> Relation:
    exporter = offer.exporter if offer is not None else None
    export = offer.find(item) if offer is not None else None
    found = Issues()
    item.check(importer.sub, found)
    # The only warning there is, about the field `to`, is about how the token is written.
    issues = [issue.text for issue in found if issue.level is not Level.WARNING]
    if export is not None and export.token_req and not item.token:
        issues.append("Export is private but no activation token")
    elif export is not None and not export.token_req and item.token:
        issues.append("Export is public but import has activation token")
    if exporter is None:
        issues.append(f"Exporting account not present: {item.account}")
    refusal = validate_import(item, importer, offer, now) if offer is not None else None
    return Relation(importer, item, exporter, export, tuple(issues), refusal)
