"""`pyjs explain SUBJECT`, by servers and by a configuration file: who hears a message, and where it ends.

What is explained is also done: a message is published, and heard by those who were named.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg
from pyjs.plugins.explain import accounts

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: one
jetstream { store_dir: "<store>", domain: hub }
accounts {
  SYS { users: [ { user: s, password: s } ] }
  A {
    jetstream: enabled
    users: [
      { user: a, password: a, permissions: {
          publish: { allow: ["orders.>", old, split, lossy, gone, "$JS.API.>", "$JS.*.API.>", "$SYS.REQ.>"]
                     deny: ["orders.secret", "gone"] } } }
      { user: b, password: b }
      { user: shy, password: shy, permissions: { publish: { deny: "$SYS.REQ.USER.ACCOUNT" } } }
      { user: deaf, password: deaf, permissions: { subscribe: { deny: ["orders.new"] } } }
    ]
    mappings: {
      old: orders.new
      split: [ { destination: orders.left, weight: 40% } ]
      lossy: [ { destination: orders.left, weight: 50% }, { destination: lossy, weight: 10% } ]
    }
    exports: [ { stream: "orders.>" } ]
    imports: [
      { service: { account: B, subject: "bill.*" }, to: "orders.bill.*" }
      { service: { account: B, subject: "list" }, to: "orders.list" }
    ]
  }
  L {
    jetstream { max_mem: 1000, max_file: 1000 }
    users: [
      { user: l, password: l }
      { user: mute, password: mute, permissions: { subscribe: { deny: ["_INBOX.>"] } } }
    ]
  }
  M { users: [ { user: m, password: m } ], mappings: { MAPPINGS } }
  B {
    users: [ { user: bb, password: bb } ]
    exports: [ { service: "bill.>" }, { service: "list", response: stream } ]
    mappings: { "bill.eu": "bill.at" }
    imports: [ { stream: { account: A, subject: "orders.>" }, prefix: "from.a" } ]
  }
}
system_account: SYS
""".replace("MAPPINGS", "\n".join(f'"m{number}.*": "n{number}.$1"' for number in range(600)))


class Explained:
    """What a run said: its exit code, and its steps by place."""

    def __init__(self, code: int, steps: list[dict[str, Any]]) -> None:
        self.code = code
        self.steps = steps

    @property
    def places(self) -> list[tuple[str, str]]:
        """(account, subject) of each place, in order."""
        return list(dict.fromkeys((each["account"], each["subject"]) for each in self.steps))

    def at(self, account: str, subject: str, kind: str) -> list[tuple[str, str]]:
        """(outcome, name) of the steps of one kind at a place."""
        here = account, subject, kind
        found = [each for each in self.steps if (each["account"], each["subject"], each["kind"]) == here]
        return [(each["outcome"], each["name"]) for each in found]


Explain = Callable[..., Explained]


