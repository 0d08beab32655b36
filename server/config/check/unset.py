"""What 0 means for times and sizes that cannot be 0: the default, as in nats-server."""

from __future__ import annotations

from typing import Any, Final

from ..options import Options, specs
from ..read.context import ReadContext

# By the class of a block. What is not here has a meaning of its own for 0, or is read as unset.
_BLOCKS: Final = {
    "Options": (
        "max_payload",
        "max_control_line",
        "max_pending",
        "max_closed_clients",
        "ping_interval",
        "ping_max",
        "write_deadline",
        "lame_duck_grace_period",
    ),
    "AuthorizationOptions": ("timeout",),
    "PeerAuthorization": ("timeout",),
    "LeafAuthorization": ("timeout",),
    "ListenerAuthorization": ("timeout",),
    "TLSOptions": ("timeout",),
    "MQTTOptions": ("js_api_timeout",),
    "LeafOptions": ("reconnect", "dial_timeout"),
    "RemoteOptions": ("first_info_timeout",),
}


def check(options: Options, _context: ReadContext) -> None:
    """Set what is 0 and may not be to its default, in all blocks."""
    blocks: list[Any] = [options]
    while blocks:
        block = blocks.pop()
        for name in _BLOCKS.get(type(block).__name__, ()):
            if getattr(block, name) == 0:
                setattr(block, name, getattr(type(block)(), name))
        for name, spec in specs(type(block)).items():
            if spec.section is not None:
                found = getattr(block, name)
                below = found if isinstance(found, list) else [found]
                blocks += [one for one in below if isinstance(one, spec.section)]
