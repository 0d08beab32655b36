"""Consumers are created, shown, changed and removed without a terminal."""

from __future__ import annotations

import json
import re
import stat
from typing import Any

import pytest
from lib.cli import Cli

SECOND = 10**9
PAGE = """\
Information for Consumer STREAM > dur created <time>

Configuration:

        Durable Name: dur
           Pull Mode: true
         Deliver All: true
          Ack Policy: Explicit
            Ack Wait: 30s
       Replay Policy: Instant
     Max Ack Pending: 20,000
   Max Waiting Pulls: 512

State:

   Last Delivered Message: Consumer sequence: 0 Stream sequence: 0
     Acknowledgment floor: Consumer sequence: 0 Stream sequence: 0
         Outstanding Acks: 0 out of maximum 20000
     Redelivered Messages: 0
     Unprocessed Messages: 3
            Waiting Pulls: 0 of maximum 512

"""
PUSH = """\
        Durable Name: MONITOR
    Delivery Subject: monitor.ORDERS
        Deliver Last: true
          Ack Policy: None
       Replay Policy: Instant
        Flow Control: false
"""


def timeless(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "<time>", text)


def info(cli: Cli, stream: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.ok("consumer", "info", stream, name, "--json"))
    return found


def config(cli: Cli, stream: str, name: str) -> dict[str, Any]:
    return dict(info(cli, stream, name)["config"])


def cells(table: str, first: str) -> list[str]:
    """The cells after `first` in its row."""
    row = next(line for line in table.splitlines() if line.startswith(f"│ {first} "))
    return [cell.strip() for cell in row.strip("│").split("│")][1:]


def test_the_documents_command_makes_the_documents_page(cli: Cli, stream: str) -> None:
    out = cli.ok("consumer", "add", stream, "dur", "--pull", "--defaults")
    assert timeless(out) == PAGE.replace("STREAM", stream)
    assert timeless(cli.ok("con", "info", stream, "dur")) == PAGE.replace("STREAM", stream)


def test_without_a_terminal_defaults_stand_in(cli: Cli, stream: str) -> None:
    out = cli.ok("consumer", "add", stream, "dur")
    assert timeless(out) == PAGE.replace("STREAM", stream)


def test_what_has_no_default_is_an_error_naming_what_gives_it(cli: Cli, stream: str) -> None:
    nameless = cli.run("consumer", "add", stream)
    assert nameless.code == 2
    assert "<CONSUMER>" in nameless.err
    streamless = cli.run("consumer", "info")
    assert streamless.code == 2
    assert "<STREAM>" in streamless.err
    assert "<CONSUMER>" in cli.run("consumer", "info", stream).err


def test_the_previews_pull_consumer(cli: Cli, stream: str) -> None:
    flags = "--ack explicit --pull --deliver all --sample 100 --max-deliver 20"
    out = cli.ok("con", "add", stream, "NEW", "--filter", f"{stream}.a", *flags.split())
    assert "      Filter Subject: " + f"{stream}.a\n" in out
    assert "  Maximum Deliveries: 20\n" in out
    assert "       Sampling Rate: 100\n" in out
    found = config(cli, stream, "NEW")
    assert (found["sample_freq"], found["max_deliver"], found["filter_subject"]) == ("100", 20, f"{stream}.a")


def test_the_previews_push_consumer(cli: Cli, stream: str) -> None:
    flags = "--ack none --target monitor.ORDERS --deliver last --replay instant --filter"
    out = cli.ok("con", "add", stream, "MONITOR", *flags.split(), "")
    assert PUSH in out
    assert "Active Interest: No interest" in out
    assert "Acknowledgment floor" not in out
    assert config(cli, stream, "MONITOR")["deliver_subject"] == "monitor.ORDERS"


def test_every_kind_of_flag_arrives_in_the_configuration(cli: Cli, stream: str) -> None:
    cli.ok(
        "consumer", "add", stream, "all", "--pull", "--defaults", "--description", "words",
        "--filter", f"{stream}.a,{stream}.b", "--deliver", "2", "--ack", "all", "--wait", "1m",
        "--max-deliver", "7", "--max-pending", "50", "--max-waiting", "12", "--max-pull-batch", "9",
        "--max-pull-expire", "20s", "--max-pull-bytes", "4096", "--replay", "original", "--headers-only",
        "--inactive-threshold", "1h", "--memory", "--replicas", "1", "--metadata", "team=ops",
    )  # fmt: skip
    found = config(cli, stream, "all")
    assert found["description"] == "words"
    assert found["filter_subjects"] == [f"{stream}.a", f"{stream}.b"]
    assert (found["deliver_policy"], found["opt_start_seq"]) == ("by_start_sequence", 2)
    assert (found["ack_policy"], found["ack_wait"]) == ("all", 60 * SECOND)
    assert (found["max_deliver"], found["max_ack_pending"], found["max_waiting"]) == (7, 50, 12)
    assert (found["max_batch"], found["max_expires"], found["max_bytes"]) == (9, 20 * SECOND, 4096)
    assert (found["replay_policy"], found["headers_only"]) == ("original", True)
    assert (found["inactive_threshold"], found["mem_storage"], found["num_replicas"]) == (
        3600 * SECOND, True, 1,
    )  # fmt: skip
    assert found["metadata"]["team"] == "ops"
    page = cli.ok("consumer", "info", stream, "all")
    for line in ("Start Sequence: 2", "Headers Only: true", "Memory Storage: true", "Metadata: team: ops"):
        assert line in page


