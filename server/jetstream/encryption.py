"""Encryption at rest, as the configuration asks for it: from its options to the disk that the store uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...store.fs import Disk, FileSystem

if TYPE_CHECKING:
    from ..config.options.jetstream import JetStreamOptions
    from ..logging import Logger

Encrypting = Callable[[FileSystem], FileSystem]  # makes a disk above another one


def refuse_encrypted(directory: str, fs: FileSystem) -> None:
    """Raise ValueError if a store directory is encrypted, as there is no key."""
    if fs.exists(f"{directory}/encryption") or fs.exists(f"{directory}/encryption.copy"):
        text = f"{directory} is encrypted, and there is no key; nothing was changed"
        raise ValueError(f"Can't start JetStream: {text}")


def cipher_name(options: JetStreamOptions) -> str:
    """Return the name of the configured cipher."""
    return "AES-GCM" if options.cipher == "aes" else "ChaCha20-Poly1305"


def unlocked(options: JetStreamOptions, log: Logger) -> Encrypting:
    """Unlock a store with a key. Return what makes a disk above another one that encrypts. May take long.

    Files that are not encrypted with this key yet are encrypted first.

    Raises ValueError if the key is not that of the store, which is not changed then, and OSError.
    """
    from ...store.extents.disk import ExtentDisk
    from ...store.extents.keys import StoreKeys
    from ...store.extents.unlocking import Unlocking, WrongKeyError

    keys = StoreKeys(options.key, options.cipher.removesuffix("poly"), options.prev_key)
    try:
        Unlocking(Disk(), options.store_dir, keys, log.info, log.warning).run()
    except WrongKeyError as error:
        raise ValueError(f"Can't start JetStream: {error}") from error
    return lambda below: ExtentDisk(below, keys, warn=log.warning)
