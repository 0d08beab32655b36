"""Objects: stored, shown, saved, replaced, deleted; buckets; what is damaged, cut or refused."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from lib.cli import PYJS, Cli
from lib.eventually import eventually
from lib.examples import one_in
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.transcript import normal


@pytest.fixture
def bucket(cli: Cli, unique: str) -> Iterator[str]:
    """An empty bucket."""
    cli.ok("object", "add", unique)
    yield unique
    cli.run("object", "del", unique, "--force")


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    """A raw client."""
    with JetStream.of(server) as client:
        yield client


def state(cli: Cli, bucket: str) -> dict[str, int]:
    """Return the subjects in the stream of a bucket with their numbers of messages."""
    found: dict[str, int] = json.loads(cli.ok("stream", "subjects", f"OBJ_{bucket}", "--json"))
    return found


def chunks(cli: Cli, bucket: str) -> dict[str, int]:
    return {name: count for name, count in state(cli, bucket).items() if ".C." in name}


def failure(cli: Cli, *words: str) -> str:
    result = cli.run(*words)
    assert result.code > 0, result.out
    return result.err


PAGE = """
Information for Object Store Bucket B created <time>

Configuration:

          Bucket Name: B
          Description: d
             Replicas: 1
                  TTL: 1h0m0s
               Sealed: false
                 Size: 0 B
  Maximum Bucket Size: 10 MiB
              Storage: File
   Backing Store Kind: JetStream
     JetStream Stream: OBJ_B
             Metadata: a: b
                       c: d
