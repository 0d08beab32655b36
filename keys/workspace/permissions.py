"""Changes of permissions and of a user's limits.

The target may be an account's default permissions, a user, or the template of a scoped signing key.
"""

from __future__ import annotations

from dataclasses import fields

from ...protocol import duration
from ...protocol.lazy_dataclass import dataclass
from ..claims import CONNECTION_TYPES, Permissions, ResponsePermission, TimeRange, UserPermissionLimits
from ..claims.parts import clock, network, zone
from ..errors import WorkspaceError
from .report import OperationReport, quote

_INT_32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PermissionEdits:
    """Subjects to allow, deny and remove, and the response permission.

    responses: how many answers.
    response_ttl: ns.
    rm_responses: whether to remove the response permission.
    replace: whether a list that is given takes the place of the one that is there; one with nothing but ""
        empties it.
    """

    allow_pub: tuple[str, ...] = ()
    allow_pubsub: tuple[str, ...] = ()
    allow_sub: tuple[str, ...] = ()
    deny_pub: tuple[str, ...] = ()
    deny_pubsub: tuple[str, ...] = ()
    deny_sub: tuple[str, ...] = ()
    rm: tuple[str, ...] = ()
    responses: int | None = None
    response_ttl: int | None = None
    rm_responses: bool = False
    replace: bool = False

    @property
    def given(self) -> bool:
        """Whether anything should be changed."""
        return any(
            getattr(self, field.name) != field.default for field in fields(self) if field.name != "replace"
        )

    def check(self) -> None:
        """Raise WorkspaceError for subjects with blanks where none are allowed."""
        for subject in (*self.allow_pub, *self.allow_pubsub, *self.deny_pub, *self.deny_pubsub):
            if " " in subject:
                raise WorkspaceError(f"publish permission subject {quote(subject)} contains illegal space")
        for subject in (*self.allow_sub, *self.deny_sub):
            if subject.count(" ") > 1:
                raise WorkspaceError(
                    f"subscribe permission subject {quote(subject)} can at most contain one space"
                )
        if self.responses is not None and not -1 <= self.responses <= _INT_32:
            raise WorkspaceError(f"{self.responses} is no number of responses")
        if self.response_ttl is not None and self.response_ttl < 0:
            raise WorkspaceError("the time for responses cannot be negative")
        if self.rm_responses and (self.responses is not None or self.response_ttl is not None):
            raise WorkspaceError("response permissions can be set or removed, not both")

    def apply(self, target: Permissions) -> OperationReport:
        """Make the changes and return a report. Raises WorkspaceError as `check` does."""
        self.check()
        report = self._apply_responses(target)
        for target_list, what, given in (
            (target.pub.allow, "pub", (*self.allow_pub, *self.allow_pubsub)),
            (target.pub.deny, "deny pub", (*self.deny_pub, *self.deny_pubsub)),
            (target.sub.allow, "sub", (*self.allow_sub, *self.allow_pubsub)),
            (target.sub.deny, "deny sub", (*self.deny_sub, *self.deny_pubsub)),
        ):
            before = [] if self.replace and given else target_list
            add = [subject for subject in given if subject or not self.replace]
            target_list[:] = sorted({*before, *add} - {*self.rm})
            for subject in add:
                report.ok(f"added {what} {quote(subject)}")
            for subject in self.rm:
                report.ok(f"removed {'sub' if what == 'deny sub' else what} {quote(subject)}")  # as in nsc
        return report

    def _apply_responses(self, target: Permissions) -> OperationReport:
        report = OperationReport()
        if self.rm_responses:
            target.resp = None
            report.ok("removed response permissions")
        if self.responses is not None or self.response_ttl is not None:
            target.resp = target.resp or ResponsePermission()
        if target.resp is not None and self.responses is not None:
            target.resp.max = self.responses
            report.ok(f"set max responses to {self.responses}")
        if target.resp is not None and self.response_ttl is not None:
            target.resp.ttl = self.response_ttl
            report.ok(f"set response ttl to {duration.format_go(self.response_ttl)}")
        return report


