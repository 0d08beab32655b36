"""Key-value buckets: made, changed, shown, listed, deleted; mirrors, sources; followed while they change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.terminal import Terminal
from lib.transcript import normal


@pytest.fixture
def bucket(cli: Cli, unique: str) -> Iterator[str]:
    """The name of a bucket that the test makes."""
    yield unique
    for name in cli.ok("kv", "ls", "--names").split():
        cli.run("kv", "del", name, "--force")


def holds(cli: Cli, bucket: str, key: str, value: str) -> bool:
    return cli.run("kv", "get", bucket, key, "--raw").out == value


def config(cli: Cli, bucket: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.ok("stream", "info", f"KV_{bucket}", "--json"))["config"]
    return found


PAGE = """
Information for Key-Value Store Bucket B created <time>

Configuration:

            Bucket Name: B
           History Kept: 5
          Values Stored: 0
             Compressed: false
  Per-Key TTL Supported: true
       Limit Marker TTL: 1m0s
     Backing Store Kind: JetStream
            Description: a bucket
            Bucket Size: 0 B
    Maximum Bucket Size: 10 MiB
     Maximum Value Size: 1.0 KiB
            Maximum Age: 1h0m0s
       JetStream Stream: KV_B
                Storage: Memory
      Placement Cluster: here
         Placement Tags: ssd, eu
   Republishing Headers: > to again.>

Metadata:

                      a: b
                      c: d
