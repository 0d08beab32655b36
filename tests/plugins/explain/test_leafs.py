"""`pyjs explain SUBJECT` over a leaf connection: what crosses it into which domain, and what does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.leaf_pair import ACCOUNTS, LEAF, Pair, api, login

Leafs = Callable[..., list[tuple[str, str]]]


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A hub and a leaf of one implementation, which are connected."""
    made = Pair(request.param, request.param)
    try:
        made.joined()
        yield made
    finally:
        made.close()


@pytest.fixture
def leafs(pair: Pair, cli: Cli) -> Leafs:
    """leafs(SUBJECT): (outcome, text) of the steps of one kind, of what the hub's user is told."""
    bare = cli.with_flags()
    bare.ok("context", "save", "sys", "--server", pair.hub.url, "--user", "admin", "--password", "admin")
    acc = cli.with_flags("--server", pair.hub.url, "--user", "acc", "--password", "acc")

    def run(subject: str, kind: str = "leaf") -> list[tuple[str, str]]:
        steps = json.loads(acc.run("explain", subject, "--sys", "sys", "-o", "json").out)
        wanted = "ACC", kind
        return [
            (each["outcome"], each["text"]) for each in steps if (each["account"], each["kind"]) == wanted
        ]

    return run


@pytest.fixture
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(tmp_path_factory.mktemp("home"))


def test_interest_on_the_other_side_takes_it_across(pair: Pair, leafs: Leafs) -> None:
    ((outcome, text),) = leafs("far.away")
    assert (outcome, "no interest" in text) == ("ends", True)
    with login(pair.leaf) as hearer:
        hearer.sub("far.*", "1")
        hearer.sync()
        eventually(lambda: leafs("far.away")[0][0] == "reached", 20)
        ((_, text),) = leafs("far.away")
        assert "far.*" in text
        assert "leaf-server (domain leaf)" in text
        ((outcome, text),) = leafs("far.away", "subscription")
        assert (outcome, "on leaf-server hears it: far.*." in text) == ("reached", True)


@pytest.mark.parametrize("implementation", ["reference", "pyjs"])
def test_deny_lists_of_a_remote_keep_it_on_its_side(implementation: str, cli: Cli) -> None:
    denying = LEAF.replace('account: "ACC" }', 'account: "ACC", deny_exports: "far.no" }')
    pair = Pair(implementation, implementation, leaf_config=denying + ACCOUNTS)
    try:
        pair.joined()
        bare = cli.with_flags()
        bare.ok("context", "save", "sys", "--server", pair.leaf.url, "--user", "admin", "--password", "admin")
        acc = cli.with_flags("--server", pair.leaf.url, "--user", "acc", "--password", "acc")

        def outcome(subject: str) -> tuple[str, str]:
            steps = json.loads(acc.run("explain", subject, "--sys", "sys", "-o", "json").out)
            ((outcome, text),) = [(s["outcome"], s["text"]) for s in steps if s["kind"] == "leaf"]
            return outcome, text

        with login(pair.hub) as hearer, login(pair.leaf) as sender:
            hearer.sub("far.*", "1")
            hearer.sync()
            eventually(lambda: outcome("far.yes")[0] == "reached", 20)
            ended, text = outcome("far.no")
            assert (ended, text.endswith("deny_exports of leaf-server has far.no.")) == ("ends", True)
            sender.pub("far.no")
            sender.pub("far.yes")
            assert hearer.msg().subject == "far.yes"
    finally:
        pair.close()


def test_streams_of_another_domain(pair: Pair, leafs: Leafs) -> None:
    assert leafs("kept.far")[0][0] == "ends"
    with api(pair.leaf) as js:
        js.create("FAR", subjects=["kept.*"])
        eventually(lambda: leafs("kept.far")[0][0] == "reached", 20)
        assert ("reached", "FAR of domain leaf stores it.") in leafs("kept.far", "stream")
        js.call("STREAM.DELETE.FAR")
        eventually(lambda: leafs("kept.far")[0][0] == "ends", 20)


def test_the_api_of_another_domain_stays_there(pair: Pair, leafs: Leafs) -> None:
    with login(pair.leaf) as hearer:
        hearer.sub("$JS.API.STREAM.*", "1")
        hearer.sync()
        eventually(lambda: len(leafs("$JS.API.STREAM.LIST")) == 1, 20)
        ((outcome, text),) = leafs("$JS.API.STREAM.LIST")
        assert (outcome, "$JS.leaf.API" in text) == ("ends", True)
        ((outcome, text),) = leafs("$JS.API.STREAM.LIST", "subscription")
        assert (outcome, "does not come there" in text) == ("ends", True)
    eventually(lambda: leafs("$JS.leaf.API.STREAM.LIST")[0][0] == "reached", 20)  # its interest comes later


