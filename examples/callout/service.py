"""An auth callout service: users of a directory come in by password, others by a token of OpenID Connect.

The directory is a table like that of an LDAP server. A group gives an account of NATS and permissions there.
Run it with `python service.py callout.yaml nats://auth:pwd@localhost:4222` beside a server whose
configuration is in docs/callout.md. For tokens that RSA or ECDSA keys sign, `pip install 'pyjwt[crypto]'`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import bcrypt
import jwt
import nats
import yaml
from nats.aio.client import Client
from nats.aio.msg import Msg
from pyjs.keys import (
    AuthorizationRequestClaims,
    AuthorizationResponseClaims,
    IdentityError,
    KeyPair,
    UserClaims,
    decode,
    encode,
    open_sealed,
    seal,
)

SUBJECT = "$SYS.REQ.USER.AUTH"
HEADER = "Nats-Server-Xkey"
SESSION_SECONDS = 3600
UNKNOWN = b"$2b$04$UNcqdpdqsmsVcYbvpJZxX.A2mHVrktYTmNzY7sd4xCFxxYXAUjUIO"  # of nobody's password


@dataclass
class Group:
    """Where the members of a group work. `publish` and `subscribe` are subjects; none means all."""

    account: str
    publish: list[str] = field(default_factory=list)
    subscribe: list[str] = field(default_factory=list)


@dataclass
class Person:
    """Somebody who may log in, until `expires` (seconds since the epoch)."""

    name: str
    groups: list[str]
    expires: int


class Source(Protocol):
    """Knows people by what a client sent."""

    def find(self, request: AuthorizationRequestClaims) -> Person | None:
        """Return who this is, None if the source does not know."""


class Directory:
    """People with passwords, as entries of a directory: `uid`, `userPassword` (bcrypt) and `memberOf`."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self._entries = {entry["uid"]: entry for entry in entries}

    def find(self, request: AuthorizationRequestClaims) -> Person | None:
        """See Source. It takes as long for a name that is not there."""
        given = request.nats.connect_opts
        entry = self._entries.get(given.user)
        stored = UNKNOWN if entry is None else entry["userPassword"].encode()
        right = bcrypt.checkpw(given.password.encode()[:72], stored)
        if entry is None or not right:
            return None
        return Person(given.user, entry["memberOf"], int(time.time()) + SESSION_SECONDS)


class OpenIdTokens:
    """People with an ID token of a login service. Clients send it as their token (`auth_token`).

    key: returns the key that signed a token: `jwt.PyJWKClient(url).get_signing_key_from_jwt(token).key`.
    """

    def __init__(self, issuer: str, audience: str, key: Any, algorithms: list[str]) -> None:
        self._issuer = issuer
        self._audience = audience
        self._key = key
        self._algorithms = algorithms

    def find(self, request: AuthorizationRequestClaims) -> Person | None:
        """See Source. The algorithm must be one of ours: what the token says of it does not count."""
        token = request.nats.connect_opts.auth_token
        if not token:
            return None
        try:
            claims = jwt.decode(
                token,
                self._key(token),
                algorithms=self._algorithms,
                audience=self._audience,
                issuer=self._issuer,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError:
            return None
        return Person(str(claims["sub"]), list(claims.get("groups", ())), int(claims["exp"]))


class CalloutService:
    """Answers the questions of servers. `xkey` is set if they are encrypted for it."""

    def __init__(
        self, sources: list[Source], groups: dict[str, Group], issuer: KeyPair, xkey: KeyPair | None = None
    ) -> None:
        self._sources = sources
        self._groups = groups
        self._issuer = issuer
        self._xkey = xkey

    async def start(self, connection: Client) -> None:
        """Begin to answer. Several of these share the questions."""
        await connection.subscribe(SUBJECT, queue="callout", cb=self._serve)

    async def _serve(self, message: Msg) -> None:
        # bcrypt takes its time, and so may a directory: other questions are answered meanwhile.
        answer = await asyncio.to_thread(self.answer, message.data, (message.headers or {}).get(HEADER, ""))
        if answer:
            await message.respond(answer)

    def answer(self, question: bytes, server_xkey: str) -> bytes:
        """Return the answer to a question, b"" to one that cannot be read."""
        try:
            if self._xkey is not None:
                question = open_sealed(question, self._xkey, server_xkey)
            request = decode(question.decode(), AuthorizationRequestClaims)
        except (IdentityError, UnicodeDecodeError) as error:
            print(f"a question that cannot be read: {error}", file=sys.stderr)
            return b""
        answer = self._response(request).encode()
        return answer if self._xkey is None else seal(answer, self._xkey, server_xkey)

    def _response(self, request: AuthorizationRequestClaims) -> str:
        response = AuthorizationResponseClaims(sub=request.nats.user_nkey, aud=request.nats.server_id.id)
        person = next((found for each in self._sources if (found := each.find(request))), None)
        group = None if person is None else self._group(person)
        if person is None or group is None:
            response.nats.error = "unknown user or password"
        else:
            response.nats.jwt = self._user(request, person, group)
        return encode(response, self._issuer, now=time.time_ns())

    def _group(self, person: Person) -> Group | None:
        """Return the first of a person's groups that means something here."""
        return next((self._groups[name] for name in person.groups if name in self._groups), None)

    def _user(self, request: AuthorizationRequestClaims, person: Person, group: Group) -> str:
        user = UserClaims.new(request.nats.user_nkey, person.name)
        user.aud, user.exp = group.account, person.expires
        user.nats.pub.allow = group.publish
        user.nats.sub.allow = [*group.subscribe, "_INBOX.>"] if group.subscribe else []
        return encode(user, self._issuer, now=time.time_ns())


def configured(path: Path) -> CalloutService:
    """Return the service that a file describes; see callout.yaml."""
    document = yaml.safe_load(path.read_text("utf-8"))
    sources: list[Source] = [Directory(document.get("directory", []))]
    for login in document.get("openid", []):
        keys = jwt.PyJWKClient(login["jwks_uri"])
        sources.append(
            OpenIdTokens(
                login["issuer"],
                login["audience"],
                lambda token, keys=keys: keys.get_signing_key_from_jwt(token).key,
                login.get("algorithms", ["RS256", "ES256"]),
            )
        )
    groups = {name: Group(**given) for name, given in document["groups"].items()}
    seeds = {
        name: KeyPair(Path(document[name]).read_text("utf-8"))
        for name in ("issuer", "xkey")
        if name in document
    }
    return CalloutService(sources, groups, seeds["issuer"], seeds.get("xkey"))


async def main(path: str, url: str) -> None:
    """Answer until the program is stopped."""
    connection = await nats.connect(url)
    await configured(Path(path)).start(connection)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