"""


def test_every_setting_arrives(cli: Cli, bucket: str) -> None:
    flags = [
        "--history=5", "--ttl=1h", "--description=a bucket", "--metadata=a:b", "--metadata=c=d",
        "--marker-ttl=1m", "--storage=m", "--max-value-size=1KB", "--max-bucket-size=10MB", "--tags=ssd",
        "--tags=eu", "--cluster=here", "--republish-source=>", f"--republish-destination={bucket}.>",
        "--republish-headers", "--replicas=1", "--no-compress",
    ]  # fmt: skip
    made = cli.run("kv", "add", bucket, *flags)
    if "no suitable peers" in made.err:  # nats-server alone knows no cluster and no tags
        made = cli.run("kv", "new", bucket, *[each for each in flags if each != "--cluster=here"])
    assert made.code == 0, made.err
    lines = [line for line in PAGE.splitlines() if "Placement Cluster" not in line]
    wanted = "\n".join(lines).replace("again", bucket).replace("Bucket B", f"Bucket {bucket}")
    wanted = wanted.replace("Name: B", f"Name: {bucket}").replace("KV_B", f"KV_{bucket}")
    for shown in (made.out, cli.ok("kv", "info", bucket), cli.ok("kv", "status", bucket)):
        found = [line for line in normal(shown.splitlines()) if "Placement Cluster" not in line]
        assert found == normal(wanted.splitlines())
    kept = config(cli, bucket)
    assert kept["discard"] == "new"
    assert kept["duplicate_window"] == 120_000_000_000
    assert kept["placement"]["tags"] == ["ssd", "eu"]


def test_edit_changes_only_what_is_given(cli: Cli, bucket: str) -> None:
    cli.ok(
        "kv", "add", bucket, "--history", "5", "--description", "before", "--metadata", "a=b", "--ttl", "1h"
    )
    before = config(cli, bucket)
    assert "Description: after" in cli.ok("kv", "edit", bucket, "--description", "after")
    assert config(cli, bucket) == {**before, "description": "after"}
    cli.ok("kv", "edit", bucket, "--ttl", "30s", "--history", "7", "--metadata", "c=d")
    after = config(cli, bucket)
    assert (after["max_age"], after["duplicate_window"]) == (30_000_000_000, 30_000_000_000)
    assert after["max_msgs_per_subject"] == 7
    assert {name for name in after["metadata"] if not name.startswith("_nats")} == {"c"}
    cli.ok("kv", "edit", bucket, "--max-bucket-size=-1", "--ttl=0s")
    assert config(cli, bucket)["max_age"] == 0


def test_a_name_that_is_taken(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket)
    cli.ok("kv", "add", bucket)  # the same settings: nothing to do, as with `nats`
    result = cli.run("kv", "add", bucket, "--history", "2")
    assert result.code > 0
    assert "nats: bucket name already in use" in result.err
    assert f"kv edit {bucket}' changes it" in result.err


IMPOSSIBLE = (
    (["--history", "65"], "65 is not in the range"),
    (["--storage", "tape"], "'tape' is not one of"),
    (["--ttl=-1s"], "invalid TTL\nhint: it is negative"),
    (["--marker-ttl", "500ms"], "500ms is less than a second"),
    (["--max-value-size", "2147483648"], "--max-value-size is too big"),
    (["--republish-source", ">"], "nothing says where to publish again"),
    (["--mirror-domain", "hub"], "--mirror-domain needs --mirror"),
    (["--mirror", "A", "--source", "C"], "a mirror has one origin and no sources"),
    (["--replicas", "3"], "replicas > 1 not supported"),
)


def test_settings_that_cannot_be(cli: Cli, bucket: str) -> None:
    for flags, said in IMPOSSIBLE:
        result = cli.run("kv", "add", bucket, *flags)
        assert result.code > 0
        assert said in result.err
    assert bucket not in cli.ok("kv", "ls", "-n").split()


def test_a_bucket_can_be_compressed(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket, "--compress")
    assert config(cli, bucket)["compression"] == "s2"
    assert "Compressed: true" in cli.ok("kv", "info", bucket)


def test_a_mirror_has_the_keys_of_its_origin(cli: Cli, bucket: str) -> None:
    mirror = f"{bucket}-mirror"
    cli.ok("kv", "add", bucket)
    cli.ok("kv", "put", bucket, "k", "v")
    cli.ok("kv", "add", mirror, "--mirror", bucket)
    eventually(lambda: cli.run("kv", "get", mirror, "k", "--raw").out == "v")
    assert f"Origin Bucket: {bucket}" in cli.ok("kv", "info", mirror)
    cli.ok("kv", "put", mirror, "k", "by the mirror")  # goes to the origin
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "by the mirror"
    eventually(lambda: cli.ok("kv", "get", mirror, "k", "--raw") == "by the mirror")
    assert cli.ok("kv", "ls", mirror) == "k\n"
    result = cli.run("kv", "edit", mirror, "--no-mirror")
    assert result.code == 0, result.err
    assert f"what {mirror} copied from {bucket} keeps the subjects of {bucket}" in result.err
    cli.ok("kv", "put", mirror, "own", "v")
    assert "own" in cli.ok("kv", "ls", mirror)
    assert cli.ok("kv", "ls", bucket) == "k\n"


def test_sources_bring_keys_of_other_buckets(cli: Cli, bucket: str) -> None:
    for name in ("one", "two"):
        cli.ok("kv", "add", f"{bucket}-{name}")
        cli.ok("kv", "put", f"{bucket}-{name}", name, "from " + name)
    cli.ok("kv", "add", bucket, "--source", f"{bucket}-one")
    cli.ok("kv", "edit", bucket, "--source", f"{bucket}-two")
    for name in ("one", "two"):
        eventually(partial(holds, cli, bucket, name, "from " + name))
    assert cli.ok("kv", "info", bucket).count("Source Bucket: ") == 2


def test_buckets_are_listed(cli: Cli, bucket: str) -> None:
    assert cli.ok("kv", "ls") == "No Key-Value buckets found\n"
    assert cli.ok("kv", "ls", "--names") == ""
    cli.ok("kv", "add", bucket, "--description", "told")
    cli.ok("stream", "add", f"{bucket}-stream", "--subjects", bucket)
    assert cli.ok("kv", "ls", "-n") == f"{bucket}\n"
    table = cli.ok("kv", "list")
    assert "Key-Value Buckets" in table
    assert f"│ {bucket} " in table
    assert f"{bucket}-stream" not in table
    assert "told" in table
    cli.ok("stream", "rm", f"{bucket}-stream", "-f")


def test_an_unknown_bucket(cli: Cli, bucket: str) -> None:
    assert "no KV buckets found" in cli.run("kv", "info").err
    cli.ok("kv", "add", bucket)
    for words in (["info"], ["ls"], ["edit"], ["compact", "-f"], ["del", "-f"], ["watch"]):
        command, *rest = words
        result = cli.run("kv", command, bucket + "x", *rest)
        assert result.code > 0
        assert f"nats: bucket not found\nhint: did you mean {bucket}?" in result.err
    assert "invalid bucket name\nhint: 'a.b' has '.'" in cli.run("kv", "add", "a.b").err
    assert "give it as <BUCKET>" in cli.run("kv", "info").err


def test_a_stream_of_another_kind_is_no_bucket(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", f"KV_{unique}", "--subjects", unique)
    assert "bucket not valid key-value store" in cli.run("kv", "get", unique, "k").err
    cli.ok("stream", "rm", f"KV_{unique}", "-f")


def test_questions_on_a_terminal(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket, "--history", "2")
    cli.ok("kv", "put", bucket, "k", "one")
    cli.ok("kv", "put", bucket, "k", "two")
    with cli.terminal(["kv", "info"]) as terminal:
        terminal.answer("Select a Bucket", bucket)
        assert terminal.finish() == 0
        assert f"kv info {bucket}\n" in terminal.errors()
    with cli.terminal(["kv", "del", bucket, "k"]) as terminal:
        terminal.answer(f"Delete key {bucket} > k?", "n")
        assert terminal.finish() == 0
        assert "Skipping delete" in terminal.lines()
    with cli.terminal(["kv", "revert", bucket, "k", "1"]) as terminal:
        terminal.answer("Really revert to revision 1", "y")
        assert terminal.finish() == 0
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "one"
    with cli.terminal(["kv", "rm", bucket]) as terminal:
        terminal.answer(f"Delete bucket {bucket}?", "y")
        assert terminal.finish() == 0
        assert f"kv rm {bucket} --force\n" in terminal.errors()
    assert cli.ok("kv", "ls", "-n") == ""


@contextmanager
def watching(cli: Cli, *words: str) -> Iterator[Terminal]:
    with cli.terminal(["kv", "watch", *words]) as terminal:
        yield terminal


def shown(terminal: Terminal, count: int) -> list[str]:
    """Return the first `count` lines without their times."""

    def lines() -> list[str]:
        while terminal.read(0.05):
            pass
        return [line[line.index("] ") + 2 :] for line in terminal.lines() if line.startswith("[")]

    eventually(lambda: len(lines()) >= count)
    return lines()[:count]


def test_changes_are_shown_as_they_come(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket, "--history", "3")
    for value in ("one", "two"):
        cli.ok("kv", "put", bucket, "k", value)
    with watching(cli, bucket) as latest, watching(cli, bucket, "--history", "--no-deletes") as everything:
        assert shown(latest, 1) == [f"PUT {bucket} > k: two"]
        cli.ok("kv", "del", bucket, "k", "-f")
        cli.ok("kv", "put", bucket, "a.b", "new")
        assert shown(latest, 3)[1:] == [f"DELETE {bucket} > k", f"PUT {bucket} > a.b: new"]
        assert shown(everything, 3) == [
            f"PUT {bucket} > k: one", f"PUT {bucket} > k: two", f"PUT {bucket} > a.b: new",
        ]  # fmt: skip
    with watching(cli, bucket, "a.*", "--revision", "1") as some:
        assert shown(some, 1) == [f"PUT {bucket} > a.b: new"]
    result = cli.run("kv", "watch", bucket, "--history", "--updates")
    assert result.code > 0
    assert "updates only cannot be used with include history" in result.err


def test_changes_for_programs(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket)
    cli.ok("kv", "put", bucket, "k", "v")
    assert "-o ndjson prints a line for each" in cli.run("kv", "watch", bucket, "-o", "csv").err
    with watching(cli, bucket, "--json") as terminal:

        def records() -> list[dict[str, Any]]:
            while terminal.read(0.05):
                pass
            return [json.loads(line) for line in terminal.lines() if line.startswith("{")]

        eventually(lambda: len(records()) == 1)
        cli.ok("kv", "purge", bucket, "k", "-f")
        eventually(lambda: len(records()) == 2)
        assert [(each["operation"], each["revision"], each["value"]) for each in records()] == [
            ("PUT", 1, "v"),
            ("PURGE", 2, ""),
        ]


def test_only_updates(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket)
    cli.ok("kv", "put", bucket, "old", "x")

    def consumers() -> int:
        info = json.loads(cli.ok("stream", "info", f"KV_{bucket}", "--json"))
        return int(info["state"]["consumer_count"])

    with watching(cli, bucket, "--updates") as terminal:
        eventually(lambda: consumers() == 1)
        cli.ok("kv", "put", bucket, "new", "y")
        assert shown(terminal, 1) == [f"PUT {bucket} > new: y"]
        terminal.type("\x03")
        assert terminal.finish() == 0
        assert terminal.errors() == ""
    eventually(lambda: consumers() == 0)


def test_a_bucket_that_goes_and_comes_is_followed(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "add", bucket)
    cli.ok("kv", "put", bucket, "k", "before")
    with watching(cli, bucket) as terminal:
        assert shown(terminal, 1) == [f"PUT {bucket} > k: before"]
        cli.ok("kv", "del", bucket, "--force")
        eventually(lambda: "was deleted" in terminal.errors())
        cli.ok("kv", "add", bucket)
        cli.ok("kv", "put", bucket, "k", "after")
        assert shown(terminal, 2)[1:] == [f"PUT {bucket} > k: after"]
