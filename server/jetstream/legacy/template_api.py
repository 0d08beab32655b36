"""The API family STREAM.TEMPLATE, with the requests and answers of nats-server up to 2.9.

Its requests are served only with `legacy_api`. In a cluster they are refused, as they were there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.messages import PageRequest, response
from ....protocol.api.stream_template import StreamTemplateConfig, StreamTemplateInfo
from ....protocol.errors import api_error
from ...slices import Steps
from ..api.page import NAMES_LIMIT, Page
from ..api.request import ApiEndpoint, Request, Response
from ..meta.responder_rule import ResponderRule

if TYPE_CHECKING:
    from .templates import StreamTemplates


class TemplateApi:
    """Serves the requests about the templates of one account. templates: None in a cluster."""

    def __init__(self, templates: StreamTemplates | None) -> None:
        self._served = templates

    def endpoints(self) -> dict[str, ApiEndpoint]:
        """Return how each request is served, by its subject after `$JS.API.`."""
        rule = ResponderRule.META
        return {
            "STREAM.TEMPLATE.CREATE.*": ApiEndpoint("stream_template_create", self._create, rule),
            "STREAM.TEMPLATE.NAMES": ApiEndpoint("stream_template_names", self._names, rule),
            "STREAM.TEMPLATE.INFO.*": ApiEndpoint("stream_template_info", self._info, rule),
            "STREAM.TEMPLATE.DELETE.*": ApiEndpoint("stream_template_delete", self._delete, rule),
        }

    @property
    def _templates(self) -> StreamTemplates:
        if self._served is None:
            raise api_error("JSClusterUnSupportFeatureErr")
        return self._served

    def _create(self, request: Request) -> Response:
        templates = self._templates

        def creating() -> Steps[StreamTemplateInfo]:
            asked = yield from request.reading(StreamTemplateConfig)
            if asked.name != request.tokens[3]:
                raise api_error("JSTemplateNameNotMatchSubjectErr")
            return (yield from templates.creating(asked))

        return request.change(creating(), lambda info: _described(request, info))

    def _names(self, request: Request) -> Response:
        page = Page(self._templates.names(), request.read_optional(PageRequest).offset, NAMES_LIMIT)
        return response(request.kind, **page.numbers(), streams=page.items)

    def _info(self, request: Request) -> Response:
        templates = self._templates
        request.must_be_empty()
        return request.work(_described(request, templates.info(request.tokens[3])))

    def _delete(self, request: Request) -> Response:
        """Answer once the streams are deleted, too."""
        templates = self._templates
        request.must_be_empty()
        return request.change(templates.deleting(request.tokens[3]), lambda _: _deleted(request))


def _described(request: Request, info: StreamTemplateInfo) -> Steps[Response]:
    return response(request.kind) | (yield from info.writing())


def _deleted(request: Request) -> Steps[Response]:
    yield from ()
    return response(request.kind, success=True)
