"""A configuration without tokens: accounts with their users' public keys, exports and imports.

Users keep their permissions; those with a scoped signing key get its template's. Limits, mappings,
revocations and JetStream are not included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....protocol.duration import format_go
from ...claims import AccountClaims, Export, Import, Permissions, UserClaims, subjects
from ...errors import IdentityError, WorkspaceError
from ...scope import TemplateError, apply_template
from ..report import quote
from ..workspace import Workspace

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.*>-]*")
_SYSTEM = "$SYS."  # what a server itself exports from its system account
_WORDS = {"true", "false", "on", "off", "yes", "no", "include", "nil"}


def nkeys(workspace: Workspace) -> str:
    """Return the configuration of the current operator's accounts.

    Raises WorkspaceError without accounts, or for an import from an account that is not in the store.
    """
    store = workspace.store()
    accounts = [store.account(name) for name in store.accounts()]
    if not accounts:
        raise WorkspaceError(f"operator {quote(store.name)} has no accounts")
    names = {claims.sub: claims.name for claims in accounts}
    system = store.operator().nats.system_account
    lines = [f"system_account: {_word(names[system])}"] if system in names else []
    lines.append("accounts: {")
    for claims, name in zip(accounts, store.accounts(), strict=True):
        users = [store.user(name, user) for user in store.users(name)]
        lines.append(f"  {_word(claims.name)}: {{")
        lines += _list("users", (_user(user, claims) for user in users))
        exports = [
            e for e in claims.nats.exports if claims.sub != system or not e.subject.startswith(_SYSTEM)
        ]
        lines += _list("exports", (_export(export, claims, accounts) for export in exports))
        lines += _list("imports", (_import(item, names) for item in claims.nats.imports))
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _list(name: str, entries: Iterator[str]) -> list[str]:
    found = [f"      {entry}" for entry in entries]
    return [f"    {name}: [", *found, "    ]"] if found else []


def _user(user: UserClaims, account: AccountClaims) -> str:
    allowed: Permissions = user.nats
    scope = account.scope(user.iss)
    if scope is not None:
        try:
            allowed = apply_template(scope.template, user, account)
        except TemplateError as error:
            raise WorkspaceError(f"user {quote(user.name)}: {error}") from None
    if allowed.unrestricted:
        allowed = account.nats.default_permissions
    if allowed.unrestricted:
        return f"{{ nkey: {user.sub} }}"
    return f"{{ nkey: {user.sub}, permissions: {_permissions(allowed)} }}"


def _permissions(allowed: Permissions) -> str:
    parts = []
    for word, one in (("publish", allowed.pub), ("subscribe", allowed.sub)):
        lists = [
            f"{kind}: {_subjects(found)}"
            for kind, found in (("allow", one.allow), ("deny", one.deny))
            if found
        ]
        parts += [f"{word}: {{ {', '.join(lists)} }}"] if lists else []
    if allowed.resp is not None:
        parts.append(
            f"allow_responses: {{ max: {allowed.resp.max}, expires: {quote(format_go(allowed.resp.ttl))} }}"
        )
    return f"{{ {', '.join(parts)} }}"


def _export(export: Export, exporter: AccountClaims, accounts: list[AccountClaims]) -> str:
    parts = [f"{export.type}: {_word(export.subject)}"]
    if export.token_req:
        granted = [claims.name for claims in accounts if _granted(export, exporter, claims)]
        parts.append(f"accounts: [{','.join(_word(name) for name in granted)}]")
    if export.type == "service" and export.response_type not in {"", "Singleton"}:
        parts.append(f"response_type: {export.response_type}")
    if export.account_token_position:
        parts.append(f"account_token_position: {export.account_token_position}")
    return f"{{ {', '.join(parts)} }}"


def _granted(export: Export, exporter: AccountClaims, importer: AccountClaims) -> bool:
    """Return whether an account imports from a private export with its own activation."""
    for item in importer.nats.imports:
        if item.account != exporter.sub or item.type != export.type or not item.token:
            continue
        try:
            mine = item.activation().sub == importer.sub
        except IdentityError:
            continue
        if mine and subjects.contained(item.remote, export.subject):
            return True
    return False


def _import(item: Import, names: dict[str, str]) -> str:
    if item.account not in names:
        raise WorkspaceError(
            f"unable to resolve account {quote(item.account)} in import under current operator"
        )
    source = f"{{ account: {_word(names[item.account])}, subject: {_word(item.remote)} }}"
    target = ""
    if item.local_subject:
        target = f", to: {_word(item.local_subject)}"
    elif item.to and item.type == "stream":
        target = f", prefix: {_word(item.to)}"
    elif item.to:
        target = f", to: {_word(item.subject)}"
    return f"{{ {item.type}: {source}{target} }}"


def _subjects(listed: list[str]) -> str:
    return f"[{', '.join(_word(subject) for subject in listed)}]"


def _word(text: str) -> str:
    """Return a name or subject as a value, quoted if the syntax would read it as something else."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if plain else quote(text)
