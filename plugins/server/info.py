"""`pyjs server info`: everything about one server."""

from __future__ import annotations

import re
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection
from ...cli.errors import NotFoundError, UsageError, close_matches
from ...cli.proposal import in_hint
from .archive import ARCHIVE, ServerArchive, Source, servers
from .poll import poll

Info = dict[str, Any]
Pairs = list[tuple[str, object]]
WIDTH = 30
IDENTIFIER = re.compile(r"[A-Z0-9]{56}")


@click.command(cls=Command)
@output.showing("varz")
@click.argument("name", metavar="[SERVER]", required=False, default="")
@ARCHIVE
async def info(name: str) -> None:
    """Show a server: the one of this name or id, or the one connected to."""
    async with servers() as connection:
        if not name and isinstance(connection, ServerArchive):
            raise UsageError("which server?", "name one of those that 'server list --archive' shows")
        found = await one(connection, name or _own(connection))
    output.show_page(found, text(found), name=str(found.get("server_name", "")))


def text(found: Info) -> str:
    """Return the page of a server from its statistics (varz)."""
    name, identifier = found.get("server_name", ""), found.get("server_id", "")
    shown = identifier if name == identifier else f"{name} ({identifier})"
    lines = [render.fitting(f"Server information for {shown}"), ""]
    for title, pairs in _sections(found):
        lines += [f"{title}:", "", render.fields(pairs, WIDTH), ""]
    return "\n".join(lines)


def _own(connection: Source) -> str:
    return str(connection.greeting.get("server_id", "")) if isinstance(connection, NatsConnection) else ""


async def one(connection: Source, wanted: str) -> Info:
    """Return the statistics of the server with this name or id. Raises CliError if none answers to it."""
    if IDENTIFIER.fullmatch(wanted):
        answers = await poll(connection, f"$SYS.REQ.SERVER.{wanted}.VARZ", expect=1)
        return answers[0].document.get("data") or {}
    every = await poll(connection, "$SYS.REQ.SERVER.PING.VARZ")
    known = {each.document["server"].get("name", ""): each.document.get("data") or {} for each in every}
    if wanted not in known:
        raise NotFoundError(
            f'no server answers to the name "{wanted}"',
            close_matches(wanted, known) or f"see {in_hint('server list')}",
        )
    return known[wanted]


def _sections(found: Info) -> list[tuple[str, Pairs]]:
    sections: list[tuple[str, Pairs]] = [
        ("Process Details", _process(found)),
        ("Connection Details", _where(found)),
    ]
    jetstream = found.get("jetstream") or {}
    if (jetstream.get("config") or {}).get("store_dir"):
        sections.append(("JetStream", _jetstream(jetstream)))
    sections += [("Limits", _limits(found)), ("Statistics", _statistics(found))]
    more = [("Cluster", _cluster(found)), ("Leafnodes", _links(found))]
    return sections + [(title, rows) for title, rows in more if rows]


def _process(found: Info) -> Pairs:
    rows: Pairs = [("Version", found.get("version", ""))]
    if found.get("git_commit"):
        rows.append(("Git Commit", found["git_commit"]))
    rows += [
        ("Runtime", found.get("go", "")),
        ("Start Time", render.when(found.get("start", ""))),
        ("Configuration Load Time", render.when(found.get("config_load_time", ""))),
    ]
    if found.get("config_digest"):
        rows.append(("Configuration Digest", found["config_digest"]))
    return [*rows, ("Uptime", found.get("uptime", ""))]


def _where(found: Info) -> Pairs:
    rows: Pairs = [
        ("Auth Required", _word(found.get("auth_required"))),
        ("TLS Required", _word(found.get("tls_required"))),
        ("Host", f"{found.get('host', '')}:{found.get('port', '')}"),
    ]
    for label, key in (("Client URLs", "connect_urls"), ("WebSocket URLs", "ws_connect_urls")):
        rows += [("" if position else label, url) for position, url in enumerate(found.get(key) or [])]
    return rows


def _word(value: object) -> str:
    return "true" if value else "false"


