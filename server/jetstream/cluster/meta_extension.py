"""MetaExtension: whether this server belongs to the JetStream of the hub that it joins as a leaf.

It may, when it joins the hub's system account; it does, when the hub has the same domain. Then the hub's
servers bootstrap the meta group and lead it. As long as that is not known they are waited for; what was known
last is kept in a file, so that a leaf that starts while its hub is away goes on as before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ....store.fs import write_file

if TYPE_CHECKING:
    from ....store.fs import FileSystem
    from ...logging import Logger

_FILE = "hub-apart"


class MetaExtension:
    """domain: of this server. joined: gives the domains of the hubs whose system account is joined now."""

    def __init__(
        self, domain: str, joined: Callable[[], Collection[str]], *, path: str, fs: FileSystem, log: Logger
    ) -> None:
        self._domain = domain
        self._joined = joined
        self._path = path
        self._fs = fs
        self._log = log
        self._apart = fs.exists(f"{path}/{_FILE}")

    def observes(self) -> bool:
        """Whether the hub leads, or may turn out to."""
        joined = self._joined()
        apart = self._domain not in joined if joined else self._apart
        if apart != self._apart:
            self._apart = apart
            self._keep()
        return not apart

    def _keep(self) -> None:
        try:
            if self._apart:
                self._fs.make_directory(self._path)
                write_file(self._fs, f"{self._path}/{_FILE}", b"")
            else:
                self._fs.remove(f"{self._path}/{_FILE}")
        except OSError as error:
            self._log.error(f"It is not noted whose JetStream this is: {error}")
