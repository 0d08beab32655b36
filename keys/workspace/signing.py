"""The choice of the key that signs: the one that `-K` names, or the first stored key of those that may sign.

`-K` is the role of a scoped signing key, a public key whose seed is stored, a seed, or a file with one of
these. The key that it names must be allowed to sign; no other key is tried instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..decorated import undecorate_seed
from ..errors import CredentialsError, KeyFault, NkeyError, NotFoundError, WorkspaceError
from ..folders.keystore import Keystore
from ..nkey import KeyPair, KeyRole, is_public, public_role

if TYPE_CHECKING:  # claims import pydantic, which the commands for keys alone do not need
    from ..claims import AccountClaims, OperatorClaims
    from .workspace import Workspace

GENERATE = "generate"


@dataclass(frozen=True, slots=True)
class GivenKey:
    """A key as given by a flag: its public key, and the key pair if a secret was given."""

    public_key: str
    pair: KeyPair | None = None


def given_key(text: str, *roles: KeyRole) -> GivenKey:
    """Parse a flag's key: a public key, a seed, or the path of a file that contains one of them.

    Raises NkeyError for a key of another role, WorkspaceError for something that is not a key. The text of
    the error never contains a seed.
    """
    text = text.strip()
    try:
        return _key(text, roles)
    except NkeyError as error:
        if error.fault not in {KeyFault.NOT_A_KEY, KeyFault.CHECKSUM}:
            raise
        path = Path(text).expanduser()
        if not path.is_file():
            words = " or ".join(role.word for role in roles)
            if error.fault is KeyFault.CHECKSUM or "/" not in text:
                raise WorkspaceError(f"this is neither {_an(words)} key nor a file: {error}") from None
            raise WorkspaceError(f"there is no file {path}, and it is no {words} key either") from None
    content = files.read(path)
    try:
        return _key(content.strip(), roles)
    except NkeyError as error:
        if error.fault not in {KeyFault.NOT_A_KEY, KeyFault.CHECKSUM}:
            raise
    try:
        pair = undecorate_seed(content, *roles)
    except CredentialsError:
        raise WorkspaceError(f"{path} holds no key") from None
    return GivenKey(pair.public_key, pair)


def key_in_file(path: Path, *roles: KeyRole) -> GivenKey:
    """Return the key on the first line of a file that is one, as `nkey gen` and credentials files have it.

    Raises NotFoundError, WorkspaceError if there is none, NkeyError for a damaged key or another role.
    """
    for line in files.read(path).splitlines():
        try:
            return _key(line.strip(), roles)
        except NkeyError as error:
            if error.fault is not KeyFault.NOT_A_KEY:
                raise
    raise WorkspaceError(f"could not find a valid key in {path}")


def operator_signers(operator: OperatorClaims) -> list[str]:
    """Return the keys that may sign accounts: the identity (not in strict mode), then the signing keys."""
    strict = operator.nats.strict_signing_key_usage
    return [*([] if strict else [operator.sub]), *operator.nats.signing_keys]


def user_signers(operator: OperatorClaims, account: AccountClaims) -> list[str]:
    """Return the keys that may sign users.

    They are the account's identity (not in strict mode), then its signing keys: the plain ones before the
    scoped ones, each sorted.
    """
    strict = operator.nats.strict_signing_key_usage
    keys = sorted(account.nats.signing_keys, key=lambda key: (account.scope(key) is not None, key))
    return [*([] if strict else [account.sub]), *keys]


def operator_signer(workspace: Workspace) -> KeyPair:
    """Return the key that signs the operator's own token: `-K`, the identity, or a signing key."""
    operator = workspace.operator()
    allowed = [operator.sub, *operator.nats.signing_keys]
    if operator.nats.strict_signing_key_usage:
        allowed = [operator.sub]
    return choose(workspace, allowed, KeyRole.OPERATOR)


def account_signer(workspace: Workspace, account: AccountClaims, *, new: KeyPair | None = None) -> KeyPair:
    """Return the key that signs an account: the operator's, or in a managed store possibly the account's own.

    The key that signed the account last is preferred.

    new: the account's own key if it is not stored yet.
    """
    operator = workspace.operator()
    allowed, roles = operator_signers(operator), [KeyRole.OPERATOR]
    if workspace.store().managed:
        strict = operator.nats.strict_signing_key_usage and not account.self_signed and account.iss
        allowed += [] if strict else [account.sub]
        roles.append(KeyRole.ACCOUNT)
    return choose(workspace, allowed, *roles, prefer=account.iss, account=account, new=new)


def user_signer(workspace: Workspace, account: AccountClaims, *, prefer: str = "") -> KeyPair:
    """Return the key that signs an account's users and activations.

    prefer: a public key to try first.
    """
    operator = workspace.operator()
    allowed = user_signers(operator, account)
    if not allowed:
        raise WorkspaceError(
            f"operator {operator.name} requires signing keys, and account {account.name} has none: "
            f"add one with `nsc edit account {account.name} --sk generate`"
        )
    return choose(workspace, allowed, KeyRole.ACCOUNT, prefer=prefer, account=account)


def choose(
    workspace: Workspace,
    allowed: list[str],
    *roles: KeyRole,
    prefer: str = "",
    account: AccountClaims | None = None,
    new: KeyPair | None = None,
) -> KeyPair:
    """Return the key that `-K` names, which must be one of `allowed`; without `-K`, the first that is stored.

    account: the account whose scoped signing keys can be named by their role.

    Raises WorkspaceError, NkeyError.
    """
    keystore = workspace.keystore
    if workspace.private_key:
        pair = _named(workspace.private_key, keystore, account, roles)
        if pair.public_key not in allowed:
            raise WorkspaceError(
                f"{pair.public_key} may not sign here; these keys may: {', '.join(allowed) or 'none'}"
            )
        return pair
    for key in sorted(allowed, key=lambda key: key != prefer):
        if new is not None and new.public_key == key:
            return new
        if keystore.has(key):
            return keystore.get(key)
    raise WorkspaceError(
        "unable to resolve any of the following signing keys in the keystore: "
        + (", ".join(allowed) or "none")
    )


def _named(
    text: str, keystore: Keystore, account: AccountClaims | None, roles: tuple[KeyRole, ...]
) -> KeyPair:
    for key in sorted(account.nats.signing_keys) if account is not None else ():
        scope = account.scope(key) if account is not None else None
        if scope is not None and scope.role == text and keystore.has(key):
            return keystore.get(key)
    given = given_key(text, *roles)
    if given.pair is not None:
        return given.pair
    try:
        return keystore.get(given.public_key)
    except NotFoundError as error:
        raise WorkspaceError(f"-K names a key that cannot sign: {error}") from None


def _key(text: str, roles: tuple[KeyRole, ...]) -> GivenKey:
    if is_public(text):
        public_role(text, *roles)
        return GivenKey(text)
    pair = KeyPair(text, *roles)
    return GivenKey(pair.public_key, pair)


def _an(words: str) -> str:
    return f"an {words}" if words[:1] in "ao" else f"a {words}"
