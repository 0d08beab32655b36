"""Templates of scoped signing keys: subjects with `{{name()}}` and the like, filled in for one user.

The operations are `{{name()}} {{subject()}} {{account-name()}} {{account-subject()}} {{tag(k)}}
{{account-tag(k)}}`, in any case. For a tag `k:v` the result is v; several tags with one key give several
subjects. An invalid result is dropped from an allow list, and refuses the user in a deny list. An allow list
that becomes empty denies everything.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..protocol.subject import is_valid

if TYPE_CHECKING:
    from .claims import AccountClaims, Template, UserClaims, UserPermissionLimits

MAX_SUBJECTS = 4096
_PLACE = re.compile(r"\{\{([^}]+)\}\}")
_TAG = re.compile(r"(tag|account-tag)\((.*)\)", re.IGNORECASE | re.DOTALL)
_NOTHING = " "  # makes the subject invalid


class TemplateError(ValueError):
    """A template cannot be filled in for this user."""


def apply_template(template: Template, user: UserClaims, account: AccountClaims) -> UserPermissionLimits:
    """Return the template's permissions and limits for a user. Raises TemplateError."""
    from .claims import UserPermissionLimits

    result = UserPermissionLimits.model_validate(template.document())
    for name in ("subs", "data", "payload"):
        setattr(result, name, getattr(template, name))

    def values(operation: str) -> list[str] | None:
        return _values(operation, user, account)

    for permission in (result.sub, result.pub):
        allowed = bool(permission.allow)
        permission.allow = fill(permission.allow, values, deny=False)
        permission.deny = fill(permission.deny, values, deny=True)
        if allowed and not permission.allow and ">" not in permission.deny:
            permission.deny = [*permission.deny, ">"]
    return result


def _values(operation: str, user: UserClaims, account: AccountClaims) -> list[str] | None:
    """Return the values of an operation; None if there is no such operation."""
    single = {
        "name()": user.name,
        "subject()": user.sub,
        "account-name()": account.name,
        "account-subject()": account.sub,
    }.get(operation.lower())
    if single is not None:
        return [single]
    found = _TAG.fullmatch(operation)
    if found is None:
        return None
    tags = user.tags if found[1].lower() == "tag" else account.tags
    prefix = f"{found[2].lower()}:"
    return [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)]


def fill(entries: list[str], values: Callable[[str], list[str] | None], *, deny: bool) -> list[str]:
    """Fill in a list of subjects; `values(operation)` returns the values of an operation.

    Raises TemplateError.
    """
    if not any(_PLACE.search(entry) for entry in entries):
        return list(entries)
    result: list[str] = []
    for entry in entries:
        options: list[list[str]] = []
        places = list(dict.fromkeys(_PLACE.findall(entry)))
        for place in places:
            found = values(place.strip())
            if found is None:
                raise TemplateError(f'template operation in "{entry}": "{place.strip()}" is not defined')
            if not found and deny:
                raise TemplateError(f'generated invalid subject "{entry}": "{place.strip()}" is not defined')
            options.append(found or [_NOTHING])
        size = len(result)
        for count in map(len, options):
            size = len(result) + max(size - len(result), 1) * count
            if size > MAX_SUBJECTS:
                raise TemplateError(f"a template gives more than {MAX_SUBJECTS} subjects")
        for combination in itertools.product(*options):
            filled = dict(zip(places, combination, strict=True))
            subject = _PLACE.sub(lambda found, filled=filled: filled[found[1]], entry)  # type: ignore[misc]
            if _is_entry(subject):
                result.append(subject)
            elif deny:
                raise TemplateError(f'generated invalid subject "{subject}"')
    return result


def _is_entry(subject: str) -> bool:
    return is_valid(subject)
