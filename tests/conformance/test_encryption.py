"""Encryption at rest: a server that gets a key, another one, a wrong one, and none."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.backups import load, save
from lib.jetstream import ALONE, JetStream
from lib.pool import Pool
from lib.process import ServerProcess

BASE = 'listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<monitor>\njetstream {{ store_dir: "<store>"\n {} }}\n'
SECRET = b"the secret of the message"
Launch = Callable[[str], ServerProcess]


def fill(js: JetStream) -> None:
    js.create("S", subjects=["secrets.*"], storage="file", description="a secret description")
    js.consumer("S", "C")
    for number in range(30):
        js.publish(f"secrets.{number % 3}", SECRET + b" %d" % number, {"Kind": "secret header"})
    js.call("STREAM.MSG.DELETE.S", {"seq": 7})
    for message in js.pull("S", "C", 5)[0]:
        js.ack(message)


def contents(js: JetStream) -> dict[str, Any]:
    info = js.info("S", deleted_details=True)
    messages = [js.get("S", seq=seq) for seq in range(1, 31) if seq != 7]
    return {
        "state": info["state"],
        "config": info["config"],
        "created": info["created"],
        "messages": messages,
    }


def files(server: ServerProcess) -> dict[Path, bytes]:
    """The stored files, but for the lock, which has the process id."""
    return {
        path: path.read_bytes()
        for path in (server.directory / "store").rglob("*")
        if path.is_file() and path.name != "lock"
    }


def relaunch(server: ServerProcess, options: str) -> None:
    server.end()
    server.configure(BASE.format(options))
    server.launch()


@pytest.mark.parametrize("cipher", ["", "cipher: aes", "cipher: chachapoly"])
def test_what_is_stored_is_served_again_and_is_nowhere_in_the_clear(launch: Launch, cipher: str) -> None:
    server = launch(BASE.format(f"key: one\n {cipher}"))
    with JetStream.of(server) as js:
        fill(js)
        before = contents(js)
    server.restart()
    with JetStream.of(server) as js:
        assert contents(js) == before
        assert js.consumer_info("S", "C")["ack_floor"]["stream_seq"] == 5
        js.publish("secrets.1", SECRET + b" later")
    server.crash()
    server.launch()
    with JetStream.of(server) as js:
        assert b64decode(js.get("S", seq=31)["data"]) == SECRET + b" later"
        assert contents(js)["messages"] == before["messages"]
    server.end()
    assert not [path for path, data in files(server).items() if b"secret" in data]


def test_a_stream_whose_syncs_may_wait_is_encrypted_too(launch: Launch, implementation: str) -> None:
    server = launch(BASE.format("key: one"))
    with JetStream.of(server) as js:
        js.create("A", subjects=["secrets"], storage="file", persist_mode="async")
        js.publish("secrets", SECRET)
    server.restart()
    with JetStream.of(server) as js:
        assert b64decode(js.get("A", seq=1)["data"]) == SECRET
    server.end()
    stored = files(server)
    assert any("/A/" in str(path) for path in stored) or implementation == "reference"
    assert not [path for path, data in stored.items() if b"secret" in data]


def test_a_store_in_the_clear_is_encrypted_at_the_next_start(launch: Launch) -> None:
    server = launch(BASE.format(""))
    with JetStream.of(server) as js:
        fill(js)
        before = contents(js)
    relaunch(server, "key: one")
    with JetStream.of(server) as js:
        assert contents(js) == before
        assert [message.reply.split(".")[5] for message in js.pull("S", "C", 1)[0]] == ["6"]
    server.end()
    assert not [path for path, data in files(server).items() if SECRET in data or b"description" in data]


def test_the_key_is_exchanged_with_the_help_of_the_former_one(launch: Launch, implementation: str) -> None:
    server = launch(BASE.format("key: one"))
    with JetStream.of(server) as js:
        fill(js)
        before = contents(js)
    for options in ("key: two\n prev_key: one", "key: two", "key: two\n cipher: aes"):
        relaunch(server, options)
        with JetStream.of(server) as js:
            after = contents(js)
        if implementation == "reference":  # it loses the consumer, and forgets when the stream was made
            assert (after["messages"], after["config"]) == (before["messages"], before["config"])
        else:
            assert after == before


@pytest.mark.parametrize("options", ["key: another", "", "prev_key: one"])
def test_with_a_wrong_key_or_none_nothing_is_served_and_nothing_changes(
    launch: Launch, implementation: str, options: str
) -> None:
    """pyjs does not start. The reference starts without the streams."""
    server = launch(BASE.format("key: one"))
    with JetStream.of(server) as js:
        fill(js)
        before = contents(js)
    server.end()
    stored = files(server)
    server.configure(BASE.format(options))
    if implementation == "reference":
        server.launch()
        with JetStream.of(server) as js:
            assert not js.call("STREAM.NAMES")["streams"]
        server.end()
    else:
        with pytest.raises(RuntimeError, match="encrypted"):
            server.launch()
        assert files(server) == stored
    server.configure(BASE.format("key: one"))
    server.launch()
    with JetStream.of(server) as js:
        assert contents(js) == before


def test_a_backup_is_in_the_clear_and_comes_back_elsewhere(launch: Launch, pool: Pool, unique: str) -> None:
    server = launch(BASE.format("key: one"))
    with JetStream.of(server) as js, JetStream.of(pool.get("pyjs", ALONE)) as other:
        js.create(unique, subjects=[unique], storage="file")
        for number in range(10):
            js.publish(unique, SECRET + b" %d" % number)
        load(other, unique, save(js, unique))
        assert other.state(unique)["messages"] == 10
        assert other.get(unique, seq=10)["data"] == js.get(unique, seq=10)["data"]
        load(js, "BACK", save(other, unique), name="BACK", subjects=["back"])
        assert js.state("BACK")["bytes"] == js.state(unique)["bytes"]


def test_a_key_that_is_empty_as_a_variable_may_be_encrypts_nothing(
    launch: Launch, implementation: str
) -> None:
    """pyjs does not start; the reference does, and writes in the clear."""
    server = launch(BASE.format("key: one"))
    server.end()
    server.configure(BASE.format('key: ""'))
    if implementation == "reference":
        server.launch()
    else:
        with pytest.raises(RuntimeError, match="key is empty"):
            server.launch()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("key: one\n cipher: rot13", "cipher"),
        ('tpm { keys_file: "<store>.tpm" }', "TPM functionality is not supported on this platform"),
    ],
)
def test_what_it_cannot_encrypt_with_keeps_it_from_starting(launch: Launch, options: str, said: str) -> None:
    server = launch(BASE.format("key: one"))
    server.end()
    server.configure(BASE.format(options))
    with pytest.raises(RuntimeError, match=said):
        server.launch()
