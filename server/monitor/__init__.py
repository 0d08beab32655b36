"""Monitoring: documents about a running server, as nats-server's HTTP endpoints and $SYS services give them.

Each document is a function of the server and a small dataclass of what was asked; it reads and never changes
anything. `http` serves them.
"""

from .accountz import AccountzRequest, accountz, accstatz
from .connz import ConnzRequest, connz
from .healthz import HealthzRequest, healthz
from .jsz import JszRequest, jsz
from .peers import LeafzRequest, RoutezRequest, gatewayz, leafz, routez
from .request import OthersAskedError, RequestError
from .subsz import SubszRequest, subsz
from .varz import varz
from .view import Monitored

__all__ = [
    "AccountzRequest",
    "ConnzRequest",
    "HealthzRequest",
    "JszRequest",
    "LeafzRequest",
    "Monitored",
    "OthersAskedError",
    "RequestError",
    "RoutezRequest",
    "SubszRequest",
    "accountz",
    "accstatz",
    "connz",
    "gatewayz",
    "healthz",
    "jsz",
    "leafz",
    "routez",
    "subsz",
    "varz",
]
