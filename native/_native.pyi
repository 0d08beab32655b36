from array import array
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeVar

_Made = TypeVar("_Made", bound=tuple[Any, ...])

def scan_publishes(
    data: bytes, pos: int, most: int, longest: int, largest: int, verbs: tuple[bytes, bytes], ops: list[Any]
) -> int: ...
def scan_acks(
    data: bytes,
    pos: int,
    most: int,
    longest: int,
    largest: int,
    verbs: tuple[bytes, bytes],
    seqs: list[int],
    replies: list[tuple[int, bytes]],
) -> tuple[int, int, bytes, int]: ...
def encode_messages(
    messages: Sequence[tuple[str, bytes, bytes]], seqs: array[int], times: array[int], seed: int, offset: int
) -> tuple[list[bytes], array[int], array[int], int]: ...
def keep_messages(
    stored: dict[int, tuple[str, bytes, bytes, int]],
    messages: Sequence[tuple[str, bytes, bytes]],
    seqs: array[int],
    times: array[int],
) -> int: ...
def decode_message(
    make: type[_Made], data: bytes, seed: int, sequence: int, subject: str
) -> _Made | None: ...
def decode_messages(
    make: type[_Made],
    data: bytes,
    start: int,
    seed: int,
    seqs: Sequence[int],
    offsets: array[int],
    lengths: array[int],
    numbers: array[int],
    names: list[str],
) -> list[_Made]: ...
def deliver_publishes(
    plans: dict[bytes, Any],
    shared: dict[bytes, Any],
    prefix: bytes,
    kind: int,
    traced: bytes,
    pending_flush: list[Any],
    run: list[Any],
    together: int,
    data: bytes,
    pos: int,
    most: int,
    longest: int,
    largest: int,
    verbs: tuple[bytes, bytes],
) -> tuple[int, int, int, Any]: ...
def take_publishes(
    run: list[tuple[bytes, bytes, int, int, bytes]],
    start: int,
    most: int,
    known: dict[bytes, int] | None,
    ack: bytes | None,
    first: int,
    time: int,
    messages: list[tuple[str, bytes, bytes]],
    ids: list[tuple[int, bytes, int]],
    answers: list[tuple[bytes, bytes]],
) -> tuple[int, bytes]: ...
def take_copies(
    messages: Sequence[tuple[int, str, bytes, bytes, int]],
    originals: Sequence[str],
    start: int,
    most: int,
    known: dict[bytes, int] | None,
    label: tuple[bytes, bytes | None, bytes],
    first: int,
    time: int,
    copies: list[tuple[str, bytes, bytes]],
    ids: list[tuple[int, bytes, int]],
) -> tuple[int, bytes, int]: ...
def read_gets(publishes: Sequence[tuple[bytes, bytes, int, int, bytes]]) -> list[int | str | None]: ...
def head_answers(
    answers: Sequence[tuple[Any, ...]], stream: str, second: Callable[[int], str]
) -> list[tuple[bytes, bytes, bytes]]: ...
def match_names(
    names: list[str], start: int, stop: int, patterns: Sequence[tuple[bytes, ...]]
) -> list[int]: ...
def add_sequences(
    ids: dict[str, int],
    columns: list[Any],
    messages: Sequence[tuple[str, bytes, bytes]],
    start: int,
    seqs: array[int],
    numbers: array[int],
    make: Callable[[], Any],
    names: list[str] | None,
) -> int: ...
def frame_deliveries(
    messages: Sequence[tuple[int, str, bytes, bytes, int]],
    count: int,
    sid: bytes,
    ack_prefix: bytes,
    number: int,
    pending: int,
) -> tuple[bytes, int]: ...
def frame_replies(
    messages: Sequence[tuple[bytes, bytes]],
    start: int,
    most: int,
    plans: Container[bytes],
    receivers: dict[bytes, Any],
    ends: Container[bytes],
    literal: Container[str],
) -> tuple[int, Any, bytes, int]: ...
def frame_answers(
    answers: Sequence[tuple[bytes, bytes, bytes]],
    start: int,
    most: int,
    plans: Container[bytes],
    receivers: dict[bytes, Any],
    ends: Container[bytes],
    literal: Container[str],
) -> tuple[int, Any, bytes, int]: ...
def mask_bytes(data: bytes, key: bytes) -> bytes: ...
def take_frames(data: bytearray, most: int, masked: bool) -> tuple[int, bytes]: ...
def crc32c(data: bytes) -> int: ...
def compress_s2(data: bytes, effort: int) -> bytes: ...
def decompress_s2(block: bytes, most: int) -> bytes | None: ...
