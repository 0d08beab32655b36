"""The answers of 2020, made of today's: `+OK`, `-ERR '…'`, and documents with the fields of that year."""

from __future__ import annotations

import json
from typing import Any

from ....protocol.api.stream_template import TEMPLATE_OWNER

Document = dict[str, Any]
OK = b"+OK"
_LIMITS = ("max_memory", "max_storage", "max_streams", "max_consumers")
_POLICIES = {"all": {"deliver_all": True}, "last": {"deliver_last": True}}


def refusal(text: str) -> bytes:
    """Return the answer to a request that was refused."""
    return f"-ERR '{text}'".encode()


def ok(_answer: Document) -> bytes:
    """Say that it was done."""
    return OK


def ok_name(answer: Document) -> bytes:
    """Say so, and which name the server chose."""
    return OK + f" {answer.get('name', '')}".encode()


def account(answer: Document) -> bytes:
    """Show usage and limits of an account."""
    limits = answer.get("limits") or {}
    shown = {name: answer.get(name, 0) for name in ("memory", "storage", "streams")}
    return _text({**shown, "limits": {name: limits.get(name, -1) for name in _LIMITS}})


def names(answer: list[str]) -> bytes:
    """Show a list."""
    return _text(answer)


def stream(answer: Document) -> bytes:
    """Show configuration and state of a stream."""
    return _text({"config": _stream_config(answer.get("config") or {}), "state": answer.get("state")})


def template(answer: Document) -> bytes:
    """Show a template and its streams."""
    return _text({"config": answer.get("config"), "streams": answer.get("streams")})


def consumer(answer: Document) -> bytes:
    """Show configuration and state of a consumer."""
    config = dict(answer.get("config") or {})
    if "deliver_subject" in config:
        config["delivery_subject"] = config.pop("deliver_subject")
    config |= _POLICIES.get(config.pop("deliver_policy", ""), {})
    for old, new in (("stream_seq", "opt_start_seq"), ("start_time", "opt_start_time")):
        if new in config:
            config[old] = config.pop(new)
    state = {name: answer.get(name) for name in ("delivered", "ack_floor", "num_pending", "num_redelivered")}
    return _text(
        {
            "stream_name": answer.get("stream_name"),
            "name": answer.get("name"),
            "config": config,
            "state": state,
        }
    )


def message(answer: Document) -> bytes:
    """Show a stored message."""
    return _text(answer.get("message"))


def _stream_config(config: Document) -> Document:
    owner = (config.get("metadata") or {}).get(TEMPLATE_OWNER)
    return {**config, "template_owner": owner} if owner else config


def _text(document: Any) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "surrogateescape")
