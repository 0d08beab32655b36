"""The sections of accounts and users. The fields have the names that they have in tokens (ADR-14 and nsc).

As elsewhere in documents, what is left out is the default: that of a new account or user. What documents have
no field for (signing keys, revocations, mappings, tags) is never touched.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ..sections import Count, Name, ProvisionSection, Size, Span

Kind = Literal["stream", "service"]
Number = Annotated[int, Field(strict=True, ge=-1, lt=1 << 63)]


class PermissionSection(ProvisionSection):
    """Subjects, with wildcards, that are allowed or denied."""

    allow: list[str] = Field(default_factory=list)
    deny: list[str] = Field(default_factory=list)


class ResponseSection(ProvisionSection):
    """Leave to answer requests."""

    max: Number = 0
    """How many answers to one request; 0 is one, -1 any number."""
    ttl: Span = 0
    """For how long; 0 is for ever."""


class PermissionsSection(ProvisionSection):
    """What may be published and subscribed to."""

    pub: PermissionSection | None = None
    sub: PermissionSection | None = None
    resp: ResponseSection | None = None


class UserSection(PermissionsSection):
    """A user: its permissions and limits; -1 is no limit."""

    src: list[str] = Field(default_factory=list)
    """Networks that it may connect from, such as 10.0.0.0/8."""
    subs: Number = -1
    data: Size = -1
    payload: Size = -1
    bearer_token: bool = False
    """Let it connect without proving that it has its key."""
    allowed_connection_types: list[str] = Field(default_factory=list)


class JetStreamLimitsSection(ProvisionSection):
    """What an account may store; 0 is nothing, -1 is no limit."""

    mem_storage: Size = 0
    disk_storage: Size = 0
    streams: Number = 0
    consumer: Number = 0
    max_ack_pending: Number = 0
    mem_max_stream_bytes: Size = 0
    disk_max_stream_bytes: Size = 0
    max_bytes_required: bool = False


class AccountLimitsSection(JetStreamLimitsSection):
    """The limits that the operator sets for an account; -1 is no limit."""

    subs: Number = -1
    data: Size = -1
    payload: Size = -1
    imports: Number = -1
    exports: Number = -1
    wildcards: bool = True
    """Let it export subjects with wildcards."""
    disallow_bearer: bool = False
    conn: Number = -1
    leaf: Number = -1
    tiered_limits: dict[str, JetStreamLimitsSection] = Field(default_factory=dict)
    """Limits by the number of replicas: R1, R3."""


class LatencySection(ProvisionSection):
    """Where the latencies of a service are published."""

    results: str
    sampling: Annotated[int, Field(strict=True, ge=0, le=100)] = 0
    """Percent; 0 lets the headers of a request say."""


class ExportSection(ProvisionSection):
    """What other accounts may import."""

    subject: str
    type: Kind
    name: str = ""
    """Without one it is called as its subject."""
    token_req: bool = False
    """Only for accounts with an activation token."""
    response_type: Literal["", "Singleton", "Stream", "Chunked"] = ""
    response_threshold: Span = 0
    service_latency: LatencySection | None = None
    account_token_position: Count = 0
    advertise: bool = False
    allow_trace: bool = False
    description: str = ""
    info_url: str = ""


class ImportSection(ProvisionSection):
    """What is taken from another account."""

    subject: str
    account: str
    """The name of the account in the same store, or its public key."""
    type: Kind
    name: str = ""
    """Without one it is called as its subject."""
    local_subject: str = ""
    token: str = ""
    """The activation token, or its URL."""
    share: bool = False
    allow_trace: bool = False


class AccountSection(ProvisionSection):
    """An account with its users."""

    description: str = ""
    info_url: str = ""
    limits: AccountLimitsSection | None = None
    default_permissions: PermissionsSection | None = None
    """Of users that have none of their own."""
    exports: list[ExportSection] = Field(default_factory=list)
    imports: list[ImportSection] = Field(default_factory=list)
    users: dict[Name, UserSection] = Field(default_factory=dict)


def given(section: ProvisionSection, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what a section gives."""
    return section.model_dump(exclude_unset=True, exclude_none=True, exclude=set(without))
