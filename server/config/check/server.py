"""Checks of the server's own options: limits, times, monitoring, JetStream."""

from __future__ import annotations

from pathlib import Path

from ..feature_flags import KNOWN_FLAGS
from ..options import SECOND, Options
from ..read.context import ReadContext

_LARGE_PAYLOAD = 8 * 1024 * 1024
_NOT_IN_DOMAINS = " .*>\t\r\n"


def check(options: Options, context: ReadContext) -> None:
    """Check the server's own options, and set those that follow from others."""
    if options.trace_verbose or options.trace_headers:
        options.trace = True
    _times(options, context)
    _sizes(options, context)
    _monitoring(options, context)
    _jetstream(options, context)


def _times(options: Options, context: ReadContext) -> None:
    where = context.positions
    if options.authorization.timeout is not None:
        options.auth_timeout = options.authorization.timeout
    elif options.tls is not None:
        options.auth_timeout = options.tls.timeout + SECOND
    if options.lame_duck_grace_period >= options.lame_duck_duration:
        context.error(
            where.get("lame_duck_grace_period") or where.get("lame_duck_duration"),
            "lame_duck_grace_period must be less than lame_duck_duration",
        )


def _sizes(options: Options, context: ReadContext) -> None:
    where = context.positions
    if options.max_payload > options.max_pending:
        context.error(
            where.get("max_payload") or where.get("max_pending"),
            f"max_payload ({options.max_payload}) cannot be higher than max_pending ({options.max_pending})",
        )
    for name in ("max_payload", "max_control_line", "max_pending"):
        if getattr(options, name) < 0:
            context.error(where.get(name), f"{name} must be positive, or 0 for the default")
    if options.max_payload > _LARGE_PAYLOAD:
        # A notice at start, not a warning: `-t` passes with it, as in nats-server.
        options.notices.append(
            "Maximum payloads over 8.00 MB are generally discouraged and could lead to poor performance: "
            f"{options.max_payload}"
        )
    unknown = sorted(set(options.feature_flags).difference(KNOWN_FLAGS))
    options.notices.extend(f'Unknown feature flag "{name}" is ignored' for name in unknown)


def _monitoring(options: Options, context: ReadContext) -> None:
    where = context.positions
    if options.http_port is not None and options.https_port is not None:
        context.error(where.get("https_port"), "can't specify both HTTP (http) and HTTPs (https) ports")
    if options.https_port is not None and options.tls is None:
        context.error(where.get("https_port"), "TLS cert and key required for HTTPS", "add a tls block")
    base = options.http_base_path or "/"
    options.http_base_path = "/" + base.strip("/")


def _jetstream(options: Options, context: ReadContext) -> None:
    where = context.positions
    jetstream = options.jetstream
    if "store_dir" in where and "jetstream.store_dir" in where:
        context.error(where.get("jetstream.store_dir"), "Duplicate 'store_dir' configuration")
    jetstream.store_dir = jetstream.store_dir or options.store_dir
    if jetstream.enabled and not jetstream.store_dir:
        jetstream.store_dir = str(Path(context.environment.get("TMPDIR") or "/tmp") / "nats")  # noqa: S108 as nats-server
    if "jetstream.key" in where and not jetstream.key:
        context.error(
            where["jetstream.key"], "jetstream.key is empty: the files would be written in the clear"
        )
    if any(c in jetstream.domain for c in _NOT_IN_DOMAINS):
        context.error(
            where.get("jetstream.domain"),
            "invalid domain name: may not contain ., *, > or blanks",
            f"got {jetstream.domain!r}",
        )
    clustered = options.gateway is not None or (
        options.cluster is not None and options.cluster.port is not None
    )
    if jetstream.enabled and clustered and options.cluster is not None:
        if not options.server_name:
            context.error(where.get("jetstream"), "jetstream cluster requires `server_name` to be set")
        if not options.cluster.name:
            context.error(where.get("jetstream"), "jetstream cluster requires `cluster.name` to be set")
        if not options.cluster.routes and not any(remote.account for remote in options.leafnodes.remotes):
            context.error(
                where.get("cluster"),
                "JetStream cluster requires configured routes or solicited leafnode for the system account",
            )
        if options.no_system_account:
            context.error(where.get("no_system_account"), "JetStream cluster requires a system account")
    system = options.system_account or "$SYS"
    if system in options.default_js_domain:
        context.error(
            where.get("default_js_domain"), f"system account {system!r} is not allowed in default_js_domain"
        )
