"""`pyjs explain consumer`: each fault is made and found; once it is repaired, nothing is said of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import MILLISECOND, SECOND, JetStream
from lib.process import ServerProcess

Explain = Callable[..., Any]
MUTE = """
listen: "127.0.0.1:<client>"
server_name: refusing
jetstream { store_dir: "<store>" }
accounts { SHOP: { jetstream: enabled, users: [
    { user: free, password: free }
    { user: mute, password: mute, permissions: { publish: { deny: "$JS.ACK.>" } } }
    { user: idle, password: idle, permissions: {
        publish: { allow: ">", deny: "$JS.API.CONSUMER.MSG.NEXT.>" }, allow_responses: true } }
    { user: deaf, password: deaf, permissions: { subscribe: { deny: "to.>" } } }
] } }
"""


@pytest.fixture
def stream(js: JetStream, unique: str) -> str:
    """A stream of `<name>.>` with three messages on `<name>.a`."""
    js.create(unique, subjects=[f"{unique}.>"])
    js.fill(f"{unique}.a", 3)
    return unique


def ask(js: JetStream, stream: str, name: str = "C", **request: Any) -> str:
    """A pull request that waits; it is there when this returns."""
    inbox = js.ask(stream, name, {"batch": 1, "expires": 60 * SECOND} | request)
    js.wire.sync()
    return inbox


def gives_up(js: JetStream, stream: str) -> bool:
    """Ask, and get nothing. nats-server gives a message up when it would deliver it once more."""
    return not js.pull(stream, "C")[0]


def test_a_healthy_consumer_is_silent(js: JetStream, stream: str, explain: Explain, cli: Cli) -> None:
    js.consumer(stream, "C")
    messages, _ = js.pull(stream, "C", 3)
    for each in messages:
        js.ack(each)
    ask(js, stream)
    explained = explain("consumer", stream, "C")
    assert (explained.code, set(explained.found)) == (0, {"all_delivered"})
    out = cli.ok("explain", "con", stream, "C")
    assert out.startswith(f"Consumer {stream} > C: nothing keeps messages from being delivered\n")
    assert "up to sequence 3" in out


def test_no_client_pulls(js: JetStream, stream: str, explain: Explain, cli: Cli) -> None:
    js.consumer(stream, "C")
    found = explain("consumer", stream, "C")
    assert found.code == 1
    assert found.bad == {"no_pulls"}
    assert found.found["no_pulls"]["evidence"] == {"num_pending": 3, "num_waiting": 0}
    assert found.found["no_pulls"]["commands"] == [f"pyjs consumer next {stream} C --count 1"]
    cli.ok("consumer", "next", stream, "C", "--count", "3", "--ack")
    assert explain("consumer", stream, "C").bad == set()


def test_more_pulls_wait_than_may(js: JetStream, stream: str, explain: Explain) -> None:
    js.call(f"STREAM.PURGE.{stream}")
    js.consumer(stream, "C", max_waiting=2)
    ask(js, stream)
    assert explain("consumer", stream, "C").bad == set()
    ask(js, stream)
    found = explain("consumer", stream, "C")
    assert found.bad == {"max_waiting"}
    assert found.found["max_waiting"]["evidence"] == {"num_waiting": 2, "max_waiting": 2}


def test_limits_of_pulls_are_noted(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", max_batch=5, max_expires=SECOND)
    assert explain("consumer", stream, "C").found["pull_limits"]["evidence"] == {
        "max_batch": 5,
        "max_expires": "1s",
    }


def test_paused(js: JetStream, stream: str, explain: Explain, cli: Cli) -> None:
    js.consumer(stream, "C")
    cli.ok("consumer", "pause", stream, "C", "1h", "--force")
    found = explain("consumer", stream, "C")
    assert "paused" in found.bad
    assert found.found["paused"]["commands"] == [f"pyjs consumer resume {stream} C"]
    cli.ok("consumer", "resume", stream, "C", "--force")
    assert "paused" not in explain("consumer", stream, "C").found


def test_max_ack_pending(js: JetStream, stream: str, explain: Explain, cli: Cli) -> None:
    js.consumer(stream, "C", max_ack_pending=2)
    messages, _ = js.pull(stream, "C", 2)
    found = explain("consumer", stream, "C")
    assert {"max_ack_pending", "never_acked"} <= found.bad
    said = found.found["max_ack_pending"]
    assert said["evidence"] == {"num_ack_pending": 2, "max_ack_pending": 2, "num_pending": 1}
    assert said["commands"] == [f"pyjs consumer edit {stream} C --max-pending 4"]
    cli.ok(*said["commands"][0].split()[1:], "--force")
    assert "max_ack_pending" not in explain("consumer", stream, "C").found
    js.ack(messages[0])
    assert "never_acked" not in explain("consumer", stream, "C").found


def test_messages_are_delivered_again(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", ack_wait=50 * MILLISECOND, max_deliver=5)
    messages, _ = js.pull(stream, "C", 3)
    assert "redelivered" not in explain("consumer", stream, "C").bad - {"redelivered"}
    again, _ = js.pull(stream, "C", 3)
    found = explain("consumer", stream, "C")
    assert "redelivered" in found.bad
    evidence = found.found["redelivered"]["evidence"]
    assert (evidence["num_redelivered"], evidence["ack_wait"], evidence["max_deliver"]) == (3, "50ms", 5)
    assert found.found["redelivered"]["commands"] == [f"pyjs consumer edit {stream} C --wait 100ms"]
    for each in again:
        js.ack(each)
    assert "redelivered" not in explain("consumer", stream, "C").found
    assert len(messages) == 3


@pytest.mark.parametrize("often", [1, 2])
def test_messages_are_given_up(js: JetStream, stream: str, explain: Explain, cli: Cli, often: int) -> None:
    js.consumer(stream, "C", ack_wait=50 * MILLISECOND, max_deliver=often)
    for _ in range(often):
        assert "given_up" not in explain("consumer", stream, "C").found
        assert len(js.pull(stream, "C", 3)[0]) == 3
    eventually(lambda: gives_up(js, stream) and explain("consumer", stream, "C").bad == {"given_up"})
    found = explain("consumer", stream, "C").found
    assert "all_delivered" not in found
    said = found["given_up"]
    assert said["severity"] == "error"  # nothing was ever acknowledged
    assert said["text"].startswith(f"{'Up to 3' if often == 1 else 3} messages were given up")
    assert f"$JS.ACK.{stream}.C.>" in said["text"]
    assert said["commands"][1:] == [f"pyjs consumer reset {stream} C --sequence 1", f"pyjs dlq add {stream}"]
    cli.ok(*said["commands"][1].split()[1:], "--force")
    assert "given_up" not in explain("consumer", stream, "C").found
    cli.ok("consumer", "next", stream, "C")  # they come again


def test_letters_that_are_kept_are_shown_and_replayed(
    js: JetStream, stream: str, explain: Explain, cli: Cli
) -> None:
    js.consumer(stream, "C", ack_wait=50 * MILLISECOND, max_deliver=2)
    for _ in range(2):
        js.pull(stream, "C", 3)
    eventually(lambda: gives_up(js, stream) and explain("consumer", stream, "C").bad == {"given_up"})
    js.consumer(stream, "D", ack_wait=50 * MILLISECOND, max_deliver=1)
    cli.ok("dlq", "add", stream)
    said = explain("consumer", stream, "C").found["given_up"]  # it gave up before
    assert said["text"].endswith("What it gives up is kept as dead letters; there is none now.")
    assert not any(" dlq " in each for each in said["commands"])
    js.pull(stream, "D", 3)
    eventually(lambda: len(json.loads(cli.ok("dlq", "ls", stream, "-o", "json"))) == 3)
    eventually(lambda: "given_up" in explain("consumer", stream, "D").found)
    assert not any(" dlq " in each for each in explain("consumer", stream, "C").found["given_up"]["commands"])
    ls = f"pyjs dlq ls {stream} --consumer D"
    commands = [ls, f"pyjs dlq show {stream} ID", f"pyjs dlq replay {stream} --consumer D"]
    assert explain("consumer", stream, "D").found["given_up"]["commands"][-3:] == commands
    assert len(json.loads(cli.ok(*ls.split()[1:], "-o", "json"))) == 3
    cli.ok("dlq", "stop", stream)
    add = f"pyjs dlq add {stream}"
    assert explain("consumer", stream, "D").found["given_up"]["commands"][-4:] == [*commands, add]


def test_what_is_acknowledged_is_not_given_up(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", ack_wait=50 * MILLISECOND, max_deliver=2)
    for each in js.pull(stream, "C", 2)[0]:
        js.ack(each)
    assert "given_up" not in explain("consumer", stream, "C").found
    for _ in range(2):
        js.pull(stream, "C")
    eventually(lambda: gives_up(js, stream) and "given_up" in explain("consumer", stream, "C").bad)
    said = explain("consumer", stream, "C").found["given_up"]
    assert (said["severity"], said["evidence"]["ack_floor"]) == ("warning", 2)
    assert said["text"].startswith("1 message was given up: delivered 2 times")


def test_this_user_may_not_acknowledge(
    serve: Callable[[str], ServerProcess], tmp_path: Path, unique: str
) -> None:
    url = serve(MUTE).url
    free = Cli(tmp_path, "--server", url, "--user", "free", "--password", "free")
    mute = Cli(tmp_path, "--server", url, "--user", "mute", "--password", "mute")
    free.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    free.ok("consumer", "add", unique, "C", "--pull", "--max-deliver", "3", "--defaults")
    free.ok("pub", unique, "one", "-J", "-q")
    assert mute.run("consumer", "next", unique, "C").code == 4
    line = ("explain", "consumer", unique, "C", "-o", "json")
    found = {each["check"]: each for each in json.loads(mute.run(*line).out)}
    assert found["ack_refused"]["text"] == (
        "User mute may not publish acknowledgements: $JS.ACK.> denies it. What it receives of this consumer "
        "is never acknowledged, and given up after 3 attempts."
    )
    proposed = shlex.split(found["ack_refused"]["commands"][0])[1:]
    assert proposed[:-3] == ["--server", url, "--user", "mute", "--password", "…"]
    assert mute.run(*proposed[-3:]).code == 4
    assert "ack_refused" not in free.run(*line).out


def test_this_user_may_not_ask_for_messages(
    serve: Callable[[str], ServerProcess], tmp_path: Path, unique: str
) -> None:
    url = serve(MUTE).url
    free = Cli(tmp_path, "--server", url, "--user", "free", "--password", "free")
    idle = Cli(tmp_path, "--server", url, "--user", "idle", "--password", "idle")
    free.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    free.ok("consumer", "add", unique, "C", "--pull", "--defaults")
    free.ok("pub", unique, "one", "-J", "-q")
    refused = idle.run("consumer", "next", unique, "C")
    assert (refused.code, "permissions violation for publish" in refused.err.lower()) == (4, True)
    line = ("explain", "consumer", unique, "C", "-o", "json")
    (found,) = json.loads(idle.run(*line).out)
    assert (found["check"], found["severity"]) == ("pull_refused", "error")
    assert found["text"] == (
        "User idle may not publish requests for messages: $JS.API.CONSUMER.MSG.NEXT.> denies it. It gets "
        "nothing of this consumer, and nobody else asks."
    )
    with JetStream.of(serve(MUTE), user="free", **{"pass": "free"}) as js:
        js.pull(unique, "C")
        ask(js, unique)
        noted = {each["check"]: each["severity"] for each in json.loads(idle.run(*line).out)}
        assert noted["pull_refused"] == "note"
    assert "pull_refused" not in free.run(*line).out


def test_this_user_may_not_hear_what_is_delivered(
    serve: Callable[[str], ServerProcess], tmp_path: Path, unique: str
) -> None:
    url = serve(MUTE).url
    free = Cli(tmp_path, "--server", url, "--user", "free", "--password", "free")
    deaf = Cli(tmp_path, "--server", url, "--user", "deaf", "--password", "deaf")
    free.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    free.ok("consumer", "add", unique, "C", "--target", f"to.{unique}", "--deliver", "all", "--defaults")
    line = ("explain", "consumer", unique, "C", "-o", "json")
    found = {each["check"]: each for each in json.loads(deaf.run(*line).out)}
    assert found["subscribe_refused"]["severity"] == "error"
    assert (
        f"User deaf may not subscribe to to.{unique}: to.> denies it." in found["subscribe_refused"]["text"]
    )
    assert "subscribe_refused" not in free.run(*line).out


def test_a_proposed_command_reaches_the_same_server(
    serve: Callable[[str], ServerProcess], tmp_path: Path, unique: str
) -> None:
    cli = Cli(tmp_path, "-s", serve(MUTE).url.replace("//", "//free:free@"))
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    cli.ok("consumer", "add", unique, "C", "--pull", "--defaults")
    cli.ok("consumer", "pause", unique, "C", "1h", "--force")
    found = json.loads(cli.run("explain", "consumer", unique, "C", "-o", "json").out)
    (proposed,) = [each["commands"][0] for each in found if each["check"] == "paused"]
    assert proposed.startswith("pyjs --server nats://free:…@")
    cli.ok("context", "save", "free")
    pasted = cli.with_flags()
    found = json.loads(pasted.run("--context=free", "explain", "consumer", unique, "C", "-o", "json").out)
    (proposed,) = [each["commands"][0] for each in found if each["check"] == "paused"]
    assert proposed == f"pyjs --context free consumer resume {unique} C"
    pasted.ok(*shlex.split(proposed)[1:], "--force")
    assert (
        f"hint: 'pyjs --context free consumer ls {unique}' shows"
        in pasted.run("consumer", "info", unique, "NOBODY", "--context", "free").err
    )


def test_a_long_ack_wait_may_be_made_shorter(js: JetStream, stream: str, explain: Explain, cli: Cli) -> None:
    js.consumer(stream, "C", max_ack_pending=2, ack_wait=3600 * SECOND)
    js.pull(stream, "C", 2)
    found = explain("consumer", stream, "C").found
    assert found["max_ack_pending"]["commands"] == [
        f"pyjs consumer edit {stream} C --wait 30s",
        f"pyjs consumer edit {stream} C --max-pending 4",
    ]
    assert "next" not in str(found["never_acked"]["commands"])  # it would wait in vain
    cli.ok("consumer", "edit", stream, "C", "--wait", "50ms", "--force")
    cli.ok("consumer", "next", stream, "C")  # what waited comes again


def test_a_filter_in_the_wrong_case(js: JetStream, stream: str, explain: Explain, cli: Cli) -> None:
    js.fill(f"{stream}.eu.1", 1)
    js.fill(f"{stream}.us.1", 1)
    js.consumer(stream, "C", filter_subject=f"{stream}.EU.*")
    said = explain("consumer", stream, "C").found["filter_matches_nothing"]
    assert said["commands"][1] == f"pyjs consumer edit {stream} C --filter '{stream}.eu.*'"
    cli.ok(*shlex.split(said["commands"][1])[1:], "--force")
    assert len(js.pull(stream, "C", 5)[0]) == 1


def test_a_filter_for_what_does_not_come(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", filter_subject=f"{stream}.eu.>")
    ask(js, stream)
    said = explain("consumer", stream, "C").found["filter_matches_nothing"]
    assert "Did you mean" not in said["text"]
    assert said["commands"][1] == f"pyjs explain subject {stream}.eu.NAME"


def test_a_filter_matches_nothing(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", filter_subject=f"{stream}.aa")
    ask(js, stream)
    found = explain("consumer", stream, "C")
    assert found.bad == {"filter_matches_nothing"}
    said = found.found["filter_matches_nothing"]
    assert f"Did you mean {stream}.a?" in said["text"]
    assert said["commands"][1] == f"pyjs consumer edit {stream} C --filter {stream}.a"
    js.publish(f"{stream}.aa")
    assert explain("consumer", stream, "C").bad == set()


def test_a_filter_can_match_nothing(js: JetStream, unique: str, explain: Explain) -> None:
    transform = {"src": f"{unique}.in.*", "dest": f"{unique}.out.$1"}
    js.create(unique, subjects=[f"{unique}.in.*"], subject_transform=transform)
    js.publish(f"{unique}.in.a")
    js.consumer(unique, "C", filter_subject=f"{unique}.out.a")
    ask(js, unique)
    assert explain("consumer", unique, "C").bad == set()
    js.consumer(unique, "D", filter_subjects=[f"{unique}.out.a", f"{unique}.elsewhere"])
    ask(js, unique, "D")
    found = explain("consumer", unique, "D")
    assert found.bad == {"filter_impossible"}
    assert found.found["filter_impossible"]["severity"] == "warning"  # the other filter matches


def test_nobody_subscribes_where_it_delivers(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", deliver_subject=f"to.{stream}", deliver_group="g", rate_limit_bps=8000)
    found = explain("consumer", stream, "C")
    assert found.bad == {"no_push_interest"}
    said = found.found["no_push_interest"]
    assert said["commands"][0] == f"pyjs sub to.{stream} --queue g"
    js.wire.sub(f"to.{stream}", "7")
    js.wire.sync()
    assert explain("consumer", stream, "C").bad == {"no_push_interest"}  # it is not in the queue group
    js.wire.send(f"SUB to.{stream} g 8\r\n")
    js.wire.sync()
    eventually(lambda: explain("consumer", stream, "C").bad == set(), 20)


def test_a_rate_limit_is_noted(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", deliver_subject=f"to.{stream}", rate_limit_bps=8000)
    assert explain("consumer", stream, "C").found["rate_limit"]["severity"] == "note"


def test_it_starts_later(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", deliver_policy="by_start_sequence", opt_start_seq=5)
    ask(js, stream)
    found = explain("consumer", stream, "C")
    assert found.bad == {"starts_later"}
    assert found.found["starts_later"]["evidence"] == {"opt_start_seq": 5, "last_seq": 3}
    js.fill(f"{stream}.b", 3)
    assert "starts_later" not in explain("consumer", stream, "C").found
    js.consumer(stream, "D", deliver_policy="by_start_time", opt_start_time="2199-01-01T00:00:00Z")
    ask(js, stream, "D")
    assert "starts_later" in explain("consumer", stream, "D").bad


def test_it_delivers_only_new_messages(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C", deliver_policy="new")
    ask(js, stream)
    assert set(explain("consumer", stream, "C").found) == {"starts_new"}
    js.publish(f"{stream}.a")
    assert "starts_new" not in explain("consumer", stream, "C").found


def test_an_unused_consumer_is_removed(js: JetStream, stream: str, explain: Explain) -> None:
    js.call(f"STREAM.PURGE.{stream}")
    js.consumer(stream, "C", inactive_threshold=3600 * SECOND)
    assert explain("consumer", stream, "C").found["inactive"]["evidence"] == {"inactive_threshold": "1h0m0s"}
    ask(js, stream)
    assert "inactive" not in explain("consumer", stream, "C").found


def test_messages_were_removed_before_they_were_delivered(
    js: JetStream, stream: str, explain: Explain
) -> None:
    js.update(stream, max_msgs=3)
    js.consumer(stream, "C")
    js.ack(js.pull(stream, "C")[0][0])
    js.fill(f"{stream}.a", 1)
    assert "removed_before" not in explain("consumer", stream, "C").found
    js.fill(f"{stream}.a", 1)
    found = explain("consumer", stream, "C")
    assert "removed_before" in found.bad
    assert found.found["removed_before"]["evidence"] == {"delivered": 1, "first_seq": 3}


def test_a_group_is_pinned_to_one_client(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(
        stream, "C", priority_policy="pinned_client", priority_groups=["jobs"], priority_timeout=60 * SECOND
    )
    assert "pinned" not in explain("consumer", stream, "C").found
    js.pull(stream, "C", group="jobs")
    said = explain("consumer", stream, "C").found["pinned"]
    assert (said["severity"], said["evidence"]["group"]) == ("note", "jobs")


def test_what_is_wrong_with_the_stream_is_told(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique], max_msgs=1, discard="new")
    js.consumer(unique, "C")
    js.publish(unique)
    found = explain("consumer", unique, "C")
    assert found.bad == {"limit_reached", "no_pulls"}
    assert found.found["limit_reached"]["about"] == unique


def test_messages_are_with_clients(js: JetStream, stream: str, explain: Explain) -> None:
    js.consumer(stream, "C")
    js.pull(stream, "C", 3)
    found = explain("consumer", stream, "C")
    assert (found.code, found.found["in_flight"]["evidence"]["num_ack_pending"]) == (0, 3)


def test_an_empty_stream_is_noted(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique])
    js.consumer(unique, "C")
    assert set(explain("consumer", unique, "C").found) == {"stream_empty"}


def test_unknown_names_are_not_found(js: JetStream, stream: str, cli: Cli) -> None:
    js.consumer(stream, "ORDERS")
    result = cli.run("explain", "consumer", stream, "ORDER")
    assert (result.code, "did you mean ORDERS?" in result.err) == (3, True)
    assert cli.run("explain", "consumer", "nowhere", "C").code == 3
