"""The server's options: one dataclass per block of the configuration, one field per option.

All other parts of the server read `Options`. It only has values: it never opens a file, never reads the
environment and never checks one option against another (`check` does).
"""

from .accounts import (
    AccountJetStream,
    AccountLimitOptions,
    AccountOptions,
    DestinationOptions,
    ExportOptions,
    ImportOptions,
    LatencyOptions,
    MappingOptions,
    TraceDestination,
)
from .authorization import (
    AuthCallout,
    AuthorizationOptions,
    PermissionsOptions,
    ResponsePermission,
    SubjectPermission,
    UserOptions,
)
from .cluster import ClusterOptions, GatewayOptions, PeerAuthorization, RemoteGateway
from .field import SECOND, OptionSpec, specs
from .jetstream import BatchLimits, JetStreamLimitOptions, JetStreamOptions, TPMOptions
from .leafnodes import CompressionOptions, LeafAuthorization, LeafOptions, ProxyOptions, RemoteOptions
from .listeners import ListenerAuthorization, MQTTOptions, WebSocketOptions
from .operator import ResolverOptions
from .root import Options
from .tls import CertificateOptions, TLSOptions

__all__ = [
    "SECOND",
    "AccountJetStream",
    "AccountLimitOptions",
    "AccountOptions",
    "AuthCallout",
    "AuthorizationOptions",
    "BatchLimits",
    "CertificateOptions",
    "ClusterOptions",
    "CompressionOptions",
    "DestinationOptions",
    "ExportOptions",
    "GatewayOptions",
    "ImportOptions",
    "JetStreamLimitOptions",
    "JetStreamOptions",
    "LatencyOptions",
    "LeafAuthorization",
    "LeafOptions",
    "ListenerAuthorization",
    "MQTTOptions",
    "MappingOptions",
    "OptionSpec",
    "Options",
    "PeerAuthorization",
    "PermissionsOptions",
    "ProxyOptions",
    "RemoteGateway",
    "RemoteOptions",
    "ResolverOptions",
    "ResponsePermission",
    "SubjectPermission",
    "TLSOptions",
    "TPMOptions",
    "TraceDestination",
    "UserOptions",
    "WebSocketOptions",
    "specs",
]
