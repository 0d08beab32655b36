"""What a client sends and what it reads, line by line, without sockets."""

from __future__ import annotations

import pytest
from lib.fake_wire import ClientsFixture, FakeClient
from pyjs.server.accounts import Message
from pyjs.server.config.options import Options

PONG = b"PONG\r\n"


@pytest.fixture
def fixture() -> ClientsFixture:
    return ClientsFixture()


@pytest.fixture
def client(fixture: ClientsFixture) -> FakeClient:
    client = fixture.connected()
    assert client.says("PING\r\n").startswith(PONG + b"INFO ")
    return client


def test_the_first_words_are_info(fixture: ClientsFixture) -> None:
    info = fixture.client().info
    assert info["server_id"].startswith("N")
    assert len(info["server_id"]) == 56
    assert (info["proto"], info["headers"], info["max_payload"], info["client_id"]) == (1, True, 1048576, 1)
    assert "auth_required" not in info
    assert "nonce" not in info


def test_after_the_first_ping_the_client_learns_its_account(fixture: ClientsFixture) -> None:
    client = fixture.connected()
    assert client.says("PING\r\n")[:6] == PONG
    client = fixture.connected()
    client.connection.receive(b"PING\r\nPING\r\n")
    lines = client.read().split(b"\r\n")
    assert [line[:5] for line in lines] == [b"PONG", b"INFO ", b"PONG", b""]
    assert b'"remote_account":"$G"' in lines[1]
    assert b'"connect_info":true' in lines[1]


def test_old_clients_get_no_later_info(fixture: ClientsFixture) -> None:
    client = fixture.connected(protocol=0)
    assert client.says("PING\r\n") == PONG
    fixture.clients.set_connect_urls(["1.2.3.4:4222"])
    assert client.read() == b""


def test_connect_urls_are_announced_when_they_change(fixture: ClientsFixture, client: FakeClient) -> None:
    fixture.clients.set_connect_urls(["1.2.3.4:4222"])
    assert client.read_info()["connect_urls"] == ["1.2.3.4:4222"]
    fixture.clients.set_connect_urls(["1.2.3.4:4222"])
    assert client.read() == b""
    fixture.clients.lame_duck([])
    info = client.read_info()
    assert info["ldm"] is True
    assert "connect_urls" not in info


def test_an_advertised_address_is_reported_instead_of_the_listener() -> None:
    fixture = ClientsFixture(Options(host="127.0.0.1", client_advertise="example.org:4333"))
    assert {"host": "example.org", "port": 4333}.items() <= fixture.client().info.items()
    client = fixture.connected()
    client.says("PING\r\n")
    fixture.reload(Options(host="127.0.0.1", client_advertise="[::1]:9"))
    assert {"host": "::1", "port": 9}.items() <= client.read_info().items()
    fixture.reload(Options(host="127.0.0.1", client_advertise="[::1]:9"))
    assert client.read() == b""


def test_verbose_and_pedantic_are_the_defaults(fixture: ClientsFixture) -> None:
    client = fixture.client()
    client.read()
    assert client.says("CONNECT {}\r\nSUB a 1\r\nUNSUB 1\r\nPUB a.* 0\r\n\r\nPING\r\n") == (
        b"+OK\r\n+OK\r\n+OK\r\n-ERR 'Invalid Publish Subject'\r\n+OK\r\n" + PONG
    )


def test_messages_keep_their_order_with_answers(client: FakeClient) -> None:
    got = client.says("SUB a 1\r\nPUB a 1\r\nx\r\nPING\r\nPUB a r 2\r\nyz\r\n")
    assert got == b"MSG a 1 1\r\nx\r\nPONG\r\nMSG a 1 r 2\r\nyz\r\n"


