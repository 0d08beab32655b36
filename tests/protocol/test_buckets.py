"""Buckets as protocol: names and keys, the streams behind them, entries, digests, what a message means."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import subject
from pyjs.protocol.api.stream import StreamConfig, StreamSource
from pyjs.protocol.buckets import key_value, object_store
from pyjs.protocol.buckets.config import KeyValueConfig, ObjectStoreConfig, origin
from pyjs.protocol.buckets.key_value import KeySubjects, Operation
from pyjs.protocol.buckets.naming import BucketError, check_bucket, check_key, check_pattern
from pyjs.protocol.buckets.object_store import Digest, ObjectInfo

# The expressions of nats.go (jetstream/kv.go); it also refuses a dot at either end.
KEY_OF_CLIENTS = re.compile(r"^[-/_=.a-zA-Z0-9]+\Z")
PATTERN_OF_CLIENTS = re.compile(r"^[-/_=.a-zA-Z0-9*]*[>]?\Z")
LETTERS = st.text(st.sampled_from("aZ09-/_=.*> \n\té\0"), max_size=8)


def refused(check: object, text: str) -> bool:
    try:
        check(text)  # type: ignore[operator]
    except BucketError as error:
        assert error.reason
        return True
    return False


@given(LETTERS)
def test_a_key_is_one_for_clients_and_for_servers(key: str) -> None:
    for_clients = bool(KEY_OF_CLIENTS.match(key)) and not key.startswith(".") and not key.endswith(".")
    assert refused(check_key, key) == (not for_clients or not subject.is_literal(f"$KV.B.{key}"))


@given(LETTERS)
def test_a_pattern_is_one_for_clients_and_for_servers(pattern: str) -> None:
    for_clients = bool(PATTERN_OF_CLIENTS.match(pattern)) and pattern[:1] != "." and pattern[-1:] != "."
    valid = subject.is_valid(f"$KV.B.{pattern}") and (pattern[-1:] != ">" or f".{pattern}".endswith(".>"))
    assert refused(check_pattern, pattern) == (not for_clients or not valid)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "it is empty"),
        ("a b", "has a blank"),
        ("a..b", "two dots in a row"),
        (".a", "begins or ends with a dot"),
        ("a.*", "has the wildcard *"),
        ("a\tb", r"has '\t'"),
        ("ü", "has 'ü'"),
        ("k" * 2049, "it has 2049 letters"),
    ],
)
def test_a_refused_key_says_why(key: str, reason: str) -> None:
    with pytest.raises(BucketError, match=re.escape(reason)):
        check_key(key)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "ü", "a/b", "*"])
def test_a_bucket_has_a_plain_name(name: str) -> None:
    assert refused(check_bucket, name)
    with pytest.raises(BucketError):
        KeyValueConfig(bucket=name).stream()
    with pytest.raises(BucketError):
        ObjectStoreConfig(bucket=name).stream()


def test_the_stream_of_a_plain_bucket_is_that_of_the_clients() -> None:
    config = KeyValueConfig(bucket="B").stream()
    assert config == StreamConfig(
        name="KV_B", subjects=["$KV.B.>"], max_msgs_per_subject=1, max_msgs=-1, max_bytes=-1,
        max_consumers=-1, max_msg_size=-1, discard="new", num_replicas=1, duplicate_window=120_000_000_000,
        allow_direct=True, deny_delete=True, allow_rollup_hdrs=True,
    )  # fmt: skip


def test_the_duplicate_window_is_never_longer_than_values_live() -> None:
    config = KeyValueConfig(bucket="B", ttl=5_000_000_000)
    assert config.stream().duplicate_window == 5_000_000_000
    before = KeyValueConfig(bucket="B").stream()
    assert config.stream(before).duplicate_window == 5_000_000_000


def test_a_bucket_read_from_its_stream_makes_the_same_stream() -> None:
    config = KeyValueConfig(
        bucket="B", description="d", history=5, ttl=3_600_000_000_000, marker_ttl=60_000_000_000,
        max_value_size=1000, max_bytes=10_000, storage="memory", replicas=3, compression=True,
        metadata={"a": "b"}, sources=[StreamSource(name="A")],
    )  # fmt: skip
    stream = config.stream()
    assert KeyValueConfig.of(stream).stream() == stream
    assert KeyValueConfig.of(stream).stream(stream) == stream
    assert [each.to_json() for each in stream.sources] == [
        {"name": "KV_A", "subject_transforms": [{"src": "$KV.A.>", "dest": "$KV.B.>"}]}
    ]


def test_what_is_no_setting_of_a_bucket_stays() -> None:
    before = KeyValueConfig(bucket="B").stream()
    before.max_consumers = 7
    before.subjects.append("elsewhere.>")
    after = KeyValueConfig(bucket="B", history=9).stream(before)
    assert (after.max_consumers, after.subjects) == (7, ["$KV.B.>", "elsewhere.>"])
    assert before.max_msgs_per_subject == 1


@pytest.mark.parametrize("history", [0, 65])
def test_settings_that_no_server_takes_are_refused(history: int) -> None:
    with pytest.raises(BucketError, match="between 1 and 64"):
        KeyValueConfig(bucket="B", history=history).stream()
    with pytest.raises(BucketError, match="less than a second"):
        KeyValueConfig(bucket="B", marker_ttl=history + 1).stream()
    with pytest.raises(BucketError, match="negative"):
        KeyValueConfig(bucket="B", ttl=-1).stream()
    with pytest.raises(BucketError, match="no sources"):
        KeyValueConfig(bucket="B", mirror=origin("A"), sources=[origin("C")]).stream()


def test_another_stream_is_no_bucket() -> None:
    with pytest.raises(BucketError, match="another kind"):
        KeyValueConfig.of(StreamConfig(name="KV_B"))
    with pytest.raises(BucketError, match="another kind"):
        ObjectStoreConfig.of(StreamConfig(name="KV_B"))


@pytest.mark.parametrize(
    ("config", "prefix", "read", "write"),
    [
        (KeyValueConfig(bucket="B"), "$JS.API", "$KV.B.", "$KV.B."),
        (KeyValueConfig(bucket="B"), "$JS.hub.API", "$KV.B.", "$JS.hub.API.$KV.B."),
        (KeyValueConfig(bucket="B", mirror=origin("A")), "$JS.API", "$KV.A.", "$KV.A."),
        (
            KeyValueConfig(bucket="B", mirror=origin("A", "hub")),
            "$JS.leaf.API",
            "$KV.A.",
            "$JS.hub.API.$KV.A.",
        ),
    ],
)
def test_where_keys_are_read_and_written(config: KeyValueConfig, prefix: str, read: str, write: str) -> None:
    assert KeySubjects.of(config.stream().to_json(), prefix) == KeySubjects(read, write)


@pytest.mark.parametrize(
    ("headers", "operation"),
    [
        ({}, Operation.PUT),
        ({"Other": "DEL"}, Operation.PUT),
        (key_value.delete_headers(), Operation.DELETE),
        (key_value.purge_headers(), Operation.PURGE),
        ({"Nats-Marker-Reason": "MaxAge"}, Operation.PURGE),
        ({"Nats-Marker-Reason": "Purge"}, Operation.PURGE),
        ({"Nats-Marker-Reason": "Remove"}, Operation.DELETE),
        ({"KV-Operation": "DEL", "Nats-Marker-Reason": "MaxAge"}, Operation.DELETE),
    ],
)
def test_what_a_message_does_to_its_key(headers: dict[str, str], operation: Operation) -> None:
    assert key_value.operation(headers) is operation


def test_headers_with_a_time_to_live() -> None:
    assert key_value.purge_headers(90_000_000_000)["Nats-TTL"] == "1m30s"
    assert key_value.update_headers(7, 1_000_000_000) == {
        "Nats-Expected-Last-Subject-Sequence": "7",
        "Nats-TTL": "1s",
    }
    for wrong in (1, -1):
        with pytest.raises(BucketError):
            key_value.update_headers(7, wrong)


@given(st.text(min_size=1, max_size=50))
def test_every_name_of_an_object_becomes_one_token(name: str) -> None:
    name = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    entry = object_store.entry_subject("B", name)
    assert subject.is_literal(entry)
    assert len(entry.split(".")) == 4


@given(st.lists(st.binary(max_size=20)))
def test_a_digest_depends_on_the_data_not_on_the_chunks(pieces: list[bytes]) -> None:
    digest = Digest()
    for piece in pieces:
        digest.update(piece)
    whole = b"".join(pieces)
    assert object_store.parse_digest(digest.text()) == hashlib.sha256(whole).digest()
    assert digest.matches(digest.text())
    digest.update(b"x")
    other = Digest()
    other.update(whole)
    assert not digest.matches(other.text())


@pytest.mark.parametrize(
    "written", ["", "SHA-256=", "SHA-256=AAAA", "MD5=1B2M2Y8AsgTpgAmY7PhCfg==", "SHA-256=%%"]
)
def test_what_is_no_digest_is_refused(written: str) -> None:
    with pytest.raises(BucketError, match="is no SHA-256 digest"):
        object_store.parse_digest(written)


def test_an_entry_keeps_what_it_does_not_know() -> None:
    document = {
        "name": "n", "headers": {"A": ["b", "c"], "Odd": "x"}, "options": {"max_chunk_size": 5, "new": 1},
        "bucket": "B", "nuid": "N", "size": 3, "mtime": "0001-01-01T00:00:00Z", "chunks": 1, "digest": "d",
        "later": {"x": 1},
    }  # fmt: skip
    entry = ObjectInfo.from_json(document)
    assert entry.to_json() == document
    assert entry.headers == {"A": ["b", "c"]}
    deleted = entry.as_deleted()
    assert (deleted.deleted, deleted.size, deleted.chunks, deleted.digest) == (True, 0, 0, "")
    assert deleted.to_json()["later"] == {"x": 1}
    assert not entry.deleted
