"""Permissions on a live connection: refusals, filters on delivery, replies."""

from __future__ import annotations

from typing import Any

import pytest
from lib.fake_wire import ClientsFixture, FakeClient
from pyjs.server.config.options import (
    AuthorizationOptions,
    Options,
    PermissionsOptions,
    ResponsePermission,
    SubjectPermission,
    UserOptions,
)

SECOND = 1_000_000_000


def options(publish: Any = None, subscribe: Any = None, responses: Any = None) -> Options:
    permissions = PermissionsOptions(publish, subscribe, responses)
    users = [UserOptions("u", "p", permissions=permissions), UserOptions("root", "p")]
    return Options(authorization=AuthorizationOptions(users=users))


def clients(given: Options) -> tuple[ClientsFixture, FakeClient, FakeClient]:
    fixture = ClientsFixture(given)
    return (
        fixture,
        fixture.connected(user="u", **{"pass": "p"}),
        fixture.connected(user="root", **{"pass": "p"}),
    )


def test_publishing_is_allowed_by_subject() -> None:
    _, user, root = clients(options(SubjectPermission(["a.*"], ["a.no"])))
    root.says("SUB > 1\r\n")
    assert user.says("PUB a.x 0\r\n\r\n") == b""
    assert user.says("PUB b 0\r\n\r\n") == b"-ERR 'Permissions Violation for Publish to \"b\"'\r\n"
    assert user.says("PUB a.no 0\r\n\r\n") == b"-ERR 'Permissions Violation for Publish to \"a.no\"'\r\n"
    assert root.read() == b"MSG a.x 1 0\r\n\r\n"
    assert not user.closed


def test_an_empty_allow_list_allows_nothing() -> None:
    _, user, _ = clients(options(SubjectPermission([]), SubjectPermission([])))
    assert user.says("PUB a 0\r\n\r\nSUB a 1\r\n").count(b"Permissions Violation") == 2


@pytest.mark.parametrize(
    ("subject", "queue", "ok"),
    [
        ("free", "", True),
        ("free", "any", True),
        ("work", "", False),
        ("work", "v1", True),
        ("work", "v9", False),
        ("work", "v2.x", True),
        ("free", "bad.prod", False),
        ("wide.a", "", True),
        ("wide.>", "", False),
        ("wide.*", "", True),
        ("no.x", "", False),
        ("no.>", "", False),
    ],
)
def test_subscribing_is_allowed_by_subject_and_queue(subject: str, queue: str, ok: bool) -> None:
    allow = ["free", "work v1", "work v2.*", "wide.*", "no.>"]
    _, user, _ = clients(options(subscribe=SubjectPermission(allow, ["> *.prod", "no.*"])))
    refused = user.says(f"SUB {subject} {queue} 1\r\n")
    assert bool(refused) != ok
    if not ok:
        using = f' using queue "{queue}"' if queue else ""
        expected = f"-ERR 'Permissions Violation for Subscription to \"{subject}\"{using}'\r\n"
        assert refused == expected.encode()


def test_denied_messages_of_a_wildcard_are_left_out() -> None:
    _, user, root = clients(options(subscribe=SubjectPermission(deny=["a.secret.>"])))
    user.says("SUB a.> 1\r\nSUB b 2\r\n")
    root.says("PUB a.x 0\r\n\r\nPUB a.secret.x 0\r\n\r\nPUB b 0\r\n\r\n")
    assert user.read() == b"MSG a.x 1 0\r\n\r\nMSG b 2 0\r\n\r\n"


def test_a_request_earns_the_right_to_answer_it_once() -> None:
    given = options(SubjectPermission(["pub"]), None, ResponsePermission())
    fixture, user, root = clients(given)
    user.says("SUB svc 1\r\n")
    root.says("SUB r.> 2\r\n")
    assert b"Violation" in user.says("PUB r.1 0\r\n\r\n")
    root.says("PUB svc r.1 0\r\n\r\n")
    user.read()
    assert user.says("PUB r.1 0\r\n\r\n") == b""
    assert b"Violation" in user.says("PUB r.1 0\r\n\r\n")
    root.says("PUB svc r.2 0\r\n\r\n")
    user.read()
    fixture.clock.advance(121 * SECOND)
    for one in (user, root):
        one.says("PONG\r\n")
    assert b"Violation" in user.says("PUB r.2 0\r\n\r\n")


