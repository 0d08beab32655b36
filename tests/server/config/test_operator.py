"""Operator mode in a configuration: what an operator's token implies, and what it forbids."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from lib.operator_fixture import OperatorEnv
from pyjs.keys import decorate_jwt
from pyjs.server.config.load import load, load_text
from pyjs.server.config.options import Options
from pyjs.server.config.support import unsupported
from pyjs.server.config.tree import ConfigError
from pyjs.server.operator import OperatorError, Trusted

ENV = OperatorEnv()
ACCOUNT = ENV.account("A")
BEARER = ACCOUNT.user(bearer_token=True)
OTHER = OperatorEnv()
SIGNING = OperatorEnv(signing=True)
STRICT = OperatorEnv(strict=True)


def plain(more: str = "", env: OperatorEnv = ENV) -> str:
    return f"operator: {env.token}\nresolver: MEMORY\n{more}"


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    return str(caught.value)


def without_system_account() -> str:
    env = OperatorEnv()
    env.claims.nats.system_account = ""
    return env.sign(env.claims, env.key)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (plain("accounts { A {} }"), "3:1: operators do not allow accounts to be configured directly"),
        (
            plain("authorization { users: [{user: a, password: b}] }"),
            "operators do not allow users to be configured directly",
        ),
        (plain("no_auth_user: a"), "3:1: operators do not allow no_auth_user to be configured directly"),
        (
            plain("leafnodes { port: -1, authorization { users: [{user: a, password: b}] } }"),
            "operator mode does not allow specifying users in leafnode config",
        ),
        (
            plain(f"leafnodes {{ port: -1, authorization {{ account: {ACCOUNT.id} }} }}"),
            "3:23: in operator mode leafs log in by JWT",
        ),
        (
            plain("leafnodes { remotes: [{url: 'nats://127.0.0.1:1'}] }"),
            "operator mode requires account nkeys in remotes",
        ),
        (f"operator: {ENV.token}", "1:1: operators require an account resolver to be configured"),
        (f"trusted_keys: {ENV.key.public_key}", "operators require an account resolver to be configured"),
        (
            f"operator: {without_system_account()}\nresolver: {{ type: full, dir: jwt }}",
            "2:1: using nats based account resolver - the system account needs to be specified in "
            "configuration or the operator jwt",
        ),
        (
            plain(f"system_account: {ACCOUNT.id}"),
            "3:1: system_account in config and operator JWT must be identical",
        ),
        (plain("", OperatorEnv(assert_server_version="3.0.0")), "expected major version 3 > server major"),
        (plain("", OperatorEnv(assert_server_version="2.99.0")), "expected minor version 99 > server minor"),
        (plain("", OperatorEnv(assert_server_version="2.15.99")), "expected update version 99 > server"),
        ("operator: none.jwt", "1:1: error parsing operator JWT: cannot read none.jwt: No such file"),
        (f"operator: {ACCOUNT.token()}", "1:1: error parsing operator JWT: this is a token of 'account'"),
        (f"operator: {ENV.token}A", "1:1: error parsing operator JWT: "),
        (
            plain(f"trusted_keys: {ENV.key.public_key}"),
            "3:1: conflicting options for trusted keys and operator",
        ),
        (
            f"trusted_keys: {ACCOUNT.id}\nresolver: MEMORY",
            f'1:1: trust key "{ACCOUNT.id}" required to be a valid public operator nkey',
        ),
        (
            plain("resolver_pinned_accounts: [nonsense]"),
            '3:1: pinned account key "nonsense" is not a valid public account nkey',
        ),
        (plain("default_sentinel: eyJx"), "3:1: default sentinel JWT not valid"),
        (
            plain(f"default_sentinel: {ACCOUNT.user(pub={'allow': ['a']}).token}"),
            "3:1: default sentinel must be a bearer token",
        ),
        (f"default_sentinel: {BEARER.token}", "1:1: default sentinel requires operators and accounts"),
    ],
    ids=itertools.count(),  # the texts hold keys of each process's own
)
def test_refused(text: str, said: str) -> None:
    assert said in problem(text)


def test_one_operators_token_says_the_system_account_and_the_resolver() -> None:
    env = OperatorEnv(account_server_url="http://127.0.0.1:9090/jwt/v1")
    options = load_text(f"operator: {env.token}")
    assert options.system_account == env.sys.id
    assert options.resolver is not None
    assert (options.resolver.kind, options.resolver.url) == ("url", "http://127.0.0.1:9090/jwt/v1/accounts")
    assert load_text(plain("", env)).resolver == load_text(plain()).resolver


def test_of_several_operators_none_says_it() -> None:
    text = f"operator: [{ENV.token}, {OTHER.token}]\nresolver: MEMORY"
    options = load_text(text)
    assert options.system_account == ""
    assert set(Trusted.of(options).trust.keys) == {ENV.key.public_key, OTHER.key.public_key}
    assert load_text(f"{text}\nsystem_account: {OTHER.sys.id}").system_account == OTHER.sys.id


def test_a_file_may_be_named_and_decorated(tmp_path: Path) -> None:
    operator = tmp_path / "OP.jwt"
    operator.write_text(decorate_jwt(ENV.token))
    (tmp_path / "resolver.cfg").write_text(
        f"operator: \"{operator}\"\nresolver: {{\n type: full\n dir: $CACHE\n interval: '2m'\n"
        f" allow_delete: true\n}}\n{ENV.preload()}"
    )
    (tmp_path / "server.cfg").write_text("port: -1\ninclude ./resolver.cfg\n")
    options = load(str(tmp_path / "server.cfg"), {"CACHE": str(tmp_path / "jwt")})
    assert options.system_account == ENV.sys.id
    assert unsupported(options) == ([], [])


@pytest.mark.parametrize(
    ("env", "trusted"),
    [
        (ENV, {ENV.key.public_key: False}),
        (SIGNING, {key.public_key: False for key in (SIGNING.key, SIGNING.signer)}),
        (STRICT, {STRICT.signer.public_key: True}),
    ],
)
def test_who_may_sign_accounts(env: OperatorEnv, trusted: dict[str, bool]) -> None:
    assert dict(Trusted.of(load_text(plain("", env))).trust.keys) == trusted


def test_bare_keys_are_trusted_as_they_are() -> None:
    options = load_text(f"trusted_keys: {ENV.key.public_key}\nresolver: MEMORY")
    trusted = Trusted.of(options)
    assert (trusted.operators, dict(trusted.trust.keys)) == ([], {ENV.key.public_key: False})


def test_a_sentinel_may_be_a_bearer_or_a_scoped_user() -> None:
    account = ENV.account("B")
    scoped = account.user(by=account.scoped_key(bearer_token=True), scoped=True)
    for token in (BEARER.token, scoped.token):
        assert load_text(plain(f"default_sentinel: {token}")).default_sentinel == token


def test_options_made_by_code_are_validated_too() -> None:
    with pytest.raises(OperatorError, match="operators require an account resolver"):
        Trusted.of(Options(operator=[ENV.token]))
