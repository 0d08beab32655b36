"""Checks of TLS blocks: the files exist and can be loaded, and no option excludes another."""

from __future__ import annotations

from pathlib import Path

from ..ocsp_peer import PeerRules
from ..options import Options, TLSOptions
from ..read.context import ReadContext


def blocks(options: Options) -> list[tuple[str, TLSOptions, bool]]:
    """Return every TLS block with its path, and whether it needs a certificate because it listens."""
    found: list[tuple[str, TLSOptions | None, bool]] = [
        ("tls", options.tls, True),
        ("leafnodes.tls", options.leafnodes.tls, True),
        ("resolver_tls", options.resolver_tls, False),
    ]
    for index, remote in enumerate(options.leafnodes.remotes):
        found.append((f"leafnodes.remotes.{index}.tls", remote.tls, False))
    for name in ("cluster", "gateway", "websocket", "mqtt"):
        block = getattr(options, name)
        if block is not None:
            found.append((f"{name}.tls", block.tls, True))
    if options.gateway is not None:
        for index, peer in enumerate(options.gateway.gateways):
            found.append((f"gateway.gateways.{index}.tls", peer.tls, False))
    return [(path, tls, listens) for path, tls, listens in found if tls is not None]


def check(options: Options, context: ReadContext) -> None:
    """Check every TLS block. Its certificates are loaded once to see that they can be."""
    for path, tls, listens in blocks(options):
        before = len(context.problems)
        _shape(context, path, tls, listens=listens)
        if len(context.problems) == before:
            _load(context, path, tls, listens=listens)


def _shape(context: ReadContext, path: str, tls: TLSOptions, *, listens: bool) -> None:
    where = context.positions
    at = where.get(path)
    if tls.certs and (tls.cert_file or tls.key_file):
        context.error(at, "error parsing tls config, cannot combine 'cert_file' option with 'certs' option")
    if tls.cert_file and not tls.key_file:
        context.error(at, "missing 'key_file' in TLS configuration")
    if tls.key_file and not tls.cert_file:
        context.error(at, "missing 'cert_file' in TLS configuration")
    if listens and not tls.cert_file and not tls.certs and not tls.cert_store:
        context.error(at, "a listener's TLS needs cert_file and key_file")
    if tls.cert_store:
        context.error(where.get(f"{path}.cert_store"), "certificate stores exist on Windows only")
    if tls.verify_known_urls and path not in ("cluster.tls", "gateway.tls"):
        context.error(
            where.get(f"{path}.verify_known_urls"),
            "verify_cert_and_check_known_urls is for cluster and gateway only",
        )
    if PeerRules.of(tls.ocsp_peer) is not None and listens and not (tls.verify or tls.verify_and_map):
        context.error(
            where.get(f"{path}.ocsp_peer", at),
            "OCSP peer verification for client connections requires TLS verify (mTLS) to be enabled",
        )
    for name in ("cert_file", "key_file", "ca_file"):
        _readable(context, getattr(tls, name), f"{path}.{name}")
    for index, pair in enumerate(tls.certs):
        for name in ("cert_file", "key_file"):
            if not getattr(pair, name):
                context.error(
                    where.get(f"{path}.certs.{index}"), f"certs needs cert_file and key_file: no {name}"
                )
            _readable(context, getattr(pair, name), f"{path}.certs.{index}.{name}")


def _readable(context: ReadContext, file: str, path: str) -> None:
    if not file:
        return
    try:
        with Path(file).open("rb"):
            pass
    except OSError as error:
        context.error(context.positions.get(path), f"cannot open {file}: {error.strerror or error}")


def _load(context: ReadContext, path: str, tls: TLSOptions, *, listens: bool) -> None:
    from ..tls import TLSConfigError, client_context, server_context

    try:
        if listens:
            server_context(tls)
        else:
            client_context(tls)
    except TLSConfigError as error:
        context.error(
            context.positions.get(f"{path}.{error.option}", context.positions.get(path)), str(error)
        )
