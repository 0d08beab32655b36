"""`pyjs bench kv put|get`: keys of a bucket."""

from __future__ import annotations

import random
from typing import Any

import click

from ...cli import output, words
from ...cli.command import Command, CommandGroup
from ...cli.errors import NotFoundError, RemoteError
from ...cli.proposal import in_hint
from ...protocol import headers
from ...protocol.wire import encode
from .benchmark import Benchmark, run
from .client import ClientRun, now
from .connection import STREAM_NOT_FOUND, Api
from .core import fits, throughput_facts
from .exchange import acknowledged, ask
from .sample import BenchmarkSample
from .settings import BUCKET, COMMON, PURGE, SLEEP, STORE, THROUGHPUT, BenchmarkSettings, decorate

API = "$JS.API"
MOST_HISTORY = 64
NOT_FOUND = 404
DELETED = (b"DEL", b"PURGE")  # values of KV-Operation
OPTIONS = (
    *COMMON,
    click.option("--bucket", default=BUCKET, show_default=True, help="Bucket to use."),
    SLEEP,
)


@click.group(cls=CommandGroup)
@decorate(OPTIONS)
def kv(**_given: Any) -> None:
    """Measure the keys of a bucket."""


def key_of(client: ClientRun, number: int) -> int:
    """Return the key of the client's message `number`."""
    most = client.settings.randomize
    return random.randrange(most) if most > 0 else number + client.plan.offset


class KeyClient:
    """A client that puts or gets keys.

    prefix: of the JetStream API.
    direct: the bucket allows direct gets.
    """

    def __init__(self, client: ClientRun, prefix: str, *, direct: bool) -> None:
        self.client = client
        self.connection = client.connection
        self.direct = direct
        self.bucket = client.settings.bucket
        self.prefix = prefix
        self.inbox = self.connection.new_inbox().encode()
        self.connection.subscribe(self.inbox.decode())

    def put(self) -> BenchmarkSample:
        """Put one key after the other, each when the one before is stored."""
        client, latencies = self.client, self.client.latencies
        value = bytes(client.settings.size)
        fits(len(value), self.connection.max_payload)
        # A bucket of another domain, or of an importing account, is written through the prefix of its API.
        lead = "" if self.prefix == API else f"{self.prefix}."
        subject = f"{lead}$KV.{self.bucket}."
        client.ready(staggered=True)
        for number in range(client.messages):
            key = f"{subject}{key_of(client, number)}"
            before = now()
            self.connection.send(encode.pub(key.encode(), self.inbox, b"", value))
            acknowledged(self.connection.take(), key)
            latencies.add(now() - before)
            client.advance(1)
            if client.paced:
                client.throttle(number + 1)
        return client.sample(client.messages * len(value))

    def get(self) -> BenchmarkSample:
        """Get one key after the other."""
        client = self.client
        client.ready()
        size = 0
        for number in range(client.messages):
            key = key_of(client, number)
            before = now()
            value = self._value(key)
            client.latencies.add(now() - before)
            size += len(value)
            if not value:
                client.notes = [f"the key {key} has an empty value"]
            client.advance(1)
            if client.paced:
                client.throttle(number + 1)
        return client.sample(size)

    def _value(self, key: int) -> bytes:
        subject, body = f"$KV.{self.bucket}.{key}", b""
        if self.direct:
            where = f"{self.prefix}.DIRECT.GET.KV_{self.bucket}.{subject}"
        else:
            where = f"{self.prefix}.STREAM.MSG.GET.KV_{self.bucket}"
            body = b'{"last_by_subj":"%b"}' % subject.encode()
        header, payload = ask(self.connection, encode.pub(where.encode(), self.inbox, b"", body), where)
        code, _ = headers.status(header)
        if not self.direct:
            return _stored_value(payload, key)
        if code == NOT_FOUND or headers.get(header, b"KV-Operation") in DELETED:
            raise _missing(key)
        return payload


def _stored_value(payload: bytes, key: int) -> bytes:
    """Return the value in an answer of the stream's leader."""
    import base64

    from .connection import checked

    try:
        message = checked(payload)["message"]
    except RemoteError as error:
        raise (_missing(key) if error.code == NOT_FOUND else error) from None
    assert isinstance(message, dict)
    block = base64.b64decode(message.get("hdrs") or "")
    if headers.get(block, b"KV-Operation") in DELETED:
        raise _missing(key)
    return base64.b64decode(message.get("data") or "")


