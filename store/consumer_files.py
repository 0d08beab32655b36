"""ConsumerFiles: the folders of one stream's consumers, for code that knows the stream but no account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .configs import AccountDirectory, StoredConfig
    from .consumer import FileConsumer


class ConsumerFiles:
    """The consumers of one stream on the disk, by name. All calls may raise OSError.

    The rules are those of `AccountDirectory`.
    """

    __slots__ = ("_directory", "_stream")

    def __init__(self, directory: AccountDirectory, stream: str) -> None:
        self._directory = directory
        self._stream = stream

    def all(self) -> list[StoredConfig]:
        """List all consumers, including damaged ones. Restores bad copies of documents."""
        return self._directory.consumers(self._stream)

    def write(self, name: str, document: dict[str, Any]) -> None:
        """Store a consumer's document durably. The first call makes the consumer exist."""
        self._directory.write_consumer(self._stream, name, document)

    def open(self, name: str) -> FileConsumer:
        """Open a consumer's state. Raises StoreError."""
        return self._directory.open_consumer(self._stream, name)

    def remove(self, name: str) -> None:
        """Remove a consumer. Its store must be closed."""
        self._directory.remove_consumer(self._stream, name)
