"""The JSON Schemas of JetStream's API, by the names that messages have as their `type`.

They are made of the types that pyjs-server itself reads and writes (`protocol/api`), so they cannot differ
from what it does. Fields that a type does not know are allowed: servers add some with each release.
"""

from __future__ import annotations

from typing import Any

from ...protocol.api.account import AccountInfo
from ...protocol.api.consumer import ConsumerConfig, ConsumerInfo
from ...protocol.api.messages import (
    TYPE_PREFIX,
    ConsumerPauseRequest,
    ConsumerResetRequest,
    ConsumerUnpinRequest,
    CreateConsumerRequest,
    LeaderStepDownRequest,
    MetaRemoveRequest,
    MsgDeleteRequest,
    MsgGetRequest,
    PageRequest,
    PullRequest,
    PurgeRequest,
    RemovePeerRequest,
    RestoreRequest,
    SnapshotRequest,
    StoredMsg,
    StreamInfoRequest,
    StreamRequest,
)
from ...protocol.api.record import Record, Schema
from ...protocol.api.stream import StreamConfig, StreamInfo, StreamState
from .outputs import DIALECT

PUB_ACK = "pub_ack"
REQUESTS: dict[str, type[Record]] = {
    "stream_configuration": StreamConfig,
    "consumer_configuration": ConsumerConfig,
    "stream_create_request": StreamRequest,
    "stream_update_request": StreamRequest,
    "stream_info_request": StreamInfoRequest,
    "stream_list_request": PageRequest,
    "stream_names_request": PageRequest,
    "stream_purge_request": PurgeRequest,
    "stream_msg_get_request": MsgGetRequest,
    "stream_msg_delete_request": MsgDeleteRequest,
    "stream_snapshot_request": SnapshotRequest,
    "stream_restore_request": RestoreRequest,
    "stream_remove_peer_request": RemovePeerRequest,
    "stream_leader_stepdown_request": LeaderStepDownRequest,
    "consumer_create_request": CreateConsumerRequest,
    "consumer_list_request": PageRequest,
    "consumer_names_request": PageRequest,
    "consumer_getnext_request": PullRequest,
    "consumer_pause_request": ConsumerPauseRequest,
    "consumer_reset_request": ConsumerResetRequest,
    "consumer_unpin_request": ConsumerUnpinRequest,
    "consumer_leader_stepdown_request": LeaderStepDownRequest,
    "meta_leader_stepdown_request": LeaderStepDownRequest,
    "meta_server_remove_request": MetaRemoveRequest,
}
TEXT, FLAG = {"type": "string"}, {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 0}
NAMES = {"type": ["array", "null"], "items": TEXT}


def _object(*optional: str, **fields: Schema) -> Schema:
    required = [name for name in fields if name not in optional]
    made: Schema = {"type": "object", "properties": fields}
    return {**made, "required": required} if required else made


def _page(name: str, items: Schema) -> Schema:
    page = _object("missing", total=COUNT, offset=COUNT, limit=COUNT, missing=NAMES)
    listed = {"type": ["array", "null"], "items": items}
    return {
        **page,
        "properties": {**page["properties"], name: listed},
        "required": [*page["required"], name],
    }


def _of(record: type[Record]) -> Schema:
    return record.schema(answered=True)


def _answers() -> dict[str, Schema]:
    """Return the bodies of the answers, by their kind."""
    done = _object(success=FLAG)
    reset = _of(ConsumerInfo)
    return {
        "account_info": _of(AccountInfo),
        "account_purge": _object(initiated=FLAG),
        "stream_create": _of(StreamInfo),
        "stream_update": _of(StreamInfo),
        "stream_info": _of(StreamInfo),
        "stream_names": _page("streams", TEXT),
        "stream_list": _page("streams", _of(StreamInfo)),
        "stream_delete": done,
        "stream_purge": _object(success=FLAG, purged=COUNT),
        "stream_msg_get": _object(message=_of(StoredMsg)),
        "stream_msg_delete": done,
        "stream_snapshot": _object(config=StreamConfig.schema(answered=False), state=_of(StreamState)),
        "stream_restore": _object(deliver_subject=TEXT),
        "stream_remove_peer": done,
        "stream_leader_stepdown": done,
        "consumer_create": _of(ConsumerInfo),
        "consumer_info": _of(ConsumerInfo),
        "consumer_names": _page("consumers", TEXT),
        "consumer_list": _page("consumers", _of(ConsumerInfo)),
        "consumer_delete": done,
        "consumer_pause": _object("pause_remaining", paused=FLAG, pause_until=TEXT, pause_remaining=COUNT),
        "consumer_reset": {**reset, "properties": {**reset["properties"], "reset_seq": COUNT}},
        "consumer_unpin": _object(),
        "consumer_leader_stepdown": done,
        "meta_leader_stepdown": done,
        "meta_server_remove": done,
        PUB_ACK: _object(
            *("domain", "duplicate", "val", "batch", "count"),
            stream=TEXT, seq=COUNT, domain=TEXT, duplicate=FLAG, val=TEXT, batch=TEXT, count=COUNT,
        ),
    }  # fmt: skip


ERROR = _object(
    "err_code", "description", code={"type": "integer"}, err_code={"type": "integer"}, description=TEXT
)


def schemas() -> dict[str, Schema]:
    """Return all schemas by their names, sorted."""
    found = {name: record.schema(answered=False) for name, record in REQUESTS.items()}
    for kind, body in _answers().items():
        found[f"{kind}_response"] = _answer(kind, body)
    return {
        f"{TYPE_PREFIX}{name}": {"$schema": DIALECT, "title": f"{TYPE_PREFIX}{name}", **found[name]}
        for name in sorted(found)
    }


def _answer(kind: str, body: Schema) -> Schema:
    """Return the schema of an answer: its type, and an error or the body. Acknowledgements have no type."""
    if kind == PUB_ACK:
        own: dict[str, Any] = {}
    else:
        own = {"type": {"const": f"{TYPE_PREFIX}{kind}_response"}}
    required = body.get("required", [])
    return {
        "type": "object",
        "properties": {**own, "error": ERROR, **body["properties"]},
        "required": list(own),
        "anyOf": [{"required": ["error"]}, {"required": required}],
    }