def _missing(key: int) -> NotFoundError:
    return NotFoundError(
        f"getting key '{key}': nats: key not found", "'bench kv put' makes keys; see --randomize"
    )


@click.command("put", cls=Command)
@output.showing("benchmark")
@decorate(STORE)
@click.option(
    "--history", type=click.IntRange(1, MOST_HISTORY), default=1, show_default=True, help="Values kept."
)
@PURGE
@click.option(
    "--randomize", type=int, default=0, help="Choose keys below this number at random; 0: in order."
)
@decorate(THROUGHPUT)
@decorate(OPTIONS)
def put_command(**_given: Any) -> None:
    """Put keys, each when the one before is stored. The default bucket is created."""
    settings = BenchmarkSettings.given()
    facts: dict[str, object] = {
        "bucket": settings.bucket,
        "sleep": words.go_span(settings.sleep),
        "purge": settings.purge,
    }
    prefix = API

    def work(client: ClientRun) -> BenchmarkSample:
        return KeyClient(client, prefix, direct=True).put()

    def prepare(api: Api) -> None:
        nonlocal prefix
        prefix = api.prefix
        if settings.purge:
            _purge(api, settings)
        if settings.bucket == BUCKET:
            _create(api, settings)
        bucket(api, settings)

    benchmark = Benchmark("JetStream KV putter", "putting {} messages", work, sends=True, operation="one put")
    run(benchmark, settings, facts | throughput_facts(settings), prepare)


def bucket(api: Api, settings: BenchmarkSettings) -> dict[str, object]:
    """Return the information of the bucket's stream. Raises RemoteError."""
    try:
        return api.request(f"STREAM.INFO.KV_{settings.bucket}")
    except RemoteError as error:
        hint = (
            f"{in_hint(f'kv add {settings.bucket}')} makes it" if error.err_code == STREAM_NOT_FOUND else ""
        )
        raise error.while_doing(f"could not load the bucket {settings.bucket}", hint) from None


def _purge(api: Api, settings: BenchmarkSettings) -> None:
    """Remove all keys. The default bucket is made again, so that the flags of this run hold."""
    verb = "DELETE" if settings.bucket == BUCKET else "PURGE"
    try:
        api.request(f"STREAM.{verb}.KV_{settings.bucket}")
    except RemoteError as error:
        if error.err_code != STREAM_NOT_FOUND:
            raise


def _create(api: Api, settings: BenchmarkSettings) -> None:
    config = {
        "name": f"KV_{settings.bucket}",
        "description": "pyjs bench bucket",
        "subjects": [f"$KV.{settings.bucket}.>"],
        "retention": "limits",
        "discard": "new",
        "storage": settings.storage,
        "num_replicas": settings.replicas,
        "max_msgs_per_subject": settings.history,
        "max_bytes": settings.max_bytes,
        "max_msgs": -1,
        "max_age": 0,
        "max_msg_size": -1,
        "max_consumers": -1,
        "duplicate_window": 120_000_000_000,
        "deny_delete": True,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    }
    try:
        api.request(f"STREAM.CREATE.KV_{settings.bucket}", config)
    except RemoteError as error:
        raise error.while_doing(
            f"could not create the bucket {settings.bucket}",
            "the one of an earlier run has other settings: --purge makes it anew",
        ) from None


@click.command("get", cls=Command)
@output.showing("benchmark")
@click.option(
    "--randomize", type=int, default=0, help="Choose keys below this number at random; 0: in order."
)
@decorate(OPTIONS)
def get_command(**_given: Any) -> None:
    """Get keys, one after the other. The clients divide them."""
    settings = BenchmarkSettings.given()
    facts: dict[str, object] = {
        "bucket": settings.bucket,
        "sleep": words.go_span(settings.sleep),
        "randomize": settings.randomize,
    }
    prefix, direct = API, True

    def work(client: ClientRun) -> BenchmarkSample:
        return KeyClient(client, prefix, direct=direct).get()

    def prepare(api: Api) -> None:
        nonlocal prefix, direct
        prefix = api.prefix
        config = bucket(api, settings)["config"]
        direct = isinstance(config, dict) and bool(config.get("allow_direct"))

    run(
        Benchmark("JetStream KV getter", "getting {} messages", work, sends=False, operation="one get"),
        settings,
        facts,
        prepare,
    )


kv.add_command(put_command)
kv.add_command(get_command)
