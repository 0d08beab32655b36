"""Leaf connections line by line, without sockets: one end by hand, and both ends against each other."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import bcrypt
import pytest
from lib.examples import seeds
from lib.fake_clock import FakeClock
from lib.leaf_fixture import LeafServer, Link, Peer
from pyjs.server.config import load_text
from pyjs.server.config.options import RemoteOptions
from pyjs.server.leaf.permissions import AllowDeny

ACCOUNTS = """
accounts {
    SYS: { users: [{user: admin, password: admin}] }
    ACC: { users: [{user: acc, password: acc}] }
}
system_account: SYS
"""
SECOND = 1_000_000_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def env(clock: FakeClock) -> Callable[..., LeafServer]:
    """leaf_server(more configuration): a server with the account ACC."""
    return lambda more="", **options: LeafServer(ACCOUNTS + more, clock, **options)


def greeting(**more: object) -> str:
    fields = {"server_id": "NHUB", "server_name": "H", "client_id": 3, "nonce": "n", "headers": True}
    return "INFO " + json.dumps(fields | {"info_on_connect": True, "leafnode_urls": []} | more)


def remote(**options: object) -> RemoteOptions:
    values: dict[str, object] = {"urls": ["nats-leaf://acc:acc@127.0.0.1:7422"], "account": "ACC"}
    return RemoteOptions(**(values | options))  # type: ignore[arg-type]


def test_junk_before_connect_is_an_authorization_violation(env: Callable[..., LeafServer]) -> None:
    for junk in ("NONSENSE", "PING", "LS- a", "LMSG a 0\r\n", "INFO {}\r\nINFO {}"):
        peer = Peer(env())
        peer.read()
        assert peer.says(junk) == ["-ERR 'Authorization Violation'"], junk
        assert peer.closed
    peer = Peer(env("leafnodes { compression: off }"))
    peer.read()
    assert peer.says("INFO {}") == ["-ERR 'Authorization Violation'"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"cluster": "a b"}, "cluster name cannot contain spaces"),
        ({"gateway": "G"}, 'Rejecting connection from gateway "G" on the leafnode port'),
        ({"lang": "go"}, "attempted to connect to leaf node port"),
        ({"pass": "no"}, "Authorization Violation"),
    ],
)
def test_refusals(env: Callable[..., LeafServer], given: dict[str, str], text: str) -> None:
    peer = Peer(env())
    assert peer.logs_in(**given) == [f"-ERR '{text}'"]
    assert peer.closed


def test_connect_of_wrong_types_closes_without_a_word(env: Callable[..., LeafServer]) -> None:
    for bad in ("[]", "{", '{"name": 1}', '{"deny_pub": [1]}', '{"headers": "yes"}'):
        peer = Peer(env())
        peer.read()
        assert peer.says("CONNECT " + bad) == []
        assert peer.closed == "Protocol Violation"


def test_who_says_nothing_is_closed_in_time(env: Callable[..., LeafServer], clock: FakeClock) -> None:
    peer = Peer(env("leafnodes { authorization { timeout: 0.5 } }"))
    peer.read()
    clock.advance(SECOND)
    assert peer.read() == ["-ERR 'Authentication Timeout'"]


def test_an_old_version_is_refused(env: Callable[..., LeafServer]) -> None:
    config = 'leafnodes { min_version: "2.9.1" }'
    lines = Peer(env(config)).logs_in(version="2.9.0")
    assert lines[0].startswith("INFO ")
    assert lines[1] == "-ERR 'connection rejected since minimum version required is \"2.9.1\"'"
    assert len(Peer(env(config)).logs_in(version="2.10.0")) > 1


def test_the_number_of_leafs_of_an_account_is_limited(env: Callable[..., LeafServer]) -> None:
    fixture = env()
    account = fixture.registry.accounts["ACC"]
    account.limits.leafs = 1
    Peer(fixture).logs_in("one")
    assert Peer(fixture).logs_in("two") == ["-ERR 'maximum account active connections exceeded'"]


def test_the_trace_log_has_every_line_and_no_secret(env: Callable[..., LeafServer]) -> None:
    lines: list[str] = []

    class Lines:
        def trace(self, text: str) -> None:
            lines.append(text.partition(" - ")[2].partition(" - ")[2] or text)

        def debug(self, text: str) -> None:
            del text

        info = warning = error = debug

    given = env("trace: true")
    given.leafs.log = Lines()
    peer = Peer(given)
    peer.logs_in(jwt="secret", sig="secret")
    peer.says("LS+ a q 2", "LS- a q", "PING", "NONSENSE")
    assert "secret" not in "".join(lines)
    assert lines[0].startswith("<<- [CONNECT {") and '"pass": "[REDACTED]"' in lines[0]
    assert lines[1:4] == ["<<- [LS+ a q 2]", "<<- [LS- a q]", "<<- [PING]"]
    assert peer.closed


def test_passwords_with_bcrypt_are_checked_off_the_loop(env: Callable[..., LeafServer]) -> None:
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    fixture = env(f"leafnodes {{ authorization {{ user: leaf, password: '{hashed}', account: ACC }} }}")
    peer, wrong = Peer(fixture), Peer(fixture)
    assert peer.logs_in(user="leaf", **{"pass": "secret"}) == []
    assert wrong.logs_in(user="leaf", **{"pass": "else"}) == []
    assert peer.says("LS+ held.back") == []
    fixture.work()
    assert any(line.startswith("LS+ $LDS.") for line in peer.read())
    assert wrong.read() == ["-ERR 'Authorization Violation'"]
    assert fixture.registry.accounts["ACC"].has_interest("held.back")


def test_the_leaf_block_has_users_of_its_own(env: Callable[..., LeafServer]) -> None:
    fixture = env("leafnodes { authorization { users: [{user: u, password: p, account: ACC}] } }")
    assert Peer(fixture).logs_in() == ["-ERR 'Authorization Violation'"]
    peer = Peer(fixture)
    second = json.loads(peer.logs_in(user="u", **{"pass": "p"})[0][5:])
    assert second["remote_account"] == "ACC"


def test_a_peer_that_does_not_answer_pings_is_stale(env: Callable[..., LeafServer], clock: FakeClock) -> None:
    peer = Peer(env("ping_interval: 10s\nping_max: 2"))
    peer.logs_in()
    clock.advance(2 * SECOND)
    assert peer.read() == ["PING"]  # the first one measures
    peer.says("PONG")
    assert peer.connection.ping_timer.rtt > 0
    clock.advance(5 * SECOND)
    peer.says("LS+ alive")
    clock.advance(6 * SECOND)
    assert peer.read() == []  # active within the interval
    clock.advance(40 * SECOND)
    assert peer.read() == ["PING", "PING", "-ERR 'Stale Connection'"]
    assert peer.closed == "Stale Connection"


def test_a_closed_connection_leaves_nothing(env: Callable[..., LeafServer], clock: FakeClock) -> None:
    fixture = env()
    account = fixture.registry.accounts["ACC"]
    before = len(account.sublist)
    peer = Peer(fixture)
    peer.logs_in()
    peer.says("LS+ a", "LS+ b q 3")
    assert len(account.sublist) == before + 2
    peer.connection.lost()
    assert len(account.sublist) == before
    assert not account.leafs
    assert not fixture.leafs.connections
    clock.advance(600 * SECOND)
    assert peer.wire.sent == b""


def test_subscriptions_are_limited_and_valid(env: Callable[..., LeafServer]) -> None:
    peer = Peer(env("max_subscriptions: 2"))
    peer.logs_in()
    assert peer.says("LS+ a..b") == ["-ERR 'Invalid Subscription'"]
    assert peer.says("LS+ a", "LS+ b", "LS+ a", "LS+ c") == ["-ERR 'maximum subscriptions exceeded'"]
    assert not peer.closed


def test_weights_of_groups_are_followed(env: Callable[..., LeafServer]) -> None:
    fixture = env()
    one, two = Peer(fixture), Peer(fixture)
    one.logs_in("one")
    two.logs_in("two")
    one.says("LS+ a q 3")
    assert two.read() == ["LS+ a q 3"]
    one.says("LS+ a q 1")
    assert two.read() == ["LS+ a q 1"]
    one.says("LS- a q")
    assert two.read() == ["LS- a q"]


def test_a_wrong_port_is_left(env: Callable[..., LeafServer]) -> None:
    peer = Peer(env(), remote())
    assert peer.says("INFO " + json.dumps({"server_id": "N", "client_id": 0, "proto": 1})) == []
    assert peer.closed == "Incorrect Port"


def test_a_hub_that_says_nothing_or_half_is_left(env: Callable[..., LeafServer], clock: FakeClock) -> None:
    silent, half = Peer(env(), remote()), Peer(env(), remote())
    half.says(greeting())
    clock.advance(3 * SECOND)
    assert silent.closed == "Authentication Timeout"
    assert half.read() == ["-ERR 'Stale Leaf Node Connection - Closing'"]


def test_an_old_hub_is_joined_after_its_first_info(env: Callable[..., LeafServer]) -> None:
    peer = Peer(env(), remote())
    lines = peer.says(greeting(info_on_connect=False))
    assert lines[0].startswith("CONNECT ")
    assert lines[-1].startswith("LS+ $LDS.")


def test_a_user_without_a_password_is_a_token_too(env: Callable[..., LeafServer]) -> None:
    peer = Peer(env(), remote(urls=["nats-leaf://t0ken@127.0.0.1:7422"]))
    connect = json.loads(peer.says(greeting())[0][8:])
    assert (connect["user"], connect["auth_token"]) == ("t0ken", "t0ken")
    assert "pass" not in connect


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ('Loop detected for leafnode account="A". Delaying attempt to reconnect for 30s', 31),
        ('Permissions Violation for Publish to "x"', 31),
        ("remote leafnode has same cluster name", 31),
        ('connection rejected since minimum version required is "3.0.0"', 6),
        ("Authorization Violation", 1),
    ],
)
def test_after_some_errors_the_hub_is_left_alone(
    env: Callable[..., LeafServer], clock: FakeClock, text: str, seconds: int
) -> None:
    peer = Peer(env(), remote())
    peer.says(greeting())
    peer.says(f"-ERR '{text}'")
    assert peer.closed
    assert peer.remote is not None
    assert peer.remote.wait == seconds * SECOND


def test_a_spoke_takes_only_what_it_could_have_asked_for(env: Callable[..., LeafServer]) -> None:
    fixture = env()
    client = fixture.user()
    client.says("SUB > 1\r\n")
    peer = Peer(fixture, remote(deny_imports=["no.>"]))
    peer.says(greeting(info_on_connect=False))
    peer.says("LMSG no.a 1", "x", "LMSG yes.a 1", "x")
    assert client.read() == b"MSG yes.a 1 1\r\nx\r\n"
    assert not peer.closed


def test_a_hub_that_dials_enforces_and_stays_away(env: Callable[..., LeafServer]) -> None:
    peer = Peer(env(), remote(hub=True, deny_exports=["secret"]))
    lines = peer.says(greeting())
    assert json.loads(lines[0][8:])["is_hub"] is True
    peer.says(greeting(connect_info=True, remote_account="X"))
    assert peer.says("LS+ secret") == ["-ERR 'Permissions Violation for Subscription to \"secret\"'"]
    assert peer.closed


# --- both ends


def test_hub_and_leaf_inform_each_other(env: Callable[..., LeafServer]) -> None:
    hub, leaf = env(), env()
    early = hub.user()
    early.says("SUB from.before 1\r\n")
    link = Link(hub, leaf)
    client = leaf.user()
    client.says("SUB later 1\r\n")
    link.pump()
    client.says("PUB from.before 2\r\nhi\r\n")
    link.pump()
    assert early.read() == b"MSG from.before 1 2\r\nhi\r\n"
    early.says("PUB later answer 2\r\nho\r\n")
    link.pump()
    assert client.read() == b"MSG later 1 answer 2\r\nho\r\n"
    assert link.up.connection.interest_known
    assert link.down.connection.interest_known
    assert (link.up.connection.is_spoke, link.down.connection.is_spoke) == (False, True)


def test_a_batch_is_one_write(env: Callable[..., LeafServer]) -> None:
    hub, leaf = env(), env()
    link = Link(hub, leaf)
    client, sender = leaf.user(), hub.user()
    client.says("SUB a 1\r\n")
    link.pump()
    before = link.up.wire.writes
    sender.says("PUB a 1\r\nx\r\n" * 300)
    assert link.up.wire.writes == before + 1
    link.pump()
    assert client.read() == b"MSG a 1 1\r\nx\r\n" * 300
    assert (link.up.connection.out_msgs, link.down.connection.in_msgs) == (300, 300)
    assert link.down.connection.in_bytes == 300


def test_one_frame_however_many_interests_match(env: Callable[..., LeafServer]) -> None:
    hub, leaf = env(), env()
    link = Link(hub, leaf)
    client, sender = leaf.user(), hub.user()
    client.says("SUB a.b 1\r\nSUB a.* 2\r\nSUB > 3\r\nSUB a.b g 4\r\n")
    link.pump()
    sender.says("PUB a.b 1\r\nx\r\n")
    link.pump()
    assert sorted(client.read().split(b"\r\n")[::2]) == [
        b"",
        b"MSG a.b 1 1",
        b"MSG a.b 2 1",
        b"MSG a.b 3 1",
        b"MSG a.b 4 1",
    ]


def test_a_cut_withdraws_interest_and_a_new_link_sends_it_again(env: Callable[..., LeafServer]) -> None:
    hub, leaf = env(), env()
    link = Link(hub, leaf)
    client, sender = leaf.user(), hub.user()
    client.says("SUB a 1\r\n")
    link.pump()
    link.cut()
    assert b"503" in sender.says("SUB r 9\r\nPUB a r 0\r\n\r\n")
    link = Link(hub, leaf)
    sender.says("PUB a 1\r\nx\r\n")
    link.pump()
    assert client.read() == b"MSG a 1 1\r\nx\r\n"


def test_a_loop_of_two_links_is_found(env: Callable[..., LeafServer]) -> None:
    one, two = env(), env()
    Link(one, two)
    back = Link(two, one)
    assert back.up.closed
    assert back.down.closed
    assert back.down.remote is not None
    assert back.down.remote.wait == 31 * SECOND


def test_a_requester_is_shown_by_the_other_sides_name(env: Callable[..., LeafServer]) -> None:
    hub = LeafServer("accounts { HUBACC: { users: [{user: acc, password: acc}] } }", FakeClock())
    leaf = env()
    link = Link(hub, leaf)
    client, asks = hub.user(), leaf.registry.accounts["ACC"]
    client.says("SUB svc 1\r\n")
    link.pump()
    header = b'NATS/1.0\r\nNats-Request-Info: {"acc":"ACC","rtt":5}\r\n\r\n'
    asks.publish("svc", b"x", header=header, reply="r")
    link.pump()
    assert b'"acc":"HUBACC"' in client.read()


def test_domains_stay_apart_and_are_reached_by_name(env: Callable[..., LeafServer]) -> None:
    hub = env("jetstream { domain: hub }", jetstream=True)
    leaf = env("jetstream { domain: leaf }", jetstream=True)
    link = Link(hub, leaf)
    heard: list[str] = []
    leaf.registry.accounts["ACC"].subscribe("$JS.API.>", lambda message: heard.append(message.subject))
    link.pump()
    client = hub.user()
    client.says("PUB $JS.API.STREAM.NAMES 0\r\n\r\nPUB $JS.leaf.API.STREAM.NAMES 0\r\n\r\n")
    client.says("PUB $JS.hub.API.STREAM.NAMES 0\r\n\r\n")
    link.pump()
    assert heard == ["$JS.API.STREAM.NAMES"]


def test_a_reload_closes_who_may_no_longer_join_and_shows_mappings(env: Callable[..., LeafServer]) -> None:
    fixture = env()
    stays, goes = Peer(fixture), Peer(fixture)
    stays.logs_in("stays")
    goes.logs_in("goes", user="admin")
    text = ACCOUNTS.replace("password: admin", "password: other").replace(
        "password: acc}] }", "password: acc}], mappings: { old: new } }"
    )
    options = load_text(text)
    fixture.registry.reload(options)
    fixture.clients.reload(options)
    fixture.leafs.reload(options, fixture.clients.authenticator)
    assert goes.read() == ["-ERR 'Authorization Violation'"]
    assert stays.read() == ["LS+ old"]


def test_answers_of_services_come_through_whatever_is_allowed(env: Callable[..., LeafServer]) -> None:
    config = """
    accounts {
        ACC: { users: [{user: acc, password: acc}], exports: [{service: "svc"}] }
        ASKS: { users: [{user: asks, password: asks}], imports: [{service: {account: ACC, subject: svc}}] }
    }
    """
    hub = env()
    leaf = LeafServer(config, hub.clock)
    link = Link(hub, leaf)
    link.down.connection.leaf_permissions.set(
        send=AllowDeny(), subscribe=AllowDeny(["nothing"]), accept=AllowDeny()
    )
    answers, asks = hub.user(), leaf.user("asks")
    answers.says("SUB svc 1\r\n")
    link.pump()
    asks.says("SUB back 1\r\nPUB svc back 1\r\nx\r\n")
    link.pump()
    request = answers.read().split(b" ")
    assert request[3].startswith(b"_R_.")
    answers.says(b"PUB " + request[3] + b" 1\r\ny\r\n")
    link.pump()
    assert asks.read() == b"MSG back 1 1\r\ny\r\n"


@seeds(20)
def test_whatever_a_peer_sends_is_survived(env: Callable[..., LeafServer], seed: int) -> None:
    """Words of the protocol in any order, with odd subjects, to either end: closed or served."""
    rng = random.Random(seed)
    subjects = [
        "a",
        "a.*",
        ">",
        "",
        "a..b",
        "$LDS.x",
        "_R_.x.>",
        "$JS.API.INFO",
        "ü",
        "\udcff",
        "a b",
        "*.>",
        ".",
    ]
    words = ["LS+ {}", "LS+ {} q 3", "LS+ {} q x", "LS- {}", "LS- {} q", "LMSG {} 1\r\nx", "LMSG {} r 1\r\nx"]
    words += [
        "HMSG {} 12 13\r\nNATS/1.0\r\n\r\nx",
        "LMSG {} + r q 1\r\nx",
        "LMSG {} | q q2 1\r\nx",
        "PING",
        "PONG",
    ]
    words += [
        "LMSG {} $JS.ACK.S.C.1.1.1.1.0@{} 1\r\nx",
        "+OK",
        greeting(connect_info=True),
        "INFO []",
        "CONNECT {{}}",
    ]
    for options in (None, remote(), remote(hub=True)):
        fixture = env("leafnodes { authorization { users: [{user: acc, password: acc, account: ACC}] } }")
        client = fixture.user()
        client.says("SUB > 1\r\nSUB > q 2\r\n")
        peer = Peer(fixture, options)
        if options is None:
            peer.logs_in()
        else:
            peer.says(greeting())
        for _ in range(60):
            line = rng.choice(words).replace("{}", rng.choice(subjects)).replace("{{}}", "{}")
            peer.connection.receive(f"{line}\r\n".encode("utf-8", "surrogateescape"))
        client.read()
        peer.connection.lost()
        assert not fixture.registry.accounts["ACC"].leafs


def test_a_wide_fan_out_of_a_leaf_is_written_bit_by_bit(env: Callable[..., LeafServer]) -> None:
    server = env()
    consumers = [server.user() for _ in range(100)]
    for consumer in consumers:
        consumer.says("SUB a 1\r\n")
    peer = Peer(server)
    peer.logs_in()
    before = consumers[0].wire.writes
    peer.connection.receive(b"LMSG a 0\r\n\r\n" * 2_000)
    assert consumers[0].wire.writes - before == 4
    assert consumers[99].read().endswith(b"MSG a 1 0\r\n\r\n" * 2_000)
