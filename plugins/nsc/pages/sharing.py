"""Tables of what an account exports and imports."""

from __future__ import annotations

from ....keys import Export, IdentityError, Import
from ....keys.workspace.flag_values import date
from ..table import TextTable
from .parts import Names, one_line, yes

_EXPORTS = (
    "Name",
    "Type",
    "Subject",
    "Account Token Position",
    "Public",
    "Revocations",
    "Tracking",
    "Allow Trace",
)
_IMPORTS = ("Name", "Type", "Remote", "Local", "Expires", "From Account", "Public", "Allow Trace")


def exports(listed: list[Export]) -> str:
    """Return the table of exports, and their descriptions if they have some."""
    table = TextTable("Exports", _EXPORTS)
    for export in listed:
        service = export.type == "service"
        response = f" [{export.response_type}]" if export.response_type in {"Stream", "Chunked"} else ""
        table.row(
            export.name,
            export.type.title() + (response if service else ""),
            export.subject,
            export.account_token_position or "-",
            yes(not export.token_req),
            len(export.revocations),
            _tracking(export),
            yes(export.allow_trace) if service else "N/A",
        )
    described = [export for export in listed if export.description or export.info_url]
    if not described:
        return table.render()
    texts = TextTable("Exports - Descriptions", ("Name", "Description", "Info Url"))
    for export in described:
        texts.row(export.name, one_line(export.description), export.info_url)
    return f"{table.render()}\n{texts.render()}"


def imports(listed: list[Import], names: Names) -> str:
    """Return the table of imports."""
    table = TextTable("Imports", _IMPORTS)
    for item in listed:
        local, remote = item.local_subject, item.subject
        if item.type == "service" and item.to:
            local, remote = item.subject, item.to
        table.row(
            item.name,
            item.type.title(),
            remote,
            local,
            _expires(item),
            names(item.account),
            yes(not item.token),
            "N/A" if item.type == "service" else yes(item.allow_trace),
        )
    return table.render()


def _tracking(export: Export) -> str:
    if export.type != "service":
        return "N/A"
    latency = export.service_latency
    return f"{latency.results} ({latency.sampling}%)" if latency is not None else "-"


def _expires(item: Import) -> str:
    if not item.token:
        return ""
    try:
        return date(item.activation().exp)
    except IdentityError as error:
        return f"error decoding: {error}"
