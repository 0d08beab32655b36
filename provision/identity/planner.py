"""Plans for accounts and users, and doing what they say, in the folders of nsc.

Nothing is sent to servers: `pyjs nsc push` does that. Nothing is deleted: an account or user that no document
declares stays, since its key may be in use. All accounts that are new are made first, so that imports find
the keys of their exporters; then come the settings of accounts, then users.

Promises: no token is ever stored that allows more than its document. Interrupted anywhere, a repetition ends
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...keys.claims import AccountClaims, UserClaims
from ...keys.nkey import KeyPair, KeyRole, is_public
from ...keys.workspace.edits import kept, refuse_new_errors
from ...keys.workspace.naming import chosen
from ...keys.workspace.report import OperationReport
from ...keys.workspace.signing import account_signer, user_signer
from ...keys.workspace.workspace import Workspace
from ..comparison import Change, changes
from ..errors import ConflictError
from ..model import DomainDocument
from ..plan import Verb
from .claims import fill_account, fill_user, normal_account, normal_user
from .model import AccountSection, UserSection

ACCOUNT, USER = "account", "user"
MADE_LATER = "?"  # stands before the name of an account that has no key yet


@dataclass(frozen=True)
class IdentityAction:
    """What is done with one account or user. user: empty for the account itself."""

    account: str
    user: str
    verb: Verb
    changes: tuple[Change, ...] = ()
    fixed: tuple[str, ...] = ()  # there are no fields that cannot be changed
    losses: tuple[str, ...] = ()  # and no messages that could be lost
    domain: str = ""

    @property
    def kind(self) -> str:
        """The word for it: account or user."""
        return USER if self.user else ACCOUNT

    @property
    def name(self) -> str:
        """The name that people use: `SHOP`, `SHOP > alice`."""
        return self.title

    @property
    def title(self) -> str:
        """The name that people use: `SHOP`, `SHOP > alice`."""
        return f"{self.account} > {self.user}" if self.user else self.account


@dataclass(frozen=True)
class IdentityPlan:
    """All actions in the order in which they are done."""

    sections: Mapping[str, AccountSection]
    actions: tuple[IdentityAction, ...] = ()

    @property
    def pending(self) -> tuple[IdentityAction, ...]:
        """The actions that do something."""
        return tuple(each for each in self.actions if each.verb is not Verb.NOTHING)


def sections_of(documents: Iterable[DomainDocument]) -> tuple[str, dict[str, AccountSection]]:
    """Return the operator and the accounts that documents declare; the operator is empty for the current one.

    Raises ConflictError if two declare the same account, or for two operators.
    """
    found: dict[str, AccountSection] = {}
    operators: set[str] = set()
    for document in documents:
        if document.accounts:
            operators.add(document.operator or "")
        for name, section in document.accounts.items():
            if name in found:
                raise ConflictError(f"the account {name} is declared twice")
            found[name] = section
    if len(operators) > 1:
        raise ConflictError(f"the documents are about several operators: {', '.join(sorted(operators))}")
    return operators.pop() if operators else "", found


def make(sections: Mapping[str, AccountSection], workspace: Workspace) -> IdentityPlan:
    """Return what has to be done in the folders of a workspace. Raises ConflictError, IdentityError."""
    if not sections:
        return IdentityPlan({})
    store = workspace.store()
    there = {name: store.account(name) for name in store.accounts()}
    names = {claims.sub: name for name, claims in there.items()}
    names |= {MADE_LATER + name: name for name in sections}
    accounts = [_account(name, section, there, names, set(sections)) for name, section in sections.items()]
    users = [
        _user(workspace, account, user, each, known=account in there)
        for account, section in sections.items()
        for user, each in section.users.items()
    ]
    return IdentityPlan(sections, (*accounts, *users))


def _account(
    name: str,
    section: AccountSection,
    there: Mapping[str, AccountClaims],
    names: Mapping[str, str],
    declared: set[str],
) -> IdentityAction:
    def key_of(account: str) -> str:
        if account in there:
            return there[account].sub
        if account in declared:
            return MADE_LATER + account
        if is_public(account, KeyRole.ACCOUNT):
            return account
        raise ConflictError(
            f"{name} imports from {account}, which is no account here and none that is declared"
        )

    old = there.get(name)
    wanted = AccountClaims.new("", name)
    fill_account(wanted, section, key_of)
    before = normal_account(AccountClaims.new("", name) if old is None else old, names)
    differing = changes(ACCOUNT, _flat(before), _flat(normal_account(wanted, names)), "")
    verb = Verb.CREATE if old is None else Verb.CHANGE if differing else Verb.NOTHING
    return IdentityAction(name, "", verb, differing)


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the fields of nested ones as its own: `limits.conn`."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in _flat(value).items()}
        else:
            found[name] = value
    return found


def _user(
    workspace: Workspace, account: str, name: str, section: UserSection, *, known: bool
) -> IdentityAction:
    store = workspace.store()
    old = store.user(account, name) if known and name in store.users(account) else None
    if old is not None and store.account(account).scope(old.iss) is not None:
        raise ConflictError(
            f"{account} > {name} has the permissions of a scoped signing key, none of its own"
        )
    wanted = UserClaims.new("", name)
    fill_user(wanted, section)
    before = normal_user(UserClaims.new("", name) if old is None else old)
    differing = changes(USER, _flat(before), _flat(normal_user(wanted)), "")
    verb = Verb.CREATE if old is None else Verb.CHANGE if differing else Verb.NOTHING
    return IdentityAction(account, name, verb, differing)


def apply(
    plan: IdentityPlan, workspace: Workspace, on_action: Callable[[IdentityAction], None] | None = None
) -> tuple[IdentityAction, ...]:
    """Do what a plan says; return what was done.

    on_action: called after each action.

    Raises IdentityError from keys, workspace or claims; what was done until then stays.
    """
    done = []
    for action in plan.pending:
        if not action.user and action.verb is Verb.CREATE:
            _create_account(workspace, action.account, plan.sections[action.account])
    for action in plan.pending:
        section = plan.sections[action.account]
        if action.user:
            _write_user(workspace, action, section.users[action.user])
        else:
            _write_account(workspace, action.account, section)
        done.append(action)
        if on_action is not None:
            on_action(action)
    return tuple(done)


def _create_account(workspace: Workspace, name: str, section: AccountSection) -> None:
    """Make an account with all that is declared but its imports, whose exporters may not be there yet."""
    pair = KeyPair.create(KeyRole.ACCOUNT)
    claims = AccountClaims.new(pair.public_key, chosen(name, ACCOUNT))
    fill_account(claims, section.model_copy(update={"imports": []}), lambda account: account)
    refuse_new_errors(None, claims, workspace.now())
    with workspace.locked(), kept(workspace.keystore, [pair]):
        workspace.write_account(claims, account_signer(workspace, claims, new=pair))


def _write_account(workspace: Workspace, name: str, section: AccountSection) -> None:
    with workspace.locked():
        store = workspace.store()
        old = store.account(name)
        claims = old.model_copy(deep=True)
        fill_account(claims, section, lambda account: _key_of(workspace, account))
        refuse_new_errors(old, claims, workspace.now())
        workspace.write_account(claims, account_signer(workspace, old))


def _key_of(workspace: Workspace, account: str) -> str:
    store = workspace.store()
    return store.account(account).sub if account in store.accounts() else account


def _write_user(workspace: Workspace, action: IdentityAction, section: UserSection) -> None:
    with workspace.locked():
        store = workspace.store()
        owner = store.account(action.account)
        old = None if action.verb is Verb.CREATE else store.user(action.account, action.user)
        signer = user_signer(workspace, owner, prefer=old.iss if old is not None else "")
        if owner.scope(signer.public_key) is not None:
            raise ConflictError(f"{action.title}: only scoped signing keys of {action.account} are here")
        issuer = "" if signer.public_key == owner.sub else owner.sub
        made = KeyPair.create(KeyRole.USER) if old is None else None
        if made is not None:
            claims = UserClaims.new(made.public_key, chosen(action.user, USER), issuer_account=issuer)
        else:
            assert old is not None
            claims = old.model_copy(deep=True)
            claims.nats.issuer_account = issuer
        fill_user(claims, section)
        refuse_new_errors(old, claims, workspace.now())
        with kept(workspace.keystore, [] if made is None else [made]):
            workspace.put_user(action.account, claims, signer, OperationReport())


def export(workspace: Workspace, names: Iterable[str] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the section of each account, with its users; names: None for all.

    Users of scoped signing keys are left out: they have no permissions of their own.
    """
    store = workspace.store()
    key_names = {store.account(name).sub: name for name in store.accounts()}
    for name in store.accounts() if names is None else names:
        claims = store.account(name)
        section = _differences(normal_account(claims, key_names), normal_account(AccountClaims.new(""), {}))
        users: dict[str, Any] = {}
        for user in store.users(name):
            found = store.user(name, user)
            if claims.scope(found.iss) is None:
                users[user] = _differences(normal_user(found), normal_user(UserClaims.new("")))
        yield name, {**section, **({"users": users} if users else {})}


def _empty(value: Any) -> Any:
    """Return the empty value of the same kind."""
    return False if isinstance(value, bool) else {} if isinstance(value, dict) else 0


def _differences(found: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs from the usual. What a token leaves out is empty: 0, false."""
    kept_fields: dict[str, Any] = {}
    for name in dict.fromkeys([*found, *usual]):
        before = usual.get(name)
        value = found.get(name, _empty(before))
        if value != before:
            both = isinstance(value, dict) and isinstance(before, dict)
            kept_fields[name] = _differences(value, before or {}) if both else value
    return kept_fields
