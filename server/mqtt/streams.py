"""The streams that MQTT keeps in an account: made when its first client comes, as nats-server makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import records
from .flow import Flow
from .requests import STREAM_EXISTS, STREAM_NOT_FOUND, JetStreamAnswerError, Requests

if TYPE_CHECKING:
    from ..logging import Logger

_MOST_REPLICAS = 3


def replicas(given: int, routes: int) -> int:
    """Return how many replicas the streams have. given: as configured, 0 for unset; routes: how many."""
    return given if given > 0 else min(max(routes, 1), _MOST_REPLICAS)


def _configs(domain_token: str, number: int) -> list[dict[str, Any]]:
    limits = {"retention": "limits", "max_msgs_per_subject": 1}
    interest = {"retention": "interest"}
    discard = limits | {"discard": "new", "discard_new_per_subject": True}
    rows = (
        (records.SESSIONS, f"{records.SESSIONS_PREFIX}{domain_token}>", limits),
        (records.MESSAGES, f"{records.MESSAGES_PREFIX}>", interest),
        (records.QOS2_IN, f"{records.QOS2_IN_PREFIX}>", discard),
        (records.QOS2_OUT, f"{records.QOS2_OUT_PREFIX}>", interest),
        (records.RETAINED, f"{records.RETAINED_PREFIX}>", limits),
    )
    common = {"storage": "file", "num_replicas": number}
    return [{"name": name, "subjects": [subject], **more, **common} for name, subject, more in rows]


def ensure(requests: Requests, log: Logger, domain_token: str, number: int, *, given: bool) -> Flow[None]:
    """Make the streams that are not there, with `number` replicas. Raises JetStreamAnswerError.

    given: whether the configuration says how many, so that another number in a stream is worth a warning.
    domain_token: the JetStream domain with a dot, or "": sessions are kept apart by it.
    """
    for config in _configs(domain_token, number):
        name = config["name"]
        try:
            info = yield from requests.api("SL", f"STREAM.INFO.{name}")
        except JetStreamAnswerError as error:
            if error.err_code != STREAM_NOT_FOUND:
                raise
            yield from _create(requests, config)
            continue
        present = info.get("config", {})
        if name == records.RETAINED and present.get("max_msgs_per_subject") != 1:
            raise JetStreamAnswerError(
                f"stream {name} is in the form of a nats-server before 2.10: let a newer one convert it first"
            )
        if given and present.get("num_replicas") != number:
            log.warning(
                f"MQTT stream replicas mismatch: current is {present.get('num_replicas')} but configuration "
                f"is {number} for '{requests.account.name} > {name}'"
            )


def _create(requests: Requests, config: dict[str, Any]) -> Flow[None]:
    try:
        yield from requests.api("SC", f"STREAM.CREATE.{config['name']}", config)
    except JetStreamAnswerError as error:
        if error.err_code != STREAM_EXISTS:  # another server was quicker
            raise
