"""Exports and imports of a store's accounts as a PlantUML component diagram, in the words of nsc."""

from __future__ import annotations

from ...claims import AccountClaims, Export, Import, Issues
from ...claims.subjects import contained
from ...folders.store import OperatorStore
from .uml import RENAMED, Uml

_HEAD = """@startuml
skinparam component {
	ArrowFontName Arial
	ArrowFontColor #636363
    ArrowSize 10pt
}
skinparam interface {
    backgroundColor<<not-found public service>> Red
    backgroundColor<<not-found private service>> Red
    backgroundColor<<not-found public stream>> Red
    backgroundColor<<not-found private stream>> Red
}
"""
_DEPRECATED = "the field to has been deprecated"


def component_uml(store: OperatorStore, now: int, *, detail: bool = False) -> str:
    """Return the text of the diagram, for PlantUML.

    detail: whether it has descriptions.
    now: ns.

    Raises FolderError.
    """
    accounts = {claims.sub: claims for claims in map(store.account, store.accounts())}
    uml = Uml()
    uml.line(_HEAD)
    uml.line(f"title Component Diagram of Accounts - Operator {store.operator().name}")
    for claims in accounts.values():
        _exports(uml, claims, detail=detail)
    for claims in accounts.values():
        for item in claims.nats.imports:
            _import(uml, claims, item, accounts)
    uml.line(f'legend\n"{RENAMED}X", the imported subject is rewritten to X\nend legend')
    return uml.end(store.folder, now)


def subjects_of(item: Import) -> tuple[str, str]:
    """Return the (local, remote) subjects of an import, as its owner wrote them."""
    if item.local_subject:
        return item.local_subject, item.subject
    if item.type == "service":
        return item.subject, item.to or item.subject
    return item.to or item.subject, item.subject


def _exports(uml: Uml, claims: AccountClaims, *, detail: bool) -> None:
    body = claims.nats
    if not body.imports and not body.exports:
        return
    uml.line(f"component [{claims.name}] as {claims.sub} <<account>>")
    if detail:
        uml.note(claims.sub, body.description, body.info_url)
    for export in body.exports:
        label = _id(claims.sub, export)
        uml.line(f'interface "{export.name or export.subject}" << {_kind(export)} >> as {label}')
        uml.line(f'{label} -- {claims.sub} : ""{_escaped(export.subject)}"""')
        if detail:
            uml.note(label, export.description, export.info_url)
        found = Issues()
        export.check(found)
        _issues(uml, label, claims.name, [issue.text for issue in found])
    uml.line("")


def _import(uml: Uml, importer: AccountClaims, item: Import, accounts: dict[str, AccountClaims]) -> None:
    local, remote = subjects_of(item)
    exporter = accounts.get(item.account)
    export = next(
        (
            offered
            for offered in (exporter.nats.exports if exporter is not None else [])
            if offered.type == item.type and contained(remote, offered.subject)
        ),
        None,
    )
    wanted = export or Export(subject=remote, type=item.type, token_req=bool(item.token))
    label = _id(item.account, wanted)
    if export is None:
        uml.line(f'interface " " << not-found {_kind(wanted)} >> as {label}')
    renamed = f' "{RENAMED}{local}"' if local != remote else ""
    uml.line(f'{importer.sub}{renamed} ..> {label} : "{_escaped(remote)}"')
    found = Issues()
    item.check(importer.sub, found)
    if wanted.token_req and not item.token:
        found.error("Export is private but no activation token")
    elif item.token and not wanted.token_req:
        found.error("Export is public but import has activation token")
    if exporter is None:
        found.error(f"Exporting account not present: {item.account}")
    _issues(uml, label, importer.name, [issue.text for issue in found])


def _issues(uml: Uml, label: str, name: str, issues: list[str]) -> None:
    if not issues or (len(issues) == 1 and issues[0].startswith(_DEPRECATED)):
        return
    uml.line(f"note left of {label}\n")
    uml.line(f"** Validation Issues by {name}**\n")
    for text in issues:
        if not text.startswith(_DEPRECATED):
            uml.line(f"* {text}\n")
    uml.line("end note")


def _kind(export: Export) -> str:
    return f"{'private' if export.token_req else 'public'} {export.type or 'n/a'}"


def _id(account: str, export: Export) -> str:
    name = (export.name or export.subject).replace(" ", "_")
    for char, word in (("*", "_A_"), (">", "_G_"), ("$", "_D_"), ("-", "_M_")):
        name = name.replace(char, word)
    return f"{account}_{name}"


def _escaped(subject: str) -> str:
    """Return the text with a space before a leading star, which would mean something to PlantUML."""
    return f" {subject}" if subject.startswith("*") else subject
