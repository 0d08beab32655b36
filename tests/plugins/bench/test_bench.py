"""`bench` on both servers: what is published is there, every way of reading gets it, the figures add up."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.terminal import Terminal

MESSAGES = 40
ROW = re.compile(r"^│ (?:\d+|All) +│ ([\d,]+)", re.MULTILINE)
FEW = ("--msgs", str(MESSAGES), "--size", "16")


@contextmanager
def listening(cli: Cli, *words: str, clients: int = 1) -> Iterator[Terminal]:
    """A `bench` command in the background, whose clients are ready."""
    with cli.terminal(["bench", *words, "--clients", str(clients)]) as terminal:
        while terminal.errors().count("] ") < clients:
            assert terminal.process.poll() is None, terminal.errors()
            terminal.read(0.02)
        yield terminal


def counts(text: str) -> list[int]:
    """The messages of each client, as the table says; the sum of several last."""
    return [int(found.replace(",", "")) for found in ROW.findall(text)]


def state(server: ServerProcess, stream: str) -> dict[str, Any]:
    found: dict[str, Any] = call(server, f"STREAM.INFO.{stream}", subjects_filter=">")["state"]
    return found


def call(server: ServerProcess, suffix: str, **request: Any) -> dict[str, Any]:
    with server.connect() as wire:
        return JetStream(wire).call(suffix, request)


@pytest.fixture
def filled(cli: Cli, unique: str) -> Iterator[str]:
    """A stream with messages on the subjects `<name>.0…`."""
    words = ("bench", "js", "--stream", unique, "pub", "async", unique, "--create", "--multisubject")
    cli.ok(*words, "--multisubjectmax", "8", "--storage", "memory", *FEW)
    yield unique
    cli.run("stream", "rm", unique, "--force")


def test_publishers_and_subscribers(cli: Cli, unique: str) -> None:
    with listening(cli, "sub", unique, *FEW, clients=2) as terminal:
        published = cli.ok("bench", "pub", unique, *FEW, "--clients", "3")
        assert counts(published) == [14, 13, 13, MESSAGES]
        assert terminal.finish() == 0, terminal.errors()
        assert counts("\n".join(terminal.lines())) == [MESSAGES, MESSAGES, 2 * MESSAGES]


def test_several_subjects(cli: Cli, unique: str) -> None:
    with listening(cli, "sub", unique, "--multisubject", *FEW) as terminal:
        cli.ok("bench", "pub", unique, "--multisubject", "--multisubjectrandomize", "-H", "A:b", *FEW)
        assert terminal.finish() == 0, terminal.errors()


def test_a_pace_is_kept(cli: Cli, unique: str) -> None:
    words = ("--throughput", "4000", "--duration", "10ms", "--msgs", "7")
    result = cli.run("bench", "pub", unique, *words)
    assert counts(result.out) == [40]
    assert "throughput=4,000" in result.err
    assert counts(cli.ok("bench", "pub", unique, "--msgs", "3", "--sleep", "1ms")) == [3]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("clients", ["1", "2"])
def test_a_stream_has_what_was_published(
    cli: Cli, server: ServerProcess, unique: str, way: str, clients: str
) -> None:
    more = ("--multisubject", "--multisubjectmax", "10", "--dedup", "-H", "Kind: bench", "--clients", clients)
    words = ("bench", "js", "pub", way, unique, "--stream", unique, *FEW, *more)
    result = cli.run(*words, "--create", "--storage", "memory", "--replicas", "1", "--dedupwindow", "1m")
    assert result.code == 0, result.err
    assert f"stream={unique}" in result.err
    assert f"Using stream: {unique}" in result.err
    found = state(server, unique)
    assert found["messages"] == MESSAGES
    assert found["subjects"] == {f"{unique}.{number:02}": 4 for number in range(10)}
    first = cli.ok("stream", "get", unique, "1", "--json")
    assert '"size": 16' in first or "AAAAAAAAAAAAAAAAAAAAAA==" in first
    assert cli.run(*words, "--purge").code == 0  # the stream is used as it is
    assert state(server, unique)["messages"] == MESSAGES
    cli.ok("stream", "rm", unique, "--force")


def test_batches(cli: Cli, server: ServerProcess, unique: str) -> None:
    for way in ("atomic", "fast"):
        words = ("bench", "js", "pub", way, unique, "--stream", unique, "--create", "--batch", "15", *FEW)
        result = cli.run(*words, "--storage", "memory", "--dedup", "--purge")
        assert result.code == 0, result.err
        assert counts(result.out) == [MESSAGES]
        assert state(server, unique)["messages"] == MESSAGES
    cli.run("stream", "rm", unique, "--force")


def test_a_stream_without_batches(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique)
    for way, field in (("atomic", "allow_atomic"), ("fast", "allow_batched")):
        result = cli.run("bench", "js", "pub", way, unique, "--stream", unique, *FEW)
        assert result.code == 4
        assert f"does not allow {way} batches" in result.err
        assert field in result.err
    cli.ok("stream", "rm", unique, "--force")


@pytest.mark.parametrize("way", ["consume", "fetch"])
@pytest.mark.parametrize(
    "more", [("--acks", "none"), ("--doubleack",), ("--acks", "all", "--sleep", "100us"), ("--filter", "U.*")]
)
def test_durable_consumers_divide_a_stream(
    cli: Cli, server: ServerProcess, filled: str, way: str, more: tuple[str, ...]
) -> None:
    flags = [word.replace("U", filled) for word in more]
    words = ("bench", "js", "--clients", "2", way, "--stream", filled, "--batch", "7", *FEW, *flags)
    result = cli.run(*words)
    assert result.code == 0, result.err
    assert counts(result.out) == [MESSAGES // 2, MESSAGES // 2, MESSAGES]
    info = call(server, f"CONSUMER.INFO.{filled}.nats-bench")
    assert (info["num_pending"], info["num_ack_pending"]) == (0, 0)
    assert info["delivered"]["consumer_seq"] == MESSAGES


def test_a_consumer_of_ones_own(cli: Cli, filled: str) -> None:
    unknown = cli.run("bench", "js", "consume", "--stream", filled, "--consumer", "mine", *FEW)
    assert unknown.code == 3
    assert "only the default consumer is created" in unknown.err
    cli.ok("consumer", "add", filled, "mine", "--pull", "--defaults")
    assert counts(cli.ok("bench", "js", "consume", "--stream", filled, "--consumer", "mine", *FEW)) == [40]


@pytest.mark.parametrize(
    ("way", "more"),
    [
        (("js", "ordered"), ("--batch", "9")),
        (("js", "get", "sync"), ()),
        (("js", "get", "batch"), ("--batch", "9")),
    ],
)
def test_every_client_reads_all(cli: Cli, filled: str, way: tuple[str, ...], more: tuple[str, ...]) -> None:
    result = cli.run("bench", *way, "--stream", filled, "--clients", "2", *FEW, *more)
    assert result.code == 0, result.err
    assert counts(result.out) == [MESSAGES, MESSAGES, 2 * MESSAGES]


@pytest.mark.parametrize("way", [("js", "ordered", "--batch", "9"), ("oldjs", "ordered", "U.*")])
def test_an_ordered_consumer_that_is_gone_is_made_again(
    cli: Cli, server: ServerProcess, filled: str, way: tuple[str, ...]
) -> None:
    group, *words = [word.replace("U", filled) for word in way]
    more = ("--stream", filled, "--msgs", "60", "--size", "16")
    with listening(cli, group, *words, *more) as terminal:  # 20 messages are missing
        with server.connect() as wire:
            js = JetStream(wire)

            def delivered() -> str:
                infos = js.call(f"CONSUMER.LIST.{filled}")["consumers"]
                return next((each["name"] for each in infos if each["delivered"]["stream_seq"] == 40), "")

            eventually(delivered)
            js.call(f"CONSUMER.DELETE.{filled}.{delivered()}")
            for number in range(20):
                wire.pub(f"{filled}.{number % 8}", b"x" * 16)
            assert terminal.finish() == 0, terminal.errors()
            assert js.call(f"CONSUMER.NAMES.{filled}")["consumers"] in (None, [])
        assert counts("\n".join(terminal.lines())) == [60]
        assert "a consumer had to be made again" in terminal.errors()


def test_flags_stand_before_or_after_the_command(cli: Cli, filled: str) -> None:
    line = ["bench", "js", "--stream", "no", "--msgs", "3", "get", "--stream", filled, "--msgs", "2", "sync"]
    assert counts(cli.ok(*line)) == [2]
    assert counts(cli.ok(*line, "--msgs", "4", "--clients", "2")) == [4, 4, 8]


def test_filters(cli: Cli, filled: str) -> None:
    ordered = cli.ok("bench", "js", "ordered", "--stream", filled, "--filter", f"{filled}.3", "--msgs", "5")
    assert counts(ordered) == [5]
    got = cli.ok("bench", "js", "get", "batch", "--stream", filled, "--filter", f"{filled}.3", "--msgs", "5")
    assert counts(got) == [5]


def test_gets_where_there_is_nothing_more(cli: Cli, filled: str) -> None:
    for way in ("sync", "batch"):
        result = cli.run("bench", "js", "get", way, "--stream", filled, "--msgs", "50")
        assert result.code == 3
        assert "40 of 50 messages are there" in result.err
        assert "404" in result.err


def test_gets_without_direct_access(cli: Cli, filled: str) -> None:
    cli.ok("stream", "edit", filled, "--no-allow-direct", "--force")
    assert counts(cli.ok("bench", "js", "get", "sync", "--stream", filled, *FEW)) == [MESSAGES]
    refused = cli.run("bench", "js", "get", "batch", "--stream", filled, *FEW)
    assert refused.code == 4
    assert "does not allow direct gets" in refused.err


@pytest.mark.parametrize("way", ["ordered", "push", "pull"])
def test_the_older_ways(cli: Cli, filled: str, way: str) -> None:
    words = ["bench", "oldjs", way, f"{filled}.*", "--stream", filled, "--clients", "2", *FEW]
    result = cli.run(*words, *([] if way == "ordered" else ["--doubleack"]))
    assert result.code == 0, result.err
    each = MESSAGES if way == "ordered" else MESSAGES // 2
    assert counts(result.out) == [each, each, 2 * each]
    assert cli.ok("consumer", "ls", filled, "--names").strip() == ""


def test_keys(cli: Cli, server: ServerProcess) -> None:
    for bucket in ("benchbucket", "other"):
        flags = ("--bucket", bucket, *FEW, "--clients", "2")
        if bucket == "other":
            missing = cli.run("bench", "kv", "put", *flags)
            assert missing.code == 3
            assert "could not load the bucket other" in missing.err
            config = {"name": "KV_other", "subjects": ["$KV.other.>"], "storage": "memory"}
            call(server, "STREAM.CREATE.KV_other", **config)
        assert counts(cli.ok("bench", "kv", "put", "--storage", "memory", *flags)) == [20, 20, MESSAGES]
        assert state(server, f"KV_{bucket}")["subjects"] == {f"$KV.{bucket}.{n}": 1 for n in range(MESSAGES)}
        assert counts(cli.ok("bench", "kv", "get", *flags, "--randomize", "40")) == [20, 20, MESSAGES]
        cli.ok("bench", "kv", "put", "--storage", "memory", *flags, "--purge", "--randomize", "5")
        assert state(server, f"KV_{bucket}")["num_subjects"] <= 5
        missing = cli.run("bench", "kv", "get", *flags)
        assert missing.code == 3
        assert "nats: key not found" in missing.err
        call(server, f"STREAM.DELETE.KV_{bucket}")


def test_requests_and_services(cli: Cli, unique: str) -> None:
    with listening(cli, "service", "serve", unique, clients=2) as terminal:
        words = ("bench", "service", "--clients", "2", "request", unique, "-H", "A:b", *FEW)
        assert counts(cli.ok(*words)) == [20, 20, MESSAGES]
        terminal.type("\x03")
        assert terminal.finish() == 130
        assert terminal.errors().endswith("pyjs: error: interrupt\n")
    nobody = cli.run("bench", "service", "request", unique, *FEW)
    assert nobody.code == 6
    assert "nats: no responders available for request" in nobody.err


def test_the_csv_file(cli: Cli, unique: str, tmp_path: Path) -> None:
    result = cli.run("bench", "pub", unique, *FEW, "--clients", "2", "--csv", "saved.csv")
    assert "Saved metric data in csv file saved.csv" in result.err
    rows = list(csv.DictReader((tmp_path / "saved.csv").read_text().splitlines()))
    assert [(row["ClientID"], row["MsgCount"], row["MsgBytes"]) for row in rows] == [
        ("P0", "20", "320"),
        ("P1", "20", "320"),
    ]
    columns = ["#RunID", "ClientID", "MsgCount", "MsgBytes", "MsgsPerSec", "BytesPerSec", "DurationSecs"]
    figures = ["Min", "Avg", "Max", "P50", "P90", "P99", "P99.9", "StdDev"]
    assert list(rows[0]) == [*columns, *(f"{name}LatencyMicroSecs" for name in figures)]
    assert len({row["#RunID"] for row in rows}) == 1
    for row in rows:
        least, middle, most = (float(row[f"{name}LatencyMicroSecs"]) for name in ("Min", "P50", "Max"))
        assert 0 < least <= middle <= most
        assert float(row["MsgsPerSec"]) == pytest.approx(20 / float(row["DurationSecs"]), rel=0.05, abs=1)


def test_the_document(cli: Cli, filled: str) -> None:
    words = ("bench", "js", "get", "sync", "--stream", filled, "--clients", "2", *FEW)
    found = json.loads(cli.ok(*words, "-o", "json"))
    assert found["benchmark"] == "JetStream synchronous getter"
    assert [(each["client"], each["messages"], each["bytes"]) for each in found["clients"]] == [
        (1, MESSAGES, MESSAGES * 16),
        (2, MESSAGES, MESSAGES * 16),
    ]
    whole = found["total"]
    assert whole["messages"] == 2 * MESSAGES
    assert whole["messages_per_second"] == pytest.approx(2 * MESSAGES / whole["seconds"])
    assert whole["latency_microseconds"]["min"] == min(
        each["latency_microseconds"]["min"] for each in found["clients"]
    )


def test_a_payload_from_a_file(cli: Cli, unique: str, tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"x" * 50)
    cli.ok("bench", "pub", unique, "--payload", "payload", "--msgs", "2", "--csv", "saved.csv")
    assert ",2,100," in (tmp_path / "saved.csv").read_text()


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (2, ("pub", "a", "--msgs", "0"), "number of messages should be greater than 0"),
        (2, ("pub", "a", "--size", "0"), "message size"),
        (2, ("pub", "a", "--duration", "1s"), "--duration requires --throughput"),
        (2, ("pub", "a", "--duration=-2s", "--throughput", "5"), "--duration cannot be negative"),
        (2, ("pub", "a", "--duration", "1ms", "--throughput", "5"), "no message"),
        (2, ("pub", "a", "--clients", "0"), "--clients"),
        (3, ("pub", "a", "--payload", "missing"), "missing"),
        (4, ("pub", "a", "--size", "2MB"), "larger than the server accepts"),
        (
            3,
            ("js", "pub", "sync", "a", "--stream", "NONE"),
            "could not access stream NONE: stream not found (10059)",
        ),
        (3, ("js", "consume", "--stream", "NONE"), "stream not found (10059)"),
        (2, ("js", "pub", "atomic", "a", "--persistasync"), "persistence mode async"),
        (2, ("js", "pub", "sync", "a", "--maxbytes", "0"), "more than 0 bytes"),
        (2, ("js", "pub", "fast", "a", "--max-outstanding-acks", "0"), "--max-outstanding-acks"),
        (2, ("pub", "a", "--socks-proxy", "localhost:1"), "SOCKS"),
        (2, ("pub", "a", "--server", "ws://localhost:1"), "websockets"),
        (6, ("pub", "a", "--server", "nats://127.0.0.1:1"), "at nats://127.0.0.1:1 (connection refused)"),
        (3, ("pub", "a", "--creds", "/nowhere"), "creds: cannot read /nowhere"),
    ],
)
def test_mistakes(cli: Cli, code: int, words: tuple[str, ...], said: str) -> None:
    result = cli.run("bench", *words)
    assert result.code == code
    assert said in result.err
    assert result.out == ""


def test_another_configuration_is_no_reason_to_change_a_stream(cli: Cli, filled: str) -> None:
    result = cli.run("bench", "js", "pub", "sync", "x", "--stream", filled, "--create", *FEW)
    assert result.code == 4
    assert "could not create the stream" in result.err
    assert f"stream rm {filled}" in result.err
