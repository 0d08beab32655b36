"""Keys of a bucket: stored, read, changed only as meant, deleted, listed, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.transcript import normal


@pytest.fixture
def bucket(cli: Cli, unique: str) -> Iterator[str]:
    """A bucket that keeps five revisions."""
    cli.ok("kv", "add", unique, "--history", "5")
    yield unique
    cli.run("kv", "del", unique, "--force")


def failure(cli: Cli, *words: str) -> str:
    """Run a command that must fail; return what it says."""
    result = cli.run(*words)
    assert result.code > 0, result.out
    assert result.out == ""
    return result.err


def test_a_value_is_stored_and_shown(cli: Cli, bucket: str) -> None:
    assert cli.ok("kv", "put", bucket, "k", "v1") == "v1\n"
    assert normal(cli.ok("kv", "get", bucket, "k").splitlines()) == [
        f"{bucket} > k revision: 1 created @ <time>",
        "",
        "v1",
    ]
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "v1"


def test_a_value_comes_from_stdin(cli: Cli, bucket: str) -> None:
    result = cli.run("kv", "put", bucket, "k", stdin="from stdin\n")
    assert (result.code, result.out.strip()) == (0, "")
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "from stdin\n"
    large = cli.run("kv", "put", bucket, "k", stdin="x" * (1 << 20) + "x")
    assert large.code == 4
    assert "'pyjs object put' stores data of any size" in large.err
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "from stdin\n"


def test_a_value_that_is_no_text_is_shown_as_base64(cli: Cli, bucket: str) -> None:
    cli.run("kv", "put", bucket, "k", stdin="a\x1b[31mb")
    assert "\x1b" not in cli.ok("kv", "get", bucket, "k")
    assert "YRtbMzFtYg==" in cli.ok("kv", "get", bucket, "k")
    cli.ok("kv", "put", bucket, "long", "x" * 200)
    assert "Showing first 120 bytes of 200, use --raw for full data" in cli.ok("kv", "get", bucket, "long")


def test_revisions_are_read_one_by_one(cli: Cli, bucket: str) -> None:
    for value in ("one", "two"):
        cli.ok("kv", "put", bucket, "k", value)
    cli.ok("kv", "put", bucket, "other", "x")
    assert cli.ok("kv", "get", bucket, "k", "--revision", "1", "--raw") == "one"
    assert "k has no revision 3 (any more): 'pyjs" in failure(
        cli, "kv", "get", bucket, "k", "--revision", "3"
    )


def test_a_missing_key_says_why_it_is_missing(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "put", bucket, "color", "red")
    assert "nats: key not found\nhint: did you mean color?" in failure(cli, "kv", "get", bucket, "colour")
    cli.ok("kv", "del", bucket, "color", "--force")
    assert "color was deleted by revision 2" in failure(cli, "kv", "get", bucket, "color")
    cli.ok("kv", "purge", bucket, "color", "--force")
    assert "color was purged or has expired by revision 3" in failure(cli, "kv", "get", bucket, "color")


def test_create_stores_only_what_is_not_there(cli: Cli, bucket: str) -> None:
    assert cli.ok("kv", "create", bucket, "k", "first") == "first\n"
    assert "nats: key exists: wrong last sequence: 1 (10071)" in failure(
        cli, "kv", "create", bucket, "k", "second"
    )
    cli.ok("kv", "del", bucket, "k", "--force")
    cli.ok("kv", "create", bucket, "k", "third")
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "third"


def test_update_stores_only_over_the_given_revision(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "put", bucket, "k", "one")
    assert cli.ok("kv", "update", bucket, "k", "two", "1") == "two\n"
    said = failure(cli, "kv", "update", bucket, "k", "three", "1")
    assert "wrong last sequence: 2 (10071)" in said
    assert "somebody else has changed k" in said
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "two"


def test_history_shows_each_operation(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "put", bucket, "k", "one")
    cli.ok("kv", "put", bucket, "other", "x")
    cli.ok("kv", "del", bucket, "k", "--force")
    cli.ok("kv", "put", bucket, "k", "x" * 50)
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in cli.ok("kv", "history", bucket, "k").splitlines()
        if line.startswith("│")
    ]
    assert rows[0] == [f"History for {bucket} > k"]
    assert rows[1] == ["Key", "Revision", "Op", "Created", "Length", "Value"]
    assert [[row[0], row[1], row[2], row[4], row[5]] for row in rows[2:]] == [
        ["k", "1", "PUT", "3", "one"],
        ["k", "3", "DELETE", "0", ""],
        ["k", "4", "PUT", "50", "x" * 15 + "..." + "x" * 15],
    ]
    assert "nats: key not found" in failure(cli, "kv", "history", bucket, "none")


def test_a_value_is_reverted_over_the_last_revision(cli: Cli, bucket: str) -> None:
    for value in ("one", "two"):
        cli.ok("kv", "put", bucket, "k", value)
    assert "│ 3 " in cli.ok("kv", "revert", bucket, "k", "1", "--force")
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "one"
    assert "k has no revision 7" in failure(cli, "kv", "revert", bucket, "k", "7", "--force")
    cli.ok("kv", "put", bucket, "single", "x")
    assert "single has only one revision" in failure(cli, "kv", "revert", bucket, "single", "4", "--force")


def test_a_bucket_without_history_cannot_revert(cli: Cli, unique: str) -> None:
    cli.ok("kv", "add", unique)
    cli.ok("kv", "put", unique, "k", "x")
    said = failure(cli, "kv", "revert", unique, "k", "1", "--force")
    assert "cannot revert key in a bucket where history=1" in said
    assert f"kv edit {unique} --history 5'" in said
    cli.ok("kv", "rm", unique, "-f")


def test_purge_leaves_nothing_but_its_marker(cli: Cli, bucket: str) -> None:
    for value in ("one", "two"):
        cli.ok("kv", "put", bucket, "k", value)
    cli.ok("kv", "purge", bucket, "k", "--force")
    out = cli.ok("kv", "history", bucket, "k")
    assert "PURGE" in out
    assert "PUT" not in out


def test_keys_are_listed_in_the_order_of_their_changes(cli: Cli, bucket: str) -> None:
    assert cli.ok("kv", "ls", bucket) == "No keys found in bucket\n"
    assert cli.ok("kv", "ls", bucket, "--names") == ""
    for key in ("a.one", "b", "a.two", "gone", "b"):
        cli.ok("kv", "put", bucket, key, "v-" + key)
    cli.ok("kv", "del", bucket, "gone", "--force")
    assert cli.ok("kv", "ls", bucket).split() == ["a.one", "a.two", "b"]
    assert cli.ok("kv", "ls", bucket, "a.*").split() == ["a.one", "a.two"]
    assert cli.ok("kv", "ls", bucket, ">").split() == ["a.one", "a.two", "b"]
    odd = cli.run("kv", "ls", bucket, "a*")
    assert (odd.code, odd.out) == (0, "No keys found in bucket\n")
    assert "a* matches no key" in odd.err
    table = cli.ok("kv", "list", bucket, "--verbose", "--display-value").splitlines()
    assert [cell.strip() for cell in table[-3].strip("│").split("│")][::2] == ["b", "0", "v-b"]
    assert "v-b" not in cli.ok("kv", "ls", bucket, "-v")


def test_compact_removes_the_history_of_deleted_keys_only(cli: Cli, bucket: str) -> None:
    for value in ("one", "two"):
        cli.ok("kv", "put", bucket, "gone", value)
        cli.ok("kv", "put", bucket, "stays", value)
    cli.ok("kv", "del", bucket, "gone", "--force")
    cli.ok("kv", "compact", bucket, "--force")
    assert "PUT" not in cli.ok("kv", "history", bucket, "gone")  # the marker is younger than 30 minutes
    assert cli.ok("kv", "history", bucket, "stays").count("PUT") == 2


def test_nothing_is_deleted_in_a_pipe_without_force(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "put", bucket, "k", "v")
    for words in (["del", bucket, "k"], ["purge", bucket, "k"], ["compact", bucket], ["del", bucket]):
        assert "cannot ask for confirmation" in failure(cli, "kv", *words)
    assert cli.ok("kv", "get", bucket, "k", "--raw") == "v"


def test_an_empty_key_does_not_delete_the_bucket(cli: Cli, bucket: str) -> None:
    assert "to delete the whole bucket, leave the key out" in failure(cli, "kv", "del", bucket, "", "-f")
    assert bucket in cli.ok("kv", "ls", "-n").split()


def test_an_odd_key_is_refused_with_the_reason(cli: Cli, bucket: str) -> None:
    for key in ("a..b", "a.>", "ü"):
        said = failure(cli, "kv", "put", bucket, key, "v")
        assert said.startswith("pyjs: error: nats: invalid key\nhint: ")
    for words in (
        ["get"],
        ["create", "v"],
        ["update", "v", "1"],
        ["del", "-f"],
        ["purge", "-f"],
        ["history"],
    ):
        command, *rest = words
        said = failure(cli, "kv", command, bucket, "a b", *rest)
        assert "nats: invalid key\nhint: 'a b' has a blank" in said


def test_keys_with_a_time_to_live_expire_and_leave_a_marker(cli: Cli, unique: str) -> None:
    cli.ok("kv", "add", unique, "--marker-ttl", "2s", "--history", "2")
    cli.ok("kv", "create", unique, "k", "v", "--ttl", "2s")
    # The marker is there for two seconds, in which one command must start and look.
    eventually(lambda: "PURGE" in cli.run("kv", "history", unique, "k").out)
    assert cli.run("kv", "get", unique, "k").code == 3
    cli.ok("kv", "put", unique, "k", "v")
    cli.ok("kv", "purge", unique, "k", "--force", "--ttl", "2s")
    eventually(lambda: cli.run("kv", "history", unique, "k").code == 3)
    cli.ok("kv", "del", unique, "-f")


def test_a_bucket_without_key_ttls_says_how_to_get_them(cli: Cli, bucket: str) -> None:
    said = failure(cli, "kv", "create", bucket, "k", "v", "--ttl", "10s")
    assert "per-message TTL is disabled (10166)" in said
    assert f"kv edit {bucket} --marker-ttl'" in said
    assert "invalid TTL" in failure(cli, "kv", "create", bucket, "k", "v", "--ttl", "10ms")
    cli.ok("kv", "edit", bucket, "--marker-ttl", "1m")
    raised = cli.run("kv", "create", bucket, "k", "v", "--ttl", "10s")
    assert (raised.code, raised.out) == (0, "v\n")
    assert "the server keeps it for 1m0s: no TTL is shorter than the marker TTL" in raised.err


EXIT_CODES = (
    (3, ["get", "NOSUCH", "k"]),
    (3, ["get", "B", "none"]),
    (3, ["get", "B", "k", "--revision", "7"]),
    (2, ["put", "B", "a b", "v"]),
    (2, ["purge", "B", "k"]),
    (4, ["create", "B", "k", "v"]),
    (4, ["update", "B", "k", "v", "7"]),
)


def test_exit_codes(cli: Cli, bucket: str) -> None:
    cli.ok("kv", "put", bucket, "k", "v")
    for code, words in EXIT_CODES:
        assert cli.run("kv", *[bucket if word == "B" else word for word in words]).code == code, words


def test_programs_get_documents(cli: Cli, bucket: str) -> None:
    assert json.loads(cli.ok("kv", "put", bucket, "k", "one", "--json")) == {
        "bucket": bucket,
        "key": "k",
        "revision": 1,
    }
    cli.run("kv", "put", bucket, "k", stdin="a\x1bb")
    entry = json.loads(cli.ok("kv", "get", bucket, "k", "-o", "json"))
    assert (entry["revision"], entry["value"], entry["encoding"]) == (2, "YRti", "base64")
    assert cli.ok("kv", "get", bucket, "k", "--template", "{key} {revision}") == "k 2\n"
    history = json.loads(cli.ok("kv", "history", bucket, "k", "--json"))
    assert [(each["revision"], each["operation"], each["encoding"]) for each in history] == [
        (1, "PUT", "text"),
        (2, "PUT", "base64"),
    ]
    keys = json.loads(cli.ok("kv", "ls", bucket, "-o", "json"))
    assert [(each["key"], each["revision"], each["value"]) for each in keys] == [("k", 2, None)]
    assert cli.ok("kv", "ls", bucket, "-o", "name") == "k\n"
    assert "YRti,base64" in cli.ok("kv", "ls", bucket, "-o", "csv", "--display-value")
    buckets = json.loads(cli.ok("kv", "ls", "-o", "json"))
    assert [(each["values"], each["history"]) for each in buckets if each["bucket"] == bucket] == [(2, 5)]
    assert json.loads(cli.ok("kv", "info", bucket, "-j"))["config"]["max_msgs_per_subject"] == 5


READER = """
listen: "127.0.0.1:<client>"
jetstream { store_dir: "<store>" }
accounts { A {
  jetstream: enabled
  users: [
    { user: owner, password: o }
    { user: reader, password: r, permissions: {
        publish: ["$JS.API.STREAM.INFO.KV_B", "$JS.API.DIRECT.GET.KV_B.>"], subscribe: ["_INBOX.>"] } }
  ]
} }
"""


def test_a_user_who_may_only_read_keys(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    url = serve(READER).url
    owner = Cli(tmp_path, "--server", url, "--user", "owner", "--password", "o")
    reader = Cli(tmp_path, "--server", url, "--user", "reader", "--password", "r")
    owner.ok("kv", "add", "B")
    owner.ok("kv", "put", "B", "k", "v")
    assert reader.ok("kv", "get", "B", "k", "--raw") == "v"
    missing = reader.run("kv", "get", "B", "none")  # no hint, since the user may not look at the other keys
    assert (missing.code, "nats: key not found" in missing.err) == (3, True)
    assert reader.run("kv", "put", "B", "k", "w", "--timeout", "60s").code == 4
    assert owner.ok("kv", "get", "B", "k", "--raw") == "v"
    owner.ok("kv", "del", "B", "-f")
