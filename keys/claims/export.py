"""Exports: subjects that an account offers to others."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from ...protocol.subject_tree import index_tree
from . import subjects
from .issues import Issues, quote
from .model import ClaimsDocument, Count, Int64
from .parts import check_info, revoked

Kind = Literal["", "stream", "service"]
HEADERS = 0  # The requests' headers decide whether there is a sample
_RESPONSES = ("", "Singleton", "Stream", "Chunked")


class ServiceLatency(ClaimsDocument):
    """Where latency samples of a service are published.

    sampling: percent; 0 for "by the request's headers".
    """

    ALWAYS: ClassVar[frozenset[str]] = frozenset({"sampling", "results"})

    sampling: Int64 = HEADERS
    results: str = ""

    @field_validator("sampling", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return HEADERS if isinstance(value, str) and value.lower() == "headers" else value

    def _written(self, name: str, value: Any) -> Any:
        return "headers" if name == "sampling" and value == HEADERS else super()._written(name, value)

    def check(self, issues: Issues) -> None:
        """Validate the sampling rate and the subject."""
        if not 0 <= self.sampling <= 100:
            issues.error("sampling percentage needs to be between 1-100")
        subjects.check(self.results, issues)
        if subjects.has_wildcards(self.results):
            issues.error("results subject can not contain wildcards")


class Export(ClaimsDocument):
    """One export.

    token_req: whether importers need an activation token.
    response_threshold: ns.
    """

    name: str = ""
    subject: str = ""
    type: Kind = ""
    token_req: bool = False
    revocations: dict[str, Int64] = Field(default_factory=dict)
    response_type: str = ""
    response_threshold: Int64 = 0
    service_latency: ServiceLatency | None = None
    account_token_position: Count = 0
    advertise: bool = False
    allow_trace: bool = False
    description: str = ""
    info_url: str = ""

    def is_revoked(self, account: str, issued_at: int) -> bool:
        """Return whether an activation of `account` issued at `issued_at` (seconds) is revoked."""
        return revoked(self.revocations, account, issued_at)

    def check(self, issues: Issues) -> None:
        """Validate this export by itself."""
        service = self.type == "service"
        if not self.type:
            issues.error('invalid export type: "unknown"')
        if service and self.response_type not in _RESPONSES:
            issues.error(f"invalid response type for service: {quote(self.response_type)}")
        if self.type == "stream":
            if self.response_type:
                issues.error(f"invalid response type for stream: {quote(self.response_type)}")
            if self.allow_trace:
                issues.error("AllowTrace only valid for service export")
        if self.service_latency is not None:
            if not service:
                issues.error("latency tracking only permitted for services")
            self.service_latency.check(issues)
        if self.response_threshold < 0:
            issues.error("negative response threshold is invalid")
        if self.response_threshold > 0 and not service:
            issues.error("response threshold only valid for services")
        subjects.check(self.subject, issues)
        self._check_position(issues)
        check_info(self.description, self.info_url, issues)

    def _check_position(self, issues: Issues) -> None:
        position, tokens = self.account_token_position, self.subject.split(".")
        if not position:
            return
        if not subjects.has_wildcards(self.subject):
            issues.error(f"Account Token Position can only be used with wildcard subjects: {self.subject}")
        elif position > len(tokens):
            issues.error(f"Account Token Position {position} exceeds length of subject '{self.subject}'")
        elif tokens[position - 1] != "*":
            issues.error(
                f"Account Token Position {position} matches '{tokens[position - 1]}' "
                f"but must match a * in: {self.subject}"
            )


def check_exports(exports: list[Export], issues: Issues) -> None:
    """Validate all exports, and that no export contains another one of its kind."""
    for export in exports:
        export.check(issues)
    for kind in ("service", "stream"):
        listed = [e.subject for e in exports if (e.type == "service") == (kind == "service")]
        for outer, inner in _clashes(listed).items():
            issues.error(f"{kind} export subject {quote(outer)} already exports {quote(inner)}")


def _clashes(listed: list[str]) -> dict[str, str]:
    """Return the subjects that contain others of the list, each with the first subject that it contains."""
    tree = index_tree(listed)
    clashes: dict[str, str] = {}
    for index, inner in enumerate(listed):
        outside = sorted(one for found in tree.matching(inner) for one in found if one != index)
        for outer in outside:
            clashes.setdefault(listed[outer], inner)
    return clashes
