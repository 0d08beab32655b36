"""Queries that are stopped when their test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.spark_query import Query


@pytest.fixture
def start() -> Iterator[Callable[..., Query]]:
    """start(server, **options): a stream query."""
    made: list[Query] = []

    def make(*args: object, **options: str) -> Query:
        made.append(Query(*args, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.reader.stop()
