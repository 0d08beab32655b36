"""Where a sourced message came from, as a column: the domain of its stream, from `Nats-Stream-Source`.

The header begins with `<stream>:<hash>`, the hash being that of the API prefix under which the stream was
reached, `$JS.<domain>.API`. A hash cannot be reversed, but it can be compared with those of known domains.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..protocol.identifier import name_hash

if TYPE_CHECKING:
    from pyspark.sql import Column

HEADER = "Nats-Stream-Source"


def mark(domain: str) -> str:
    """Return what stands for a domain in the header."""
    return name_hash(f"$JS.{domain}.API")


def origin(headers: Column, domains: Iterable[str]) -> Column:
    """Return a column that says from which of these domains each message was sourced; null if from none.

    `headers` is the source's column of that name (`includeHeaders`).
    """
    from pyspark.sql import functions as f

    # Without Python functions: Spark computes it where the rows are.
    value = f.get(headers[HEADER], f.lit(0))
    found = f.regexp_extract(value, "^[^ :]+:([0-9A-Za-z]+)", 1)
    known = [part for domain in domains for part in (f.lit(mark(domain)), f.lit(domain))]
    return f.try_element_at(f.create_map(*known), found)
