"""What the configuration may ask for but this server does not do yet.

`warn`: the server starts without it and logs one line. `refuse`: that would be unsafe, so the server does not
start. When you add support for an option, delete its row. The tests read this table.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import MISSING, Field
from typing import Any, NamedTuple

from ...protocol.lazy_dataclass import declared
from .certificate import demands_staple
from .check.tls import blocks
from .options import Options
from .tree import ConfigProblem, SourcePosition


class UnsupportedOption(NamedTuple):
    """An option that is not supported.

    path: dotted, with `*` for each item of a list or map.
    action: "warn" or "refuse".
    why: the reason, for the log.
    served: values that ask for nothing missing. If given, any other value that is written counts, even the
        default.
    """

    path: str
    action: str
    why: str
    served: tuple[object, ...] = ()


_NO_TPM = "TPM functionality is not supported on this platform"
_CLIENTS_ONLY = "only TLS handshakes of the listener for clients are limited, as in nats-server"
_NO_OCSP = (
    "only listeners for clients and leaf nodes check by OCSP, so revoked certificates would be accepted; "
    "use short-lived certificates, or pinned_certs"
)
_NO_STAPLES = (
    "Python's ssl cannot send OCSP answers in a handshake, so none can be stapled; `ocsp: false` does without"
)
_MEMORY = ({"enabled": False}, {"enabled": True}, {"enabled": True, "type": "none"})
_NO_CHECK = ({"enabled": False}, {"enabled": True, "verify": False})
_LEAF_SCHEMES = ("nats-leaf", "leaf", "nats", "tls", "ws", "wss")

UNSUPPORTED: tuple[UnsupportedOption, ...] = (
    UnsupportedOption("jetstream.tpm", "refuse", _NO_TPM),
    UnsupportedOption("leafnodes.remotes.*.tls.ocsp_peer", "refuse", _NO_OCSP, _NO_CHECK),
    UnsupportedOption("cluster.tls.ocsp_peer", "refuse", _NO_OCSP, _NO_CHECK),
    UnsupportedOption("gateway.tls.ocsp_peer", "refuse", _NO_OCSP, _NO_CHECK),
    UnsupportedOption("gateway.gateways.*.tls.ocsp_peer", "refuse", _NO_OCSP, _NO_CHECK),
    UnsupportedOption("ocsp_cache", "warn", "answers are kept in memory only", _MEMORY),
    UnsupportedOption("prof_port", "warn", "there is no Go profiler here"),
    UnsupportedOption("prof_block_rate", "warn", "there is no Go profiler here"),
    UnsupportedOption("websocket.tls.connection_rate_limit", "warn", _CLIENTS_ONLY),
    UnsupportedOption("mqtt.tls.connection_rate_limit", "warn", _CLIENTS_ONLY),
    UnsupportedOption("leafnodes.tls.connection_rate_limit", "warn", _CLIENTS_ONLY),
    UnsupportedOption(
        "accounts.*.jetstream.cluster_traffic",
        "warn",
        "Raft messages stay in the system account: in the account itself, its clients could forge them",
    ),
    UnsupportedOption("no_sublist_cache", "warn", "the cache of routing plans is always used"),
)


def unsupported(options: Options) -> tuple[list[ConfigProblem], list[ConfigProblem]]:
    """Return what these options ask for that is missing: (warnings, refusals), each with its place."""
    found: dict[str, list[ConfigProblem]] = {"warn": [], "refuse": []}
    for row in UNSUPPORTED:
        for path in _set_paths(options, row.path.split("."), "", row.served, options.positions):
            position = _position(options, path)
            found[row.action].append(ConfigProblem(position, f"{path}: {row.why}"))
    found["warn"] += [
        ConfigProblem(_position(options, path), f"{path}: {why}")
        for path, why in (*_of_accounts(options), *_of_remotes(options))
    ]
    found["refuse"] += [
        ConfigProblem(_position(options, path), f"{path}: {why}") for path, why in _of_stapling(options)
    ]
    return found["warn"], found["refuse"]


def _of_stapling(options: Options) -> Iterator[tuple[str, str]]:
    """Yield the path and reason if clients are promised OCSP answers: they would refuse the connection.

    In the mode auto they are if the certificate says so, and then also without `ocsp`.
    """
    given = {"enabled": True} if options.ocsp is None else options.ocsp
    mode = str(given.get("mode", "auto")).lower() if given.get("enabled") else "never"
    if mode in ("always", "must"):
        yield "ocsp", _NO_STAPLES
    elif mode == "auto":
        for path, tls, listens in blocks(options):
            if listens and tls.first_certificate and _demands_staple(tls.first_certificate):
                yield f"{path}.cert_file", f"the certificate demands an OCSP answer: {_NO_STAPLES}"


def _demands_staple(path: str) -> bool:
    try:
        return demands_staple(path)
    except (OSError, ValueError):
        return False  # it is reported where it is used


def _of_accounts(options: Options) -> Iterator[tuple[str, str]]:
    """Yield the paths and reasons of warnings about accounts."""
    for name, account in options.accounts.items():
        if account.jetstream is not None and not options.jetstream.enabled:
            yield (
                f"accounts.{name}.jetstream",
                "the server has no JetStream: add `jetstream` outside of accounts",
            )


def _of_remotes(options: Options) -> Iterator[tuple[str, str]]:
    """Yield the paths and reasons of warnings about the URLs of leaf remotes."""
    known = ", ".join(f"{scheme}://" for scheme in _LEAF_SCHEMES)
    for index, remote in enumerate(options.leafnodes.remotes):
        for scheme in dict.fromkeys(url.partition("://")[0] for url in remote.urls):
            if scheme not in _LEAF_SCHEMES:
                yield (
                    f"leafnodes.remotes.{index}.urls",
                    f"the scheme {scheme}:// is not known and taken for nats-leaf:// (one of {known})",
                )


def _position(options: Options, path: str) -> SourcePosition | None:
    while path:
        if path in options.positions:
            return options.positions[path]
        path = path.rpartition(".")[0]
    return None


def _set_paths(
    target: Any, steps: list[str], path: str, served: tuple[object, ...], written: Container[str]
) -> list[str]:
    """Return the matching paths whose value is not the default or, with `served`, none of these values."""
    step, *rest = steps
    if step == "*":
        items = target.items() if isinstance(target, dict) else enumerate(target)
        return [p for key, item in items for p in _set_paths(item, rest, f"{path}.{key}", served, written)]
    here = f"{path}.{step}" if path else step
    value = getattr(target, step)
    if rest:
        return [] if value is None else _set_paths(value, rest, here, served, written)
    if value in served or (value == _default(target, step) and not (served and here in written)):
        return []
    return [here]


def _default(target: Any, name: str) -> Any:
    found = declared(type(target))[name]
    if not isinstance(found, Field):
        return found
    return found.default if found.default_factory is MISSING else found.default_factory()
