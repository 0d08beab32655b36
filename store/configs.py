"""The folders of the configurations of streams and consumers, and what is found in them on recovery.

Layout: `<store_dir>/jetstream/<account>/streams/<stream>/{meta.json, msgs/…, consumers/<name>/{meta.json,
state}}`, and `<account>/templates/streams/<template>/meta.json`. A meta file (`meta_file`) is replaced in one
step, and is durable when the call returns. It is kept twice (`copies`), and the listings restore one file
from the other. If neither can be read, this is reported by name and the files stay, since nothing is ever
dropped for being unreadable. The same holds for what others put here, such as files, or copied folders with
another meta file. Names that begin with a dot and are not ours are skipped. A meta file of the previous
version has no identity: a stream gets one when it is opened, a consumer when its meta file is rewritten.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from secrets import randbits
from typing import NamedTuple
from urllib.parse import unquote

from ..protocol.lazy_dataclass import dataclass
from .consumer import STATE, FileConsumer
from .copies import COPY, CopyRead, read_copies, repair, write_copies
from .errors import Damaged, NotFound
from .extents.disk import ExtentDisk
from .file import FileStream
from .file.ownership import first_unused, own_files
from .fs import Disk, FileSystem
from .handles import Handles
from .identity import ANYBODY, ForeignFilesError, Identity, new_identity
from .meta_file import META, Document, MetaFacts, MetaFile, decode, directory_name, encode, name_of

_LOST = "lost.msgs"
_STRANGE = "strange.msgs"
_STAGING = ".restoring"
_TAKEN_AWAY = re.compile(r"\..+\.[0-9]+", re.DOTALL)  # a name that `_take_away` gives


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """One stream or consumer found on the disk: its document, or what is wrong with it.

    name: its name; if the document cannot be read, what its folder tells of it (`name_of`).
    repaired: what was wrong with one of the document's two files, which was rewritten from the other.
    refused: whether `damage` is only that the disk refused to read it, so that a later attempt may succeed.
    """

    name: str
    document: Document | None
    damage: str = ""
    repaired: str = ""
    refused: bool = False


def _entries(fs: FileSystem, directory: str) -> Iterator[str]:
    """Iterate over the folders of streams or consumers, and finish removals that were cut short."""
    for entry in fs.names(directory):
        if _TAKEN_AWAY.fullmatch(entry):
            fs.remove_tree(f"{directory}/{entry}")  # the removal was cut short
        elif not entry.startswith("."):
            yield entry


def _holds_data(fs: FileSystem, folder: str) -> bool:
    names = fs.names(folder)
    return STATE in names or STATE + COPY in names or any(fs.names(f"{folder}/msgs"))


def _numbered(name: str) -> Iterator[str]:
    """Iterate over the names for messages set aside: lost.msgs, lost.msgs.2, lost.msgs.3, …"""
    yield name
    for number in itertools.count(2):
        yield f"{name}.{number}"


def _take_away(fs: FileSystem, parent: str, entry: str) -> str:
    """Rename a folder in one step, so that it cannot come back in part. Return its new path, "" if none.

    The caller removes the renamed folder; otherwise the next start does.
    """
    path = f"{parent}/{entry}"
    if not fs.exists(path):
        return ""
    names = (f"{parent}/.{entry}.{number}" for number in itertools.count())
    gone = next(name for name in names if not fs.exists(name))
    fs.rename(path, gone)
    fs.sync_directory(parent)
    return gone


def _remove(fs: FileSystem, parent: str, entry: str) -> None:
    gone = _take_away(fs, parent, entry)
    if gone:
        fs.remove_tree(gone)


class LazyFiles(NamedTuple):
    """Where the messages of streams are written that need no sync before they are acknowledged."""

    fs: FileSystem
    handles: Handles


class AccountDirectory:
    """The streams and consumers of one account on the disk. All calls may raise OSError.

    name: the account's name. random: a function that returns a random number of so many bits.
    lazy: for the messages of streams that are opened lazily; None if all streams are written alike.
    """

    def __init__(
        self,
        path: str,
        fs: FileSystem,
        handles: Handles,
        name: str,
        random: Callable[[int], int] = randbits,
        lazy: LazyFiles | None = None,
    ) -> None:
        self.path = path
        self.name = name
        self._lazy = lazy
        self._fs = fs
        self._handles = handles
        self._random = random
        # By folder: what is known of streams, and of each stream's consumers. What was read or written once
        # stays valid as long as the stream or consumer exists, whatever becomes of its meta file.
        self._facts: dict[str, MetaFacts] = {}
        self._consumers: dict[str, dict[str, MetaFacts]] = {}

    def _stream(self, stream: str) -> str:
        return f"{self.path}/streams/{directory_name(stream)}"

    def _consumer(self, stream: str, consumer: str) -> str:
        return f"{self._stream(stream)}/consumers/{directory_name(consumer)}"

    # -- the owner of a file

    def _expect_stream(self, facts: MetaFacts) -> str:
        return "" if facts.account in ("", self.name) else f"account '{facts.account}'"

    def _expect_consumer(self, stream: MetaFacts) -> Callable[[MetaFacts], str]:
        """Return a check of a consumer's owner. Without an identity it must be as old as the stream."""
        old = bool(stream.since or not stream.identity)

        def expected(facts: MetaFacts) -> str:
            own = facts.stream == stream.identity or (old and not facts.stream)
            return "" if own else "a consumer of another stream"

        return expected

    def _read(self, folder: str, expected: Callable[[MetaFacts], str]) -> CopyRead[MetaFile]:
        """Read a meta file. Raises NotFound, Damaged (also if its copies have two identities), OSError."""
        path, read = f"{folder}/{META}", partial(decode, expected=expected)
        found = read_copies(self._fs, path, read, lambda meta: (meta.facts.revision,))
        identities = {found.value.facts.identity, 0 if found.other is None else found.other.facts.identity}
        if len(identities - {0}) > 1:
            raise Damaged(0, f"{path} and its copy belong to different ones: the wrong one is to be removed")
        return found

    def _facts_of(self, stream: str) -> MetaFacts | None:
        """Return what is known of a stream; None if it is new, or its document cannot be read."""
        folder = self._stream(stream)
        if folder not in self._facts:
            try:
                self._facts[folder] = self._read(folder, self._expect_stream).value.facts
            except (NotFound, Damaged):
                return None
        return self._facts[folder]

    def _with_identity(self, stream: str) -> MetaFacts:
        """Return the same with an identity. A new identity is not written yet."""
        facts = self._facts_of(stream)
        if facts is not None and facts.identity:
            return facts
        since = first_unused(self._fs, f"{self._stream(stream)}/msgs")
        revision = 0 if facts is None else facts.revision
        return MetaFacts(new_identity(self._random), since, self.name, 0, revision)

    def _write(self, folder: str, name: str, facts: MetaFacts, document: Document) -> MetaFacts:
        """Store a document durably, in place of an older one, and return the new facts."""
        facts = replace(facts, revision=facts.revision + 1)
        self._fs.make_directory(folder)
        write_copies(self._fs, f"{folder}/{META}", encode(name, facts, document))
        return facts

    def _forget(self, stream: str) -> None:
        folder = self._stream(stream)
        self._facts.pop(folder, None)
        self._consumers.pop(folder, None)

    def _list(
        self, directory: str, expected: Callable[[MetaFacts], str]
    ) -> Iterator[tuple[StoredConfig, MetaFacts]]:
        for entry in _entries(self._fs, directory):
            found = self._find(directory, entry, expected)
            if found is not None:
                yield found

    def _find(
        self, directory: str, entry: str, expected: Callable[[MetaFacts], str]
    ) -> tuple[StoredConfig, MetaFacts] | None:
        """Read one document, and restore its bad copy. Return None if there is none."""
        folder = f"{directory}/{entry}"
        path = f"{folder}/{META}"
        try:
            try:
                read = self._read(folder, expected)
            except NotFound:
                # The meta file makes a stream or consumer exist: a folder without one is a creation that
                # was cut short, unless it holds data.
                if not _holds_data(self._fs, folder):
                    return None
                missing = f"{path} is missing, and so is its copy"
                return StoredConfig(name_of(entry), None, missing), MetaFacts()
            with suppress(OSError):  # a disk that is full must not keep it from being served
                repair(self._fs, path, read)
            meta = read.value
            return StoredConfig(meta.name, meta.document, repaired=read.damage), meta.facts
        except (Damaged, OSError) as error:
            refused = isinstance(error, OSError)
            return StoredConfig(name_of(entry), None, str(error), refused=refused), MetaFacts()

    # -- streams

    def is_new(self) -> bool:
        """Whether nothing was ever stored here. A folder that cannot be read does not count as new."""
        try:
            return not self._fs.exists(self.path)
        except OSError:
            return False

    def streams(self, stream: str = "") -> list[StoredConfig]:
        """List all streams, or one of them, including damaged ones. Restores bad copies of documents."""
        directory = f"{self.path}/streams"
        if stream:
            one = self._find(directory, directory_name(stream), self._expect_stream)
            found = [] if one is None else [one]
        else:
            found = list(self._list(directory, self._expect_stream))
        for stored, facts in found:
            if facts.identity:
                self._facts.setdefault(self._stream(stored.name), facts)
        return [stored for stored, _ in found]

    def read_stream(self, stream: str) -> StoredConfig | None:
        """Return one stream, None if there is none. Changes nothing."""
        try:
            meta = self._read(self._stream(stream), self._expect_stream).value
            return StoredConfig(meta.name, meta.document)
        except NotFound:
            return None
        except (Damaged, OSError) as error:
            return StoredConfig(stream, None, str(error))

    def set_aside(self, stream: str) -> str:
        """Rename a stream's messages, so that they are never read. Return the new path, "" if there are none.

        Earlier ones stay, because a second damage, found during the repair of the first, may leave less.
        Messages of another stream are never removed (`is_foreign`).
        """
        folder = self._stream(stream)
        messages = f"{folder}/msgs"
        if not self._fs.exists(messages):
            return ""
        name = _LOST
        try:
            own_files(self._fs, messages, self.identity(stream), cut_to_last_commit=True)
        except ForeignFilesError:
            name = _STRANGE
        free = next(name for name in _numbered(name) if not self._fs.exists(f"{folder}/{name}"))
        self._fs.rename(messages, f"{folder}/{free}")
        self._fs.sync_directory(folder)
        return f"{folder}/{free}"

    def is_foreign(self, folder: str) -> bool:
        """Whether the folder that `set_aside` returned belongs to another stream."""
        return folder.rpartition("/")[2].startswith(_STRANGE)

    def copies(self, stream: str) -> list[str]:
        """Return the folders that hold messages of a stream, including those that were set aside."""
        folder = self._stream(stream)
        names = sorted(self._fs.names(folder)) if self._fs.exists(folder) else []
        kept = [name for name in names if name in ("msgs", _LOST) or name.startswith(f"{_LOST}.")]
        return [f"{folder}/{name}" for name in kept]

    def remove_set_aside(self, stream: str) -> None:
        """Remove everything of the stream that was set aside."""
        folder = self._stream(stream)
        for name in self._fs.names(folder):
            if name == _LOST or name.startswith(f"{_LOST}."):
                self._fs.remove_tree(f"{folder}/{name}")

    def write_stream(self, stream: str, document: Document) -> None:
        """Store a stream's document durably. The first call makes the stream exist."""
        folder = self._stream(stream)
        self._facts[folder] = self._write(folder, stream, self._with_identity(stream), document)

    def identity(self, stream: str) -> Identity:
        """Return the identity of a stream on the disk. Changes nothing."""
        facts = self._facts_of(stream)
        return Identity(facts.identity, facts.since) if facts is not None and facts.identity else ANYBODY

    def open_stream(
        self,
        stream: str,
        *,
        on_damage: Callable[[int, str], None] | None = None,
        cut_to_last_commit: bool = False,
        lazily: bool = False,
    ) -> FileStream:
        """Open a stream's messages; see `FileStream`. lazily: its commits need not be synced at once.

        A stream of the previous version gets its identity now, a new one when its document is written.
        A stream with `cut_to_last_commit` syncs its commits at once, also where the disk delays syncs: its
        owner has a log that ends where the commits begin.
        """
        folder = self._stream(stream)
        facts = self._facts_of(stream)
        if facts is None:
            self._facts[folder] = self._with_identity(stream)
        elif not facts.identity:
            with suppress(OSError):  # a disk that is full must not keep it from being served
                document = self._read(folder, self._expect_stream).value.document
                self.write_stream(stream, document)
        fs, handles = self._fs, self._handles
        if cut_to_last_commit:
            fs = fs.prompt()
        elif lazily and self._lazy is not None:
            fs, handles = self._lazy
        return FileStream(
            f"{folder}/msgs",
            fs=fs,
            handles=handles,
            on_damage=on_damage,
            cut_to_last_commit=cut_to_last_commit,
            identity=self.identity(stream),
        )

    def staging(self) -> AccountDirectory:
        """Return a place for incomplete streams. `unstage` removes what a server left there."""
        path = f"{self.path}/{_STAGING}"
        return AccountDirectory(path, self._fs, self._handles, self.name, self._random)

    def adopt(self, staging: AccountDirectory, stream: str) -> None:
        """Move a stream here from `staging`, in one step. Its stores must be closed."""
        target = self._stream(stream)
        self._forget(stream)
        self._fs.make_directory(f"{self.path}/streams")
        self._fs.rename(staging._stream(stream), target)
        self._fs.sync_directory(f"{self.path}/streams")

    def unstage(self) -> None:
        """Remove what is left of streams that were never completed."""
        self._fs.remove_tree(f"{self.path}/{_STAGING}")

    def remove_stream(self, stream: str) -> None:
        """Remove a stream with its consumers. Its stores must be closed."""
        self._forget(stream)
        _remove(self._fs, f"{self.path}/streams", directory_name(stream))

    def take_away_stream(self, stream: str) -> str:
        """Make a stream disappear in one step. Return the folder that `destroy` must remove, or ""."""
        self._forget(stream)
        return _take_away(self._fs, f"{self.path}/streams", directory_name(stream))

    def destroy(self, folder: str) -> None:
        """Remove a folder that `take_away_stream` returned. May be called in any thread."""
        self._fs.remove_tree(folder)

    # -- consumers

    def consumers(self, stream: str) -> list[StoredConfig]:
        """List all consumers of a stream, including damaged ones. Restores bad copies of documents."""
        folder = self._stream(stream)
        expected = self._expect_consumer(self._facts_of(stream) or MetaFacts())
        found = list(self._list(f"{folder}/consumers", expected))
        known = self._consumers.setdefault(folder, {})
        for stored, facts in found:
            if stored.document is not None:
                known.setdefault(stored.name, facts)
        return [stored for stored, _ in found]

    def _consumer_facts(self, stream: str, consumer: str) -> MetaFacts | None:
        """Return what is known of a consumer; None if it is new, or its document cannot be read."""
        known = self._consumers.setdefault(self._stream(stream), {})
        if consumer not in known:
            expected = self._expect_consumer(self._facts_of(stream) or MetaFacts())
            try:
                known[consumer] = self._read(self._consumer(stream, consumer), expected).value.facts
            except (NotFound, Damaged):
                return None
        return known[consumer]

    def write_consumer(self, stream: str, consumer: str, document: Document) -> None:
        """Store a consumer's document durably. The first call makes the consumer exist."""
        folder = self._consumer(stream, consumer)
        facts, of = self._consumer_facts(stream, consumer), self.identity(stream).value
        if facts is None or not facts.identity:
            # A state of the previous version has no identity.
            since, revision = (0, 0) if facts is None else (1, facts.revision)
            facts = MetaFacts(new_identity(self._random), since, self.name, of, revision)
        facts = self._write(folder, consumer, replace(facts, stream=of), document)
        self._consumers.setdefault(self._stream(stream), {})[consumer] = facts

    def open_consumer(self, stream: str, consumer: str) -> FileConsumer:
        """Open a consumer's state; see `FileConsumer`."""
        facts = self._consumer_facts(stream, consumer)
        identity = ANYBODY if facts is None else Identity(facts.identity, facts.since)
        if facts is not None and not facts.identity:
            identity = Identity(0, 1)  # a consumer of the previous version
        folder = self._consumer(stream, consumer)
        return FileConsumer(folder, fs=self._fs, handles=self._handles, identity=identity)

    def remove_consumer(self, stream: str, consumer: str) -> None:
        """Remove a consumer. Its store must be closed."""
        self._consumers.get(self._stream(stream), {}).pop(consumer, None)
        _remove(self._fs, f"{self._stream(stream)}/consumers", directory_name(consumer))


