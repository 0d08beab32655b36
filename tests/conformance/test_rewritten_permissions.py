"""Permissions where a subject is rewritten: whether the old or the new subject is checked.

A row is one place that rewrites, with one user's permissions: what it publishes (or subscribes to), and
whether it passes or which subject is refused. Each row has a user of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Frame, Msg, Wire

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream {{ store_dir: "<store>", domain: hub, max_mem: 10MB, max_file: 10MB }}
accounts {{
  SYS {{ users: [{{ user: SYS, password: p }}] }}
  EX {{
    users: [{{ user: EX, password: p }}]
    exports: [{{ service: "svc.>" }}, {{ stream: "news.>" }}]
    mappings: {{ "svc.old": "svc.new" }}
  }}
  A {{
    jetstream: enabled
    mappings: {{
      "map.in": "secret.mapped"
      "wild.*": "secret.{{{{wildcard(1)}}}}"
      "swap.*.*": "$2.$1"
      "part.*": "secret.{{{{partition(1,1)}}}}"
      "half": [{{ destination: "ok.half", weight: 50% }}, {{ destination: "secret.half", weight: 50% }}]
      "site": [
        {{ destination: "secret.site", weight: 100% }}
        {{ destination: "ok.other", weight: 100%, cluster: other }}
      ]
      "raft": "$NRG.x"
    }}
    imports: [
      {{ service: {{ account: EX, subject: "svc.one" }}, to: "call" }}
      {{ service: {{ account: EX, subject: "svc.two.*.*" }}, to: "order.$2.$1" }}
      {{ service: {{ account: EX, subject: "svc.old" }}, to: "mapped.call" }}
      {{ stream: {{ account: EX, subject: "news.a" }}, to: "local.a" }}
      {{ stream: {{ account: EX, subject: "news.pre.>" }}, prefix: "from" }}
      {{ stream: {{ account: EX, subject: "news.swap.*.*" }}, to: "swapped.$2.$1" }}
    ]
    users: [
      {{ user: A, password: p }}
{users}
    ]
  }}
}}
system_account: SYS
"""


@dataclass(frozen=True)
class Row:
    """subject: what is published; refused: the subject in the error, "" when the message passes.

    heard: where it is heard when it passes, as `user subject`.
    """

    name: str
    publish: str
    subject: str
    refused: str = ""
    heard: str = ""


def deny(*subjects: str) -> str:
    return "deny: [" + ", ".join(f'"{each}"' for each in subjects) + "]"


def allow(*subjects: str) -> str:
    return "allow: [" + ", ".join(f'"{each}"' for each in subjects) + "]"


ROWS = [
    Row("mapping-deny-new", deny("secret.>"), "map.in", refused="secret.mapped"),
    Row("mapping-deny-old", deny("map.>"), "map.in", heard="A secret.mapped"),
    Row("mapping-allow-old", allow("map.in"), "map.in", refused="secret.mapped"),
    Row("mapping-allow-new", allow("secret.*"), "map.in", heard="A secret.mapped"),
    Row(
        "mapping-allow-both-deny-new", allow(">") + ", " + deny("secret.*"), "map.in", refused="secret.mapped"
    ),
    Row("wildcard-deny-new", deny("secret.>"), "wild.x", refused="secret.x"),
    Row("wildcard-deny-another", deny("secret.y"), "wild.x", heard="A secret.x"),
    Row("wildcard-allow-old", allow("wild.>"), "wild.x", refused="secret.x"),
    Row("wildcard-allow-new", allow("secret.x"), "wild.x", heard="A secret.x"),
    Row("tokens-deny-new", deny("secret.>"), "swap.a.secret", refused="secret.a"),
    Row("tokens-deny-another", deny("secret.>"), "swap.secret.a", heard="A a.secret"),
    Row("partition-deny-new", deny("secret.0"), "part.x", refused="secret.0"),
    Row("site-deny-new", deny("secret.>"), "site", refused="secret.site"),
    Row("site-allow-old", allow("site"), "site", refused="secret.site"),
    Row("raft", allow(">"), "raft", refused="$NRG.x"),
    Row("domain-allow-old", allow("$JS.hub.API.>"), "$JS.hub.API.INFO", refused="$JS.API.INFO"),
    Row("domain-deny-new", deny("$JS.API.>"), "$JS.hub.API.INFO", refused="$JS.API.INFO"),
    Row("domain-deny-old", deny("$JS.hub.API.>"), "$JS.hub.API.INFO", heard="A $JS.API.INFO"),
    # An import is the account's own name for what another account offers: that name is judged.
    Row("service-deny-local", deny("call"), "call", refused="call"),
    Row("service-deny-exported", deny("svc.>"), "call", heard="EX svc.one"),
    Row("service-allow-local", allow("call"), "call", heard="EX svc.one"),
    Row("service-allow-exported", allow("svc.>"), "call", refused="call"),
    Row("service-tokens-deny-local", deny("order.b.*"), "order.b.a", refused="order.b.a"),
    Row("service-tokens-deny-exported", deny("svc.two.>"), "order.b.a", heard="EX svc.two.a.b"),
    # What an exporter maps is the exporter's matter.
    Row("exporters-mapping-deny-new", deny("svc.new"), "mapped.call", heard="EX svc.new"),
]
HEARS = [
    # name, subscribe permissions, subscription, refused subject, published by EX, what is heard
    ("import-deny-local", deny("local.>"), "local.a", "local.a", "news.a", []),
    ("import-deny-exported", deny("news.>"), "local.a", "", "news.a", ["local.a"]),
    ("import-allow-local", allow("local.>"), "local.a", "", "news.a", ["local.a"]),
    ("import-allow-exported", allow("news.>"), "local.a", "local.a", "news.a", []),
    ("import-filter-local", deny("local.a"), "local.*", "", "news.a", []),
    ("import-filter-all", deny("local.a"), ">", "", "news.a", []),
    ("import-filter-prefix", deny("from.news.pre.b"), "from.>", "", "news.pre.b", []),
    ("import-filter-exported", deny("news.pre.b"), "from.>", "", "news.pre.b", ["from.news.pre.b"]),
    ("import-filter-tokens", deny("swapped.b.a"), "swapped.>", "", "news.swap.a.b", []),
    ("import-filter-other-tokens", deny("swapped.a.b"), "swapped.>", "", "news.swap.a.b", ["swapped.b.a"]),
]


