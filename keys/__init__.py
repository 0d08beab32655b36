"""Identity: nkeys, JWT claims, the trust chain, credentials files, and the folders that `nsc` keeps.

The names below are the public API. Each is imported when it is first used, so that `import pyjs.keys` costs
nothing; claims import pydantic, and tokens import PyJWT.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chain import Admission as Admission
    from .chain import ConnectInfo as ConnectInfo
    from .chain import Reason as Reason
    from .chain import Refusal as Refusal
    from .chain import Trust as Trust
    from .chain import account_status as account_status
    from .chain import assigned_deadline as assigned_deadline
    from .chain import authorize as authorize
    from .chain import authorize_assigned as authorize_assigned
    from .chain import open_account as open_account
    from .chain import open_operator as open_operator
    from .chain import open_user as open_user
    from .claims import AccountClaims as AccountClaims
    from .claims import ActivationClaims as ActivationClaims
    from .claims import AuthorizationRequestClaims as AuthorizationRequestClaims
    from .claims import AuthorizationResponseClaims as AuthorizationResponseClaims
    from .claims import Claims as Claims
    from .claims import Export as Export
    from .claims import GenericClaims as GenericClaims
    from .claims import Import as Import
    from .claims import Issue as Issue
    from .claims import Issues as Issues
    from .claims import Level as Level
    from .claims import OperatorClaims as OperatorClaims
    from .claims import UserClaims as UserClaims
    from .claims import UserScope as UserScope
    from .credentials import read_credentials as read_credentials
    from .credentials import write_credentials as write_credentials
    from .curve import open_sealed as open_sealed
    from .curve import seal as seal
    from .decorated import Credentials as Credentials
    from .decorated import decorate_jwt as decorate_jwt
    from .decorated import decorate_seed as decorate_seed
    from .decorated import format_credentials as format_credentials
    from .decorated import parse_credentials as parse_credentials
    from .decorated import undecorate_jwt as undecorate_jwt
    from .decorated import undecorate_seed as undecorate_seed
    from .errors import CredentialsError as CredentialsError
    from .errors import DamagedError as DamagedError
    from .errors import FolderError as FolderError
    from .errors import ForeignError as ForeignError
    from .errors import IdentityError as IdentityError
    from .errors import KeyFault as KeyFault
    from .errors import NkeyError as NkeyError
    from .errors import NotFoundError as NotFoundError
    from .errors import TokenError as TokenError
    from .errors import TokenFault as TokenFault
    from .errors import WorkspaceError as WorkspaceError
    from .folders.context import NscContext as NscContext
    from .folders.keystore import Keystore as Keystore
    from .folders.locations import NscDirectories as NscDirectories
    from .folders.store import OperatorStore as OperatorStore
    from .folders.store import Stores as Stores
    from .grants import import_cycles as import_cycles
    from .grants import validate_import as validate_import
    from .nkey import KeyPair as KeyPair
    from .nkey import KeyRole as KeyRole
    from .nkey import Signer as Signer
    from .nkey import is_public as is_public
    from .nkey import public_role as public_role
    from .nkey import verify as verify
    from .token import decode as decode
    from .token import encode as encode
    from .workspace.report import Grade as Grade
    from .workspace.report import OperationReport as OperationReport
    from .workspace.workspace import Workspace as Workspace

_WHERE = {
    "chain": "Admission ConnectInfo Reason Refusal Trust assigned_deadline authorize authorize_assigned "
    "open_account open_operator open_user account_status",
    "claims": "AccountClaims ActivationClaims AuthorizationRequestClaims AuthorizationResponseClaims Claims "
    "Export GenericClaims Import Issue Issues Level OperatorClaims UserClaims UserScope",
    "credentials": "read_credentials write_credentials",
    "curve": "open_sealed seal",
    "decorated": "Credentials decorate_jwt decorate_seed format_credentials parse_credentials undecorate_jwt "
    "undecorate_seed",
    "errors": "CredentialsError DamagedError FolderError ForeignError IdentityError KeyFault NkeyError "
    "NotFoundError TokenError TokenFault WorkspaceError",
    "folders.context": "NscContext",
    "folders.locations": "NscDirectories",
    "folders.keystore": "Keystore",
    "folders.store": "OperatorStore Stores",
    "grants": "import_cycles validate_import",
    "nkey": "KeyPair KeyRole Signer is_public public_role verify",
    "token": "decode encode",
    "workspace.report": "Grade OperationReport",
    "workspace.workspace": "Workspace",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_MODULES)
