"""An operator with accounts, users, tokens, credentials, configurations, and pushes.

Everything is made with pyjs.keys and checked by whichever server the test starts. An OperatorEnv has its own
time of issue: it begins ten minutes ago and every token is a second newer than the one before, so that
"newer" and "revoked up to" mean the same in every run. Expiry (`exp`) is set by the test, in real seconds.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyjs.keys import (
    AccountClaims,
    ActivationClaims,
    Claims,
    GenericClaims,
    KeyPair,
    KeyRole,
    OperatorClaims,
    UserClaims,
    UserScope,
    decode,
    encode,
    format_credentials,
    write_credentials,
)

from .process import ServerProcess
from .wire import Frame, Msg, Wire

SECOND = 1_000_000_000
UPDATE = "$SYS.REQ.CLAIMS.UPDATE"
ENABLED = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}


@dataclass
class User:
    """A user with its secret and its token (`bearer` users do not sign)."""

    name: str
    key: KeyPair
    claims: UserClaims
    token: str

    @property
    def issued(self) -> int:
        """When the token was signed, in seconds."""
        return decode(self.token, UserClaims).iat

    def proof(self, wire: Wire, **changes: Any) -> dict[str, Any]:
        """Return CONNECT's fields for a connection that has read INFO."""
        signature = self.key.sign(wire.info.get("nonce", "").encode())
        sig = base64.urlsafe_b64encode(signature).decode().rstrip("=")
        return {"jwt": self.token, "sig": sig, "name": self.name} | changes

    def connect(self, server: ServerProcess, **changes: Any) -> Wire:
        """Return a connection that is logged in. Raises ConnectionError with the server's answer."""
        wire = Wire(server.port)
        try:
            wire.login(**self.proof(wire, **changes))
            answer = wire.sync()
        except EOFError as error:
            wire.close()
            raise ConnectionError(str(error)) from None
        except BaseException:
            wire.close()
            raise
        if answer:
            wire.close()
            raise ConnectionError(answer)
        return wire

    def refusal(self, server: ServerProcess, **changes: Any) -> list[Frame]:
        """Return everything that the server says to this CONNECT before it closes.

        Raises TimeoutError if it does not close.
        """
        with Wire(server.port) as wire:
            wire.login(**self.proof(wire, **changes))
            wire.send("PING\r\n")
            return wire.ends()

    def credentials(self) -> str:
        """Return the text of a credentials file."""
        return format_credentials(self.token, self.key.seed)

    def write(self, folder: Path) -> Path:
        """Write a credentials file into `folder`."""
        path = folder / f"{self.name}.creds"
        write_credentials(path, self.token, self.key.seed)
        return path


@dataclass
class OperatorAccount:
    """An account: a test may change its claims at will, and `token()` signs them as they are then."""

    env: OperatorEnv
    key: KeyPair
    claims: AccountClaims
    signing: list[KeyPair] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The public key."""
        return self.key.public_key

    def set(self, **fields: Any) -> OperatorAccount:
        """Change fields under `nats`; `limits` is merged into the present ones."""
        limits = fields.pop("limits", None)
        document = self.claims.nats.document() | fields
        if limits is not None:
            document["limits"] = document.get("limits", {}) | limits
        self.claims.nats = type(self.claims.nats).model_validate(document)
        return self

    def signing_key(self) -> KeyPair:
        """Add a plain signing key."""
        key = KeyPair.create(KeyRole.ACCOUNT)
        self.claims.nats.signing_keys[key.public_key] = None
        self.signing.append(key)
        return key

    def scoped_key(self, role: str = "role", **template: Any) -> KeyPair:
        """Add a signing key with a scope; `template` has the fields of a user's permissions and limits."""
        key = KeyPair.create(KeyRole.ACCOUNT)
        scope = {"kind": "user_scope", "key": key.public_key, "role": role, "template": template}
        self.claims.nats.signing_keys[key.public_key] = UserScope.model_validate(scope)
        return key

    def token(self, by: KeyPair | None = None) -> str:
        """Sign the claims as they are now, by the operator unless said otherwise."""
        return self.env.sign(self.claims, by or self.env.signer)

    def user(
        self,
        name: str = "u",
        *,
        by: KeyPair | None = None,
        scoped: bool = False,
        exp: int = 0,
        nbf: int = 0,
        key: KeyPair | None = None,
        tags: Iterable[str] = (),
        **fields: Any,
    ) -> User:
        """Return a user signed by `by`: the first signing key if there is one, else the account's own key.

        scoped: whether nothing is set, as a scoped key demands
        fields: fields under `nats`
        """
        signer = by or (self.signing[0] if self.signing else self.key)
        pair = key or KeyPair.create(KeyRole.USER)
        own = "" if signer.public_key == self.id else self.id
        claims = UserClaims.new(pair.public_key, name, issuer_account=own, scoped=scoped)
        document = claims.nats.document() | fields | ({"tags": list(tags)} if tags else {})
        claims.nats = type(claims.nats).model_validate(document)
        claims.exp, claims.nbf = exp, nbf
        return User(name, pair, claims, self.env.sign(claims, signer))

    def activation(
        self, importer: OperatorAccount, subject: str, kind: Any, *, exp: int = 0, by: KeyPair | None = None
    ) -> str:
        """Return the activation token for `importer` to import `subject`; `by` is a signing key."""
        claims = ActivationClaims.new(importer.id, subject, kind, subject)
        claims.exp = exp
        claims.nats.issuer_account = self.id if by else ""
        return self.env.sign(claims, by or self.key)