def _users() -> str:
    lines = [
        f"{{ user: {row.name}, password: p, permissions: {{ publish: {{ {row.publish} }} }} }}"
        for row in ROWS
    ]
    lines += [
        f"{{ user: {name}, password: p, permissions: {{ subscribe: {{ {rights} }} }} }}"
        for name, rights, *_ in HEARS
    ]
    lines += [
        f"{{ user: weighted, password: p, permissions: {{ publish: {{ {deny('secret.>')} }} }} }}",
        '{ user: streams, password: p, permissions: { publish: "in.>" } }',
        '{ user: answers, password: p, permissions: { subscribe: ">", allow_responses: true } }',
    ]
    return "\n".join(lines)


Login = Callable[[str], Wire]


@pytest.fixture
def login(serve: Callable[[str], ServerProcess]) -> Login:
    server = serve(CONFIG.format(users=_users()))
    return lambda user: server.connect(**{"user": user, "pass": "p"})


def violation(verb: str, subject: str) -> list[Frame]:
    return [f"-ERR 'Permissions Violation for {verb} to \"{subject}\"'".encode()]


def heard(wire: Wire) -> list[str]:
    return [m.subject for m in wire.sync() if isinstance(m, Msg)]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_publish(login: Login, row: Row) -> None:
    with login("A") as own, login("EX") as exporter, login(row.name) as wire:
        for listener in (own, exporter):
            listener.sub(">")
            listener.sync()
        wire.pub(row.subject, "x")
        assert wire.sync() == (violation("Publish", row.refused) if row.refused else [])
        found = [f"A {subject}" for subject in heard(own)] + [f"EX {subject}" for subject in heard(exporter)]
        assert (row.heard in found) if row.heard else found == []


@pytest.mark.parametrize("row", HEARS, ids=[row[0] for row in HEARS])
def test_subscribe(login: Login, row: tuple[str, str, str, str, str, list[str]]) -> None:
    name, _, subject, refused, published, expected = row
    with login(name) as wire, login("EX") as exporter:
        wire.sub(subject)
        assert wire.sync() == (violation("Subscription", refused) if refused else [])
        exporter.pub(published, "x")
        exporter.sync()
        assert heard(wire) == expected


def test_a_stream_moves_what_may_be_published(login: Login, unique: str) -> None:
    """Who makes the stream decides where its messages go, not who publishes."""
    name = f"S{unique}"
    with JetStream(login("A")) as js, JetStream(login("streams")) as wire:
        js.create(
            name,
            subjects=["in.>"],
            subject_transform={"src": "in.*", "dest": "secret.$1"},
            republish={"src": ">", "dest": "secret.again.>"},
        )
        js.wire.sub("secret.>", "s")
        js.wire.sync()
        assert wire.publish("in.a", "x")["seq"] == 1
        assert js.wire.msg().subject == "secret.again.secret.a"
        assert js.get(name, seq=1)["subject"] == "secret.a"
        wire.wire.pub("secret.a", "x")
        assert wire.wire.sync() == violation("Publish", "secret.a")
        js.call(f"STREAM.DELETE.{name}")


def test_each_draw_of_weights_is_judged(login: Login) -> None:
    with login("A") as own, login("weighted") as wire:
        own.sub(">")
        own.sync()
        for _ in range(64):
            wire.pub("half", "x")
        said, arrived = wire.sync(), heard(own)
        assert said == violation("Publish", "secret.half") * len(said)
        assert arrived == ["ok.half"] * len(arrived)
        assert len(said) + len(arrived) == 64
        assert said
        assert arrived


def test_a_permitted_reply_is_not_permitted_under_another_name(login: Login) -> None:
    with login("A") as asks, login("answers") as serves:
        serves.sub("ask.me")
        serves.sync()
        asks.sub(">")
        asks.sync()
        asks.pub("ask.me", "?", "map.in")
        asks.pub("ask.me", "?", "plain.reply")
        asks.sync()
        assert [serves.msg().reply, serves.msg().reply] == ["map.in", "plain.reply"]
        serves.pub("map.in", "x")
        assert serves.sync() == violation("Publish", "secret.mapped")
        serves.pub("plain.reply", "x")
        assert serves.sync() == []
        assert heard(asks) == ["plain.reply"]
