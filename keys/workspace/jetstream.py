"""Changes of an account's JetStream limits: either global ones or those of replication tiers."""

from __future__ import annotations

from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from ..claims import UNLIMITED, JetStreamLimits, OperatorLimits
from ..claims.limits import JETSTREAM
from ..errors import WorkspaceError
from .report import OperationReport

# The report about each limit, in this order.
_WORDS = {
    "streams": "streams",
    "consumer": "consumer",
    "mem_storage": "mem storage",
    "mem_max_stream_bytes": "memory stream",
    "disk_storage": "disk storage",
    "disk_max_stream_bytes": "disk stream",
    "max_ack_pending": "ack pending",
}


@dataclass(frozen=True, slots=True)
class JetStreamEdits:
    """The changes: limits of one tier, or enabling a tier, removing one, or disabling JetStream.

    limits: field names of `JetStreamLimits` to values, -1 for unlimited.
    tier: 0 for the global limits, None if it was not given.

    The four kinds of changes exclude each other.
    """

    tier: int | None = None
    limits: dict[str, int] = field(default_factory=dict)
    max_bytes_required: bool | None = None
    enable: int | None = None
    remove: int | None = None
    disable: bool = False

    @property
    def sets(self) -> bool:
        """Whether limits should be set."""
        return self.tier is not None or bool(self.limits) or self.max_bytes_required is not None

    @property
    def given(self) -> bool:
        """Whether anything should be changed."""
        return self.sets or self.disable or self.enable is not None or self.remove is not None

    def check(self, limits: OperatorLimits, *, system: bool) -> None:
        """Raise WorkspaceError for changes that exclude each other or do not suit an account's limits.

        system: whether it is the system account, which has no JetStream.
        """
        self._check_ways()
        adds = self.enable is not None or self.sets
        if (
            system
            and adds
            and any([*self.limits.values(), self.tier, self.max_bytes_required, self.enable is not None])
        ):
            raise WorkspaceError(
                "the system account cannot have JetStream limits: they can be cleared with --js-disable"
            )
        tier = (self.enable if self.enable is not None else self.tier) or 0
        if adds and tier == 0 and limits.tiered_limits:
            names = ",".join(sorted(limits.tiered_limits))
            raise WorkspaceError(
                f"cannot set a jetstream global limit when a configuration has tiered limits '{names}'"
            )
        if adds and tier > 0 and limits.jetstream != JetStreamLimits():
            raise WorkspaceError("cannot set a jetstream tier limit when a configuration has a global limit")
        if self.enable is not None and limits_of(limits, tier) != JetStreamLimits():
            raise WorkspaceError(f"jetstream tier {label(tier)} is already enabled")
        if self.remove and not limits.tiered_limits:
            raise WorkspaceError("account doesn't have tier limits")
        if self.remove and label(self.remove) not in limits.tiered_limits:
            raise WorkspaceError(f"account doesn't have tier {label(self.remove)} limit")

    def apply(self, limits: OperatorLimits, *, system: bool) -> OperationReport:
        """Make the changes and return a report. Raises WorkspaceError as `check` does."""
        self.check(limits, system=system)
        report = OperationReport()
        if self.disable:
            _set(limits, 0, JetStreamLimits())
            report.ok("deleted global limit")
            for name in sorted(limits.tiered_limits):
                report.ok(f"deleted tier limit {name}")
            limits.tiered_limits = {}
        elif self.remove == 0:
            _set(limits, 0, JetStreamLimits())
            report.ok("deleted global limit")
        elif self.remove is not None:
            del limits.tiered_limits[label(self.remove)]
            report.ok(f"deleted tier limit {label(self.remove)}")
        elif self.enable is not None:
            _set(limits, self.enable, JetStreamLimits(mem_storage=UNLIMITED, disk_storage=UNLIMITED))
            report.ok(
                "enabled global limit" if not self.enable else f"enabled tier limit {label(self.enable)}"
            )
        elif self.sets:
            self._apply_limits(limits, report)
        return report

    def _check_ways(self) -> None:
        ways = {
            "rm-js-tier": self.remove is not None,
            "js-disable": self.disable,
            "js-enable": self.enable is not None,
        }
        for name, given in ways.items():
            others = [other for other, also in ways.items() if also and other != name]
            if given and (self.sets or others):
                raise WorkspaceError(f"{name} is exclusive of all other js options")
        for tier in (self.tier, self.enable, self.remove):
            if tier is not None and tier < 0:
                raise WorkspaceError(
                    f"{tier} is no tier: give the number of replicas, or 0 for the global one"
                )
        for name, value in self.limits.items():
            if value < UNLIMITED:
                raise WorkspaceError(f"{value} is no limit of {_WORDS[name]}: give a number, or -1 for none")

    def _apply_limits(self, limits: OperatorLimits, report: OperationReport) -> None:
        tier = self.tier or 0
        target = limits_of(limits, tier)
        if target == JetStreamLimits():  # new: what was not given is unlimited, but storage is off
            for name in _WORDS:
                setattr(target, name, 0 if name in {"mem_storage", "disk_storage"} else UNLIMITED)
        for name, words in _WORDS.items():
            if name in self.limits:
                setattr(target, name, self.limits[name])
                report.ok(f"changed {label(tier)} max {words} to {self.limits[name]}")
        if self.max_bytes_required is not None:
            target.max_bytes_required = self.max_bytes_required
            words = str(self.max_bytes_required).lower()
            report.ok(f"changed {label(tier)} max bytes required to {words}")
        _set(limits, tier, target)


def label(tier: int) -> str:
    """Return a tier's name: `global`, or e.g. `R3`."""
    return f"R{tier}" if tier else "global"


def limits_of(limits: OperatorLimits, tier: int) -> JetStreamLimits:
    """Return a copy of a tier's limits; all zero if it has none."""
    if not tier:
        return limits.jetstream
    found = limits.tiered_limits.get(label(tier))
    return found.model_copy() if found is not None else JetStreamLimits()


def _set(limits: OperatorLimits, tier: int, value: JetStreamLimits) -> None:
    if tier:
        limits.tiered_limits[label(tier)] = value
        return
    for name in JETSTREAM:
        setattr(limits, name, getattr(value, name))
