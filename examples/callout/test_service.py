"""The service beside a server in this process, with clients that get in and others that do not."""

import asyncio
import time
from pathlib import Path

import bcrypt
import jwt
import nats
import pytest
from pyjs.keys import KeyPair, KeyRole
from pyjs.server.config import load_text
from pyjs.server.embed import ThreadedServer
from service import CalloutService, Directory, Group, OpenIdTokens, configured

ISSUER = KeyPair.create(KeyRole.ACCOUNT)
XKEY = KeyPair.create(KeyRole.CURVE)
SECRET = "a secret that only the login service and ours know"
CONFIG = f"""
listen: "127.0.0.1:-1"
accounts {{
  AUTH {{ users: [ {{ user: auth, password: pwd }} ] }}
  APP {{}}
}}
authorization {{
  auth_callout {{
    issuer: {ISSUER.public_key}, account: AUTH, auth_users: [ auth ], xkey: {XKEY.public_key}
  }}
}}
"""
GROUPS = {
    "cn=operators": Group("APP"),
    "cn=sensors": Group("APP", publish=["readings.>"], subscribe=["commands.>"]),
}


def entry(uid, password, *groups):
    return {
        "uid": uid,
        "userPassword": bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode(),
        "memberOf": list(groups),
    }


@pytest.fixture
def server():
    with ThreadedServer(load_text(CONFIG)) as running:
        yield running


def made_service():
    directory = Directory([entry("ann", "secret", "cn=all", "cn=operators"), entry("bob", "other", "cn=all")])
    tokens = OpenIdTokens("https://login", "nats", lambda _: SECRET, ["HS256"])
    return CalloutService([directory, tokens], GROUPS, ISSUER, XKEY)


def token(**changes):
    claims = {
        "iss": "https://login",
        "aud": "nats",
        "sub": "sensor-7",
        "exp": int(time.time()) + 60,
        "groups": ["cn=sensors"],
    }
    return jwt.encode(claims | changes, SECRET, algorithm="HS256")


async def attempt(url, **login):
    """Return a client, None if it is refused."""
    try:
        return await nats.connect(url, allow_reconnect=False, error_cb=quiet, **login)
    except nats.errors.Error:
        return None


async def quiet(_):
    pass


def run(server, scenario):
    async def main():
        auth = await nats.connect(server.url, user="auth", password="pwd")
        await made_service().start(auth)
        await auth.flush()
        await scenario()
        await auth.close()

    asyncio.run(main())


def test_users_of_the_directory(server):
    async def scenario():
        ann = await attempt(server.url, user="ann", password="secret")
        heard = await ann.subscribe("anything")
        await ann.publish("anything", b"hello")
        assert (await heard.next_msg(5)).data == b"hello"
        await ann.close()
        assert await attempt(server.url, user="ann", password="wrong") is None
        assert await attempt(server.url, user="nobody", password="secret") is None
        assert await attempt(server.url, user="bob", password="other") is None  # in no group of ours
        assert await attempt(server.url) is None

    run(server, scenario)


def test_tokens_of_the_login_service(server):
    async def scenario():
        ann = await attempt(server.url, user="ann", password="secret")
        readings = await ann.subscribe(">")
        await ann.flush()
        sensor = await attempt(server.url, token=token())
        await sensor.publish("elsewhere", b"denied")
        await sensor.publish("readings.7", b"20.5")
        assert (await readings.next_msg(5)).subject == "readings.7"
        await sensor.close()
        await ann.close()

    run(server, scenario)


@pytest.mark.parametrize(
    "bad",
    [
        token(aud="another service"),
        token(iss="https://elsewhere"),
        token(exp=1),
        jwt.encode({"sub": "sensor-7"}, SECRET, algorithm="HS256"),
        jwt.encode({"sub": "sensor-7"}, "x" * 32, algorithm="HS256"),
        jwt.encode({"sub": "sensor-7", "iss": "https://login", "aud": "nats"}, None, algorithm="none"),
        "no token at all",
    ],
    ids=["audience", "issuer", "expired", "claims", "key", "unsigned", "text"],
)
def test_tokens_that_are_no_good(server, bad):
    async def scenario():
        assert await attempt(server.url, token=bad) is None

    run(server, scenario)


def test_the_file_of_the_example(tmp_path):
    text = Path(__file__).with_name("callout.yaml").read_text("utf-8")
    for name, key in (("issuer", ISSUER), ("xkey", XKEY)):
        (tmp_path / f"{name}.nk").write_text(key.seed)
        text = text.replace(f"{name}.nk", str(tmp_path / f"{name}.nk"))
    (tmp_path / "callout.yaml").write_text(text)
    configured(tmp_path / "callout.yaml")
