"""Streams and services across accounts: rewriting, replies, expiry, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.fake_clock import FakeClock
from pyjs.protocol import headers
from pyjs.protocol.subject import matches
from pyjs.server.accounts import AccountRegistry, AccountsError, ConnectionKind, Message, MessageEndpoint
from pyjs.server.accounts.account import Account
from pyjs.server.accounts.imports import MOST_STEPS
from pyjs.server.accounts.space import intersection
from pyjs.server.config.options import (
    AccountOptions,
    DestinationOptions,
    ExportOptions,
    ImportOptions,
    MappingOptions,
    Options,
)

SECOND = 1_000_000_000
OPEN_STREAM = ExportOptions("stream", ">")
OPEN_SERVICE = ExportOptions("service", ">")


def options(**accounts: dict[str, Any]) -> Options:
    return Options(accounts={name: AccountOptions(name=name, **fields) for name, fields in accounts.items()})


def registry(**accounts: dict[str, Any]) -> AccountRegistry:
    return AccountRegistry(options(**accounts), FakeClock())


def stream(account: str, subject: str, **more: Any) -> ImportOptions:
    return ImportOptions("stream", account, subject, **more)


def service(account: str, subject: str, **more: Any) -> ImportOptions:
    return ImportOptions("service", account, subject, **more)


class Asker(MessageEndpoint):
    """A client as source, for requests."""

    kind = ConnectionKind.CLIENT

    def client_info(self, *, share: bool = True) -> dict[str, Any]:
        return {"acc": "B", "user": "me"} if share else {"acc": "B"}


@pytest.mark.parametrize(
    ("imported", "wanted", "published", "seen"),
    [
        (stream("A", "s.>"), "s.>", "s.1", "s.1"),
        (stream("A", "s.>"), ">", "s.1.2", "s.1.2"),
        (stream("A", "s.>"), "s.1", "s.1", "s.1"),
        (stream("A", "s.>", prefix="p"), "p.s.*", "s.1", "p.s.1"),
        (stream("A", "s.>", prefix="p"), "p.>", "s.1", "p.s.1"),
        (stream("A", "s.*", to="t.*"), "t.1", "s.1", "t.1"),
        (stream("A", "s.*.*", to="t.$2.$1"), "t.*.a", "s.a.b", "t.b.a"),
        (stream("A", "s.*.*", to="t.$2.x.$1"), ">", "s.a.b", "t.b.x.a"),
        (stream("A", "s", to="t"), "t", "s", "t"),
        (stream("A", "s", to="t"), "*", "s", "t"),
        (stream("A", "s.*", to="t.*"), "t.1", "s.2", None),
        (stream("A", "s.*.*", to="t.$2.$1"), "t.*.a", "s.b.a", None),
    ],
)
def test_streams_are_received_under_their_local_subject(
    imported: ImportOptions, wanted: str, published: str, seen: str | None
) -> None:
    accounts = registry(A={"exports": [OPEN_STREAM]}, B={"imports": [imported]})
    exporter, importer = accounts.accounts["A"], accounts.accounts["B"]
    heard: list[str] = []
    subscription = importer.subscribe(wanted, lambda m: heard.append(m.subject))
    assert exporter.has_interest(published) == (seen is not None)
    exporter.publish(published, b"x")
    assert heard == ([] if seen is None else [seen])
    importer.unsubscribe(subscription)
    assert not exporter.has_interest(published)


LITERALS = st.lists(st.sampled_from("ab"), min_size=2, max_size=2).map(".".join)
WANTED = st.lists(st.sampled_from(["a", "b", "t", "*"]), min_size=1, max_size=3).map(
    ".".join
) | st.sampled_from([">", "t.>", "t.a.>", "*.b.>"])


@given(LITERALS, st.lists(WANTED, max_size=4), st.sampled_from(["t.$1.$2", "t.$2.$1", "$2.t.$1"]))
def test_a_stream_import_is_what_rewriting_each_message_would_give(
    published: str, wanted: list[str], to: str
) -> None:
    accounts = registry(A={"exports": [OPEN_STREAM]}, B={"imports": [stream("A", "*.*", to=to)]})
    heard: list[tuple[int, str]] = []
    for i, pattern in enumerate(wanted):
        accounts.accounts["B"].subscribe(pattern, lambda m, i=i: heard.append((i, m.subject)))  # type: ignore[misc]
    accounts.accounts["A"].publish(published, b"")
    first, second = published.split(".")
    local = to.replace("$1", first).replace("$2", second)
    assert sorted(heard) == [(i, local) for i, pattern in enumerate(wanted) if matches(pattern, local)]


PATTERNS = st.tuples(
    st.lists(st.sampled_from(["a", "b", "*"]), max_size=3), st.sampled_from(["a", "b", "*", ">"])
).map(lambda parts: ".".join([*parts[0], parts[1]]))


@given(PATTERNS, PATTERNS, st.lists(st.sampled_from("ab"), min_size=1, max_size=5).map(".".join))
def test_the_intersection_is_what_both_match(a: str, b: str, literal: str) -> None:
    from pyjs.protocol.subject import collide

    both = matches(a, literal) and matches(b, literal)
    if collide(a, b):
        assert matches(intersection(a, b), literal) == both
    else:
        assert not both


def answering(accounts: AccountRegistry, name: str, subject: str, *answers: bytes) -> list[Message]:
    """A service in account `name` that sends `answers` to each request."""
    asked: list[Message] = []
    account = accounts.accounts[name]

    def serve(message: Message) -> None:
        asked.append(message)
        for answer in answers:
            account.publish(message.reply, answer)

    account.subscribe(subject, serve)
    return asked


@pytest.mark.parametrize(
    ("imported", "request_on", "arrives_on"),
    [
        (service("A", "q.*"), "q.1", "q.1"),
        (service("A", "q.*", to="my.*"), "my.1", "q.1"),
        (service("A", "q.*.*", to="my.$2.$1"), "my.x.y", "q.y.x"),
        (service("A", "q.x", to="just.this"), "just.this", "q.x"),
        (service("A", "$JS.hub.API.>", to="JS.a@hub.API.>"), "JS.a@hub.API.INFO", "$JS.hub.API.INFO"),
    ],
)
def test_requests_and_responses_find_their_ways(
    imported: ImportOptions, request_on: str, arrives_on: str
) -> None:
    accounts = registry(A={"exports": [OPEN_SERVICE]}, B={"imports": [imported]})
    asked = answering(accounts, "A", ">", b"yes")
    answers: list[Message] = []
    accounts.accounts["B"].subscribe("inbox", answers.append)
    assert accounts.accounts["B"].publish(request_on, b"?", reply="inbox", source=Asker()) == 1
    assert asked[0].subject == arrives_on
    assert asked[0].reply.startswith("_R_.")
    assert json.loads(headers.get(asked[0].header, b"Nats-Request-Info") or b"") == {"acc": "B"}
    assert [(a.subject, a.body) for a in answers] == [("inbox", b"yes")]


def test_share_shows_who_asks() -> None:
    accounts = registry(A={"exports": [OPEN_SERVICE]}, B={"imports": [service("A", "q", share=True)]})
    asked = answering(accounts, "A", "q")
    accounts.accounts["B"].publish("q", b"?", source=Asker())
    info = json.loads(headers.get(asked[0].header, b"Nats-Request-Info") or b"")
    assert info == {"acc": "B", "user": "me"}


@pytest.mark.parametrize(
    ("response_type", "received"),
    [("singleton", [b"1"]), ("stream", [b"1", b"2", b""]), ("chunked", [b"1", b"2", b""])],
)
def test_response_types_decide_how_many_answers_pass(response_type: str, received: list[bytes]) -> None:
    export = ExportOptions("service", "q", response_type=response_type)
    accounts = registry(A={"exports": [export]}, B={"imports": [service("A", "q")]})
    answering(accounts, "A", "q", b"1", b"2", b"", b"too late")
    answers: list[bytes] = []
    accounts.accounts["B"].subscribe("inbox", lambda m: answers.append(m.body))
    accounts.accounts["B"].publish("q", b"?", reply="inbox", source=Asker())
    assert answers == received
    assert len(accounts.accounts["A"].responses) == 0


def test_what_is_never_answered_is_forgotten_after_the_threshold() -> None:
    export = ExportOptions("service", "q", response_threshold=5 * SECOND)
    clock = FakeClock()
    accounts = AccountRegistry(options(A={"exports": [export]}, B={"imports": [service("A", "q")]}), clock)
    asked = answering(accounts, "A", "q")
    answers: list[bytes] = []
    accounts.accounts["B"].subscribe("inbox", lambda m: answers.append(m.body))
    for wait in (0, 2, 2):
        clock.advance(wait * SECOND)
        accounts.accounts["B"].publish("q", b"?", reply="inbox", source=Asker())
    assert len(accounts.accounts["A"].responses) == 3
    clock.advance(2 * SECOND)
    assert len(accounts.accounts["A"].responses) == 2
    assert accounts.accounts["A"].publish(asked[0].reply, b"late") == 0
    assert accounts.accounts["A"].publish(asked[2].reply, b"in time") == 1
    clock.advance(10 * SECOND)
    assert len(accounts.accounts["A"].responses) == 0
    assert clock.pending() == 0
    assert answers == [b"in time"]


def test_a_request_nobody_receives_leaves_nothing_behind() -> None:
    accounts = registry(A={"exports": [OPEN_SERVICE]}, B={"imports": [service("A", "q")]})
    assert accounts.accounts["B"].publish("q", b"?", reply="inbox", source=Asker()) == 0
    assert len(accounts.accounts["A"].responses) == 0


def test_acknowledgements_keep_their_subject() -> None:
    accounts = registry(A={"exports": [OPEN_SERVICE]}, B={"imports": [service("A", "q")]})
    asked = answering(accounts, "A", "q")
    accounts.accounts["B"].publish("q", b"", reply="$JS.ACK.s.c.1.1.1.1.0", source=Asker())
    assert asked[0].reply == "$JS.ACK.s.c.1.1.1.1.0"


def test_interest_in_a_pending_response_is_that_of_the_asker() -> None:
    accounts = registry(A={"exports": [OPEN_SERVICE]}, B={"imports": [service("A", "q")]})
    asked = answering(accounts, "A", "q")
    importer, exporter = accounts.accounts["B"], accounts.accounts["A"]
    inbox = importer.subscribe("inbox", lambda m: None)
    importer.publish("q", b"", reply="inbox", source=Asker())
    assert exporter.has_interest(asked[0].reply)
    importer.unsubscribe(inbox)
    assert not exporter.has_interest(asked[0].reply)


def responder(account: Account, body: bytes, reply: str = "") -> Callable[[Message], None]:
    """A service of the account that answers each request with `body`."""

    def respond(request: Message) -> None:
        account.publish(request.reply, body, reply=reply)

    return respond


def test_a_response_may_itself_be_answered() -> None:
    accounts = registry(A={"exports": [OPEN_SERVICE]}, B={"imports": [service("A", "q")]})
    exporter, importer = accounts.accounts["A"], accounts.accounts["B"]
    exporter.subscribe("q", responder(exporter, b"yes, and you?", reply="private"))
    importer.subscribe("inbox", responder(importer, b"fine"))
    heard: list[tuple[str, bytes]] = []
    exporter.subscribe("private", lambda m: heard.append((m.subject, m.body)))
    importer.publish("q", b"how are you?", reply="inbox", source=Asker())
    assert heard == [("private", b"fine")]
    assert len(exporter.responses) == len(importer.responses) == 0


def test_chained_services_reach_the_last_account_and_come_back() -> None:
    accounts = registry(
        A={"exports": [OPEN_SERVICE]},
        B={"exports": [OPEN_SERVICE], "imports": [service("A", "q", to="b.q")]},
        C={"imports": [service("B", "b.q", to="c.q")]},
    )
    asked = answering(accounts, "A", "q", b"yes")
    answers: list[bytes] = []
    accounts.accounts["C"].subscribe("inbox", lambda m: answers.append(m.body))
    accounts.accounts["C"].publish("c.q", b"?", reply="inbox", source=Asker())
    assert answers == [b"yes"]
    info = json.loads(headers.get(asked[0].header, b"Nats-Request-Info") or b"")
    assert info == {"acc": "B", "svc": "B"}


def test_interest_in_a_pending_response_is_that_at_the_end_of_the_chain() -> None:
    accounts = registry(
        A={"exports": [OPEN_SERVICE]},
        B={"exports": [OPEN_SERVICE], "imports": [service("A", "q", to="b.q")]},
        C={"imports": [service("B", "b.q", to="c.q")]},
    )
    asked = answering(accounts, "A", "q")
    exporter, asker = accounts.accounts["A"], accounts.accounts["C"]
    inbox = asker.subscribe("inbox", lambda m: None)
    asker.publish("c.q", b"?", reply="inbox", source=Asker())
    assert exporter.has_interest(asked[0].reply)
    asker.unsubscribe(inbox)
    assert not exporter.has_interest(asked[0].reply)


def test_mappings_of_the_exporter_apply_to_requests() -> None:
    mapping = MappingOptions("$JS.hub.API.>", [DestinationOptions("$JS.API.>")])
    accounts = registry(
        A={"exports": [OPEN_SERVICE], "mappings": [mapping]},
        B={"imports": [service("A", "$JS.hub.API.>", to="hub.>")]},
    )
    asked = answering(accounts, "A", "$JS.API.>")
    accounts.accounts["B"].publish("hub.INFO", b"", reply="inbox", source=Asker())
    assert [m.subject for m in asked] == ["$JS.API.INFO"]


def test_what_came_through_a_service_is_not_exported_again_as_a_stream() -> None:
    accounts = registry(
        A={"exports": [OPEN_SERVICE, OPEN_STREAM]},
        B={"imports": [service("A", "q"), stream("A", "q", to="q2")]},
    )
    heard: list[str] = []
    accounts.accounts["B"].subscribe("q2", lambda m: heard.append(m.subject))
    accounts.accounts["B"].publish("q", b"", source=Asker())
    assert heard == []
    accounts.accounts["A"].publish("q", b"")
    assert heard == ["q2"]


@pytest.mark.parametrize(
    ("accounts", "text"),
    [
        ({"A": {}, "B": {"imports": [service("A", "q")]}}, "not exported"),
        ({"A": {"exports": [OPEN_SERVICE]}, "B": {"imports": [stream("A", "q")]}}, "not exported"),
        (
            {"A": {"exports": [ExportOptions("service", "q.*")]}, "B": {"imports": [service("A", "q.>")]}},
            "not exported",
        ),
        (
            {"A": {"exports": [ExportOptions("stream", "s", ["C"])]}, "B": {"imports": [stream("A", "s")]}},
            "may not",
        ),
        ({"B": {"imports": [stream("Z", "s")]}}, "unknown account"),
        (
            {
                "A": {"exports": [OPEN_SERVICE], "imports": [service("B", "q")]},
                "B": {"exports": [OPEN_SERVICE], "imports": [service("A", "q")]},
            },
            "cycle",
        ),
        (
            {
                "A": {"exports": [OPEN_STREAM], "imports": [stream("C", "s")]},
                "B": {"exports": [OPEN_STREAM], "imports": [stream("A", "s")]},
                "C": {"exports": [OPEN_STREAM], "imports": [stream("B", "s")]},
            },
            "cycle",
        ),
        ({"A": {"exports": [OPEN_STREAM]}, "B": {"imports": [stream("A", "s.*", to="t.$2")]}}, "wildcard"),
    ],
)
def test_impossible_imports_are_refused(accounts: dict[str, dict[str, Any]], text: str) -> None:
    with pytest.raises(AccountsError, match=text):
        registry(**accounts)


def test_a_private_export_and_a_token_position_let_only_the_named_in() -> None:
    token = ExportOptions("stream", "by.*.>", account_token_position=2)
    private = ExportOptions("stream", "s", ["B"])
    registry(A={"exports": [private, token]}, B={"imports": [stream("A", "s"), stream("A", "by.B.x")]})
    with pytest.raises(AccountsError):
        registry(A={"exports": [token]}, B={"imports": [stream("A", "by.C.x")]})


@pytest.mark.parametrize("local", ["", "t", "s.more"])
def test_an_account_may_import_from_itself(local: str) -> None:
    """As with nats-server; nothing goes round, what is imported is not imported again."""
    accounts = registry(A={"exports": [OPEN_STREAM], "imports": [stream("A", "s", to=local)]})
    heard: list[str] = []
    accounts.accounts["A"].subscribe(">", lambda m: heard.append(m.subject))
    accounts.accounts["A"].publish("s")
    assert sorted(heard) == sorted(["s", local or "s"])


def test_a_response_still_comes_after_a_reload() -> None:
    given = options(A={"exports": [OPEN_SERVICE]}, B={"imports": [service("A", "q")]})
    accounts = AccountRegistry(given, FakeClock())
    exporter, importer = accounts.accounts["A"], accounts.accounts["B"]
    asked: list[str] = []
    answered: list[bytes] = []
    exporter.subscribe("q", lambda m: asked.append(m.reply))
    importer.subscribe("inbox", lambda m: answered.append(m.body))
    importer.publish("q", reply="inbox")
    accounts.reload(options(A={"exports": [OPEN_SERVICE, OPEN_STREAM]}, B={"imports": [service("A", "q")]}))
    exporter.publish(asked[0], b"late")
    assert answered == [b"late"]
    accounts.stop()


def test_a_reload_rewires_live_subscriptions() -> None:
    accounts = registry(A={"exports": [OPEN_STREAM]}, B={"imports": [stream("A", "s", to="one")]})
    exporter, importer = accounts.accounts["A"], accounts.accounts["B"]
    heard: list[str] = []
    importer.subscribe(">", lambda m: heard.append(m.subject))
    exporter.publish("s")
    accounts.reload(options(A={"exports": [OPEN_STREAM]}, B={"imports": [stream("A", "s", to="two")]}))
    exporter.publish("s")
    gone = accounts.reload(options(A={"exports": [OPEN_STREAM]}))
    exporter.publish("s")
    assert heard == ["one", "two"]
    assert gone == [importer]
    assert accounts.accounts["A"] is exporter


def test_a_refused_reload_changes_nothing() -> None:
    accounts = registry(A={"exports": [OPEN_STREAM]}, B={"imports": [stream("A", "s")]})
    heard: list[str] = []
    accounts.accounts["B"].subscribe("s", lambda m: heard.append(m.subject))
    with pytest.raises(AccountsError):
        accounts.reload(options(A={}, B={"imports": [stream("A", "s")]}))
    accounts.accounts["A"].publish("s")
    assert heard == ["s"]


def test_the_system_account_is_there_unless_switched_off() -> None:
    clock = FakeClock()
    normal = AccountRegistry(Options(), clock)
    assert normal.system is normal.get("$SYS")
    assert AccountRegistry(Options(no_system_account=True), clock).system is None
    named = options(ADMIN={})
    named.system_account = "ADMIN"
    own = AccountRegistry(named, clock)
    assert own.system is own.get("ADMIN")
    assert own.get("$SYS") is None


def test_a_request_through_very_many_imports_finds_nobody() -> None:
    def answered(count: int) -> list[bytes]:
        accounts: dict[str, dict[str, Any]] = {"A0": {"exports": [OPEN_SERVICE]}}
        for number in range(1, count + 1):
            accounts[f"A{number}"] = {
                "exports": [OPEN_SERVICE],
                "imports": [service(f"A{number - 1}", "s.>")],
            }
        made = registry(**accounts).accounts
        server, client = made["A0"], made[f"A{count}"]
        server.subscribe("s.>", responder(server, b"answer"))
        answers: list[bytes] = []
        client.subscribe("r", lambda m: answers.append(m.body))
        assert client.publish("s.1", b"", reply="r", own=True) == len(answers)
        return answers

    assert answered(MOST_STEPS) == [b"answer"]
    assert answered(MOST_STEPS + 1) == []
    assert answered(500) == []
