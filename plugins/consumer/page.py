"""The information page of a consumer, as in the documentation.

`text` returns the page of a `CONSUMER.INFO` answer. A value that the documentation's page does not have is
shown only if it differs from its default, so that the page looks the same and still shows everything unusual.
"""

from __future__ import annotations

from typing import Any

from ...cli import render
from ...cli.jetstream import RESERVED_METADATA
from ..stream.page import cluster

Info = dict[str, Any]
Pairs = list[tuple[str, object]]

WIDTH = 20  # the column of the colon in the configuration
STATE_WIDTH = 25  # and in the state
ACK = {"none": "None", "all": "All", "explicit": "Explicit", "flow_control": "Flow Control"}
REPLAY = {"instant": "Instant", "original": "Original"}


def text(info: Info) -> str:
    """Return the page of a consumer."""
    name = f"{info['stream_name']} > {info['name']}"
    lines = [
        render.fitting(f"Information for Consumer {name} created {render.when(info['created'])}"),
        "",
        "Configuration:",
        "",
        render.fields(configuration(info), WIDTH),
        "",
    ]
    if render.clustered(info.get("cluster")):
        lines += ["Cluster Information:", "", render.fields(cluster(info["cluster"]), WIDTH), ""]
    lines += ["State:", "", render.fields(state(info), STATE_WIDTH)]
    return "\n".join(lines) + "\n"


def state_text(info: Info) -> str:
    """Return the part of a consumer's page about its state."""
    title = (
        f"State for Consumer {info['stream_name']} > {info['name']} created {render.when(info['created'])}"
    )
    return f"{title}\n\nState:\n\n{render.fields(state(info), STATE_WIDTH)}\n"


def configuration(info: Info) -> Pairs:
    """Return label and value of everything in a configuration."""
    config = info["config"]
    ack, replay = config.get("ack_policy", "none"), config.get("replay_policy", "instant")
    rows: Pairs = []
    if config.get("durable_name"):
        rows.append(("Durable Name", config["durable_name"]))
    else:
        rows.append(("Name", info["name"]))
    if config.get("description"):
        rows.append(("Description", config["description"]))
    if config.get("deliver_subject"):
        rows.append(("Delivery Subject", config["deliver_subject"]))
    else:
        rows.append(("Pull Mode", "true"))
    if config.get("filter_subject"):
        rows.append(("Filter Subject", config["filter_subject"]))
    elif config.get("filter_subjects"):
        rows.append(("Filter Subjects", ", ".join(config["filter_subjects"])))
    rows.append(_start(config))
    if config.get("deliver_group"):
        rows.append(("Deliver Queue Group", config["deliver_group"]))
    rows.append(("Ack Policy", ACK.get(ack, ack)))
    if ack != "none":
        rows.append(("Ack Wait", render.go_span(config.get("ack_wait", 0))))
    rows.append(("Replay Policy", REPLAY.get(replay, replay)))
    return rows + _limits(config) + _unusual(info)


def _start(config: Info) -> tuple[str, object]:
    policy = config.get("deliver_policy", "all")
    if policy == "by_start_sequence":
        return "Start Sequence", render.number(config.get("opt_start_seq", 0))
    if policy == "by_start_time":
        return "Start Time", render.when(config.get("opt_start_time", ""))
    labels = {"last": "Deliver Last", "new": "Deliver Next", "last_per_subject": "Deliver Last Per Subject"}
    return labels.get(policy, "Deliver All"), "true"


def _limits(config: Info) -> Pairs:
    rows: Pairs = []
    if config.get("max_deliver", -1) > 0:
        rows.append(("Maximum Deliveries", render.number(config["max_deliver"])))
    if config.get("sample_freq"):
        rows.append(("Sampling Rate", config["sample_freq"]))
    if config.get("rate_limit_bps"):
        rows.append(("Rate Limit", f"{render.size(config['rate_limit_bps'] // 8)} / second"))
    if config.get("max_ack_pending", 0) > 0:
        rows.append(("Max Ack Pending", render.number(config["max_ack_pending"])))
    if config.get("max_waiting", 0) > 0:
        rows.append(("Max Waiting Pulls", render.number(config["max_waiting"])))
    if config.get("idle_heartbeat"):
        rows.append(("Idle Heartbeat", render.span(config["idle_heartbeat"])))
    if config.get("deliver_subject"):
        rows.append(("Flow Control", "true" if config.get("flow_control") else "false"))
    return rows


