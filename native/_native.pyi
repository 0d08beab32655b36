from array import array
from collections.abc import Sequence
from typing import Any

def scan_publishes(
    data: bytes, pos: int, most: int, longest: int, largest: int, verbs: tuple[bytes, bytes], ops: list[Any]
) -> int: ...
def encode_messages(
    messages: Sequence[tuple[str, bytes, bytes]], first: int, time: int, seed: int, offset: int
) -> tuple[list[bytes], array[int], array[int]]: ...
