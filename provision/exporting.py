"""What servers have, as documents that say only what differs from the defaults.

Promises: a document made here declares exactly what was there, which `minimal` checks for each; nothing that
a server writes into metadata gets into one. Ephemeral consumers are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from ..protocol.buckets.config import KeyValueConfig, ObjectStoreConfig
from ..protocol.buckets.naming import BucketError
from .declared import (
    KEY_VALUE,
    OBJECT_STORE,
    STREAM,
    bucket_kind,
    consumer_config,
    key_value_config,
    object_store_config,
    stream_config,
)
from .defaults import (
    NOT_DECLARED,
    Lookup,
    consumer_defaults,
    declared_metadata,
    normal_consumer,
    normal_stream,
    stream_defaults,
)
from .errors import ProvisionError
from .model import ConsumerSection, DomainDocument, KeyValueSection, ObjectStoreSection, StreamSection
from .observed_state import ObservedDomain, ObservedStream
from .written import written

Json = dict[str, Any]
_KEYS = {STREAM: "streams", KEY_VALUE: "kv", OBJECT_STORE: "objects"}


@dataclass(frozen=True)
class Exported:
    """One stream or bucket as a document. kind: stream, kv or object."""

    kind: str
    name: str
    document: Json


def export(facts: ObservedDomain, names: Iterable[str] | None = None, domain: str = "") -> list[Exported]:
    """Return a document for each stream and bucket.

    names: of streams or buckets; None for all.
    domain: what the documents name as their domain.

    Raises KeyError with a name that is not there, ProvisionError for what no document can say.
    """
    called = {name: {name, bucket_kind(each.config)[1]} for name, each in facts.streams.items()}
    chosen = set().union(*called.values()) if names is None else set(names)
    for name in chosen.difference(*called.values()):
        raise KeyError(name)
    return [_exported(each, facts, domain) for name, each in facts.streams.items() if called[name] & chosen]


def _exported(stream: ObservedStream, facts: ObservedDomain, domain: str) -> Exported:
    try:
        kind, name, section = _section(stream.config, facts)
        consumers = {
            each: minimal_consumer(consumer.config, stream.config, facts.max_ack_pending)
            for each, consumer in stream.consumers.items()
        }
        document = _document(kind, name, section, stream.config.name, consumers)
        if domain:
            document = {"domain": domain, **document}
        DomainDocument.model_validate(document)
    except (ValidationError, _DifferentError) as error:
        raise ProvisionError(f"no document can say what {stream.config.name!r} is", [str(error)]) from None
    return Exported(kind, name, document)


def _document(kind: str, name: str, section: Json, stream: str, consumers: Json) -> Json:
    if kind == STREAM:
        return {"streams": {name: {**section, **({"consumers": consumers} if consumers else {})}}}
    return {_KEYS[kind]: {name: section}, **({"consumers": {stream: consumers}} if consumers else {})}


def _section(config: StreamConfig, facts: ObservedDomain) -> tuple[str, str, Json]:
    """Return the kind, the name and the section of a stream: that of a bucket, if one says it all."""

    def origin(name: str) -> StreamConfig | None:
        found = facts.streams.get(name)
        return None if found is None else found.config

    kind, name = bucket_kind(config)
    try:
        if kind == KEY_VALUE:
            return kind, name, _minimal_key_value(name, config, origin)
        if kind == OBJECT_STORE:
            return kind, name, _minimal_object_store(name, config, origin)
    except (BucketError, ValidationError, _DifferentError):
        pass  # another client made it with other settings: as a stream nothing is lost
    return STREAM, config.name, minimal_stream(config, origin)


def minimal_stream(config: StreamConfig, origin: Lookup) -> Json:
    """Return the section of a stream with what differs from the defaults; `origin` as for the defaults."""
    given = written({**config.to_json(), "metadata": declared_metadata(config.metadata)}, {"name"})

    def build(section: Json) -> Json:
        declared = stream_config(config.name, StreamSection.model_validate(section))
        return normal_stream(stream_defaults(declared, origin))

    return minimal(given, build, normal_stream(stream_defaults(config, origin)))


def minimal_consumer(config: ConsumerConfig, stream: StreamConfig, max_ack_pending: int) -> Json:
    """Return the section of a consumer with what differs from the defaults."""
    given = written({**config.to_json(), "metadata": declared_metadata(config.metadata)}, set(NOT_DECLARED))

    def full(config: ConsumerConfig) -> Json:
        return normal_consumer(consumer_defaults(config, stream, max_ack_pending))

    def build(section: Json) -> Json:
        return full(consumer_config(config.durable_name, ConsumerSection.model_validate(section)))

    return minimal(given, build, full(config))


def _minimal_key_value(name: str, config: StreamConfig, origin: Lookup) -> Json:
    bucket = KeyValueConfig.of(config)
    given = _settings(bucket, KeyValueSection.model_fields, config)
    # What a bucket's sources need of transforms is added again where they are declared.
    for source in given.get("sources", ()):
        if isinstance(source, dict):
            source.pop("subject_transforms", None)

    def build(section: Json) -> Json:
        declared = key_value_config(name, KeyValueSection.model_validate(section))
        return normal_stream(stream_defaults(declared, origin))

    return minimal(given, build, normal_stream(stream_defaults(config, origin)))


def _minimal_object_store(name: str, config: StreamConfig, origin: Lookup) -> Json:
    given = _settings(ObjectStoreConfig.of(config), ObjectStoreSection.model_fields, config)

    def build(section: Json) -> Json:
        declared = object_store_config(name, ObjectStoreSection.model_validate(section))
        return normal_stream(stream_defaults(declared, origin))

    return minimal(given, build, normal_stream(stream_defaults(config, origin)))


def _settings(bucket: object, fields: Iterable[str], config: StreamConfig) -> Json:
    """Return the settings of a bucket as a section of a document has them."""
    nested = config.to_json()
    found: Json = {}
    for name in fields:
        value = getattr(bucket, name)
        found[name] = nested.get(name) if name in ("placement", "republish", "mirror", "sources") else value
    found["metadata"] = declared_metadata(config.metadata)
    return written(found, set())


class _DifferentError(Exception):
    """The section cannot say what is there."""


def minimal(given: Json, build: Callable[[Json], Json], wanted: Json) -> Json:
    """Return the fewest of the given fields with which `build` still makes what is wanted."""
    usual = build({})
    small = {name: value for name, value in given.items() if wanted.get(name) != usual.get(name)}
    found = small if build(small) == wanted else given
    if build(found) != wanted:
        raise _DifferentError("it has settings that a server of this version does not make")
    for name in list(found):
        rest = {key: value for key, value in found.items() if key != name}
        if build(rest) == wanted:
            found = rest
    return found
