"""Accounts on an HTTP account server: sending and fetching them, with a report about the result."""

from __future__ import annotations

from http import HTTPStatus

from ...protocol.lazy_dataclass import dataclass
from ..errors import WorkspaceError
from .report import Grade, OperationReport, Show

TIMEOUT = 5.0  # seconds
_MOST = 4 * 1024 * 1024  # bytes of an answer


def is_http(url: str) -> bool:
    """Return whether a URL is that of an HTTP account server."""
    return url.lower().startswith(("http://", "https://"))


def is_nats(url: str) -> bool:
    """Return whether a URL is that of servers with a NATS resolver."""
    return url.lower().startswith(("nats://", "tls://", "ws://", "wss://"))


def account_url(server: str, key: str) -> str:
    """Return the URL of an account on an account server, from its public key."""
    base, mark, query = server.partition("?")
    return f"{base.rstrip('/')}/accounts/{key}{mark}{query}"


@dataclass(frozen=True, slots=True)
class AccountServerResponse:
    """An HTTP answer: status and body."""

    status: int
    text: str


def get(url: str) -> AccountServerResponse:
    """Fetch a document. Raises WorkspaceError if nobody answers."""
    return _asked(url, None)


def post(url: str, token: str) -> AccountServerResponse:
    """Send a token. Raises WorkspaceError if nobody answers."""
    return _asked(url, token.encode())


def load(url: str) -> str:
    """Fetch a text that must exist. Raises WorkspaceError, also for any status but 200."""
    answer = get(url)
    if answer.status != HTTPStatus.OK:
        raise WorkspaceError(f"{url} answers {answer.status} {_phrase(answer.status)}")
    return answer.text


def push(url: str, token: str) -> OperationReport:
    """Send an account's token and report the result: OK for 200, a warning for 201 and 202."""
    report = OperationReport("push jwt to account server", show=Show.WHEN_BAD)
    try:
        answer = post(url, token)
    except WorkspaceError as error:
        return OperationReport(f"error pushing account: {error}", Grade.ERROR)
    if answer.status == HTTPStatus.OK:
        report.ok("pushed account jwt to the account server")
    elif answer.status in {HTTPStatus.CREATED, HTTPStatus.ACCEPTED}:
        report.warn("pushed account jwt was accepted by the account server")
    else:
        report.error("failed to push account to remote server")
    if answer.text.strip():
        report.server(answer.text)
    return report


def pull(url: str) -> tuple[OperationReport, str]:
    """Fetch an account's token and report the result; the token is "" if it was not received."""
    report = OperationReport("pull jwt from account server", show=Show.WHEN_BAD)
    try:
        answer = get(url)
    except WorkspaceError as error:
        return OperationReport(f"error pulling account: {error}", Grade.ERROR), ""
    if answer.status == HTTPStatus.OK:
        report.ok("pulled jwt from the account server")
        return report, answer.text.strip()
    report.error(f"failed to pull jwt from the account server: [{answer.status} - {_phrase(answer.status)}]")
    return report, ""


def _asked(url: str, body: bytes | None) -> AccountServerResponse:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    if not is_http(url):
        raise WorkspaceError(f"{url!r} is no http or https URL")
    headers = {"Content-Type": "application/jwt"} if body is not None else {}
    try:
        with urlopen(Request(url, body, headers), timeout=TIMEOUT) as reply:  # noqa: S310 (checked above)
            return AccountServerResponse(reply.status, _text(reply.read(_MOST)))
    except HTTPError as error:
        with error:
            return AccountServerResponse(error.code, _text(error.read(_MOST)))
    except (URLError, HTTPException, OSError, ValueError) as error:
        cause = error.reason if isinstance(error, URLError) else error
        words = getattr(cause, "strerror", None) or cause
        raise WorkspaceError(f"{url} cannot be reached: {words}") from None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
