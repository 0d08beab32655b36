"""Broken worlds that `pyjs explain` and `pyjs doctor` name: each is made, found by both, and repaired."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream

Explain = Callable[..., Any]
Examine = Callable[[str], dict[str, dict[str, Any]]]


def test_a_filter_that_an_edit_of_the_subjects_made_void(
    js: JetStream, unique: str, explain: Explain, examine: Examine, cli: Cli
) -> None:
    js.create(unique, subjects=[f"{unique}.eu.>"])
    js.publish(f"{unique}.eu.a")
    js.consumer(unique, "C", filter_subject=f"{unique}.eu.>")
    js.ack(js.pull(unique, "C")[0][0])
    assert "filter_impossible" not in {**explain("consumer", unique, "C").found, **examine(unique)}
    js.update(unique, subjects=[f"{unique}.EU.>"])
    found = explain("consumer", unique, "C").found["filter_impossible"]
    assert found["severity"] == "error"
    assert found["text"] == (
        f"The stream stores no more messages on {unique}.eu.>: it stores {unique}.EU.>. The last one there "
        f"is 1. Did you mean {unique}.EU.>?"
    )
    assert explain("stream", unique).found["filter_impossible"]["about"] == f"{unique} > C"
    assert examine(unique)["filter_impossible"]["severity"] == "error"
    cli.ok(*shlex.split(found["commands"][0])[1:], "--force")
    js.publish(f"{unique}.EU.a")
    assert len(js.pull(unique, "C")[0]) == 1
    assert "filter_impossible" not in {**explain("consumer", unique, "C").found, **examine(unique)}
    assert "filter_impossible" not in explain("stream", unique).found


def test_a_filter_that_a_transform_made_void(
    js: JetStream, unique: str, explain: Explain, examine: Examine
) -> None:
    js.create(unique, subjects=[f"{unique}.in.*"])
    js.fill(f"{unique}.in.a", 2)
    js.consumer(unique, "C", filter_subject=f"{unique}.in.a")
    js.ack(js.pull(unique, "C")[0][0])
    js.update(
        unique, subject_transform={"src": f"{unique}.in.*", "dest": f"{unique}.out.{{{{wildcard(1)}}}}"}
    )
    found = explain("consumer", unique, "C").found["filter_impossible"]
    assert (found["severity"], found["evidence"]["last_seq"]) == (
        "warning",
        2,
    )  # one is still to be delivered
    assert examine(unique)["filter_impossible"]["severity"] == "warning"
    js.update(unique, subject_transform={"src": f"{unique}.in.b", "dest": f"{unique}.out.b"})
    assert "filter_impossible" not in {**explain("consumer", unique, "C").found, **examine(unique)}


def test_a_filter_that_no_source_brings(
    js: JetStream, unique: str, explain: Explain, examine: Examine
) -> None:
    js.create(f"{unique}-O", subjects=[f"{unique}.>"])
    js.create(unique, sources=[{"name": f"{unique}-O", "filter_subject": f"{unique}.a"}])
    js.consumer(unique, "C", filter_subject=f"{unique}.b")
    assert explain("consumer", unique, "C").found["filter_impossible"]["severity"] == "error"
    assert examine(unique)["filter_impossible"]["severity"] == "error"
    js.update(unique, sources=[{"name": f"{unique}-O"}])
    assert "filter_impossible" not in {**explain("consumer", unique, "C").found, **examine(unique)}


def test_a_work_queue_whose_messages_nobody_takes(
    js: JetStream, unique: str, explain: Explain, examine: Examine
) -> None:
    js.create(unique, subjects=[f"{unique}.>"], retention="workqueue")
    assert "untaken" not in {**explain("stream", unique).found, **examine(unique)}
    js.fill(f"{unique}.a", 2)
    js.fill(f"{unique}.b.c", 3)
    for found in (explain("stream", unique).found, examine(unique)):
        assert "without a consumer: nobody takes its 5 messages" in found["untaken"]["text"]
    js.consumer(unique, "C", filter_subject=f"{unique}.b.*")
    for found in (explain("stream", unique).found, examine(unique)):
        assert f"nobody takes what is on {unique}.a (2)" in found["untaken"]["text"]
        assert found["untaken"]["evidence"]["untaken"] == 2
        line = f"consumer add {unique} NAME --pull --filter {unique}.a --defaults"
        assert found["untaken"]["commands"][0].endswith(line)
    assert "untaken" not in explain("consumer", unique, "C").found
    js.consumer(unique, "D", filter_subject=f"{unique}.a")
    assert "untaken" not in {**explain("stream", unique).found, **examine(unique)}


@pytest.mark.parametrize("retention", ["interest", "workqueue"])
def test_a_full_stream_names_the_consumer_that_holds_it_back(
    js: JetStream, unique: str, explain: Explain, examine: Examine, retention: str
) -> None:
    js.create(unique, subjects=[f"{unique}.*"], retention=retention, max_msgs=4, discard="new")
    js.consumer(unique, "FAST", filter_subject=f"{unique}.a")
    js.consumer(unique, "SLOW", filter_subject=f"{unique}.b" if retention == "workqueue" else f"{unique}.*")
    js.fill(f"{unique}.a", 1)
    js.ack(js.pull(unique, "FAST")[0][0])
    assert "held_back" not in {**explain("stream", unique).found, **examine(unique)}
    with pytest.raises(ApiFailureError):
        js.fill(f"{unique}.b", 5)
    js.pull(unique, "SLOW")
    for found in (explain("stream", unique).found, examine(unique)):
        assert found["limit_reached"]["severity"] == "error"
        said = found["held_back"]
        assert said["evidence"]["consumers"] == [f"{unique} > SLOW"]
        assert (said["evidence"]["num_pending"], said["evidence"]["num_ack_pending"]) == (3, 1)
        assert said["commands"][0].endswith(f"explain consumer {unique} SLOW")
    js.call(f"CONSUMER.DELETE.{unique}.SLOW")
    assert "held_back" not in {**explain("stream", unique).found, **examine(unique)}


def test_an_origin_that_is_sealed(
    js: JetStream, unique: str, explain: Explain, examine: Examine, cli: Cli
) -> None:
    js.create(f"{unique}-O", subjects=[unique])
    js.create(unique, sources=[{"name": f"{unique}-O"}])
    js.publish(unique)
    eventually(lambda: js.state(unique)["messages"] == 1, 20)
    assert "origin_sealed" not in {**explain("stream", unique).found, **examine(unique)}
    js.update(f"{unique}-O", sealed=True)
    for found in (explain("stream", unique).found, examine(unique)):
        assert found["origin_sealed"]["severity"] == "warning"
    assert examine(f"{unique}-O")["sealed"]["severity"] == "note"
    commands = explain("stream", f"{unique}-O").found["sealed"]["commands"]
    assert [each.partition("pyjs ")[2] for each in commands] == [
        each.partition("pyjs ")[2] for each in explain("stream", unique).found["origin_sealed"]["commands"]
    ]
    cli.ok(*shlex.split(commands[0])[1:], "--force")
    copied = cli.run(*shlex.split(commands[1])[1:])
    assert (copied.code, "is sealed" in copied.err) == (0, True)
    js.publish(unique)
    assert js.state(f"{unique}-O-2")["messages"] == 1
    js.update(unique, sources=[{"name": f"{unique}-O-2"}])
    assert "origin_sealed" not in {**explain("stream", unique).found, **examine(unique)}


def test_an_origin_that_does_not_exist(
    js: JetStream, unique: str, explain: Explain, examine: Examine
) -> None:
    js.create(unique, sources=[{"name": f"{unique}-O"}])
    for found in (explain("stream", unique).found, examine(unique)):
        assert found["origin_missing"]["severity"] == "error"
    js.create(f"{unique}-O", subjects=[unique])
    assert "origin_missing" not in {**explain("stream", unique).found, **examine(unique)}


def test_a_mirror_of_a_stream_that_was_made_again(
    js: JetStream, unique: str, explain: Explain, examine: Examine, cli: Cli
) -> None:
    js.create(f"{unique}-O", subjects=[unique])
    js.fill(unique, 5)
    js.create(unique, mirror={"name": f"{unique}-O"})
    eventually(lambda: js.state(unique)["messages"] == 5, 20)
    assert "origin_restarted" not in {**explain("stream", unique).found, **examine(unique)}
    js.call(f"STREAM.DELETE.{unique}-O")
    js.create(f"{unique}-O", subjects=[unique])
    js.fill(unique, 2)
    for found in (explain("stream", unique).found, examine(unique)):
        assert found["origin_restarted"]["severity"] == "error"
        assert found["origin_restarted"]["evidence"]["origin_last_seq"] == 2
        assert found["origin_restarted"]["evidence"]["last_seq"] == 5
    for line in explain("stream", unique).found["origin_restarted"]["commands"]:
        force = ["--force"] if " rm " in line else []
        cli.ok(*shlex.split(line)[1:], *force)
    eventually(lambda: js.state(f"{unique}-2")["messages"] == 2, 20)
    assert "origin_restarted" not in {**explain("stream", f"{unique}-2").found, **examine(f"{unique}-2")}


def test_what_looks_like_a_fault_is_noted(js: JetStream, unique: str, explain: Explain, cli: Cli) -> None:
    js.create(unique, subjects=[unique], no_ack=True)
    js.wire.pub(unique, b"x")
    js.wire.sync()
    assert explain("stream", unique).found["no_ack"]["severity"] == "note"
    assert "acknowledges nothing" in cli.run("explain", "subject", unique).out
    result = cli.run("pub", unique, "x", "-J", "--timeout", "200ms")
    assert (result.code, f"explain subject {unique}" in result.err) == (6, True)
    js.update(unique, no_ack=False)
    assert "no_ack" not in explain("stream", unique).found
    js.consumer(unique, "H", headers_only=True)
    js.consumer(unique, "R", replay_policy="original")
    js.consumer(unique, "L", deliver_policy="last")
    for name, check in (("H", "headers_only"), ("R", "replay_original"), ("L", "starts_last")):
        found = explain("consumer", unique, name).found
        assert found.keys() & {"headers_only", "replay_original", "starts_last"} == {check}
        copied = shlex.split(found[check]["commands"][0].replace("NAME", f"{name}2"))
        cli.ok(*copied[1:], *(["--force"] if "edit" in copied else []))
    for name in ("H", "R2", "L2"):
        found = explain("consumer", unique, name).found
        assert not found.keys() & {"headers_only", "replay_original", "starts_last"}


def test_a_bucket_that_is_full_keeps_its_values(
    unique: str, explain: Explain, examine: Examine, cli: Cli
) -> None:
    cli.ok("kv", "add", unique, "--max-bucket-size", "200")
    cli.ok("kv", "put", unique, "a", "x" * 80)
    assert cli.run("kv", "put", unique, "b", "x" * 120).code != 0
    name = f"KV_{unique}"
    for found in (explain("stream", name).found, examine(name)):
        said = found["limit_reached"]["commands"]
        assert said[0].endswith(f"kv edit {unique} --max-bucket-size 400")
        assert not any("purge" in each or "discard" in each for each in said)
    cli.ok("kv", "edit", unique, "--max-bucket-size", "400")
    cli.ok("kv", "put", unique, "b", "x" * 120)
    assert cli.ok("kv", "get", unique, "a", "--raw") == "x" * 80


def test_a_request_has_to_name_a_group(js: JetStream, unique: str, explain: Explain, cli: Cli) -> None:
    js.create(unique, subjects=[unique])
    js.publish(unique, b"grouped")
    js.consumer(unique, "C", priority_policy="overflow", priority_groups=["jobs"])
    refused = cli.run("consumer", "next", unique, "C")
    assert (refused.code, "Priority Group missing" in refused.err) == (1, True)
    said = explain("consumer", unique, "C").found["no_pulls"]
    assert "has to name one of its groups, or is refused: jobs." in said["text"]
    assert "grouped" in cli.ok(*shlex.split(said["commands"][0])[1:])


def test_a_stream_that_its_consumers_have_emptied(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique], retention="interest")
    js.consumer(unique, "C")
    assert "all_taken" not in explain("stream", unique).found
    js.publish(unique)
    assert "all_taken" not in explain("stream", unique).found
    js.ack(js.pull(unique, "C")[0][0])
    eventually(lambda: explain("stream", unique).found.get("all_taken", {}).get("severity") == "note")
