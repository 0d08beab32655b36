"""Translates the permissions of users from the form of claims to that of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...accounts.permissions import Permissions
from ...config.options import PermissionsOptions
from ...config.options.authorization import ResponsePermission, SubjectPermission

if TYPE_CHECKING:
    from ....keys.claims.parts import Permission
    from ....keys.claims.parts import Permissions as Given

# The meaning of an absent or zero limit on responses.
_MOST, _LONGEST = ResponsePermission().max_msgs, ResponsePermission().expires


def permissions(given: Given) -> Permissions | None:
    """Return the permissions, None if nothing is restricted."""
    if given.unrestricted:
        return None
    response = given.resp
    return Permissions(
        PermissionsOptions(
            publish=_side(given.pub),
            subscribe=_side(given.sub),
            allow_responses=None
            if response is None
            else ResponsePermission(response.max or _MOST, response.ttl or _LONGEST),
        )
    )


def _side(given: Permission) -> SubjectPermission | None:
    if not given.allow and not given.deny:
        return None
    return SubjectPermission(list(given.allow) or None, list(given.deny))
