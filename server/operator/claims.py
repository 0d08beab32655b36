"""ClaimsServices: the services of the system account that take, list, hand out and delete account tokens.

Promises:
- Each request with a reply gets one answer, in the form of nats-server's, when the change is in force.
- Requests are served in the order in which they came.
- A token that is refused changes nothing.
- A token is applied to its account exactly if it is stored here. With memory and URL resolvers, which have no
  directory, it is applied to accounts that are in use.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...keys import GenericClaims, IdentityError, KeyRole, Refusal, decode, is_public
from ...protocol import gojson
from ..clock import SECOND
from .resolver import ResolverError
from .resolver.folder import FolderResolver
from .token_parser import ParsedToken, TokenParser, TokenQueue

if TYPE_CHECKING:
    from ...keys import AccountClaims, OperatorClaims, Trust
    from ..accounts import Account, AccountRegistry, Message, Subscription
    from ..clock import Clock
    from ..logging import Logger
    from .resolver import Resolver
    from .resolver.sync import DirectorySync

UPDATE = "$SYS.REQ.CLAIMS.UPDATE"
LIST = "$SYS.REQ.CLAIMS.LIST"
DELETE = "$SYS.REQ.CLAIMS.DELETE"
ACCOUNT_UPDATES = ("$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE", "$SYS.ACCOUNT.*.CLAIMS.UPDATE")
LOOKUP = "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"
DONE, FAILED = 200, 500
Service = Callable[["Message", ParsedToken], "dict[str, Any]"]


class ClaimsAccounts(Protocol):
    """What is needed of the accounts in use (see `accounts.OperatorAccounts`)."""

    trust: Trust
    parser: TokenParser

    def when_applied(self, done: Callable[[], None]) -> None:
        """Call `done` when all changes made until now are applied."""

    def update(self, token: str) -> Refusal | None:
        """Apply a token to its account, or return why it is refused."""

    def expire(self, key: str, *, deleted: bool = False) -> None:
        """Expire an account, or delete it altogether."""


class ClaimsError(Exception):
    """Why a request fails. The text is `message` and the reason; `account` is what the request was about."""

    def __init__(self, message: str, why: object, account: str = "") -> None:
        super().__init__(f"{message} - {why}")
        self.account = account


class ClaimsServices:
    """The services of one server.

    sender: returns the `server` member of answers.
    operator: the operator whose token may demand that accounts are signed by signing keys.
    """

    def __init__(
        self,
        resolver: Resolver,
        accounts: ClaimsAccounts,
        registry: AccountRegistry,
        sender: Callable[[], dict[str, Any]],
        *,
        clock: Clock,
        log: Logger,
        operator: OperatorClaims | None = None,
    ) -> None:
        self._resolver = resolver
        self._accounts = accounts
        self._registry = registry
        self._sender = sender
        self._clock = clock
        self._log = log
        self._operator = operator
        self._queue = TokenQueue(accounts.parser, clock)
        self._system: Account | None = None
        self._subscriptions: list[Subscription] = []
        self._sync: DirectorySync | None = None
        self._word = "jwt update cache" if resolver.kind == "cache" else "jwt update"

    def start(self) -> None:
        """Subscribe to what this kind of resolver serves, if there is a system account."""
        system = self._system = self._registry.system
        if system is None:
            return
        for subject in ACCOUNT_UPDATES:
            self._on(subject, self._update_account, pushed=True)
        if not isinstance(self._resolver, FolderResolver):
            return
        self._subscriptions.extend(self._resolver.peers.watch(system))
        self._on(UPDATE, self._update, pushed=True)
        self._on(LIST, self._list)
        self._on(DELETE, self._delete)
        if self._resolver.kind == "full":
            from .resolver.sync import DirectorySync

            self._subscriptions.append(system.subscribe(LOOKUP, self._lookup))
            self._sync = DirectorySync(
                self._resolver, system, self._clock, self._log, self._apply, self._accounts.parser
            )
            self._sync.start()

    def stop(self) -> None:
        """Stop everything."""
        self._queue.stop()
        if self._sync is not None:
            self._sync.stop()
        if self._system is not None:
            for subscription in self._subscriptions:
                self._system.unsubscribe(subscription)
        self._subscriptions.clear()

    # --- answers

    def _on(self, subject: str, service: Service, *, pushed: bool = False) -> None:
        assert self._system is not None

        def handle(message: Message) -> None:
            token = message.body.decode("utf-8", "replace").strip() if pushed else ""
            self._queue.add(token, lambda parsed: self._serve(subject, service, message, parsed))

        self._subscriptions.append(self._system.subscribe(subject, handle))

    def _serve(self, subject: str, service: Service, message: Message, parsed: ParsedToken) -> None:
        """Do what a request asks for, and answer when the change is in force."""
        try:
            answer = service(message, parsed)
        except ClaimsError as error:
            about = f" ({error.account})" if error.account else ""
            self._log.error(f"{error}{about}")
            answer = self._failure(str(error), error.account)
        except Exception as error:  # a bug here must not end the connection that asked
            self._log.error(f"Claims service {subject} failed: {type(error).__name__}: {error}")
            answer = self._failure("internal error", "")
        if message.reply and answer is not None:
            self._accounts.when_applied(lambda: self._answer(message.reply, answer))

    def _answer(self, reply: str, answer: dict[str, Any]) -> None:
        if self._system is not None:
            self._system.publish(reply, _encode(answer))

    def _done(self, message: str, account: str = "") -> dict[str, Any]:
        self._log.debug(f"{message} - {account}" if account else message)
        about = {"account": account} if account else {}
        return {"server": self._sender(), "data": about | {"code": DONE, "message": message}}

    def _failure(self, description: str, account: str) -> dict[str, Any]:
        about = {"account": account} if account else {}
        return {"server": self._sender(), "error": about | {"code": FAILED, "description": description}}

    # --- updates

    def _update(self, _message: Message, parsed: ParsedToken) -> dict[str, Any]:
        claims = self._claims(parsed, "n/a")
        self._refuse_identity(claims, claims.sub)
        return self._take(parsed, claims, claims.sub)

    def _update_account(self, message: Message, parsed: ParsedToken) -> dict[str, Any]:
        words = message.subject.split(".")
        key = words[3] if words[1] == "REQ" else words[2]
        claims = self._claims(parsed, "n/a" if self._resolver.kind == "full" else key)
        if claims.sub != key:
            raise ClaimsError(f"{self._word} resulted in error", "subject does not match jwt content", key)
        self._refuse_identity(claims, key)
        return self._take(parsed, claims, key)

    def _claims(self, parsed: ParsedToken, account: str) -> AccountClaims:
        if not parsed.token and not isinstance(self._resolver, FolderResolver):
            raise ClaimsError("jwt update error", "request body is empty", account)
        if isinstance(parsed.claims, Refusal):
            raise ClaimsError(f"{self._word} resulted in error", parsed.claims.detail, account)
        return parsed.claims

    def _refuse_identity(self, claims: AccountClaims, key: str) -> None:
        operator = self._operator
        if operator is not None and operator.nats.strict_signing_key_usage and claims.iss == operator.sub:
            raise ClaimsError(
                f"{self._word} resulted in error", "operator requires issuer to be a signing key", key
            )

    def _take(self, parsed: ParsedToken, claims: AccountClaims, key: str) -> dict[str, Any]:
        """Store the token, where tokens are stored, and apply it."""
        token = parsed.token
        kind = self._resolver.kind
        if kind != "full" and self._registry.get(key) is None:
            return self._done(f"{self._word} skipped", key)
        self._validate(parsed, claims, key)
        if kind in ("full", "cache"):
            self._warn_of_older(claims, key)
            try:
                self._resolver.store(key, token, newer_only=False)
            except ResolverError as error:
                if self._resolver.known(key) == token:
                    self._apply(token)
                raise ClaimsError(f"{self._word} resulted in error", error, key) from None
        refusal = self._accounts.update(token)
        if refusal is not None:
            if kind not in ("full", "cache"):
                raise ClaimsError(f"{self._word} resulted in error", refusal.detail, key)
            self._log.error(f"DirResolver - Update for account {key} resulted in error: {refusal}")
        if kind == "memory":
            self._resolver.store(key, token, newer_only=False)
        return self._done("jwt updated cache" if kind == "cache" else "jwt updated", key)

    def _validate(self, parsed: ParsedToken, claims: AccountClaims, key: str) -> None:
        words = (
            f"{self._word} validation failed" if self._resolver.kind == "cache" else "jwt validation failed"
        )
        if parsed.errors:
            raise ClaimsError(words, f"validation errors: [{' '.join(parsed.errors)}]", key)
        if parsed.unfit:
            raise ClaimsError(words, "; ".join(parsed.unfit), key)
        if claims.iss not in self._accounts.trust.keys:
            raise ClaimsError(words, f"account {key} is signed by {claims.iss}, which is not trusted", key)
        now = self._clock.now() // SECOND
        if claims.exp and claims.exp <= now:
            raise ClaimsError(words, f"account {key} has expired", key)
        if claims.nbf > now:
            raise ClaimsError(words, f"account {key} is not yet valid", key)

    def _warn_of_older(self, claims: AccountClaims, key: str) -> None:
        assert isinstance(self._resolver, FolderResolver)
        if self._resolver.known(key) and self._resolver.directory.issued(key) > claims.iat:
            self._log.warning(f"A token of account {key} was pushed that is older than the one it replaces")

    def _apply(self, token: str) -> None:
        refusal = self._accounts.update(token)
        if refusal is not None:
            self._log.error(f"DirResolver - Update resulted in error: {refusal}")

    # --- the other services

    def _list(self, _message: Message, _parsed: ParsedToken) -> dict[str, Any]:
        return {"data": self._resolver.keys(), "server": self._sender()}

    def _lookup(self, message: Message) -> None:
        assert self._system is not None and isinstance(self._resolver, FolderResolver)
        if not message.reply or self._resolver.peers.own(message.reply):
            return
        token = self._resolver.known(message.subject.split(".")[3])
        self._system.publish(message.reply, token.encode())

    def _delete(self, message: Message, _parsed: ParsedToken) -> dict[str, Any]:
        assert isinstance(self._resolver, FolderResolver)
        who, keys = "", []
        try:
            claims = decode(message.body.decode("utf-8", "replace").strip(), GenericClaims)
            who = claims.sub
            keys = self._deletable(claims)
        except (IdentityError, ValueError) as error:
            raise ClaimsError(f"delete accounts request by {who} failed", error) from None
        failures = []
        for key in keys:
            try:
                self._resolver.directory.delete(key)
            except ResolverError as error:
                failures.append(str(error))
                continue
            self._accounts.expire(key, deleted=True)
        done = len(keys) - len(failures)
        if failures:
            what = f"deleted {done} accounts, failed for {len(failures)}"
            raise ClaimsError(what, "\n".join(failures))
        return self._done(f"deleted {done} accounts")

    def _deletable(self, claims: GenericClaims) -> list[str]:
        """Return the accounts that a request may delete. Raises ValueError with nats-server's words."""
        from .resolver.directory import Deletion

        assert isinstance(self._resolver, FolderResolver)
        if self._resolver.directory.deletion is Deletion.NONE:
            raise ValueError("delete must be enabled in server config")
        if claims.sub != claims.iss:
            raise ValueError("not self signed")
        if claims.iss not in self._accounts.trust.keys:
            raise ValueError("not trusted")
        keys = claims.nats.get("accounts")
        if not isinstance(keys, list):
            raise ValueError("malformed request")  # noqa: TRY004 it came over the wire
        for key in keys:
            if not isinstance(key, str) or not is_public(key, KeyRole.ACCOUNT):
                raise ValueError("malformed request")
            if self._system is not None and key == self._system.name:
                raise ValueError("not allowed to delete system account")
        return list(dict.fromkeys(keys))


def _encode(document: Any) -> bytes:
    return gojson.utf8(json.dumps(document, separators=(",", ":"), ensure_ascii=False))