"""


def test_a_bucket_and_its_page(cli: Cli, unique: str) -> None:
    flags = ["--description=d", "--ttl=1h", "--metadata=a=b", "--metadata=c=d", "--max-bucket-size=10MB"]
    made = cli.ok("obj", "add", unique, *flags)
    wanted = PAGE.replace("Bucket B", f"Bucket {unique}").replace("Name: B", f"Name: {unique}")
    for shown in (made, cli.ok("object", "info", unique), cli.ok("object", "show", unique)):
        assert normal(shown.splitlines()) == normal(wanted.replace("OBJ_B", f"OBJ_{unique}").splitlines())
    assert "Description: new" in cli.ok("object", "edit", unique, "--description", "new", "--ttl", "3h")
    assert "TTL: 3h0m0s" in cli.ok("object", "info", unique)
    assert "Metadata: a: b" in cli.ok("object", "info", unique)
    assert "nats: bucket name already in use" in failure(cli, "object", "add", unique, "--ttl", "2h")
    assert unique in cli.ok("object", "ls", "--names").split()
    assert "Object Store Buckets" in cli.ok("object", "ls")
    cli.ok("object", "del", unique, "--force")
    assert "nats: bucket not found" in failure(cli, "object", "info", unique)


def test_a_file_comes_back_as_it_was(cli: Cli, bucket: str, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "file").write_bytes(data)
    out = cli.ok("object", "put", bucket, "file", "--description", "desc", "-H", "A:b", "-H", "A:c")
    assert normal(out.splitlines()) == [
        f"Object information for {bucket} > file",
        "",
        "        Description: desc",
        "               Size: 293 KiB",
        "  Modification Time: <time>",
        "             Chunks: 3",
        f"             Digest: SHA-256 {hashlib.sha256(data).hexdigest()}",
        "            Headers: A: b",
        "                     A: c",
    ]
    assert normal(cli.ok("object", "info", bucket, "file").splitlines()) == normal(out.splitlines())
    assert cli.ok("object", "get", bucket, "file", "--output", "copy").startswith(
        f"Wrote: 293 KiB to {tmp_path / 'copy'} in "
    )
    assert (tmp_path / "copy").read_bytes() == data
    assert "│ file │ 293 KiB │" in cli.ok("object", "ls", bucket)
    assert cli.ok("object", "ls", bucket, "-n") == "file\n"


def test_the_document_of_an_object_is_that_of_the_clients(cli: Cli, bucket: str, js: JetStream) -> None:
    cli.run("object", "put", bucket, "--name", "dir/n", "--chunk-size", "2", stdin="abc")
    subject = f"$O.{bucket}.M.{base64.urlsafe_b64encode(b'dir/n').decode()}"
    found = js.call(f"STREAM.MSG.GET.OBJ_{bucket}", {"last_by_subj": subject})["message"]
    entry: dict[str, Any] = json.loads(base64.b64decode(found["data"]))
    nuid = entry.pop("nuid")
    assert chunks(cli, bucket) == {f"$O.{bucket}.C.{nuid}": 2}
    assert entry == {
        "name": "dir/n",
        "options": {"max_chunk_size": 2},
        "bucket": bucket,
        "size": 3,
        "mtime": "0001-01-01T00:00:00Z",
        "chunks": 2,
        "digest": "SHA-256=" + base64.urlsafe_b64encode(hashlib.sha256(b"abc").digest()).decode(),
    }
    headers = base64.b64decode(found["hdrs"])
    assert b"Nats-Rollup: sub" in headers


@one_in(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(0, 40), chunk=st.integers(1, 12))
def test_every_size_and_every_chunk_size(
    cli: Cli, bucket: str, tmp_path: Path, size: int, chunk: int
) -> None:
    data = os.urandom(size)
    (tmp_path / "f").write_bytes(data)
    cli.ok("object", "put", bucket, "f", "--chunk-size", str(chunk), "--force")
    assert sum(chunks(cli, bucket).values()) == -(-size // chunk)
    cli.ok("object", "get", bucket, "f", "-O", "out", "-f")
    assert (tmp_path / "out").read_bytes() == data


def test_replacing_removes_the_old_chunks(cli: Cli, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    cli.ok("object", "put", bucket, "f")
    before = chunks(cli, bucket)
    (tmp_path / "f").write_text("two")
    said = cli.run("object", "put", bucket, "f")
    assert (said.code, "cannot ask for confirmation" in said.err) == (2, True)
    assert chunks(cli, bucket) == before
    cli.ok("object", "put", bucket, "./f", "--force")
    assert chunks(cli, bucket).keys().isdisjoint(before)
    assert sum(state(cli, bucket).values()) == 2


def test_deleting_leaves_an_entry_and_no_chunks(cli: Cli, bucket: str) -> None:
    cli.run("object", "put", bucket, "--name", "n", stdin="data")
    assert "cannot ask" in failure(cli, "object", "rm", bucket, "n")
    assert f"Removed {bucket} > n" in cli.ok("object", "del", bucket, "n", "--force")
    assert chunks(cli, bucket) == {}
    assert "nats: object not found\nhint: n was deleted" in failure(cli, "object", "get", bucket, "n")
    assert "n was deleted" in failure(cli, "object", "del", bucket, "n")
    cli.ok("object", "del", bucket, "n", "--force")  # as `nats`: deleted again
    assert cli.ok("object", "ls", bucket) == "No entries found\n"
    cli.run("object", "put", bucket, "--name", "n", stdin="again")
    assert cli.ok("object", "ls", bucket, "--names") == "n\n"
    assert "leave it out" in failure(cli, "object", "del", bucket, "", "-f")


def test_programs_get_documents(cli: Cli, bucket: str) -> None:
    stored = cli.run("object", "put", bucket, "--name", "n", "--json", stdin="data")
    assert stored.code == 0
    entry = json.loads(stored.out)
    assert (entry["name"], entry["size"], entry["digest"]) == ("n", 4, digest(b"data"))
    assert not entry["mtime"].startswith("0001")
    assert json.loads(cli.ok("object", "info", bucket, "n", "-j")) == entry
    listed = json.loads(cli.ok("object", "ls", bucket, "-o", "json"))
    assert [(each["name"], each["size"], each["mtime"]) for each in listed] == [("n", 4, entry["mtime"])]
    assert cli.ok("object", "ls", bucket, "--template", "{name} {size:size}") == "n 4 B\n"
    assert json.loads(cli.ok("object", "info", bucket, "-j"))["config"]["name"] == f"OBJ_{bucket}"


def test_a_missing_object_and_its_neighbours(cli: Cli, bucket: str) -> None:
    cli.run("object", "put", bucket, "--name", "report.pdf", stdin="x")
    assert "did you mean report.pdf?" in failure(cli, "object", "get", bucket, "reprot.pdf")
    assert "did you mean report.pdf?" in failure(cli, "object", "del", bucket, "reprot.pdf", "-f")
    assert "path 'nofile' does not exist" in failure(cli, "object", "put", bucket, "nofile")
    assert "--name is required when reading from stdin" in failure(cli, "object", "put", bucket)


def test_a_sealed_bucket_is_read_only(cli: Cli, bucket: str) -> None:
    cli.run("object", "put", bucket, "--name", "n", stdin="data")
    assert "cannot ask" in failure(cli, "object", "seal", bucket)
    out = cli.ok("object", "seal", bucket, "--force")
    assert out.startswith(f"{bucket} has been sealed\n")
    assert "Sealed: true" in out
    result = cli.run("object", "put", bucket, "--name", "new", stdin="x")
    assert result.code > 0
    assert "invalid operation on sealed stream (10109)" in result.err
    assert f"the bucket {bucket} is sealed" in failure(cli, "object", "del", bucket, "n", "-f")
    cli.ok("object", "get", bucket, "n")


def test_a_file_that_is_there_is_not_overwritten_unasked(cli: Cli, bucket: str, tmp_path: Path) -> None:
    cli.run("object", "put", bucket, "--name", "dir/n", stdin="new")
    (tmp_path / "n").write_text("mine")
    (tmp_path / "n").chmod(0o640)
    assert "cannot ask" in failure(cli, "object", "get", bucket, "dir/n")
    assert (tmp_path / "n").read_text() == "mine"
    with cli.terminal(["object", "get", bucket, "dir/n"]) as terminal:
        terminal.answer(f"Replace existing target file {tmp_path / 'n'}", "y")
        assert terminal.finish() == 0
    assert (tmp_path / "n").read_text() == "new"
    assert (tmp_path / "n").stat().st_mode & 0o777 == 0o640


def test_an_object_to_a_pipe(cli: Cli, bucket: str, tmp_path: Path) -> None:
    cli.run("object", "put", bucket, "--name", "n", stdin="data")
    result = cli.process("object", "get", bucket, "n", "-O", "/dev/stdout", "-f")
    assert (result.code, result.out) == (0, "data")
    assert "Wrote: 4 B to /dev/stdout" in result.err
    assert "is a directory" in failure(cli, "object", "get", bucket, "n", "-O", str(tmp_path))


def test_a_name_that_is_no_file(cli: Cli, bucket: str, js: JetStream) -> None:
    for name in ("..", "a/..", "/"):
        entry = {"name": name, "bucket": bucket, "nuid": "N", "size": 0, "chunks": 0, "digest": digest(b"")}
        publish(js, bucket, name, entry)
        assert "is no name for a file" in failure(cli, "object", "get", bucket, name)


def digest(data: bytes) -> str:
    return "SHA-256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()


def publish(js: JetStream, bucket: str, name: str, entry: dict[str, Any], *pieces: bytes) -> None:
    """Store an object as another client would."""
    for piece in pieces:
        js.wire.request(f"$O.{bucket}.C.{entry['nuid']}", piece)
    subject = f"$O.{bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"
    js.wire.request(subject, json.dumps(entry).encode(), {"Nats-Rollup": "sub"})


DAMAGED: tuple[tuple[list[bytes], str], ...] = (
    ([b"abc", b"deX"], "digests do not match"),
    ([b"abc"], "wrote 3 B, expected 6 B"),
    ([], "wrote 0 B, expected 6 B"),
    ([b"abc", b"def", b"g"], "wrote 7 B, expected 6 B"),
)


def test_a_damaged_object_leaves_no_file(cli: Cli, bucket: str, js: JetStream, tmp_path: Path) -> None:
    for number, (pieces, said) in enumerate(DAMAGED):
        entry = {"name": "n", "bucket": bucket, "nuid": f"N{number}", "size": 6, "chunks": 2}
        publish(js, bucket, "n", {**entry, "digest": digest(b"abcdef")}, *pieces)
        assert said in failure(cli, "object", "get", bucket, "n")
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "n").write_text("mine")
    failure(cli, "object", "get", bucket, "n", "--force")
    assert (tmp_path / "n").read_text() == "mine"


def test_links_are_followed(cli: Cli, bucket: str, js: JetStream, tmp_path: Path) -> None:
    cli.run("object", "put", bucket, "--name", "n", stdin="data")
    for name, link in (("l", {"bucket": bucket, "name": "n"}), ("b", {"bucket": bucket}), ("loop", None)):
        link = link or {"bucket": bucket, "name": "loop"}
        entry = {
            "name": name,
            "bucket": bucket,
            "nuid": "N",
            "size": 0,
            "chunks": 0,
            "options": {"link": link},
        }
        publish(js, bucket, name, entry)
    cli.ok("object", "get", bucket, "l", "-O", "out")
    assert (tmp_path / "out").read_text() == "data"
    assert f"Link To: {bucket} > n" in cli.ok("object", "info", bucket, "l")
    assert "is a link to the bucket" in failure(cli, "object", "get", bucket, "b")
    assert "is a link to a link" in failure(cli, "object", "get", bucket, "loop")


def test_an_entry_that_is_none(cli: Cli, bucket: str, js: JetStream) -> None:
    js.wire.request(f"$O.{bucket}.M.{base64.urlsafe_b64encode(b'n').decode()}", b"no json")
    assert "object-store meta information invalid" in failure(cli, "object", "info", bucket, "n")
    cli.run("object", "put", bucket, "--name", "good", stdin="x")
    listed = cli.run("object", "ls", bucket, "-n")
    assert (listed.code, listed.out) == (0, "good\n")
    assert "object-store meta information invalid" in listed.err


def test_a_bucket_that_is_full_keeps_nothing_of_what_does_not_fit(
    cli: Cli, unique: str, tmp_path: Path
) -> None:
    cli.ok("object", "add", unique, "--max-bucket-size", "200KB")
    (tmp_path / "large").write_bytes(b"x" * 300_000)
    assert "the file has 293 KiB" in failure(cli, "object", "put", unique, "large")
    result = cli.run("object", "put", unique, "--name", "large", stdin="x" * 300_000)
    assert result.code > 0
    assert "maximum bytes exceeded (10077)" in result.err
    assert "(--max-bucket-size)" in result.err
    assert state(cli, unique) == {}
    cli.ok("object", "del", unique, "-f")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_put_that_is_cut_is_not_visible(cli: Cli, bucket: str, number: int) -> None:
    cli.run("object", "put", bucket, "--name", "n", stdin="before")
    before = state(cli, bucket)
    child = subprocess.Popen(
        [*PYJS, *cli.flags, "object", "put", bucket, "--name", "n", "--force"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=cli.environment(),
    )
    assert child.stdin is not None and child.stderr is not None
    child.stdin.write(b"x" * 1_000_000)
    child.stdin.flush()
    eventually(lambda: sum(chunks(cli, bucket).values()) > 3)
    child.send_signal(number)
    child.wait(20)
    child.stdin.close()
    said = child.stderr.read().decode()
    child.stderr.close()
    assert cli.ok("object", "ls", bucket, "-n") == "n\n"
    cli.ok("object", "get", bucket, "n")
    assert (cli.home / "n").read_text() == "before"
    if number == signal.SIGINT:
        assert "interrupt" in said
        assert state(cli, bucket) == before


def test_a_get_that_is_cut_leaves_nothing_that_looks_whole(cli: Cli, bucket: str, tmp_path: Path) -> None:
    fifo = tmp_path / "source"
    data = os.urandom(3_000_000)
    fifo.write_bytes(data)
    cli.ok("object", "put", bucket, "source", "--name", "n")
    for number in (signal.SIGINT, signal.SIGKILL):
        child = subprocess.Popen(
            [sys.executable, "-c", STOPS_AT_A_CHUNK, *cli.flags, "object", "get", bucket, "n"],
            cwd=tmp_path,
            env=cli.environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == b"some\n"
        child.send_signal(number)
        _, said = child.communicate(timeout=20)
        names = {path.name for path in tmp_path.iterdir()} - {"source", ".config", ".local"}
        assert "n" not in names
        if number == signal.SIGINT:
            assert (names, b"interrupt" in said) == (set(), True)
        else:
            assert all(name.startswith(".n.") and name.endswith(".part") for name in names)
    cli.ok("object", "get", bucket, "n")
    assert (tmp_path / "n").read_bytes() == data


# `pyjs`, but it says so after ten chunks and then waits for its end.
STOPS_AT_A_CHUNK = """
import sys, asyncio
from pyjs.cli import entry, ordered_consumer
taken = ordered_consumer.OrderedConsumer.next
count = 0
async def stopped(self, *arguments):
    global count
    count += 1
    if count > 10:
        print("some", flush=True)
        await asyncio.sleep(3600)
    return await taken(self, *arguments)