class OperatorEnv:
    """An operator, its system account SYS with the user `sys`, and what the test adds."""

    def __init__(self, *, signing: bool = False, strict: bool = False, **operator: Any) -> None:
        self.started = self.clock = time.time_ns() // SECOND - 600
        self.key = KeyPair.create(KeyRole.OPERATOR)
        self.signing = KeyPair.create(KeyRole.OPERATOR) if signing or strict else None
        self.accounts: list[OperatorAccount] = []
        self.sys = self.account("SYS")
        if strict:
            self.sys.signing_key()
        self.claims = OperatorClaims.new(self.key.public_key, "OP")
        self.claims.nats.system_account = self.sys.id
        self.claims.nats.strict_signing_key_usage = strict
        if self.signing is not None:
            self.claims.nats.signing_keys = [self.signing.public_key]
        for name, value in operator.items():
            setattr(self.claims.nats, name, value)
        self.token = self.sign(self.claims, self.key)
        self.admin = self.sys.user("sys")

    @property
    def signer(self) -> KeyPair:
        """The key that signs accounts: the signing key if there is one."""
        return self.signing or self.key

    def sign(self, claims: Claims, key: KeyPair) -> str:
        """Return a token of the environment's next second."""
        self.clock += 1
        return encode(claims, key, now=self.clock * SECOND)

    def account(self, name: str, *, jetstream: bool = False, **fields: Any) -> OperatorAccount:
        """Add an account; `fields` are under `nats`, `limits` are merged into unlimited ones."""
        key = KeyPair.create(KeyRole.ACCOUNT)
        account = OperatorAccount(self, key, AccountClaims.new(key.public_key, name))
        if jetstream:
            account.set(limits=ENABLED)
        self.accounts.append(account)
        return account.set(**fields)

    def preload(self, *accounts: OperatorAccount) -> str:
        """Return the block resolver_preload with SYS and `accounts`."""
        rows = "".join(f"  {a.id}: {a.token()}\n" for a in (self.sys, *accounts))
        return f"resolver_preload: {{\n{rows}}}\n"

    def config(self, resolver: str, *preloaded: OperatorAccount, more: str = "") -> str:
        """Return a server's configuration.

        resolver: as in a configuration file
        preloaded: accounts that are preloaded, beside SYS
        """
        return (
            f"listen: 127.0.0.1:<client>\nserver_name: S\noperator: {self.token}\nresolver: {resolver}\n"
            f"{self.preload(*preloaded)}{more}\n"
        )

    def memory(self, *preloaded: OperatorAccount, more: str = "") -> str:
        """Return the configuration of a server that knows only the preloaded accounts."""
        return self.config("MEMORY", *preloaded, more=more)

    def full(
        self, *preloaded: OperatorAccount, folder: str = "<store>/jwt", more: str = "", **keys: Any
    ) -> str:
        """Return that of a server with the resolver `full`; `keys` are added to its block."""
        return self.config(block("full", folder, keys), *preloaded, more=more)

    def cache(
        self, *preloaded: OperatorAccount, folder: str = "<store>/jwt", more: str = "", **keys: Any
    ) -> str:
        """Return that of a server with the resolver `cache`."""
        return self.config(block("cache", folder, keys), *preloaded, more=more)

    def url(self, address: str, *preloaded: OperatorAccount, more: str = "") -> str:
        """Return that of a server that asks `address` (ending in a slash) for accounts."""
        return self.config(f'URL("{address}")', *preloaded, more=more)

    def system(self, server: ServerProcess) -> Wire:
        """Return a connection of the system account's user."""
        return self.admin.connect(server)

    def push(
        self, server: ServerProcess, *accounts: OperatorAccount | str, subject: str = UPDATE
    ) -> list[Any]:
        """Push accounts (or tokens) over the system account; return the answers' `data`.

        All answers must be 200.
        """
        answers = [ask(server, self, subject, a if isinstance(a, str) else a.token()) for a in accounts]
        for answer in answers:
            assert answer["data"]["code"] == 200, answer
        return [answer["data"] for answer in answers]

    def delete(self, server: ServerProcess, *accounts: OperatorAccount, by: KeyPair | None = None) -> Any:
        """Ask for deletion with a token that `by` (the operator) signs; return the answer as it came."""
        token = self.deletion([a.id for a in accounts], by or self.key)
        return ask(server, self, "$SYS.REQ.CLAIMS.DELETE", token)

    def deletion(self, accounts: Iterable[str], by: KeyPair) -> str:
        """Return the token that asks for the deletion of `accounts` (public keys)."""
        claims = GenericClaims(sub=by.public_key, nats={"accounts": list(accounts)})
        return self.sign(claims, by)


