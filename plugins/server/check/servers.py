"""`pyjs server check meta` and `server`: checks of a cluster and of one server through the system account."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from ....cli import render
from ....cli.connection import connect
from ....cli.errors import CliError
from ....cli.param import DURATION
from ..poll import poll
from .result import SECOND, Check, CheckResult, Decorator, checking

Info = dict[str, Any]
CERTIFICATES = ("", "cluster", "gateway", "leaf", "mqtt", "websocket")  # the parts of varz that have one


@checking("meta", "JetStream Meta Cluster")
@click.option("--expect", type=int, required=True, metavar="SERVERS", help="How many servers there are.")
@click.option("--lag-critical", "lag", type=int, required=True, metavar="OPS", help="Most operations behind.")
@click.option("--seen-critical", "seen", type=DURATION, required=True, help="Longest silence of a server.")
async def meta_group(result: CheckResult, expect: int, lag: int, seen: int) -> None:
    """Check the meta group of a cluster."""
    async with connect(quiet=True) as connection:
        try:
            answers = await poll(connection, "$SYS.REQ.SERVER.PING.JSZ", {"leader_only": True}, expect=1)
        except CliError as error:
            raise CliError(f"no answer of a meta leader: {error.message}") from None
    group = (answers[0].document.get("data") or {}).get("meta_cluster")
    if not group:
        result.critical("no cluster information")
        return
    if not group.get("leader"):
        result.critical("No leader")
        return
    peers = group.get("replicas") or []
    size = len(peers) + 1
    result.metric("peers", size, "Configured RAFT peers", warning=expect, critical=expect)
    if expect > 0 and size != expect:
        result.critical(f"{size} peers of expected {expect}")
    offline = sum(bool(peer.get("offline")) for peer in peers)
    behind = sum(not peer.get("current") for peer in peers)
    silent = sum(0 < seen < peer.get("active", 0) for peer in peers)
    lagged = sum(0 < lag < peer.get("lag", 0) for peer in peers)
    for name, count, text, words in (
        ("peer_offline", offline, "Offline RAFT peers", "offline"),
        ("peer_not_current", behind, "RAFT peers that are not current", "not current"),
        ("peer_inactive", silent, "Inactive RAFT peers", f"inactive more than {render.go_span(seen)}"),
        (
            "peer_lagged",
            lagged,
            "RAFT peers that are lagged more than configured threshold",
            f"lagged more than {lag} ops",
        ),
    ):
        result.metric(name, count, text)
        if count:
            result.critical(f"{count} {words}")
    if not result.criticals:
        result.ok(f"{size} peers led by {group['leader']}")


def _threshold(name: str, text: str) -> Decorator:
    def decorate(callback: Check) -> Check:
        critical = click.option(f"--{name}-critical", type=float, default=0, help=f"Critical: {text}.")
        return click.option(f"--{name}-warn", type=float, default=0, help=f"Warn: {text}.")(
            critical(callback)
        )

    return decorate


@checking("server")
@click.option("--name", required=True, help="The server.")
@_threshold("cpu", "CPU use in percent")
@_threshold("mem", "memory in bytes")
@_threshold("conn", "connections; critical below warn: too few")
@_threshold("subs", "subscriptions; critical below warn: too few")
@click.option("--uptime-warn", type=DURATION, default="0s", help="Warn: up for no longer than this.")
@click.option("--uptime-critical", type=DURATION, default="0s", help="Critical: up for no longer.")
@click.option("--auth-required", is_flag=True, help="Authentication has to be on.")
@click.option("--tls-required", is_flag=True, help="TLS has to be required.")
@click.option("--js-required", is_flag=True, help="JetStream has to be on.")
@click.option("--tls-cert-warn", type=DURATION, default="0s", help="Warn: a certificate ends this soon.")
@click.option("--tls-cert-crit", type=DURATION, default="0s", help="Critical: a certificate ends so soon.")
async def server(result: CheckResult, name: str, **limits: Any) -> None:
    """Check the load, the uptime and the settings of a server."""
    result.name = name
    async with connect(quiet=True) as connection:
        asked = {"server_name": name, "exact_match": True}
        try:
            answers = await poll(connection, "$SYS.REQ.SERVER.PING.VARZ", asked, expect=1)
        except CliError as error:
            raise CliError(f"varz failed: {error.message}") from None
    found: Info = answers[0].document.get("data") or {}
    if found.get("server_name") != name:
        result.critical(f'result from wrong server "{found.get("server_name", "")}"')
        return
    _settings(result, found, limits)
    _certificates(result, found, limits["tls_cert_warn"], limits["tls_cert_crit"])
    up = render.since(found.get("start", ""), found.get("now", ""))
    _uptime(result, up, limits["uptime_warn"], limits["uptime_critical"])
    warning, critical = limits["uptime_warn"] / SECOND, limits["uptime_critical"] / SECOND
    text = "NATS Server uptime in seconds"
    result.metric("uptime", up / SECOND, text, warning=warning, critical=critical, unit="s")
    for flag, key, title, text, unit in (
        ("cpu", "cpu", "CPU", "NATS Server CPU usage in percentage", "%"),
        ("mem", "mem", "Memory", "NATS Server memory usage in bytes", ""),
        ("conn", "connections", "Connections", "Active connections", ""),
        ("subs", "subscriptions", "Subscriptions", "Active subscriptions", ""),
    ):
        warning, critical, value = limits[f"{flag}_warn"], limits[f"{flag}_critical"], found.get(key, 0)
        result.metric(key, value, text, warning=warning, critical=critical, unit=unit)
        _load(result, title, value, warning, critical, inverts=flag in ("conn", "subs"))


def _settings(result: CheckResult, found: Info, wanted: Info) -> None:
    has_js = bool((found.get("jetstream") or {}).get("config"))
    for flag, there, text, absent in (
        ("js_required", has_js, "JetStream enabled", "JetStream not enabled"),
        ("tls_required", found.get("tls_required"), "TLS required", "TLS not required"),
        (
            "auth_required",
            found.get("auth_required"),
            "Authentication required",
            "Authentication not required",
        ),
    ):
        if wanted[flag]:
            (result.ok if there else result.critical)(text if there else absent)


def _uptime(result: CheckResult, up: int, warning: int, critical: int) -> None:
    text = f"Up {render.span(up)}"
    if warning <= 0 and critical <= 0:
        return
    if critical > warning:
        result.critical("Up invalid thresholds")
    elif up <= critical:
        result.critical(text)
    elif up <= warning:
        result.warning(text)
    else:
        result.ok(text)


def _load(
    result: CheckResult, title: str, value: float, warning: float, critical: float, *, inverts: bool
) -> None:
    """Check a number: too large, or, with critical below warning, too small."""
    text = f"{title} {value:.2f}"
    if not warning and not critical:
        return
    if critical >= warning:
        result.above(text, value, warning, critical)
    elif not inverts:
        result.critical(f"{title} invalid thresholds")
    elif value <= critical:
        result.critical(text)
    elif value <= warning:
        result.warning(text)
    else:
        result.ok(text)


def _certificates(result: CheckResult, found: Info, warning: int, critical: int) -> None:
    """Check when the certificates of a server expire."""
    if not warning and not critical:
        return
    known = [(part, (found.get(part) or {}) if part else found) for part in CERTIFICATES]
    ends = [(part or "server", each.get("tls_cert_not_after", "")) for part, each in known]
    dated = [(part, render.parse_time(text)) for part, text in ends]
    if not any(moment for _, moment in dated):
        result.critical("TLS certificate expiry thresholds configured but no TLS certificates found")
    now = render.parse_time(found.get("now", ""))
    for part, moment in dated:
        if moment is None or now is None:
            continue
        left = moment - now
        if left <= timedelta(0):
            result.critical(f"{part} TLS certificate expired (expired_at={moment})")
            continue
        text = f"{part} TLS certificate expires in {render.span(int(left.total_seconds()) * SECOND)}"
        if left <= timedelta(seconds=critical / SECOND):
            result.critical(text)
        elif left <= timedelta(seconds=warning / SECOND):
            result.warning(text)
        else:
            result.ok(text)
