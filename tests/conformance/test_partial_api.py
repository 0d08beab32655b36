"""An account without JetStream that imports some of another account's API."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
accounts {
  OWNER {
    users: [{ user: owner, password: p }]
    jetstream: enabled
    exports: [{ service: "$JS.API.>", response_type: stream }]
  }
  WITH_INFO {
    users: [{ user: with_info, password: p }]
    imports: [
      { service: { account: OWNER, subject: "$JS.API.INFO" } }
      { service: { account: OWNER, subject: "$JS.API.CONSUMER.>" } }
    ]
  }
  PLAIN { users: [{ user: plain, password: p }] }
  WITHOUT_INFO {
    users: [{ user: without_info, password: p }]
    imports: [{ service: { account: OWNER, subject: "$JS.API.CONSUMER.>" } }]
  }
  ALL {
    users: [{ user: all, password: p }]
    imports: [{ service: { account: OWNER, subject: "$JS.API.>" } }]
  }
}
"""
NOT_ENABLED, NOT_FOUND, NOTHING = 10039, 10059, "503"
IMPORT_OF_INFO = '{ service: { account: OWNER, subject: "$JS.API.INFO" } }'


def answers(js: JetStream, suffix: str, count: int = 1) -> set[object]:
    """What all that answer say, `count` of them: error codes, the type of what is no error, 503."""
    js.wire.pub(f"$JS.API.{suffix}", b"", js.wire.inbox())
    frames = js.wire.sync()
    while len(frames) < count:
        frames.append(js.wire.msg())
    frames += js.wire.sync()
    found: set[object] = set()
    for message in frames:
        assert isinstance(message, Msg)
        if message.status:
            found.add(message.status)
            continue
        body = message.json()
        found.add(body["error"]["err_code"] if "error" in body else body["type"].rpartition(".")[2])
    return found


@pytest.mark.parametrize(
    ("user", "suffix", "expected"),
    [
        ("with_info", "INFO", {"account_info_response"}),
        ("with_info", "STREAM.NAMES", {NOTHING}),
        ("with_info", "STREAM.INFO.S", {NOTHING}),
        ("with_info", "CONSUMER.NAMES.S", {NOT_FOUND}),
        ("without_info", "INFO", {NOT_ENABLED}),
        ("without_info", "STREAM.NAMES", {NOT_ENABLED}),
        ("without_info", "CONSUMER.NAMES.S", {NOT_ENABLED, NOT_FOUND}),
        ("all", "INFO", {"account_info_response"}),
        ("all", "STREAM.NAMES", {"stream_names_response"}),
        ("all", "CONSUMER.NAMES.S", {NOT_FOUND}),
    ],
)
def test_an_importer_of_the_account_info_learns_nothing_else(
    serve: Callable[[str], ServerProcess], user: str, suffix: str, expected: set[object]
) -> None:
    with JetStream.of(serve(CONFIG), **{"user": user, "pass": "p"}) as js:
        assert answers(js, suffix, len(expected)) == expected


@pytest.mark.parametrize(
    ("suffix", "lists"),
    [
        ("STREAM.NAMES", {"streams": None}),
        ("STREAM.LIST", {"streams": []}),
        ("CONSUMER.NAMES.S", {"consumers": []}),
        ("CONSUMER.LIST.S", {"consumers": []}),
        ("STREAM.INFO.S", {}),
    ],
)
def test_refused_lists_have_the_fields_of_lists(
    serve: Callable[[str], ServerProcess], suffix: str, lists: dict[str, object]
) -> None:
    with JetStream.of(serve(CONFIG), **{"user": "plain", "pass": "p"}) as js:
        answer = js.wire.request(f"$JS.API.{suffix}").json()
    assert (answer.pop("error")["err_code"], answer.pop("type").partition("v1.")[0]) == (
        NOT_ENABLED,
        "io.nats.jetstream.api.",
    )
    assert answer == {"total": 0, "offset": 0, "limit": 0, **lists}


def test_a_reload_that_takes_the_import_away_brings_the_refusals_back(
    launch: Callable[[str], ServerProcess],
) -> None:
    server = launch(CONFIG)
    with JetStream.of(server, **{"user": "with_info", "pass": "p"}) as js:
        for config, expected in (
            (CONFIG.replace(IMPORT_OF_INFO, ""), {NOT_ENABLED}),
            (CONFIG, {NOTHING}),
        ):
            server.configure(config)
            server.signal(signal.SIGHUP)
            eventually(lambda expected=expected: answers(js, "STREAM.NAMES") == expected)  # type: ignore[misc]
