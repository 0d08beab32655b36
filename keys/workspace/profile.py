"""Profiles: what an `nsc://operator/account/user?query` names, as a document for other tools.

The query selects the content: `key`, `seed`, `name` (of the last part, or of every part that is present),
`keys`, `seeds`, `names`, and each with `operator`, `account` or `user` before it. `userSeed=<public key>`
selects one key of several. Seeds are included only if the query asks for them.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, Claims, OperatorClaims
from ..errors import NotFoundError, WorkspaceError
from .report import quote
from .workspace import Workspace

SCHEME = "nsc://"
PARTS = ("operator", "account", "user")


@dataclass(frozen=True, slots=True)
class NscUrl:
    """The parts of an `nsc://` URL: up to three names, and the query with its words in lower case."""

    names: tuple[str, ...]
    query: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, url: str) -> NscUrl:
        """Parse a URL. Raises WorkspaceError."""
        if not url.lower().startswith(SCHEME):
            raise WorkspaceError("invalid nsc url: expecting 'nsc://'")
        path, _, query = url[len(SCHEME) :].partition("?")
        names = tuple(unquote_plus(name) for name in path.split("/"))
        if not names[0]:
            raise WorkspaceError("invalid nsc url: expecting an operator name")
        if len(names) > len(PARTS) or not all(names[: len([n for n in names if n])]):
            raise WorkspaceError("invalid nsc url: expecting nsc://operator/account/user")
        pairs = (word.partition("=") for word in query.split("&") if word)
        return cls(tuple(n for n in names if n), {k.lower(): unquote_plus(v) for k, _, v in pairs})

    def asks(self, part: str, what: str) -> bool:
        """Return whether the query asks for a part's `key`, `seed` or `name`."""
        if part not in PARTS[: len(self.names)]:
            return False
        if f"{part}{what}" in self.query or f"{what}s" in self.query:
            return True
        return what in self.query and (what != "key" or part == PARTS[len(self.names) - 1])


def profile(workspace: Workspace, address: NscUrl) -> dict[str, Any]:
    """Return the document: `user_creds`, `operator`, `account`, `user`.

    Raises NotFoundError for what is not stored, including a seed that is asked for.
    """
    found, claims = _found(workspace, address)
    document: dict[str, Any] = {}
    if len(claims) == len(PARTS):
        store = found.store()
        path = found.keystore.credentials_path(store.name, found.context.account, claims[-1].name)
        if path.is_file():
            document["user_creds"] = str(path)
    for part, one in zip(PARTS, claims, strict=False):
        outcome: dict[str, Any] = {}
        if isinstance(one, OperatorClaims) and one.nats.operator_service_urls:
            outcome["service"] = list(one.nats.operator_service_urls)
        if address.asks(part, "name"):
            outcome["name"] = found.store().name if part == "operator" else one.name
        if address.asks(part, "seed"):
            outcome["seed"] = _seed(found, one, address.query.get(f"{part}seed", ""))
        if address.asks(part, "key"):
            outcome["id"] = one.sub
        if outcome or part == "operator":
            document[part] = outcome
    return document


def located(address: NscUrl) -> tuple[Path | None, Path | None]:
    """Return the stores root and the keystore that the query names, None for those it does not name."""
    store, keys = (address.query.get(word, "") for word in ("store", "keystore"))
    return Path(store).expanduser() if store else None, Path(keys).expanduser() if keys else None


def _found(workspace: Workspace, address: NscUrl) -> tuple[Workspace, list[Claims]]:
    """Return the workspace of what is named, and the claims of each part."""
    operators = workspace.stores.names()
    known: dict[str, str] = {}
    for name in operators:
        one = workspace.stores.open(name).operator()
        known |= {alias.lower(): name for alias in (one.name, one.sub)}
    known |= {name.lower(): name for name in operators}
    operator = known.get(address.names[0].lower())
    if operator is None:
        raise NotFoundError(f"invalid operator {quote(address.names[0])}: not known to current system")
    found = workspace.with_operator(operator)
    store = found.store()
    claims: list[Claims] = [store.operator()]
    if len(address.names) > 1:
        name = _alike(address.names[1], {a: store.account(a) for a in store.accounts()}, "account")
        found = found.with_account(name)
        claims.append(store.account(name))
        if len(address.names) > 2:
            users = {u: store.user(name, u) for u in store.users(name)}
            claims.append(users[_alike(address.names[2], users, "user")])
    return found, claims


def _alike(text: str, known: dict[str, Any], kind: str) -> str:
    """Return the stored name for `text`: that name, the claims' name or a public key, in any case."""
    for name, one in known.items():
        if text.lower() in {name.lower(), one.name.lower(), one.sub.lower()}:
            return name
    raise NotFoundError(f"invalid {kind} {quote(text)}: {kind} was not found")


def _seed(workspace: Workspace, one: Claims, wanted: str) -> str:
    keys = [one.sub]
    if isinstance(one, OperatorClaims | AccountClaims):
        keys += sorted(one.nats.signing_keys)
    if wanted and wanted.upper() not in keys:
        raise NotFoundError(f"{quote(wanted)} was not found")
    for key in [wanted.upper()] if wanted else keys:
        if workspace.keystore.has(key):
            return workspace.keystore.get(key).seed
    raise NotFoundError(f"no seed was found for {quote(wanted or keys[0])}")