ordered_consumer.OrderedConsumer.next = stopped
sys.exit(entry.run(sys.argv[1:]))
"""


def test_two_puts_of_one_name_leave_one_whole_object(cli: Cli, bucket: str, tmp_path: Path) -> None:
    children = []
    for letter in "abcd":
        (tmp_path / letter).write_bytes(letter.encode() * 700_000)
        words = ["object", "put", bucket, letter, "--name", "n", "--force"]
        children.append(
            subprocess.Popen(
                [*PYJS, *cli.flags, *words], env=cli.environment(), cwd=tmp_path, stdout=subprocess.DEVNULL
            )
        )
    assert [child.wait(60) for child in children] == [0, 0, 0, 0]
    assert len(chunks(cli, bucket)) == 1
    cli.ok("object", "get", bucket, "n")
    assert len(set((tmp_path / "n").read_bytes())) == 1


def test_changes_are_shown_as_they_come(cli: Cli, bucket: str) -> None:
    cli.run("object", "put", bucket, "--name", "n", stdin="data")
    with cli.terminal(["object", "watch", bucket]) as terminal:

        def lines() -> list[str]:
            while terminal.read(0.05):
                pass
            return [line[line.index("] ") + 2 :] for line in terminal.lines() if line.startswith("[")]

        eventually(lambda: len(lines()) == 1)
        cli.ok("object", "del", bucket, "n", "-f")
        eventually(lambda: len(lines()) == 2)
        assert lines() == [f"PUT {bucket} > n: 4 B bytes in 1 chunks", f"DEL {bucket} > n"]
