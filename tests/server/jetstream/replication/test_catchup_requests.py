"""Which replica is asked for what is missing: the best first, then each in turn until one can help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lib.fake_clock import FakeClock
from pyjs.server.jetstream.catchup_budget import CatchupBudget
from pyjs.server.jetstream.replication.catchup import AGAIN, CatchupRequests, CatchupSenderError


class FakeTransport:
    """A transport that keeps what is sent: (node, message)."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []
        self.receive: Callable[[str, bytes], None] = lambda node, message: None

    def subscribe_application(self, group: str, receive: Callable[[str, bytes], None]) -> None:
        del group
        self.receive = receive

    def send_application(self, group: str, node: str, message: bytes) -> None:
        del group
        self.sent.append((node, message))

    def taken(self) -> list[tuple[str, bytes]]:
        found, self.sent = self.sent, []
        return found


def refuse(question: bytes) -> bytes:
    raise CatchupSenderError("this replica is not current")


def fixture(
    *peers: str, answer: Callable[[bytes], bytes] = refuse
) -> tuple[CatchupRequests, FakeTransport, list[bytes]]:
    transport, answers = FakeTransport(), list[bytes]()
    fake: Any = transport
    catch_up = CatchupRequests(
        "G",
        fake,
        answer,
        answers.append,
        lambda: list(peers),
        lambda: True,
        CatchupBudget(FakeClock()),
    )
    catch_up.start()
    return catch_up, transport, answers


def test_who_does_not_answer_is_followed_by_the_next() -> None:
    catch_up, transport, answers = fixture("a", "b")
    catch_up.ask(b"1")
    assert transport.taken() == [("a", b"?1")]
    for _ in range(AGAIN):
        catch_up.tick()
    assert transport.taken() == [("b", b"?1")]
    transport.receive("a", b"!late")
    assert answers == []
    transport.receive("b", b"!there")
    assert answers == [b"there"]
    catch_up.ask(b"2")
    assert transport.taken() == [("b", b"?2")]


def test_who_has_too_little_is_followed_by_the_next_in_a_moment() -> None:
    catch_up, transport, answers = fixture("a", "b")
    catch_up.ask(b"1")
    transport.taken()
    transport.receive("a", b"!old")
    catch_up.ask(b"2", another=True)
    assert (answers, transport.taken()) == ([b"old"], [])
    catch_up.tick()
    assert transport.taken() == [("b", b"?2")]
    assert not catch_up.hopeless  # who has too little now may have enough later


def test_who_cannot_help_says_so_and_when_all_do_there_is_no_hope() -> None:
    catch_up, transport, _ = fixture("a", "b")
    catch_up.ask(b"1")
    transport.taken()
    transport.receive("a", b"-no")
    catch_up.tick()
    assert transport.taken() == [("b", b"?1")]
    assert not catch_up.hopeless
    transport.receive("b", b"-no")
    assert catch_up.hopeless
    transport.receive("c", b"?1")
    assert transport.taken() == [("c", b"-this replica is not current")]