@pytest.fixture
def served(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def explain(served: ServerProcess, cli: Cli) -> Explain:
    """explain(SUBJECT, user="a", …): what servers say to this user, and to one of the system account."""
    login = ("--server", served.url, "--password")
    cli.with_flags().ok("context", "save", "sys", *login, "s", "--user", "s")

    def run(subject: str, *words: str, user: str = "a") -> Explained:
        result = cli.with_flags(*login, user, "--user", user).run("explain", subject, *words, "-o", "json")
        assert result.code in (0, 1, 4), result
        return Explained(result.code, json.loads(result.out))

    return run


@pytest.fixture
def offline(cli: Cli, tmp_path: Path, served: ServerProcess) -> Explain:
    """The same by the configuration file alone."""
    (tmp_path / "server.conf").write_text((served.directory / "server.conf").read_text())

    def run(subject: str, user: str = "a") -> Explained:
        result = cli.with_flags().run(
            "explain", "--config", "server.conf", "--as", user, subject, "-o", "json"
        )
        return Explained(result.code, json.loads(result.out))

    return run


@pytest.fixture
def js(served: ServerProcess) -> Iterator[JetStream]:
    with JetStream.of(served, user="a", name="client-a", **{"pass": "a"}) as api:
        yield api


@pytest.mark.parametrize("words", [("explain", "orders.new"), ("stream", "ls")])
def test_a_user_that_hears_no_answer_is_told_at_once(
    served: ServerProcess, cli: Cli, words: tuple[str, ...]
) -> None:
    login = ("--server", served.url, "--user", "mute", "--password", "mute", "--timeout", "60s")
    before = time.monotonic()
    result = cli.with_flags(*login).run(*words)
    assert (result.code, "no answer can reach this user" in result.err) == (4, True), result
    assert time.monotonic() - before < 30


def test_permissions_decide_after_mappings(explain: Explain, offline: Explain, implementation: str) -> None:
    for run in (explain, offline):
        for subject in ("orders.secret", "elsewhere", "gone", "_GR_.x"):
            found = run(subject)
            assert found.code == 4, found.steps
            assert found.at("A", subject, "permission")[0] == ("refused", "")
            assert len(found.steps) == 1
        assert run("orders.new").at("A", "orders.new", "permission") == [("passes", "")]
    assert offline("old").places[0] == ("A", "orders.new")
    assert explain("old").places[0] == ("A", "orders.new" if implementation == "pyjs" else "old")
    assert explain("old", "--sys", "sys").at("A", "orders.new", "permission") == [("passes", "")]
    text = offline("orders.secret").steps[0]["text"]
    assert text == "user a may not publish it: orders.secret denies it."


def test_weighted_mappings(explain: Explain, offline: Explain) -> None:
    for found in (explain("split", "--sys", "sys"), offline("split")):
        assert {subject for account, subject in found.places if account == "A"} == {"orders.left", "split"}
    lost = offline("lossy")
    assert {("A", "orders.left"), ("A", "lossy")} <= set(lost.places)
    assert lost.at("A", "lossy", "mapping") == [("ends", "")]


def test_imports_of_streams_and_services(explain: Explain, offline: Explain, served: ServerProcess) -> None:
    with (
        served.connect(user="bb", name="client-bb", **{"pass": "bb"}) as biller,
        served.connect(user="a", name="client-a", **{"pass": "a"}) as sender,
    ):
        biller.sub("from.a.orders.>", "1")
        biller.sub("bill.at", "2")
        biller.sync()
        found = explain("orders.bill.eu", "--sys", "sys")
        assert found.code == 0
        assert found.at("B", "bill.at", "subscription") == [("reached", "client-bb")]
        assert found.at("B", "from.a.orders.bill.eu", "subscription") == [("reached", "client-bb")]
        sender.pub("orders.bill.eu", b"x")
        sender.sync()
        assert {biller.msg().subject for _ in range(2)} == {"bill.at", "from.a.orders.bill.eu"}
    silent = explain("orders.bill.eu", "--sys", "sys")
    assert (silent.code, silent.at("B", "bill.at", "subscription")) == (1, [("ends", "")])
    assert silent.at("B", "bill.at", "stream") == [("ends", "")]
    file = offline("orders.bill.eu")
    assert file.places == [("A", "orders.bill.eu"), ("B", "bill.at"), ("B", "from.a.orders.bill.eu")]
    assert file.at("A", "orders.bill.eu", "service import") == [("passes", "B")]


def test_how_many_answers_come_back(explain: Explain, offline: Explain, served: ServerProcess) -> None:
    with (
        served.connect(user="bb", **{"pass": "bb"}) as service,
        served.connect(user="a", **{"pass": "a"}) as client,
    ):
        client.sub("_INBOX.1.*", "1")
        for number, subject in enumerate(("bill.at", "list"), 2):
            service.sub(subject, str(number))
        service.sync()
        for subject, count, text in (
            ("bill.eu", 1, "One answer comes back"),
            ("list", 3, "Many answers may"),
        ):
            client.pub(f"orders.{subject}", b"", reply=f"_INBOX.1.{subject[:4]}")
            client.sync()
            reply = next(each.reply for each in service.sync() if isinstance(each, Msg) and each.reply)
            for _ in range(3):
                service.pub(reply, b"answer")
            service.sync()
            assert sum(isinstance(each, Msg) for each in client.sync()) == count
            for found in (explain(f"orders.{subject}", "--sys", "sys"), offline(f"orders.{subject}")):
                (said,) = [each["text"] for each in found.steps if each["kind"] == "answers"]
                assert said.startswith(text)


def test_waypoints_are_where_it_is_heard(explain: Explain, offline: Explain, served: ServerProcess) -> None:
    """Whoever subscribes to everything hears a message at the waypoints that are shown, and nowhere else."""
    with (
        served.connect(user="b", **{"pass": "b"}) as mine,
        served.connect(user="bb", **{"pass": "bb"}) as theirs,
        served.connect(user="a", **{"pass": "a"}) as sender,
    ):
        hearers = {"A": mine, "B": theirs}
        for hearer in hearers.values():
            hearer.sub(">", "1")
            hearer.sync()
        for subject in ("orders.new", "old", "orders.bill.eu", "orders.bill.us", "orders.secret", "nowhere"):
            sender.pub(subject, b"x")
            sender.sync()
            heard = {
                (account, frame.subject)
                for account, hearer in hearers.items()
                for frame in hearer.sync()
                if isinstance(frame, Msg) and not frame.subject.startswith(("$", "_INBOX."))
            }
            for found in (explain(subject, "--sys", "sys"), offline(subject)):
                assert (set(found.places) if found.code != 4 else set()) == heard, subject


def test_a_user_that_its_server_does_not_tell_sees_its_own_subject_only(
    explain: Explain, implementation: str
) -> None:
    """nats-server tells nobody of mappings and imports but the system account; pyjs not who may not ask."""
    found = explain("orders.bill.eu", user="a" if implementation == "reference" else "shy")
    assert found.places == [("A", "orders.bill.eu")]
    assert found.at("A", "orders.bill.eu", "accounts") == [("unknown", "")]
    why = "users of the system account only" if implementation == "reference" else "may not publish to $SYS"
    assert why in next(each["text"] for each in found.steps if each["kind"] == "accounts")


def test_pyjs_tells_a_user_of_its_own_account(
    explain: Explain, implementation: str, served: ServerProcess
) -> None:
    if implementation == "reference":
        return
    with served.connect(user="bb", name="client-bb", **{"pass": "bb"}) as biller:
        biller.sub(">", "1")
        biller.sync()
        found = explain("orders.bill.eu")
    assert found.places == [("A", "orders.bill.eu"), ("B", "bill.eu")]  # not what account B maps it to
    assert found.at("A", "orders.bill.eu", "service import") == [("passes", "B")]
    for kind in ("stream export", "leaf"):
        assert found.at("A", "orders.bill.eu", kind) == [("unknown", "")]
    assert [each["kind"] for each in found.steps if each["account"] == "B"] == ["service"]
    assert not any("client-bb" in each["text"] or "bill.at" in each["text"] for each in found.steps)
    assert (found.code, found.at("A", "orders.bill.eu", "accounts")) == (1, [])
    assert explain("split").places == [("A", "orders.left"), ("A", "split")]
    assert explain("$JS.hub.API.INFO").at("A", "$JS.API.INFO", "server") == [("reached", "")]


def test_an_account_with_more_than_one_page(
    explain: Explain, implementation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if implementation == "reference":
        return
    assert explain("m599.x", user="m").places == [("M", "n599.x")]
    monkeypatch.setattr(accounts, "MOST_ENTRIES", 500)
    found = explain("m599.x", user="m")
    assert found.places == [("M", "m599.x")]
    assert "Only 512 of 600 mappings" in next(e["text"] for e in found.steps if e["kind"] == "accounts")


def test_a_mapping_that_is_not_seen_is_no_certainty(
    explain: Explain, served: ServerProcess, cli: Cli, js: JetStream, implementation: str
) -> None:
    js.create("OLD", subjects=["old"])  # what is published to it is mapped away
    unseen = "a" if implementation == "reference" else "shy"
    alone = cli.with_flags("--server", served.url, "--user", unseen, "--password", unseen)
    assert "It is heard, unless a mapping leads it elsewhere: stream 1." in alone.run("explain", "old").out
    login = ("--server", served.url, "--user", "a", "--password", "a")
    for words in (("--sys", "sys"), ()) if implementation == "pyjs" else (("--sys", "sys"),):
        assert "unless" not in cli.with_flags(*login).run("explain", "old", *words).out
        assert explain("old", *words).at("A", "old", "stream") == []
    js.call("STREAM.DELETE.OLD")


def test_clients_of_the_account(explain: Explain, offline: Explain, served: ServerProcess) -> None:
    with served.connect(user="b", name="client-b", **{"pass": "b"}) as hearer:
        hearer.send("SUB orders.* workers 1\r\n")
        hearer.sync()
        for words in ((), ("--sys", "sys")):
            found = explain("orders.new", *words)
            assert (found.code, found.at("A", "orders.new", "subscription")) == (0, [("reached", "client-b")])
            assert "One member of workers gets it." in "".join(each["text"] for each in found.steps)
    assert explain("orders.new").at("A", "orders.new", "subscription") == [("ends", "")]
    file = offline("orders.new")
    assert file.at("A", "orders.new", "subscription") == [("possible", ""), ("ends", "")]
    texts = [each["text"] for each in file.steps if each["kind"] == "subscription"]
    assert texts[:2] == [
        "Heard by these users if they subscribe: a, b, shy.",
        "These users may not subscribe to it: deaf.",
    ]


def test_streams_consumers_and_copies(explain: Explain, js: JetStream, unique: str) -> None:
    subject = f"orders.{unique}.new"
    js.create(
        unique, subjects=[f"orders.{unique}.*"],
        subject_transform={"src": f"orders.{unique}.*", "dest": f"kept.{unique}.$1"},
        republish={"src": f"kept.{unique}.>", "dest": f"orders.again.{unique}.>"},
    )  # fmt: skip
    js.create(f"{unique}-M", mirror={"name": unique})
    js.create(f"{unique}-S", sources=[{"name": unique, "filter_subject": f"kept.{unique}.other"}])
    js.consumer(unique, "ALL")
    js.consumer(unique, "SOME", filter_subject=f"kept.{unique}.new", deliver_subject="nowhere")
    js.consumer(unique, "OTHER", filter_subject=f"kept.{unique}.other")
    for words in ((), ("--sys", "sys")):
        found = explain(subject, *words)
        assert found.code == 0
        assert found.at("A", subject, "stream") == [("reached", unique)]
        assert sorted(found.at("A", subject, "consumer")) == [
            ("ends", f"{unique} > SOME"),
            ("possible", f"{unique} > ALL"),
        ]
        assert found.at("A", subject, "mirror") == [("reached", f"{unique}-M")]
        assert found.at("A", subject, "source") == []
        assert ("A", f"orders.again.{unique}.new") in found.places
    js.publish(subject, b"x")
    assert js.get(unique, seq=1)["subject"] == f"kept.{unique}.new"
    assert explain(f"orders.{unique}").at("A", f"orders.{unique}", "stream") == [("ends", "")]


def test_a_stream_that_does_not_keep_it(explain: Explain, js: JetStream, unique: str) -> None:
    subject = f"orders.{unique}"
    js.create(unique, subjects=[subject], max_msgs=1, discard="new")
    assert explain(subject).at("A", subject, "stream") == [("reached", unique)]
    js.publish(subject)
    found = explain(subject)
    assert (found.code, found.at("A", subject, "stream")) == (1, [("ends", unique)])


def test_a_stream_with_little_room_keeps_what_is_small(explain: Explain, js: JetStream, unique: str) -> None:
    subject = f"orders.{unique}"
    js.create(unique, subjects=[f"{subject}.>", subject], max_bytes=1000, discard="new", storage="file")
    js.publish(subject, b"x" * (1000 - 2 * (len(subject) + 30) - 5))
    found = explain(subject)
    assert (found.code, found.at("A", subject, "stream")) == (0, [("possible", unique)])
    longer = f"{subject}.longer"
    assert explain(longer).at("A", longer, "stream") == [("ends", unique)]
    js.publish(subject, b"x" * 5)
    assert explain(subject).at("A", subject, "stream") == [("ends", unique)]


@pytest.mark.parametrize("words", [("l",), ("s", "--account", "L")])
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_the_limit_of_an_account_is_seen_by_its_users_and_by_the_system_account(
    explain: Explain, served: ServerProcess, unique: str, words: tuple[str, ...], storage: str
) -> None:
    user, *flags = words
    with JetStream.of(served, user="l", **{"pass": "l"}) as js:
        js.create(unique, subjects=[unique], storage=storage)
        js.publish(unique, b"x" * 400)
        found = explain(unique, *flags, user=user)
        assert found.at("L", unique, "stream") == [("reached", unique)]
        js.publish(unique, b"x" * 400)
        found = explain(unique, *flags, user=user)
        assert found.at("L", unique, "stream") == [("possible", unique)]
        (text,) = [each["text"] for each in found.steps if each["kind"] == "stream"]
        kind = "max_memory" if storage == "memory" else "max_store"
        assert f"of {'memory' if storage == 'memory' else 'storage'}: further messages are refused." in text
        assert f"The limit is {kind} in the jetstream block of the account L, in the servers'" in text
        used = js.state(unique)["bytes"]
        js.publish(unique, b"x" * (1000 - used - (used // 2 - 400)))
        assert explain(unique, *flags, user=user).at("L", unique, "stream") == [("ends", unique)]
        js.call(f"STREAM.DELETE.{unique}")


def test_a_stream_that_one_subject_has_filled_keeps_others(
    explain: Explain, js: JetStream, unique: str
) -> None:
    full, other = f"orders.{unique}.full", f"orders.{unique}.other"
    js.create(
        unique, subjects=[f"orders.{unique}.*"], max_msgs_per_subject=1, discard="new",
        discard_new_per_subject=True, sources=[{"name": f"{unique}-missing"}],
    )  # fmt: skip
    js.publish(full)
    assert explain(full).at("A", full, "stream") == [("ends", unique)]
    assert explain(other).at("A", other, "stream") == [("reached", unique)]


def test_a_stream_by_interest_keeps_what_a_consumer_selects(
    explain: Explain, js: JetStream, unique: str
) -> None:
    wanted, other = f"orders.{unique}.wanted", f"orders.{unique}.other"
    js.create(unique, subjects=[f"orders.{unique}.*"], retention="interest")
    js.consumer(unique, "C", filter_subject=wanted)
    for words in ((), ("--sys", "sys")):
        assert explain(wanted, *words).at("A", wanted, "stream") == [("reached", unique)]
        assert explain(other, *words).at("A", other, "stream") == [("ends", unique)]


def test_another_account_by_a_user_of_the_system_account(
    explain: Explain, js: JetStream, unique: str
) -> None:
    subject = f"orders.{unique}"
    js.create(unique, subjects=[subject])
    js.consumer(unique, "C")
    found = explain(subject, "--account", "A", user="s")
    assert found.at("A", subject, "permission") == [("unknown", "")]
    assert found.at("A", subject, "stream") == [("reached", unique)]
    assert found.at("A", subject, "consumer") == [("possible", f"{unique} > C")]
    assert ("B", f"from.a.{subject}") in found.places


@pytest.mark.parametrize(
    ("user", "flags"), [("b", ("--sys", "sys")), ("s", ("--account", "A"))], ids=["sys", "account"]
)
def test_another_user_as_the_system_account_is_told(
    explain: Explain, implementation: str, user: str, flags: tuple[str, ...]
) -> None:
    """Of users of the configuration, whether they are connected or not; nats-server does not tell."""
    for subject, code, outcome in (("orders.secret", 4, "refused"), ("orders.new", 1, "passes")):
        found = explain(subject, "--as", "a", *flags, user=user)
        if implementation == "reference":
            code, outcome = 1, "unknown"
        assert (found.code, found.at("A", subject, "permission")) == (code, [(outcome, "")])
        assert "user a may" in found.steps[0]["text"]


def test_another_user_that_nobody_knows(implementation: str, served: ServerProcess, cli: Cli) -> None:
    if implementation == "reference":
        return
    for name in ("nobody", "bb"):  # bb is one of another account
        run = cli.with_flags("--server", served.url, "--user", "s", "--password", "s")
        result = run.run("explain", "x", "--account", "A", "--as", name)
        assert (result.code, f"no server knows of user {name} in account A" in result.err) == (3, True), (
            result
        )


def test_a_user_is_not_told_what_another_may_do(served: ServerProcess, cli: Cli) -> None:
    run = cli.with_flags("--server", served.url, "--user", "b", "--password", "b")
    result = run.run("explain", "x", "--as", "a")
    assert (result.code, "is not told to other users" in result.err) == (2, True), result
    own = run.run("explain", "x", "--as", "b", "-o", "json")
    assert json.loads(own.out)[0]["text"] == "user b may publish everything."


def test_requests_to_the_server(explain: Explain, offline: Explain) -> None:
    for found in (explain("$JS.hub.API.INFO", "--sys", "sys"), offline("$JS.hub.API.INFO")):
        assert found.code == 0
        assert found.at("A", "$JS.API.INFO", "server") == [("reached", "")]


def test_the_line_tells_mistakes(cli: Cli, offline: Explain) -> None:
    bare = cli.with_flags()
    for words, code, text in (
        (("orders.*",), 2, "cannot be published"),
        (("x", "--config", "server.conf"), 2, "--as has to say who publishes"),
        (("x", "--config", "server.conf", "--as", "deaff"), 3, "did you mean deaf?"),
        (("x", "--config", "server.conf", "--sys", "sys"), 2, "--config does without them"),
    ):
        result = bare.run("explain", *words)
        assert (result.code, text in result.err) == (code, True), result
    assert offline("x", "b").code == 0
