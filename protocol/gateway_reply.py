"""Replies through gateways: `_GR_.<cluster>.<server>.<reply>`.

A request that crosses a gateway soon after its asker subscribed names the way back in its reply: the
clusters beyond may not know of the subscription yet. `<cluster>` and `<server>` are hashes of the asker's
cluster and of the id of its server. Source: nats-server's gateway.go (gwReplyPrefix, getGWHash).
"""

from .identifier import name_hash
from .reserved import GATEWAY_REPLY

_PREFIX = GATEWAY_REPLY.encode()
_HASH = 6  # characters
_CLUSTER_AT = len(_PREFIX)
_SERVER_AT = _CLUSTER_AT + _HASH + 1
_REPLY_AT = _SERVER_AT + _HASH + 1


def hash_of(name: str) -> str:
    """Return the hash of a cluster's name or of a server's id."""
    return name_hash(name, _HASH)


def way_to(cluster: str, server_id: str) -> bytes:
    """Return what to put before a reply so that it comes back to this server of this cluster."""
    return f"{GATEWAY_REPLY}{hash_of(cluster)}.{hash_of(server_id)}.".encode()


def split_way(reply: bytes) -> tuple[bytes, bytes]:
    """Return (what stands before the asker's own reply, that reply); (b"", `reply`) if nothing does."""
    if reply.startswith(_PREFIX) and len(reply) > _REPLY_AT:
        return reply[:_REPLY_AT], reply[_REPLY_AT:]
    return b"", reply


def own_reply(subject: str) -> str:
    """Return the asker's own reply of a subject, which is the subject itself if nothing stands before it."""
    if subject.startswith(GATEWAY_REPLY) and len(subject) > _REPLY_AT:
        return subject[_REPLY_AT:]
    return subject


def cluster_hash(way: bytes) -> bytes:
    """Return the hash of the cluster that a way leads to."""
    return way[_CLUSTER_AT : _CLUSTER_AT + _HASH]


def server_hash(way: bytes) -> bytes:
    """Return the hash of the server that a way leads to."""
    return way[_SERVER_AT : _SERVER_AT + _HASH]
