"""MessageSender: queues what `Account.publish` queues, whoever comes and goes, without plans for inboxes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.server.accounts import Account, ConnectionKind, Subscription
from pyjs.server.accounts.flusher import Flusher, OutboundQueue
from pyjs.server.accounts.subscription import MessageEndpoint
from pyjs.server.jetstream.consumers.delivery_state import DeliveryState
from pyjs.server.jetstream.consumers.message_selector import NumPending
from pyjs.server.jetstream.consumers.sender import MessageSender
from pyjs.store.memory import MemoryStream
from pyjs.store.message import StoredMessage

PREFIX = "$JS.ACK.S.C."
PATTERNS = ("_I.a.*", "_I.a.1", "_I.>", ">", "push")
SUBJECTS = ("_I.a.1", "_I.a.2", "push")


class Client(OutboundQueue, MessageEndpoint):
    """A connection that keeps what it is sent."""

    kind = ConnectionKind.CLIENT
    fast = True

    def __init__(self, flusher: Flusher) -> None:
        super().__init__(flusher)
        self.headers = True
        self.outbound = self


class AccountWithClients:
    """An account, two clients, and their subscriptions."""

    def __init__(self) -> None:
        self.account = Account("A", Flusher(FakeClock()))
        self.clients = [Client(self.account.flusher) for _ in range(2)]
        self.present: list[Subscription] = []

    def change(self, pattern: str, number: int) -> None:
        """Add a subscription, or remove the one of this number."""
        if number < len(self.present):
            self.account.remove_subscription(self.present.pop(number))
            return
        made = Subscription(pattern, self.clients[number % 2], sid=b"%d" % number)
        self.present.append(made)
        self.account.add_subscription(made)


def sender_of(account: Account) -> MessageSender:
    """The sender of a consumer without acks, which has two messages to deliver."""
    num_pending = NumPending(MemoryStream(), ())
    num_pending.count = 2
    return MessageSender(account, PREFIX, DeliveryState(track=False), num_pending)


changes = st.tuples(st.just(True), st.sampled_from(PATTERNS), st.integers(0, 6))
sends = st.tuples(st.just(False), st.sampled_from(SUBJECTS), st.integers(0, 2))


@given(st.lists(changes | sends | sends, min_size=5, max_size=30))
def test_it_queues_what_the_account_queues(steps: list[tuple[bool, str, int]]) -> None:
    fast, plain = AccountWithClients(), AccountWithClients()
    sender, delivered = sender_of(fast.account), 0
    for change, subject, number in steps:
        if change:
            fast.change(subject, number)
            plain.change(subject, number)
            continue
        shown, header = f"s.{number}", b"" if number else b"NATS/1.0\r\n\r\n"
        reply = f"{PREFIX}1.7.{delivered + 1}.99.{max(1 - delivered, 0)}"
        took = sender.send(StoredMessage(7, shown, header, b"body", 99), 1, subject, header, 1)
        assert took == bool(
            plain.account.publish(subject, b"body", reply=reply, header=header, show_as=shown)
        )
        delivered += took
    for one, other in zip(fast.clients, plain.clients, strict=True):
        assert one.out == other.out
        assert one.out_bytes == other.out_bytes


def test_pulls_with_an_inbox_each_make_no_plans() -> None:
    fixture = AccountWithClients()
    fixture.change("_I.a.*", 0)
    sender = sender_of(fixture.account)
    for number in range(50):
        target = sender.client(f"_I.a.{number}")
        assert target is not None and target[1] is fixture.clients[0]
        assert sender.send(StoredMessage(number, "s.x", b"", b"y", 99), 1, f"_I.a.{number}", b"", 1)
    assert not fixture.account.plans
    out = fixture.clients[0].out
    assert out[::2] == [b"MSG s.x 0 "] * 50
    assert out[-1] == b"%b1.49.50.99.0 1\r\ny\r\n" % PREFIX.encode()
