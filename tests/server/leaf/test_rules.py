"""Rules of leaf connections, without a connection: permissions, domains, frames, targets, credentials."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from pyjs.keys import KeyPair, KeyRole, UserClaims, encode, verify, write_credentials
from pyjs.server.jetstream.domain import api_mappings
from pyjs.server.leaf.credentials import LeafCredentialsError, read_credentials, sign
from pyjs.server.leaf.domains import ALL, CLIENTS, DomainView, default_mappings, denials
from pyjs.server.leaf.frames import split_delivery
from pyjs.server.leaf.permissions import AllowDeny, LeafPermissions
from pyjs.server.leaf.remote_urls import RemoteUrl, RemoteUrls


@pytest.mark.parametrize(
    ("allow", "deny", "subject", "message", "interest"),
    [
        (None, [], "a", True, True),
        (["a.>"], [], "a.b", True, True),
        (["a.>"], [], "b", False, False),
        (["a.>"], [], ">", False, True),  # of a wider pattern only the allowed part comes
        (["a.*"], [], "a.>", False, True),
        (["a.b"], [], "*", False, False),
        (None, ["a.>"], "a.b", False, False),
        (None, ["a.>"], ">", True, True),
        (None, ["a.*"], "a.>", False, False),  # a pattern is denied as if it were a literal subject
        (["a.>"], ["a.b"], "a.b", False, False),
    ],
)
def test_lists(allow: list[str] | None, deny: list[str], subject: str, message: bool, interest: bool) -> None:
    lists = AllowDeny(allow, deny)
    if "*" not in subject and ">" not in subject:
        assert lists.allows(subject) is message
    assert lists.allows_subscription(subject) is interest


def test_lists_travel_in_info() -> None:
    assert AllowDeny().to_info() is None
    lists = AllowDeny(["a"], ["b"])
    assert lists.to_info() == {"allow": ["a"], "deny": ["b"]}
    again = AllowDeny.from_info(lists.to_info())
    assert (again.allow, again.deny) == (("a",), ("b",))
    assert AllowDeny.from_info(None).open
    assert AllowDeny.from_info({"allow": []}).allow == ()


def test_permissions_forget_what_they_decided_when_they_change() -> None:
    leaf_permissions = LeafPermissions()
    leaf_permissions.deny(send=["x"])
    assert [leaf_permissions.may_send(s) for s in "ax"] == [True, False]
    leaf_permissions.deny(send=["a"], subscribe=["a"])
    assert not leaf_permissions.may_send("a")
    assert not leaf_permissions.may_subscribe("a")
    assert leaf_permissions.may_accept("a", 0)


def test_answers_pass_where_nothing_else_may() -> None:
    leaf_permissions = LeafPermissions()
    leaf_permissions.set(send=AllowDeny(), subscribe=AllowDeny(), accept=AllowDeny([]))
    leaf_permissions.replies.limit((2, 1000))
    assert not leaf_permissions.may_accept("back", 0)
    leaf_permissions.expect_reply("back", 0)
    assert [leaf_permissions.may_accept("back", 1) for _ in range(3)] == [True, True, False]
    leaf_permissions.expect_reply("late", 0)
    assert not leaf_permissions.may_accept("late", 1001)
    assert leaf_permissions.may_accept("_R_.x.y", 0)
    assert leaf_permissions.may_accept("$JS.ACK.S.C.1.1.1.1.0", 0)


def test_a_repeated_reply_is_kept_as_long_as_a_new_one() -> None:
    leaf_permissions = LeafPermissions()
    leaf_permissions.set(send=AllowDeny(), subscribe=AllowDeny(), accept=AllowDeny(["free.*"]))
    leaf_permissions.replies.limit((1, 0))
    leaf_permissions.expect_reply("again", 0)
    for number in range(4095):
        leaf_permissions.expect_reply(f"r.{number}", 0)
    leaf_permissions.expect_reply("again", 0)
    for number in range(100):
        leaf_permissions.expect_reply(f"free.{number}", 0)
    assert leaf_permissions.may_accept("r.0", 0), "a reply that is allowed anyway takes no place"
    for number in range(4000):
        leaf_permissions.expect_reply(f"more.{number}", 0)
    assert leaf_permissions.may_accept("again", 0)
    assert len(leaf_permissions.replies) <= 4096


def side(domain: str = "hub", account: str = "A", **more: object) -> DomainView:
    values: dict[str, object] = {
        "domain": domain,
        "jetstream": True,
        "account": account,
        "system_account": "SYS",
        "default_domains": {},
    }
    return DomainView(**(values | more))  # type: ignore[arg-type]


def test_domains_that_differ_keep_their_apis() -> None:
    found = denials(side(), "leaf", "leaf-server")
    assert (found.both, found.send) == (CLIENTS, ("$JS.hub.API.>",))
    assert "local 'hub', remote 'leaf'" in found.note


def test_system_accounts_do_not_extend_what_differs() -> None:
    found = denials(side(account="SYS"), "leaf", "leaf-server")
    assert (found.both, found.send) == (ALL, ("$JS.hub.API.>",))
    assert "not extended" in found.note


def test_one_domain_extends_over_the_system_account() -> None:
    assert denials(side(account="SYS"), "hub", "x").both == ()
    assert denials(side(), "hub", "x") == (CLIENTS, (), "")


def test_a_jetstream_of_several_servers_passes_only_to_peers_that_have_it() -> None:
    assert denials(side(spans=True), "hub", "x").both == ()
    assert denials(side(spans=True), "hub", "x", peer_jetstream=False).both == CLIENTS


def test_no_jetstream_and_no_domain_denies_too() -> None:
    found = denials(side(domain="", jetstream=False), "", "x")
    assert (found.both, found.send) == (CLIENTS, ())
    assert denials(side(domain="", jetstream=False, system_account=""), "", "x").both == CLIENTS
    hinted = side(domain="", jetstream=False, account="SYS", extension_hint="will_extend")
    assert denials(hinted, "", "x").both == ()


def test_an_empty_default_domain_denies_nothing_but_stops_extension() -> None:
    assert denials(side(default_domains={"A": ""}), "leaf", "x").both == ()
    assert denials(side(account="SYS", default_domains={"A": ""}), "hub", "x").both == ALL


def test_mappings_of_a_domain() -> None:
    mapped = dict(api_mappings("hub"))
    assert mapped["$JS.hub.API.INFO"] == "$JS.API.INFO"
    assert mapped["$JS.hub.API.STREAM.>"] == "$JS.API.STREAM.>"
    assert mapped["$JS.hub.API.$KV.>"] == "$KV.>"
    assert dict(default_mappings("hub"))["$JS.API.CONSUMER.>"] == "$JS.hub.API.CONSUMER.>"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"$JS.ACK.S.C.1.2.3.4.0@orders.new", (b"$JS.ACK.S.C.1.2.3.4.0", b"orders.new")),
        (b"$JS.ACK.S.C.1.2.3.4.0", (b"$JS.ACK.S.C.1.2.3.4.0", b"")),
        (b"$JS.ACK.S.C@X.1.2.3.4.0", (b"$JS.ACK.S.C@X.1.2.3.4.0", b"")),
        (b"$JS.ACK.S.C@X.1.2.3.4.0@a@b", (b"$JS.ACK.S.C@X.1.2.3.4.0", b"a@b")),
        (b"$JS.ACK.S.C.1.2.3.4.0@", (b"$JS.ACK.S.C.1.2.3.4.0@", b"")),
        (b"$JS.ACK.short@x", (b"$JS.ACK.short@x", b"")),
    ],
)
def test_the_subject_behind_an_ack(reply: bytes, expected: tuple[bytes, bytes]) -> None:
    assert split_delivery(reply) == expected


def test_a_url_and_its_user() -> None:
    target = RemoteUrl.parse("nats-leaf://a%40b:p%3Aw@hub.example:7000")
    assert (target.user, target.password, target.host, target.port) == ("a@b", "p:w", "hub.example", 7000)
    assert RemoteUrl.parse("tls://hub").secure
    assert RemoteUrl.parse("nats://hub").port == 7422
    with pytest.raises(ValueError, match="no host"):
        RemoteUrl.parse("nats://")


def test_targets_are_tried_in_turn_and_learnt() -> None:
    targets = RemoteUrls(["nats://a:1", "nats://u:p@b:2"], None)
    assert [str(targets.next()) for _ in range(3)] == ["a:1", "b:2", "a:1"]
    targets.discovered(["c:3", "a:1", "[", ""])
    assert len(targets) == 3
    assert [str(targets.next()) for _ in range(3)] == ["b:2", "c:3", "a:1"]
    assert targets.user == ("u", "p")
    assert targets.host == "a"
    targets.discovered([])
    assert len(targets) == 2
    targets.discovered(f"h{number}:1" for number in range(10_000))
    assert len(targets) == 258


def test_learnt_targets_ask_for_tls_where_a_configured_one_does() -> None:
    targets = RemoteUrls(["tls://u:p@a:1"], None)
    targets.discovered(["b:2"])
    assert [(str(target), target.secure) for target in (targets.next(), targets.next())] == [
        ("b:2", True),
        ("a:1", True),
    ]


def test_credentials_are_read_and_sign(tmp_path: Path) -> None:
    account, user = KeyPair.create(KeyRole.ACCOUNT), KeyPair.create(KeyRole.USER)
    token = encode(UserClaims.new(user.public_key, "leaf"), account, now=1_000_000_000)
    path = tmp_path / "user.creds"
    write_credentials(path, token, user.seed)
    assert read_credentials(str(path)) == (token, user.seed)
    public, signature = sign(user.seed, "nonce")
    assert public == user.public_key
    assert verify(public, b"nonce", base64.urlsafe_b64decode(signature + "=="))


def test_bad_credentials_are_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(LeafCredentialsError, match=r"none"):
        read_credentials(str(tmp_path / "none"))
    (tmp_path / "half").write_text("-----BEGIN NATS USER JWT-----\nj\n------END NATS USER JWT------\n")
    with pytest.raises(LeafCredentialsError, match=r"half: not a credentials file"):
        read_credentials(str(tmp_path / "half"))
    with pytest.raises(LeafCredentialsError, match="malformed seed"):
        sign("SUNONSENSE", "nonce")
