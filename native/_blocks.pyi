from typing import Any

def take_deliveries(
    data: Any,
    start: int,
    end: int,
    sid: bytes,
    number: int,
    counts: tuple[int, int, int, int],
    columns: tuple[Any, ...],
) -> tuple[int, int, int, int, tuple[int, int, int, int]]: ...
def take_acks(data: Any, start: int, end: int, lead: bytes, stored: bytes, numbers: list[int]) -> int: ...
