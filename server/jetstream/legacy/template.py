"""One stream template: its configuration, its streams, and the streams that messages have it make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.stream_template import TEMPLATE_OWNER, StreamTemplateConfig
from ....protocol.errors import ApiError, api_error
from ....protocol.subject import is_literal
from ..streams.validation.config import MAX_NAME, check_texts, is_asset_name
from ..streams.validation.context import invalid

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ...accounts.subscription import Subscription


def stream_name(subject: str) -> str:
    """Return the name of the stream that a message on a subject has a template make."""
    return subject.replace(".", "_")


def check_template(config: StreamTemplateConfig) -> None:
    """Raise ApiError if a new template cannot have this name, or its streams one of their own."""
    if config.config.name:
        raise refused("template config name should be empty")
    if not is_asset_name(config.name):
        raise refused("stream template name is required and can not contain '.', '*', '>', '\\\\', '/'")
    if len(config.name.encode()) > MAX_NAME:
        raise refused(f"template name is too long, maximum allowed is {MAX_NAME}")


def refused(text: str) -> ApiError:
    """Return the error of a template that is not created."""
    return api_error("JSStreamTemplateCreateErrF", err=text)


class ServedTemplate:
    """A template that is served.

    sample: the configuration of its streams without name and subjects.
    streams: the names of those that it made, or is about to make.
    pruned: how many streams the account had lost when those that are gone were last forgotten.
    stopped: whether it makes no more.
    """

    __slots__ = ("config", "name", "pruned", "sample", "stopped", "streams", "subscriptions")

    def __init__(self, config: StreamTemplateConfig) -> None:
        self.config = config
        self.name = config.name
        own = {**config.config.metadata, TEMPLATE_OWNER: config.name}
        self.sample = config.config.replace(subjects=[], metadata=own)
        self.streams: set[str] = set()
        self.subscriptions: list[Subscription] = []
        self.pruned = -1
        self.stopped = False

    def stream_config(self, subject: str) -> StreamConfig:
        """Return the configuration of the stream of one subject. Raises ApiError if there can be none."""
        if not is_literal(subject) or not subject.isprintable():
            raise invalid("invalid subject")  # bytes that are not UTF-8 are not printable, either
        config = self.sample.replace(name=stream_name(subject), subjects=[subject])
        check_texts(config)
        return config
