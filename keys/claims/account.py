"""Account claims: limits, exports and imports, signing keys, revocations, default permissions, mappings."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from ..errors import TokenError, TokenFault
from ..nkey import KeyRole, is_public
from . import subjects
from .base import Claims
from .export import Export, check_exports
from .imports import Import, check_imports
from .issues import Issues, quote
from .limits import OperatorLimits
from .model import UNLIMITED, VERSION, Body, ClaimsDocument, Int64
from .parts import ANY, Permissions, Template, check_info, revoke, revoked


class UserScope(ClaimsDocument):
    """A scoped signing key: the users that it signs get the permissions and limits of its template."""

    ALWAYS: ClassVar[frozenset[str]] = frozenset({"kind", "key", "role", "template", "description"})

    kind: Literal["user_scope"] = "user_scope"
    key: str = ""
    role: str = ""
    template: Template = Field(default_factory=Template)
    description: str = ""


class WeightedMapping(ClaimsDocument):
    """One target of a mapping.

    weight: percent; 0 stands for 100.
    cluster: if set, the target applies only in this cluster.
    """

    ALWAYS: ClassVar[frozenset[str]] = frozenset({"subject"})

    subject: str = ""
    weight: Annotated[int, Field(ge=0, le=255)] = 0
    cluster: str = ""

    @property
    def share(self) -> int:
        """The effective weight, 1 to 100."""
        return self.weight or 100


class ExternalAuthorization(ClaimsDocument):
    """The authorization callout of an account.

    It has the users that bypass it, the accounts that it may place users into, and the callout's curve key.
    """

    auth_users: list[str] = Field(default_factory=list)
    allowed_accounts: list[str] = Field(default_factory=list)
    xkey: str = ""

    def check(self, issues: Issues) -> None:
        """Validate the keys and note what is wrong in `issues`."""
        if self.allowed_accounts and not self.auth_users:
            issues.error("External authorization cannot have accounts without users specified")
        for user in self.auth_users:
            if not is_public(user, KeyRole.USER):
                issues.error(f"AuthUser {quote(user)} is not a valid user public key")
        for account in self.allowed_accounts:
            if account == ANY and len(self.allowed_accounts) > 1:
                issues.error(f"AllowedAccounts can only be a list of accounts or {quote(ANY)}")
            elif account != ANY and not is_public(account, KeyRole.ACCOUNT):
                issues.error(f"Account {quote(account)} is not a valid account public key")
        if self.xkey and not is_public(self.xkey, KeyRole.CURVE):
            issues.error(f"XKey {quote(self.xkey)} is not a valid public xkey")


class MsgTrace(ClaimsDocument):
    """Where message traces go.

    sampling: percent; 0 stands for 100.
    """

    dest: str = ""
    sampling: Int64 = 0

    def check(self, issues: Issues) -> None:
        """Validate the subject and the sampling rate."""
        own = Issues()
        subjects.check(self.dest, own)
        for issue in own.all[:1]:
            issues.error(f"the account Trace.Destination {issue.text}")
        if subjects.has_wildcards(self.dest):
            issues.error(
                f"the account Trace.Destination subject {quote(self.dest)} is not a valid publish subject"
            )
        if not 0 <= self.sampling <= 100:
            issues.error(
                f"the account Trace.Sampling value '{self.sampling}' is not valid, "
                "should be in the range [1..100]"
            )


class Account(Body):
    """The document under `nats` in an account's token.

    signing_keys: public key to scope, None for a plain key.
    """

    imports: list[Import] = Field(default_factory=list)
    exports: list[Export] = Field(default_factory=list)
    limits: OperatorLimits = Field(default_factory=OperatorLimits)
    signing_keys: dict[str, UserScope | None] = Field(default_factory=dict)
    revocations: dict[str, Int64] = Field(default_factory=dict)
    default_permissions: Permissions = Field(default_factory=Permissions)
    mappings: dict[str, list[WeightedMapping]] = Field(default_factory=dict)
    authorization: ExternalAuthorization | None = None
    trace: MsgTrace | None = None
    cluster_traffic: str = ""
    description: str = ""
    info_url: str = ""

    @field_validator("signing_keys", mode="before")
    @classmethod
    def _keys_from_list(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        keys: dict[str, Any] = {}
        for item in value:
            if isinstance(item, str):
                keys[item] = None
            elif isinstance(item, dict) and item.get("kind") == "user_scope":
                keys[str(item.get("key") or "")] = item
            else:
                raise ValueError("unknown signing key scope")
        return keys

    def _written(self, name: str, value: Any) -> Any:
        if name != "signing_keys":
            return super()._written(name, value)
        return [key if value[key] is None else value[key].document() for key in sorted(value)]

    def check_mappings(self, issues: Issues) -> None:
        """Validate the subjects, and that the weights for one cluster add up to at most 100."""
        for source, targets in self.mappings.items():
            subjects.check(source, issues)
            totals: dict[str, int] = {}
            for target in targets:
                subjects.check(target.subject, issues)
                if target.share > 100:
                    issues.error(f"Mapping {quote(source)} has a weight {target.share} that exceeds 100")
                totals[target.cluster] = totals.get(target.cluster, 0) + target.share
            for cluster, total in totals.items():
                where = f" in cluster {quote(cluster)}" if cluster else ""
                if total > 100:
                    issues.error(
                        f"Mapping {quote(source)}{where} exceeds 100% among all of it's weighted to mappings"
                    )

    def check_against_limits(self, issues: Issues) -> None:
        """Validate that imports and exports stay within the limits."""
        if self.limits.imports != UNLIMITED and len(self.imports) > self.limits.imports:
            issues.error("the account contains more imports than allowed by the operator")
        if self.limits.exports != UNLIMITED:
            if len(self.exports) > self.limits.exports:
                issues.error("the account contains more exports than allowed by the operator")
            if not self.limits.wildcards:
                for _ in (e for e in self.exports if subjects.has_wildcards(e.subject)):
                    issues.error("the account contains wildcard exports that are not allowed by the operator")


class AccountClaims(Claims):
    """An account's token, signed by the operator or one of its signing keys.

    Until then it is signed by the account itself.
    """

    KIND: ClassVar[str] = "account"
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.ACCOUNT, KeyRole.OPERATOR)
    SUBJECTS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.ACCOUNT,)

    nats: Account = Field(default_factory=Account)

    @classmethod
    def new(cls, subject: str, name: str = "") -> AccountClaims:
        """Return new claims for an account's public key: unlimited, with JetStream off."""
        return cls(sub=subject, name=name, nats=Account(limits=OperatorLimits.unlimited()))

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the whole account."""
        body = self.nats
        check_imports(body.imports, self.sub, issues)
        check_exports(body.exports, issues)
        body.limits.check(issues)
        body.default_permissions.check_permissions(issues)
        body.check_mappings(issues)
        if body.authorization is not None:
            body.authorization.check(issues)
        if body.trace is not None:
            body.trace.check(issues)
        body.check_against_limits(issues)
        for key, scope in body.signing_keys.items():
            if not is_public(key, KeyRole.ACCOUNT):
                text = f"{quote(key)} is not a valid account signing key"
                issues.error(text if scope is None else f"{key} is not an account public key")
        check_info(body.description, body.info_url, issues)
        if body.cluster_traffic not in {"", "system", "owner"}:
            issues.error(f"unknown cluster traffic option: {quote(body.cluster_traffic)}")
        if is_public(self.iss, KeyRole.ACCOUNT) and not body.limits.empty:
            issues.warn("self-signed account JWTs shouldn't contain operator limits")

    def prepare(self) -> None:
        """Set type and version, and sort exports and imports by subject.

        Raises TokenError for a scope that is stored under another key than its own.
        """
        for key, scope in self.nats.signing_keys.items():
            if scope is not None and scope.key != key:
                raise TokenError(
                    TokenFault.CONTENT, f"the scope of signing key {key} names the key {scope.key!r}"
                )
        self.nats.exports.sort(key=lambda export: export.subject)
        self.nats.imports.sort(key=lambda item: item.subject)
        if self.nats.authorization is None:
            self.nats.authorization = ExternalAuthorization()
        self.nats.type, self.nats.version = self.KIND, VERSION

    def scope(self, key: str) -> UserScope | None:
        """Return the scope of a signing key; None for a plain key and for a key that is not the account's."""
        return self.nats.signing_keys.get(key)

    def did_sign(self, claims: Claims) -> bool:
        """Return whether the account vouches for a user or activation.

        It does if its own key signed, or one of its signing keys in a token that names the account.
        """
        if claims.iss == self.sub:
            return True
        account = getattr(getattr(claims, "nats", None), "issuer_account", "")
        return account == self.sub and claims.iss in self.nats.signing_keys

    def revoke(self, user: str, at: int) -> None:
        """Revoke the tokens of `user` (or `*`) that were issued up to `at` (seconds)."""
        self.nats.revocations = revoke(self.nats.revocations, user, at)

    def is_revoked(self, user: str, issued_at: int) -> bool:
        """Return whether a user's token issued at `issued_at` (seconds) is revoked."""
        return revoked(self.nats.revocations, user, issued_at)
