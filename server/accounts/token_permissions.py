"""Translates the permissions and limits in users' tokens to the form of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config.options import PermissionsOptions
from ..config.options.authorization import ResponsePermission, SubjectPermission
from .permissions import Permissions

if TYPE_CHECKING:
    from ...keys.claims.parts import Permission
    from ...keys.claims.parts import Permissions as Given

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


def limit(given: int) -> int:
    """Return a limit of a token, of which -1 is unlimited. Another negative one allows nothing."""
    return given if given >= -1 else 0


def _side(given: Permission) -> SubjectPermission | None:
    if not given.allow and not given.deny:
        return None
    return SubjectPermission(list(given.allow) or None, list(given.deny))
