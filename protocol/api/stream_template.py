"""Stream templates, as nats-server had them up to 2.9: configuration and info."""

from typing import ClassVar, Final

from ..lazy_dataclass import dataclass
from .fields import number, part, text, texts
from .record import Record
from .stream import StreamConfig

# In a stream's metadata: the template that made it. Up to 2.9 a field of the configuration.
TEMPLATE_OWNER: Final = "_nats.template_owner"


@dataclass(slots=True)
class StreamTemplateConfig(Record):
    """Of what streams are made when a message comes on one of the subjects, and how many at most.

    config: that of the streams; `subjects` are those of the template, and the name is empty.
    """

    go_name: ClassVar[str] = "StreamTemplateConfig"

    name: str = text(keep=True)
    config: StreamConfig = part(StreamConfig)
    max_streams: int = number(keep=True, go_type="uint32")


@dataclass(slots=True)
class StreamTemplateInfo(Record):
    """A template with the names of the streams it made."""

    go_name: ClassVar[str] = "StreamTemplateInfo"

    config: StreamTemplateConfig = part(StreamTemplateConfig)
    streams: list[str] = texts(keep=True)
