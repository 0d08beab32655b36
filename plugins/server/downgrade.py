"""`pyjs server report downgrade`: the streams and consumers that a server of an older API level cannot have.

Each asset has the API level that its configuration requires in its metadata. The documents of all servers are
taken together, so that a stream counts once, wherever its replicas are.

Source: natscli, cli/server_report_command.go, downgradeCheckAction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ...cli import output
from ...cli.command import Command
from ...cli.output import NAME, NUMBER, Column, FilledTable, Table
from .archive import ARCHIVE, servers
from .poll import poll

Info = dict[str, Any]
LEVEL = "_nats.req.level"  # in the metadata of an asset
MOST_ACCOUNTS = 100_000
_DOMAIN = Column("domain", "Domain", NAME, optional=True)
_LEVEL = Column("api_level", "Required API level", NUMBER)
STREAMS = Table(
    "streams",
    "Assets: Streams",
    (Column("account", "Account", NAME), _DOMAIN, Column("name", "Stream", NAME), _LEVEL),
    empty="",
)
CONSUMERS = Table(
    "consumers",
    "Assets: Consumers",
    (
        Column("account", "Account", NAME),
        _DOMAIN,
        Column("stream", "Stream", NAME, show=lambda each: each["stream"] + "*" * each["of_stream"]),
        Column("name", "Consumer", NAME),
        _LEVEL,
    ),
    empty="",
)


@click.command(cls=Command)
@output.listing(STREAMS, CONSUMERS, legacy="as nats has it: empty lists are missing")
@click.argument("api", metavar="LEVEL", type=click.IntRange(min=0))
@click.option("--all", "everything", is_flag=True, help="Also Consumers of such Streams, marked with *.")
@ARCHIVE
async def downgrade(api: int, everything: bool) -> None:
    """List the Streams and Consumers that need a higher API level than LEVEL."""
    asked = dict.fromkeys(("accounts", "streams", "consumer", "config"), True)
    async with servers() as connection:
        answers = await poll(connection, "$SYS.REQ.SERVER.PING.JSZ", {**asked, "limit": MOST_ACCOUNTS})
    streams, consumers = incompatible((each.document for each in answers), api, everything=everything)
    show(streams, consumers, api)


def incompatible(documents: Iterable[Info], api: int, *, everything: bool) -> tuple[list[Info], list[Info]]:
    """Return the streams and the consumers that need more than `api`, each once.

    everything: also the consumers of such streams; `of_stream` says of each whether its stream is one.
    """
    streams: dict[tuple[str, ...], Info] = {}
    consumers: dict[tuple[str, ...], Info] = {}
    for document in documents:
        domain = str((document.get("server") or {}).get("domain", ""))
        for account in (document.get("data") or {}).get("account_details") or ():
            where = {"account": str(account.get("name", "")), "domain": domain}
            for stream in account.get("stream_detail") or ():
                name, level = str(stream.get("name", "")), _level(stream)
                if level > api:
                    key = (*where.values(), name)
                    streams[key] = {**where, "name": name, "api_level": level}
                for consumer in stream.get("consumer_detail") or ():
                    needs = _level(consumer)
                    if needs > api or (everything and level > api):
                        key = (*where.values(), name, str(consumer.get("name", "")))
                        consumers[key] = {
                            **where, "stream": name, "name": key[-1], "api_level": needs,
                            "of_stream": everything and level > api,
                        }  # fmt: skip
    return [streams[key] for key in sorted(streams)], [consumers[key] for key in sorted(consumers)]


def _level(asset: Info) -> int:
    """Return the level that an asset requires; 0 if its metadata does not say one."""
    text = str(((asset.get("config") or {}).get("metadata") or {}).get(LEVEL, ""))
    return int(text) if text.isascii() and text.isdigit() else 0


def show(streams: list[Info], consumers: list[Info], api: int) -> None:
    """Show what was found; `--json` is as `nats` has it."""
    legacy = {
        "streams": [_legacy(each) for each in streams],
        "consumers": [_legacy(each) for each in consumers],
    }
    tables: tuple[FilledTable, FilledTable] = (STREAMS.of(streams), CONSUMERS.of(consumers))
    nothing = (
        "" if streams or consumers else f"All Streams and Consumers are compatible with API level {api}.\n"
    )
    output.show(*tables, document={name: each for name, each in legacy.items() if each}, text=nothing)


def _legacy(found: Info) -> Info:
    shown = {name: value for name, value in found.items() if name not in ("domain", "of_stream")}
    return shown | ({"stream": found["stream"] + "*" * found["of_stream"]} if "stream" in found else {})
