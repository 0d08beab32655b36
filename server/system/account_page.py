"""The answer to `$SYS.REQ.USER.ACCOUNT`: mappings, imports and exports of an account, for its own users.

One page of them, which is small whatever the account has: mappings come first, in the order in which they
apply, then imports, then exports. Their fields have the names of ACCOUNTZ. Promises: only what the account's
own configuration or token says of where messages go. It has no tokens and no users, not who may import from
the account, and of other accounts no more than the names and subjects in its own imports. No work depends on
how large the account is, except that of skipping `offset` mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from ...protocol.lazy_dataclass import dataclass
from ..accounts.exports import Export, ServiceExport
from ..accounts.imports import ServiceImport
from ..accounts.mapping import Mapping, Mappings
from ..accounts.space import StreamImport
from ..monitor.request import asked

if TYPE_CHECKING:
    from ..accounts import Account

AnyImport: TypeAlias = StreamImport | ServiceImport
Entry: TypeAlias = Mapping | AnyImport | Export
MOST_ENTRIES = 256  # of one answer
MOST_CHARACTERS = 1 << 16  # of the subjects of one answer, unless one entry alone has more


@dataclass(slots=True)
class AccountPageRequest:
    """offset: how many entries come before the page. limit: how many it may have; 0 for as many as fit."""

    offset: int = asked(0, "offset")
    limit: int = asked(0, "limit")


def account_page(account: Account, request: AccountPageRequest) -> dict[str, Any]:
    """Return one page. `total` is how many entries there are, `count` how many of them the page has."""
    most = min(request.limit, MOST_ENTRIES) if request.limit > 0 else MOST_ENTRIES
    found: dict[str, Any] = {"mappings": {}, "imports": [], "exports": []}
    count = characters = 0
    for entry in _from(account, max(0, request.offset)):
        if count == most or characters > MOST_CHARACTERS:
            break
        count += 1
        if isinstance(entry, Mapping):
            found["mappings"][entry.source] = [{"subject": to, "weight": part} for to, part in entry.weights]
            characters += len(entry.source) + sum(len(to) for to, _ in entry.weights)
        elif isinstance(entry, Export):
            kind = "service" if isinstance(entry, ServiceExport) else "stream"
            found["exports"].append({"subject": entry.subject, "type": kind})
            characters += len(entry.subject)
        else:
            found["imports"].append(_import(entry))
            characters += len(entry.subject) + len(entry.given)
    total = sum(len(part) for part in _parts(account))
    pages = {"offset": request.offset, "limit": most, "total": total, "count": count}
    return {"account": account.name, "account_name": account.display, **pages, **found}


def _import(entry: AnyImport) -> dict[str, Any]:
    return {
        "subject": entry.subject,
        "account": entry.exporter.name,
        "local_subject": entry.given,
        "type": "service" if isinstance(entry, ServiceImport) else "stream",
        "share": isinstance(entry, ServiceImport) and entry.share,
    }


def _parts(account: Account) -> tuple[Mappings | Sequence[Entry], ...]:
    return (
        account.mappings,
        account.imports_streams,
        account.imports_services,
        account.exports_streams,
        account.exports_services,
    )


def _from(account: Account, offset: int) -> Iterator[Entry]:
    """Yield what an account has from an offset on."""
    for part in _parts(account):
        if offset < len(part):
            yield from part.following(offset) if isinstance(part, Mappings) else islice(part, offset, None)
        offset = max(0, offset - len(part))
