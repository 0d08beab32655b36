"""Events of NATS in words: what happened, as a sentence.

Source: `TypedEvent` and its kinds in nats-server's server/jetstream_events.go and server/events.go. Promises:
a document of any kind and any content makes a sentence; one of an unknown kind is described by its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...cli import words
from ...protocol.duration import format_go

Event = Mapping[str, Any]
JETSTREAM = "io.nats.jetstream.advisory.v1."
ACTIONS = {"create": "created", "delete": "deleted", "modify": "changed"}


def sentence(event: Event) -> str:
    """Return what an event says."""
    kind = str(event.get("type") or "")
    sentence_of = SENTENCES.get(kind.removeprefix(JETSTREAM)) or SENTENCES.get(kind)
    return sentence_of(event) if sentence_of is not None else f"Event of the kind {kind or '(none)'}"


def _number(value: object) -> str:
    return words.number(value) if isinstance(value, int) else str(value)


def _span(value: object) -> str:
    return format_go(value) if isinstance(value, int) else str(value)


def _stream(event: Event) -> str:
    return f"stream {event.get('stream')}"


def _counted(value: object, noun: str) -> str:
    return words.counted(value, noun) if isinstance(value, int) else f"{value} {noun}s"


def _consumer(event: Event) -> str:
    return f"consumer {event.get('stream')} > {event.get('consumer')}"


def _message(event: Event) -> str:
    return f"message {event.get('stream_seq')} of {_stream(event)}"


def _after(event: Event) -> str:
    count = event.get("deliveries")
    return f"after {_number(count)} {'delivery' if count == 1 else 'deliveries'}"


def _because(event: Event) -> str:
    return f": {event['reason']}" if event.get("reason") else ""


def _peers(event: Event) -> str:
    """Return the replicas, and what is wrong with each."""
    named = []
    for peer in event.get("replicas") or ():
        if isinstance(peer, dict):
            wrong = "offline" if peer.get("offline") else "" if peer.get("current") else "behind"
            named.append(f"{peer.get('name')}{f' ({wrong})' if wrong else ''}")
    return ", ".join(named)


def _with_peers(event: Event, text: str) -> str:
    peers = _peers(event)
    return f"{text}; replicas: {peers}" if peers else text


def _client(value: object) -> str:
    """Return who a client is: its user, name and address, as far as the event tells them."""
    if not isinstance(value, dict):
        return "a client"
    who = str(
        value.get("user") or value.get("name_tag") or value.get("name") or f"client {value.get('id', '')}"
    )
    name = f' "{value["name"]}"' if value.get("name") and value["name"] != who else ""
    host = f" from {value['host']}" if value.get("host") else ""
    account = f" in account {value['acc']}" if value.get("acc") else ""
    return f"{who}{name}{host}{account}"


def _server(event: Event) -> str:
    found = event.get("server")
    name = found.get("name") or found.get("id") if isinstance(found, dict) else found
    return f"server {name}"


def _traffic(value: object) -> str:
    found = value if isinstance(value, dict) else {}
    size = found.get("bytes")
    return (
        f"{_counted(found.get('msgs', 0), 'message')} ({words.size(size) if isinstance(size, int) else size})"
    )


def _disconnected(event: Event) -> str:
    return (
        f"{_client(event.get('client'))} disconnected from {_server(event)}{_because(event)}; "
        f"it sent {_traffic(event.get('received'))} and received {_traffic(event.get('sent'))}"
    )


def _paused(event: Event) -> str:
    if event.get("paused"):
        return f"{_consumer(event)} is paused until {event.get('pause_until')}"
    return f"{_consumer(event)} is not paused any more"


def _acked(event: Event) -> str:
    return (
        f"{_message(event)} was acknowledged by {_consumer(event)} "
        f"{_span(event.get('ack_time'))} after its delivery, {_after(event)}"
    )


def _latency(event: Event) -> str:
    error = f" with {event.get('status')} {event['description']}" if event.get("description") else ""
    return (
        f"{_client(event.get('responder'))} answered {_client(event.get('requestor'))}{error}: "
        f"service {_span(event.get('service'))}, network {_span(event.get('system'))}, "
        f"in all {_span(event.get('total'))}"
    )


def _connections(event: Event) -> str:
    return (
        f"account {event.get('acc')} has {_counted(event.get('conns'), 'connection')} and "
        f"{_counted(event.get('leafnodes'), 'leaf node')} on {_server(event)}"
    )


def _action(what: Callable[[Event], str]) -> Callable[[Event], str]:
    def sentence_of(event: Event) -> str:
        action = str(event.get("action"))
        return f"{what(event)} was {ACTIONS.get(action, action)}"

    return sentence_of


def _took(event: Event) -> str:
    size = event.get("bytes")
    return f" ({words.size(size)})" if isinstance(size, int) else ""


SENTENCES: dict[str, Callable[[Event], str]] = {
    "api_audit": lambda e: f"{_client(e.get('client'))} asked the JetStream API: {e.get('subject')}",
    "api_limit_reached": lambda e: (
        f"{_server(e)} dropped {_counted(e.get('dropped'), 'API request')}: too many waited"
    ),
    "stream_action": _action(_stream),
    "consumer_action": _action(_consumer),
    "consumer_pause": _paused,
    "max_deliver": lambda e: f"{_consumer(e)} gave up on {_message(e)} {_after(e)}",
    "nak": lambda e: f"{_message(e)} was rejected on {_consumer(e)} {_after(e)}; it will be delivered again",
    "terminated": lambda e: f"{_message(e)} was terminated on {_consumer(e)} {_after(e)}{_because(e)}",
    "snapshot_create": lambda e: f"{_client(e.get('client'))} began a backup of {_stream(e)}",
    "snapshot_complete": lambda e: f"{_client(e.get('client'))} finished a backup of {_stream(e)}",
    "restore_create": lambda e: f"{_client(e.get('client'))} began to restore {_stream(e)}",
    "restore_complete": lambda e: f"{_client(e.get('client'))} restored {_stream(e)}{_took(e)}",
    "domain_leader_elected": lambda e: _with_peers(
        e, f"server {e.get('leader')} leads JetStream in cluster {e.get('cluster')}"
    ),
    "stream_leader_elected": lambda e: _with_peers(e, f"server {e.get('leader')} leads {_stream(e)}"),
    "consumer_leader_elected": lambda e: _with_peers(e, f"server {e.get('leader')} leads {_consumer(e)}"),
    "stream_quorum_lost": lambda e: _with_peers(e, f"{_stream(e)} has lost its quorum and stands still"),
    "consumer_quorum_lost": lambda e: _with_peers(e, f"{_consumer(e)} has lost its quorum and stands still"),
    "stream_batch_abandoned": lambda e: f"batch {e.get('batch')} on {_stream(e)} was abandoned{_because(e)}",
    "consumer_group_pinned": lambda e: (
        f"group {e.get('group')} of {_consumer(e)} is pinned to client {e.get('pinned_id')}"
    ),
    "consumer_group_unpinned": lambda e: (
        f"group {e.get('group')} of {_consumer(e)} is not pinned any more{_because(e)}"
    ),
    "server_out_of_space": lambda e: (
        f"{_server(e)} has no space left" + (f" for {_stream(e)}" if e.get("stream") else "")
    ),
    "server_removed": lambda e: f"{_server(e)} was removed from JetStream in cluster {e.get('cluster')}",
    "meta_rescue": lambda e: (
        f"{_server(e)} lowered the quorum of the meta group "
        f"from {e.get('prev_quorum')} to {e.get('new_quorum')}"
    ),
    "io.nats.jetstream.metric.v1.consumer_ack": _acked,
    "io.nats.server.metric.v1.service_latency": _latency,
    "io.nats.server.advisory.v1.client_connect": lambda e: (
        f"{_client(e.get('client'))} connected to {_server(e)}"
    ),
    "io.nats.server.advisory.v1.client_disconnect": _disconnected,
    "io.nats.server.advisory.v1.account_connections": _connections,
}
