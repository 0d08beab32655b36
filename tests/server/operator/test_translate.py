"""Claims are translated to limits, JetStream's grants, permissions, mappings and exports."""

from __future__ import annotations

from typing import Any

import pytest
from pyjs.keys import AccountClaims, KeyPair, KeyRole
from pyjs.keys.claims.parts import Permissions as Given
from pyjs.server.accounts.exports import DEFAULT_RESPONSE_THRESHOLD, ResponseType
from pyjs.server.accounts.token_permissions import permissions
from pyjs.server.operator import translate

KEY = KeyPair.create(KeyRole.ACCOUNT).public_key
UNLIMITED = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}


def claims(**fields: Any) -> AccountClaims:
    made = AccountClaims.new(KEY, "A")
    made.nats = type(made.nats).model_validate(made.nats.document() | fields)
    return made


def test_limits_that_are_absent_are_nothing() -> None:
    spec, _ = translate.make_spec(claims(limits={}))
    limits = spec.limits
    assert (limits.connections, limits.subscriptions, limits.payload, limits.leafs) == (0, 0, 0, 0)
    limits = translate.make_spec(claims(limits=UNLIMITED))[0].limits
    assert (limits.connections, limits.subscriptions, limits.payload, limits.leafs) == (-1, -1, -1, -1)


def test_jetstream_is_off_without_storage() -> None:
    assert translate.grants(claims(limits=UNLIMITED | {"streams": 5}).nats.limits) is None


def test_jetstream_for_the_account_as_a_whole() -> None:
    given = {"mem_storage": 10, "disk_storage": -1, "streams": 3, "consumer": 4, "max_bytes_required": True}
    grants = translate.grants(claims(limits=given).nats.limits)
    assert grants is not None
    assert list(grants) == [""]
    share = grants[""]
    assert (share.max_memory, share.max_store, share.max_streams, share.max_consumers) == (10, -1, 3, 4)
    assert share.max_bytes_required
    # 0 is without limit for these
    assert (share.max_ack_pending, share.memory_max_stream_bytes, share.store_max_stream_bytes) == (
        -1,
        -1,
        -1,
    )


def test_jetstream_by_tiers() -> None:
    tiers = {"R1": {"disk_storage": 100, "max_ack_pending": 7}, "R3": {"mem_storage": 50, "streams": -1}}
    grants = translate.grants(claims(limits={"tiered_limits": tiers}).nats.limits)
    assert grants is not None
    assert sorted(grants) == ["R1", "R3"]
    assert (grants["R1"].max_store, grants["R1"].max_memory, grants["R1"].max_ack_pending) == (100, 0, 7)
    assert (grants["R3"].max_store, grants["R3"].max_memory, grants["R3"].max_streams) == (0, 50, -1)


def test_permissions() -> None:
    assert permissions(Given()) is None
    given = Given.model_validate({"pub": {"allow": ["a"], "deny": ["a.b"]}, "sub": {"deny": ["x"]}})
    made = permissions(given)
    assert made is not None
    assert made.may_publish("a")
    assert not made.may_publish("b")
    assert made.may_subscribe("y")
    assert not made.may_subscribe("x")
    assert made.responses is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max": 0, "ttl": 0}, (1, 120_000_000_000)),
        ({"max": 5, "ttl": 7}, (5, 7)),
        ({"max": -1, "ttl": -1}, (-1, -1)),
    ],
)
def test_leave_to_answer_means_no_other_publishing(given: dict[str, int], expected: tuple[int, int]) -> None:
    made = permissions(Given.model_validate({"resp": given}))
    assert made is not None
    assert made.responses == expected
    assert not made.may_publish("a")
    assert made.may_subscribe("a")


def test_mappings_by_cluster() -> None:
    given = claims(
        mappings={
            "a": [{"subject": "b"}, {"subject": "c", "cluster": "EAST"}],
            "only": [{"subject": "there", "cluster": "WEST"}],
            "bad": [{"subject": "same", "weight": 10}, {"subject": "same", "weight": 10}],
        }
    )
    for cluster, expected in (("", "b"), ("EAST", "c"), ("WEST", "b")):
        spec, errors = translate.make_spec(given, cluster)
        found = spec.mappings.find("a")
        assert found is not None
        assert found.choose("a", lambda: 0.5) == expected
        assert (spec.mappings.find("only") is not None) == (cluster == "WEST")
        assert list(errors) == ["mapping 'bad'"]


def test_weights_and_what_is_left() -> None:
    spec, _ = translate.make_spec(claims(mappings={"a": [{"subject": "b", "weight": 30}]}))
    found = spec.mappings.find("a")
    assert found is not None
    assert [found.choose("a", lambda point=point: point) for point in (0.2, 0.4)] == ["b", "a"]  # type: ignore[misc]


def test_exports() -> None:
    spec, _ = translate.make_spec(
        claims(
            exports=[
                {"subject": "s.>", "type": "stream", "token_req": True},
                {"subject": "q.*", "type": "service", "account_token_position": 2},
                {"subject": "c", "type": "service", "response_type": "Chunked", "response_threshold": 5},
            ]
        )
    )
    (stream,) = spec.streams
    positioned, chunked = spec.services
    assert stream.private
    assert not stream.allows(KEY, "s.x")
    assert positioned.allows(KEY, f"q.{KEY}")
    assert not positioned.allows(KEY, "q.other")
    assert (positioned.response_type, positioned.threshold) == (
        ResponseType.SINGLETON,
        DEFAULT_RESPONSE_THRESHOLD,
    )
    assert (chunked.response_type, chunked.threshold) == (ResponseType.CHUNKED, 5)
