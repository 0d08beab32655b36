"""The replicas of streams and consumers, as the servers that have them report: do they agree?

Made from the answers to JSZ. Promises: replicas are compared only within the same domain, account and asset.
A report is of one moment on each server: replicas of a busy stream differ a little.

Source: natscli, cli/server_stream_check.go and server_consumer_check.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Record = dict[str, Any]
IN_SYNC, UNSYNCED, EMPTY = "IN SYNC", "UNSYNCED", "EMPTY"
INTERSECT = " / INTERSECT"  # the server leads the stream, too
COUNTS = ("messages", "bytes", "subjects", "deleted", "consumers", "first", "last")
POSITIONS = ("delivered", "delivered_consumer", "ack_floor", "ack_floor_consumer")


def streams_of(documents: Iterable[Record]) -> list[Record]:
    """Return a record for each replica of a stream, those of the same stream side by side."""
    found = [
        _common(server, account, stream, str(stream.get("stream_raft_group") or "")) | _stream(stream)
        for server, account, stream in _streams(documents)
    ]
    for group in _groups(found, "stream"):
        for each in group:
            each["status"] = _stream_status(each, group)
    return found


def consumers_of(documents: Iterable[Record]) -> list[Record]:
    """Return a record for each replica of a consumer, those of the same consumer side by side."""
    found = []
    for server, account, stream in _streams(documents):
        rafts = {
            each["name"]: each.get("raft_group", "") for each in stream.get("consumer_raft_groups") or ()
        }
        for consumer in stream.get("consumer_detail") or ():
            raft = str(rafts.get(consumer.get("name"), ""))
            found.append(_common(server, account, consumer, raft) | _consumer(stream, consumer))
    for group in _groups(found, "stream", "consumer"):
        for each in group:
            each["status"] = _consumer_status(each, group)
    return found


def is_unsynced(record: Record) -> bool:
    """Return whether there is more to say of a replica than that it agrees or has delivered nothing."""
    return bool(set(record["status"].removesuffix(INTERSECT).split(", ")) - {IN_SYNC, EMPTY})


def drift(value: int, leaders: int) -> str:
    """Return a count of a replica, with how many percent it differs from the leader's."""
    if value == leaders:
        return f"{value:,}"
    percent = (value - leaders) / leaders * 100 if leaders else 100.0
    least = 0.01 if percent > 0 else -0.01
    shown = f"{percent if abs(percent) > abs(least) else least:+.2f}".rstrip("0").rstrip(".")
    return f"{value:,} ({shown}%)"


def _streams(documents: Iterable[Record]) -> Iterable[tuple[Record, Record, Record]]:
    for document in documents:
        for account in (document.get("data") or {}).get("account_details") or ():
            for stream in account.get("stream_detail") or ():
                yield document.get("server") or {}, account, stream


def _common(server: Record, account: Record, asset: Record, raft: str) -> Record:
    cluster = asset.get("cluster") or {}
    return {
        "raft_group": raft or str(cluster.get("raft_group") or ""),
        "account": str(account.get("name", "")),
        "account_id": str(account.get("id", "")),
        "domain": str(server.get("domain", "")),
        "server": str(server.get("name", "")),
        "server_id": str(server.get("id", "")),
        "leader": str(cluster.get("leader") or ""),
        "followers": [str(peer.get("name", "")) for peer in cluster.get("replicas") or ()],
        "peers": [_peer(peer) for peer in cluster.get("replicas") or ()],
        "clustered": bool(asset.get("cluster")),
    }


def _peer(peer: Record) -> str:
    state = " (offline)" if peer.get("offline") else "" if peer.get("current") else " (not current)"
    return f"{peer.get('name', '')}{state}"


def _stream(stream: Record) -> Record:
    state = stream.get("state") or {}
    return {
        "stream": str(stream.get("name", "")),
        "messages": state.get("messages", 0),
        "bytes": state.get("bytes", 0),
        "subjects": state.get("num_subjects", 0),
        "deleted": state.get("num_deleted", 0),
        "consumers": state.get("consumer_count", 0),
        "first": state.get("first_seq", 0),
        "last": state.get("last_seq", 0),
    }


def _consumer(stream: Record, consumer: Record) -> Record:
    state = stream.get("state") or {}
    delivered, floor = consumer.get("delivered") or {}, consumer.get("ack_floor") or {}
    return {
        "consumer": str(consumer.get("name", "")),
        "stream": str(stream.get("name", "")),
        "delivered": delivered.get("stream_seq", 0),
        "delivered_consumer": delivered.get("consumer_seq", 0),
        "ack_floor": floor.get("stream_seq", 0),
        "ack_floor_consumer": floor.get("consumer_seq", 0),
        "ack_pending": consumer.get("num_ack_pending", 0),
        "redelivered": consumer.get("num_redelivered", 0),
        "waiting": consumer.get("num_waiting", 0),
        "pending": consumer.get("num_pending", 0),
        "first": state.get("first_seq", 0),
        "last": state.get("last_seq", 0),
        "stream_leader": str((stream.get("cluster") or {}).get("leader") or ""),
    }


def _groups(found: list[Record], *names: str) -> list[list[Record]]:
    """Sort the records, and return those of each asset."""
    keys = ("domain", "account", *names, "raft_group")
    found.sort(key=lambda each: (*(each[key] for key in keys), each["server"]))
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for each in found:
        groups.setdefault(tuple(each[key] for key in keys), []).append(each)
    return list(groups.values())


def _stream_status(replica: Record, group: Sequence[Record]) -> str:
    if not replica["clustered"]:
        return IN_SYNC
    if replica["server"] == replica["leader"]:
        if replica["leader"] in replica["followers"]:
            return "LEADER_IS_FOLLOWER"
    elif not replica["leader"]:
        return "LEADERLESS"
    elif not replica["raft_group"]:
        return "MISSING_GROUP"
    if _has_two_leaders(replica, group):
        return "MULTILEADER"
    same = ("messages", "bytes", "first", "last")
    return UNSYNCED if any(peer[name] != replica[name] for peer in group for name in same) else IN_SYNC


def _consumer_status(replica: Record, group: Sequence[Record]) -> str:
    if replica["clustered"] and not replica["leader"]:
        return "LEADERLESS"
    if replica["clustered"] and not replica["raft_group"] and replica["server"] != replica["leader"]:
        return "MISSING_GROUP"
    found = []
    if replica["last"] < replica["delivered"]:
        found.append("UNSYNCED:DELIVERED_AHEAD_OF_STREAM_SEQ")
    if replica["last"] < replica["ack_floor"]:
        found.append("UNSYNCED:ACKFLOOR_AHEAD_OF_STREAM_SEQ")
    for name, text in (("delivered", "UNSYNCED:DELIVERED"), ("ack_floor", "UNSYNCED:ACK_FLOOR")):
        if any(peer[each] != replica[each] for peer in group for each in (name, f"{name}_consumer")):
            found.append(text)
    if any(peer["clustered"] != replica["clustered"] for peer in group):
        found.append("NO_CLUSTER")
    if _has_two_leaders(replica, group):
        found.append("MULTILEADER")
    if not all(replica[name] for name in POSITIONS):
        found.append(EMPTY)
    leads = replica["leader"] and replica["server"] == replica["leader"] == replica["stream_leader"]
    return (", ".join(found) or IN_SYNC) + (INTERSECT if leads else "")


def _has_two_leaders(replica: Record, group: Sequence[Record]) -> bool:
    return len({peer["leader"] for peer in group if peer["leader"]}) > 1 and bool(replica["leader"])
