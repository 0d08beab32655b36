"""Permissions against the functions for single pairs: what the lists allow, entry by entry."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyjs.native import PlanFields, deliver_publishes
from pyjs.native.deliveries import deliver_publishes as plain_twin
from pyjs.protocol.subject import collide, has_wildcard, is_literal, is_subset, matches
from pyjs.server.accounts.permissions import Permissions
from pyjs.server.config.options import PermissionsOptions
from pyjs.server.config.options.authorization import SubjectPermission

TOKENS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3)
SUBJECT = st.builds(lambda head, rest: ".".join([*head, *rest]), TOKENS, st.sampled_from([[], [">"]]))
LISTS = st.lists(SUBJECT, max_size=5)
LITERAL = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4).map(".".join)


def made(allow: list[str] | None, deny: list[str]) -> Permissions:
    side = SubjectPermission(allow, deny)
    return Permissions(PermissionsOptions(publish=side, subscribe=side))


@given(st.none() | LISTS, LISTS, LITERAL)
def test_what_may_be_published_and_received(allow: list[str] | None, deny: list[str], subject: str) -> None:
    permissions = made(allow, deny)
    denied = any(matches(one, subject) for one in deny)
    allowed = allow is None or any(matches(one, subject) for one in allow)
    assert permissions.may_publish(subject) == (allowed and not denied)
    assert permissions.may_subscribe(subject) == (allowed and not denied)
    assert permissions.may_receive(subject, "") == (not denied)


@given(st.none() | LISTS, LISTS, SUBJECT)
def test_what_may_be_subscribed_to(allow: list[str] | None, deny: list[str], subject: str) -> None:
    permissions = made(allow, deny)
    allowed = allow is None or any(is_subset(subject, one) for one in allow)
    assert permissions.may_subscribe(subject) == (allowed and not any(matches(one, subject) for one in deny))
    wanted = has_wildcard(subject) and any(collide(subject, one) for one in deny)
    assert permissions.needs_filter(subject) == wanted


def test_a_deny_with_more_behind_its_rest_denies_the_rest() -> None:
    permissions = made(None, ["a.>.b"])
    assert not permissions.may_publish("a.x")
    assert not permissions.may_publish("a.x.b")
    assert permissions.may_publish("a")
    assert not made(None, [">.c"]).may_publish("x")


def test_queues_in_the_lists_decide() -> None:
    permissions = made(["a.* q", "b"], ["c.* secret"])
    assert permissions.may_subscribe("a.1", "q")
    assert not permissions.may_subscribe("a.1", "r")
    assert not permissions.may_subscribe("a.1")
    assert permissions.may_subscribe("b", "any")
    only = made(None, ["c.* secret"])
    assert only.may_subscribe("c.1")
    assert only.may_subscribe("c.1", "open")
    assert not only.may_subscribe("c.1", "secret")
    assert only.may_receive("c.1", "open")
    assert not only.may_receive("c.1", "secret")


tokens = st.lists(st.sampled_from(["a", "b", "*", ">", "é", ""]), min_size=1, max_size=4).map(".".join)


@given(st.none() | st.lists(tokens, max_size=3), st.lists(tokens, max_size=3), tokens)
def test_the_rules_decide_as_the_lists_do(allow: list[str] | None, deny: list[str], subject: str) -> None:
    """Or not at all: what the rules do not permit is decided by the lists."""
    permissions = made(allow, deny)
    rules = permissions.publish_rules()
    assert rules is not None
    raw = subject.encode()
    plan = PlanFields()
    plan.targets_for, plan.choices, plan.callbacks, plan.wide = ((),), (), (), 0
    plan.simple, plan.special, plan.silent = True, False, False
    frame = b"PUB %b 0\r\n\r\n" % raw
    lookups: tuple[Any, ...] = {raw: plan}, {}, b".", {}, {}, {}, {}, {}, None
    limits = frame, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    for function in (deliver_publishes, plain_twin):
        _, permitted, *_ = function(lookups, rules, 0, b"#", [], [], 1, *limits)
        if is_literal(subject):
            assert permitted == permissions.may_publish(subject)
        else:
            assert not permitted


def test_many_patterns_are_no_rules() -> None:
    assert made([f"a.{number}" for number in range(33)], []).publish_rules() is None
