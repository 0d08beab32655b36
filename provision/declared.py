"""What documents declare, as configurations of the JetStream API: one value for each stream and consumer.

A bucket is declared as the stream that it is laid out on. The configurations are sparse, as the documents
are: that is also how they are sent, so that the server fills in its own defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import ExternalStream, StreamConfig, StreamSource
from ..protocol.buckets import key_value, object_store
from ..protocol.buckets.config import KeyValueConfig, ObjectStoreConfig
from ..protocol.buckets.naming import BucketError
from .errors import ConflictError
from .model import (
    ConsumerSection,
    DomainDocument,
    KeyValueSection,
    ObjectStoreSection,
    StreamSection,
)
from .sections import ProvisionSection

StreamKind = Literal["stream", "kv", "object"]
STREAM: Final = "stream"
CONSUMER: Final = "consumer"
KEY_VALUE: Final = "kv"
OBJECT_STORE: Final = "object"
OWNER = "pyjs.owner"  # the metadata that says who looks after a stream or consumer


class Id(NamedTuple):
    """The name of a stream or consumer in all domains. domain: empty for that of the connection."""

    domain: str
    stream: str
    consumer: str = ""

    def __str__(self) -> str:
        name = f"{self.stream} > {self.consumer}" if self.consumer else self.stream
        return f"{name} in {self.domain}" if self.domain else name


@dataclass(frozen=True)
class DeclaredStream:
    """A stream, or the stream of a bucket. kind: STREAM, KEY_VALUE or OBJECT_STORE."""

    id: Id
    kind: StreamKind
    config: StreamConfig
    owner: str = ""


@dataclass(frozen=True)
class DeclaredConsumer:
    """A durable consumer."""

    id: Id
    config: ConsumerConfig
    owner: str = ""
    kind: Literal["consumer"] = CONSUMER


Declaration = DeclaredStream | DeclaredConsumer


@dataclass(frozen=True)
class Declared:
    """All that documents declare.

    domains: those that documents are about; things are pruned only there.
    """

    streams: Mapping[Id, DeclaredStream] = field(default_factory=dict)
    consumers: Mapping[Id, DeclaredConsumer] = field(default_factory=dict)
    domains: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Declaration]:
        """Yield the streams, then the consumers."""
        yield from self.streams.values()
        yield from self.consumers.values()


def declare(documents: Iterable[DomainDocument], owner: str = "") -> Declared:
    """Return what documents declare together.

    owner: of the documents that name none.

    Raises ConflictError if two declare the same thing, or for a bucket with settings that no bucket has.
    """
    streams: dict[Id, DeclaredStream] = {}
    consumers: dict[Id, DeclaredConsumer] = {}
    domains: dict[str, None] = {}
    twice: list[str] = []
    for document in documents:
        if not document.accounts or document.streams or document.consumers or document.kv or document.objects:
            domains[document.domain or ""] = None
        for stream in _streams(document, document.owner or owner):
            twice += [f"{stream.id} is declared twice"] if stream.id in streams else []
            streams[stream.id] = stream
        for consumer in _consumers(document, document.owner or owner):
            twice += [f"{consumer.id} is declared twice"] if consumer.id in consumers else []
            consumers[consumer.id] = consumer
    if twice:
        raise ConflictError("the documents do not go together", twice)
    return Declared(streams, consumers, tuple(domains))


def _streams(document: DomainDocument, owner: str) -> Iterator[DeclaredStream]:
    domain = document.domain or ""

    def declared(kind: StreamKind, config: StreamConfig) -> DeclaredStream:
        _own(config.metadata, owner)
        return DeclaredStream(Id(domain, config.name), kind, config, owner)

    for name, stream in document.streams.items():
        yield declared(STREAM, stream_config(name, stream))
    try:
        for name, bucket in document.kv.items():
            yield declared(KEY_VALUE, key_value_config(name, bucket))
        for name, store in document.objects.items():
            yield declared(OBJECT_STORE, object_store_config(name, store))
    except BucketError as error:
        raise ConflictError(f"the bucket {name}: {error}") from None


def _consumers(document: DomainDocument, owner: str) -> Iterator[DeclaredConsumer]:
    domain = document.domain or ""
    groups = [(name, section.consumers) for name, section in document.streams.items()]
    for stream, sections in [*groups, *document.consumers.items()]:
        for name, section in sections.items():
            config = consumer_config(name, section)
            _own(config.metadata, owner)
            yield DeclaredConsumer(Id(domain, stream, name), config, owner)


def _own(metadata: dict[str, str], owner: str) -> None:
    if owner:
        metadata[OWNER] = owner


def stream_config(name: str, section: StreamSection) -> StreamConfig:
    """Return the configuration that a section of a stream gives."""
    return StreamConfig.from_json({"name": name, **_given(section, {"consumers"})})


def consumer_config(name: str, section: ConsumerSection) -> ConsumerConfig:
    """Return the configuration that a section of a consumer gives."""
    return ConsumerConfig.from_json({"durable_name": name, **_given(section)})


def key_value_config(name: str, section: KeyValueSection) -> StreamConfig:
    """Return the configuration of the stream of a key-value bucket. Raises BucketError."""
    given = {key: getattr(section, key) for key in section.model_fields_set}
    records = _records(_given(section))
    return KeyValueConfig(bucket=name, **{**given, **records}).stream()


def object_store_config(name: str, section: ObjectStoreSection) -> StreamConfig:
    """Return the configuration of the stream of an object bucket. Raises BucketError."""
    given = {key: getattr(section, key) for key in section.model_fields_set}
    return ObjectStoreConfig(bucket=name, **{**given, **_records(_given(section))}).stream()


def _records(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nested parts of a bucket's settings as the records of the API."""
    names = [name for name in ("placement", "republish", "mirror", "sources") if name in given]
    config = StreamConfig.from_json({name: given[name] for name in names})
    return {name: getattr(config, name) for name in names}


