"""Hashes of values with a secret, computed where the rows are.

What Spark has of it, in plans, logs and tasks, is the reference to the secret. It is resolved in each Python
process of an executor. This module needs no more than pandas there.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...client import secret

if TYPE_CHECKING:
    import pandas as pd

HMAC, SHA2 = "hmac", "sha2"


def digest(method: str, key: bytes, value: bytes) -> str:
    """Return in hex HMAC-SHA-256, or for sha2 SHA-256 of the key and then the value."""
    if method == HMAC:
        return hmac.new(key, value, hashlib.sha256).hexdigest()
    return hashlib.sha256(key + value).hexdigest()


def hasher(method: str, reference: str) -> Callable[[Any], Any]:
    """Return a function of columns: the hash of each value as text; null stays null.

    reference: `env://NAME` or `file://PATH`, as it is on the executors
    """
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def hashed(values: pd.Series) -> pd.Series:
        return values.map(functools.partial(digest_text, method, key(reference)), na_action="ignore")

    hashed.__annotations__ = {"values": pd.Series, "return": pd.Series}
    return pandas_udf(hashed, "string")  # type: ignore[call-overload,no-any-return]


def digest_text(method: str, secret_key: bytes, value: str) -> str:
    """Return the digest of a text's UTF-8."""
    return digest(method, secret_key, value.encode())


def key(reference: str) -> bytes:
    """Return the secret. Raises SecretError, which names the reference only."""
    return secret.resolve("mask", reference).encode()