def test_one_write_per_destination_and_read(fixture: ClientsFixture, client: FakeClient) -> None:
    other = fixture.connected()
    other.says("SUB a 7\r\n")
    before = other.wire.writes
    client.says("PUB a 1\r\nx\r\n" * 500)
    assert other.wire.writes == before + 1
    assert other.read() == b"MSG a 7 1\r\nx\r\n" * 500
    assert (other.connection.out_msgs, other.connection.out_bytes) == (500, 500)
    assert (client.connection.in_msgs, client.connection.in_bytes) == (500, 500)
    assert fixture.clients.totals() == {"in_msgs": 500, "in_bytes": 500, "out_msgs": 500, "out_bytes": 500}


def test_headers_are_stripped_for_those_who_do_not_know_them(
    fixture: ClientsFixture, client: FakeClient
) -> None:
    old = fixture.connected(headers=False, no_responders=False)
    old.says("SUB a 1\r\n")
    client.says("SUB a 2\r\n")
    got = client.says("HPUB a r 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n")
    assert got == b"HMSG a 2 r 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n"
    assert old.read() == b"MSG a 1 r 2\r\nhi\r\n"
    client.says("PUB a 2\r\nho\r\n")
    assert old.read() == b"MSG a 1 2\r\nho\r\n"
    assert old.connection.out_bytes == 4


def test_an_empty_header_block_is_delivered_as_a_plain_message(client: FakeClient) -> None:
    assert client.says("SUB a 1\r\nHPUB a r 0 2\r\nhi\r\n") == b"MSG a 1 r 2\r\nhi\r\n"


def test_hpub_from_a_client_without_headers_ends_the_connection(fixture: ClientsFixture) -> None:
    old = fixture.connected(headers=False, no_responders=False)
    assert old.says("HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\nPUB a 0\r\n\r\n") == b""
    assert old.closed == "Message Header Violation"


def test_requests_nobody_receives_get_503(client: FakeClient) -> None:
    assert client.says("PUB a r 0\r\n\r\n") == b""
    got = client.says("SUB r.* 3\r\nPUB lonely r.1 0\r\n\r\n")
    assert got == b"HMSG r.1 3 38 38\r\nNATS/1.0 503\r\nNats-Subject: lonely\r\n\r\n\r\n"
    assert client.says("SUB lonely 4\r\nPUB lonely r.1 0\r\n\r\n") == b"MSG lonely 4 r.1 0\r\n\r\n"


def test_503_only_on_request(fixture: ClientsFixture) -> None:
    client = fixture.connected(no_responders=False)
    assert client.says("SUB r 1\r\nPUB a r 0\r\n\r\n") == b""


def test_echo_off_means_not_from_oneself(fixture: ClientsFixture, client: FakeClient) -> None:
    shy = fixture.connected(echo=False)
    assert shy.says("SUB a 1\r\nPUB a 1\r\nx\r\n") == b""
    client.says("PUB a 1\r\ny\r\n")
    assert shy.read() == b"MSG a 1 1\r\ny\r\n"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("UNSUB 1\r\n" + "PUB a 0\r\n\r\n", 0),
        ("UNSUB 1 2\r\n" + "PUB a 0\r\n\r\n" * 4, 2),
        ("PUB a 0\r\n\r\n" * 2 + "UNSUB 1 3\r\n" + "PUB a 0\r\n\r\n" * 4, 3),
        ("PUB a 0\r\n\r\n" * 2 + "UNSUB 1 2\r\n" + "PUB a 0\r\n\r\n" * 4, 2),
        ("PUB a 0\r\n\r\n" * 2 + "UNSUB 1 1\r\n" + "PUB a 0\r\n\r\n" * 4, 2),
        ("UNSUB 9\r\n" + "PUB a 0\r\n\r\n", 1),
        ("UNSUB 1 0\r\n" + "PUB a 0\r\n\r\n", 0),
    ],
)
def test_unsub_counts_what_was_delivered_before(client: FakeClient, said: str, heard: int) -> None:
    assert client.says("SUB a 1\r\n" + said).count(b"MSG a 1 0\r\n") == heard
    if heard == 2 and "UNSUB 1 2" in said:
        assert len(client.connection.subscriptions) == 0


