"""Checks of operator mode: the operators' tokens, what follows from them, and what they exclude.

If there is one operator, its token sets `system_account` and `resolver` where the options do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ....version import NATS_VERSION
from ..options import Options, ResolverOptions
from ..read.context import ReadContext
from ..read.keys import is_public_key

if TYPE_CHECKING:
    from ....keys import OperatorClaims

_INLINE = "eyJ"  # the beginning of every token


class _OptionError(NamedTuple):
    """What is wrong with an option: its path, the message, and a hint."""

    path: str
    text: str
    hint: str = ""


class OperatorFileError(ValueError):
    """An operator's token cannot be read, or is not one."""


def check(options: Options, context: ReadContext) -> None:
    """Check the options and put every error into the context."""
    for error in fill_in(options):
        context.error(context.positions.get(error.path), error.text, error.hint)


def in_operator_mode(options: Options) -> bool:
    """Whether accounts are made from tokens."""
    return bool(options.operator or options.trusted_keys)


def read_operators(options: Options) -> list[OperatorClaims]:
    """Return the operators of the options. Raises OperatorFileError."""
    return [_read(entry) for entry in options.operator]


def operator_token(entry: str) -> str:
    """Return the token in an entry of the options, or in the file it names. Raises OperatorFileError."""
    from ....keys import undecorate_jwt

    text = entry.strip()
    if not text.startswith(_INLINE):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", "") or error
            raise OperatorFileError(f"error parsing operator JWT: cannot read {text}: {why}") from error
    return undecorate_jwt(text)


def _read(entry: str) -> OperatorClaims:
    from ....keys import Refusal, open_operator

    found = open_operator(operator_token(entry))
    if isinstance(found, Refusal):
        raise OperatorFileError(f"error parsing operator JWT: {found.detail}")
    return found


def fill_in(options: Options) -> list[_OptionError]:
    """Set the options that follow from the operators' tokens, and return what is wrong, the worst first."""
    try:
        operators = read_operators(options)
    except OperatorFileError as error:
        return [_OptionError("operator", str(error))]
    if len(operators) == 1:
        only = operators[0].nats
        if options.resolver is None and only.account_server_url:
            options.resolver = ResolverOptions(kind="url", url=only.account_server_url + "/accounts")
        options.system_account = options.system_account or only.system_account
    errors = _keys(options)
    if not operators and options.default_sentinel:
        errors.append(_OptionError("default_sentinel", "default sentinel requires operators and accounts"))
    if in_operator_mode(options):
        errors += [
            *_sentinel(options),
            *_resolver(options, operators),
            *_excluded(options),
            *_system_account(options, operators),
            *(old for each in operators if (old := _version(each))),
        ]
    return errors


def _keys(options: Options) -> list[_OptionError]:
    errors = [
        _OptionError("trusted_keys", f'trust key "{key}" required to be a valid public operator nkey')
        for key in options.trusted_keys
        if not is_public_key(key, "O")
    ]
    if options.operator and options.trusted_keys:
        errors.append(_OptionError("trusted_keys", "conflicting options for trusted keys and operator"))
    errors += [
        _OptionError(
            "resolver_pinned_accounts", f'pinned account key "{key}" is not a valid public account nkey'
        )
        for key in options.resolver_pinned_accounts
        if not is_public_key(key, "A")
    ]
    return errors


def _sentinel(options: Options) -> list[_OptionError]:
    """Check that the sentinel needs no signature.

    It must be a bearer token, or the token of a user with a scope, which may allow bearer tokens.
    """
    if not options.default_sentinel:
        return []
    from ....keys import IdentityError, UserClaims, decode

    try:
        user = decode(options.default_sentinel, UserClaims, v1=True)
    except IdentityError:
        return [_OptionError("default_sentinel", "default sentinel JWT not valid")]
    if user.nats.bearer_token or (user.nats.issuer_account and user.nats.empty):
        return []
    return [_OptionError("default_sentinel", "default sentinel must be a bearer token")]


def _resolver(options: Options, operators: list[OperatorClaims]) -> list[_OptionError]:
    resolver = options.resolver
    if resolver is None:
        path = "operator" if operators else "trusted_keys"
        return [_OptionError(path, "operators require an account resolver to be configured")]
    if operators and resolver.kind in {"full", "cache"} and not options.system_account:
        text = (
            "using nats based account resolver - the system account needs to be specified in configuration "
            "or the operator jwt"
        )
        return [_OptionError("resolver", text)]
    return []


def _excluded(options: Options) -> list[_OptionError]:
    """Return the options that would let somebody in without a token."""
    errors = [
        _OptionError(name, f"operators do not allow {what} to be configured directly")
        for name, what in (("accounts", "accounts"), ("no_auth_user", "no_auth_user"))
        if getattr(options, name)
    ]
    authorization = options.authorization
    if authorization.users:
        text = "operators do not allow users to be configured directly"
        errors.append(_OptionError("authorization.users", text))
    if authorization.auth_callout is not None:
        text = "operators do not allow authorization callouts to be configured directly"
        errors.append(_OptionError("authorization.auth_callout", text))
    leafs = options.leafnodes.authorization
    if leafs is not None and leafs.users:
        text = "operator mode does not allow specifying users in leafnode config"
        errors.append(_OptionError("leafnodes.authorization", text))
    elif leafs is not None and (leafs.user or leafs.nkey or leafs.account):
        text = "in operator mode leafs log in by JWT; a user, nkey or account of their own is not served yet"
        errors.append(_OptionError("leafnodes.authorization", text))
    for index, remote in enumerate(options.leafnodes.remotes):
        if not is_public_key(remote.account, "A"):
            hint = "account must be the public key of an account"
            text = "operator mode requires account nkeys in remotes"
            errors.append(_OptionError(f"leafnodes.remotes.{index}", text, hint))
    return errors


def _system_account(options: Options, operators: list[OperatorClaims]) -> list[_OptionError]:
    named = {each.nats.system_account for each in operators} - {""}
    if options.system_account and named and options.system_account not in named:
        return [_OptionError("system_account", "system_account in config and operator JWT must be identical")]
    if options.system_account and not is_public_key(options.system_account, "A"):
        return [
            _OptionError(
                "system_account", "in operator mode system_account must be the public key of an account"
            )
        ]
    return []


def _version(operator: OperatorClaims) -> _OptionError | None:
    """Return an error if the operator requires a newer server."""
    wanted = operator.nats.assert_server_version
    pairs = zip(("major", "minor", "update"), wanted.split("."), NATS_VERSION.split("."), strict=False)
    for word, least, own in pairs if wanted else ():
        if int(least) > int(own):
            text = f"operator {operator.sub} expected {word} version {least} > server {word} version {own}"
            return _OptionError("operator", text)
        if int(least) < int(own):
            return None
    return None
