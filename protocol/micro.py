"""NATS services: their subjects and documents, as in ADR-32. Pure: nothing here sends or reads the time.

A service answers requests on its endpoints, and `$SRV.PING|INFO|STATS`, with its name, and with its name and
id. `Service` makes these answers and keeps the statistics; `request_subject` is for those who ask.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import Any

from .lazy_dataclass import dataclass

PREFIX = "$SRV"
PING, INFO, STATS = "PING", "INFO", "STATS"
VERBS = (PING, INFO, STATS)
QUEUE = "q"  # the queue group of endpoints, unless they name another
TYPES = {verb: f"io.nats.micro.v1.{verb.lower()}_response" for verb in VERBS}
ERROR_HEADER, ERROR_CODE_HEADER = "Nats-Service-Error", "Nats-Service-Error-Code"
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def is_service_name(text: str) -> bool:
    """Return whether a service or an endpoint may have this name."""
    return bool(_NAME.fullmatch(text))


def request_subject(verb: str, name: str = "", instance: str = "") -> str:
    """Return where to ask all services, those with a name, or one instance of them."""
    return ".".join(token for token in (PREFIX, verb, name, instance) if token)


def document_of(payload: bytes, verb: str) -> dict[str, Any] | None:
    """Return an answer of a service; None if it is none of this verb."""
    try:
        document = json.loads(payload)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.get("type") != TYPES[verb]:
        return None
    texts = all(isinstance(document.get(key), str) for key in ("name", "id", "version"))
    if not texts or not is_service_name(document["name"]) or not is_service_name(document["id"]):
        return None
    endpoints = document.get("endpoints")
    listed = verb == PING or endpoints is None or isinstance(endpoints, list)
    if not listed or not all(isinstance(each, dict) for each in endpoints or ()):
        return None
    return document


@dataclass(slots=True)
class Endpoint:
    """One endpoint of a service, and its statistics. Times are in ns."""

    name: str
    subject: str
    queue: str = QUEUE
    metadata: dict[str, str] = field(default_factory=dict)
    requests: int = 0
    errors: int = 0
    last_error: str = ""
    processing_time: int = 0
    data: dict[str, Any] | None = None  # statistics of its own

    def served(self, duration: int, error: str = "", requests: int = 1) -> None:
        """Count requests that took `duration` ns together."""
        self.requests += requests
        self.processing_time += duration
        if error:
            self.errors += 1
            self.last_error = error

    def info(self) -> dict[str, Any]:
        """Return what INFO tells of it."""
        return {
            "name": self.name,
            "subject": self.subject,
            "queue_group": self.queue,
            "metadata": self.metadata or None,
        }

    def stats(self) -> dict[str, Any]:
        """Return what STATS tells of it."""
        average = self.processing_time // self.requests if self.requests else 0
        document: dict[str, Any] = {
            "name": self.name,
            "subject": self.subject,
            "queue_group": self.queue,
            "num_requests": self.requests,
            "num_errors": self.errors,
            "last_error": self.last_error,
            "processing_time": self.processing_time,
            "average_processing_time": average,
        }
        if self.data is not None:
            document["data"] = self.data
        return document


@dataclass(slots=True)
class Service:
    """One instance of a service.

    started: RFC 3339.
    """

    name: str
    instance: str
    version: str
    description: str
    started: str
    endpoints: list[Endpoint]
    metadata: dict[str, str] = field(default_factory=dict)

    def subjects(self) -> dict[str, str]:
        """Return the subjects on which questions about it arrive, and the verb of each."""
        return {
            request_subject(verb, *path): verb
            for verb in VERBS
            for path in ((), (self.name,), (self.name, self.instance))
        }

    def answer(self, verb: str) -> bytes:
        """Return the answer to a question."""
        document: dict[str, Any] = {
            "name": self.name,
            "id": self.instance,
            "version": self.version,
            "metadata": self.metadata,
            "type": TYPES[verb],
        }
        if verb == INFO:
            document["description"] = self.description
            document["endpoints"] = [endpoint.info() for endpoint in self.endpoints]
        elif verb == STATS:
            document["started"] = self.started
            document["endpoints"] = [endpoint.stats() for endpoint in self.endpoints]
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
