"""Messages are taken from consumers: `consumer next` and `consumer sub`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess

REFUSING = """
listen: "127.0.0.1:<client>"
server_name: refusing
jetstream { store_dir: "<store>" }
accounts { SHOP: { jetstream: enabled, users: [
    { user: free, password: free }
    { user: mute, password: mute, permissions: { publish: { deny: "$JS.ACK.>" } } }
] } }
"""


@pytest.fixture
def pull(cli: Cli, stream: str) -> str:
    """A pull consumer called `C`."""
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    return "C"


def state(cli: Cli, stream: str, name: str = "C") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.ok("consumer", "info", stream, name, "--json"))
    return found


def test_a_message_is_shown_as_in_the_documents_and_acknowledged(cli: Cli, stream: str, pull: str) -> None:
    out = cli.ok("consumer", "next", stream, pull)
    heading, _, rest = out.partition("\n")
    assert re.fullmatch(
        rf"\[\d\d:\d\d:\d\d\] subj: {stream}\.a / tries: 1 / cons seq: 1 / str seq: 1 / pending: 2", heading
    )
    assert rest == "\none\n\nAcknowledged message\n\n"
    assert state(cli, stream)["ack_floor"]["stream_seq"] == 1


def test_headers_are_shown_above_the_body(cli: Cli, stream: str, pull: str) -> None:
    cli.ok("stream", "purge", stream, "-f")
    cli.ok("pub", f"{stream}.a", "body", "-J", "-q", "-H", "Kind: test")
    out = cli.ok("consumer", "next", stream, pull)
    assert out.partition("\n")[2] == (
        "\nHeaders:\n\n  Kind: test\n\nData:\n\n\nbody\n\nAcknowledged message\n\n"
    )


@pytest.mark.parametrize(
    ("flags", "said", "pending", "redelivered"),
    [
        (["--no-ack"], "", 1, 0),
        (["--nak"], "Negative Acknowledged message", 1, 0),
        (["--term"], "Terminated message", 0, 0),
        (["--wait", "2ms"], "Acknowledged message", 0, 0),
    ],
)
def test_ways_to_answer(
    cli: Cli, stream: str, pull: str, flags: list[str], said: str, pending: int, redelivered: int
) -> None:
    out = cli.ok("consumer", "next", stream, pull, *flags)
    assert said in out
    assert ("cknowledged" in out or "Terminated" in out) is bool(said)
    eventually(lambda: state(cli, stream)["num_ack_pending"] == pending)
    assert state(cli, stream)["num_redelivered"] == redelivered


def test_one_way_to_answer_only(cli: Cli, stream: str, pull: str) -> None:
    assert "one way only" in cli.run("consumer", "next", stream, pull, "--nak", "--term").err
    assert "one way only" in cli.run("consumer", "next", stream, pull, "--ack", "--nak").err
    assert state(cli, stream)["delivered"]["consumer_seq"] == 0


def test_several_are_fetched_one_by_one(cli: Cli, stream: str, pull: str) -> None:
    assert cli.ok("consumer", "next", stream, pull, "--raw", "--count", "3") == "one\ntwo\nthree\n"


def test_nothing_there_is_an_error_that_says_so(cli: Cli, stream: str, pull: str) -> None:
    cli.ok("stream", "purge", stream, "-f")
    began = time.monotonic()
    nothing = cli.run("consumer", "next", stream, pull, "--timeout", "200ms")
    assert nothing.code == 6
    assert "no message received: nats: timeout" in nothing.err
    assert f"Consumer {stream} > C has no unprocessed messages" in nothing.err
    assert time.monotonic() - began < 5


def test_why_nothing_comes_is_found_out(cli: Cli, stream: str, pull: str) -> None:
    cli.ok("consumer", "add", stream, "push", "--target", f"to.{stream}", "--defaults")
    pushing = cli.run("consumer", "next", stream, "push", "--timeout", "500ms")
    assert pushing.code == 1
    assert 'consumer "push" is not a Pull consumer' in pushing.err
    unknown = cli.run("consumer", "next", stream, "CC", "--timeout", "500ms")
    assert unknown.code == 3
    assert "consumer not found (10014)" in unknown.err
    assert "did you mean C?" in unknown.err
    nowhere = cli.run("consumer", "next", stream, pull, "--js-domain", "nowhere", "--timeout", "500ms")
    assert nowhere.code == 6
    assert "no responders" in nowhere.err


def test_sub_takes_one_message_from_a_pull_consumer(cli: Cli, stream: str, pull: str) -> None:
    assert "\none\n\nAcknowledged message\n" in cli.ok("consumer", "sub", stream, pull)
    assert cli.ok("consumer", "sub", stream, pull, "--raw", "--no-ack") == "two\n"
    assert state(cli, stream)["num_ack_pending"] == 1


def test_sub_listens_to_a_push_consumer_until_ctrl_c(cli: Cli, stream: str) -> None:
    flags = f"--target to.{stream} --defaults --ack explicit --heartbeat 1s --flow-control"
    cli.ok("consumer", "add", stream, "push", *flags.split())
    with cli.terminal(["consumer", "sub", stream, "push"]) as terminal:
        while "three" not in terminal.lines():
            assert terminal.read(40)
        eventually(lambda: state(cli, stream, "push")["ack_floor"]["stream_seq"] == 3)
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().strip() == "pyjs: error: interrupt"
        shown = terminal.lines()
    assert shown[0] == f"Subscribing to topic to.{stream} auto acknowledgment: true"
    assert any(f"subj: {stream}.a / tries: 1 / cons seq: 2 / str seq: 2" in line for line in shown)


def test_a_refused_acknowledgement_is_no_success(
    serve: Callable[[str], ServerProcess], tmp_path: Path, unique: str
) -> None:
    url = serve(REFUSING).url
    sound = Cli(tmp_path, "--server", url, "--user", "free", "--password", "free")
    sound.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    sound.ok("consumer", "add", unique, "C", "--pull", "--wait", "50ms", "--defaults")
    sound.ok("pub", unique, "one", "-J", "-q")
    result = Cli(tmp_path, "--server", url, "--user", "mute", "--password", "mute").run(
        "consumer", "next", unique, "C"
    )
    assert result.code == 4
    assert "Acknowledged message" not in result.out
    # nats-py has the words in lower case; the subject is shown as it is.
    assert (
        f'not acknowledged: nats: permissions violation for publish to "$JS.ACK.{unique}.C.1.' in result.err
    )
    sound.ok("consumer", "next", unique, "C")  # to a user who may, it comes again


def test_messages_for_programs_are_acknowledged_when_they_are_shown(cli: Cli, stream: str, pull: str) -> None:
    done = cli.run("consumer", "next", stream, pull, "--count", "5", "--timeout", "300ms", "-o", "json")
    assert done.code == 6  # fewer came
    found = json.loads(done.out)
    assert [(each["seq"], each["subject"], each["data"], each["encoding"]) for each in found] == [
        (1, f"{stream}.a", "one", "text"),
        *((each["seq"], each["subject"], each["data"], "text") for each in found[1:]),
    ]
    assert [each["seq"] for each in found] == [1, 2, 3]
    assert state(cli, stream)["ack_floor"]["stream_seq"] == 3
    assert cli.run("consumer", "next", stream, pull, "--raw", "-o", "json").code == 2