def _unusual(info: Info) -> Pairs:
    """Return the options that are shown only if they are set."""
    config = info["config"]
    rows: Pairs = []
    if config.get("headers_only"):
        rows.append(("Headers Only", "true"))
    if config.get("inactive_threshold"):
        rows.append(("Inactive Threshold", render.go_span(config["inactive_threshold"])))
    if config.get("max_expires"):
        rows.append(("Max Pull Expire", render.go_span(config["max_expires"])))
    if config.get("max_batch"):
        rows.append(("Max Pull Batch", render.number(config["max_batch"])))
    if config.get("max_bytes"):
        rows.append(("Max Pull MaxBytes", render.number(config["max_bytes"])))
    if config.get("backoff"):
        rows.append(("Backoff", _backoff(config["backoff"])))
    if config.get("num_replicas"):
        rows.append(("Replicas", config["num_replicas"]))
    if config.get("mem_storage"):
        rows.append(("Memory Storage", "true"))
    until = render.when(config.get("pause_until", ""))
    if info.get("paused"):
        remaining = render.span(info.get("pause_remaining", 0))
        rows.append(("Paused Until Deadline", f"{until} ({remaining} remaining)"))
    elif render.parse_time(config.get("pause_until", "")):
        rows.append(("Paused Until Deadline", f"{until} (passed)"))
    if config.get("priority_policy", "none") != "none":
        rows.append(("Priority Policy", config["priority_policy"]))
        rows.append(("Priority Groups", ", ".join(config.get("priority_groups") or [])))
        if config["priority_policy"] == "pinned_client":
            rows.append(("Pinned TTL", render.go_span(config.get("priority_timeout", 0))))
    metadata = {
        key: value
        for key, value in (config.get("metadata") or {}).items()
        if not key.startswith(RESERVED_METADATA)
    }
    for position, (key, value) in enumerate(sorted(metadata.items())):
        rows.append(("" if position else "Metadata", f"{key}: {value}"))
    return rows


def _backoff(steps: list[int]) -> str:
    """Return the waits of a policy; the middle of a long one is left out."""
    shown = [render.go_span(step) for step in steps]
    if len(shown) > 6:
        shown = [*shown[:3], "...", *shown[-3:]]
    return f"{', '.join(shown)} ({len(steps)} total)" if "..." in shown else ", ".join(shown)


def state(info: Info) -> Pairs:
    """Return label and value of a consumer's progress."""
    config = info["config"]
    rows: Pairs = [("Last Delivered Message", _position(info["delivered"], info, "Last delivery"))]
    if config.get("ack_policy", "none") != "none":
        rows.append(("Acknowledgment floor", _position(info["ack_floor"], info, "Last Ack")))
        waiting = str(info["num_ack_pending"])
        if config.get("max_ack_pending", 0) > 0:
            waiting += f" out of maximum {config['max_ack_pending']}"
        rows.append(("Outstanding Acks", waiting))
        rows.append(("Redelivered Messages", render.number(info["num_redelivered"])))
    rows.append(("Unprocessed Messages", render.number(info["num_pending"])))
    if config.get("deliver_subject"):
        rows.append(("Active Interest", _interest(info)))
    else:
        limit = config.get("max_waiting", 0)
        rows.append(
            ("Waiting Pulls", f"{info['num_waiting']} of {f'maximum {limit}' if limit else 'unlimited'}")
        )
    if info.get("paused"):
        rows.append(("Paused", f"{render.span(info.get('pause_remaining', 0))} remaining"))
    if config.get("priority_policy") == "pinned_client":
        rows += [("Priority Group", _pinned(group)) for group in info.get("priority_groups") or []]
    return rows


def _position(place: Info, info: Info, what: str) -> str:
    text = f"Consumer sequence: {place['consumer_seq']} Stream sequence: {place['stream_seq']}"
    if render.parse_time(place.get("last_active", "")):
        text += f" {what}: {render.span(render.since(place['last_active'], info.get('ts', '')))} ago"
    return text


def _interest(info: Info) -> str:
    if not info.get("push_bound"):
        return "No interest"
    group = info["config"].get("deliver_group")
    return f"Active using Queue Group {group}" if group else "Active"


def _pinned(group: Info) -> str:
    client = group.get("pinned_client_id")
    when = render.when(group.get("pinned_ts", ""))
    return f"{group['group']}: " + (f"pinned {client} at {when}" if client else "No client")
