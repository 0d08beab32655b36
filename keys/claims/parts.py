"""Parts that several claims share: descriptions, permissions, limits, revocations."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from . import subjects, urls
from .issues import Issues, quote
from .model import UNLIMITED, ClaimsDocument, Int64

MAX_INFO = 8 * 1024
ANY = "*"
_CLOCK = re.compile(r"(\d{1,2}):(\d\d):(\d\d)(?:[.,]\d+)?", re.ASCII)


def check_info(description: str, info_url: str, issues: Issues) -> None:
    """Validate that a description is short and that an information URL has a scheme and a host."""
    if len(description.encode()) > MAX_INFO:
        issues.error("Description is too long")
    if info_url:
        if len(info_url.encode()) > MAX_INFO:
            issues.error("Info URL is too long")
        try:
            url = urls.parse(info_url)
            problem = "" if url.scheme and url.host else "no hostname or scheme"
        except urls.UrlError as error:
            problem = str(error)
        if problem:
            issues.error(f"error parsing info url: {problem}")


class Permission(ClaimsDocument):
    """Subjects that may be used, and subjects that may not."""

    allow: list[str] = Field(default_factory=list)
    deny: list[str] = Field(default_factory=list)

    def check(self, issues: Issues, *, queue: bool) -> None:
        """Validate the subjects.

        queue: whether "subject queue" is allowed.
        """
        for entry in (*self.allow, *self.deny):
            words = entry.split(" ")
            if len(words) > 2:
                issues.error(f'Permission Subject "{entry}" contains too many spaces')
                continue
            for word in words:
                subjects.check(word, issues)
            if len(words) == 2 and not queue:
                issues.error(f'Permission Subject "{entry}" is not allowed to contain queue')


class ResponsePermission(ClaimsDocument):
    """The permission to answer on reply subjects: at most `max` messages within `ttl` nanoseconds."""

    ALWAYS: ClassVar[frozenset[str]] = frozenset({"max", "ttl"})

    max: Int64 = 0
    ttl: Int64 = 0


class Permissions(ClaimsDocument):
    """The subjects that may be published and subscribed to, and the permission to answer."""

    pub: Permission = Field(default_factory=Permission)
    sub: Permission = Field(default_factory=Permission)
    resp: ResponsePermission | None = None

    def check_permissions(self, issues: Issues) -> None:
        """Validate all subjects."""
        self.sub.check(issues, queue=True)
        self.pub.check(issues, queue=False)

    @property
    def unrestricted(self) -> bool:
        """Whether nothing is set, so that the default permissions of the account apply."""
        lists = (self.pub.allow, self.pub.deny, self.sub.allow, self.sub.deny)
        return not any(lists) and self.resp is None


class TimeRange(ClaimsDocument):
    """A range of hours of the day, as `HH:MM:SS`. An end before the start is on the next day."""

    start: str = ""
    end: str = ""

    def check(self, issues: Issues) -> None:
        """Validate both times."""
        for name, text in (("start", self.start), ("end", self.end)):
            if not text:
                issues.error(f"time ranges {name} must contain a{'n' if name == 'end' else ''} {name}")
            elif clock(text) is None:
                issues.error(f"{name} in time range is invalid {quote(text)}")


def clock(text: str) -> tuple[int, int, int] | None:
    """Read `HH:MM:SS`."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(group) for group in found.groups())
    return (hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def network(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Read a network such as `10.1.0.0/16`, in which host bits may be set. Return None if it is none."""
    address, slash, length = cidr.partition("/")
    if not slash or "%" in address or not length.isdecimal() or not length.isascii():
        return None
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return None


class UserPermissionLimits(Permissions):
    """What a user may do, from which networks, when and over which kinds of connections.

    It is part of a user's token, or the template of a scoped signing key. Absent limits read as 0.

    src: networks.
    times: hours, in the zone `times_location`.
    """

    src: list[str] = Field(default_factory=list)
    times: list[TimeRange] = Field(default_factory=list)
    times_location: str = ""
    subs: Int64 = 0
    data: Int64 = 0
    payload: Int64 = 0
    bearer_token: bool = False
    proxy_required: bool = False
    allowed_connection_types: list[str] = Field(default_factory=list)

    @field_validator("src", mode="before")
    @classmethod
    def _comma_list(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return list(dict.fromkeys(part.strip() for part in value.lower().split(",") if part.strip()))

    def check_limits(self, issues: Issues) -> None:
        """Validate the networks, the hours and the zone."""
        for cidr in self.src:
            if network(cidr) is None:
                issues.error(f"invalid cidr {quote(cidr)} in user src limits")
        for span in self.times:
            span.check(issues)
        if self.times_location and zone(self.times_location) is None:
            issues.error(f"could not parse iana time zone by name: unknown time zone {self.times_location}")

    @property
    def empty(self) -> bool:
        """Whether nothing at all is set, which a scoped signing key demands of its users."""
        return self.unrestricted and not any(
            getattr(self, name)
            for name in UserPermissionLimits.model_fields
            if name not in {"pub", "sub", "resp"}
        )


def zone(name: str) -> ZoneInfo | None:
    """Return the time zone with an IANA name; None if it is unknown here."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None


class Template(UserPermissionLimits):
    """The template of a scoped signing key, in which absent limits are unlimited."""

    subs: Int64 = UNLIMITED
    data: Int64 = UNLIMITED
    payload: Int64 = UNLIMITED


def revoke(revocations: dict[str, int], key: str, at: int) -> dict[str, int]:
    """Return the revocations with one more: of the tokens of `key` (or `*`) issued up to `at` (seconds).

    A later entry for the same key stays as it is.
    """
    return {**revocations, key: max(at, revocations.get(key, at))}


def revoked(revocations: dict[str, int], key: str, issued_at: int) -> bool:
    """Return whether a token of `key` issued at `issued_at` (seconds) is revoked, by its own entry or `*`."""
    return any(revocations.get(entry, issued_at - 1) >= issued_at for entry in (key, ANY))
