"""`pyjs account info`: the user, the connection, the permissions, and the limits of JetStream."""

from __future__ import annotations

import time
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RemoteError
from ...cli.jetstream import NOT_ENABLED
from ...cli.user import user_info
from ..stream.info import plain

Info = dict[str, Any]
Pairs = list[tuple[str, object]]
WIDTH = 38
SECONDS = 1.0  # servers before 2.10 do not report the user


@click.command(cls=Command)
@output.showing("account_info")
async def info() -> None:
    """Show the account, the connection, the permissions and JetStream's limits."""
    async with connect() as connection:
        user: Info = (await user_info(connection, SECONDS)).get("data") or {}
        begin = time.perf_counter_ns()
        await connection.nc.flush(connection.timeout)
        rtt = (time.perf_counter_ns() - begin) // 1000 * 1000
        lines = ["Account Information", "", render.fields(_connection(connection, user, rtt), WIDTH), ""]
        lines += _permissions(user.get("permissions") or {})
        found, lacking = await _jetstream(connection)
        document = {"user": user, "url": connection.url, "rtt": rtt, "server": connection.greeting}
    lines += _limits(found) if found else [lacking]
    output.show_page({**document, "jetstream": found}, "\n".join(lines), name=str(user.get("account", "")))


def _connection(connection: NatsConnection, user: Info, rtt: int) -> Pairs:
    said = connection.greeting
    rows: Pairs = []
    if user:
        name, account = user.get("user_name"), user.get("account_name")
        rows.append(("User", f"{name} ({user.get('user', '')})" if name else user.get("user", "")))
        shown = f"{account} ({user.get('account', '')})" if account else user.get("account", "")
        rows.append(("Account", shown))
        rows.append(("Expires", render.span(user["expires"]) if user.get("expires") else "never"))
    rows += [
        ("Client ID", said.get("client_id", "")),
        ("Client IP", said.get("client_ip", "")),
        ("RTT", render.go_span(rtt)),
        ("Headers Supported", "true" if said.get("headers") else "false"),
        ("Maximum Payload", render.size(connection.nc.max_payload)),
    ]
    if said.get("cluster"):
        rows.append(("Connected Cluster", said["cluster"]))
    rows += [
        ("Connected URL", connection.url),
        ("Connected Server ID", said.get("server_id", "")),
        ("Connected Server Version", said.get("version", "")),
        ("Connected Server Name", said.get("server_name", "")),
    ]
    writer = getattr(connection.nc._transport, "_io_writer", None)  # nats-py has no public way to get it
    secured = writer.get_extra_info("ssl_object") if writer is not None else None
    if secured is None:
        rows.append(("TLS Connection", "no"))
    else:
        cipher, version, _ = secured.cipher()
        rows.append(("TLS Version", f"{version} using {cipher}"))
    return rows


def _permissions(found: Info) -> list[str]:
    lines: list[str] = []
    for title, key in (("Publish", "publish"), ("Subscribe", "subscribe")):
        side = found.get(key) or {}
        rows: Pairs = []
        for label, name in (("Allow", "allow"), ("Deny", "deny")):
            subjects = sorted(side.get(name) or [])
            rows += [("" if place else label, subject) for place, subject in enumerate(subjects)]
        if rows:
            lines += [f"{title} Permissions:", "", render.fields(rows, WIDTH), ""]
    return lines


async def _jetstream(connection: NatsConnection) -> tuple[Info | None, str]:
    """Return what JetStream says of the account, or None and why it says nothing."""
    lacking = "   JetStream is not supported in this account"
    try:
        return plain(await connection.js.request("INFO")), ""
    except RemoteError as error:
        return None, lacking if error.err_code == NOT_ENABLED else f"   JetStream: {error.message}"
    except CliError as error:
        return None, lacking if "no responders" in error.message else "   No response from JetStream server"


def _limits(found: Info) -> list[str]:
    """Return the lines of the page about JetStream."""
    domain = found.get("domain", "")
    usage: Pairs = [
        ("Storage", render.size(found.get("storage", 0))),
        ("Memory", render.size(found.get("memory", 0))),
        ("Streams", render.number(found.get("streams", 0))),
        ("Consumers", render.number(found.get("consumers", 0))),
    ]
    title = (
        f"JetStream Account Information for domain {domain}" if domain else "JetStream Account Information"
    )
    lines = [f"{title}:", "", "Account Usage:", "", render.fields(usage, WIDTH), ""]
    tiers = found.get("tiers") or {"Default": found}
    for name, tier in sorted(tiers.items()):
        heading = "Account Limits" if name == "Default" else f"Account Limits of Tier {name}"
        lines += [f"{heading}:", "", render.fields(_tier(tier), WIDTH), ""]
    return lines


def _tier(tier: Info) -> Pairs:
    limits = tier.get("limits") or {}
    consumers = limits.get("max_consumers", -1)
    return [
        ("Stream Requires Max Bytes Set", "true" if limits.get("max_bytes_required") else "false"),
        ("Consumer Maximum Ack Pending", _unlimited(limits.get("max_ack_pending", 0), 0, render.number)),
        ("Memory", _of(tier, "memory", "reserved_memory", limits.get("max_memory", -1))),
        ("Memory Per Stream", _unlimited(limits.get("memory_max_stream_bytes", 0), 0, render.size)),
        ("Storage", _of(tier, "storage", "reserved_storage", limits.get("max_storage", -1))),
        ("Storage Per Stream", _unlimited(limits.get("storage_max_stream_bytes", 0), 0, render.size)),
        (
            "Streams",
            f"{render.number(tier.get('streams', 0))} of "
            + _unlimited(limits.get("max_streams", -1), -1, render.number),
        ),
        (
            "Consumers",
            "Unlimited" if consumers == -1 else f"Maximum {render.number(consumers)} per stream",
        ),
    ]


def _of(tier: Info, used: str, reserved: str, limit: int) -> str:
    """Return how much of a kind of storage is used, the limit, and how much is reserved."""
    text = f"{render.size(tier.get(used, 0))} of {_unlimited(limit, -1, render.size)}"
    return text + (f" ({render.size(tier[reserved])} reserved)" if tier.get(reserved) else "")


def _unlimited(value: int, most: int, shown: Any) -> str:
    """Return a limit in words; a value up to `most` means unlimited."""
    return "Unlimited" if value <= most else str(shown(value))
