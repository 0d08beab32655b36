"""Monitoring: documents about a running server, as in nats-server's HTTP endpoints and $SYS services.

Each document is a function of the server and a small dataclass with the request, in a module of its name. It
reads and never changes anything. `http` serves the documents. The modules of documents are imported when one
is asked for: few servers are asked for all, and many for none.
"""

from .request import NotForThisServerError, RequestError
from .view import Monitored, MonitoredServer

__all__ = ["Monitored", "MonitoredServer", "NotForThisServerError", "RequestError"]