def test_a_sid_is_taken_once(client: FakeClient) -> None:
    assert client.says("SUB a 1\r\nSUB b 1\r\nPUB b 0\r\n\r\nPUB a 0\r\n\r\n") == b"MSG a 1 0\r\n\r\n"


@pytest.mark.parametrize("subject", ["a..b", ".a", "a.", "a.>.b"])
def test_an_invalid_subject_cannot_be_subscribed_to(client: FakeClient, subject: str) -> None:
    assert client.says(f"SUB {subject} 1\r\nPING\r\n") == b"-ERR 'Invalid Subject'\r\n" + PONG


@pytest.mark.parametrize("reply", ["_R_.a.b", "$JS.ACK.a", "_GR_.x.y"])
def test_reserved_replies_are_refused(client: FakeClient, reply: str) -> None:
    got = client.says(f"SUB a 1\r\nPUB a {reply} 0\r\n\r\n")
    assert got == f"-ERR 'Permissions Violation for Publish with Reply of \"{reply}\"'\r\n".encode()


@pytest.mark.parametrize("subject", ["_GR_.x.y", "$NRG.x"])
def test_reserved_subjects_are_refused(client: FakeClient, subject: str) -> None:
    got = client.says(f"SUB > 1\r\nPUB {subject} 0\r\n\r\n")
    assert got == f"-ERR 'Permissions Violation for Publish to \"{subject}\"'\r\n".encode()


@pytest.mark.parametrize(
    ("said", "text", "reason"),
    [
        ("HELLO\r\n", "Unknown Protocol Operation", "Protocol Violation"),
        ("PUB a 2000000\r\n", "Maximum Payload Violation", "Maximum Message Payload Exceeded"),
        ("PUB a 1\r\nxyz\r\n", "Unknown Protocol Operation", "Protocol Violation"),
        ('CONNECT {"protocol": 2}\r\n', "invalid client protocol", "Bad Client Protocol Version"),
        (
            'CONNECT {"no_responders": true, "headers": false}\r\n',
            "no responders requires headers support",
            "No Responders Requires Headers",
        ),
        ('CONNECT {"account": "x"}\r\n', "Authorization Violation", "Authentication Failure"),
        ("CONNECT {nonsense\r\n", "", "Protocol Violation"),
        ("CONNECT []\r\n", "", "Protocol Violation"),
        ('CONNECT {"verbose": 1}\r\n', "", "Protocol Violation"),
        ("-ERR 'mine'\r\n", "", "Parse Error"),
    ],
)
def test_what_ends_a_connection(client: FakeClient, said: str, text: str, reason: str) -> None:
    got = client.says(said + "PUB a 0\r\n\r\n")
    assert got == (f"-ERR '{text}'\r\n".encode() if text else b"")
    assert client.closed == reason
    assert client.wire.closed
    assert client.says("PING\r\n") == b""


def test_what_came_before_a_error_is_served(fixture: ClientsFixture, client: FakeClient) -> None:
    other = fixture.connected()
    other.says("SUB a 1\r\n")
    client.says("PUB a 0\r\n\r\nNONSENSE\r\n")
    assert other.read() == b"MSG a 1 0\r\n\r\n"


def test_a_closed_client_receives_and_holds_nothing(fixture: ClientsFixture, client: FakeClient) -> None:
    client.says("SUB a 1\r\nSUB b q 2\r\n")
    client.connection.lost()
    account = fixture.registry.global_account
    assert len(account.sublist) == 0
    assert not account.connections
    assert not fixture.clients.connections
    assert fixture.clients.closed[0][1] == "Client Closed"
    assert fixture.clock.pending() == 0
    assert account.publish("a") == 0


