"""Tokens are verified without `cryptography`, and who uses PyJWT besides has all of it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from pyjs.keys import algorithm
assert "cryptography" not in sys.modules and "jwt" not in sys.modules
import jwt.algorithms
assert jwt.algorithms.has_crypto
assert jwt.PyJWS is not algorithm.PyJWS
"""


def test_tokens_are_verified_without_a_library_that_they_do_not_need() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_a_library_that_is_loaded_is_shared() -> None:
    program = "import jwt\nfrom pyjs.keys import algorithm\nassert algorithm.PyJWS is jwt.PyJWS"
    subprocess.run([sys.executable, "-c", program], check=True)
