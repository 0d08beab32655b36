"""Subject mappings of an account."""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import TYPE_CHECKING

from ...accounts.mapping import Mapping, MappingError, Mappings

if TYPE_CHECKING:
    from ....keys.claims.account import WeightedMapping


def mappings(given: Table[str, list[WeightedMapping]], cluster: str = "") -> tuple[Mappings, dict[str, str]]:
    """The mappings, and by their source why others cannot be (validation lets some of them pass).

    Where destinations name the server's cluster, those are the ones.
    """
    found = Mappings()
    faults: dict[str, str] = {}
    for source, targets in sorted(given.items()):
        here = [t for t in targets if t.cluster and t.cluster == cluster]
        chosen = here or [t for t in targets if not t.cluster]
        if not chosen:
            continue
        try:
            found.add(Mapping(source, [(t.subject, t.share) for t in chosen]))
        except MappingError as error:
            faults[source] = str(error)
    return found, faults