def test_a_second_connect_starts_over(client: FakeClient) -> None:
    client.says("SUB a 1\r\n")
    client.connect(echo=True, name="again")
    assert client.says("PUB a 0\r\n\r\nPING\r\n") == PONG
    assert client.connection.options.name == "again"


def test_the_server_itself_receives_and_answers(fixture: ClientsFixture, client: FakeClient) -> None:
    account = fixture.registry.global_account
    asked: list[Message] = []

    def serve(message: Message) -> None:
        asked.append(message)
        account.publish(message.reply, b"yes", header=b"NATS/1.0\r\nA: b\r\n\r\n")

    account.subscribe("svc.*", serve)
    got = client.says("SUB inbox 1\r\nHPUB svc.x inbox 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
    assert got == b"HMSG inbox 1 18 21\r\nNATS/1.0\r\nA: b\r\n\r\nyes\r\n"
    assert (asked[0].subject, asked[0].header, asked[0].body) == ("svc.x", b"NATS/1.0\r\n\r\n", b"hi")
    assert asked[0].source is client.connection


def test_what_the_server_sends_by_itself_is_flushed_by_the_loop(
    fixture: ClientsFixture, client: FakeClient
) -> None:
    client.says("SUB a 1\r\n")
    before = client.wire.writes
    for _ in range(10):
        fixture.registry.global_account.publish("a", b"x")
    assert client.wire.writes == before
    fixture.clock.advance(0)
    assert client.wire.writes == before + 1


def test_shown_subjects_of_deliveries(fixture: ClientsFixture, client: FakeClient) -> None:
    client.says("SUB deliver.1 5\r\n")
    fixture.registry.global_account.publish("deliver.1", b"x", reply="ack", show_as="orders.new")
    assert client.read() == b"MSG orders.new 5 ack 1\r\nx\r\n"


def test_subjects_that_are_not_utf8_pass_unchanged(client: FakeClient) -> None:
    got = client.says(b"SUB \xff\xfe.* 1\r\nPUB \xff\xfe.\x80 \xfd 0\r\n\r\n")
    assert got == b"MSG \xff\xfe.\x80 1 \xfd 0\r\n\r\n"


def test_subscriptions_are_limited(fixture: ClientsFixture) -> None:
    fixture.options.max_subscriptions = 3
    client = fixture.connected()
    got = client.says("".join(f"SUB a.{i} {i}\r\n" for i in range(5)))
    assert got == b"-ERR 'maximum subscriptions exceeded'\r\n" * 2
    assert not client.closed
    assert client.says("UNSUB 0\r\nSUB b 9\r\nPING\r\n").startswith(PONG)


def test_subscription_tokens_are_limited() -> None:
    client = ClientsFixture(Options(max_sub_tokens=2)).connected()
    got = client.says("SUB a.b 1\r\nSUB a.b.c 2\r\n")
    assert got == b"-ERR 'Permissions Violation for Subscription to \"a.b.c\", too many tokens'\r\n"


def test_connections_are_limited() -> None:
    fixture = ClientsFixture(Options(max_connections=2))
    first, _, third = fixture.client(), fixture.client(), fixture.client()
    assert third.read() == b"-ERR 'maximum connections exceeded'\r\n"
    assert third.closed == "Maximum Connections Exceeded"
    first.connection.lost()
    assert not fixture.client().closed


def test_junk_never_raises(fixture: ClientsFixture) -> None:
    import random

    rng = random.Random(7)
    pieces = [
        b"PUB a 1\r\nx\r\n",
        b"SUB a 1\r\n",
        b"CONNECT {}\r\n",
        b"PING\r\n",
        b"\r\n",
        b"\x00",
        b"HPUB ",
        b"UNSUB 1 -1\r\n",
    ]
    for _ in range(300):
        client = fixture.client()
        for _ in range(5):
            client.says(rng.choice(pieces) * rng.randrange(3) + rng.randbytes(rng.randrange(12)))
        client.connection.lost()
    assert len(fixture.registry.global_account.sublist) == 0