def _with_extents(fs: FileSystem) -> ExtentDisk:
    """Return a disk above another one, because a stream may be compressed."""
    return fs if isinstance(fs, ExtentDisk) else ExtentDisk(fs, None)


class Storage:
    """A server's `<store_dir>/jetstream`: the accounts, and the file handles that all their stores share."""

    def __init__(
        self,
        store_dir: str,
        *,
        fs: FileSystem | None = None,
        lazy: FileSystem | None = None,
        open_files: int = 256,
    ) -> None:
        """lazy: for the messages of streams that are opened lazily, in place of `fs`."""
        self.path = f"{store_dir}/jetstream"
        self._fs = _with_extents(fs or Disk())
        self._handles = Handles(self._fs, open_files)
        self._lazy: LazyFiles | None = None
        if lazy is not None:
            lazy = _with_extents(lazy)
            self._lazy = LazyFiles(lazy, Handles(lazy, open_files // 4))

    def accounts(self) -> list[str]:
        """Return the names of the accounts that have something on the disk."""
        return [unquote(entry) for entry in _entries(self._fs, self.path)]

    def remove_account(self, name: str) -> None:
        """Remove an account's folder with everything in it. Its stores must be closed. Raises OSError."""
        _remove(self._fs, self.path, directory_name(name))

    def account(self, name: str) -> AccountDirectory:
        """Return an account's folder. It is created when something is written."""
        path = f"{self.path}/{directory_name(name)}"
        return AccountDirectory(path, self._fs, self._handles, name, lazy=self._lazy)

    def templates(self, account: str) -> AccountDirectory:
        """Return where an account's stream templates are. Their documents are kept as those of streams."""
        path = f"{self.path}/{directory_name(account)}/templates"
        return AccountDirectory(path, self._fs, self._handles, account)

    def close(self) -> None:
        """Close the shared descriptors. All stores must be closed."""
        self._handles.close()
        if self._lazy is not None:
            self._lazy.handles.close()
