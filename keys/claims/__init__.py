"""JWT claims as typed documents, with the field names of `nats`, its defaults and its validation.

Importing this package imports pydantic.
"""

from __future__ import annotations

from .account import (
    Account,
    AccountClaims,
    ExternalAuthorization,
    MsgTrace,
    UserScope,
    WeightedMapping,
)
from .activation import Activation, ActivationClaims
from .base import KINDS, Claims
from .callout import (
    AuthorizationRequest,
    AuthorizationRequestClaims,
    AuthorizationResponse,
    AuthorizationResponseClaims,
    ClientInformation,
    ClientTls,
    ConnectOptions,
    ServerId,
)
from .export import Export, ServiceLatency
from .generic import GenericClaims
from .imports import Import
from .issues import Issue, Issues, Level
from .limits import JetStreamLimits, OperatorLimits
from .model import UNLIMITED, add_tags
from .operator import Operator, OperatorClaims, service_url_error
from .parts import Permission, Permissions, ResponsePermission, Template, TimeRange, UserPermissionLimits
from .user import CONNECTION_TYPES, User, UserClaims

__all__ = [
    "CONNECTION_TYPES",
    "KINDS",
    "UNLIMITED",
    "Account",
    "AccountClaims",
    "Activation",
    "ActivationClaims",
    "AuthorizationRequest",
    "AuthorizationRequestClaims",
    "AuthorizationResponse",
    "AuthorizationResponseClaims",
    "Claims",
    "ClientInformation",
    "ClientTls",
    "ConnectOptions",
    "Export",
    "ExternalAuthorization",
    "GenericClaims",
    "Import",
    "Issue",
    "Issues",
    "JetStreamLimits",
    "Level",
    "MsgTrace",
    "Operator",
    "OperatorClaims",
    "OperatorLimits",
    "Permission",
    "Permissions",
    "ResponsePermission",
    "ServerId",
    "ServiceLatency",
    "Template",
    "TimeRange",
    "User",
    "UserClaims",
    "UserPermissionLimits",
    "UserScope",
    "WeightedMapping",
    "add_tags",
    "service_url_error",
]
