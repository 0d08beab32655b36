"""Which subscriptions get a message: wildcards, UNSUB and its maximum, queue groups, echo, no responders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from lib.process import ServerProcess
from lib.wire import Msg

CONFIG = "listen: 127.0.0.1:<client>\nserver_name: S\n"


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.mark.parametrize(
    ("pattern", "subject", "hears"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.B", False),
        ("a.b", "a", False),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.*", "a", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        ("*.b.*", "a.b.c", True),
        (">", "a.b.c", True),
        ("*", "a", True),
        ("*.*", "a", False),
        ("a.*.>", "a.b", False),
        ("a.*.>", "a.b.c.d", True),
    ],
)
def test_a_pattern_hears_what_it_matches(
    server: ServerProcess, unique: str, pattern: str, subject: str, hears: bool
) -> None:
    with server.connect() as wire:
        wire.sub(f"{unique}.{pattern}")
        wire.pub(f"{unique}.{subject}", "x")
        assert len(wire.sync()) == int(hears)


def test_a_subscription_made_later_is_heard_though_the_subject_was_used_before(
    server: ServerProcess, unique: str
) -> None:
    with server.connect() as wire:
        wire.pub(f"{unique}.a", "lost")
        assert wire.sync() == []
        wire.sub(f"{unique}.*", "1")
        wire.pub(f"{unique}.a", "one")
        wire.sub(f"{unique}.>", "2")
        wire.pub(f"{unique}.a", "two")
        wire.send("UNSUB 1\r\n")
        wire.pub(f"{unique}.a", "three")
        got = [(m.sid, m.body) for m in wire.sync() if isinstance(m, Msg)]
    assert Counter(got) == Counter([("1", b"one"), ("1", b"two"), ("2", b"two"), ("2", b"three")])


def test_two_subscriptions_of_one_client_both_hear(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique, "a")
        wire.sub(unique, "b")
        wire.pub(unique, "x")
        assert {m.sid for m in wire.msgs(2)} == {"a", "b"}
        assert wire.sync() == []


def test_the_first_of_equal_sids_stays(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(f"{unique}.one", "1")
        wire.sub(f"{unique}.two", "1")
        wire.pub(f"{unique}.one", "x")
        wire.pub(f"{unique}.two", "y")
        assert [m.body for m in wire.sync() if isinstance(m, Msg)] == [b"x"]


def test_unsub_ends_delivery(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.pub(unique, "1")
        wire.send("UNSUB 1\r\n")
        wire.pub(unique, "2")
        assert [m.body for m in wire.sync() if isinstance(m, Msg)] == [b"1"]


def test_unsub_of_an_unknown_sid_is_ignored(server: ServerProcess) -> None:
    with server.connect() as wire:
        wire.send("UNSUB 77\r\n")
        assert wire.sync() == []


def test_unsub_with_a_maximum_ends_after_that_many(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.send("UNSUB 1 3\r\n")
        for _ in range(5):
            wire.pub(unique, "x")
        assert len(wire.sync()) == 3


def test_a_maximum_counts_what_was_delivered_before(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        for _ in range(2):
            wire.pub(unique, "x")
        wire.send("UNSUB 1 3\r\n")
        for _ in range(5):
            wire.pub(unique, "x")
        assert len(wire.sync()) == 3


def test_a_maximum_already_reached_ends_at_once(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        for _ in range(3):
            wire.pub(unique, "x")
        wire.send("UNSUB 1 2\r\n")
        wire.pub(unique, "x")
        assert len(wire.sync()) == 3


def test_a_maximum_can_be_raised(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.send("UNSUB 1 1\r\nUNSUB 1 3\r\n")
        for _ in range(5):
            wire.pub(unique, "x")
        assert len(wire.sync()) == 3


def test_a_queue_group_gives_each_message_to_one_member(server: ServerProcess, unique: str) -> None:
    with server.connect() as one, server.connect() as two, server.connect() as sender:
        for wire in (one, two):
            wire.sub(unique, "1", "workers")
            wire.sync()
        for _ in range(200):
            sender.pub(unique, "x")
        sender.sync()
        counts = [len(one.sync()), len(two.sync())]
    assert sum(counts) == 200
    assert min(counts) > 40


def test_groups_and_plain_subscribers_each_get_theirs(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique, "p")
        wire.sub(unique, "a1", "a")
        wire.sub(unique, "a2", "a")
        wire.sub(f"{unique}", "b1", "b")
        wire.pub(unique, "x")
        sids = sorted(m.sid[0] for m in wire.sync() if isinstance(m, Msg))
    assert sids == ["a", "b", "p"]


def test_one_group_over_different_patterns_is_one_group_per_pattern(
    server: ServerProcess, unique: str
) -> None:
    with server.connect() as wire:
        wire.sub(f"{unique}.a", "1", "q")
        wire.sub(f"{unique}.*", "2", "q")
        for _ in range(100):
            wire.pub(f"{unique}.a", "x")
        got = wire.sync()
    assert len(got) == 100


def test_a_queue_member_with_a_maximum_leaves_its_group(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(unique, "1", "q")
        wire.sub(unique, "2", "q")
        wire.send("UNSUB 1 5\r\n")
        for _ in range(100):
            wire.pub(unique, "x")
        counts = Counter(m.sid for m in wire.sync() if isinstance(m, Msg))
    assert counts["1"] == 5
    assert counts["2"] == 95


def test_a_closed_member_gets_nothing_more(server: ServerProcess, unique: str) -> None:
    with server.connect() as stays, server.connect() as sender:
        stays.sub(unique, "1", "q")
        stays.sync()
        with server.connect() as goes:
            goes.sub(unique, "1", "q")
            goes.send("UNSUB 1\r\n")
            goes.sync()
        for _ in range(20):
            sender.pub(unique, "x")
        sender.sync()
        assert len(stays.sync()) == 20


def test_echo_off_hears_others_only(server: ServerProcess, unique: str) -> None:
    with server.connect(echo=False) as quiet, server.connect() as other:
        quiet.sub(unique)
        quiet.pub(unique, "own")
        assert quiet.sync() == []
        other.pub(unique, "other")
        assert quiet.msg().body == b"other"


def test_echo_off_in_a_queue_group_leaves_it_to_others(server: ServerProcess, unique: str) -> None:
    with server.connect(echo=False) as quiet, server.connect() as other:
        quiet.sub(unique, "1", "q")
        other.sub(unique, "1", "q")
        quiet.sync()
        other.sync()
        for _ in range(20):
            quiet.pub(unique, "x")
        assert quiet.sync() == []
        assert len(other.sync()) == 20


def test_no_responders_is_reported_with_a_status(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        answer = wire.request(f"{unique}.nobody", "x")
    subject = f"{unique}.nobody".encode()
    assert answer.header == b"NATS/1.0 503\r\nNats-Subject: " + subject + b"\r\n\r\n"
    assert answer.body == b""
    assert answer.reply == ""


def test_no_responders_is_sent_only_to_those_who_asked_for_it(server: ServerProcess, unique: str) -> None:
    with server.connect(no_responders=False) as wire:
        wire.sub(f"{unique}.r")
        wire.pub(f"{unique}.nobody", "x", f"{unique}.r")
        assert wire.sync() == []


def test_no_responders_needs_a_subscription_for_the_reply(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.pub(f"{unique}.nobody", "x", f"{unique}.r")
        assert wire.sync() == []


def test_no_responders_is_not_told_to_a_queue_group(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.sub(f"{unique}.r", "1", "workers")
        wire.pub(f"{unique}.nobody", "x", f"{unique}.r")
        assert wire.sync() == []
        wire.sub(f"{unique}.*", "2")
        wire.pub(f"{unique}.nobody.else", "x", f"{unique}.r")
        (told,) = wire.sync()
        assert isinstance(told, Msg) and told.sid == "2"


def test_a_responder_answers_a_request(server: ServerProcess, unique: str) -> None:
    with server.connect() as asks, server.connect() as answers:
        answers.sub(unique)
        answers.sync()
        reply = asks.inbox()
        asks.pub(unique, "question", reply)
        asked = answers.msg()
        assert asked.reply == reply
        answers.pub(asked.reply, "answer")
        assert asks.answer(reply).body == b"answer"


@pytest.mark.parametrize("reply", ["_R_.abc", "$JS.ACK.a.b", "_GR_.a.b"])
def test_reserved_replies_are_refused(server: ServerProcess, unique: str, reply: str) -> None:
    with server.connect() as wire:
        wire.sub(unique)
        wire.pub(unique, "x", reply)
        assert wire.sync() == [f"-ERR 'Permissions Violation for Publish with Reply of \"{reply}\"'".encode()]


@pytest.mark.parametrize("subject", ["$GR.a.b", "_GR_.a.b", "$NRG.x"])
def test_reserved_subjects_are_refused(server: ServerProcess, subject: str) -> None:
    with server.connect() as wire:
        wire.pub(subject, "x")
        assert wire.sync() == [f"-ERR 'Permissions Violation for Publish to \"{subject}\"'".encode()]


def test_a_thousand_subscriptions_each_hear_their_own(server: ServerProcess, unique: str) -> None:
    with server.connect() as wire:
        wire.send("".join(f"SUB {unique}.{i} {i}\r\n" for i in range(1000)))
        wire.send("".join(f"PUB {unique}.{i} 0\r\n\r\n" for i in range(1000)))
        assert [m.sid for m in wire.msgs(1000)] == [str(i) for i in range(1000)]
        assert wire.sync() == []


def test_slow_reader_gets_everything_in_order(server: ServerProcess, unique: str) -> None:
    body = "y" * 1000
    with server.connect() as reader, server.connect() as sender:
        reader.sub(unique)
        reader.sync()
        for _ in range(20):
            sender.send("".join(f"PUB {unique} 1000\r\n{body}\r\n" for _ in range(200)))
        sender.sync()
        assert all(len(m.body) == 1000 for m in reader.msgs(4000))
