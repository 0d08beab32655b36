"""Server configurations from a store: operator mode with each kind of resolver, and plain nkey accounts.

Every token is read and verified first, so that a damaged store gives no configuration. The configurations
contain no addresses, ports or JetStream: add these, or include the configuration in another one.
"""

from __future__ import annotations

from pathlib import Path

from ....protocol.lazy_dataclass import dataclass
from ... import files
from ...claims import AccountClaims, OperatorClaims
from ...errors import FolderError, WorkspaceError
from ...folders.names import checked
from ...nkey import KeyRole, is_public
from ..report import OperationReport, place, quote
from ..workspace import Workspace

DIRECTORY_FILE = "resolver.conf"
_READABLE = 0o644  # tokens are not secret, and a server may run as another user


@dataclass(frozen=True, slots=True)
class ConfigInput:
    """What a configuration is made from.

    accounts: claims and tokens, sorted by public key.
    system: the system account's public key, "" if there is none.
    """

    operator: OperatorClaims
    operator_token: str
    accounts: list[tuple[AccountClaims, str]]
    system: str = ""

    @classmethod
    def read(cls, workspace: Workspace, system: str = "") -> ConfigInput:
        """Read the current operator's store.

        system: name or key of the system account, by default the operator's.

        Raises WorkspaceError without an operator or accounts, NotFoundError, DamagedError.
        """
        store = workspace.store()
        operator = store.operator()
        named = [(store.account(name), store.account_token(name)) for name in store.accounts()]
        if not named:
            raise WorkspaceError(f"operator {quote(store.name)} has no accounts")
        key = operator.nats.system_account
        if system:
            key = (
                system
                if is_public(system, KeyRole.ACCOUNT)
                else store.account(store.account_named(system)).sub
            )
        accounts = sorted(named, key=lambda pair: pair[0].sub)
        return cls(operator, store.operator_token(), accounts, key)


@dataclass(frozen=True, slots=True)
class ConfigFolder:
    """The folder that was written: its configuration and the tokens."""

    report: OperationReport
    path: Path


def memory(config_input: ConfigInput, operator: str = "") -> str:
    """Return the configuration of a server that has all accounts in its configuration.

    operator: what is written for the operator, by default its token.
    """
    system = f"system_account: {config_input.system}\n\n" if config_input.system else ""
    accounts = "".join(
        f"  // Account {quote(one_line(claims.name))}\n  {claims.sub}: {token}\n\n"
        for claims, token in config_input.accounts
    )
    return (
        f"// Operator {quote(one_line(config_input.operator.name))}\n"
        f"operator: {operator or config_input.operator_token}\n\n{system}"
        f"resolver: MEMORY\n\nresolver_preload: {{\n{accounts}}}\n"
    )


def full(config_input: ConfigInput) -> str:
    """Return the configuration of a server that keeps all accounts in a folder and accepts pushes.

    Raises WorkspaceError.
    """
    return _nats(
        config_input,
        """resolver {
    type: full
    # the accounts' tokens are kept here
    dir: './jwt'
    # true: accounts may be deleted by a push (`nsc push --prune`); they are renamed to .delete then
    allow_delete: false
    # how often servers compare what they have
    interval: "2m"
    # how long to wait for other servers to answer for an unknown account
    timeout: "1.9s"
}
""",
    )


def cache(config_input: ConfigInput) -> str:
    """Return the configuration of a server that asks others for accounts and caches them.

    Raises WorkspaceError.
    """
    return _nats(
        config_input,
        """resolver {
    type: cache
    # the accounts' tokens are kept here
    dir: './jwt'
    # how long one is kept
    ttl: "1h"
    # how long to wait for other servers to answer for an unknown account
    timeout: "1.9s"
}
""",
    )


def write_folder(config_input: ConfigInput, folder: Path, *, force: bool) -> ConfigFolder:
    """Write the memory configuration as a folder: the tokens of operator and accounts, and `resolver.conf`.

    Raises FolderError if the folder exists, unless `force` is set.
    """
    folder = folder.expanduser()
    if folder.exists() and not (force and folder.is_dir()):
        raise FolderError(f"{folder} already exists" + ("" if folder.is_dir() else " and is not a directory"))
    operator = _stem(config_input.operator.name, config_input.operator.sub, set())
    taken = {operator.lower()}
    files.write(folder / f"{operator}.jwt", config_input.operator_token, _READABLE)
    for claims, token in config_input.accounts:
        stem = _stem(claims.name, claims.sub, taken)
        taken.add(stem.lower())
        files.write(folder / f"{stem}.jwt", token, _READABLE)
    path = folder / DIRECTORY_FILE
    files.write(path, memory(config_input, operator=quote(f"{operator}.jwt")), _READABLE)
    report = OperationReport()
    report.ok(f"wrote server configuration to {place(path)}")
    return ConfigFolder(report, path)


def one_line(text: str) -> str:
    """Return a name on one line for a comment, whatever it contains."""
    return " ".join(text.split())


def _stem(name: str, key: str, taken: set[str]) -> str:
    """Return the file name of a token: its key, if the name is taken or is not a file name."""
    try:
        checked(name)
    except FolderError:
        return key
    return key if name.lower() in taken else name


def _nats(config_input: ConfigInput, resolver: str) -> str:
    system = next(
        ((claims, token) for claims, token in config_input.accounts if claims.sub == config_input.system),
        None,
    )
    if system is None:
        raise WorkspaceError(
            "system account is not set: name one of this operator's accounts with --sys-account, or set it "
            "with `nsc edit operator --system-account <name>`"
        )
    claims, token = system
    return (
        f"# Operator named {one_line(config_input.operator.name)}\n"
        f"operator: {config_input.operator_token}\n"
        f"# System Account named {one_line(claims.name)}\n"
        f"system_account: {claims.sub}\n\n"
        f"# the accounts come from the servers themselves\n{resolver}\n"
        "# The system account alone is here, so that the first push can be made:\n"
        "#   nsc edit operator --account-jwt-server-url nats://<host>:4222\n"
        "#   nsc push --all\n"
        "# A system account that is pushed later counts more than this one.\n"
        f"resolver_preload: {{\n\t{claims.sub}: {token},\n}}\n"
    )
