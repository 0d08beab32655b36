"""Validation of what is stored (the operator, its accounts with their users), or of a file of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import Claims, Issue, Issues
from ..errors import IdentityError, WorkspaceError
from ..folders.check import TokenIssues, check_store
from ..token import decode
from .workspace import Workspace

SUMMARY = "summary of all accounts"


@dataclass(frozen=True, slots=True)
class Validation:
    """The findings: one entry for each operator, account or (in a file) token subject."""

    findings: list[TokenIssues]

    @property
    def failed(self) -> bool:
        """Whether something blocks: an error, or a token that has expired or is not valid yet."""
        return any(finding.issues.blocking() for finding in self.findings)


def validate(workspace: Workspace, accounts: Iterable[str] | None = None) -> Validation:
    """Validate the current operator and the accounts named (by name or key), or all of them.

    Raises WorkspaceError without an operator, NotFoundError for an unknown account. Damage is an error in the
    findings.
    """
    store = workspace.store()
    named = None if accounts is None else [store.account_named(account) for account in accounts]
    return Validation(check_store(store, workspace.now(), named))


def validate_file(path: Path, now: int) -> Validation:
    """Validate a file of tokens, one on each line, optionally as `key|token`; `now`: ns.

    Raises FolderError, or WorkspaceError for a line that is not a token (its text is not repeated).
    """
    found: dict[str, Issues] = {}
    for number, line in enumerate(files.read(path.expanduser()).splitlines(), 1):
        token = line.strip().rpartition("|")[2].strip()
        if not token:
            continue
        claims = _claims(token, path, number)
        found.setdefault(claims.sub, Issues()).all += claims.issues(now).all
    findings = [TokenIssues("account", subject, found[subject]) for subject in sorted(found)]
    if len(findings) > 1:
        findings.append(TokenIssues("account", SUMMARY, _summary(findings)))
    return Validation(findings)


def _claims(token: str, path: Path, number: int) -> Claims:
    try:
        return decode(token)
    except IdentityError as error:
        raise WorkspaceError(f"{path}, line {number} is no token that can be validated: {error}") from None


def _summary(findings: list[TokenIssues]) -> Issues:
    counted = Counter((issue.level, issue.text) for finding in findings for issue in finding.issues)
    summary = Issues()
    summary.all = [Issue(level, f"{text} ({count} occurrences)") for (level, text), count in counted.items()]
    return summary