def _given(section: ProvisionSection, without: Iterable[str] = ()) -> dict[str, Any]:
    """Return what a section gives as the API has it, with origins in other domains written out."""
    found: dict[str, Any] = section.model_dump(exclude_unset=True, exclude=set(without), exclude_none=True)
    for origin in [found.get("mirror"), *found.get("sources", ())]:
        domain = origin.pop("domain", None) if origin else None
        if domain is not None:
            origin["external"] = ExternalStream(api=f"$JS.{domain}.API").to_json()
    return found


def usual_stream(declared: DeclaredStream) -> StreamConfig:
    """Return the configuration that a stream or bucket of this kind has if nothing else is declared."""
    _, _, bucket = declared.id.stream.partition("_")
    if declared.kind == KEY_VALUE:
        return KeyValueConfig(bucket=bucket).stream()
    if declared.kind == OBJECT_STORE:
        return ObjectStoreConfig(bucket=bucket).stream()
    return StreamConfig(name=declared.id.stream)


def origins(config: StreamConfig) -> list[StreamSource]:
    """Return the mirror or the sources of a stream."""
    return [*([config.mirror] if config.mirror is not None else []), *config.sources]


def origin_of(origin: StreamSource, domain: str) -> Id:
    """Return the stream that a mirror or source of a stream in `domain` copies.

    Its domain is told by the prefix of its API, `$JS.<domain>.API`; any other prefix is taken for `domain`.
    """
    return Id(external_domain(origin) or domain, origin.name)


def external_domain(origin: StreamSource) -> str:
    """Return the domain that the prefix of an origin's API names; empty if it names none."""
    parts = origin.external.api.split(".") if origin.external is not None else []
    return parts[1] if len(parts) == 3 and (parts[0], parts[2]) == ("$JS", "API") else ""


def bucket_kind(config: StreamConfig) -> tuple[str, str]:
    """Return the kind and the name that people use for a stream: those of its bucket, if it is one's."""
    if config.name.startswith(key_value.STREAM_PREFIX) and config.max_msgs_per_subject >= 1:
        return KEY_VALUE, key_value.bucket_name(config.name)
    if config.name.startswith(object_store.STREAM_PREFIX):
        return OBJECT_STORE, object_store.bucket_name(config.name)
    return STREAM, config.name
