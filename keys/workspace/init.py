"""Setup in one step: operator, system account, account and user, or the last two under a managed operator."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, OperatorClaims, UserClaims
from ..errors import WorkspaceError
from ..nkey import KeyPair, KeyRole
from ..token import encode
from .edits import kept
from .naming import chosen
from .operators import SystemAccount, found, load_operator, well_known_name
from .report import OperationReport, place, quote
from .workspace import Workspace

SERVICE_URL = "nats://localhost:4222"
_NEXT = """to run a local server using this configuration, enter:
  nsc generate config --mem-resolver --config-file <path/server.conf>
then start a nats-server using the generated config:
  nats-server -c <path/server.conf>"""


@dataclass(frozen=True, slots=True)
class InitResult:
    """The entities that were made.

    workspace: the workspace in which they are current.
    """

    report: OperationReport
    operator: str
    account: str
    user: str
    stores: Path
    credentials: Path
    workspace: Workspace = field(repr=False)


def init_local(workspace: Workspace, name: str, root: Path) -> InitResult:
    """Make an operator, its system account, an account and a user of one name, in the stores root `root`.

    Raises WorkspaceError if that operator exists.
    """
    workspace = workspace.with_root(root)
    name = chosen(name, "operator")
    if name in workspace.stores.names():
        raise WorkspaceError(f"an operator named {quote(name)} already exists in {place(root)}")
    operator = KeyPair.create(KeyRole.OPERATOR)
    claims = OperatorClaims.new(operator.public_key, name)
    claims.nats.operator_service_urls = [SERVICE_URL]
    system = SystemAccount.create(operator, now=workspace.now())
    claims.nats.system_account = system.account.public_key
    token = encode(claims, operator, now=workspace.now())
    report = OperationReport(summary=True)
    report.ok(f"created operator {name}")
    workspace = found(workspace, name, token, [operator], system, report)
    result = _account_and_user(workspace, name, operator, report)
    report.server(_NEXT)
    return result


def init_managed(workspace: Workspace, name: str, root: Path, url: str, known: dict[str, str]) -> InitResult:
    """Make an account and a user of one name under an operator whose token is at `url`.

    known: well-known operators, name to URL.

    Raises WorkspaceError if the operator has no account server, or if another operator with its name is
    stored.
    """
    workspace = workspace.with_root(root)
    token, claims = load_operator(url)
    operator = chosen(well_known_name(url, known) or claims.name, "operator")
    name = chosen(name, "account")
    if not claims.nats.account_server_url:
        raise WorkspaceError(
            f"operator {quote(operator)} doesn't define an account server url: it cannot be used so"
        )
    if operator in workspace.stores.names():
        store = workspace.stores.open(operator)
        if store.operator().sub != claims.sub:
            raise WorkspaceError(
                f"a different operator named {quote(operator)} already exists: --dir names another place"
            )
        if name in store.accounts():
            raise WorkspaceError(f"an account named {quote(name)} already exists")
        store.write_operator(token)
    else:
        workspace.stores.create(operator, managed=True, token=token)
    workspace = workspace.with_operator(operator)
    report = OperationReport(summary=True)
    report.ok(f"add managed operator {operator}")
    return _account_and_user(workspace, name, None, report)


def _account_and_user(
    workspace: Workspace, name: str, operator: KeyPair | None, report: OperationReport
) -> InitResult:
    """Make both and their credentials; without the operator's key the account signs its own token."""
    account, user = KeyPair.create(KeyRole.ACCOUNT), KeyPair.create(KeyRole.USER)
    with kept(workspace.keystore, [account, user]):
        claims = AccountClaims.new(account.public_key, name)
        report.add(workspace.write_account(claims, operator or account))
    report.ok(f"created account {name}")
    workspace = workspace.with_account(name).save()
    workspace.write_user(UserClaims.new(user.public_key, name), account)
    report.ok(f"created user {quote(name)}")
    report.ok(f"project jwt files created in {place(workspace.stores.root)}")
    store = workspace.store()
    token = store.user_token(name, name)
    path = workspace.keystore.write_credentials(store.name, name, name, token, user.seed)
    report.ok(f"user creds file stored in {place(path)}")
    return InitResult(report, store.name, name, name, workspace.stores.root, path, workspace)
