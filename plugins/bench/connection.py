"""The blocking connections of a benchmark, made from the settings of the run.

Promises: the settings mean what they mean to every other command; whatever fails is a CliError in the same
words.
"""

from __future__ import annotations

import json

from ...cli.errors import CliError, RemoteError, UnavailableError
from ...cli.profile import Profile
from ...cli.refusal import not_connected
from ...client import (
    AuthorizationError,
    BlockingConnection,
    ClientError,
    ConnectionOptions,
    NoResponders,
    NoServers,
    TimedOut,
)

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014


def open_connection(profile: Profile, options: ConnectionOptions) -> BlockingConnection:
    """Connect. Raises CliError that says where and as whom."""
    try:
        return BlockingConnection.open(options)
    except (AuthorizationError, NoServers) as error:
        raise not_connected(profile, error) from None


class Api:
    """The JetStream API on a blocking connection.

    prefix: `$JS.API`, or that of a domain.
    """

    def __init__(self, connection: BlockingConnection, prefix: str) -> None:
        self.connection = connection
        self.prefix = prefix

    def subject(self, name: str) -> str:
        """Return the full subject of an API name such as `STREAM.INFO.X`."""
        return f"{self.prefix}.{name}"

    def request(self, name: str, document: object = None) -> dict[str, object]:
        """Ask `<prefix>.<name>` and return the answer's document. Raises RemoteError, CliError."""
        body = b"" if document is None else json.dumps(document, separators=(",", ":")).encode()
        try:
            answer = self.connection.request(self.subject(name), body)
        except NoResponders:
            raise UnavailableError(
                "nats: no responders available for request",
                f"nobody answers on {self.prefix}: is JetStream enabled for this account?",
            ) from None
        except TimedOut as error:
            raise UnavailableError(str(error), "--timeout waits longer") from None
        except ClientError as error:
            raise CliError(str(error)) from None
        return checked(answer.payload)

    def stream(self, name: str) -> dict[str, object]:
        """Return a stream's information. Raises RemoteError."""
        try:
            return self.request(f"STREAM.INFO.{name}")
        except RemoteError as error:
            hint = "--create makes it, or --stream names another one"
            raise error.while_doing(
                f"could not access stream {name}", hint if error.err_code == STREAM_NOT_FOUND else ""
            ) from None


def checked(payload: bytes) -> dict[str, object]:
    """Return an answer of JetStream as a document. Raises RemoteError if it is an error."""
    try:
        document = json.loads(payload)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise CliError(f"this is not an answer of JetStream: {payload[:100]!r}")
    if "error" in document:
        error = document["error"]
        raise RemoteError(
            int(error.get("code", 0)), int(error.get("err_code", 0)), str(error.get("description", "unknown"))
        )
    return document