def test_push_flags_arrive_in_the_configuration(cli: Cli, stream: str) -> None:
    cli.ok(
        "consumer", "add", stream, "push", "--target", f"to.{stream}", "--deliver-group", "g", "--defaults",
        "--heartbeat", "10s", "--flow-control", "--bps", "8000000", "--ack", "explicit",
    )  # fmt: skip
    found = config(cli, stream, "push")
    assert (found["deliver_subject"], found["deliver_group"]) == (f"to.{stream}", "g")
    assert (found["idle_heartbeat"], found["flow_control"]) == (10 * SECOND, True)
    assert found["rate_limit_bps"] == 8000000
    assert "Rate Limit: 977 KiB / second" in cli.ok("consumer", "info", stream, "push")


@pytest.mark.parametrize(
    ("policy", "stored", "line"),
    [
        ("new", "new", "        Deliver Next: true"),
        ("next", "new", "        Deliver Next: true"),
        ("last", "last", "        Deliver Last: true"),
        ("subject", "last_per_subject", "Deliver Last Per Subject: true"),
        ("1h", "by_start_time", "          Start Time: "),
        ("2026-01-02T03:04:05Z", "by_start_time", "          Start Time: 2026-01-02T03:04:05+00:00"),
    ],
)
def test_every_start_policy(cli: Cli, stream: str, policy: str, stored: str, line: str) -> None:
    out = cli.ok("consumer", "add", stream, "C", "--pull", "--defaults", "--deliver", policy)
    assert line in out
    found = config(cli, stream, "C")
    assert found["deliver_policy"] == stored
    assert found.get("filter_subject", "") == (">" if stored == "last_per_subject" else "")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--deliver", "whenever"], "is no start policy"),
        (["--pull", "--target", "x"], "--pull or --target"),
        (["--sample", "101"], "sample percent is not between 0 and 100"),
        (["--pull", "--bps", "5"], "rate limits are only possible on push Consumers"),
        (["--pull", "--heartbeat", "5s"], "idle heartbeats are only possible on push Consumers"),
        (["--filter", "a..b"], "is not a valid subject"),
        (["--target", "a.*"], "cannot be delivered to"),
        (["--pinned-groups", "a", "--overflow-groups", "b"], "one kind of priority groups"),
        (["--pause", "soon"], "neither a time nor a duration"),
        (["--wait", "5"], "--wait"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(cli: Cli, stream: str, flags: list[str], words: str) -> None:
    result = cli.run("consumer", "add", stream, "C", "--defaults", *flags)
    assert result.code == 2
    assert words in result.err
    assert cli.ok("consumer", "ls", stream, "--names") == ""


def test_a_linear_backoff_allows_one_delivery_more_than_it_has_waits(cli: Cli, stream: str) -> None:
    flags = "--backoff linear --backoff-steps 4 --backoff-min 10s --backoff-max 50s"
    out = cli.ok("consumer", "add", stream, "C", "--pull", "--defaults", *flags.split())
    found = config(cli, stream, "C")
    assert found["backoff"] == [each * SECOND for each in (10, 20, 30, 40)]
    assert found["max_deliver"] == 5
    assert "Backoff: 10s, 20s, 30s, 40s" in out


def test_priority_groups(cli: Cli, stream: str) -> None:
    words = ["consumer", "add", stream, "P", "--pull", "--defaults"]
    cli.ok(*words, "--pinned-groups", "g", "--pinned-ttl", "1m")
    found = config(cli, stream, "P")
    assert (found["priority_policy"], found["priority_groups"]) == ("pinned_client", ["g"])
    assert found["priority_timeout"] == 60 * SECOND
    assert "no priority groups have pinned clients" in cli.run("consumer", "unpin", stream, "P", "-f").err
    cli.ok("consumer", "add", stream, "O", "--pull", "--defaults", "--overflow-groups", "g")
    assert config(cli, stream, "O")["priority_policy"] == "overflow"
    assert "not a pinned priority consumer" in cli.run("consumer", "unpin", stream, "O", "-f").err


def test_an_ephemeral_consumer_needs_no_name(cli: Cli, stream: str) -> None:
    out = cli.ok("consumer", "add", stream, "--ephemeral", "--pull", "--defaults")
    name = cli.ok("consumer", "ls", stream, "--names").strip()
    assert f"Name: {name}\n" in out
    assert "Durable Name" not in out


def test_an_existing_consumer_is_not_changed_by_adding_it(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    again = cli.run("consumer", "add", stream, "C", "--pull", "--defaults", "--max-deliver", "3")
    assert again.code == 4
    assert "consumer already exists (10148)" in again.err
    assert f"consumer edit {stream} C' changes it" in again.err
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")


def test_unknown_names_are_errors_with_close_matches(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "billing", "--pull", "--defaults")
    for words in (["info"], ["rm", "-f"], ["state"], ["edit"], ["pause"]):
        wrong = cli.run("consumer", words[0], stream, "biling", *words[1:])
        assert wrong.code == 3
        assert "consumer not found (10014)" in wrong.err
        assert "did you mean billing?" in wrong.err
    wrong = cli.run("consumer", "report", stream[:-1] + "Z")
    assert "stream not found (10059)" in wrong.err
    assert f"did you mean {stream}" in wrong.err
    assert "stream not found (10059)" in cli.run("consumer", "add", "NOSUCHSTREAM", "C", "--defaults").err


def test_lists_and_reports(cli: Cli, stream: str) -> None:
    assert cli.ok("consumer", "ls", stream) == "No Consumers defined\n"
    cli.ok("consumer", "add", stream, "pull", "--pull", "--defaults", "--description", "words")
    cli.ok("consumer", "add", stream, "push", "--target", "x.y", "--defaults")
    assert cli.ok("c", "ls", stream, "-n") == "pull\npush\n"
    assert json.loads(cli.ok("obs", "list", stream, "-j")) == ["pull", "push"]
    table = cli.ok("consumer", "ls", stream)
    assert "│ Name │ Description │ Created " in table
    assert "│ pull │ words       │ 20" in table
    report = cli.ok("consumer", "report", stream)
    assert f"Consumer report for {stream} with 2 consumers" in report
    assert (
        "│ pull     │ Pull │ Explicit   │ 30.00s   │ 0           │ 0           │ 3 / 100%    │ 0 " in report
    )
    assert cells(report, "push") == ["Push", "None", "0.00s", "0", "0", "3 / 100%", "0", "alone*"]
    cli.ok("consumer", "next", stream, "pull", "--count", "2", "--raw")
    report = cli.ok("consumer", "report", stream)
    assert (
        "│ pull     │ Pull │ Explicit   │ 30.00s   │ 0           │ 0           │ 1 / 33%     │ 2 " in report
    )
    cli.ok("consumer", "pause", stream, "pull", "1h", "--force")
    paused = cli.ok("consumer", "report", stream)
    assert (cells(paused, "pull")[0], cells(paused, "push")[0]) == ("Pull, paused", "Push")
    assert "│ 30s " in cli.ok("consumer", "report", stream, "--raw")
    assert "RAFT Leader Report" in cli.ok("consumer", "report", stream, "--leaders")


def test_consumers_are_found_by_criteria(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "pull", "--pull", "--defaults")
    cli.ok("consumer", "add", stream, "push", "--target", "x.y", "--defaults", "--deliver", "new")
    assert cli.ok("consumer", "find", stream) == "pull\npush\n"
    assert cli.ok("consumer", "find", stream, "--pull") == "pull\n"
    assert cli.ok("consumer", "find", stream, "--pull", "--invert") == "push\n"
    assert cli.ok("consumer", "find", stream, "--pending", "0") == "push\n"
    assert cli.ok("consumer", "find", stream, "--created", "1h") == ""
    assert cli.ok("consumer", "find", stream, "--bound") == ""
    assert cli.ok("consumer", "find", stream, "--expression", "config.deliver_subject == 'x.y'") == "push\n"
    assert cli.ok("consumer", "find", stream, "--expression", "state.name startsWith 'pul'") == "pull\n"


def test_editing_shows_differences_and_changes_only_what_was_given(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults", "--metadata", "a=b")
    assert cli.ok("consumer", "edit", stream, "C", "-f") == "No difference in configuration\n"
    dry = cli.run("consumer", "edit", stream, "C", "--description", "words", "--dry-run")
    assert dry.code == 5
    assert '+  "description": "words",' in dry.out
    assert "description" not in config(cli, stream, "C")
    unsure = cli.run("consumer", "edit", stream, "C", "--description", "words")
    assert (unsure.code, "--force" in unsure.err) == (2, True)
    cli.ok("consumer", "edit", stream, "C", "--description", "words", "--max-pending", "5", "-f")
    found = config(cli, stream, "C")
    assert (found["description"], found["max_ack_pending"], found["metadata"]["a"]) == ("words", 5, "b")
    refused = cli.run("consumer", "edit", stream, "C", "--target", "x", "-f")
    assert refused.code == 4
    assert "(100" in refused.err or "(101" in refused.err


def test_only_durable_consumers_are_edited(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "E", "--ephemeral", "--pull", "--defaults")
    assert "only durable consumers can be edited" in cli.run("consumer", "edit", stream, "E").err


def test_copying_takes_the_configuration_and_the_flags(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "A", "--target", "x.y", "--defaults", "--heartbeat", "5s", "--bps", "0")
    cli.ok("consumer", "cp", stream, "A", "B", "--pull", "--ack", "explicit", "--description", "copied")
    found = config(cli, stream, "B")
    assert found["durable_name"] == "B"
    assert "deliver_subject" not in found
    assert (found["ack_policy"], found["description"]) == ("explicit", "copied")


def test_documents_are_written_validated_and_read(cli: Cli, stream: str) -> None:
    words = ["consumer", "add", stream, "C", "--pull", "--defaults", "--max-deliver", "4"]
    assert cli.ok(*words, "--output", "saved") == ""
    saved = cli.home / "saved"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert json.loads(saved.read_text())["max_deliver"] == 4
    assert "Configuration is a valid Consumer" in cli.ok(*words, "--validate")
    assert cli.ok("consumer", "ls", stream, "-n") == ""
    cli.ok("consumer", "add", stream, "--config", "saved")
    (cli.home / "whole").write_text(cli.ok("consumer", "info", stream, "C", "-j"))
    cli.ok("consumer", "add", stream, "D", "--config", "whole")
    assert config(cli, stream, "D")["max_deliver"] == 4
    (cli.home / "wrong").write_text('{"durable_name": "X", "ack_policy": "some"}')
    wrong = cli.run("consumer", "add", stream, "--config", "wrong")
    assert wrong.code == 1
    assert "wrong" in wrong.err


def test_removing_needs_force_without_a_terminal(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    unsure = cli.run("consumer", "rm", stream, "C")
    assert (unsure.code, "--force" in unsure.err) == (2, True)
    assert "--force requires a stream and consumer name" in cli.run("consumer", "rm", stream, "-f").err
    cli.ok("consumer", "rm", stream, "C", "-f")
    assert cli.ok("consumer", "ls", stream, "-n") == ""


def test_pausing_and_resuming(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    assert "consumer is not paused" in cli.run("consumer", "resume", stream, "C", "-f").err
    out = cli.ok("consumer", "pause", stream, "C", "1h", "-f")
    assert re.match(rf"Paused {stream} > C until 20\S+ \((59m\d+s|1h0m0s)\)\n", out)
    page = cli.ok("consumer", "info", stream, "C")
    assert "Paused Until Deadline: " in page
    assert "remaining" in page
    out = cli.ok("consumer", "resume", stream, "C", "-f")
    assert out.startswith(f"Consumer {stream} > C was resumed while previously paused until 20")
    past = cli.run("consumer", "pause", stream, "C", "2020-01-02 03:04:05", "-f")
    assert "perhaps a time in the past was given" in past.err
    later = cli.ok("consumer", "add", stream, "D", "--pull", "--defaults", "--pause", "2h")
    assert "Paused Until Deadline: " in later


def test_a_reset_delivers_again(cli: Cli, stream: str) -> None:
    cli.ok("consumer", "add", stream, "C", "--pull", "--defaults")
    assert cli.ok("consumer", "next", stream, "C", "--raw") == "one\n"
    assert cli.ok("consumer", "next", stream, "C", "--raw") == "two\n"
    out = cli.ok("consumer", "reset", stream, "C", "--sequence", "1", "-f")
    assert out.startswith(f"State for Consumer {stream} > C created ")
    assert cli.ok("consumer", "next", stream, "C", "--raw") == "one\n"


def test_a_stream_with_limits_has_the_last_word_on_what_no_flag_gives(cli: Cli, unique: str) -> None:
    words = ["--subjects", unique, "--limit-consumer-max-pending", "100", "--defaults"]
    cli.ok("stream", "add", unique, *words)
    cli.ok("consumer", "add", unique, "mine", "--pull", "--defaults")
    assert config(cli, unique, "mine")["max_ack_pending"] == 100
    asked = cli.run("consumer", "add", unique, "more", "--pull", "--defaults", "--max-pending", "20000")
    assert asked.code == 4
    assert "10121" in asked.err
    cli.run("stream", "rm", unique, "--force")
