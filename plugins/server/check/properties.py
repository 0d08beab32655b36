"""The properties of checks in an exporter's file, and the options of the check's command that they are.

Source: the `yaml` names of jsm.go, monitor/*.go (CheckStreamHealthOptions and the like). Times are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....cli.errors import UsageError, close_matches

SECONDS = "s"  # the value is a number of seconds
PAIRS = "="  # the value is a map
# Kind of check: property, the option, and how its value is written.
KINDS: dict[str, dict[str, tuple[str, str]]] = {
    "connection": {
        "connect_time_warning": ("--connect-warn", SECONDS),
        "connect_time_critical": ("--connect-critical", SECONDS),
        "server_rtt_warning": ("--rtt-warn", SECONDS),
        "server_rtt_critical": ("--rtt-critical", SECONDS),
        "request_rtt_warning": ("--req-warn", SECONDS),
        "request_rtt_critical": ("--req-critical", SECONDS),
    },
    "consumer": {
        "stream_name": ("--stream", ""),
        "consumer_name": ("--consumer", ""),
        "ack_outstanding_critical": ("--outstanding-ack-critical", ""),
        "waiting_critical": ("--waiting-critical", ""),
        "unprocessed_critical": ("--unprocessed-critical", ""),
        "last_delivery_critical": ("--last-delivery-critical", SECONDS),
        "last_ack_critical": ("--last-ack-critical", SECONDS),
        "redelivery_critical": ("--redelivery-critical", ""),
        "pinned": ("--pinned", ""),
    },
    "credential": {
        "file": ("--credential", ""),
        "validity_warning": ("--validity-warn", SECONDS),
        "validity_critical": ("--validity-critical", SECONDS),
        "requires_expiry": ("--require-expiry", ""),
    },
    "jetstream": {
        "memory_warning": ("--mem-warn", ""),
        "memory_critical": ("--mem-critical", ""),
        "file_warning": ("--store-warn", ""),
        "file_critical": ("--store-critical", ""),
        "stream_warning": ("--streams-warn", ""),
        "stream_critical": ("--streams-critical", ""),
        "consumers_warning": ("--consumers-warn", ""),
        "consumers_critical": ("--consumers-critical", ""),
        "check_replicas": ("--replicas", ""),
        "replica_seen_critical": ("--replica-seen-critical", SECONDS),
        "replica_lag_critical": ("--replica-lag-critical", ""),
    },
    "kv": {
        "bucket": ("--bucket", ""),
        "key": ("--key", ""),
        "values_warning": ("--values-warn", ""),
        "values_critical": ("--values-critical", ""),
    },
    "message": {
        "stream_name": ("--stream", ""),
        "subject": ("--subject", ""),
        "age_warning": ("--age-warn", SECONDS),
        "age_critical": ("--age-critical", SECONDS),
        "content_regex": ("--content", ""),
        "body_as_timestamp": ("--body-timestamp", ""),
    },
    "meta": {
        "expect_servers": ("--expect", ""),
        "lag_critical": ("--lag-critical", ""),
        "seen_critical": ("--seen-critical", SECONDS),
    },
    "request": {
        "subject": ("--subject", ""),
        "payload": ("--payload", ""),
        "header": ("--headers", PAIRS),
        "headers": ("--match-headers", PAIRS),
        "response_match": ("--match-payload", ""),
        "response_time_warn": ("--response-warn", SECONDS),
        "response_time_crit": ("--response-critical", SECONDS),
    },
    "server": {
        "name": ("--name", ""),
        "cpu_warning": ("--cpu-warn", ""),
        "cpu_critical": ("--cpu-critical", ""),
        "memory_warning": ("--mem-warn", ""),
        "memory_critical": ("--mem-critical", ""),
        "connections_warning": ("--conn-warn", ""),
        "connections_critical": ("--conn-critical", ""),
        "subscriptions_warning": ("--subs-warn", ""),
        "subscriptions_critical": ("--subs-critical", ""),
        "uptime_warning": ("--uptime-warn", SECONDS),
        "uptime_critical": ("--uptime-critical", SECONDS),
        "authentication_required": ("--auth-required", ""),
        "tls_required": ("--tls-required", ""),
        "tls_expire_warning": ("--tls-cert-warn", ""),
        "tls_expire_critical": ("--tls-cert-crit", ""),
        "jet_stream_required": ("--js-required", ""),
    },
    "stream": {
        "stream_name": ("--stream", ""),
        "sources_lag_critical": ("--lag-critical", ""),
        "sources_seen_critical": ("--seen-critical", SECONDS),
        "min_sources": ("--min-sources", ""),
        "max_sources": ("--max-sources", ""),
        "cluster_expected_peers": ("--peer-expect", ""),
        "cluster_lag_critical": ("--peer-lag-critical", ""),
        "cluster_seen_critical": ("--peer-seen-critical", SECONDS),
        "messages_warn": ("--msgs-warn", ""),
        "messages_critical": ("--msgs-critical", ""),
        "subjects_warn": ("--subjects-warn", ""),
        "subjects_critical": ("--subjects-critical", ""),
    },
}
# A check of these that a command line makes without being asked, and a file only if it says so.
UNASKED = {"jetstream": ("--no-replicas",), "credential": ("--no-require-expiry",)}


def arguments(kind: str, properties: Any) -> tuple[str, ...]:
    """Return the properties of a check as words of a command line. Raises UsageError for a mistake."""
    if not isinstance(properties, dict):
        raise UsageError("properties are a map")
    return (*UNASKED.get(kind, ()), *_words(KINDS[kind], properties))


def _words(known: dict[str, tuple[str, str]], properties: dict[Any, Any]) -> Iterator[str]:
    for name, value in properties.items():
        if name not in known:
            hint = close_matches(str(name), known) or f"there are {', '.join(known)}"
            raise UsageError(f'unknown property "{name}"; {hint}')
        option, form = known[name]
        if isinstance(value, bool):
            if value:
                yield option
        elif form == PAIRS:
            if not isinstance(value, dict):
                raise UsageError(f"{name} is a map")
            yield from (f"{option}={key}={held}" for key, held in value.items())
        elif form == SECONDS:
            if not isinstance(value, (int, float)):
                raise UsageError(f"{name} is a number of seconds")
            yield f"{option}={value:.9f}s"
        else:
            yield f"{option}={value}"
