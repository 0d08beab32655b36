"""Gateways: connections between clusters, in nats-server's gateway protocol.

Each server of a cluster dials one server of every other cluster. Over that *outbound* connection it sends
messages and hears of interest; the *inbound* connections that it accepts are for the opposite direction. So
between two servers there may be two connections, and each cluster decides alone what it is sent.
"""

from .gateways import Gateways
from .inbound import InboundGateway
from .outbound import OutboundGateway

__all__ = ["Gateways", "InboundGateway", "OutboundGateway"]
