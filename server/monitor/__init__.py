"""Monitoring: documents about a running server, as in nats-server's HTTP endpoints and $SYS services.

Each document is a function of the server and a small dataclass with the request. It reads and never changes
anything. `http` serves the documents.
"""

from .accountz import AccountzRequest, accountz, accstatz
from .connz import ConnzRequest, connz
from .healthz import HealthzRequest, healthz
from .jsz import JszRequest, account_jsz, jsz
from .peers import LeafzRequest, RoutezRequest, gatewayz, leafz, routez
from .raftz import RaftzRequest, raftz
from .request import OthersAskedError, RequestError
from .runtime import IpqueueszRequest, ProfilezRequest, expvarz, ipqueuesz, profilez
from .subsz import SubszRequest, subsz
from .varz import varz
from .view import Monitored

__all__ = [
    "AccountzRequest",
    "ConnzRequest",
    "HealthzRequest",
    "IpqueueszRequest",
    "JszRequest",
    "LeafzRequest",
    "Monitored",
    "OthersAskedError",
    "ProfilezRequest",
    "RaftzRequest",
    "RequestError",
    "RoutezRequest",
    "SubszRequest",
    "account_jsz",
    "accountz",
    "accstatz",
    "connz",
    "expvarz",
    "gatewayz",
    "healthz",
    "ipqueuesz",
    "jsz",
    "leafz",
    "profilez",
    "raftz",
    "routez",
    "subsz",
    "varz",
]
