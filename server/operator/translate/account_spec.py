"""Translates claims into the spec of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...accounts.account_spec import AccountSpec
from ...accounts.server_trace import TraceTarget
from .exports import services, streams
from .limits import grants, limits
from .mappings import mappings

if TYPE_CHECKING:
    from ....keys import AccountClaims


def make_spec(claims: AccountClaims, cluster: str = "") -> tuple[AccountSpec, dict[str, str]]:
    """Return what the claims say of an account, without its imports, and what is invalid, with the reason.

    cluster: the name of the server's cluster, whose mappings apply.
    """
    body = claims.nats
    mapped, errors = mappings(body.mappings, cluster)
    made = AccountSpec(
        limits=limits(body.limits),
        streams=streams(body.exports),
        services=services(body.exports),
        mappings=mapped,
        jetstream=grants(body.limits),
        trace_target=_trace_target(claims),
    )
    return made, {f"mapping {source!r}": error for source, error in errors.items()}


def _trace_target(claims: AccountClaims) -> TraceTarget | None:
    trace = claims.nats.trace
    return None if trace is None or not trace.dest else TraceTarget(trace.dest, trace.sampling or 100)


def callout(claims: AccountClaims) -> bool:
    """Whether users of the account must be authorized by a service of the account."""
    authorization = claims.nats.authorization
    return authorization is not None and bool(authorization.auth_users)