@dataclass
class Deployment:
    """An operator's accounts and users, and one server that runs with them."""

    env: OperatorEnv
    server: ServerProcess

    def account(self, name: str = "A", **fields: Any) -> OperatorAccount:
        """Add an account (see OperatorEnv.account) and push it."""
        account = self.env.account(name, **fields)
        self.push(account)
        return account

    def push(self, *accounts: OperatorAccount | str) -> None:
        """Push accounts as they are now; returns when the server has taken them."""
        self.env.push(self.server, *accounts)

    def ask(self, subject: str, body: str = "") -> Any:
        """Send a request of the system account's user."""
        return ask(self.server, self.env, subject, body)


def block(kind: str, folder: str, keys: dict[str, Any]) -> str:
    """Return the resolver block of a directory resolver."""
    words = {True: "true", False: "false"}
    rows = "".join(f", {k}: {words.get(v, v) if isinstance(v, bool) else v}" for k, v in keys.items())
    return f'{{ type: {kind}, dir: "{folder}"{rows} }}'


def ask(server: ServerProcess, env: OperatorEnv, subject: str, body: str = "") -> Any:
    """Send one request over the system account; return the answer as JSON."""
    with env.system(server) as wire:
        answer = wire.request(subject, body)
        assert not answer.status, (subject, answer.status)
        return json.loads(answer.body)


def unsigned(token: str, **header: str) -> str:
    """Return `token` with another header and no signature, as with `alg: none`."""
    written = json.dumps({"typ": "JWT", "alg": "none"} | header).encode()
    head = base64.urlsafe_b64encode(written).decode().rstrip("=")
    return f"{head}.{token.split('.')[1]}."


def reheaded(token: str, key: KeyPair, **header: str) -> str:
    """Return `token` with another header, properly signed by `key`."""
    written = json.dumps({"typ": "JWT", "alg": "ed25519-nkey"} | header).encode()
    head = base64.urlsafe_b64encode(written).decode().rstrip("=")
    signed = f"{head}.{token.split('.')[1]}"
    return f"{signed}.{base64.urlsafe_b64encode(key.sign(signed.encode())).decode().rstrip('=')}"


def tampered(token: str, **claims: Any) -> str:
    """Return `token` with changed claims and the old signature."""
    head, payload, signature = token.split(".")
    document = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))) | claims
    changed = base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")
    return f"{head}.{changed}.{signature}"


def bodies(frames: Iterable[Frame]) -> list[bytes]:
    """Return the bodies of the messages among `frames`."""
    return [frame.body for frame in frames if isinstance(frame, Msg)]


def soon(seconds: int = 2) -> int:
    """Return a moment `seconds` from now, in seconds since the epoch."""
    return int(time.time()) + seconds
