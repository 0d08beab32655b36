"""The API of early 2020: each old subject with the request that it is now, what it sends, what it answers.

Source: nats-server's server/jetstream_api.go of March 2020 (`$JS.STREAM.<stream>.CREATE` and the like), and
the subjects of January 2020 that documents of that year show (`$JS.NEXT`, `$JS.STREAMS`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ....protocol.subject import matches
from . import answers, bodies

Answer = Callable[[Any], bytes]


class OldRequest(NamedTuple):
    """One row.

    pattern: the old subject. What its wildcards stand for replaces `{0}` and `{1}` of the other subject.
    subject: that of today's request, after `$JS.API.`.
    body: makes today's body of the old one. Raises `bodies.OldRequestError`.
    answer: makes the old answer of today's; None if today's is passed on as it is.
    pages: the list that comes in pages today, and came as a whole; "" for any other answer.
    """

    pattern: str
    subject: str
    body: Callable[[bytes], bytes] = bodies.ignored
    answer: Answer | None = answers.ok
    pages: str = ""

    def target(self, subject: str) -> str:
        """Return the subject of today's request, after `$JS.API.`."""
        wildcards = zip(self.pattern.split("."), subject.split("."), strict=True)
        return self.subject.format(*[token for part, token in wildcards if part == "*"])


_NAMES: Final = answers.names
_STREAM: Final = "$JS.STREAM.*."
_CONSUMER: Final = "$JS.STREAM.*.CONSUMER.*."
_TEMPLATE: Final = "$JS.TEMPLATE.*."
_NEXT: Final = "CONSUMER.MSG.NEXT.{0}.{1}"
_TEMPLATES: Final = "STREAM.TEMPLATE.NAMES"

# The first row that matches a subject serves it.
TABLE: Final = (
    OldRequest("$JS.ENABLED", "INFO"),
    OldRequest("$JS.INFO", "INFO", answer=answers.account),
    OldRequest("$JS.STREAMS", "STREAM.NAMES", bodies.page, _NAMES, "streams"),
    OldRequest("$JS.STREAM.LIST", "STREAM.NAMES", bodies.page, _NAMES, "streams"),
    OldRequest(_STREAM + "CREATE", "STREAM.CREATE.{0}", bodies.kept),
    OldRequest(_STREAM + "UPDATE", "STREAM.UPDATE.{0}", bodies.kept),
    OldRequest(_STREAM + "INFO", "STREAM.INFO.{0}", bodies.empty, answers.stream),
    OldRequest(_STREAM + "DELETE", "STREAM.DELETE.{0}", bodies.empty),
    OldRequest(_STREAM + "PURGE", "STREAM.PURGE.{0}", bodies.empty),
    OldRequest(_STREAM + "MSG.DELETE", "STREAM.MSG.DELETE.{0}", bodies.sequence),
    OldRequest(_STREAM + "MSG.BYSEQ", "STREAM.MSG.GET.{0}", bodies.sequence_or_last, answers.message),
    OldRequest(_STREAM + "CONSUMERS", "CONSUMER.NAMES.{0}", bodies.page, _NAMES, "consumers"),
    OldRequest(
        _STREAM + "EPHEMERAL.CONSUMER.CREATE", "CONSUMER.CREATE.{0}", bodies.consumer, answers.ok_name
    ),
    OldRequest(_CONSUMER + "CREATE", "CONSUMER.DURABLE.CREATE.{0}.{1}", bodies.consumer),
    OldRequest(_CONSUMER + "INFO", "CONSUMER.INFO.{0}.{1}", bodies.empty, answers.consumer),
    OldRequest(_CONSUMER + "DELETE", "CONSUMER.DELETE.{0}.{1}", bodies.empty),
    OldRequest(_CONSUMER + "NEXT", _NEXT, bodies.kept, None),
    OldRequest("$JS.NEXT.*.*", _NEXT, bodies.kept, None),
    # The preview document shows this one with today's answer.
    OldRequest("$JS.STREAM.INFO.*", "STREAM.INFO.{0}", answer=None),
    OldRequest("$JS.TEMPLATE.LIST", _TEMPLATES, bodies.page, _NAMES, "streams"),
    OldRequest("$JS.TEMPLATES.LIST", _TEMPLATES, bodies.page, _NAMES, "streams"),
    OldRequest(_TEMPLATE + "CREATE", "STREAM.TEMPLATE.CREATE.{0}", bodies.kept),
    OldRequest(_TEMPLATE + "INFO", "STREAM.TEMPLATE.INFO.{0}", bodies.empty, answers.template),
    OldRequest(_TEMPLATE + "DELETE", "STREAM.TEMPLATE.DELETE.{0}", bodies.empty),
)


def row_of(subject: str) -> OldRequest | None:
    """Return the row that serves an old subject; None if there is none.

    `$JS.<domain>.API` is today's API, also of a domain that is called STREAM.
    """
    if subject.split(".")[2:3] == ["API"]:
        return None
    return next((row for row in TABLE if matches(row.pattern, subject)), None)