def test_without_an_allow_list_only_replies_may_be_published() -> None:
    _, user, root = clients(options(responses=ResponsePermission(max_msgs=2, expires=-1)))
    assert b"Violation" in user.says("PUB anything 0\r\n\r\n")
    user.says("SUB svc 1\r\n")
    root.says("PUB svc r 0\r\n\r\n")
    user.read()
    assert user.says("PUB r 0\r\n\r\n" * 3).count(b"Violation") == 1


def test_replies_remembered_are_bounded() -> None:
    _, user, root = clients(options(responses=ResponsePermission(max_msgs=-1, expires=-1)))
    user.says("SUB svc 1\r\n")
    for start in range(0, 10_000, 500):
        root.says("".join(f"PUB svc r.{i} 0\r\n\r\n" for i in range(start, start + 500)))
        user.read()
    assert len(user.connection.client_permissions._replies) <= 4096
    assert user.says("PUB r.9999 0\r\n\r\n") == b""


def test_a_reload_takes_subscriptions_away_and_says_so() -> None:
    fixture, user, root = clients(options(subscribe=SubjectPermission(["a.>", "b"])))
    user.says("SUB a.x 1\r\nSUB b q 2\r\nSUB a.> 3\r\n")
    fixture.reload(options(subscribe=SubjectPermission(["a.>"], ["a.no"])))
    expected = '-ERR \'Permissions Violation for Subscription to "b" using queue "q" (sid "2")\'\r\n'
    assert user.read() == expected.encode()
    root.says("PUB a.x 0\r\n\r\nPUB b 0\r\n\r\nPUB a.no 0\r\n\r\n")
    assert sorted(user.read().split(b"\r\n\r\n")) == [b"", b"MSG a.x 1 0", b"MSG a.x 3 0"]
    assert not user.closed


def test_a_reload_gives_permissions_back() -> None:
    fixture, user, _ = clients(options(SubjectPermission(["a"])))
    assert b"Violation" in user.says("PUB b 0\r\n\r\n")
    fixture.reload(options())
    assert user.says("SUB b 1\r\nPUB b 0\r\n\r\n") == b"MSG b 1 0\r\n\r\n"


def test_a_reload_closes_who_is_no_longer_welcome() -> None:
    fixture, user, root = clients(options())
    changed = options()
    changed.authorization.users = [UserOptions("root", "p"), UserOptions("u", "other")]
    fixture.reload(changed)
    assert (user.closed, root.closed) == ("Authentication Expired", "")
    assert user.read() == b"-ERR 'Authorization Violation'\r\n"


def test_a_reload_moves_users_to_their_new_account() -> None:
    from pyjs.server.config.options import AccountOptions

    fixture, user, root = clients(options())
    user.says("SUB a 1\r\n")
    moved = Options(
        authorization=AuthorizationOptions(users=[UserOptions("root", "p")]),
        accounts={"N": AccountOptions(name="N", users=[UserOptions("u", "p")])},
    )
    fixture.reload(moved)
    root.says("PUB a 0\r\n\r\n")
    assert user.read() == b""
    assert user.says("PUB a 0\r\n\r\n") == b"MSG a 1 0\r\n\r\n"
    assert fixture.registry.global_account.connections == {root.connection}


def test_a_reload_with_fewer_connections_closes_the_latest() -> None:
    fixture, user, root = clients(options())
    fewer = options()
    fewer.max_connections = 1
    fixture.reload(fewer)
    assert (user.closed, root.closed) == ("", "Maximum Connections Exceeded")
