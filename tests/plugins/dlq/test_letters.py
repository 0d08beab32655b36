"""Dead letters from the command line, on both servers: kept, listed, shown, replayed, removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess

SECOND = 1_000_000_000


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    with JetStream.of(server) as opened:
        yield opened


def fill(js: JetStream, stream: str, **config: Any) -> None:
    """Make a stream with a consumer that gets each message once, and three messages."""
    js.create(stream, subjects=[f"{stream}.>"], allow_direct=True, **config)
    js.consumer(stream, "work", ack_policy="explicit", max_deliver=1, ack_wait=SECOND // 20)
    for number in range(1, 4):
        js.publish(f"{stream}.{number}", b"body %d" % number)


def letters(cli: Cli, stream: str, *flags: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cli.ok("dlq", "ls", stream, *flags, "-o", "json"))
    return found


def give_up(js: JetStream, cli: Cli, stream: str) -> list[dict[str, Any]]:
    """Terminate the first message, leave the second without an ack, and acknowledge the third."""
    (first, _, third), _ = js.pull(stream, "work", batch=3)
    js.ack(first, "+TERM it is broken")
    js.ack(third)
    eventually(lambda: len(letters(cli, stream)) == 2, seconds=10)
    return sorted(letters(cli, stream), key=lambda letter: letter["sequence"])


def test_what_was_given_up_is_listed_with_its_cause_and_its_message(
    cli: Cli, js: JetStream, unique: str, implementation: str
) -> None:
    fill(js, unique)
    added = json.loads(cli.ok("dlq", "add", unique, "-o", "json"))
    assert (added["stream"], added["consumers"], added["queue"]) == (unique, ["all"], f"DLQ_{unique}")
    first, second = give_up(js, cli, unique)
    assert (first["reason"], first["detail"], first["consumer"]) == ("terminated", "it is broken", "work")
    assert (first["subject"], first["sequence"], first["deliveries"]) == (f"{unique}.1", 1, 1)
    assert (second["reason"], second["detail"], second["bytes"]) == ("max_deliveries", "", 6)
    place = "stored" if implementation == "pyjs" else "in stream"
    assert (first["message"], second["message"]) == (place, place)
    assert [letter["sequence"] for letter in letters(cli, unique, "--reason", "terminated")] == [1]
    assert [letter["sequence"] for letter in letters(cli, unique, "--subject", "*.2")] == [2]
    assert letters(cli, unique, "--consumer", "other") == letters(cli, unique, "--until", "1h") == []
    assert len(letters(cli, unique, "--since", "1h")) == 2
    assert letters(cli, unique, "--since", "2100-01-01T00:00:00Z") == []
    (queue,) = (one for one in json.loads(cli.ok("dlq", "ls", "-o", "json")) if one["stream"] == unique)
    assert queue["letters"] == 2
    shown = json.loads(cli.ok("dlq", "show", unique, str(first["id"]), "-o", "json"))
    assert (shown["data"], shown["subject"]) == ("body 1", f"{unique}.1")
    assert cli.ok("dlq", "show", unique, str(first["id"]), "--raw") == "body 1"


def test_a_replay_publishes_each_message_once_with_its_id_and_headers(
    cli: Cli, js: JetStream, unique: str
) -> None:
    js.create(unique, subjects=[f"{unique}.>"], allow_direct=True, duplicate_window=SECOND // 10)
    js.consumer(unique, "work", ack_policy="explicit", max_deliver=1, ack_wait=SECOND // 20)
    cli.ok("dlq", "add", unique)
    js.create(f"{unique}T", subjects=[f"to.{unique}"], allow_direct=True)
    block = {"Nats-Msg-Id": "the-id", "Colour": "red", "Nats-Expected-Stream": unique}
    js.publish(f"{unique}.1", b"with an id", headers=block)
    js.publish(f"{unique}.2", b"without")
    for message in js.pull(unique, "work", batch=2)[0]:
        js.ack(message, "+TERM")
    eventually(lambda: len(letters(cli, unique)) == 2)
    dry = json.loads(cli.ok("dlq", "replay", unique, "--all", "--dry-run", "-o", "json"))
    assert len(dry) == 2
    for _ in range(2):  # the letters stay, as if the first run had been cut before it removed them
        assert "Replayed 2 of 2" in cli.ok("dlq", "replay", unique, "--all", "--keep", "--to", f"to.{unique}")
    out = cli.ok("dlq", "replay", unique, "--all", "--to", f"to.{unique}")
    assert "2 of them by an earlier replay" in out
    assert letters(cli, unique) == []
    assert js.stored(f"{unique}T") == {1: b"with an id", 2: b"without"}
    first = cli.ok("stream", "get", f"{unique}T", "1")
    assert "Nats-Msg-Id: the-id" in first and "Colour: red" in first
    assert "Expected" not in first and "Dead-Letter" not in first
    missing = cli.run("dlq", "replay", unique, "999")
    assert (missing.code, missing.out) == (3, "")
    assert cli.run("dlq", "replay", unique).code == 2


def test_a_replay_leaves_the_schedule_alone_that_made_the_message(
    cli: Cli, js: JetStream, unique: str
) -> None:
    js.create(
        unique, subjects=[f"{unique}.*"], allow_msg_schedules=True, allow_msg_ttl=True, allow_direct=True
    )
    js.consumer(unique, "work", ack_policy="explicit", filter_subject=f"{unique}.out")
    cli.ok("dlq", "add", unique)
    headers = {"Nats-Schedule": "@at 2001-01-01T00:00:00Z", "Nats-Schedule-Target": f"{unique}.out"}
    js.publish(f"{unique}.in", b"now", headers=headers)
    eventually(lambda: js.consumer_info(unique, "work")["num_pending"] == 1)
    js.ack(js.pull(unique, "work")[0][0], "+TERM")
    eventually(lambda: len(letters(cli, unique)) == 1)
    later = headers | {"Nats-Schedule": "@at 2199-01-01T00:00:00Z"}
    planned = js.publish(f"{unique}.in", b"later", headers=later)["seq"]
    cli.ok("dlq", "replay", unique, "--all", "--new-ids")
    assert js.stored(unique)[planned] == b"later"
    (again,) = js.pull(unique, "work")[0]
    assert (again.body, "Nats-Schedule" in str(again)) == (b"now", False)


def test_a_replay_that_fails_says_which_letter_and_how_many_are_done(
    cli: Cli, js: JetStream, unique: str
) -> None:
    fill(js, unique)
    js.create(f"{unique}T", subjects=[f"to.{unique}"], max_msgs=1, discard="new")
    cli.ok("dlq", "add", unique)
    first, second = give_up(js, cli, unique)
    nobody = cli.run("dlq", "replay", unique, "--all", "--to", "nobody.there")
    ids = sorted((first["id"], second["id"]))
    assert nobody.code == 6
    assert f"could not replay the dead letter {ids[0]} to nobody.there: nats: no resp" in nobody.err
    assert "replayed 0 dead letters of 2; the same command goes on" in nobody.err
    assert f"replayed to to.{unique}" in cli.ok(
        "dlq", "replay", unique, "--all", "--dry-run", "--to", f"to.{unique}"
    )
    full = cli.run("dlq", "replay", unique, "--all", "--to", f"to.{unique}")
    assert f"could not replay the dead letter {ids[1]} to to.{unique}" in full.err
    assert "replayed 1 dead letter of 2; the same command goes on, and doubles nothing" in full.err
    assert [each["id"] for each in letters(cli, unique)] == ids[1:]
    js.consumer(unique, "more", ack_policy="explicit")
    again = cli.run("dlq", "replay", unique, "--all", "--to", f"{unique}.again")
    assert (again.code, f"{unique}.again is stored in {unique}, too" in again.err) == (0, True)


def test_a_replay_says_which_ids_the_stream_still_knows(cli: Cli, js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"], allow_direct=True)
    js.consumer(unique, "work", ack_policy="explicit")
    cli.ok("dlq", "add", unique)
    js.publish(f"{unique}.1", b"early", headers={"Nats-Msg-Id": "one"})
    js.ack(js.pull(unique, "work")[0][0], "+TERM")
    eventually(lambda: len(letters(cli, unique)) == 1)
    refused = cli.run("dlq", "replay", unique, "--all")
    assert refused.code == 4
    assert "--new-ids" in refused.err and "less than its duplicate window of 2m0s ago" in refused.err
    assert len(letters(cli, unique)) == 1
    cli.ok("dlq", "replay", unique, "--all", "--new-ids")
    assert js.stored(unique) == {1: b"early", 2: b"early"}
    assert letters(cli, unique) == []


def test_a_replay_out_of_a_work_queue_leaves_one_message_there(cli: Cli, js: JetStream, unique: str) -> None:
    fill(js, unique, retention="workqueue")
    cli.ok("dlq", "add", unique)
    give_up(js, cli, unique)
    assert "Replayed 1 of 1" in cli.ok("dlq", "replay", unique, "--reason", "max_deliveries")
    assert js.stored(unique, first=4) == {4: b"body 2"}
    assert js.state(unique)["messages"] == 1


def test_letters_and_queues_are_removed(cli: Cli, js: JetStream, server: ServerProcess, unique: str) -> None:
    typed = f"pyjs --server {server.url} dlq"
    fill(js, unique)
    assert "dlq add" in cli.run("dlq", "ls", unique).err
    nobody = cli.run("dlq", "ls", f"{unique}X")
    assert (nobody.code, "dlq add" in nobody.err, "no such stream" in nobody.err) == (3, False, True)
    assert cli.run("dlq", "add", unique, "nobody").code == 3
    cli.ok("dlq", "add", unique, "work", "--max-age", "1h")
    assert json.loads(cli.ok("dlq", "add", unique, "work", "-o", "json"))["consumers"] == ["work"]
    js.consumer(unique, "more", ack_policy="explicit", max_deliver=2)
    assert json.loads(cli.ok("dlq", "add", unique, "more", "-o", "json"))["consumers"] == ["more", "work"]
    assert json.loads(cli.ok("dlq", "add", unique, "-o", "json"))["consumers"] == ["all"]
    assert json.loads(cli.ok("dlq", "add", unique, "work", "-o", "json"))["consumers"] == ["all"]
    first, second = give_up(js, cli, unique)
    assert cli.run("dlq", "rm", unique, str(first["id"])).code == 2  # nobody is there to answer
    cli.ok("dlq", "rm", unique, str(first["id"]), "--force")
    assert [letter["id"] for letter in letters(cli, unique)] == [second["id"]]
    assert js.info(f"DLQ_{unique}")["config"]["max_age"] == 3600 * SECOND
    for words in (["--force"], ["--stop", "--force"], ["9", "--all", "--stop", "--force"]):
        refused = cli.run("dlq", "rm", unique, *words)
        assert (refused.code, "--all" in refused.err) == (2, True), words
    assert [letter["id"] for letter in letters(cli, unique)] == [second["id"]]
    done = cli.ok("dlq", "rm", unique, "--all", "--force")
    assert (
        done.split()
        == (
            f"Deleted 1 dead letter of {unique}. Those to come are kept; '{typed} stop {unique}' ends that"
        ).split()
    )
    assert letters(cli, unique) == []
    cli.ok("dlq", "stop", unique)
    assert f"'{typed} add {unique}' begins again" in cli.ok("dlq", "rm", unique, "--all", "--force")
    assert js.state(unique)["messages"] == 3


def test_the_end_of_the_keeping_says_how_it_is_resumed(
    cli: Cli, js: JetStream, server: ServerProcess, unique: str
) -> None:
    fill(js, unique)
    cli.ok("dlq", "add", unique, "work")
    give_up(js, cli, unique)
    done = cli.ok("dlq", "rm", unique, "--all", "--stop", "--force")
    again = f"pyjs --server {server.url} dlq add {unique} work"
    assert done == f"Deleted 2 dead letters of {unique}. No more are kept; '{again}' begins again\n"
    assert cli.run("dlq", "ls", unique).code == 3
    assert js.error(f"STREAM.INFO.DLQ_{unique}")


def test_the_keeping_of_one_consumer_ends_and_its_letters_stay(cli: Cli, js: JetStream, unique: str) -> None:
    fill(js, unique)
    js.consumer(unique, "more", ack_policy="explicit", max_deliver=2)
    cli.ok("dlq", "add", unique)
    before = give_up(js, cli, unique)
    stopped = cli.run("dlq", "stop", unique, "work", "-o", "json")
    assert (stopped.code, json.loads(stopped.out)["consumers"]) == (0, ["more"])
    assert f"dlq add {unique} NAME' keeps what a new one gives up" in stopped.err
    js.publish(f"{unique}.4", b"not kept")
    js.publish(f"{unique}.5", b"kept")
    js.ack(js.pull(unique, "work")[0][0], "+TERM")
    gone = js.pull(unique, "more", batch=5)[0]
    js.ack(gone[4], "+TERM")
    eventually(lambda: len(letters(cli, unique)) == 3)
    after = letters(cli, unique)
    assert after[:2] == sorted(before, key=lambda letter: letter["id"])
    assert (after[2]["consumer"], after[2]["sequence"]) == ("more", 5)
    assert js.info(unique)["state"]["messages"] == 5
    missing = cli.run("dlq", "stop", unique, "work")
    assert (missing.code, "they are kept of more" in missing.err) == (3, True)
    assert cli.run("dlq", "stop", unique, "more").err == ""
    assert json.loads(cli.ok("dlq", "add", unique, "work", "-o", "json"))["consumers"] == ["work"]
    js.ack(gone[3], "+TERM")  # nobody keeps this one
    js.ack(js.pull(unique, "work")[0][0], "+TERM")
    eventually(lambda: len(letters(cli, unique)) == 4)
    assert [(letter["consumer"], letter["sequence"]) for letter in letters(cli, unique)][3] == ("work", 5)


def test_the_keeping_of_all_ends_and_their_letters_stay(cli: Cli, js: JetStream, unique: str) -> None:
    fill(js, unique)
    assert cli.run("dlq", "stop", unique).code == 3
    cli.ok("dlq", "add", unique)
    assert cli.run("dlq", "stop", unique, "nobody").code == 3
    before = give_up(js, cli, unique)
    assert f"No more dead letters of {unique} are kept; those in DLQ_{unique} stay" in cli.ok(
        "dlq", "stop", unique
    )
    (queue,) = (one for one in json.loads(cli.ok("dlq", "ls", "-o", "json")) if one["stream"] == unique)
    assert (queue["consumers"], queue["letters"]) == ([], 2)
    assert cli.run("dlq", "stop", unique, "work").code == 3
    cli.ok("dlq", "stop", unique)  # which may be repeated
    js.publish(f"{unique}.4", b"not kept")
    js.ack(js.pull(unique, "work")[0][0], "+TERM")
    assert "Replayed 1 of 1" in cli.ok("dlq", "replay", unique, str(before[0]["id"]), "--to", f"{unique}.5")
    js.consumer(unique, "next", ack_policy="explicit", deliver_policy="last")
    js.call(f"STREAM.DELETE.{unique}")  # the letters of a stream that is gone
    cli.ok("dlq", "stop", unique)
    assert js.info(f"DLQ_{unique}")["config"]["subjects"] == [f"$PYJS.DLQ.{unique}._"]
    assert len(letters(cli, unique)) == 1


def test_messages_that_wait_for_a_queue_that_stops_are_given_up(
    cli: Cli, js: JetStream, unique: str, implementation: str
) -> None:
    fill(js, unique, retention="workqueue")
    cli.ok("dlq", "add", unique, "work")
    js.call(
        f"STREAM.UPDATE.DLQ_{unique}", {**js.info(f"DLQ_{unique}")["config"], "max_msgs": 1, "discard": "new"}
    )
    for message in js.pull(unique, "work", batch=2)[0]:
        js.wire.pub(message.reply, "+TERM")
    eventually(lambda: len(letters(cli, unique)) == 1)
    if implementation == "pyjs":  # the second one finds no room, and is not given up before it does
        assert js.state(unique)["messages"] == 2
    cli.ok("dlq", "stop", unique, "work")
    eventually(lambda: js.state(unique)["messages"] == 1, seconds=10)
    assert len(letters(cli, unique)) == 1


def test_a_foreign_stream_is_left_alone(cli: Cli, js: JetStream, unique: str) -> None:
    fill(js, unique)
    js.create(f"DLQ_{unique}", subjects=[f"mine.{unique}"])
    for words in (["add"], ["ls"], ["rm", "--all", "--stop", "--force"], ["replay", "--all"]):
        assert cli.run("dlq", words[0], unique, *words[1:]).code == 1, words
    assert js.info(f"DLQ_{unique}")["config"]["subjects"] == [f"mine.{unique}"]


def test_a_message_that_has_left_the_stream_is_gone_or_in_the_copy(
    cli: Cli, js: JetStream, unique: str, implementation: str
) -> None:
    fill(js, unique, retention="workqueue")
    if implementation == "pyjs":  # it stores the message itself
        assert cli.run("dlq", "add", unique).err == ""
        first, _ = give_up(js, cli, unique)
        assert js.state(unique)["messages"] == 1
        assert cli.ok("dlq", "show", unique, str(first["id"]), "--raw") == "body 1"
        return
    warned = cli.run("dlq", "add", unique)
    assert warned.code == 0 and "--copy keeps it in a mirror" in warned.err
    first, second = give_up(js, cli, unique)
    assert (first["message"], first["subject"], second["message"]) == ("gone", "", "in stream")
    assert "without a message" in cli.run("dlq", "ls", unique).err
    assert "it left" in cli.ok("dlq", "show", unique, str(first["id"]))
    assert cli.run("dlq", "show", unique, str(first["id"]), "--raw").code == 3
    replayed = cli.run("dlq", "replay", unique, "--all")
    assert (replayed.code, [letter["id"] for letter in letters(cli, unique)]) == (1, [first["id"]])

    kept = cli.run("dlq", "add", unique, "--copy")
    assert kept.code == 0 and "mirror" not in kept.err
    js.publish(f"{unique}.4", b"kept")
    eventually(lambda: js.state(f"DLQCOPY_{unique}")["last_seq"] == js.state(unique)["last_seq"])
    message = next(one for one in js.pull(unique, "work", batch=2)[0] if one.body == b"kept")
    js.ack(message, "+TERM")
    eventually(lambda: "in copy" in [letter["message"] for letter in letters(cli, unique)])
    (copied,) = (str(letter["id"]) for letter in letters(cli, unique) if letter["message"] == "in copy")
    assert cli.ok("dlq", "show", unique, copied, "--raw") == "kept"
    js.call(f"STREAM.DELETE.{unique}")
    js.create(unique, subjects=[f"{unique}.>"])
    for _ in range(8):
        js.publish(f"{unique}.1", b"of another stream")
    assert {letter["message"] for letter in letters(cli, unique)} == {"gone"}
    cli.ok("dlq", "rm", unique, "--all", "--stop", "--force")
    assert js.error(f"STREAM.INFO.DLQCOPY_{unique}")
