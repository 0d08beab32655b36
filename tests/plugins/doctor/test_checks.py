"""Each check of an examination finds its fault, and is silent without it: facts in, findings out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from lib.source_facts import ROOT
from pyjs.plugins.doctor.checks import of_facts
from pyjs.plugins.doctor.expiry import DAY, SECOND
from pyjs.plugins.doctor.facts import (
    ConnectionFacts,
    ConnectionSettings,
    DoctorFacts,
    Failure,
    JetStreamFacts,
    ServerFacts,
    TrustedOperator,
)
from pyjs.plugins.doctor.jetstream_checks import OF_CONSUMERS, OF_STREAMS
from pyjs.plugins.explain.publisher import publisher_of

NOW = 1_800_000_000 * SECOND
HOUR = 3600 * SECOND
CLUSTER = {"name": "C", "leader": "a", "replicas": [{"name": "b"}, {"name": "c"}]}


def stream(state: dict[str, Any] | None = None, **config: Any) -> dict[str, Any]:
    """The info of a stream that is well, with changes."""
    usual = {"name": "ORDERS", "subjects": ["orders.>"], "num_replicas": 3, "duplicate_window": 120 * SECOND}
    found = {"config": usual | config, "state": {"messages": 1, "bytes": 40, "last_seq": 1, **(state or {})}}
    return {**found, "cluster": CLUSTER, "created": "2026-11-23T08:00:00Z", "ts": "2026-11-23T09:00:00Z"}


def consumer(**more: Any) -> dict[str, Any]:
    """The info of a consumer that is well, with changes."""
    config = {
        "durable_name": "NEW",
        "ack_policy": "explicit",
        "max_ack_pending": 1000,
        "ack_wait": 30 * SECOND,
    }
    position = {"consumer_seq": 9, "stream_seq": 9, "last_active": "2026-11-23T08:00:00Z"}
    return {
        "stream_name": "ORDERS", "name": "NEW", "config": config, "delivered": position,
        "ack_floor": position, "num_ack_pending": 0, "created": "2026-11-23T08:00:00Z",
        "ts": "2026-11-23T09:00:00Z", **more,
    }  # fmt: skip


NOBODY = {"consumer_seq": 0, "stream_seq": 0}
NO_ACKS = {"user": "u", "permissions": {"publish": {"deny": ["$JS.ACK.>"]}}}
IDLE = {"delivered": NOBODY, "ack_floor": NOBODY}


def configured(**changes: Any) -> dict[str, Any]:
    """The configuration of such a consumer, with changes, as a part of its info."""
    return {"config": consumer()["config"] | changes}


OPERATOR = TrustedOperator("OA", "acme", NOW - DAY, NOW + 31 * DAY)
PEERS = [{"name": "b", "current": True, "lag": 2}, {"name": "c", "current": True}]


def server(name: str, **changes: Any) -> ServerFacts:
    """A server of three that are well, with changes."""
    meta = {"leader": "a", **({"replicas": PEERS} if name == "a" else {})}
    usual = ServerFacts(
        name, "C", "hub", "2.15.1", "2026-11-23T08:00:00Z", {"clients": 0}, 0, (OPERATOR,), meta
    )
    return replace(usual, **changes)


SOUND = DoctorFacts(
    NOW,
    ConnectionSettings(
        context="prod",
        file="/c/prod.json",
        mode=0o600,
        user="ada",
        credentials_end=NOW + 8 * DAY,
        certificate="/c/me.pem",
        certificate_end=NOW + 31 * DAY,
        secret=True,
    ),
    ConnectionFacts(
        "tls://nats:4222", encrypted=True, loopback=False, rtt=SECOND // 100, ahead=SECOND,
        certificate_end=NOW + 31 * DAY,
    ),
    JetStreamFacts(
        {"domain": "hub", "streams": 1, "consumers": 1, "limits": {"max_streams": 10, "max_consumers": -1}},
        (stream(),),
        consumers={"ORDERS": (consumer(),)},
    ),
    (server("a"), server("b"), server("c")),
)  # fmt: skip


def given(**changes: Any) -> DoctorFacts:
    return replace(SOUND, settings=replace(SOUND.settings, **changes))


def linked(**changes: Any) -> DoctorFacts:
    assert isinstance(SOUND.link, ConnectionFacts)
    return replace(SOUND, link=replace(SOUND.link, **changes))


def having(**changes: Any) -> DoctorFacts:
    assert isinstance(SOUND.jetstream, JetStreamFacts)
    return replace(SOUND, jetstream=replace(SOUND.jetstream, **changes))


def mirrored(status: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """One stream, a mirror that goes so."""
    return (stream(subjects=[], mirror={"name": "O"}) | {"mirror": status},)


def served(**changes: Any) -> DoctorFacts:
    """Three servers, the last of which has changes."""
    return replace(SOUND, servers=(server("a"), server("b"), server("c", **changes)))


def led(**changes: Any) -> DoctorFacts:
    """Three servers, whose meta leader says something else of its second peer."""
    meta = {"leader": "a", "replicas": [PEERS[0], {**PEERS[1], **changes}]}
    return replace(SOUND, servers=(server("a", meta=meta), server("b"), server("c")))


def limited(**more: Any) -> DoctorFacts:
    return having(account={"streams": 9, "limits": {"max_streams": 10}, **more})


UNAVAILABLE = Failure("JetStream system temporarily unavailable (10008)", ("there is no leader",))
MISSING = Failure("no responders", ("nobody answers",), absent=True)
# name: facts, (severity, check) of what is found, and what its text has
CASES: dict[str, tuple[DoctorFacts, list[tuple[str, str]], str]] = {
    "sound": (SOUND, [], ""),
    "no connection": (
        replace(SOUND, link=Failure("no server", ("nobody answers",))),
        [("error", "connection")],
        "No server. Nobody answers.",
    ),
    "far away": (linked(rtt=SECOND), [("warning", "round_trip")], "1.00s"),
    "a secret in the open": (linked(encrypted=False), [("warning", "plain_secret")], "without encryption"),
    "a secret on this machine": (linked(encrypted=False, loopback=True), [], ""),
    "overridden": (given(overridden=("NATS_URL",)), [("warning", "overridden")], "NATS_URL"),
    "variables without a context": (given(overridden=("NATS_URL",), context=""), [], ""),
    "a readable file": (given(mode=0o644), [("warning", "readable_secret")], "others"),
    "a clock ahead": (linked(ahead=5 * SECOND), [("warning", "clock")], "5.00s ahead of"),
    "a clock behind": (linked(ahead=-HOUR), [("warning", "clock")], "1h0m0s behind"),
    "a clock that nobody knows well": (linked(ahead=2 * SECOND + 1, rtt=SECOND // 2), [], ""),
    "no clock": (linked(ahead=None), [], ""),
    "the server's certificate": (
        linked(certificate_end=NOW + 20 * DAY),
        [("warning", "server_certificate")],
        "The certificate of nats:4222 expires in 20d",
    ),
    "the server's certificate, urgent": (
        linked(certificate_end=NOW + DAY),
        [("error", "server_certificate")],
        "1d",
    ),
    "the client's certificate": (
        given(certificate_end=NOW - DAY),
        [("error", "client_certificate")],
        "expired 1d",
    ),
    "a token": (given(credentials_end=NOW + 2 * DAY), [("warning", "credentials")], "expires in 2d"),
    "a token that has expired": (given(credentials_end=NOW - 1), [("error", "credentials")], "expired"),
    "a refused question": (
        linked(refusals=("Permissions Violation for Publish", "Permissions Violation for Publish")),
        [("warning", "permissions")],
        "Permissions Violation",
    ),
    "questions to servers that are refused": (
        linked(refusals=tuple(f'violation for Publish to "$SYS.REQ.{each}"' for each in ("A", "B"))),
        [("note", "permissions")],
        "may not ask",
    ),
    "no inbox": (
        linked(refusals=tuple(f'violation for Subscription to "_INBOX.{each}"' for each in ("A.*", "B"))),
        [("error", "inbox")],
        "to _INBOX.A.*, where answers come to",
    ),
    "no JetStream": (replace(SOUND, jetstream=MISSING), [("warning", "jetstream")], "Nobody answers."),
    "no such domain": (
        replace(given(domain="leaf"), jetstream=MISSING),
        [("error", "jetstream")],
        "In the domain leaf: No responders.",
    ),
    "no leader of JetStream": (
        replace(SOUND, jetstream=UNAVAILABLE),
        [("error", "jetstream")],
        "no leader",
    ),
    "an offline stream": (having(missing=("LOST",)), [("error", "no_leader")], "Nobody answers"),
    "few more streams": (limited(), [("warning", "streams_limit")], "9 of at most 10"),
    "no more streams": (limited(streams=10), [("error", "streams_limit")], "10 of at most 10"),
    "one replica": (having(streams=(stream(num_replicas=1),)), [("warning", "one_replica")], "without a it"),
    "one replica of one server": (
        having(streams=(stream(num_replicas=1) | {"cluster": {"leader": "a"}},)),
        [],
        "",
    ),
    "near a limit": (
        having(streams=(stream({"messages": 9}, max_msgs=10, discard="new"),)),
        [("warning", "limit_near")],
        "9 of at most 10",
    ),
    "at a limit": (
        having(streams=(stream({"messages": 10}, max_msgs=10, discard="new"),)),
        [("error", "limit_reached")],
        "refused",
    ),
    "the oldest go": (having(streams=(stream({"messages": 10}, max_msgs=10, discard="old"),)), [], ""),
    "near the account's limit, told once": (
        having(
            account={"storage": 9500, "limits": {"max_storage": 10_000}},
            streams=(stream(), stream(name="OTHER")),
        ),
        [("warning", "account_limit_near")],
        "9.3 KiB of at most 9.8 KiB",
    ),
    "a long window": (
        having(streams=(stream(duplicate_window=2 * HOUR),)),
        [("warning", "long_duplicate_window")],
        "2h0m0s",
    ),
    "a short window": (
        having(streams=(stream(duplicate_window=SECOND),)),
        [("note", "short_duplicate_window")],
        "1s",
    ),
    "no more consumers": (
        having(streams=(stream({"consumer_count": 2}, max_consumers=2),)),
        [("warning", "consumer_limit")],
        "2 of at most 2",
    ),
    "no more consumers in the account's streams": (
        having(
            account={"limits": {"max_consumers": 2}},
            streams=(stream({"consumer_count": 2}, max_consumers=3),),
        ),
        [("warning", "consumer_limit")],
        "2 of at most 2",
    ),
    "never acknowledged": (
        having(consumers={"ORDERS": (consumer(ack_floor=NOBODY, num_ack_pending=9),)}),
        [("warning", "never_acked")],
        "9 messages were delivered",
    ),
    "just delivered": (
        having(
            consumers={
                "ORDERS": (
                    consumer(
                        ack_floor=NOBODY,
                        num_ack_pending=9,
                        delivered={"consumer_seq": 9, "stream_seq": 9, "last_active": "2026-11-23T08:59:59Z"},
                    ),
                )
            }
        ),
        [],
        "",
    ),
    "all that may be pending is": (
        having(consumers={"ORDERS": (consumer(num_ack_pending=1000),)}),
        [("error", "max_ack_pending")],
        "1,000 of at most 1,000",
    ),
    "given up": (
        having(consumers={"ORDERS": (consumer(**configured(max_deliver=3), num_redelivered=2),)}),
        [("warning", "given_up")],
        "2 messages were given up: delivered 3 times",
    ),
    "given up, of all that was delivered": (
        having(
            consumers={
                "ORDERS": (consumer(**configured(max_deliver=3), num_redelivered=2, ack_floor=NOBODY),)
            }
        ),
        [("error", "given_up")],
        "No message was ever acknowledged",
    ),
    "delivered again, and without a limit": (
        having(consumers={"ORDERS": (consumer(num_redelivered=2, num_ack_pending=1),)}),
        [],
        "",
    ),
    "a user who may not acknowledge": (
        having(
            publisher=publisher_of(NO_ACKS),
            consumers={"ORDERS": (consumer(num_ack_pending=1, ack_floor=NOBODY),)},
        ),
        [("warning", "never_acked"), ("warning", "ack_refused")],
        "",
    ),
    "one who may not, where others do": (
        having(publisher=publisher_of(NO_ACKS), consumers={"ORDERS": (consumer(num_ack_pending=1),)}),
        [],
        "",
    ),
    "a mirror that was never heard": (
        having(streams=mirrored({"name": "O", "active": -1, "lag": 0})),
        [("error", "origin_silent")],
        "The mirror O was never heard",
    ),
    "a mirror that brings an error": (
        having(streams=mirrored({"name": "O", "active": -1, "error": {"err_code": 1, "description": "no"}})),
        [("error", "origin_refuses")],
        "Nothing comes from the mirror O: no (1)",
    ),
    "a mirror that is late": (
        having(streams=mirrored({"name": "O", "active": 1, "lag": 2000})),
        [("warning", "origin_behind")],
        "2,000 messages",
    ),
    "a mirror that is nearly there": (having(streams=mirrored({"name": "O", "active": 1, "lag": 2})), [], ""),
    "paused": (
        having(consumers={"ORDERS": (consumer(paused=True, pause_remaining=HOUR),)}),
        [("warning", "paused")],
        "for another 1h",
    ),
    "nobody listens": (
        having(consumers={"ORDERS": (consumer(**configured(deliver_subject="to")),)}),
        [("warning", "no_push_interest")],
        "Nobody subscribes to to",
    ),
    "nobody listens to what nobody keeps": (
        having(
            consumers={
                "ORDERS": (
                    consumer(
                        **configured(deliver_subject="to", durable_name="", inactive_threshold=5 * SECOND)
                    ),
                )
            }
        ),
        [],
        "",
    ),
    "somebody listens": (
        having(consumers={"ORDERS": (consumer(**configured(deliver_subject="to"), push_bound=True),)}),
        [],
        "",
    ),
    "a filter that matches nothing": (
        having(consumers={"ORDERS": (consumer(**configured(filter_subject="orders.eu.>"), **IDLE),)}),
        [("warning", "filter_matches_nothing")],
        "none is on orders.eu.>",
    ),
    "a filter that cannot match": (
        having(consumers={"ORDERS": (consumer(**configured(filter_subject="order.new"), **IDLE),)}),
        [("error", "filter_impossible")],
        "Did you mean orders.new?",
    ),
    "a filter of a client that watches": (
        having(
            consumers={
                "ORDERS": (
                    consumer(
                        **configured(
                            filter_subject="orders.eu.>", durable_name="", inactive_threshold=5 * SECOND
                        ),
                        **IDLE,
                    ),
                )
            }
        ),
        [],
        "",
    ),
    "a filter for new messages": (
        having(
            consumers={
                "ORDERS": (
                    consumer(**configured(filter_subject="orders.eu.>", deliver_policy="new"), **IDLE),
                )
            }
        ),
        [],
        "",
    ),
    "a filter that has matched": (
        having(consumers={"ORDERS": (consumer(**configured(filter_subject="orders.eu.>")),)}),
        [],
        "",
    ),
    "cut off": (
        served(slow_consumers={"clients": 2, "routes": 1, "leafs": 0}),
        [("warning", "slow_consumers")],
        "3 connections",
    ),
    "one cut off": (
        served(slow_consumers={"clients": 1}),
        [("warning", "slow_consumers")],
        "1 connection that",
    ),
    "versions in a cluster": (
        served(version="2.14.0"),
        [("warning", "mixed_versions")],
        "1 of 2.14.0, 2 of 2.15.1",
    ),
    "versions of a leaf": (
        served(version="2.14.0", cluster="", domain="leaf", meta=None),
        [("note", "mixed_versions")],
        "1 of 2.14.0",
    ),
    "synced late, in a cluster": (
        served(sync_interval=120 * SECOND),
        [("note", "sync_interval")],
        "c syncs stored messages only every 2m0s",
    ),
    "synced late, alone": (
        served(sync_interval=120 * SECOND, cluster="", meta=None),
        [("warning", "sync_interval")],
        "a power cut loses them",
    ),
    "no JetStream, no syncs": (served(sync_interval=None, meta=None), [], ""),
    "another operator": (
        served(operators=(replace(OPERATOR, key="OB"),)),
        [("error", "operators_differ")],
        "trust different operators",
    ),
    "another operator, of a leaf": (
        served(operators=(replace(OPERATOR, key="OB"),), cluster="", domain="leaf", meta=None),
        [],
        "",
    ),
    "an older token": (
        served(operators=(replace(OPERATOR, issued=NOW - 2 * DAY),)),
        [("warning", "operators_differ")],
        "c has an older token of the operator acme",
    ),
    "an operator's token": (
        replace(SOUND, servers=(server("a", operators=(replace(OPERATOR, expires=NOW + 20 * DAY),)),)),
        [("warning", "operator_token")],
        "expires in 20d",
    ),
    "an operator's token that has expired": (
        replace(SOUND, servers=(server("a", operators=(replace(OPERATOR, expires=NOW - DAY),)),)),
        [("error", "operator_token")],
        "expired 1d",
    ),
    "an operator's token for ever": (
        replace(SOUND, servers=(server("a", operators=(replace(OPERATOR, expires=None),)),)),
        [],
        "",
    ),
    "no meta leader": (
        replace(SOUND, servers=tuple(server(name, meta={"leader": ""}) for name in "abc")),
        [("error", "no_meta_leader")],
        "of the domain hub has no leader",
    ),
    "two meta leaders": (
        served(meta={"leader": "c"}),
        [("error", "meta_leaders_differ")],
        "different leaders",
    ),
    "no meta leader for one": (served(meta={"leader": ""}), [("error", "meta_leaders_differ")], "or none"),
    "a meta peer is offline": (
        led(offline=True),
        [("warning", "meta_peer")],
        "c of the meta group is offline",
    ),
    "a meta peer is behind": (led(lag=5000), [("warning", "meta_peer")], "5,000 operations behind"),
    "no servers tell": (
        replace(given(system="sys"), servers=Failure("no results received")),
        [("error", "system_account")],
        "No results received.",
    ),
    "nobody may ask for servers": (replace(SOUND, servers=()), [], ""),
    "the system account has no JetStream": (replace(linked(system=True), jetstream=MISSING), [], ""),
    "too many streams": (having(unread=3), [("note", "not_examined")], "3 streams"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_check_finds_its_fault_and_nothing_else(case: str) -> None:
    facts, expected, text = CASES[case]
    found = [each for each in of_facts(facts) if each.check != "jetstream_domain"]
    assert [(each.severity, each.check) for each in found] == expected
    assert all(text in each.text and each.commands for each in found)


def test_files_are_quoted_for_a_shell() -> None:
    (found,) = [each for each in of_facts(given(mode=0o644, file="/c/a;reboot")) if each.commands]
    assert found.commands == ("chmod 600 '/c/a;reboot'",)


def test_every_check_is_on_the_page() -> None:
    page = (ROOT / "docs/cli/doctor.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| (`\w+`(?:, `\w+`)*) \|", page)
    named = {name.strip("`") for row in rows for name in row.split(", ")}
    made = {check for _, expected, _ in CASES.values() for _, check in expected}
    assert named == made | OF_STREAMS | OF_CONSUMERS | {"jetstream_domain", "sealed", "tiers"}
