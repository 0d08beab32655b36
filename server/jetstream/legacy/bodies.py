"""The bodies of the requests of 2020, as today's requests have them."""

from __future__ import annotations

from typing import Any, Final

from ....protocol import gojson

_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
_RENAMED: Final = {"delivery_subject": "deliver_subject"}


class OldRequestError(Exception):
    """An old request was refused; the text is that of the answer."""


def _bad() -> OldRequestError:
    return OldRequestError("bad request")


def ignored(_body: bytes) -> bytes:
    """Send nothing, whatever came: the documents send a dot."""
    return b""


def empty(body: bytes) -> bytes:
    """Send nothing. Raises OldRequestError if there is a body."""
    if body:
        raise _bad()
    return b""


def kept(body: bytes) -> bytes:
    """Send the body as it is."""
    return body


def page(_body: bytes) -> bytes:
    """Ask for the first page of a list."""
    return at_offset(0)


def at_offset(offset: int) -> bytes:
    """Ask for the page of a list that begins there."""
    return b'{"offset":%d}' % offset


def sequence(body: bytes) -> bytes:
    """Send the sequence that is the whole body. A body that is JSON already stays. Raises OldRequestError."""
    text = body.strip()
    if text.startswith(b"{"):
        return body
    if not text.isdigit() or len(text) > 20:
        raise _bad()
    return b'{"seq":%d}' % int(text)


def sequence_or_last(body: bytes) -> bytes:
    """Send the sequence that is the whole body; without one, ask for the last message."""
    if not body.strip():
        return b'{"last_by_subj":">"}'
    try:
        return sequence(body)
    except OldRequestError:
        raise OldRequestError("bad sequence argument") from None


def consumer(body: bytes) -> bytes:
    """Send the configuration of a consumer with today's fields. Raises OldRequestError."""
    try:
        request = gojson.decode(body)
    except gojson.JsonError:
        raise _bad() from None
    if not isinstance(request, dict) or not isinstance(request.get("config"), dict):
        raise _bad()
    return gojson.encode({**request, "config": _consumer_config(request["config"])})


def _consumer_config(old: dict[str, Any]) -> dict[str, Any]:
    """Return today's fields. What is not of 2020 stays, so that configurations of today are taken, too."""
    config = {_RENAMED.get(name, name): value for name, value in old.items()}
    sequence, time = config.pop("stream_seq", 0), config.pop("start_time", _ZERO_TIME)
    everything, last = config.pop("deliver_all", False), config.pop("deliver_last", False)
    if "deliver_policy" in config:
        return config
    if sequence:
        return {**config, "deliver_policy": "by_start_sequence", "opt_start_seq": sequence}
    if everything or last:
        return {**config, "deliver_policy": "all" if everything else "last"}
    if time not in (None, _ZERO_TIME):
        return {**config, "deliver_policy": "by_start_time", "opt_start_time": time}
    return {**config, "deliver_policy": "new"}
