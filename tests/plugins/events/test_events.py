"""`events` on both servers: advisories as sentences, JSON and CloudEvents; and events of any content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.terminal import Terminal
from pyjs.plugins.events.sentences import JETSTREAM, SENTENCES, sentence

SYSTEM = """
listen: "127.0.0.1:<client>"
accounts { SYS: { users: [{user: sys, password: x}] }, A: { users: [
    { user: ada, password: x }
    { user: mute, password: x, permissions: { publish: { deny: "$SYS.>" } } }
] } }
system_account: SYS
"""


@contextmanager
def listening(cli: Cli, *words: str, subjects: int) -> Iterator[Terminal]:
    """An `events` command that listens on so many subjects."""
    with cli.terminal(["events", *words]) as terminal:
        while terminal.errors().count("Listening for") < subjects:
            assert terminal.process.poll() is None, terminal.errors()
            terminal.read(0.02)
        yield terminal


def shown(terminal: Terminal, text: str) -> str:
    """What the terminal shows, once it shows `text`."""
    for _ in range(400):
        lines = "\n".join(terminal.lines())
        if text in lines:
            return lines
        terminal.read(0.05)
    raise AssertionError("\n".join(terminal.lines()) + terminal.errors())


def test_advisories_are_sentences(cli: Cli, unique: str) -> None:
    words = ("--js-advisory", "--no-srv-advisory", "--short", "--filter", f'"stream":"{unique}"')
    with listening(cli, *words, subjects=1) as terminal:
        cli.ok("stream", "add", unique, "--subjects", unique, "--defaults", "--storage", "memory")
        cli.ok("consumer", "add", unique, "C", "--pull", "--defaults")
        cli.ok("pub", unique, "hello", "-q")
        cli.ok("consumer", "next", unique, "C", "--nak")
        cli.ok("consumer", "next", unique, "C", "--term")
        cli.ok("stream", "rm", unique, "--force")
        lines = shown(terminal, f"stream {unique} was deleted")
        assert f" stream {unique} was created" in lines
        assert f" consumer {unique} > C was created" in lines
        assert (
            f" message 1 of stream {unique} was rejected on consumer {unique} > C after 1 delivery;" in lines
        )
        assert f" message 1 of stream {unique} was terminated on consumer {unique} > C after 2 deliv" in lines
        terminal.type("\x03")
        assert terminal.finish() == 130


@pytest.mark.parametrize("form", ["--json", "--cloudevent", ""])
def test_other_forms(cli: Cli, unique: str, form: str) -> None:
    words = ("--js-advisory", "--filter", f"{unique}.*create", *([form] if form else []))
    with listening(cli, *words, subjects=4) as terminal:
        cli.ok("stream", "add", unique, "--subjects", unique, "--defaults", "--storage", "memory")
        lines = shown(terminal, unique)
        cli.ok("stream", "rm", unique, "--force")
    if not form:
        assert f"] Stream {unique} was created\n" in lines
        assert f"  Event: $JS.EVENT.ADVISORY.STREAM.CREATED.{unique}\n" in lines
        assert "  Action: create" in lines
        return
    assert '"io.nats.jetstream.advisory.v1.stream_action"' in lines.replace(" ", "").replace("\n", "")
    if form == "--cloudevent":
        for field in ('"specversion": "1.0"', '"source": "urn:nats:jetstream"', '"subject": "advisory"'):
            assert field in lines


def test_a_stream_of_events(cli: Cli, unique: str) -> None:
    kept = {
        "type": JETSTREAM + "max_deliver",
        "stream": "S",
        "consumer": "C",
        "stream_seq": 7,
        "deliveries": 3,
    }
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>", "--defaults", "--storage", "memory")
    cli.ok("pub", f"{unique}.a", json.dumps(kept), "-q", "--no-templates")
    cli.ok("pub", f"{unique}.b", "no event", "-q")
    with listening(cli, "--stream", unique, "--since", "1h", "--short", subjects=1) as terminal:
        shown(terminal, "consumer S > C gave up on message 7 of stream S after 3 deliveries")
        while "this is no event" not in terminal.errors():
            terminal.read(0.05)
        assert f"on subject {unique}.b: no event" in terminal.errors()
    cli.ok("stream", "rm", unique, "--force")


@pytest.mark.parametrize(
    ("user", "flags", "subjects", "unseen"),
    [
        ("ada", (), 3, True),
        ("ada", ("--all",), 5, True),
        ("mute", (), 3, True),
        ("ada", ("--no-srv-advisory", "--js-advisory"), 1, False),
        ("sys", (), 3, False),
    ],
)
def test_who_will_not_see_events_of_servers_is_told(
    serve: Callable[[str], ServerProcess],
    tmp_path: Path,
    user: str,
    flags: tuple[str, ...],
    subjects: int,
    unseen: bool,
) -> None:
    url = serve(SYSTEM).url
    cli = Cli(tmp_path, "--server", url, "--user", user, "--password", "x", "--timeout", "500ms")
    with listening(cli, *flags, "--subjects", "told", subjects=subjects + 1) as terminal:
        if unseen:
            eventually(lambda: terminal.read(0.02) or "it will not see who connects" in terminal.errors())
        else:
            cli.ok("pub", "told", "the end", "-q")
            while "this is no event" not in terminal.errors():
                terminal.read(0.02)
            assert "will not see" not in terminal.errors()


def test_events_of_servers(serve: Callable[[str], ServerProcess], tmp_path: Path, unique: str) -> None:
    server = serve(SYSTEM)
    system = Cli(tmp_path, "--server", server.url, "--user", "sys", "--password", "x")
    with listening(system, "--short", "--subjects", unique, subjects=4) as terminal:
        ada = system.with_flags("--server", server.url, "--user", "ada", "--password", "x")
        ada.ok("pub", "a", "b", "-q")
        lines = shown(terminal, "disconnected from server")
        assert "in account A connected to server" in lines
        assert ada.run("pub", "a", "b", "--password", "wrong").code == 4
        shown(terminal, "Authentication")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--no-srv-advisory",), "no events were chosen"),
        (("--stream", "S", "--all"), "--stream goes with no other choice"),
        (("--filter", "("), "--filter is not a regular expression"),
    ],
)
def test_mistakes(cli: Cli, words: tuple[str, ...], said: str) -> None:
    result = cli.run("events", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        "client",
        "server",
        "stream",
        "replicas",
        "deliveries",
        "sent",
        "received",
        "ack_time",
        "bytes",
        "action",
    ]
)


@given(kind=st.sampled_from(sorted(SENTENCES)), fields=st.dictionaries(NAMES, VALUES))
def test_any_content_makes_a_sentence(kind: str, fields: dict[str, object]) -> None:
    for name in (kind, JETSTREAM + kind):
        assert sentence({**fields, "type": name})


def test_an_unknown_kind() -> None:
    assert sentence({"type": "io.example.v1.thing"}) == "Event of the kind io.example.v1.thing"
