"""Connecting to NATS with the settings of a run.

`async with connect() as connection:` gives a `NatsConnection`: the client, the JetStream API and the profile.
With an event loop the client is nats-py's, and without one the blocking one of `blocking.py`. Promises: if
connecting fails, it fails within the timeout (the blocking one: within that for each server), with an error
that says where and as whom it tried and what to do; the connection is closed whatever happens. After the
first connect nats-py's client reconnects as usual when the connection is lost.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from typing import Any

from ..protocol.lazy_dataclass import dataclass
from . import blocking, flags
from .errors import CliError, warn
from .jetstream import JsApi
from .loop import has_loop
from .profile import SECOND, Profile, resolve
from .refusal import bare_url, is_refusal, plain_error, refused


@dataclass()
class NatsConnection:
    """An open connection.

    nc: the client of nats-py, or a `RequestClient`.
    js: the JetStream API as requests.
    profile: the settings in force.
    """

    nc: Any
    js: JsApi
    profile: Profile
    errors: list[Exception] = field(default_factory=list)  # asynchronous errors, newest last

    @property
    def timeout(self) -> float:
        """The run's timeout in seconds."""
        return self.profile.timeout / SECOND

    @property
    def greeting(self) -> dict[str, Any]:
        """The INFO that the server sent when the connection was made."""
        said: dict[str, Any] = self.nc._server_info
        return said

    @property
    def url(self) -> str:
        """The URL of the server connected to, without user and password."""
        return bare_url(self.nc.connected_url.geturl() if self.nc.connected_url else "")


@asynccontextmanager
async def connect(profile: Profile | None = None, *, quiet: bool = False) -> AsyncIterator[NatsConnection]:
    """Connect with `profile` (default: the run's own).

    Asynchronous errors are shown as warnings, unless `quiet` is set. Raises CliError if no server answers, if
    it refuses the user, or if a credential is missing.
    """
    chosen = profile or resolve(flags.session())
    if has_loop():
        connection = await _connected(chosen, quiet=quiet)
    else:
        connection = _made(blocking.RequestClient.open(chosen, quiet=quiet), chosen)
    try:
        yield connection
    finally:
        await close(connection.nc)


def _made(nc: Any, profile: Profile) -> NatsConnection:
    js = JsApi(nc, profile.api_prefix, profile.timeout / SECOND, trace=profile.trace)
    return NatsConnection(nc, js, profile)


async def _connected(profile: Profile, *, quiet: bool) -> NatsConnection:
    """Connect with nats-py's client."""
    from . import nats_py

    options = nats_py.client_options(profile)
    nc = nats_py.client(options)
    connection = _made(nc, profile)
    connected = False

    async def on_error(error: Exception) -> None:
        connection.errors.append(error)
        if connected and not quiet:
            warn(plain_error(error))

    try:
        await nats_py.open_client(nc, options, profile, on_error)
    except BaseException as error:
        await close(nc)
        if isinstance(error, CliError) or not isinstance(error, Exception):
            raise
        refusals = [one for one in connection.errors if is_refusal(one)]
        raise refused(profile, [error, *connection.errors, *refusals][-1]) from None
    connected = True
    return connection


async def close(nc: Any) -> None:
    """Flush what is pending if the connection is open, then close it."""
    if nc.is_connected:
        with suppress(Exception):  # the connection is closing: the flush is best effort
            await nc.flush(timeout=2)
    # From a client that has nothing to close yet, or whose connection is lost already.
    with suppress(AssertionError, OSError):
        await nc.close()
