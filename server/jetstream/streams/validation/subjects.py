"""The rules for a stream's subjects, its transform and its republish.

Promises: an accepted configuration can be subscribed to and transformed without further checks. The account
is never touched.
"""

from __future__ import annotations

from dataclasses import replace

from .....protocol.api.stream import StreamConfig
from .....protocol.errors import ApiError, api_error
from .....protocol.subject import collide, is_subset, is_valid
from .....protocol.subject_tree import SubjectTree, TooEntangled, indexing
from .....protocol.transform import SubjectTransform, TransformError, parse_placeholder
from ....slices import Steps, at_once
from .context import SubjectCheck, ValidationContext, invalid, pedantic

STEP = 1024  # subjects checked in one step
INTERNAL_SPACES = ("$JS.>", "$JSC.>", "$NRG.>")
INVALID_MAPPING = "invalid mapping destination: invalid transform"


def checking_subjects(config: StreamConfig) -> Steps[SubjectCheck]:
    """Check the subjects by themselves, in steps: each must be valid and allowed, and none may overlap."""
    subjects = config.subjects
    tree: SubjectTree[list[int]] = yield from indexing(subjects)
    try:
        apart = len(tree) == len(subjects) and (yield from tree.parting())
        for index, subject in enumerate(subjects):
            if not (index + 1) % STEP:
                yield
            if not is_valid(subject):
                raise invalid("invalid subject")
            _check_spaces(subject, config)
            if apart:
                continue
            later = [one for found in tree.colliding(subject) for one in found if one != index]
            if later:
                raise invalid(f'subject "{subject}" overlaps with "{subjects[min(later)]}"')
    except TooEntangled as error:
        return SubjectCheck(subjects, tree, invalid(str(error)))
    except ApiError as error:
        return SubjectCheck(subjects, tree, error)
    return SubjectCheck(subjects, tree)


def check_subjects(config: StreamConfig, subject_check: SubjectCheck | None) -> StreamConfig:
    """Check the subjects, and return the configuration with its default subject. Raises ApiError.

    A stream without subjects, mirror and sources gets its name as its subject. subject_check: the result of
    `checking_subjects` for these subjects; without it they are checked now.
    """
    if not config.subjects:
        if config.mirror is None and not config.sources:
            return replace(config, subjects=[config.name])
        return config
    if config.mirror is not None:
        raise api_error("JSMirrorWithSubjectsErr")
    if subject_check is None or subject_check.subjects is not config.subjects:
        subject_check = at_once(checking_subjects(config))
    if subject_check.error is not None:
        raise subject_check.error
    return config


def _check_spaces(subject: str, config: StreamConfig) -> None:
    """Raise ApiError if an acknowledging stream would capture the server's own traffic.

    Each of its acks would be such traffic again.
    """
    if subject == ">":
        if not config.no_ack:
            raise invalid("capturing all subjects requires no-ack to be true")
        if config.num_replicas > 1:
            raise invalid("capturing all subjects requires replicas of 1")
    if config.no_ack or subject[0] not in "$*>":
        return
    for space in INTERNAL_SPACES:
        if collide(subject, space) and not is_subset(subject, "$JS.EVENT.>"):
            raise invalid("subjects that overlap with jetstream api require no-ack to be true")
    if collide(subject, "$SYS.>") and not is_subset(subject, "$SYS.ACCOUNT.>"):
        raise invalid("subjects that overlap with system api require no-ack to be true")


def check_transform(config: StreamConfig) -> None:
    """Check the transform that is applied to published messages. Raises ApiError."""
    transform = config.subject_transform
    if transform is None:
        return
    if transform.src and not is_valid(transform.src):
        raise api_error("JSStreamTransformInvalidSource", err=f"invalid subject {transform.src}")
    error = mapping_error(transform.src, transform.dest)
    if error:
        raise api_error("JSStreamTransformInvalidDestination", err=error)


def with_republish(config: StreamConfig, context: ValidationContext) -> StreamConfig:
    """Check the republish, and return the configuration with its defaults. Raises ApiError.

    The destination must not overlap with the stream's subjects, as messages would come back into it.
    """
    republish = config.republish
    if republish is None:
        return config
    if not republish.src:
        if context.pedantic:
            raise pedantic("republish source can not be empty")
        republish = replace(republish, src=">")
    transform = config.subject_transform
    if (
        republish.dest == ">" == republish.src
        and transform is not None
        and config.subjects is not None
        and config.subjects == [transform.src]
    ):
        if context.pedantic:
            raise pedantic("implicit republish based on subject transform")
        republish = replace(republish, src=transform.dest, dest=transform.dest)
    if any(collide(republish.dest, subject) for subject in config.subjects or ()):
        raise invalid("stream configuration for republish destination forms a cycle")
    try:
        SubjectTransform(republish.src, republish.dest)
    except TransformError:
        raise invalid(
            f"stream configuration for republish with transform from '{republish.src}' to "
            f"'{republish.dest}' not valid"
        ) from None
    return replace(config, republish=republish)


def mapping_error(source: str, destination: str) -> str:
    """Return why `source` cannot be mapped to `destination`, "" if it can.

    An empty destination changes nothing and is always possible.
    """
    if not destination:
        return ""
    tokens = destination.split(".")
    for index, token in enumerate(tokens):
        if not token or ">" in tokens[:index]:
            return f"{INVALID_MAPPING} in {token}" if token else INVALID_MAPPING
        if any(c in token for c in " \t\r\n\f") and not token.startswith("{{"):
            return INVALID_MAPPING
        try:
            parse_placeholder(token)
        except TransformError as error:
            if "unknown function" in str(error):
                return str(error)
    try:
        SubjectTransform(source, destination)
    except TransformError as error:
        return str(error)
    return ""
