"""What needs a cluster in trouble to be seen on a server, from documents as such servers send them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from pyjs.cli.errors import ExitCode, RemoteError
from pyjs.cli.jetstream import JsApi
from pyjs.cli.profile import Profile
from pyjs.cli.proposal import command
from pyjs.keys.nkey import KeyPair, KeyRole
from pyjs.plugins.explain import finding, origin_findings, publisher, queries, stream_findings
from pyjs.plugins.explain.account_origin import origin_of
from pyjs.plugins.explain.stream_facts import StreamFacts

SECOND = 10**9


def info(**more: Any) -> dict[str, Any]:
    """The answer of STREAM.INFO for a stream that is well."""
    return {
        "config": {"name": "ORDERS", "subjects": ["orders.>"], "num_replicas": 3},
        "state": {"messages": 1, "bytes": 40, "first_seq": 1, "last_seq": 1},
        "created": "2026-11-23T08:00:00Z",
        "ts": "2026-11-23T09:00:00Z",
        **more,
    }


def cluster(leader: str = "a", **peer: Any) -> dict[str, Any]:
    """A cluster of three, one of which is `peer`."""
    sound = {"current": True, "active": 1000, "lag": 0}
    return {
        "name": "C",
        "leader": leader,
        "replicas": [{"name": "b", **sound}, {"name": "c", **sound, **peer}],
    }


@pytest.mark.parametrize(
    ("found", "checks"),
    [
        (cluster(), []),
        (cluster(leader=""), ["no_leader"]),
        (cluster(offline=True), ["replica_offline"]),
        (cluster(lag=5000), ["replica_behind"]),
        (cluster(lag=5), []),
        ({"leader": "a"}, []),
    ],
)
def test_the_servers_of_a_stream(found: dict[str, Any], checks: list[str]) -> None:
    findings = stream_findings.of_stream(StreamFacts(info(cluster=found)))
    assert [each.check for each in findings] == checks
    for each in findings:
        assert each.code is (ExitCode.UNAVAILABLE if each.check == "no_leader" else ExitCode.FAILED)


def test_lost_messages() -> None:
    lost = info(state={"messages": 1, "last_seq": 3, "lost": {"msgs": [2, 3], "bytes": 80}})
    (found,) = stream_findings.of_stream(StreamFacts(lost))
    assert (found.check, found.evidence) == ("lost_messages", {"lost": 2, "bytes": 80})


@pytest.mark.parametrize(
    ("status", "age", "checks"),
    [
        ({"active": SECOND, "lag": 0}, 3600 * SECOND, []),
        ({"active": 60 * SECOND, "lag": 0}, 3600 * SECOND, ["origin_silent"]),
        ({"active": -1, "lag": 0}, 3600 * SECOND, ["origin_silent"]),
        ({"active": -1, "lag": 0}, SECOND, []),
        ({"active": SECOND, "lag": 5000}, 3600 * SECOND, ["origin_behind"]),
        (
            {"active": -1, "error": {"err_code": 10052, "description": "no"}},
            3600 * SECOND,
            ["origin_refuses"],
        ),
    ],
)
def test_a_mirror_that_nobody_can_look_behind(status: dict[str, Any], age: int, checks: list[str]) -> None:
    origin = origin_findings.OriginFacts("mirror", {"name": "O"}, status)
    assert [each.check for each in origin_findings.of_origin(origin, "M", age)] == checks


def test_an_origin_that_was_cut_off_just_now() -> None:
    cut = origin_findings.OriginFacts("source", {"name": "O"}, {"active": SECOND}, "unreachable")
    (found,) = origin_findings.of_origin(cut, "S", 3600 * SECOND)
    assert (found.check, found.severity) == ("origin_unreachable", "note")
    assert "was heard 1.00s ago" in found.text


@pytest.mark.parametrize(
    ("allow", "deny", "patterns", "why"),
    [
        (None, [], ["a.*"], ""),
        (["b.>"], [], ["a.*"], "none of its allowed subjects has one of them"),
        (["a.eu"], [], ["a.*"], ""),
        (["b.>"], [], ["a.*", "b.x"], ""),
        (None, ["a.>"], ["a.*"], "a.> denies it"),
        (None, ["a.eu"], ["a.*"], ""),
    ],
)
def test_whether_a_user_may_publish_anything_that_a_stream_takes(
    allow: list[str] | None, deny: list[str], patterns: list[str], why: str
) -> None:
    user = {"user": "u", "permissions": {"publish": {"allow": allow, "deny": deny}}}
    lists = publisher.publisher_of(user).permissions
    assert lists is not None
    assert publisher.refusal_of_all(lists, patterns) == why


def test_the_limit_of_an_account_is_changed_where_the_account_is_made() -> None:
    use = {"storage": 990, "limits": {"max_storage": 1000}}
    key = KeyPair.create(KeyRole.ACCOUNT).public_key
    by_creds = Profile()
    by_creds.fields["creds"] = "u.creds"

    def said(user: dict[str, Any], profile: Profile, account: dict[str, Any]) -> finding.Finding:
        facts = StreamFacts(info(), account, origin=origin_of(user, profile))
        (found,) = stream_findings.of_stream(facts)
        return found

    both = said({}, Profile(), use)
    assert "If no operator made the account, it is max_store in the jetstream block" in both.text
    assert both.commands[1:] == ("pyjs nsc edit account --name NAME --js-disk-storage 2000",)
    for user, profile in (({}, by_creds), ({"account": key}, Profile())):
        assert said(user, profile, use).commands[1:] == (
            "pyjs nsc edit account --name NAME --js-disk-storage 2000",
            "pyjs nsc push --account NAME",
        )
    three = {**use, "storage": 3 * 990}  # the usage of all replicas, the limit of each
    tiered = said({"account": key, "account_name": "SHOP"}, Profile(), {"tiers": {"R3": three}})
    assert tiered.commands[1] == "pyjs nsc edit account --name SHOP --js-tier 3 --js-disk-storage 2000"
    assert stream_findings.of_stream(StreamFacts(info(), {"tiers": {"R3": use}})) == []
    configured = said({"account": "SHOP"}, by_creds, use)
    assert configured.text.endswith("block of the account SHOP, in the servers' configuration.")
    assert configured.commands == ("pyjs stream report",)


def test_names_are_quoted_for_a_shell() -> None:
    assert command("stream", "edit", "A;$(reboot)") == "pyjs stream edit 'A;$(reboot)'"
    shown = finding.Finding("x", finding.NOTE, "a\x1b[2Jb").lines(80)
    assert "\x1b" not in "".join(shown)


def test_a_cluster_without_a_leader_is_a_finding() -> None:
    class Leaderless:
        async def stream_info(self, name: str) -> dict[str, Any]:
            raise RemoteError(503, 10008, f"JetStream system temporarily unavailable for {name}")

        async def stream_names(self) -> list[str]:
            raise AssertionError("the meta group has no leader either")

    found = asyncio.run(queries.stream_facts(cast("JsApi", Leaderless()), "ORDERS"))
    assert isinstance(found, finding.Finding)
    assert (found.check, found.about, found.code) == ("no_leader", "ORDERS", ExitCode.UNAVAILABLE)
    assert found.commands