@dataclass(frozen=True, slots=True)
class UserEdits:
    """Changes of what a user may do: permissions, limits, networks, hours, kinds of connections.

    A limit of None changes nothing, -1 is unlimited.

    payload, data: bytes.
    times: `HH:MM:SS-HH:MM:SS`.
    rm_times: the starts of ranges.
    locale: the time zone of the hours.
    """

    permissions: PermissionEdits = PermissionEdits()
    payload: int | None = None
    data: int | None = None
    subs: int | None = None
    bearer: bool | None = None
    conn_types: tuple[str, ...] = ()
    rm_conn_types: tuple[str, ...] = ()
    src: tuple[str, ...] = ()
    rm_src: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    rm_times: tuple[str, ...] = ()
    locale: str | None = None

    @property
    def given(self) -> bool:
        """Whether anything should be changed."""
        own = (field for field in fields(self) if field.name != "permissions")
        return self.permissions.given or any(getattr(self, field.name) != field.default for field in own)

    def check(self) -> None:
        """Raise WorkspaceError for values that no token may have."""
        self.permissions.check()
        for name in ("payload", "data", "subs"):
            value = getattr(self, name)
            if value is not None and value < -1:
                raise WorkspaceError(f"{value} is no limit of {name}: give a number, or -1 for none")
        for kind in (*self.conn_types, *self.rm_conn_types):
            if kind.upper() not in CONNECTION_TYPES:
                known = " ".join(CONNECTION_TYPES)
                raise WorkspaceError(f"unknown connection type {kind}: there are {known}")
        for cidr in self.src:
            if network(cidr) is None:
                raise WorkspaceError(f"{quote(cidr)} is no network such as 10.1.0.0/16")
        for span in self.times:
            range_of(span)
        if self.locale and zone(self.locale) is None:
            raise WorkspaceError(f"unknown time zone {self.locale}")

    def apply(self, target: UserPermissionLimits) -> OperationReport:
        """Make the changes and return a report. Raises WorkspaceError as `check` does."""
        self.check()
        report = OperationReport()
        if self.payload is not None:
            target.payload = self.payload
            report.ok(f"changed max payload to {self.payload}")
        if self.data is not None:
            target.data = self.data
            report.ok(f"changed max data to {self.data}")
        if self.subs is not None:
            target.subs = self.subs
            report.ok(f"changed max number of subs to {self.subs}")
        if self.bearer is not None:
            words = str(self.bearer).lower()
            changed = target.bearer_token != self.bearer
            target.bearer_token = self.bearer
            report.ok(
                f"changed bearer to {words}"
                if changed
                else f"ignoring change to bearer - value is already {words}"
            )
        self._apply_origin(target, report)
        self._apply_times(target, report)
        report.add(self.permissions.apply(target))
        return report

    def _apply_origin(self, target: UserPermissionLimits, report: OperationReport) -> None:
        add, remove = ([kind.upper() for kind in kinds] for kinds in (self.conn_types, self.rm_conn_types))
        kinds = [kind.upper() for kind in target.allowed_connection_types]
        target.allowed_connection_types = [k for k in dict.fromkeys([*kinds, *add]) if k not in remove]
        for kind in add:
            report.ok(f"added connection type {kind}")
        for kind in remove:
            report.ok(f"removed connection type {kind}")
        gone = {cidr.lower() for cidr in self.rm_src}
        target.src = sorted({*target.src, *(cidr.lower() for cidr in self.src)} - gone)
        for cidr in self.src:
            report.ok(f"added src network {cidr}")
        for cidr in self.rm_src:
            report.ok(f"removed src network {cidr}")

    def _apply_times(self, target: UserPermissionLimits, report: OperationReport) -> None:
        if self.locale is not None:
            target.times_location = self.locale
        for span in self.times:
            target.times.append(range_of(span))
            report.ok(f"added time range {span}")
        for start in self.rm_times:
            found = next((span for span in target.times if span.start == start), None)
            if found is None:
                raise WorkspaceError(f"no time range starts at {start}")
            target.times.remove(found)
            report.ok(f"removed time range {found.start}-{found.end}")


NO_PERMISSIONS, NO_EDITS = PermissionEdits(), UserEdits()


def range_of(text: str) -> TimeRange:
    """Parse `HH:MM:SS-HH:MM:SS`. Raises WorkspaceError."""
    start, _, end = text.partition("-")
    if clock(start) is None or clock(end) is None:
        raise WorkspaceError(f"{quote(text)} is no time range such as 08:00:00-17:30:00")
    return TimeRange(start=start, end=end)
