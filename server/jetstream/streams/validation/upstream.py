"""The rules for a stream's mirror and sources.

Promises:
- Accepted names, filters and transforms are valid.
- Local mirrors and sources form no cycle.
- An external origin is not asked for anything: of what is outside the account only the form is checked.
- The checks run in steps, as there may be thousands of sources.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from .....protocol.api.stream import StreamConfig, StreamSource, SubjectTransformConfig
from .....protocol.errors import api_error
from .....protocol.subject import collide, is_literal, is_valid
from .....protocol.subject_tree import SubjectTree, TooEntangled, indexing, nesting
from ....slices import Steps
from ..source_header import consumer_index, source_index
from .context import ValidationContext, invalid, pedantic
from .subjects import mapping_error

API_PREFIX = "$JS.API"


def _bad_name(name: str) -> bool:
    return not name or any(c in ".*>/\\ \t\r\n\f" or c < " " for c in name)


def check_mirror(config: StreamConfig, context: ValidationContext) -> Steps[StreamConfig]:
    """Check the mirror, and return the configuration with its defaults. Raises ApiError.

    A mirror of a local origin takes over whether the origin answers direct gets.
    """
    mirror = config.mirror
    if mirror is None:
        return config
    _check_mirror_company(config)
    _check_durable(mirror, "JSMirrorDurableConsumerCfgInvalid")
    if mirror.filter_subject and mirror.subject_transforms:
        raise api_error("JSMirrorMultipleFiltersNotAllowed")
    if config.subject_delete_marker_ttl > 0:
        raise invalid("subject delete markers forbidden on mirrors")
    yield from _check_transforms(
        mirror.subject_transforms,
        "JSMirrorInvalidSubjectFilter",
        "JSMirrorInvalidTransformDestination",
        "JSMirrorOverlappingSubjectFilters",
        _colliding,
    )
    if mirror.external is not None:
        _check_filter(mirror, "mirror")
        return config
    if _bad_name(mirror.name):
        raise api_error("JSMirrorInvalidStreamName")
    origin = context.lookup(mirror.name)
    if origin is not None:
        if 0 < config.max_msg_size < origin.max_msg_size:
            raise api_error("JSMirrorMaxMessageSizeTooBigErr")
        if context.pedantic and config.mirror_direct != origin.allow_direct:
            raise pedantic("origin stream has direct get set, mirror has it disabled")
        config = replace(config, mirror_direct=origin.allow_direct)
    _check_filter(mirror, "mirror")
    return config


def _check_mirror_company(config: StreamConfig) -> None:
    for present, constant in (
        (config.first_seq > 0, "JSMirrorWithFirstSeqErr"),
        (bool(config.subjects), "JSMirrorWithSubjectsErr"),
        (bool(config.sources), "JSMirrorWithSourcesErr"),
        (config.allow_msg_counter, "JSMirrorWithCountersErr"),
        (config.allow_atomic, "JSMirrorWithAtomicPublishErr"),
        (config.allow_batched, "JSMirrorWithBatchPublishErr"),
        (config.allow_msg_schedules, "JSMirrorWithMsgSchedulesErr"),
    ):
        if present:
            raise api_error(constant)


def check_sources(config: StreamConfig, context: ValidationContext) -> Steps[None]:
    """Check each source, and that no two are the same. Raises ApiError."""
    if config.sources and config.allow_msg_schedules:
        raise api_error("JSSourceWithMsgSchedulesErr")
    indexes: set[str] = set()
    durables: set[str] = set()
    for source in config.sources or ():
        yield
        if _bad_name(source.name):
            raise api_error("JSSourceInvalidStreamName")
        index = source_index(source)
        if index in indexes:
            raise api_error("JSSourceDuplicateDetected")
        indexes.add(index)
        if source.filter_subject and source.subject_transforms:
            raise api_error("JSSourceMultipleFiltersNotAllowed")
        yield from _check_transforms(
            source.subject_transforms,
            "JSSourceInvalidSubjectFilter",
            "JSSourceInvalidTransformDestination",
            "JSSourceOverlappingSubjectFilters",
            nesting,
        )
        _check_durable(source, "JSSourceDurableConsumerCfgInvalid")
        if source.consumer is not None:
            durable = consumer_index(source)
            if durable in durables:
                raise api_error("JSSourceDurableConsumerDuplicateDetected")
            durables.add(durable)
        _check_filter(source, "source")
        origin = context.lookup(source.name) if source.external is None else None
        if origin is not None and 0 < config.max_msg_size < origin.max_msg_size:
            raise api_error("JSSourceMaxMessageSizeTooBigErr")


def _check_durable(source: StreamSource, constant: str) -> None:
    consumer = source.consumer
    if consumer is None:
        return
    subject = consumer.deliver_subject
    if (
        _bad_name(consumer.name)
        or not (subject and is_valid(subject) and is_literal(subject))
        or source.opt_start_seq
        or source.opt_start_time is not None
        or source.filter_subject
    ):
        raise api_error(constant)


def _check_filter(source: StreamSource, kind: str) -> None:
    if source.filter_subject and not is_valid(source.filter_subject):
        where = "the mirror" if kind == "mirror" else "the source:"
        text = f"subject filter '{source.filter_subject}' for {where} invalid subject"
        raise api_error("JSStreamCreateErrF", err=text)


def _check_transforms(
    transforms: list[SubjectTransformConfig] | None,
    bad_source: str,
    bad_destination: str,
    overlap: str,
    overlapping: Callable[[list[str]], Steps[bool]],
) -> Steps[None]:
    transforms = transforms or []
    for transform in transforms:
        yield
        if transform.src and not is_valid(transform.src):
            raise api_error(bad_source, err=f"invalid subject {transform.src}")
        error = mapping_error(transform.src, transform.dest)
        if error:
            raise api_error(bad_destination, err=error)
    try:
        if (yield from overlapping([transform.src or ">" for transform in transforms])):
            raise api_error(overlap)
    except TooEntangled as error:
        raise invalid(str(error)) from None


def _colliding(subjects: list[str]) -> Steps[bool]:
    tree = yield from indexing(subjects)
    return len(tree) < len(subjects) or not (yield from tree.parting())


def check_prefixes(config: StreamConfig, context: ValidationContext) -> Steps[None]:
    """Check the API and delivery prefixes of external origins. Raises ApiError.

    They must be literal. An API prefix must not overlap with the local API, nor a delivery prefix with the
    subjects of the local origins.
    """
    origins = [source for source in [config.mirror, *(config.sources or ())] if source is not None]
    externals = [origin.external for origin in origins if origin.external is not None]
    if not externals:
        return
    subjects: list[str] = []
    for name in dict.fromkeys(origin.name for origin in origins if origin.external is None):
        local = context.lookup(name)
        subjects.extend((local.subjects or ()) if local is not None else ())
        yield
    tree = yield from indexing(subjects)
    for external in externals:
        yield
        prefix = external.deliver
        if not prefix:
            continue
        if not (is_valid(prefix) and is_literal(prefix)):
            raise api_error("JSStreamInvalidExternalDeliverySubjErrF", prefix=prefix)
        beneath = sorted(index for found in tree.colliding(f"{prefix}.>") for index in found)
        for subject in (subjects[index] for index in beneath):
            if collide(subject, f"{prefix}.{subject}"):
                raise api_error("JSStreamExternalDelPrefixOverlapsErrF", prefix=prefix, subject=subject)
    for external in externals:
        yield
        prefix = external.api
        if not prefix:
            continue
        if not (is_valid(prefix) and is_literal(prefix)):
            raise invalid(f'stream external api prefix "{prefix}" must be a valid subject without wildcards')
        if collide(prefix, API_PREFIX):
            raise api_error("JSStreamExternalApiOverlapErrF", prefix=prefix, subject=API_PREFIX)


def check_cycles(config: StreamConfig, context: ValidationContext) -> Steps[None]:
    """Raise ApiError if streams of the account would source or mirror each other in a cycle."""
    visit: deque[StreamConfig] = deque([config])
    found = {config.name}
    visited: set[str] = set()

    def follow(name: str) -> None:
        origin = context.lookup(name) if name not in found else None
        if origin is not None:
            found.add(name)
            visit.append(origin)

    while visit:
        current = visit.popleft()
        visited.add(current.name)
        tree: SubjectTree[list[int]] | None = None
        for source in current.sources or ():
            yield
            if source.external is not None:
                continue
            if source.name in visited:
                if tree is None:
                    tree = yield from indexing(current.subjects or ())
                if not source.filter_subject or any(True for _ in tree.colliding(source.filter_subject)):
                    raise invalid("detected cycle")
            else:
                follow(source.name)
        mirror = current.mirror
        if mirror is None or mirror.external is not None:
            continue
        if mirror.name in visited:
            raise invalid("detected cycle")
        follow(mirror.name)
