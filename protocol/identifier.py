"""Short identifiers: base 62 ids made from random bytes, and the reference's hashes of names.

Randomness is an argument. `ALPHABET` has the reference's order 0-9A-Za-z, on which the hashes depend.
"""

import hashlib
from collections.abc import Callable

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID_LENGTH = 22
_TABLE = bytes(ord(ALPHABET[i % 62]) for i in range(256))


def new_id(random_bytes: Callable[[int], bytes], length: int = ID_LENGTH) -> str:
    """Return a random id of `length` base 62 characters; `random_bytes(n)` must return n random bytes.

    22 characters carry about 130 bits, as the unique ids of other NATS programs do.
    """
    number = int.from_bytes(random_bytes(length), "big")
    letters = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        letters.append(ALPHABET[digit])
    return "".join(letters)


def name_hash(text: str, n: int = 8) -> str:
    """Hash a name: the first `n` bytes of its SHA-256, each modulo 62.

    Peer ids (from server names), the index names of ``Nats-Stream-Source`` and the names of Raft groups are
    such hashes. Source: nats-server's server/events.go: getHashSize.
    """
    return hashlib.sha256(text.encode()).digest()[:n].translate(_TABLE).decode()
