"""Translates the subject mappings of an account."""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import TYPE_CHECKING

from ...accounts.mapping import Mapping, MappingError, Mappings

if TYPE_CHECKING:
    from ....keys.claims.account import WeightedMapping


def impossible(given: Table[str, list[WeightedMapping]]) -> list[str]:
    """Return why some of the mappings can be used nowhere, whatever the server's cluster."""
    clusters = {target.cluster for targets in given.values() for target in targets}
    errors = [error for cluster in sorted(clusters) for error in mappings(given, cluster)[1].values()]
    return list(dict.fromkeys(errors))


def mappings(given: Table[str, list[WeightedMapping]], cluster: str = "") -> tuple[Mappings, dict[str, str]]:
    """Return the mappings, and why others are invalid, by source. (Validation accepts some of those.)

    If destinations name the server's cluster, only those are used.
    """
    found = Mappings()
    errors: dict[str, str] = {}
    for source, targets in sorted(given.items()):
        here = [t for t in targets if t.cluster and t.cluster == cluster]
        chosen = here or [t for t in targets if not t.cluster]
        if not chosen:
            continue
        try:
            found.add(Mapping(source, [(t.subject, t.share) for t in chosen]))
        except MappingError as error:
            errors[source] = str(error)
    return found, errors