def _jetstream(found: Info) -> Pairs:
    config, stats, limits = (found.get(key) or {} for key in ("config", "stats", "limits"))
    api = stats.get("api") or {}
    rows: Pairs = [
        ("Domain", config.get("domain", "")),
        ("API Support Level", api.get("level", 0)),
        ("Storage Directory", config["store_dir"]),
        ("Active Accounts", render.number(stats.get("accounts", 0))),
        ("Memory In Use", render.size(stats.get("memory", 0))),
        ("File In Use", render.size(stats.get("storage", 0))),
        ("API Requests", render.number(api.get("total", 0))),
        ("API Errors", render.number(api.get("errors", 0))),
    ]
    if config.get("sync_interval"):
        rows.append(("Always sync writes to disk", _word(config.get("sync_always"))))
        rows.append(("Write sync Frequency", render.go_span(config["sync_interval"])))
    rows.append(("Maximum Memory Storage", render.size(config.get("max_memory", 0))))
    rows.append(("Maximum File Storage", render.size(config.get("max_storage", 0))))
    if config.get("unique_tag"):
        rows.append(("Unique Tag", config["unique_tag"]))
    for label, key in (
        ("Maximum HA Assets", "max_ha_assets"),
        ("Maximum Ack Pending", "max_ack_pending"),
        ("Maximum Request Batch", "max_request_batch"),
    ):
        rows.append((label, render.limit(limits.get(key, 0))))
    window = limits.get("duplicate_window", 0)
    rows.append(("Maximum Duplicate Window", render.go_span(window) if window else "unlimited"))
    return [*rows, ("Strict API Parsing", _word(config.get("strict")))]


def _limits(found: Info) -> Pairs:
    return [
        ("Maximum Connections", render.number(found.get("max_connections", 0))),
        ("Maximum Subscriptions", render.limit(found.get("max_subscriptions", 0))),
        ("Maximum Payload", render.size(found.get("max_payload", 0))),
        ("TLS Timeout", f"{found.get('tls_timeout', 0):g}s"),
        ("Write Deadline", render.go_span(found.get("write_deadline", 0))),
    ]


def _statistics(found: Info) -> Pairs:
    return [
        ("CPU Cores", f"{found.get('cores', 0)} {found.get('cpu', 0):.2f}%"),
        ("Memory", render.size(found.get("mem", 0))),
        ("Connections", render.number(found.get("connections", 0))),
        ("Subscriptions", render.number(found.get("subscriptions", 0))),
        (
            "Messages",
            f"{render.number(found.get('in_msgs', 0))} in {render.number(found.get('out_msgs', 0))} out",
        ),
        ("Bytes", f"{render.size(found.get('in_bytes', 0))} in {render.size(found.get('out_bytes', 0))} out"),
        ("Slow Consumers", render.number(found.get("slow_consumers", 0))),
    ]


def _cluster(found: Info) -> Pairs:
    """Return the cluster address of a server; nothing for a single server."""
    cluster = found.get("cluster") or {}
    if not cluster.get("cluster_port"):
        return []
    host = f"{cluster.get('addr', '')}:{cluster['cluster_port']}"
    rows: Pairs = [("Name", str(cluster.get("name", ""))), ("Host", host)]
    urls = enumerate(cluster.get("urls") or [])
    rows += [("" if position else "URLs", str(url)) for position, url in urls]
    return [*rows, ("Routes", render.number(found.get("routes", 0)))]


def _links(found: Info) -> Pairs:
    """Return the accepted and solicited leaf connections; nothing for a server without either."""
    leaf = found.get("leaf") or {}
    rows: Pairs = []
    if leaf.get("port"):
        rows.append(("Listens on", f"{leaf.get('host', '')}:{leaf['port']}"))
    for remote in leaf.get("remotes") or []:
        account = f" ({remote['local_account']})" if remote.get("local_account") else ""
        rows += [("Remote", url + account) for url in remote.get("urls") or []]
    if rows:
        rows.append(("Connected", render.number(found.get("leafnodes", 0))))
    return rows
