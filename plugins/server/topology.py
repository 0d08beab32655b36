"""`pyjs server topology`: servers, clusters, leafs, domains and streams with their copies, as a picture.

Made from the answers of all servers that the system account sees. Promises: what is not known of the other
end of a link or of the origin of a copy is shown as unknown, not left out.
"""

from __future__ import annotations

from typing import Any

import click

from ...cli import render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from . import topology_drawings
from .poll import only, poll, selection
from .topology_model import CopyLink, StreamAsset, Topology, TopologyServer

Info = dict[str, Any]
FORMS = ("text", "mermaid", "svg", "json")


@click.command(cls=Command)
@click.argument("expect", required=False, type=click.IntRange(min=0), default=0)
@click.option("-o", "--output", "form", type=click.Choice(FORMS), default="text", help="How it is drawn.")
@click.option("--streams/--no-streams", default=True, help="Show Streams and their copies (default: yes).")
@only
async def topology(
    expect: int, form: str, streams: bool, host: str, cluster: str, tags: tuple[str, ...]
) -> None:
    """Show how servers, clusters and domains are joined, and where Streams are copied.

    Ends with EXPECT answers when it is given.
    """
    async with connect() as connection:
        found = await gathered(connection, selection(host, cluster, tags), expect, streams=streams)
    if form == "json":
        render.show_json(found.document())
    else:
        render.show(topology_drawings.FORMS[form](found))


async def gathered(connection: NatsConnection, asked: Info, expect: int, *, streams: bool) -> Topology:
    """Return what the servers tell of themselves and each other."""
    found = Topology()
    service = "$SYS.REQ.SERVER.PING."
    jsz = {**asked, "accounts": True, "streams": streams, "config": streams, "limit": 10_000}
    for each in await poll(connection, service + "JSZ", jsz, expect=expect):
        _add_server(found, each.document, streams=streams)
    for each in await poll(connection, service + "LEAFZ", asked, expect=expect):
        _add_leafs(found, each.document)
    for each in await poll(connection, service + "GATEWAYZ", asked, expect=expect):
        own = str(each.document["server"].get("cluster", ""))
        for other in (each.document.get("data") or {}).get("outbound_gateways") or {}:
            first, second = sorted((own, str(other)))
            found.gateways.add((first, second))
    found.servers.sort(key=lambda each: (each.domain, each.cluster, each.name))
    found.copies = sorted(set(found.copies), key=lambda each: (each.domain, each.target, each.origin))
    return found


def _add_server(found: Topology, document: Info, *, streams: bool) -> None:
    server, data = document["server"], document.get("data") or {}
    config = data.get("config") or {}
    domain = config.get("domain") or server.get("domain", "")
    member = TopologyServer(
        server.get("name", ""), server.get("cluster", ""), domain, bool(server.get("jetstream"))
    )
    found.servers.append(member)
    if not streams:
        return
    for account in data.get("account_details") or []:
        for detail in account.get("stream_detail") or []:
            _add_stream(found, member, str(account.get("name", "")), detail)


def _add_stream(found: Topology, member: TopologyServer, account: str, detail: Info) -> None:
    key = (member.domain, account, detail["name"])
    known = found.by_name.setdefault(key, StreamAsset(*key))
    known.servers.append(member.name)
    leader = (detail.get("cluster") or {}).get("leader", "")
    known.leader = leader or known.leader
    if leader in ("", member.name):
        known.messages = (detail.get("state") or {}).get("messages", 0)
    config = detail.get("config") or {}
    origins = [("mirror", config["mirror"])] if config.get("mirror") else []
    origins += [("source", each) for each in config.get("sources") or []]
    for kind, origin in origins:
        prefix = (origin.get("external") or {}).get("api", "")
        domain = domain_of(prefix) if prefix else member.domain
        found.copies.append(
            CopyLink(
                kind, account, domain, origin["name"], member.domain, known.name, "" if domain else prefix
            )
        )


def domain_of(prefix: str) -> str:
    """Return the domain that an API prefix such as `$JS.hub.API` is made of; empty if it is another one."""
    parts = prefix.split(".")
    return parts[1] if len(parts) == 3 and parts[0] == "$JS" and parts[2] == "API" else ""


def _add_leafs(found: Topology, document: Info) -> None:
    own = document["server"].get("name", "")
    for each in (document.get("data") or {}).get("leafs") or []:
        other = each.get("name") or f"{each.get('ip', '')}:{each.get('port', '')}"
        link = (own, other) if each.get("is_spoke") else (other, own)
        found.leafs.setdefault(link, set()).add(str(each.get("account", "")))