def test_what_is_asked_for_in_the_wrong_domain(pair: Pair, cli: Cli) -> None:
    acc = cli.with_flags("--server", pair.hub.url, "--user", "acc", "--password", "acc")
    acc.ok("stream", "add", "ORDERS", "--subjects", "orders.*", "--defaults", "--js-domain", "leaf")
    acc.ok("consumer", "add", "ORDERS", "NEW", "--pull", "--defaults", "--js-domain", "leaf")
    for words in (("stream", "ORDERS"), ("consumer", "ORDERS", "NEW")):
        for flags in ((), ("--js-domain", "lef")):
            result = acc.run("explain", *words, *flags)
            assert result.code == (6 if flags else 3)
            hint = result.err.rpartition("hint: it is in the domain leaf: pyjs ")[2]
            assert hint.split()[-2:] == ["--js-domain", "leaf"]
            assert acc.run(*hint.partition("… ")[2].split()).err == ""
    nowhere = acc.run("explain", "stream", "NOTHING")
    assert (nowhere.code, "in the domain" in nowhere.err) == (3, False)
    found = json.loads(acc.run("doctor", "--js-domain", "lef", "-o", "json").out)
    (told,) = [each["text"] for each in found if each["check"] == "jetstream"]
    assert "Servers tell of the domains " in told
    assert "leaf" in told.rpartition("domains ")[2]
    acc.ok("stream", "rm", "ORDERS", "--force", "--js-domain", "leaf")


def test_acknowledgements_that_count_in_two_domains(pair: Pair, cli: Cli) -> None:
    acc = cli.with_flags("--server", pair.hub.url, "--user", "acc", "--password", "acc")
    cli.with_flags().ok(
        "context", "save", "sys", "--server", pair.hub.url, "--user", "admin", "--password", "admin"
    )
    subject = "$JS.ACK.TWIN.C.1.1.1.1.0"

    def takers() -> list[tuple[str, str]]:
        steps = json.loads(acc.run("explain", subject, "--sys", "sys", "-o", "json").out)
        return [(each["outcome"], each["text"]) for each in steps if each["kind"] == "acknowledgement"]

    assert [outcome for outcome, _ in takers()] == ["ends"]
    with api(pair.hub) as here, api(pair.leaf) as there:
        there.create("TWIN", subjects=["there"])
        there.consumer("TWIN", "C")
        eventually(lambda: ("reached", "The consumer TWIN > C of domain leaf takes it.") in takers(), 20)
        line = ("consumer", "TWIN", "C", "--js-domain", "leaf", "-o", "json")
        assert "shared_acks" not in acc.run("explain", *line).out
        here.create("TWIN", subjects=["here"])
        here.consumer("TWIN", "C")
        assert [outcome for outcome, _ in takers()] == ["reached", "reached", "unknown"]
        for js in (here, there):
            js.publish("here" if js is here else "there")
        here.pull("TWIN", "C")  # and is not acknowledged
        there.ack(there.pull("TWIN", "C")[0][0])
        eventually(lambda: here.call("CONSUMER.INFO.TWIN.C")["ack_floor"]["stream_seq"] == 1, 20)
        for words in (("explain", *line), ("doctor", "-o", "json")):
            found = {each["check"]: each for each in json.loads(acc.run(*words).out)}
            assert found["shared_acks"]["severity"] == "warning", words
        here.call("CONSUMER.DELETE.TWIN.C")
        assert "shared_acks" not in acc.run("explain", *line).out
        assert "shared_acks" not in acc.run("doctor", "-o", "json").out
        for js in (here, there):
            js.call("STREAM.DELETE.TWIN")


@pytest.mark.parametrize("implementation", ["reference", "pyjs"])
def test_acknowledgements_that_a_leaf_connection_denies(implementation: str, cli: Cli) -> None:
    denying = LEAF.replace('account: "ACC" }', 'account: "ACC", deny_imports: "$JS.ACK.>" }')
    pair = Pair(implementation, implementation, leaf_config=denying + ACCOUNTS)
    try:
        pair.joined()
        bare = cli.with_flags()
        bare.ok("context", "save", "sys", "--server", pair.hub.url, "--user", "admin", "--password", "admin")
        acc = cli.with_flags("--server", pair.hub.url, "--user", "acc", "--password", "acc")
        with api(pair.leaf) as there, api(pair.hub, prefix="$JS.leaf.API") as far:
            there.create("TWIN", subjects=["there"])
            there.consumer("TWIN", "C", max_ack_pending=1)
            there.publish("there")
            far.ack(far.pull("TWIN", "C")[0][0])
            line = ("explain", "consumer", "TWIN", "C", "--js-domain", "leaf", "-o", "json")
            (found,) = [each for each in json.loads(acc.run(*line).out) if each["check"] == "never_acked"]
            assert "crosses a leaf connection to the domain leaf, which may deny it" in found["text"]
            assert found["commands"][-1].endswith("'$JS.ACK.TWIN.C.1.1.1.1.0' --sys CONTEXT")
            result = acc.run("explain", "$JS.ACK.TWIN.C.1.1.1.1.0", "--sys", "sys", "-o", "json")
            texts = {each["kind"]: each["text"] for each in json.loads(result.out)}
            assert "deny_imports of leaf-server has $JS.ACK.>" in texts["leaf"]
            assert texts["acknowledgement"].startswith("There is no consumer TWIN > C")
            assert result.code == 1
    finally:
        pair.close()


def test_a_mirror_of_a_domain_that_is_misspelt(pair: Pair, cli: Cli) -> None:
    acc = cli.with_flags("--server", pair.hub.url, "--user", "acc", "--password", "acc")
    with api(pair.hub) as js:
        js.create("FAR", mirror={"name": "O", "external": {"api": "$JS.lef.API", "deliver": ""}})
        found = json.loads(acc.run("explain", "stream", "FAR", "-o", "json").out)
        (told,) = [each["text"] for each in found if each["check"] == "origin_unreachable"]
        assert re.search(r"the prefix is wrong\. Servers tell of the domains .*leaf", told)
        js.call("STREAM.DELETE.FAR")
